"""Reads at a viewpoint: a time or a scene, and the record until a time, by every verb alike."""

from itertools import pairwise
from typing import Any

import pytest

from canonry.values.moments import DAY
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

WORDS = "located, lives, owns, sings at dusk, wears a hood"
NEXT_DAY = "2025-01-16"
GM_TURN = {"by": "gm", "text": "It is so."}
PEOPLE = [
    *({"kind": "entity", "name": name, "type": "character"} for name in ("Ana", "Bo", "Masked")),
    *({"kind": "entity", "name": name, "type": "location"} for name in ("Ashford", "Birch")),
    {"kind": "entity", "name": "Ring", "type": "object"},
]


async def a_town() -> ToolDriver:
    driver = make_driver()
    await driver.call("open", name="Vale")
    await driver.call("propose", said="They live there.", claims=PEOPLE)
    return driver


async def relate_entities(driver: ToolDriver, start: str, kind: str, end: str, **more: Any) -> str:
    claim = {"kind": "relation", "from": start, "type": kind, "to": end, **more}
    reply = await driver.call("propose", said=f"{start} {kind} {end}.", claims=[claim])
    if reply["accepted"] == 0:
        waiting = [reply["verdicts"][0]["proposal"]]
        await driver.call("decide", verdict="accept", of=waiting, reason="It is so.")
    return str(reply["verdicts"][0].get("id"))


async def state_fact(driver: ToolDriver, says: str, *about: str, **more: Any) -> str:
    claim = {"kind": "fact", "says": says, "about": list(about), **more}
    reply = await driver.call("propose", said=f"{says}.", claims=[claim])
    assert reply["accepted"] == 1, reply
    return str(reply["verdicts"][0].get("id"))


async def statements_from_reads(driver: ToolDriver, of: str, **view: str) -> list[set[str]]:
    """Return the statements about an entity from each way to read them, without ids."""
    got = await driver.call("get", of=of, full=True, **view)
    listed = await driver.call("find", about=of, **view)
    worded = await driver.call("find", text=WORDS, about=of, kinds=["fact", "relation"], **view)
    brief = (await driver.call("context", of=of, **view))["brief"]
    lines = [line[2:].partition(" {")[0] for line in brief.splitlines() if line.startswith("- ")]
    return [
        {row["says"] for row in (*got.get("facts", ()), *got.get("relations", ()))},
        {row["says"] for row in listed["found"]},
        {row["says"] for row in worded["found"] if not row.keys() & {"ended", "level"}},
        {line.partition(" (from")[0] for line in lines if "(character)" not in line},
    ]


async def test_each_read_knows_earlier_canon_before_its_retraction() -> None:
    driver = await a_town()
    home = await relate_entities(driver, "Ana", "LIVES_IN", "Ashford")
    song = await state_fact(driver, "Ana sings at dusk", "Ana")
    driver.clock.move_by(2 * DAY)
    for wrong in (home, song):
        await driver.call("decide", verdict="retcon", of=[wrong], reason="It was another Ana.")

    assert await statements_from_reads(driver, "Ana") == [set()] * 4
    then = await statements_from_reads(driver, "Ana", as_known_at=NEXT_DAY)
    assert then == [{"Ana lives in Ashford", "Ana sings at dusk"}] * 4
    why = await driver.call("why", of=song, as_known_at=NEXT_DAY)
    assert "level" not in why
    assert "ended_by" not in why


async def test_each_read_ignores_later_recorded_successors() -> None:
    driver = await a_town()
    await relate_entities(driver, "Ana", "LOCATED_IN", "Ashford")
    driver.clock.move_by(2 * DAY)
    await relate_entities(driver, "Ana", "LOCATED_IN", "Birch")

    assert await statements_from_reads(driver, "Ana") == [{"Ana located in Birch"}] * 4
    assert (
        await statements_from_reads(driver, "Ana", as_known_at=NEXT_DAY)
        == [{"Ana located in Ashford"}] * 4
    )


async def test_before_a_merge_each_entity_has_its_own_facts() -> None:
    driver = await a_town()
    await state_fact(driver, "Ana sings at dusk", "Ana")
    await state_fact(driver, "Masked wears a hood", "Masked")
    driver.clock.move_by(2 * DAY)
    await driver.call("decide", verdict="merge", of=["Ana", "Masked"], reason="The mask fell.")

    both = {"Ana sings at dusk", "Masked wears a hood"}
    assert await statements_from_reads(driver, "Ana") == [both] * 4
    assert (
        await statements_from_reads(driver, "Ana", as_known_at=NEXT_DAY)
        == [{"Ana sings at dusk"}] * 4
    )
    assert (
        await statements_from_reads(driver, "Masked", as_known_at=NEXT_DAY)
        == [{"Masked wears a hood"}] * 4
    )
    names = [
        {row["name"] for row in (await driver.call("find", kinds=["entity"], **view))["found"]}
        for view in ({}, {"as_known_at": NEXT_DAY})
    ]
    assert [name in names[0] for name in ("Ana", "Masked")] == [True, False]
    assert [name in names[1] for name in ("Ana", "Masked")] == [True, True]


async def test_after_a_separation_the_earlier_merge_is_seen_in_the_past() -> None:
    driver = await a_town()
    await state_fact(driver, "Masked wears a hood", "Masked")
    await driver.call("decide", verdict="merge", of=["Ana", "Masked"], reason="The mask fell.")
    driver.clock.move_by(2 * DAY)
    await driver.call("decide", verdict="separate", of=["Masked"], reason="It was a ruse.")

    assert await statements_from_reads(driver, "Ana") == [set()] * 4
    assert (
        await statements_from_reads(driver, "Ana", as_known_at=NEXT_DAY)
        == [{"Masked wears a hood"}] * 4
    )


async def test_rows_have_the_names_of_their_time() -> None:
    driver = await a_town()
    home = await relate_entities(driver, "Ana", "LIVES_IN", "Ashford", when="1400-01-01")
    driver.clock.move_by(2 * DAY)
    named = {"kind": "correction", "of": "Ashford", "field": "name", "value": "Kingsford"}
    reply = await driver.call("propose", said="It was renamed.", claims=[named])
    assert reply["accepted"] == 1, reply

    assert await statements_from_reads(driver, "Ana") == [{"Ana lives in Kingsford"}] * 4
    assert (
        await statements_from_reads(driver, "Ana", as_known_at=NEXT_DAY)
        == [{"Ana lives in Ashford"}] * 4
    )
    rows = [
        await driver.call("why", of=home, as_known_at=NEXT_DAY),
        *(await driver.call("timeline", about="Ana", as_known_at=NEXT_DAY))["timeline"],
        *(await driver.call("changes", as_known_at=NEXT_DAY))["changes"][-1]["what"],
    ]
    says = [row["says"] for row in rows if row["kind"] == "relation"]
    assert says == ["Ana lives in Ashford"] * 3


async def test_the_timeline_lists_moves_and_ownership_in_order() -> None:
    driver = await a_town()
    await relate_entities(driver, "Ana", "LOCATED_IN", "Ashford", when="1400-01-01")
    event = {"kind": "event", "says": "Ana finds the Ring", "when": "1405-01-01"}
    await driver.call("propose", said="She finds it.", claims=[event])
    await relate_entities(driver, "Ana", "OWNS", "Ring", when="1405-02-01")
    await relate_entities(driver, "Ana", "LOCATED_IN", "Birch", when="1410-01-01")
    await relate_entities(driver, "Bo", "OWNS", "Ring", when="1412-01-01")
    wrong = await relate_entities(driver, "Ana", "KNOWS", "Bo", when="1401-01-01")
    await driver.call("decide", verdict="retcon", of=[wrong], reason="She never met him.")

    rows = (await driver.call("timeline", about="Ana"))["timeline"]
    period = {"about": "Ana", "from": "1404-01-01", "to": "1411-01-01"}
    some = (await driver.call("timeline", **period))["timeline"]

    assert [(row["when"][-4:], row["says"], row.get("until", "")[-4:]) for row in rows] == [
        ("1400", "Ana located in Ashford", "1410"),
        ("1405", "Ana finds the Ring", ""),
        ("1405", "Ana owns Ring", "1412"),
        ("1410", "Ana located in Birch", ""),
        ("1412", "Ana owns Ring", ""),
    ]
    assert (rows[-1]["how"], rows[2]["id"]) == ("ended", rows[-1]["id"])
    assert some == rows[1:-1]
    lost = (await driver.call("timeline", about="Ana", **{"from": "1411-06-01"}))["timeline"]
    assert lost == rows[-1:]
    then = (await driver.call("timeline", about="Ana", at="1406-01-01"))["timeline"]
    assert then == rows[:3]


async def test_undated_moves_keep_the_order_of_their_scenes() -> None:
    driver = await a_town()
    await three_scenes(driver)

    rows = (await driver.call("timeline", about="Ana"))["timeline"]

    assert [row["says"] for row in rows] == [f"Ana located in {town}" for _, town in MOVES]


CHANGES = (
    ({"kind": "relation", "from": "Ana", "type": "OWNS", "to": "Ring"}, "Ana owns Ring"),
    ({"kind": "fact", "says": "The Ring belongs to Bo", "about": ["Ring", "Bo"]}, None),
    ({"kind": "fact", "says": "Ana moved to Birch", "about": ["Ana", "Birch"]}, None),
    ({"kind": "fact", "says": "Ana has red hair", "about": ["Ana"]}, None),
    ({"kind": "relation", "from": "Bo", "type": "CARRIES", "to": "Ring"}, "Bo carries Ring"),
)


async def test_the_timeline_lists_moves_and_ownership_stated_in_words() -> None:
    driver = await a_town()
    for number, (claim, _) in enumerate(CHANGES):
        answer = await driver.call("tell", scene=f"Scene {number}", turns=[GM_TURN])
        cited = [answer["turns"][0]["id"]]
        reply = await driver.call("propose", claims=[claim], evidence=cited, authority="gm")
        assert reply["accepted"] == 1, reply

    purges = {
        name: [
            (row["says"], row.get("how"))
            for row in (await driver.call("timeline", about=name, **view))["timeline"]
        ]
        for name, view in (("Ana", {}), ("Bo", {}), ("Ring", {"at": "Scene 2"}))
    }

    assert purges == {
        "Ana": [("Ana owns Ring", None), ("Ana owns Ring", "ended"), ("Ana moved to Birch", None)],
        "Bo": [("The Ring belongs to Bo", None), ("Bo carries Ring", None)],
        "Ring": [("Ana owns Ring", None), ("The Ring belongs to Bo", None)],
    }


MOVES = (("One", "Ashford"), ("Two", "Birch"), ("Three", "Ashford"))


async def three_scenes(driver: ToolDriver) -> None:
    for scene, town in MOVES:
        reply = await driver.call("tell", scene=scene, turns=[GM_TURN], end_scene=f"{scene} ends.")
        move = {"kind": "relation", "from": "Ana", "type": "LOCATED_IN", "to": town}
        await driver.call("propose", claims=[move], evidence=[reply["turns"][0]["id"]])


async def test_a_scene_is_a_time_for_every_read() -> None:
    driver = await a_town()
    await three_scenes(driver)

    for scene, town in MOVES:
        assert (
            await statements_from_reads(driver, "Ana", at=scene) == [{f"Ana located in {town}"}] * 4
        )
    two = (await driver.call("find", text="Two"))["found"]
    passages = await driver.call("find", text="ends", kinds=["passage"], at="Two")
    assert {row["name"] for row in passages["found"] if row["kind"] == "scene"} <= {"One", "Two"}
    (by_id,) = {row["id"] for row in two if row.get("name") == "Two"}
    assert await statements_from_reads(driver, "Ana", at=by_id) == [{"Ana located in Birch"}] * 4
    refused = await driver.refused("get", of="Three", at="One")
    assert refused["details"]["reason"] == "thing.not-yet"


HOMES = (("One", "Ashford"), ("Two", "Birch"), ("Three", "Corran"))


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("forms", ["frf", "rfr", "rff", "frr", "fff", "rrr"])
async def test_a_home_holds_until_the_next_whatever_their_forms(forms: str, dated: bool) -> None:
    driver = await a_town()
    corran = {"kind": "entity", "name": "Corran", "type": "location"}
    await driver.call("propose", said="There is a third town.", claims=[corran])
    homes = list[str]()
    for month, (form, (scene, town)) in enumerate(zip(forms, HOMES, strict=True), start=1):
        when = {"when": f"1400-{month:02}-01"} if dated else {}
        turns = [{"by": "Ana", "text": f"This is {scene}."}]
        answer = await driver.call("tell", scene=scene, place=town, turns=turns, **when)
        claim = {
            "f": {"kind": "fact", "says": f"Ana lives in {town}", "about": ["Ana", town]},
            "r": {"kind": "relation", "from": "Ana", "type": "LIVES_IN", "to": town},
        }[form]
        cited = [answer["turns"][0]["id"]]
        reply = await driver.call("propose", claims=[claim], evidence=cited, authority="gm")
        homes.append(reply["verdicts"][0]["id"])

    for scene, town in HOMES:
        assert (
            await statements_from_reads(driver, "Ana", at=scene) == [{f"Ana lives in {town}"}] * 4
        )
        brief = (await driver.call("context", of=scene))["brief"]
        promised = [name for _, name in HOMES[HOMES.index((scene, town)) + 1 :] if dated]
        named = {name for _, name in HOMES if f"Ana lives in {name}" in brief}
        assert {town} <= named <= {town, *promised}
    assert (await statements_from_reads(driver, "Ana"))[0] == {"Ana lives in Corran"}
    for one, successor in pairwise(homes):
        assert (await driver.call("why", of=one))["ended_by"]["superseded_by"] == successor
    ends = (await driver.call("why", of=homes[0], at="One")).keys() & {"ended", "until", "ended_by"}
    assert ends == ({"until", "ended_by"} if dated else set())


async def test_a_scene_shows_its_time_and_place() -> None:
    driver = await a_town()
    scene = {"scene": "Council", "when": "1410-03-05", "place": "Ashford", "turns": [GM_TURN]}
    await driver.call("tell", **scene)

    row = await driver.call("get", of="Council")
    brief = (await driver.call("context", of="Council"))["brief"]

    assert (row["when"], row["place"]) == ("5 March 1410", "Ashford")
    assert "5 March 1410. At Ashford. Active" in brief


async def test_a_read_refuses_a_time_that_it_cannot_use() -> None:
    driver = await a_town()
    await three_scenes(driver)

    context = await driver.refused("context", of="Two", at="1410-01-01")
    account = await driver.refused(
        "review", what="duplicates", space="account", as_known_at=NEXT_DAY
    )
    unknown = await driver.refused("get", of="Ana", at="no such time or scene")
    review = await driver.refused("review", at="1410-01-01")
    spaces = await driver.refused("spaces", as_known_at=NEXT_DAY)
    states = await driver.refused("changes", space="account", **{"from": "1410-01-01"})

    assert context["details"]["reason"] == "viewpoint.unsupported"
    assert account["details"]["reason"] == "viewpoint.unsupported"
    assert unknown["details"]["reason"] == "time.malformed"
    assert states["details"]["reason"] == "space.not-told"
    for refused in (review, spaces):
        assert refused["details"]["reason"] == "viewpoint.unsupported"
        assert "These tools take it: find, get," in refused["message"]


async def differing_texts(driver: ToolDriver, **states: str) -> list[tuple[Any, Any]]:
    """Return the texts before and after, of what differs between two states."""
    rows = (await driver.call("changes", **states))["differences"]
    return [(row.get("before"), row.get("after")) for row in rows]


async def test_changes_are_the_differences_of_two_viewpoints() -> None:
    driver = await a_town()
    await relate_entities(driver, "Ana", "LIVES_IN", "Ashford", when="1400-01-01")
    driver.clock.move_by(2 * DAY)
    await relate_entities(driver, "Ana", "LIVES_IN", "Birch", when="1410-01-01")
    wound = {"kind": "state", "of": "Bo", "tags": ["wounded"], "when": "1405-06-01"}
    assert (await driver.call("propose", said="He is.", claims=[wound]))["accepted"] == 1
    named = {"kind": "correction", "of": "Ashford", "field": "name", "value": "Kingsford"}
    await driver.call("propose", said="It was renamed.", claims=[named])
    wounded = [
        ("Bo \u00b7 character", "Bo \u00b7 character \u00b7 wounded"),
        (None, "Bo is wounded"),
    ]
    moved = [(None, "Ana lives in Birch"), ("Ana lives in Ashford", None)]

    years = {"from": "1404-01-01", "at": "1406-01-01"}
    assert await differing_texts(driver, **years) == wounded
    back = {"from": "1406-01-01", "at": "1404-01-01"}
    assert await differing_texts(driver, **back) == [(after, before) for before, after in wounded]
    assert await differing_texts(driver, **years, as_known_at=NEXT_DAY) == []
    recorded = await differing_texts(driver, since=NEXT_DAY, as_known_at="2025-01-18")
    renamed = [("Ashford \u00b7 location", "Kingsford \u00b7 location")]
    assert sorted(recorded, key=str) == sorted([*moved, *wounded, *renamed], key=str)
    await three_scenes(driver)
    scenes = {"from": "One", "at": "Two"}
    assert set(await differing_texts(driver, **scenes)) == {
        ("Ana located in Kingsford", None),
        (None, "Ana located in Birch"),
    }


async def test_open_questions_and_changes_are_those_of_then() -> None:
    driver = await a_town()
    await driver.call("tell", scene="Vote", turns=[GM_TURN])
    later = make_driver("Contributor", beside=driver)
    claim = {"kind": "fact", "says": "Ana is queen", "about": ["Ana"], "confidence": 0.3}
    await later.call("propose", said="Perhaps.", claims=[claim])
    (waiting,) = (await driver.call("review"))["waiting"]
    driver.clock.move_by(2 * DAY)
    await driver.call("decide", verdict="reject", of=[waiting["id"]], reason="It was a rumour.")

    assert (await driver.call("review"))["total"] == 0
    (then,) = (await driver.call("review", as_known_at=NEXT_DAY))["waiting"]
    assert (then["id"], then["status"]) == (waiting["id"], "waits")
    written = (await driver.call("changes", as_known_at=NEXT_DAY))["changes"]
    assert {row["when"][:10] for row in written} == {"2025-01-15"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["Ana", "Sal"], ["Bo", "Sal"]),
        (["Ana", "Sal"], None),
        (None, ["Bo", "Sal"]),
        (["Sal"], ["Bo", "Sal"]),
        (["Bo", "Sal"], ["Sal"]),
    ],
)
@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("LOCATED_IN", ("Ring", "Ashford", "Ring", "Birch")),
        ("OWNS", ("Ana", "Ring", "Bo", "Ring")),
    ],
)
async def test_a_reader_of_two_audiences_sees_one_place_and_one_owner(
    first: list[str] | None, second: list[str] | None, dated: bool, kind: str, ends: tuple[str, ...]
) -> None:
    driver = await a_town()
    sal = {"kind": "entity", "name": "Sal", "type": "character"}
    sally = (await driver.call("propose", said="Sal is here.", claims=[sal]))["verdicts"][0]["id"]
    whens: list[dict[str, Any]] = [{}, {}]
    if dated:
        whens = [{"when": "1400-01-01"}, {"when": "1401-01-01"}]
    for (start, end), few, when in zip((ends[:2], ends[2:]), (first, second), whens, strict=True):
        await relate_entities(driver, start, kind, end, **({"for": few} if few else {}), **when)
    player = make_driver("Reader", beside=driver, characters=frozenset({sally}))

    rows = (await player.call("find", about="Ring", kinds=["relation"]))["found"]
    got = await player.call("get", of="Ring")
    brief = (await player.call("context", of="Ring"))["brief"]

    verb = {"LOCATED_IN": "located in", "OWNS": "owns"}[kind]
    earlier, later = f"{ends[0]} {verb} {ends[1]}", f"{ends[2]} {verb} {ends[3]}"
    assert [row["says"] for row in rows] == [later]
    assert [row["says"] for row in got["relations"]] == [later]
    assert (earlier in brief, later in brief) == (False, True)
    if dated:
        old = (await player.call("find", about="Ring", kinds=["relation"], at="1400-06-01"))[
            "found"
        ]
        assert [row["says"] for row in old] == [earlier]


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        ({"when": "1501-01-01"}, "/when"),
        ({"when": "two hours later"}, "/when"),
        ({"place": "Birch"}, "/place"),
    ],
)
async def test_another_time_or_place_of_a_known_scene_is_refused(
    setting: dict[str, str], path: str
) -> None:
    driver = await a_town()
    scene = {"scene": "Council", "when": "1500-01-31", "place": "Ashford", "turns": [GM_TURN]}
    await driver.call("tell", **scene)

    refused = await driver.refused("tell", **{**scene, **setting})
    again = await driver.call("tell", **scene)

    assert (refused["details"]["reason"], refused["details"]["path"]) == (
        "scene.other-setting",
        path,
    )
    assert len(again["turns"]) == 1


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "fact", "says": "Ana was born in Hall", "about": ["Ana", "Hall"]},
        {"kind": "relation", "from": "Ana", "type": "BORN_IN", "to": "Hall"},
        {"kind": "relation", "from": "Ana", "type": "CHILD_OF", "to": "Bo"},
        {"kind": "fact", "says": "Bo is the father of Ana", "about": ["Ana", "Bo"]},
        {"kind": "fact", "says": "Ana has green eyes", "about": ["Ana"]},
        {"kind": "fact", "says": "Anas Mutter ist Bo", "about": ["Ana", "Bo"]},
    ],
)
async def test_an_unchangeable_value_holds_before_it_was_stated(claim: dict[str, Any]) -> None:
    driver = make_driver()
    await driver.call("open", name="World")
    names = {"Ana": "character", "Bo": "character", "Hall": "location"}
    who = [{"kind": "entity", "name": name, "type": kind} for name, kind in names.items()]
    await driver.call("propose", said="They are.", claims=who)
    reply = await driver.call("propose", said="So.", claims=[{**claim, "when": "1410"}])
    lives = {"kind": "fact", "says": "Ana lives in Hall and was born in Hall", "when": "1410"}
    mixed = await driver.call("propose", said="Too.", claims=[lives])

    then = await driver.call("get", of="Ana", at="1400")

    shown = {row["id"] for row in (*then.get("facts", ()), *then.get("relations", ()))}
    assert reply["verdicts"][0]["id"] in shown
    assert mixed["verdicts"][0].get("id") not in shown

"""Later statements end earlier ones, which hold again when the later ones are retracted."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

PEOPLE = ("Ana", "Bo", "Cy", "Di")
PLACES = ("Hall", "Ford", "Mill")


async def a_table() -> ToolDriver:
    """People, places, a ship, a box and a ring."""
    driver = make_driver()
    await driver.call("open", name="World")
    reported = {**dict.fromkeys(PEOPLE, "character"), **dict.fromkeys(PLACES, "location")}
    reported |= {**dict.fromkeys(("Gull", "Ring", "Box"), "object"), "Band": "faction"}
    made = [{"kind": "entity", "name": name, "type": kind} for name, kind in reported.items()]
    await driver.call("propose", said="They are.", claims=made)
    return driver


async def accept_claim(
    driver: ToolDriver, authority: str = "source", **claim: Any
) -> dict[str, Any]:
    """The verdict of one claim; it is accepted."""
    more = {"authority": authority, "said": "So it is."}
    reply = await driver.call("propose", claims=[claim], **more)
    (verdict,) = reply["verdicts"]
    assert verdict["verdict"] == "accepted", verdict
    return dict(verdict)


async def state_fact(driver: ToolDriver, says: str, *about: str, **more: Any) -> str:
    return str(
        (await accept_claim(driver, kind="fact", says=says, about=list(about), **more))["id"]
    )


async def state_tie(driver: ToolDriver, start: str, kind: str, end: str, **more: Any) -> str:
    arguments = {"kind": "relation", "from": start, "type": kind, "to": end}
    return str((await accept_claim(driver, **arguments, **more))["id"])


async def retract_item(driver: ToolDriver, item: str) -> None:
    await driver.call("propose", said="No.", claims=[{"kind": "retcon", "of": item, "says": "no"}])


async def describe_entity(driver: ToolDriver, name: str, at: str | None = None) -> set[str]:
    """Return the facts, relations and tags of an entity in words, as a page shows them."""
    moment = {} if at is None else {"at": at}
    page = await driver.call("get", of=name, full=True, **moment)
    rows = (*page.get("facts", ()), *page.get("relations", ()))
    return {str(row["says"]) for row in rows} | set(page.get("tags", ()))


async def player_driver(driver: ToolDriver, name: str) -> ToolDriver:
    """The driver of somebody who plays a character."""
    found = (await driver.call("get", of=name))["id"]
    return make_driver("Reader", driver, characters=frozenset((found,)))


async def test_a_reader_of_two_secrets_sees_one_place() -> None:
    driver = await a_table()
    await state_tie(
        driver, "Ring", "LOCATED_IN", "Hall", when="1401-01-01", **{"for": ["Ana", "Cy"]}
    )
    await state_tie(
        driver, "Ring", "LOCATED_IN", "Mill", when="1402-01-01", **{"for": ["Bo", "Cy"]}
    )

    places = {
        name: await describe_entity(await player_driver(driver, name), "Ring")
        for name in ("Ana", "Bo", "Cy")
    }

    assert places == {
        "Ana": {"Ring located in Hall"},
        "Bo": {"Ring located in Mill"},
        "Cy": {"Ring located in Mill"},
    }


@pytest.mark.parametrize("later", [[], ["Bo", "Cy"]])
async def test_a_reader_of_two_secrets_sees_one_captain(later: list[str]) -> None:
    driver = await a_table()
    first, second = "Ana is the captain of the Gull", "Bo is the captain of the Gull"
    await state_fact(driver, first, "Gull", "Ana", when="1401-01-01", **{"for": ["Ana", "Cy"]})
    more: dict[str, Any] = {"for": later} if later else {}
    await state_fact(driver, second, "Gull", "Bo", when="1402-01-01", **more)

    assert await describe_entity(await player_driver(driver, "Cy"), "Gull") == {second}
    assert await describe_entity(driver, "Gull") == {second}
    assert await describe_entity(await player_driver(driver, "Ana"), "Gull") == (
        {first} if later else {second}
    )


async def test_an_earlier_secret_successor_counts_for_readers_of_both() -> None:
    driver = await a_table()
    says = "{} is the captain of the Gull".format
    await state_fact(driver, says("Ana"), "Gull", "Ana", when="1397-01-01")
    await state_fact(driver, says("Di"), "Gull", "Di", when="1399-01-01", **{"for": ["Bo", "Cy"]})
    await state_fact(driver, says("Bo"), "Gull", "Bo", when="1405-01-01", **{"for": ["Ana", "Cy"]})

    then = {
        name: await describe_entity(await player_driver(driver, name), "Gull", "1402")
        for name in ("Ana", "Cy")
    }

    assert then == {"Ana": {says("Ana")}, "Cy": {says("Di")}}
    assert await describe_entity(driver, "Gull", "1402") == {says("Di")}


@pytest.mark.parametrize("end", ["Ana divorced Di", "Di is no longer married to Ana"])
async def test_a_secret_end_of_one_marriage_leaves_a_later_one(end: str) -> None:
    driver = await a_table()
    turns = [{"by": "player", "text": "On."}]
    opened = await driver.call("tell", scene="North", turns=turns, when="1401-07-01")
    secret = {"kind": "fact", "says": end, "about": ["Ana", "Di"], "for": ["Cy"]}
    await driver.call("propose", claims=[secret], evidence=[opened["turns"][0]["id"]])
    second = "Bo is married to Di"
    await state_fact(driver, second, "Bo", "Di", when="1399-04-01")

    for one in (driver, await player_driver(driver, "Ana"), await player_driver(driver, "Cy")):
        assert second in await describe_entity(one, "Bo", "1400")
        assert second in await describe_entity(one, "Bo", "1403")


@pytest.mark.parametrize("replaces", [True, False])
async def test_an_item_retracted_by_a_retracted_claim_holds_again(replaces: bool) -> None:
    driver = await a_table()
    says = "{} is the captain of the Gull".format
    await state_fact(driver, says("Di"), "Gull", "Di", when="1399-01-01")
    old = await state_fact(driver, says("Ana"), "Gull", "Ana", when="1401-01-01")
    more = {"replaces": old} if replaces else {}
    new = await state_fact(
        driver, says("Bo"), "Gull", "Bo", authority="gm", when="1401-01-01", **more
    )
    assert await describe_entity(driver, "Gull") == {says("Bo")}

    await retract_item(driver, new)

    assert await describe_entity(driver, "Gull") == {says("Ana")}
    assert await describe_entity(driver, "Gull", "1400") == {says("Di")}
    await retract_item(driver, old)
    assert await describe_entity(driver, "Gull") == {says("Di")}


async def test_a_relation_retracted_by_higher_authority_holds_again() -> None:
    driver = await a_table()
    await state_tie(driver, "Ana", "LOCATED_IN", "Hall", when="1400-01-01")
    await state_tie(driver, "Ana", "LOCATED_IN", "Ford", when="1401-01-01")
    new = await state_tie(driver, "Ana", "LOCATED_IN", "Mill", authority="gm", when="1401-01-01")
    assert await describe_entity(driver, "Ana") == {"Ana located in Mill"}

    await retract_item(driver, new)

    assert await describe_entity(driver, "Ana") == {"Ana located in Ford"}
    assert await describe_entity(driver, "Ana", "1400-06-01") == {"Ana located in Hall"}


async def test_an_item_retracted_by_a_retracted_claim_holds_until_a_later_value() -> None:
    driver = await a_table()
    says = "{} is the captain of the Gull".format
    await state_fact(driver, says("Ana"), "Gull", "Ana", when="1401-01-01")
    new = await state_fact(driver, says("Bo"), "Gull", "Bo", authority="gm", when="1401-01-01")
    await state_fact(driver, says("Cy"), "Gull", "Cy", authority="gm", when="1405-01-01")

    await retract_item(driver, new)

    assert await describe_entity(driver, "Gull") == {says("Cy")}
    assert await describe_entity(driver, "Gull", "1402") == {says("Ana")}


@pytest.mark.parametrize("form", ["state", "words"])
async def test_a_state_retracted_by_higher_authority_holds_again(form: str) -> None:
    driver = await a_table()
    if form == "state":
        await accept_claim(driver, kind="state", of="Ana", tags=["dead"], when="1401-01-01")
    else:
        await state_fact(driver, "Zed killed Ana", "Ana", when="1401-01-01")
    assert "dead" in await describe_entity(driver, "Ana")
    alive = {"kind": "state", "of": "Ana", "tags": ["alive"], "when": "1401-01-01"}
    new = (await accept_claim(driver, authority="gm", **alive))["id"]
    assert (await describe_entity(driver, "Ana")) & {"alive", "dead"} == {"alive"}

    await retract_item(driver, new)

    assert (await describe_entity(driver, "Ana")) & {"alive", "dead"} == {"dead"}


async def test_a_marriage_ends_an_earlier_one_of_either_spouse() -> None:
    driver = await a_table()
    await state_tie(driver, "Ana", "MARRIED_TO", "Bo", when="1395-01-01")
    await state_tie(driver, "Bo", "MARRIED_TO", "Cy", when="1403-01-01")

    assert await describe_entity(driver, "Bo") == {"Bo married to Cy"}
    assert await describe_entity(driver, "Ana") == set()
    assert await describe_entity(driver, "Bo", "1400") == {"Ana married to Bo"}


async def test_a_fact_restated_for_an_earlier_time_held_since_then() -> None:
    driver = await a_table()
    says = "Di is the captain of the Gull"
    await state_fact(driver, says, "Gull", "Di", when="1403-01-01")
    await state_fact(driver, says, "Gull", "Di", when="1400-01-01")

    assert await describe_entity(driver, "Gull", "1401") == {says}
    assert await describe_entity(driver, "Gull", "1399") == set()


async def test_a_fact_restated_later_begins_again_after_an_intermediate_value() -> None:
    driver = await a_table()
    for year in ("1395", "1410"):
        await accept_claim(driver, kind="state", of="Box", tags=["open"], when=f"{year}-01-01")
        await state_tie(driver, "Ring", "LOCATED_IN", "Hall", when=f"{year}-01-01")

    await accept_claim(driver, kind="state", of="Box", tags=["closed"], when="1405-01-01")
    await state_tie(driver, "Ring", "LOCATED_IN", "Mill", when="1405-01-01")

    boxes = {
        year: await describe_entity(driver, "Box", year) & {"open", "closed"}
        for year in ("1400", "1407")
    }
    assert boxes == {"1400": {"open"}, "1407": {"closed"}}
    assert "open" in await describe_entity(driver, "Box")
    places = {
        year: await describe_entity(driver, "Ring", year) for year in ("1400", "1407", "1411")
    }
    room, mill = {"Ring located in Hall"}, {"Ring located in Mill"}
    assert places == {"1400": room, "1407": mill, "1411": room}


async def test_an_end_without_successor_applies_again_after_a_retraction() -> None:
    driver = await a_table()
    first = await state_tie(driver, "Ring", "LOCATED_IN", "Hall", when="1395-01-01")
    ended = {"relationship_id": first, "until": "1405-01-01T00:00:00Z", "reason": "it was moved"}
    await make_driver("CanonKeeper", driver).call("neo4j_end_relationship", **ended)
    between = await state_fact(driver, "The Ring is in the Ford", "Ring", "Ford", when="1400-01-01")
    assert await describe_entity(driver, "Ring", "1402") == {"The Ring is in the Ford"}

    await retract_item(driver, between)

    assert await describe_entity(driver, "Ring", "1402") == {"Ring located in Hall"}
    assert await describe_entity(driver, "Ring", "1407") == set()


async def test_a_restored_location_ends_where_a_fact_states_the_next() -> None:
    driver = await a_table()
    await state_tie(driver, "Ana", "LOCATED_IN", "Hall", when="1399")
    wrong = await state_tie(driver, "Ana", "LOCATED_IN", "Ford", when="1400")
    await state_fact(driver, "Ana is in Mill", "Ana", "Mill", when="1410")

    await retract_item(driver, wrong)

    assert await describe_entity(driver, "Ana") == {"Ana is in Mill"}
    assert await describe_entity(driver, "Ana", "1405") == {"Ana located in Hall"}


async def test_an_undated_scene_follows_the_scenes_before_it() -> None:
    driver = await a_table()
    await driver.call("tell", scene="One", turns=[{"by": "gm", "text": "On."}], when="1401-07-01")
    reply = await driver.call("tell", scene="Two", turns=[{"by": "gm", "text": "On."}])
    claim = {"kind": "relation", "from": "Ana", "type": "LOCATED_IN", "to": "Hall"}
    await driver.call("propose", evidence=[reply["turns"][0]["id"]], claims=[claim])

    assert await describe_entity(driver, "Ana", "1400-01-01") == set()
    assert (
        await describe_entity(driver, "Ana", "1402-01-01")
        == await describe_entity(driver, "Ana")
        != set()
    )
    assert await describe_entity(driver, "Hall", "1400-01-01") == set()


async def test_an_undated_statement_follows_earlier_ones_on_its_subject() -> None:
    driver = await a_table()
    await state_fact(driver, "Ana is in the Hall", "Ana", "Hall", when="1400-01-01")
    await state_tie(driver, "Ana", "LOCATED_IN", "Ford")

    assert await describe_entity(driver, "Ana", "1390-01-01") == set()
    assert await describe_entity(driver, "Ford", "1390-01-01") == set()
    assert await describe_entity(driver, "Ana") == await describe_entity(driver, "Ford") != set()
    assert await describe_entity(driver, "Hall") == set()


async def test_undated_lore_holds_at_any_date() -> None:
    driver = await a_table()
    await state_fact(driver, "Bo is in the Mill", "Bo", "Mill", when="1400-01-01")
    await state_fact(driver, "The Mill has a bell", "Mill")

    assert await describe_entity(driver, "Mill", "1300-01-01") == {"The Mill has a bell"}


WEDDINGS: list[dict[str, Any]] = [
    {"kind": "relation", "from": "Bo", "type": "MARRIED_TO", "to": "Ana"},
    {"kind": "fact", "says": "Bo married Ana", "about": ["Ana", "Bo"]},
]


@pytest.mark.parametrize("wedding", WEDDINGS)
@pytest.mark.parametrize("death", ["Ana is dead", "Cy killed Ana"])
async def test_a_death_ends_the_marriage_whoever_states_it(
    wedding: dict[str, Any], death: str
) -> None:
    driver = await a_table()
    wed = {"Bo married to Ana", "Bo married Ana", "Bo is married", "married"}
    await accept_claim(driver, **wedding, when="1406-04-01")
    before = await describe_entity(driver, "Bo")
    claim = {"kind": "fact", "says": death, "about": ["Ana", "Cy"][: 1 + ("Cy" in death)]}

    answer = await accept_claim(driver, "player", **claim, when="1410-04-01")

    assert before & wed
    assert not (await describe_entity(driver, "Bo")) & wed
    assert await describe_entity(driver, "Bo", "1407-01-01") == before
    await retract_item(driver, answer["id"])
    assert await describe_entity(driver, "Bo") == before


async def test_a_marriage_stated_after_the_death_ended_with_it() -> None:
    driver = await a_table()
    await state_fact(driver, "Ana is dead", "Ana", when="1410-04-01")

    await accept_claim(driver, **WEDDINGS[0], when="1406-04-01")

    assert await describe_entity(driver, "Bo", "1407-01-01") == {"Bo married to Ana"}
    assert await describe_entity(driver, "Bo") == {"Bo is widowed", "widowed"}


async def test_an_undated_death_comes_after_the_wedding() -> None:
    driver = await a_table()
    await accept_claim(driver, **WEDDINGS[0], when="1406-04-01")

    await state_fact(driver, "Ana is dead", "Ana")

    assert "Ana is dead" not in await describe_entity(driver, "Ana", "1405-01-01")
    assert await describe_entity(driver, "Bo") == {"Bo is widowed", "widowed"}


@pytest.mark.parametrize("wedding", WEDDINGS)
@pytest.mark.parametrize("death", ["Ana is dead", "Cy killed Ana"])
async def test_nobody_is_widowed_by_a_wedding_that_is_retracted(
    wedding: dict[str, Any], death: str
) -> None:
    driver = await a_table()
    wed = await accept_claim(driver, **wedding, when="1406-04-01")
    about = ["Ana", "Cy"][: 1 + ("Cy" in death)]
    await state_fact(driver, death, *about, when="1410-04-01")
    assert "widowed" in await describe_entity(driver, "Bo")

    await retract_item(driver, wed["id"])

    assert await describe_entity(driver, "Bo") == set()
    assert "Ana is dead" in await describe_entity(driver, "Ana")


async def test_a_widow_by_two_statements_stays_one_without_the_first() -> None:
    driver = await a_table()
    wed = await accept_claim(driver, **WEDDINGS[0], when="1406-04-01")
    await accept_claim(driver, **WEDDINGS[1], when="1406-04-01")
    await state_fact(driver, "Ana is dead", "Ana", when="1410-04-01")

    await retract_item(driver, wed["id"])

    assert {"Bo is widowed", "widowed"} <= await describe_entity(driver, "Bo")


@pytest.mark.parametrize(("other", "left"), [("Cy", True), ("Bo", False)])
async def test_a_divorce_from_one_leaves_a_marriage_to_another_stated_late(
    other: str, left: bool
) -> None:
    driver = await a_table()
    await state_fact(driver, "Bo divorced Ana", "Ana", "Bo", when="1411-04-01")

    await state_fact(driver, f"Ana is married to {other}", "Ana", other, when="1397-07-01")

    assert ("married" in await describe_entity(driver, "Ana")) is left
    assert "married" in await describe_entity(driver, "Ana", "1400-01-01")


RESTING: list[dict[str, Any]] = [
    {"kind": "relation", "from": "Ana", "type": "MEMBER_OF", "to": "Band"},
    {"kind": "fact", "says": "Ana works for the Band", "about": ["Ana", "Band"]},
    {"kind": "relation", "from": "Ana", "type": "RULES", "to": "Ford"},
    {"kind": "fact", "says": "Ana is the captain of the Gull", "about": ["Ana", "Gull"]},
    {"kind": "relation", "from": "Ana", "type": "LIVES_IN", "to": "Ford"},
    {"kind": "fact", "says": "Ana is Bo's prisoner", "about": ["Ana", "Bo"]},
    {"kind": "fact", "says": "Ana travels with Bo", "about": ["Ana", "Bo"]},
    {"kind": "state", "of": "Ana", "tags": ["pregnant"]},
    {"kind": "fact", "says": "Ana is married", "about": ["Ana"]},
    {"kind": "fact", "says": "Ana is angry", "about": ["Ana"]},
    {"kind": "fact", "says": "Ana was knocked out", "about": ["Ana"]},
    {"kind": "state", "of": "Ana", "tags": ["asleep", "paralysed"]},
]


@pytest.mark.parametrize("claim", RESTING, ids=str)
@pytest.mark.parametrize("first", [True, False])
async def test_a_death_ends_what_rests_on_a_life(claim: dict[str, Any], *, first: bool) -> None:
    driver, death = await a_table(), {"kind": "state", "of": "Ana", "tags": ["dead"]}
    reported = [{**claim, "when": "1406-04-01"}, {**death, "when": "1410-04-01"}]

    ids = [
        (await accept_claim(driver, **each))["id"]
        for each in (reported if first else reported[::-1])
    ]

    held = await describe_entity(driver, "Ana", "1407-01-01")
    assert held
    assert not held & await describe_entity(driver, "Ana", "1411-01-01")
    await retract_item(driver, ids[1] if first else ids[0])
    assert await describe_entity(driver, "Ana", "1411-01-01") == held


@pytest.mark.parametrize(
    "says", ["is wounded", "was poisoned", "is cursed", "sleeps in boots", "sleeps badly"]
)
async def test_a_death_leaves_wounds_curses_and_habits(says: str) -> None:
    driver = await a_table()
    await state_fact(driver, f"Ana {says}", "Ana", when="1406-04-01")
    held = await describe_entity(driver, "Ana", "1407-01-01")

    await state_fact(driver, "Ana died", "Ana", when="1410-04-01")

    assert held - {"alive", "Ana is alive"} <= await describe_entity(driver, "Ana", "1411-01-01")


OPPOSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (WEDDINGS[0], {"kind": "fact", "says": "Ana is single", "about": ["Ana"]}),
    (
        {"kind": "relation", "from": "Ana", "type": "PARENT_OF", "to": "Bo"},
        {"kind": "fact", "says": "Ana is Bo's sister", "about": ["Ana", "Bo"]},
    ),
]


@pytest.mark.parametrize(("one", "other"), [*OPPOSED, *(pair[::-1] for pair in OPPOSED)], ids=str)
async def test_a_relation_is_compared_with_what_it_implies_and_rules_out(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    driver = await a_table()
    await driver.call("propose", said="So it is.", claims=[one])

    (verdict,) = (await driver.call("propose", said="Or so.", claims=[other]))["verdicts"]

    assert verdict["verdict"] == "rejected" or verdict["against"]


OF_OBJECTS: list[tuple[dict[str, Any], str, bool]] = [
    ({"kind": "relation", "from": "Ana", "type": "CARRIES", "to": "Ring"}, "destroyed", True),
    ({"kind": "fact", "says": "Ana wears the Ring", "about": ["Ana", "Ring"]}, "destroyed", True),
    ({"kind": "relation", "from": "Ana", "type": "OWNS", "to": "Ring"}, "destroyed", False),
    ({"kind": "relation", "from": "Ana", "type": "OWNS", "to": "Ring"}, "consumed", True),
    ({"kind": "relation", "from": "Ring", "type": "LOCATED_IN", "to": "Ford"}, "destroyed", False),
    ({"kind": "relation", "from": "Ring", "type": "LOCATED_IN", "to": "Ford"}, "eaten", True),
]


@pytest.mark.parametrize(("claim", "tag", "ends"), OF_OBJECTS, ids=str)
@pytest.mark.parametrize("first", [True, False])
async def test_what_is_consumed_is_nowhere_and_what_is_destroyed_in_no_hand(
    claim: dict[str, Any], tag: str, *, ends: bool, first: bool
) -> None:
    driver, over = await a_table(), {"kind": "state", "of": "Ring", "tags": [tag]}
    reported = [{**claim, "when": "1406-04-01"}, {**over, "when": "1410-04-01"}]

    for each in reported if first else reported[::-1]:
        await accept_claim(driver, **each)

    held = await describe_entity(driver, "Ring", "1407-01-01")
    assert held
    assert held.isdisjoint(await describe_entity(driver, "Ring", "1411-01-01")) is ends


async def test_the_present_of_a_story_is_the_latest_time_of_its_scenes() -> None:
    driver = await a_table()
    await driver.call("tell", scene="Ford", turns=[{"by": "gm", "text": "On."}], when="1405-07-01")
    await state_fact(driver, "Bo is the captain of the Gull", "Bo", "Gull", when="1404-01-01")

    await state_fact(driver, "Ana is the captain of the Gull", "Ana", "Gull", when="1406-01-01")

    rows = (await driver.call("get", of="Gull", full=True))["facts"]
    assert {row["says"]: row.get("later") for row in rows} == {
        "Bo is the captain of the Gull": None,
        "Ana is the captain of the Gull": True,
    }
    await driver.call("tell", scene="Mill", turns=[{"by": "gm", "text": "On."}], when="1407-07-01")
    assert await describe_entity(driver, "Gull") == {"Ana is the captain of the Gull"}


async def test_a_planned_end_yields_to_an_earlier_successor() -> None:
    driver = await a_table()
    await driver.call("tell", scene="Ford", turns=[{"by": "gm", "text": "On."}], when="1410-07-01")
    await state_tie(driver, "Di", "OWNS", "Ring", when="1395-04-01")
    await state_fact(driver, "The Ring belongs to Cy", "Cy", "Ring", when="1412-04-01")
    between = await state_tie(driver, "Ana", "OWNS", "Ring", when="1409-04-01")

    assert await describe_entity(driver, "Ring") == {"Ana owns Ring", "The Ring belongs to Cy"}
    await retract_item(driver, between)
    assert await describe_entity(driver, "Ring") == {"Di owns Ring", "The Ring belongs to Cy"}

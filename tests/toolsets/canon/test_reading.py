"""Finding, getting, explaining: by names, now, at a time, as once known, within a small reply."""

import base64

import pytest

from canonry.testing.clocks import HandClock
from canonry.values.ids import SpaceId
from tests.adapters.readers.paper import a_pdf
from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio
HOUR = 3_600_000_000
NOWHERE = "ffffffff-0000-4000-8000-00000000dead"


def forward(clock: HandClock, microseconds: int = HOUR) -> None:
    clock.move_by(microseconds)


async def says(desk: Desk, **arguments: object) -> list[str]:
    return [row.get("says", "") for row in (await desk.call("find", **arguments))["found"]]


async def test_row_9_a_search_finds_relations_by_who_is_asked_about() -> None:
    desk = a_desk()
    await desk.saltmere()
    await desk.call(
        "propose",
        said="Ilsa wields the Blade of Dawn.",
        claims=[
            {"kind": "entity", "name": "Blade of Dawn", "type": "object"},
            {"kind": "relation", "from": "Ilsa Vane", "type": "wields", "to": "Blade of Dawn"},
        ],
    )

    assert await says(desk, text="who wields the blade?", kinds=["relation"]) == [
        "Ilsa Vane wields Blade of Dawn"
    ]
    assert "Ilsa Vane wields Blade of Dawn" in await says(desk, text="who wields the blade?")


async def test_a_search_finds_every_kind_and_documents_by_title() -> None:
    desk = a_desk()
    await desk.saltmere()
    await desk.call(
        "tell", scene="Storm", turns=[{"by": "gm", "text": "A storm breaks the light."}]
    )

    found = (await desk.call("find", text="Harbour book light at Marrow", limit=20))["found"]

    assert {row["kind"] for row in found} >= {"fact", "passage", "document", "turn", "entity"}
    assert await desk.call("find", text="zebra") == {
        "note": "Nothing is known about it here.",
        "found": [],
        "searched": "words only",
        "hint": "Try other words or kinds, or record it with tell.",
    }


async def test_what_ended_is_no_answer_except_to_a_question_about_the_past() -> None:
    desk = a_desk()
    await desk.saltmere()
    for tag, when in (("calm", "1900-01-01"), ("furious", "1910-01-01")):
        await desk.call(
            "propose",
            said=f"Odo is {tag}.",
            claims=[{"kind": "state", "of": "Odo", "tags": [tag], "when": when}],
        )
    await desk.call(
        "propose",
        said="Odo moves.",
        claims=[
            {"kind": "entity", "name": "Quay", "type": "location"},
            {"kind": "relation", "from": "Odo", "type": "LOCATED_IN", "to": "Quay"},
        ],
    )

    found = await desk.call("find", text="where is Odo located", kinds=["relation"])
    assert [(each["says"], "until" in each or "ended" in each) for each in found["found"]] == [
        ("Odo Brand located in Quay", False),
    ]
    assert found["note"] == "Found 1 relation, without 1 item that ended."
    before = await desk.call("find", text="where was Odo located before", kinds=["relation"])
    assert [(each["says"], "until" in each or "ended" in each) for each in before["found"]] == [
        ("Odo Brand located in Quay", False),
        ("Odo Brand located in Marrow Lighthouse", True),
    ]
    early = await says(desk, text="Odo is furious", kinds=["fact"], at="1905-01-01")
    late = await says(desk, text="Odo is furious", kinds=["fact"], at="1911-01-01")
    assert "Odo Brand is furious" not in early
    assert "Odo Brand is furious" in late


async def test_a_question_that_names_a_time_is_answered_first_by_what_held_then() -> None:
    desk = a_desk()
    await desk.saltmere()
    for place, since in (("Harrow", "1990-01-01"), ("Quay", "2000-01-01")):
        living = {"kind": "relation", "from": "Odo", "type": "LIVES_IN", "to": place}
        claims = [{"kind": "entity", "name": place, "type": "location"}, living | {"when": since}]
        await desk.call("propose", said=f"Odo lives in {place}.", claims=claims)
    lived, lives = "Odo Brand lives in Harrow", "Odo Brand lives in Quay"

    now, then, after = [
        [each for each in found if each in {lived, lives}]
        for found in [
            await says(desk, text=text, kinds=["relation"])
            for text in ("where Odo lives", "where Odo lived in 1995", "where Odo lived in 2003")
        ]
    ]

    assert now == after == [lives]
    assert then == [lived, lives]


async def test_what_was_known_is_searched_and_got_as_it_stood_then() -> None:
    desk = a_desk()
    await desk.saltmere()
    forward(desk.clock)
    before = "2025-01-15T00:30:00Z"
    await desk.call(
        "propose",
        said="It burns.",
        claims=[{"kind": "fact", "says": "Marrow burns", "about": ["Marrow"]}],
    )
    (row,) = (await desk.call("find", text="Odo keeps the light", kinds=["fact"]))["found"]
    await desk.call("decide", verdict="retcon", of=[row["id"]], reason="It was his brother.")

    now = await says(desk, text="light burns", kinds=["fact"])
    then = await says(desk, text="light burns", kinds=["fact"], as_known_at=before)
    listed = await says(desk, kinds=["fact"], about="Odo", as_known_at=before)
    odo = await desk.call("get", of="Odo", as_known_at=before)
    fact = await desk.call("get", of=row["id"], as_known_at=before)
    unknown = await desk.refused("get", of=row["id"], as_known_at="2024-01-01")

    assert now == ["Marrow burns"]
    assert then == ["Odo Brand keeps the light at Marrow"]
    assert listed == ["Odo Brand keeps the light at Marrow"]
    assert [each["says"] for each in odo["facts"]] == ["Odo Brand keeps the light at Marrow"]
    assert "level" not in fact
    assert (await desk.call("get", of=row["id"]))["level"] == "retconned"
    assert unknown["details"]["reason"] == "thing.not-yet"


async def test_the_only_space_is_meant_and_of_several_one_is_named() -> None:
    desk = a_desk()
    first = await desk.saltmere()
    second = (await desk.call("open", name="Saltmarsh"))["id"]

    several = await desk.refused("tell", text="light")
    begun = await desk.refused("find", text="light", space="Salt")
    unknown = await desk.refused("find", text="light", space="Saltmeer")
    by_name = await desk.call("find", text="light", space="saltmer")
    by_id = await desk.call("find", text="light", space=first)
    named = a_desk(beside=desk, world=SpaceId("saltmere"))

    assert [each.split(" (")[0] for each in several["details"]["candidates"]] == [
        "Saltmere",
        "Saltmarsh",
    ]
    assert len(begun["details"]["candidates"]) == 2
    assert "Did you mean Saltmere?" in unknown["message"]
    assert by_name == by_id
    assert (await named.call("find", text="light")) == by_id
    assert (await desk.call("get", of=second))["name"] == "Saltmarsh"


async def test_nobody_finds_what_lies_where_they_may_not_look() -> None:
    desk = a_desk()
    await desk.saltmere()
    odo = (await desk.call("get", of="Odo"))["id"]
    elsewhere = SpaceId((await desk.call("open", name="Elsewhere"))["id"])
    bound = a_desk("Reader", beside=desk, spaces=frozenset((elsewhere,)))

    assert [each["name"] for each in (await bound.call("spaces"))["spaces"]] == ["Elsewhere"]
    assert (await bound.call("find", text="Odo"))["found"] == []
    for tool in ("get", "why"):
        assert (await bound.refused(tool, of=odo))["code"] == "NOT_FOUND"
    assert (await bound.refused("find", text="Odo", space="Saltmere"))["code"] == "NOT_FOUND"
    nowhere = a_desk("Reader", beside=desk, spaces=frozenset())
    assert (await nowhere.refused("find", text="Odo"))["details"]["reason"] == "space.unknown"


async def test_the_records_of_one_user_are_nobody_elses() -> None:
    desk = a_desk(user="ann")
    await desk.call(
        "tell", space="account", records=[{"type": "contact", "name": "Zoe", "email": "z@x.org"}]
    )
    zoe = (await desk.call("get", of="Zoe"))["id"]
    other = a_desk(beside=desk, user="bob")

    assert (await other.refused("get", of=zoe))["code"] == "NOT_FOUND"
    assert (await other.call("find", text="Zoe", space="account"))["found"] == []
    assert (await other.call("changes", space="account")) == {
        "note": "Nothing was recorded here.",
        "changes": [],
        "cursor": "0",
        "left": 0,
    }


async def test_pages_follow_each_other_and_no_default_reply_is_long() -> None:
    desk = a_desk()
    await desk.saltmere()
    for start in (0, 20):
        claims = [
            {
                "kind": "fact",
                "says": f"Stone {n} lies on the beach. {'Long. ' * 60}",
                "about": ["Odo"],
            }
            for n in range(start, start + 20)
        ]
        await desk.call("propose", said="Many stones.", claims=claims)

    seen: list[str] = []
    cursor = None
    for _page in range(40):
        result = await desk.outcome("find", {"kinds": ["fact"], "cursor": cursor})
        assert len(result.text.encode()) <= 4_000
        assert len(result.body["found"]) <= 10
        seen += [row["id"] for row in result.body["found"]]
        cursor = result.body.get("next")
        if cursor is None:
            break
    full = await desk.outcome("find", {"text": "stone", "full": True, "limit": 50})

    assert len(seen) == len(set(seen)) == 41
    assert len(full.text) > 8_000
    for wrong in ("x", "-1", "9" * 12):
        assert (await desk.refused("find", cursor=wrong))["details"]["reason"] == "cursor.malformed"


async def test_filters_alone_list_each_kind() -> None:
    desk = a_desk()
    await desk.saltmere()
    await desk.call("tell", scene="Storm", turns=[{"by": "Odo", "text": "It blows."}])

    async def kinds(**arguments: object) -> list[str]:
        return [row["kind"] for row in (await desk.call("find", **arguments))["found"]]

    assert await kinds(type="location") == ["entity"]
    assert await kinds(kinds=["document"]) == ["document"]
    assert await kinds(kinds=["passage"]) == ["scene"]
    assert await kinds(kinds=["lore"]) == []
    assert await kinds(kinds=["event"]) == []
    assert await kinds(about="Odo") == ["fact", "relation"]
    assert await kinds(text="Odo", type="location") == []
    assert await kinds(text="Odo", about="Odo", kinds=["fact", "relation"]) != []


async def test_a_scene_and_a_document_are_got_with_what_is_in_them() -> None:
    desk = a_desk()
    await desk.saltmere()
    told = [{"by": "gm", "text": f"Turn {n}."} for n in range(12)]
    await desk.call("tell", scene="Storm", place="Marrow", turns=told)

    scene = await desk.call("get", of="Storm")
    rest = await desk.call("get", of="Storm", cursor=scene["next"])
    document = await desk.call("get", of="Harbour book")

    assert [len(each["turns_said"]) for each in (scene, rest)] == [10, 2]
    assert document["passages"][0]["says"].startswith("Odo Brand keeps the light")


async def test_why_names_the_words_the_rule_and_what_rests_on_it() -> None:
    desk = a_desk()
    await desk.saltmere()
    (row,) = (await desk.call("find", text="keeps the light", kinds=["fact"]))["found"]

    why = await desk.call("why", of=row["id"])
    about = await desk.call("why", of="Odo", full=True)

    assert why["because"][0]["name"] == "Harbour book"
    assert why["judged"]["rule"] == "gate:score-reaches-threshold"
    assert why["recorded"]["tool"] == "propose"
    assert {each["says"] for each in about["rests_on_it"]} >= {row["says"]}
    await desk.call("decide", verdict="retcon", of=[row["id"]], reason="No.")
    assert (await desk.call("why", of=row["id"]))["ended_by"]["because"] == "No."
    assert (await desk.refused("why", of="Harbour book"))["details"]["reason"] == "name.unknown"


async def test_changes_go_on_from_a_cursor_or_an_instant() -> None:
    desk = a_desk()
    await desk.saltmere()
    forward(desk.clock)
    start = await desk.call("changes", limit=1)
    await desk.call("propose", said="Fog.", claims=[{"kind": "fact", "says": "It is foggy"}])

    since = await desk.call("changes", since=start["cursor"])
    today = await desk.call("changes", since="2025-01-15T00:30:00Z")
    page = await desk.call("changes", since="0", limit=2)

    told = [(w["how"], w["kind"]) for each in since["changes"] for w in each["what"]]
    assert told == [("new", "passage"), ("new", "fact")]
    assert [each["at"] for each in today["changes"]] == [each["at"] for each in since["changes"]]
    assert page["left"] > 0
    assert page["hint"] == f"For the rest, call changes with since={page['cursor']}."
    assert (await desk.call("changes", since="99999"))["changes"] == []
    assert (await desk.refused("changes", since="some day"))["details"]["path"] == "/since"


async def test_a_brief_stays_within_its_budget_and_says_what_it_left_out() -> None:
    desk = a_desk()
    await desk.saltmere()
    names = ("Ada", "Bea", "Cia", "Dot", "Eva", "Fay", "Gwen", "Hope", "Ivy", "Joy", "Kay", "Lea")
    claims = [
        {"kind": "fact", "says": f"The boat {name} lies at the quay", "about": ["Odo"]}
        for name in names
    ]
    await desk.call("propose", said="Boats.", claims=claims)
    await desk.call(
        "tell", scene="Storm", place="Marrow", turns=[{"by": "Odo", "text": "It blows."}]
    )

    for asked in ({"of": "Odo"}, {"question": "what boats are there?"}, {"of": "Storm"}):
        small = await desk.call("context", tokens=100, **asked)
        large = await desk.call("context", tokens=2000, **asked)
        assert small["tokens"] <= 100
        assert small["tokens"] <= large["tokens"] <= 2000
        assert small.get("left_out"), (asked, small, large)
        assert "left_out" not in large
    assert (await desk.refused("context"))["details"]["reason"] == "context.of-what"
    nothing = await desk.call("context", question="zebra")
    assert nothing["note"] == "Nothing is known about it here."


async def test_a_timeline_has_places_names_and_order() -> None:
    desk = a_desk()
    await desk.saltmere()
    claims = [
        {"kind": "event", "says": said, "about": ["Odo"], "where": "Marrow", "when": when}
        for said, when in (("Storm", "1901-05-01"), ("Calm", "1900-05-01"))
    ]
    await desk.call("propose", said="Weather.", claims=claims)

    rows = (await desk.call("timeline", about="Odo"))["timeline"]
    late = (await desk.call("timeline", **{"from": "1901-01-01", "to": "1901-12-31"}))["timeline"]

    assert [row["says"] for row in rows] == ["Calm", "Storm"]
    assert rows[0]["about"] == ["Odo Brand", "Marrow Lighthouse"]
    assert [row["when"] for row in late] == ["1901-05-01"]


async def test_why_a_field_of_ones_own_record_says_so_names_its_place_on_the_page() -> None:
    desk = a_desk()
    bill = a_pdf("Invoice\nInvoice number: A-1\nTotal: 1,250.00 EUR\n")
    content = base64.b64encode(bill).decode()
    told = await desk.call("tell", file=content, mime_type="application/pdf", space="account")
    asked = {"of": told["entities"][0]["id"], "space": "account"}

    one = await desk.call("why", **asked, field="amount_due")
    whole = await desk.call("why", **asked)

    (place,) = one["places"]
    assert (place["quote"], place["page"], place["line"]) == ("Total: 1,250.00 EUR", 1, 3)
    left, top, right, bottom = place["box"]
    assert 72 < left < right < 200
    assert 72 < top < bottom < 120
    assert "places" not in whole


async def test_a_fact_goes_by_its_own_words_whatever_their_signs() -> None:
    desk = a_desk()
    await desk.saltmere()

    fact = await desk.call("get", of="Odo Brand keeps the light at Marrow.")
    assert fact["kind"] == "fact"
    assert (await desk.call("why", of=" odo brand keeps the light at marrow"))["id"] == fact["id"]

    refused = await desk.refused("get", of="Odo Brand keeps the light")
    assert refused["details"]["reason"] == "name.unknown"


async def test_what_waits_is_named_by_what_it_builds_on_and_told_where_nothing_is_found() -> None:
    desk = a_desk()
    await desk.call("open", name="Saltmere")
    claims = [
        {"kind": "entity", "name": "Nils Roke", "type": "character"},
        {"kind": "entity", "name": "Quay", "type": "location"},
        {"kind": "relation", "from": "Nils Roke", "type": "LOCATED_IN", "to": "Quay"},
    ]
    _, _, built = (await desk.call("propose", claims=claims))["verdicts"]

    assert len(built["builds_on"]) == 2
    assert "against" not in built
    waiting = (await desk.call("review"))["waiting"]
    (tie,) = [row for row in waiting if row["id"] == built["proposal"]]
    assert tie["says"] == "relationship: Nils Roke LOCATED_IN Quay"
    assert (await desk.call("why", of=built["proposal"]))["says"] == tie["says"]
    assert "Open proposals: 3; see review." in (await desk.call("find", text="quay"))["hint"]

"""Finding, getting, explaining: by names, now, at a time, as once known, within a small reply."""

import base64

import pytest

from canonry.testing.clocks import HandClock
from canonry.values.ids import SpaceId
from tests.adapters.readers.paper import a_pdf
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
HOUR = 3_600_000_000
NOWHERE = "ffffffff-0000-4000-8000-00000000dead"


def move_clock(clock: HandClock, microseconds: int = HOUR) -> None:
    clock.move_by(microseconds)


async def find_statements(driver: ToolDriver, **arguments: object) -> list[str]:
    return [row.get("says", "") for row in (await driver.call("find", **arguments))["found"]]


async def test_a_search_finds_relations_by_a_participant() -> None:
    driver = make_driver()
    await driver.saltmere()
    await driver.call(
        "propose",
        said="Ilsa wields the Blade of Dawn.",
        claims=[
            {"kind": "entity", "name": "Blade of Dawn", "type": "object"},
            {"kind": "relation", "from": "Ilsa Vane", "type": "wields", "to": "Blade of Dawn"},
        ],
    )

    assert await find_statements(driver, text="who wields the blade?", kinds=["relation"]) == [
        "Ilsa Vane wields Blade of Dawn"
    ]
    assert "Ilsa Vane wields Blade of Dawn" in await find_statements(
        driver, text="who wields the blade?"
    )


async def test_a_search_finds_every_kind_and_documents_by_title() -> None:
    driver = make_driver()
    await driver.saltmere()
    await driver.call(
        "tell", scene="Storm", turns=[{"by": "gm", "text": "A storm breaks the light."}]
    )

    found = (await driver.call("find", text="Harbour book light Marrow", limit=20))["found"]

    assert {row["kind"] for row in found} >= {"fact", "passage", "document", "turn", "entity"}
    assert await driver.call("find", text="zebra") == {
        "note": "Nothing is known about it here.",
        "found": [],
        "searched": "words only",
        "hint": "Try other words or kinds, or record it with tell.",
    }


async def test_ended_items_answer_only_questions_about_the_past() -> None:
    driver = make_driver()
    await driver.saltmere()
    for tag, when in (("calm", "1900-01-01"), ("furious", "1910-01-01")):
        await driver.call(
            "propose",
            said=f"Odo is {tag}.",
            claims=[{"kind": "state", "of": "Odo", "tags": [tag], "when": when}],
        )
    await driver.call(
        "propose",
        said="Odo moves.",
        claims=[
            {"kind": "entity", "name": "Quay", "type": "location"},
            {"kind": "relation", "from": "Odo", "type": "LOCATED_IN", "to": "Quay"},
        ],
    )

    found = await driver.call("find", text="where is Odo located", kinds=["relation"])
    assert [(each["says"], "until" in each or "ended" in each) for each in found["found"]] == [
        ("Odo Brand located in Quay", False),
    ]
    assert found["note"] == "Found 1 relation, without 1 item that ended."
    before = await driver.call("find", text="where was Odo located before", kinds=["relation"])
    assert [(each["says"], "until" in each or "ended" in each) for each in before["found"]] == [
        ("Odo Brand located in Quay", False),
        ("Odo Brand located in Marrow Lighthouse", True),
    ]
    early = await find_statements(driver, text="Odo is furious", kinds=["fact"], at="1905-01-01")
    late = await find_statements(driver, text="Odo is furious", kinds=["fact"], at="1911-01-01")
    assert "Odo Brand is furious" not in early
    assert "Odo Brand is furious" in late


async def test_a_question_with_a_time_is_answered_by_items_of_that_time_first() -> None:
    driver = make_driver()
    await driver.saltmere()
    for place, since in (("Harrow", "1990-01-01"), ("Quay", "2000-01-01")):
        living = {"kind": "relation", "from": "Odo", "type": "LIVES_IN", "to": place}
        claims = [{"kind": "entity", "name": place, "type": "location"}, living | {"when": since}]
        await driver.call("propose", said=f"Odo lives in {place}.", claims=claims)
    lived, lives = "Odo Brand lives in Harrow", "Odo Brand lives in Quay"

    now, then, after = [
        [each for each in found if each in {lived, lives}]
        for found in [
            await find_statements(driver, text=text, kinds=["relation"])
            for text in ("where Odo lives", "where Odo lived in 1995", "where Odo lived in 2003")
        ]
    ]

    assert now == after == [lives]
    assert then == [lived, lives]


async def test_search_and_get_return_items_as_known_then() -> None:
    driver = make_driver()
    await driver.saltmere()
    move_clock(driver.clock)
    before = "2025-01-15T00:30:00Z"
    await driver.call(
        "propose",
        said="It burns.",
        claims=[{"kind": "fact", "says": "Marrow burns", "about": ["Marrow"]}],
    )
    (row,) = (await driver.call("find", text="Odo keeps the light", kinds=["fact"]))["found"]
    await driver.call("decide", verdict="retcon", of=[row["id"]], reason="It was his brother.")

    now = await find_statements(driver, text="light burns", kinds=["fact"])
    then = await find_statements(driver, text="light burns", kinds=["fact"], as_known_at=before)
    listed = await find_statements(driver, kinds=["fact"], about="Odo", as_known_at=before)
    odo = await driver.call("get", of="Odo", as_known_at=before)
    fact = await driver.call("get", of=row["id"], as_known_at=before)
    unknown = await driver.refused("get", of=row["id"], as_known_at="2024-01-01")

    assert now == ["Marrow burns"]
    assert then == ["Odo Brand keeps the light at Marrow"]
    assert listed == ["Odo Brand keeps the light at Marrow"]
    assert [each["says"] for each in odo["facts"]] == ["Odo Brand keeps the light at Marrow"]
    assert "level" not in fact
    assert (await driver.call("get", of=row["id"]))["level"] == "retconned"
    assert unknown["details"]["reason"] == "thing.not-yet"


async def test_the_only_space_is_the_default_and_of_several_one_is_named() -> None:
    driver = make_driver()
    first = await driver.saltmere()
    second = (await driver.call("open", name="Saltmarsh"))["id"]

    several = await driver.refused("tell", text="light")
    begun = await driver.refused("find", text="light", space="Salt")
    unknown = await driver.refused("find", text="light", space="Saltmeer")
    by_name = await driver.call("find", text="light", space="saltmer")
    by_id = await driver.call("find", text="light", space=first)
    named = make_driver(beside=driver, world=SpaceId("saltmere"))

    assert [each.split(" (")[0] for each in several["details"]["candidates"]] == [
        "Saltmere",
        "Saltmarsh",
    ]
    assert len(begun["details"]["candidates"]) == 2
    assert "Did you mean Saltmere?" in unknown["message"]
    assert by_name == by_id
    assert (await named.call("find", text="light")) == by_id
    assert (await driver.call("get", of=second))["name"] == "Saltmarsh"


async def test_no_search_finds_items_in_forbidden_spaces() -> None:
    driver = make_driver()
    await driver.saltmere()
    odo = (await driver.call("get", of="Odo"))["id"]
    elsewhere = SpaceId((await driver.call("open", name="Elsewhere"))["id"])
    bound = make_driver("Reader", beside=driver, spaces=frozenset((elsewhere,)))

    assert [each["name"] for each in (await bound.call("spaces"))["spaces"]] == ["Elsewhere"]
    assert (await bound.call("find", text="Odo"))["found"] == []
    for tool in ("get", "why"):
        assert (await bound.refused(tool, of=odo))["code"] == "NOT_FOUND"
    assert (await bound.refused("find", text="Odo", space="Saltmere"))["code"] == "NOT_FOUND"
    nowhere = make_driver("Reader", beside=driver, spaces=frozenset())
    assert (await nowhere.refused("find", text="Odo"))["details"]["reason"] == "space.unknown"


async def test_records_of_a_user_belong_to_nobody_else() -> None:
    driver = make_driver(user="ann")
    await driver.call(
        "tell", space="account", records=[{"type": "contact", "name": "Zoe", "email": "z@x.org"}]
    )
    zoe = (await driver.call("get", of="Zoe"))["id"]
    other = make_driver(beside=driver, user="bob")

    assert (await other.refused("get", of=zoe))["code"] == "NOT_FOUND"
    assert (await other.call("find", text="Zoe", space="account"))["found"] == []
    assert (await other.call("changes", space="account")) == {
        "note": "Nothing was recorded here.",
        "changes": [],
        "cursor": "0",
        "left": 0,
    }


async def test_pages_continue_and_no_default_reply_is_long() -> None:
    driver = make_driver()
    await driver.saltmere()
    for start in (0, 20):
        claims = [
            {
                "kind": "fact",
                "says": f"Stone {n} lies on the beach. {'Long. ' * 60}",
                "about": ["Odo"],
            }
            for n in range(start, start + 20)
        ]
        await driver.call("propose", said="Many stones.", claims=claims)

    seen: list[str] = []
    cursor = None
    for _page in range(40):
        result = await driver.outcome("find", {"kinds": ["fact"], "cursor": cursor})
        assert len(result.text.encode()) <= 4_000
        assert len(result.body["found"]) <= 10
        seen += [row["id"] for row in result.body["found"]]
        cursor = result.body.get("next")
        if cursor is None:
            break
    full = await driver.outcome("find", {"text": "stone", "full": True, "limit": 50})

    assert len(seen) == len(set(seen)) == 41
    assert len(full.text) > 8_000
    for wrong in ("x", "-1", "9" * 12):
        assert (await driver.refused("find", cursor=wrong))["details"][
            "reason"
        ] == "cursor.malformed"


async def test_filters_alone_list_each_kind() -> None:
    driver = make_driver()
    await driver.saltmere()
    await driver.call("tell", scene="Storm", turns=[{"by": "Odo", "text": "It blows."}])

    async def kinds(**arguments: object) -> list[str]:
        return [row["kind"] for row in (await driver.call("find", **arguments))["found"]]

    assert await kinds(type="location") == ["entity"]
    assert await kinds(kinds=["document"]) == ["document"]
    assert await kinds(kinds=["passage"]) == ["scene"]
    assert await kinds(kinds=["lore"]) == []
    assert await kinds(kinds=["event"]) == []
    assert await kinds(about="Odo") == ["fact", "relation"]
    assert await kinds(text="Odo", type="location") == []
    assert await kinds(text="Odo", about="Odo", kinds=["fact", "relation"]) != []


async def test_get_returns_a_scene_and_a_document_with_contents() -> None:
    driver = make_driver()
    await driver.saltmere()
    found = [{"by": "gm", "text": f"Turn {n}."} for n in range(12)]
    await driver.call("tell", scene="Storm", place="Marrow", turns=found)

    scene = await driver.call("get", of="Storm")
    rest = await driver.call("get", of="Storm", cursor=scene["next"])
    document = await driver.call("get", of="Harbour book")

    assert [len(each["turns_said"]) for each in (scene, rest)] == [10, 2]
    assert document["passages"][0]["says"].startswith("Odo Brand keeps the light")


async def test_why_names_the_words_the_rule_and_the_dependents() -> None:
    driver = make_driver()
    await driver.saltmere()
    (row,) = (await driver.call("find", text="keeps the light", kinds=["fact"]))["found"]

    why = await driver.call("why", of=row["id"])
    about = await driver.call("why", of="Odo", full=True)

    assert why["because"][0]["name"] == "Harbour book"
    assert why["judged"]["rule"] == "gate:score-reaches-threshold"
    assert why["recorded"]["tool"] == "propose"
    assert {each["says"] for each in about["rests_on_it"]} >= {row["says"]}
    await driver.call("decide", verdict="retcon", of=[row["id"]], reason="No.")
    assert (await driver.call("why", of=row["id"]))["ended_by"]["because"] == "No."
    assert (await driver.refused("why", of="Harbour book"))["details"]["reason"] == "name.unknown"


async def test_changes_continue_from_a_cursor_or_an_instant() -> None:
    driver = make_driver()
    await driver.saltmere()
    move_clock(driver.clock)
    start = await driver.call("changes", limit=1)
    await driver.call("propose", said="Fog.", claims=[{"kind": "fact", "says": "It is foggy"}])

    since = await driver.call("changes", since=start["cursor"])
    today = await driver.call("changes", since="2025-01-15T00:30:00Z")
    page = await driver.call("changes", since="0", limit=2)

    found = [(w["how"], w["kind"]) for each in since["changes"] for w in each["what"]]
    assert found == [("new", "passage"), ("new", "fact")]
    assert [each["at"] for each in today["changes"]] == [each["at"] for each in since["changes"]]
    assert page["left"] > 0
    assert page["hint"] == f"For the rest, call changes with since={page['cursor']}."
    assert (await driver.call("changes", since="99999"))["changes"] == []
    assert (await driver.refused("changes", since="some day"))["details"]["path"] == "/since"


async def test_a_brief_keeps_its_budget_and_names_omissions() -> None:
    driver = make_driver()
    await driver.saltmere()
    names = ("Ada", "Bea", "Cia", "Dot", "Eva", "Fay", "Gwen", "Hope", "Ivy", "Joy", "Kay", "Lea")
    claims = [
        {"kind": "fact", "says": f"The boat {name} lies at the quay", "about": ["Odo"]}
        for name in names
    ]
    await driver.call("propose", said="Boats.", claims=claims)
    await driver.call(
        "tell", scene="Storm", place="Marrow", turns=[{"by": "Odo", "text": "It blows."}]
    )

    for asked in ({"of": "Odo"}, {"question": "what boats are there?"}, {"of": "Storm"}):
        small = await driver.call("context", tokens=100, **asked)
        large = await driver.call("context", tokens=2000, **asked)
        assert small["tokens"] <= 100
        assert small["tokens"] <= large["tokens"] <= 2000
        assert small.get("left_out"), (asked, small, large)
        assert "left_out" not in large
    assert (await driver.refused("context"))["details"]["reason"] == "context.of-what"
    nothing = await driver.call("context", question="zebra")
    only = " The brief has only the latest scene."
    assert nothing["note"] == f"Nothing is known about it here.{only}"
    assert "## Latest scene" in nothing["brief"]
    assert "It blows." in nothing["brief"]
    for whole in ("Saltmere", "What is played"):
        brief = (await driver.call("context", of=whole))["brief"]
        assert all(each in brief for each in ("The boat Lea", "It blows."))


async def test_a_timeline_has_places_names_and_order() -> None:
    driver = make_driver()
    await driver.saltmere()
    claims = [
        {"kind": "event", "says": said, "about": ["Odo"], "where": "Marrow", "when": when}
        for said, when in (("Storm", "1901-05-01"), ("Calm", "1900-05-01"))
    ]
    await driver.call("propose", said="Weather.", claims=claims)

    rows = (await driver.call("timeline", about="Odo"))["timeline"]
    late = (await driver.call("timeline", **{"from": "1901-01-01", "to": "1901-12-31"}))["timeline"]

    assert [row["says"] for row in rows] == ["Calm", "Storm"]
    assert rows[0]["about"] == ["Odo Brand", "Marrow Lighthouse"]
    assert [row["when"] for row in late] == ["1 May 1901"]


async def test_why_a_field_has_its_value_names_the_page_position() -> None:
    driver = make_driver()
    bill = a_pdf("Invoice\nInvoice number: A-1\nTotal: 1,250.00 EUR\n")
    content = base64.b64encode(bill).decode()
    reply = await driver.call("tell", file=content, mime_type="application/pdf", space="account")
    asked = {"of": reply["entities"][0]["id"], "space": "account"}

    one = await driver.call("why", **asked, field="amount_due")
    whole = await driver.call("why", **asked)

    (place,) = one["places"]
    assert (place["quote"], place["page"], place["line"]) == ("Total: 1,250.00 EUR", 1, 3)
    left, top, right, bottom = place["box"]
    assert 72 < left < right < 200
    assert 72 < top < bottom < 120
    assert "places" not in whole


async def test_a_fact_is_found_by_its_words_whatever_their_signs() -> None:
    driver = make_driver()
    await driver.saltmere()

    fact = await driver.call("get", of="Odo Brand keeps the light at Marrow.")
    assert fact["kind"] == "fact"
    assert (await driver.call("why", of=" odo brand keeps the light at marrow"))["id"] == fact["id"]

    refused = await driver.refused("get", of="Odo Brand keeps the light")
    assert refused["details"]["reason"] == "name.unknown"


async def test_pending_items_are_named_by_their_basis_and_if_nothing_is_found() -> None:
    driver = make_driver()
    await driver.call("open", name="Saltmere")
    claims = [
        {"kind": "entity", "name": "Nils Roke", "type": "character"},
        {"kind": "entity", "name": "Quay", "type": "location"},
        {"kind": "relation", "from": "Nils Roke", "type": "LOCATED_IN", "to": "Quay"},
    ]
    _, _, built = (await driver.call("propose", claims=claims))["verdicts"]

    assert len(built["builds_on"]) == 2
    assert "against" not in built
    waiting = (await driver.call("review"))["waiting"]
    (tie,) = [row for row in waiting if row["id"] == built["proposal"]]
    assert tie["says"] == "relationship: Nils Roke LOCATED_IN Quay"
    assert (await driver.call("why", of=built["proposal"]))["says"] == tie["says"]
    assert "Open proposals: 3; see review." in (await driver.call("find", text="quay"))["hint"]

"""The account as a memory: facts, relations, states and events beside records."""

from typing import Any

import pytest

from canonry.canon.session.caller import LastUsed
from canonry.values.moments import DAY
from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio
FAMILY = [
    {"kind": "entity", "name": "Hilde Brand", "type": "person", "says": "my grandmother"},
    {"kind": "entity", "name": "Tom", "type": "person"},
    {"kind": "entity", "name": "Anna Berg", "type": "person"},
    {"kind": "entity", "name": "Anna Huber", "type": "person"},
]


async def a_household() -> Desk:
    desk = a_desk()
    await desk.call("propose", space="account", claims=FAMILY)
    return desk


async def told(desk: Desk, *claims: Any, **more: Any) -> dict[str, Any]:
    return await desk.call("propose", claims=list(claims), **more)


async def says(desk: Desk, of: str, **more: Any) -> list[str]:
    got = await desk.call("get", of=of, **more)
    rows = [*got.get("facts", ()), *got.get("relations", ())]
    return [row["says"] for row in rows]


async def test_n5_the_account_takes_facts_relations_states_and_events() -> None:
    desk = await a_household()

    reply = await told(
        desk,
        "Tom is allergic to walnuts.",
        {"kind": "relation", "from": "Tom", "type": "married to", "to": "Anna Berg"},
        {"kind": "state", "of": "Tom", "tags": ["ill"]},
        {"kind": "event", "says": "Tom broke his arm", "when": "last Monday"},
        {"kind": "entity", "name": "Rex", "type": "dog"},
        {"kind": "relation", "from": "Rex", "type": "BELONGS_TO", "to": "Tom"},
    )
    got = await desk.call("get", of="Tom")
    timeline = await desk.call("timeline", about="Tom")
    found = await desk.call("find", text="walnuts", kinds=["fact"])
    why = await desk.call("why", of="Tom is allergic to walnuts.")
    brief = await desk.call("context", of="Tom")

    assert (reply["accepted"], reply["of"]) == (6, 6)
    assert {"Tom is allergic to walnuts.", "Tom married to Anna Berg"} <= {*await says(desk, "Tom")}
    assert got["tags"] == ["ill"]
    assert [row["says"] for row in timeline["timeline"]] == ["Tom broke his arm"]
    assert [row["about"] for row in found["found"]] == [["Tom"]]
    assert "Tom is allergic to walnuts." in why["because"][0]["says"]
    assert "walnuts" in brief["brief"]
    assert await says(desk, "Rex") == ["Rex belongs to Tom"]


async def test_the_first_fact_of_an_empty_account_opens_it() -> None:
    desk = a_desk()

    assert (await desk.refused("decide", verdict="undo"))["details"]["reason"] == "undo.nothing"
    assert (await told(desk, "The boiler was serviced on 3 November 2024."))["accepted"] == 1
    assert (await desk.call("find", text="boiler"))["found"]


async def test_a_later_dose_ends_the_earlier_one_and_both_can_be_read() -> None:
    desk = await a_household()
    await told(desk, "Hilde takes warfarin, 5 mg.")

    reply = await told(
        desk, {"kind": "fact", "says": "Hilde takes warfarin, 7.5 mg.", "when": "last Monday"}
    )

    assert reply["note"].startswith("Ended: ")
    assert await says(desk, "Hilde") == ["Hilde takes warfarin, 7.5 mg."]
    assert await says(desk, "Hilde", at="2024-12-01") == ["Hilde takes warfarin, 5 mg."]
    assert (await desk.call("get", of="Hilde", at="2024-12-01"))["name"] == "Hilde Brand"


async def test_a_wrong_fact_is_corrected_retconned_and_brought_back() -> None:
    desk = await a_household()
    await told(desk, "Tom is allergic to walnuts.")
    position = (await desk.call("changes"))["changes"][-1]["at"]

    await told(
        desk,
        {
            "kind": "correction",
            "of": "Tom is allergic to walnuts.",
            "value": "Anna Berg is allergic to walnuts.",
            "says": "No, that was Anna.",
        },
    )
    assert await says(desk, "Tom") == []
    assert await says(desk, "Tom", as_known_at=str(position)) == ["Tom is allergic to walnuts."]
    await desk.call("decide", verdict="retcon", of="Anna Berg is allergic to walnuts.", reason="No")
    assert await says(desk, "Anna Berg") == []
    await desk.call("decide", verdict="undo")
    assert await says(desk, "Anna Berg") == ["Anna Berg is allergic to walnuts."]


async def test_an_undo_takes_back_the_records_and_the_facts_of_a_call() -> None:
    desk = await a_household()
    await told(
        desk,
        {"kind": "entity", "name": "Mia", "type": "person"},
        {"kind": "fact", "says": "Mia is tall"},
        "Tom is Mia's father.",
    )

    note = (await desk.call("decide", verdict="undo"))["note"]

    assert "Mia is tall" in note
    assert await says(desk, "Tom") == []
    await desk.refused("get", of="Mia")


async def test_a_refused_call_records_nothing_and_names_the_claim_by_its_number() -> None:
    desk = await a_household()
    bob = {"kind": "entity", "name": "Bob", "type": "person"}

    error = await desk.refused(
        "propose", claims=[bob, {"kind": "fact", "says": "So", "about": ["Nobody Here"]}]
    )
    day = await desk.refused("propose", claims=["Mia was born on 30 February 2019."])

    assert error["details"]["path"] == "/claims/1/about/0"
    assert day["details"]["reason"] == "time.no-such-day"


async def test_a_dry_run_predicts_records_and_facts_and_writes_nothing() -> None:
    desk = await a_household()
    before = await desk.heads()
    claims = [{"kind": "entity", "name": "Rex", "type": "dog"}, "Rex is old", "Anna lives in Graz."]

    reply = await desk.call("propose", claims=claims, dry_run=True)

    assert await desk.heads() == before
    assert (reply["written"], reply["accepted"]) == (False, 3)
    assert "Anna may mean Anna Berg or Anna Huber" in reply["hint"]
    assert "evidence" not in reply["hint"]


async def test_an_own_word_outranks_a_document_and_not_the_other_way() -> None:
    desk = await a_household()
    await desk.call("tell", space="account", title="Letter", text="Tom was born in Graz.")
    await told(desk, "Tom was born in Linz.")

    reply = await told(desk, "Tom was born in Graz.", evidence=["Letter"])

    assert reply["accepted"] == 0
    assert reply["note"].startswith("Contradicts: ")
    assert await says(desk, "Tom") == ["Tom was born in Linz."]


async def test_another_user_sees_nothing_of_it() -> None:
    desk = await a_household()
    await told(desk, "Tom is allergic to walnuts.")
    other = a_desk(beside=desk, user="somebody else")

    assert (await other.call("find", text="walnuts"))["found"] == []
    await other.refused("get", of="Tom")


@pytest.mark.parametrize("space", ["account", "Home"])
async def test_what_is_forgotten_is_in_no_answer_and_can_be_brought_back(space: str) -> None:
    desk = a_desk(last_used=LastUsed())
    if space == "Home":
        await desk.call("open", name="Home")
    await desk.call("propose", space=space, said="My family.", claims=FAMILY)
    for words, when in (("Tom lives in Graz.", "2020-01-01"), ("Tom lives in Linz.", "2024-03-01")):
        await told(desk, {"kind": "fact", "says": words, "when": when}, said=words)
    therapy = "Tom has therapy on Mondays."
    await told(desk, therapy, {"kind": "state", "of": "Tom", "tags": ["ill"]}, said=therapy)

    first = await desk.call("decide", verdict="forget", of=[therapy, "Tom is ill", therapy])
    second = await desk.call("decide", verdict="delete", of="Tom lives in Linz.")

    assert (await desk.call("find", text="therapy"))["found"] == []
    assert (await desk.call("find", text="Linz"))["found"] == []
    assert "therapy" not in str(await desk.call("changes", limit=50))
    assert "therapy" not in str(await desk.call("context", of="Tom"))
    assert "tags" not in await desk.call("get", of="Tom")
    assert await says(desk, "Tom") == ["Tom lives in Graz."]
    for each in (first, second):
        await desk.call("decide", verdict="undo", of=each["id"])
    assert (await desk.call("find", text="therapy", kinds=["fact"]))["found"]
    assert (await desk.call("get", of="Tom"))["tags"] == ["ill"]
    assert {*await says(desk, "Tom")} == {"Tom lives in Linz.", "Tom is ill", therapy}


async def test_transaction_times_can_be_given_in_words() -> None:
    desk = await a_household()
    await told(desk, "Tom is allergic to walnuts.")
    desk.clock.move_by(3 * DAY)
    await told(desk, "Tom is tall.")

    known = [await says(desk, "Tom", as_known_at=when) for when in ("2 days ago", "today")]
    new = [
        (await desk.call("changes", since=when))["changes"] for when in ("yesterday", "last week")
    ]
    wrong = await desk.refused("changes", since="the day of the hen")

    assert [len(each) for each in known] == [1, 2]
    assert [len(each) for each in new] == [1, 3]
    assert "/since" in wrong["message"]


async def test_a_brief_shows_the_position_that_it_reflects() -> None:
    desk = await a_household()
    await told(desk, "Tom is tall.")

    brief = await desk.call("context", of="Tom")

    assert brief["position"] == {"account": (await desk.call("changes"))["changes"][-1]["at"]}

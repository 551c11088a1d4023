"""The account as a memory: facts, relations, states and events beside records."""

from typing import Any

import pytest

from canonry.canon.session.caller import LastUsed
from canonry.values.moments import DAY
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
FAMILY = [
    {"kind": "entity", "name": "Hilde Brand", "type": "person", "says": "my grandmother"},
    {"kind": "entity", "name": "Tom", "type": "person"},
    {"kind": "entity", "name": "Anna Berg", "type": "person"},
    {"kind": "entity", "name": "Anna Huber", "type": "person"},
]


async def a_household() -> ToolDriver:
    driver = make_driver()
    await driver.call("propose", space="account", claims=FAMILY)
    return driver


async def propose_claims(driver: ToolDriver, *claims: Any, **more: Any) -> dict[str, Any]:
    return await driver.call("propose", claims=list(claims), **more)


async def list_statements(driver: ToolDriver, of: str, **more: Any) -> list[str]:
    got = await driver.call("get", of=of, **more)
    rows = [*got.get("facts", ()), *got.get("relations", ())]
    return [row["says"] for row in rows]


async def test_the_account_takes_facts_relations_states_and_events() -> None:
    driver = await a_household()

    reply = await propose_claims(
        driver,
        "Tom is allergic to walnuts.",
        {"kind": "relation", "from": "Tom", "type": "married to", "to": "Anna Berg"},
        {"kind": "state", "of": "Tom", "tags": ["ill"]},
        {"kind": "event", "says": "Tom broke his arm", "when": "last Monday"},
        {"kind": "entity", "name": "Rex", "type": "dog"},
        {"kind": "relation", "from": "Rex", "type": "BELONGS_TO", "to": "Tom"},
    )
    got = await driver.call("get", of="Tom")
    timeline = await driver.call("timeline", about="Tom")
    found = await driver.call("find", text="walnuts", kinds=["fact"])
    why = await driver.call("why", of="Tom is allergic to walnuts.")
    brief = await driver.call("context", of="Tom")

    assert (reply["accepted"], reply["of"]) == (6, 6)
    assert {"Tom is allergic to walnuts.", "Tom married to Anna Berg"} <= {
        *await list_statements(driver, "Tom")
    }
    assert got["tags"] == ["ill"]
    assert [row["says"] for row in timeline["timeline"]] == ["Tom broke his arm"]
    assert [row["about"] for row in found["found"]] == [["Tom"]]
    assert "Tom is allergic to walnuts." in why["because"][0]["says"]
    assert "walnuts" in brief["brief"]
    assert await list_statements(driver, "Rex") == ["Rex belongs to Tom"]


async def test_the_first_fact_of_an_empty_account_opens_it() -> None:
    driver = make_driver()

    assert (await driver.refused("decide", verdict="undo"))["details"]["reason"] == "undo.nothing"
    assert (await propose_claims(driver, "The boiler was serviced on 3 November 2024."))[
        "accepted"
    ] == 1
    assert (await driver.call("find", text="boiler"))["found"]


async def test_a_later_dose_ends_the_earlier_one_and_both_are_readable() -> None:
    driver = await a_household()
    await propose_claims(driver, "Hilde takes warfarin, 5 mg.")

    reply = await propose_claims(
        driver, {"kind": "fact", "says": "Hilde takes warfarin, 7.5 mg.", "when": "last Monday"}
    )

    assert reply["note"].startswith("Ended: ")
    assert await list_statements(driver, "Hilde") == ["Hilde takes warfarin, 7.5 mg."]
    assert await list_statements(driver, "Hilde", at="2024-12-01") == [
        "Hilde takes warfarin, 5 mg."
    ]
    assert (await driver.call("get", of="Hilde", at="2024-12-01"))["name"] == "Hilde Brand"


async def test_a_wrong_fact_is_corrected_retconned_and_restored() -> None:
    driver = await a_household()
    await propose_claims(driver, "Tom is allergic to walnuts.")
    position = (await driver.call("changes"))["changes"][-1]["at"]

    await propose_claims(
        driver,
        {
            "kind": "correction",
            "of": "Tom is allergic to walnuts.",
            "value": "Anna Berg is allergic to walnuts.",
            "says": "No, that was Anna.",
        },
    )
    assert await list_statements(driver, "Tom") == []
    assert await list_statements(driver, "Tom", as_known_at=str(position)) == [
        "Tom is allergic to walnuts."
    ]
    await driver.call(
        "decide", verdict="retcon", of="Anna Berg is allergic to walnuts.", reason="No"
    )
    assert await list_statements(driver, "Anna Berg") == []
    await driver.call("decide", verdict="undo")
    assert await list_statements(driver, "Anna Berg") == ["Anna Berg is allergic to walnuts."]


async def test_an_undo_removes_the_records_and_facts_of_a_call() -> None:
    driver = await a_household()
    await propose_claims(
        driver,
        {"kind": "entity", "name": "Mia", "type": "person"},
        {"kind": "fact", "says": "Mia is tall"},
        "Tom is Mia's father.",
    )

    note = (await driver.call("decide", verdict="undo"))["note"]

    assert "Mia is tall" in note
    assert await list_statements(driver, "Tom") == []
    await driver.refused("get", of="Mia")


async def test_a_refused_call_records_nothing_and_numbers_its_claim() -> None:
    driver = await a_household()
    bob = {"kind": "entity", "name": "Bob", "type": "person"}

    error = await driver.refused(
        "propose", claims=[bob, {"kind": "fact", "says": "So", "about": ["Nobody Here"]}]
    )
    day = await driver.refused("propose", claims=["Mia was born on 30 February 2019."])

    assert error["details"]["path"] == "/claims/1/about/0"
    assert day["details"]["reason"] == "time.no-such-day"


async def test_a_dry_run_predicts_records_and_facts_and_writes_nothing() -> None:
    driver = await a_household()
    before = await driver.heads()
    claims = [{"kind": "entity", "name": "Rex", "type": "dog"}, "Rex is old", "Anna lives in Graz."]

    reply = await driver.call("propose", claims=claims, dry_run=True)

    assert await driver.heads() == before
    assert (reply["written"], reply["accepted"]) == (False, 3)
    assert "Anna may mean Anna Berg or Anna Huber" in reply["hint"]
    assert "evidence" not in reply["hint"]


async def test_the_users_own_statement_outranks_a_document() -> None:
    driver = await a_household()
    await driver.call("tell", space="account", title="Letter", text="Tom was born in Graz.")
    await propose_claims(driver, "Tom was born in Linz.")

    reply = await propose_claims(driver, "Tom was born in Graz.", evidence=["Letter"])

    assert reply["accepted"] == 0
    assert reply["note"] == "Refused 1 of 1."
    assert reply["verdicts"][0]["because"] == "Contradicts: Tom was born in Linz."
    assert await list_statements(driver, "Tom") == ["Tom was born in Linz."]


async def test_another_user_sees_nothing_of_the_account() -> None:
    driver = await a_household()
    await propose_claims(driver, "Tom is allergic to walnuts.")
    other = make_driver(beside=driver, user="somebody else")

    assert (await other.call("find", text="walnuts"))["found"] == []
    await other.refused("get", of="Tom")


async def test_a_fact_for_the_owner_alone_is_marked_until_it_is_revealed() -> None:
    driver = await a_household()
    alone = {"kind": "fact", "says": "Tom sees a therapist.", "for": ["me"]}
    kept = await propose_claims(driver, alone, "Tom is allergic to walnuts.", said="Between us.")
    helper = make_driver("Contributor", driver)
    own = {**alone, "says": "Tom likes tea."}

    assert "1 of them only for the owner" in kept["note"]
    brief = (await driver.call("context", question="What should a sitter know about Tom?"))["brief"]
    assert "therapist. (only for the owner)" in brief
    assert "walnuts. {" in brief
    assert "therapist" not in str(await helper.call("get", of="Tom"))
    assert "for you alone" in (await propose_claims(helper, own, space="account"))["note"]
    assert "Tom likes tea." in await list_statements(helper, "Tom")
    await driver.call("decide", verdict="reveal", of=[alone["says"]], reason="She told them.")
    assert all("for" not in row for row in (await driver.call("get", of="Tom"))["facts"])


@pytest.mark.parametrize("space", ["account", "Home"])
async def test_a_forgotten_item_is_in_no_answer_and_can_be_restored(space: str) -> None:
    driver = make_driver(last_used=LastUsed())
    if space == "Home":
        await driver.call("open", name="Home")
    await driver.call("propose", space=space, said="My family.", claims=FAMILY)
    for words, when in (("Tom lives in Graz.", "2020-01-01"), ("Tom lives in Linz.", "2024-03-01")):
        await propose_claims(driver, {"kind": "fact", "says": words, "when": when}, said=words)
    therapy = "Tom has therapy on Mondays."
    await propose_claims(
        driver, therapy, {"kind": "state", "of": "Tom", "tags": ["ill"]}, said=therapy
    )

    first = await driver.call("decide", verdict="forget", of=[therapy, "Tom is ill", therapy])
    second = await driver.call("decide", verdict="delete", of="Tom lives in Linz.")

    assert (await driver.call("find", text="therapy"))["found"] == []
    assert (await driver.call("find", text="Linz"))["found"] == []
    assert "therapy" not in str(await driver.call("changes", limit=50))
    assert "therapy" not in str(await driver.call("context", of="Tom"))
    assert "tags" not in await driver.call("get", of="Tom")
    assert await list_statements(driver, "Tom") == ["Tom lives in Graz."]
    for each in (first, second):
        await driver.call("decide", verdict="undo", of=each["id"])
    assert (await driver.call("find", text="therapy", kinds=["fact"]))["found"]
    assert (await driver.call("get", of="Tom"))["tags"] == ["ill"]
    assert {*await list_statements(driver, "Tom")} == {"Tom lives in Linz.", "Tom is ill", therapy}


async def test_transaction_times_can_be_given_in_words() -> None:
    driver = await a_household()
    await propose_claims(driver, "Tom is allergic to walnuts.")
    driver.clock.move_by(3 * DAY)
    await propose_claims(driver, "Tom is tall.")

    known = [
        await list_statements(driver, "Tom", as_known_at=when) for when in ("2 days ago", "today")
    ]
    new = [
        (await driver.call("changes", since=when))["changes"] for when in ("yesterday", "last week")
    ]
    wrong = await driver.refused("changes", since="the day of the hen")

    assert [len(each) for each in known] == [1, 2]
    assert [len(each) for each in new] == [1, 3]
    assert "/since" in wrong["message"]


async def test_a_brief_shows_its_position() -> None:
    driver = await a_household()
    await propose_claims(driver, "Tom is tall.")

    brief = await driver.call("context", of="Tom")

    assert brief["position"] == {"account": (await driver.call("changes"))["changes"][-1]["at"]}

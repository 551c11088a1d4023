"""Corrections: one claim names what is wrong and says what is right, whatever its kind."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from canonry.gateway.principal import KEY_META, Principal
from tests.replies import parse_result
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.canon.playing import connect_over_stdio

pytestmark = pytest.mark.anyio

PEOPLE = [{"kind": "entity", "name": name, "type": "character"} for name in ("Zed Kay", "Ana Fox")]
PLACES = [{"kind": "entity", "name": name, "type": "location"} for name in ("Mill", "Inn")]


async def a_crew() -> ToolDriver:
    """A driver with two more people and two more places."""
    driver = make_driver()
    await driver.saltmere()
    await driver.call("propose", claims=[*PEOPLE, *PLACES], said="They are here.")
    return driver


async def accept_claim(driver: ToolDriver, **claim: Any) -> str:
    """The id of what an accepted claim became."""
    reply = await driver.call("propose", claims=[claim], said="So it is told.")
    (row,) = reply["verdicts"]
    assert row["verdict"] == "accepted", row
    return str(row["id"])


async def correct_value(driver: ToolDriver, of: str, value: Any, **more: Any) -> dict[str, Any]:
    """The verdict on a correction."""
    claim = {"kind": "correction", "of": of, "value": value, "says": "I misread it.", **more}
    (row,) = (await driver.call("propose", claims=[claim]))["verdicts"]
    return dict(row)


async def read_entity(
    driver: ToolDriver, name: str, **then: Any
) -> tuple[Any, list[str], list[str]]:
    """The tags, facts and relations of an entity."""
    row = await driver.call("get", of=name, **then)
    facts, relations = row.get("facts", []), row.get("relations", [])
    return row.get("tags"), [one["says"] for one in facts], [one["says"] for one in relations]


async def test_a_fact_is_corrected_with_its_effects_and_why_gives_the_reason() -> None:
    driver = await a_crew()
    wrong = await accept_claim(
        driver, kind="fact", says="Zed Kay killed Ana Fox", when="1410-01-01"
    )

    row = await correct_value(driver, wrong, "Zed Kay killed Odo Brand")

    assert row["verdict"] == "accepted"
    assert await read_entity(driver, "Ana Fox") == (None, [], [])
    assert (await read_entity(driver, "Odo Brand"))[0] == ["dead"]
    assert (await read_entity(driver, "Odo Brand", at="1409-12-31"))[0] == ["alive"]
    why = await driver.call("why", of=wrong)
    assert why["level"] == "retconned"
    assert "I misread it" in why["ended_by"]["because"]
    assert why["ended_by"]["replaced_by"] == row["id"]
    right = await driver.call("why", of=row["id"])
    assert right["because"][:-1] == why["because"]
    assert right["because"][-1]["says"] == "I misread it."
    assert "I misread it" in right["judged"]["because"]


async def test_a_corrected_relation_restores_the_relation_it_had_ended() -> None:
    driver = await a_crew()
    owns = {"kind": "relation", "type": "OWNS"}
    await accept_claim(driver, **owns, **{"from": "Ana Fox"}, to="Mill", when="1400-01-01")
    wrong = await accept_claim(driver, **owns, **{"from": "Zed Kay"}, to="Mill", when="1405-01-01")

    other = await correct_value(driver, wrong, "Inn")
    own = await correct_value(driver, other["id"], "Ana Fox", field="from")

    assert own["verdict"] == "accepted"
    assert await read_entity(driver, "Mill") == (None, [], ["Ana Fox owns Mill"])
    assert await read_entity(driver, "Inn", at="1405-01-02") == (None, [], ["Ana Fox owns Inn"])
    assert await read_entity(driver, "Inn", at="1404-01-02") == (None, [], [])
    assert (await read_entity(driver, "Zed Kay"))[2] == []


async def test_a_later_relation_still_ends_the_corrected_one() -> None:
    driver = await a_crew()
    lies = {"kind": "relation", "from": "Zed Kay", "type": "LOCATED_IN"}
    wrong = await accept_claim(driver, **lies, to="Inn", when="1400-01-01")
    await accept_claim(driver, **lies, to="Mill", when="1405-01-01")

    await correct_value(driver, wrong, "Marrow Lighthouse")

    then = (await read_entity(driver, "Zed Kay", at="1402-01-01"))[2]
    assert then == ["Zed Kay located in Marrow Lighthouse"]
    assert (await read_entity(driver, "Zed Kay"))[2] == ["Zed Kay located in Mill"]


async def test_an_explicit_end_stays_with_the_corrected_relation() -> None:
    driver = await a_crew()
    knows = {"kind": "relation", "from": "Zed Kay", "type": "SERVES"}
    wrong = await accept_claim(driver, **knows, to="Ana Fox", when="1400-01-01")
    await driver.call("decide", verdict="end", of=[wrong], when="1403-01-01")

    await correct_value(driver, wrong, "Ilsa Vane")

    assert (await read_entity(driver, "Zed Kay", at="1402-01-01"))[2] == [
        "Zed Kay serves Ilsa Vane"
    ]
    assert (await read_entity(driver, "Zed Kay", at="1404-01-01"))[2] == []


async def test_a_state_is_corrected_to_another_state_time_or_person() -> None:
    driver = await a_crew()
    await accept_claim(driver, kind="state", of="Ana Fox", tags=["wounded"], when="1400-01-01")

    await correct_value(driver, "Ana Fox is wounded", "ill")
    assert (await read_entity(driver, "Ana Fox", at="1400-06-01"))[0] == ["ill"]
    await correct_value(driver, "Ana Fox is ill", "1405-01-01", field="when")
    assert (await read_entity(driver, "Ana Fox", at="1402-01-01"))[0] is None
    assert (await read_entity(driver, "Ana Fox", at="1406-01-01"))[0] == ["ill"]
    await correct_value(driver, "Ana Fox is ill", "Zed Kay", field="of")
    assert await read_entity(driver, "Ana Fox") == (None, [], [])
    assert (await read_entity(driver, "Zed Kay", at="1406-01-01"))[0] == ["ill"]


async def test_a_fact_or_relation_may_be_corrected_only_in_time() -> None:
    driver = await a_crew()
    death = await accept_claim(
        driver, kind="fact", says="Zed Kay killed Ana Fox", when="1410-01-01"
    )
    tie = {"kind": "relation", "from": "Zed Kay", "type": "OWNS", "to": "Mill"}
    owned = await accept_claim(driver, **tie, when="1400-01-01")

    await correct_value(driver, death, "1412-01-01", field="when")
    await correct_value(driver, owned, "1405-01-01", field="when")

    assert (await read_entity(driver, "Ana Fox", at="1411-01-01"))[0] is None
    assert (await read_entity(driver, "Ana Fox", at="1412-01-02"))[0] == ["dead"]
    assert (await read_entity(driver, "Mill", at="1402-01-01"))[2] == []
    assert (await read_entity(driver, "Mill", at="1406-01-01"))[2] == ["Zed Kay owns Mill"]


async def test_an_event_keeps_its_time_and_its_entities() -> None:
    driver = await a_crew()
    wrong = await accept_claim(
        driver, kind="event", says="The bell falls", about=["Ana Fox"], when="1403-01-01"
    )

    row = await correct_value(driver, wrong, "The mast falls")

    (reported,) = (await driver.call("timeline", about="Ana Fox"))["timeline"]
    assert (reported["id"], reported["says"]) == (row["id"], "The mast falls")
    assert reported["when"].endswith("1403")


async def test_a_claim_of_another_kind_can_replace_a_wrong_item() -> None:
    driver = await a_crew()
    lies = {"kind": "relation", "from": "Ana Fox", "type": "LOCATED_IN"}
    wrong = await accept_claim(driver, **lies, to="Inn", when="1400-01-01")

    await accept_claim(driver, kind="fact", says="Ana Fox is at the Mill", replaces=wrong)

    _, facts, relations = await read_entity(driver, "Ana Fox", at="1401-01-01")
    assert (facts, relations) == (["Ana Fox is at the Mill"], [])


async def test_a_lower_authority_waits_and_a_keeper_accepts_it() -> None:
    driver = await a_crew()
    wrong = await accept_claim(driver, kind="fact", says="Zed Kay owns a boat")
    claim = {"kind": "correction", "of": wrong, "value": "Zed Kay owns a cart", "says": "Look."}

    low = await driver.call("propose", claims=[claim], authority="player")
    ann = make_driver("Contributor", beside=driver)
    asked = await ann.call("propose", claims=[claim], space="Saltmere")

    assert [low["verdicts"][0]["verdict"], asked["written"]] == ["needs review", False]
    assert "cannot override a higher one" in low["verdicts"][0]["because"]
    assert "Zed Kay owns a boat" in (await read_entity(driver, "Zed Kay"))[1]
    of = [low["verdicts"][0]["proposal"]]
    await driver.call("decide", verdict="accept", of=of, reason="True.")
    assert (await read_entity(driver, "Zed Kay"))[1] == ["Zed Kay owns a cart"]


async def test_statements_of_equal_authority_correct_each_other() -> None:
    driver = await a_crew()
    arguments = {"authority": "source", "said": "The log says so."}
    claim = {"kind": "fact", "says": "Zed Kay owns a boat"}
    (row,) = (await driver.call("propose", claims=[claim], **arguments))["verdicts"]

    claim = {"kind": "correction", "of": row["id"], "value": "Zed Kay owns a cart"}
    (right,) = (await driver.call("propose", claims=[claim], **arguments))["verdicts"]

    assert right["verdict"] == "accepted"
    assert (await read_entity(driver, "Zed Kay"))[1] == ["Zed Kay owns a cart"]


async def test_the_reason_is_the_evidence_if_there_is_no_other() -> None:
    driver = await a_crew()

    row = await correct_value(driver, "Zed Kay", 61, field="age")

    assert row["verdict"] == "accepted"
    because = (await driver.call("why", of="Zed Kay", field="age"))["because"]
    assert "I misread it." in [each["says"] for each in because]


async def test_a_secret_stays_one_when_it_is_corrected() -> None:
    driver = await a_crew()
    claim = {"kind": "fact", "says": "Zed Kay owns a boat", "for": ["gm"]}
    (row,) = (await driver.call("propose", claims=[claim], said="Hush."))["verdicts"]

    await correct_value(driver, row["id"], "Zed Kay owns a cart")

    assert "cart" in str(await driver.call("get", of="Zed Kay"))
    reader = make_driver("Reader", beside=driver)
    for tool in ({"of": "Zed Kay"}, {"text": "cart"}):
        seen = await reader.call("get" if "of" in tool else "find", **tool, space="Saltmere")
        assert "cart" not in str(seen)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"of": "Zed Kay"}, "/claims/0/field"),
        ({"of": "Zed Kay", "field": "tags"}, "/claims/0/field"),
        ({"field": "rent"}, "/claims/0/rent"),
        ({"value": 5}, "/claims/0/value"),
        ({"of": "Nobody"}, "/claims/0/of"),
    ],
)
async def test_an_unreadable_correction_error_lists_the_members(
    more: dict[str, Any], path: str
) -> None:
    driver = await a_crew()
    wrong = await accept_claim(driver, kind="fact", says="Zed Kay owns a boat")
    claim = {"kind": "correction", "of": wrong, "value": "ill", **more}

    error = await driver.refused("propose", claims=[claim])

    assert error["details"]["path"] == path


async def test_ended_or_missing_items_cannot_be_corrected() -> None:
    driver = await a_crew()
    wrong = await accept_claim(driver, kind="fact", says="Zed Kay owns a boat")
    await accept_claim(driver, kind="state", of="Zed Kay", tags=["ill"], when="1400-01-01")
    ended = await accept_claim(
        driver, kind="state", of="Zed Kay", untags=["ill"], when="1401-01-01"
    )
    await driver.call("decide", verdict="retcon", of=[wrong], reason="No boat.")

    gone = await correct_value(driver, wrong, "Zed Kay owns a cart")
    end = await correct_value(driver, ended, "Zed Kay is wounded")

    assert (gone["verdict"], gone["rule"]) == ("rejected", "gate:target-not-retconned")
    assert (end["verdict"], end["rule"]) == ("rejected", "gate:replacement-outranks")


async def test_an_item_of_another_space_corrects_nothing_here() -> None:
    driver = await a_crew()
    wrong = await accept_claim(driver, kind="fact", says="Zed Kay owns a boat")
    await driver.call("open", name="Elsewhere")
    claim = {"kind": "correction", "of": wrong, "value": "Zed Kay owns a cart", "says": "No."}

    reply = await driver.outcome("propose", {"claims": [claim], "space": "Elsewhere"})

    assert reply.error is not None or reply.body["accepted"] == 0
    assert "Zed Kay owns a boat" in str(await driver.call("get", of="Zed Kay", space="Saltmere"))


async def test_one_of_two_concurrent_corrections_is_accepted() -> None:
    driver = await a_crew()
    wrong = await accept_claim(driver, kind="fact", says="Zed Kay owns a boat")
    rows: list[str] = []

    async def correct(item: str) -> None:
        rows.append((await correct_value(driver, wrong, f"Zed Kay owns a {item}"))["verdict"])

    async with anyio.create_task_group() as group:
        for item in ("cart", "mule"):
            group.start_soon(correct, item)

    assert sorted(rows) == ["accepted", "rejected"]
    assert len((await read_entity(driver, "Zed Kay"))[1]) == 1


async def test_over_stdio_one_call_corrects(tmp_path: Path) -> None:
    async with connect_over_stdio(tmp_path) as client:
        await client.call_tool("open", {"name": "Home"})
        claims = [{"kind": "entity", "name": "Ana Fox", "type": "character"}]
        claims += [{"kind": "fact", "says": "Ana Fox has a cat"}]
        await client.call_tool("propose", {"claims": claims, "said": "Ana Fox has a cat."})
        wrong = {"kind": "correction", "of": "Ana Fox has a cat", "value": "Ana Fox has a dog"}

        right: Any = await client.call_tool("propose", {"claims": [{**wrong, "says": "A dog."}]})
        now: Any = await client.call_tool("get", {"of": "Ana Fox"})

    assert parse_result(right)["accepted"] == 1
    assert [one["says"] for one in parse_result(now)["facts"]] == ["Ana Fox has a dog"]


async def test_a_corrected_fact_restores_items_ended_by_its_words() -> None:
    driver = await a_crew()
    boat = [{"kind": "entity", "name": "Petrel", "type": "object"}]
    await driver.call("propose", claims=boat, said="A boat.")
    old = {"kind": "relation", "from": "Ana Fox", "type": "OWNS", "to": "Petrel"}
    await accept_claim(driver, **old, when="1400-01-01")
    first = await accept_claim(
        driver, kind="fact", says="The Petrel belongs to Zed Kay", when="1403-01-01"
    )
    wrong = await accept_claim(
        driver, kind="fact", says="The Petrel belongs to Ilsa Vane", when="1405-01-01"
    )

    await correct_value(driver, wrong, "Ilsa Vane owns a cart")
    assert "The Petrel belongs to Zed Kay" in (await read_entity(driver, "Zed Kay"))[1]
    await correct_value(driver, first, "Zed Kay owns a mule")

    assert (await read_entity(driver, "Petrel"))[2] == ["Ana Fox owns Petrel"]


FIELDS: dict[str, Any] = {"kind": "entity", "name": "Bea", "type": "character"}


@pytest.mark.parametrize("space", ["Saltmere", "account"])
async def test_a_corrected_field_names_the_value_before(space: str) -> None:
    driver = make_driver(user="ann")
    await driver.saltmere()
    entity = {**FIELDS, "fields": {"birthday": "1989-05-03", "pets": ["Rex", "Tom"]}}
    await driver.call("propose", claims=[entity], said="She is here.", space=space)

    async def note(*claims: tuple[str, Any], **more: Any) -> Any:
        wrong = [
            {"kind": "correction", "of": "Bea", "field": field, "value": value, "says": "No."}
            for field, value in claims
        ]
        return (await driver.call("propose", claims=wrong, space=space, **more)).get("note")

    dry = await note(("birthday", "1990-05-03"), dry_run=True)
    assert dry == "Bea's birthday: 1990-05-03 instead of 1989-05-03."
    assert await note(("birthday", "1990-05-03")) == dry
    assert await note(("shoe_size", "38")) == "Bea's shoe size: 38."
    assert await note(("pets", ["Rex"])) == 'Bea\'s pets: ["Rex"] instead of ["Rex","Tom"].'
    several = await note(*((f"f{n}", str(n)) for n in range(5)))
    assert several == "Bea's f0: 0; Bea's f1: 1; Bea's f2: 2 and 2 more."
    assert await note(("name", "Beata")) == "Bea's name: Beata instead of Bea."


async def test_a_refused_correction_of_a_field_names_no_value() -> None:
    driver = make_driver(user="ann")
    invoice = {"type": "invoice", "number": "7", "total": "12.00 EUR"}
    reply = await driver.call("tell", space="account", records=[invoice])
    (row,) = reply["entities"]
    claim = {"kind": "correction", "of": row["id"], "field": "schema_version", "value": "2"}

    reply = await driver.call("propose", claims=[claim], space="account")

    assert reply["accepted"] == 0
    assert reply["note"] == "Refused 1 of 1."


@pytest.mark.parametrize("space", ["Saltmere", "account"])
async def test_a_resent_correction_returns_the_same_reply(space: str) -> None:
    driver = make_driver(user="ann")
    await driver.saltmere()
    entity = {**FIELDS, "fields": {"birthday": "1989-05-03"}}
    await driver.call("propose", claims=[entity], said="She is here.", space=space)
    claim = {"kind": "correction", "of": "Bea", "field": "birthday", "value": "1990-05-03"}
    by = Principal(agent_id="solo", agent_type="Solo", user="ann", authorities=None)
    call = {"claims": [claim], "space": space}

    first, second = [
        (await driver.gateway.call("propose", call, by, {KEY_META: "again"})).body for _ in range(2)
    ]

    assert first["note"] == "Bea's birthday: 1990-05-03 instead of 1989-05-03."
    assert second == first

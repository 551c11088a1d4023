"""Corrections: one claim names what is wrong and says what is right, whatever its kind."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from canonry.gateway.principal import KEY_META, Principal
from tests.said import said
from tests.toolsets.canon.kit import Desk, a_desk
from tests.toolsets.canon.playing import at_the_desk

pytestmark = pytest.mark.anyio

PEOPLE = [{"kind": "entity", "name": name, "type": "character"} for name in ("Zed Kay", "Ana Fox")]
PLACES = [{"kind": "entity", "name": name, "type": "location"} for name in ("Mill", "Inn")]


async def a_crew() -> Desk:
    """A desk with two more people and two more places."""
    desk = a_desk()
    await desk.saltmere()
    await desk.call("propose", claims=[*PEOPLE, *PLACES], said="They are here.")
    return desk


async def made(desk: Desk, **claim: Any) -> str:
    """The id of what an accepted claim became."""
    reply = await desk.call("propose", claims=[claim], said="So it is told.")
    (row,) = reply["verdicts"]
    assert row["verdict"] == "accepted", row
    return str(row["id"])


async def corrected(desk: Desk, of: str, value: Any, **more: Any) -> dict[str, Any]:
    """The verdict on a correction."""
    claim = {"kind": "correction", "of": of, "value": value, "says": "I misread it.", **more}
    (row,) = (await desk.call("propose", claims=[claim]))["verdicts"]
    return dict(row)


async def told_of(desk: Desk, name: str, **then: Any) -> tuple[Any, list[str], list[str]]:
    """The tags, facts and relations of an entity."""
    row = await desk.call("get", of=name, **then)
    facts, relations = row.get("facts", []), row.get("relations", [])
    return row.get("tags"), [one["says"] for one in facts], [one["says"] for one in relations]


async def test_a_fact_is_corrected_with_what_it_had_changed_and_why_gives_the_reason() -> None:
    desk = await a_crew()
    wrong = await made(desk, kind="fact", says="Zed Kay killed Ana Fox", when="1410-01-01")

    row = await corrected(desk, wrong, "Zed Kay killed Odo Brand")

    assert row["verdict"] == "accepted"
    assert await told_of(desk, "Ana Fox") == (None, [], [])
    assert (await told_of(desk, "Odo Brand"))[0] == ["dead"]
    assert (await told_of(desk, "Odo Brand", at="1409-12-31"))[0] == ["alive"]
    why = await desk.call("why", of=wrong)
    assert why["level"] == "retconned"
    assert "I misread it" in why["ended_by"]["because"]
    assert why["ended_by"]["replaced_by"] == row["id"]
    right = await desk.call("why", of=row["id"])
    assert right["because"][:-1] == why["because"]
    assert right["because"][-1]["says"] == "I misread it."
    assert "I misread it" in right["judged"]["because"]


async def test_a_corrected_relation_gives_back_what_it_had_ended() -> None:
    desk = await a_crew()
    owns = {"kind": "relation", "type": "OWNS"}
    await made(desk, **owns, **{"from": "Ana Fox"}, to="Mill", when="1400-01-01")
    wrong = await made(desk, **owns, **{"from": "Zed Kay"}, to="Mill", when="1405-01-01")

    other = await corrected(desk, wrong, "Inn")
    own = await corrected(desk, other["id"], "Ana Fox", field="from")

    assert own["verdict"] == "accepted"
    assert await told_of(desk, "Mill") == (None, [], ["Ana Fox owns Mill"])
    assert await told_of(desk, "Inn", at="1405-01-02") == (None, [], ["Ana Fox owns Inn"])
    assert await told_of(desk, "Inn", at="1404-01-02") == (None, [], [])
    assert (await told_of(desk, "Zed Kay"))[2] == []


async def test_what_came_later_still_ends_the_corrected_relation() -> None:
    desk = await a_crew()
    lies = {"kind": "relation", "from": "Zed Kay", "type": "LOCATED_IN"}
    wrong = await made(desk, **lies, to="Inn", when="1400-01-01")
    await made(desk, **lies, to="Mill", when="1405-01-01")

    await corrected(desk, wrong, "Marrow Lighthouse")

    then = (await told_of(desk, "Zed Kay", at="1402-01-01"))[2]
    assert then == ["Zed Kay located in Marrow Lighthouse"]
    assert (await told_of(desk, "Zed Kay"))[2] == ["Zed Kay located in Mill"]


async def test_an_explicit_end_stays_with_the_corrected_relation() -> None:
    desk = await a_crew()
    knows = {"kind": "relation", "from": "Zed Kay", "type": "SERVES"}
    wrong = await made(desk, **knows, to="Ana Fox", when="1400-01-01")
    await desk.call("decide", verdict="end", of=[wrong], when="1403-01-01")

    await corrected(desk, wrong, "Ilsa Vane")

    assert (await told_of(desk, "Zed Kay", at="1402-01-01"))[2] == ["Zed Kay serves Ilsa Vane"]
    assert (await told_of(desk, "Zed Kay", at="1404-01-01"))[2] == []


async def test_a_state_is_corrected_to_another_state_time_or_person() -> None:
    desk = await a_crew()
    await made(desk, kind="state", of="Ana Fox", tags=["wounded"], when="1400-01-01")

    await corrected(desk, "Ana Fox is wounded", "ill")
    assert (await told_of(desk, "Ana Fox", at="1400-06-01"))[0] == ["ill"]
    await corrected(desk, "Ana Fox is ill", "1405-01-01", field="when")
    assert (await told_of(desk, "Ana Fox", at="1402-01-01"))[0] is None
    assert (await told_of(desk, "Ana Fox", at="1406-01-01"))[0] == ["ill"]
    await corrected(desk, "Ana Fox is ill", "Zed Kay", field="of")
    assert await told_of(desk, "Ana Fox") == (None, [], [])
    assert (await told_of(desk, "Zed Kay", at="1406-01-01"))[0] == ["ill"]


async def test_a_fact_or_a_relation_may_be_wrong_in_its_time_only() -> None:
    desk = await a_crew()
    death = await made(desk, kind="fact", says="Zed Kay killed Ana Fox", when="1410-01-01")
    tie = {"kind": "relation", "from": "Zed Kay", "type": "OWNS", "to": "Mill"}
    owned = await made(desk, **tie, when="1400-01-01")

    await corrected(desk, death, "1412-01-01", field="when")
    await corrected(desk, owned, "1405-01-01", field="when")

    assert (await told_of(desk, "Ana Fox", at="1411-01-01"))[0] is None
    assert (await told_of(desk, "Ana Fox", at="1412-01-02"))[0] == ["dead"]
    assert (await told_of(desk, "Mill", at="1402-01-01"))[2] == []
    assert (await told_of(desk, "Mill", at="1406-01-01"))[2] == ["Zed Kay owns Mill"]


async def test_an_event_keeps_its_time_and_its_entities() -> None:
    desk = await a_crew()
    wrong = await made(
        desk, kind="event", says="The bell falls", about=["Ana Fox"], when="1403-01-01"
    )

    row = await corrected(desk, wrong, "The mast falls")

    (told,) = (await desk.call("timeline", about="Ana Fox"))["timeline"]
    assert (told["id"], told["says"]) == (row["id"], "The mast falls")
    assert told["when"].startswith("1403-01-01")


async def test_a_claim_of_another_kind_can_replace_what_is_wrong() -> None:
    desk = await a_crew()
    lies = {"kind": "relation", "from": "Ana Fox", "type": "LOCATED_IN"}
    wrong = await made(desk, **lies, to="Inn", when="1400-01-01")

    await made(desk, kind="fact", says="Ana Fox is at the Mill", replaces=wrong)

    _, facts, relations = await told_of(desk, "Ana Fox", at="1401-01-01")
    assert (facts, relations) == (["Ana Fox is at the Mill"], [])


async def test_a_lower_authority_waits_and_a_keeper_accepts_it() -> None:
    desk = await a_crew()
    wrong = await made(desk, kind="fact", says="Zed Kay owns a boat")
    claim = {"kind": "correction", "of": wrong, "value": "Zed Kay owns a cart", "says": "Look."}

    low = await desk.call("propose", claims=[claim], authority="player")
    ann = a_desk("Contributor", beside=desk)
    asked = await ann.call("propose", claims=[claim], space="Saltmere")

    assert [low["verdicts"][0]["verdict"], asked["written"]] == ["needs review", False]
    assert "cannot override a higher one" in low["verdicts"][0]["because"]
    assert "Zed Kay owns a boat" in (await told_of(desk, "Zed Kay"))[1]
    of = [low["verdicts"][0]["proposal"]]
    await desk.call("decide", verdict="accept", of=of, reason="True.")
    assert (await told_of(desk, "Zed Kay"))[1] == ["Zed Kay owns a cart"]


async def test_equal_words_correct_each_other() -> None:
    desk = await a_crew()
    told = {"authority": "source", "said": "The log says so."}
    claim = {"kind": "fact", "says": "Zed Kay owns a boat"}
    (row,) = (await desk.call("propose", claims=[claim], **told))["verdicts"]

    claim = {"kind": "correction", "of": row["id"], "value": "Zed Kay owns a cart"}
    (right,) = (await desk.call("propose", claims=[claim], **told))["verdicts"]

    assert right["verdict"] == "accepted"
    assert (await told_of(desk, "Zed Kay"))[1] == ["Zed Kay owns a cart"]


async def test_the_reason_is_the_evidence_where_there_is_no_other() -> None:
    desk = await a_crew()

    row = await corrected(desk, "Zed Kay", 61, field="age")

    assert row["verdict"] == "accepted"
    because = (await desk.call("why", of="Zed Kay", field="age"))["because"]
    assert "I misread it." in [each["says"] for each in because]


async def test_a_secret_stays_one_when_it_is_corrected() -> None:
    desk = await a_crew()
    claim = {"kind": "fact", "says": "Zed Kay owns a boat", "for": ["gm"]}
    (row,) = (await desk.call("propose", claims=[claim], said="Hush."))["verdicts"]

    await corrected(desk, row["id"], "Zed Kay owns a cart")

    assert "cart" in str(await desk.call("get", of="Zed Kay"))
    reader = a_desk("Reader", beside=desk)
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
async def test_a_correction_that_cannot_be_read_says_what_it_takes(
    more: dict[str, Any], path: str
) -> None:
    desk = await a_crew()
    wrong = await made(desk, kind="fact", says="Zed Kay owns a boat")
    claim = {"kind": "correction", "of": wrong, "value": "ill", **more}

    error = await desk.refused("propose", claims=[claim])

    assert error["details"]["path"] == path


async def test_what_is_gone_or_only_says_that_a_state_ended_is_not_corrected() -> None:
    desk = await a_crew()
    wrong = await made(desk, kind="fact", says="Zed Kay owns a boat")
    await made(desk, kind="state", of="Zed Kay", tags=["ill"], when="1400-01-01")
    ended = await made(desk, kind="state", of="Zed Kay", untags=["ill"], when="1401-01-01")
    await desk.call("decide", verdict="retcon", of=[wrong], reason="No boat.")

    gone = await corrected(desk, wrong, "Zed Kay owns a cart")
    end = await corrected(desk, ended, "Zed Kay is wounded")

    assert (gone["verdict"], gone["rule"]) == ("rejected", "gate:target-not-retconned")
    assert (end["verdict"], end["rule"]) == ("rejected", "gate:replacement-outranks")


async def test_an_item_of_another_space_corrects_nothing_here() -> None:
    desk = await a_crew()
    wrong = await made(desk, kind="fact", says="Zed Kay owns a boat")
    await desk.call("open", name="Elsewhere")
    claim = {"kind": "correction", "of": wrong, "value": "Zed Kay owns a cart", "says": "No."}

    reply = await desk.outcome("propose", {"claims": [claim], "space": "Elsewhere"})

    assert reply.error is not None or reply.body["accepted"] == 0
    assert "Zed Kay owns a boat" in str(await desk.call("get", of="Zed Kay", space="Saltmere"))


async def test_of_two_corrections_at_once_one_is_accepted() -> None:
    desk = await a_crew()
    wrong = await made(desk, kind="fact", says="Zed Kay owns a boat")
    rows: list[str] = []

    async def correct(thing: str) -> None:
        rows.append((await corrected(desk, wrong, f"Zed Kay owns a {thing}"))["verdict"])

    async with anyio.create_task_group() as group:
        for thing in ("cart", "mule"):
            group.start_soon(correct, thing)

    assert sorted(rows) == ["accepted", "rejected"]
    assert len((await told_of(desk, "Zed Kay"))[1]) == 1


async def test_over_stdio_one_call_corrects(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path) as client:
        await client.call_tool("open", {"name": "Home"})
        claims = [{"kind": "entity", "name": "Ana Fox", "type": "character"}]
        claims += [{"kind": "fact", "says": "Ana Fox has a cat"}]
        await client.call_tool("propose", {"claims": claims, "said": "Ana Fox has a cat."})
        wrong = {"kind": "correction", "of": "Ana Fox has a cat", "value": "Ana Fox has a dog"}

        right: Any = await client.call_tool("propose", {"claims": [{**wrong, "says": "A dog."}]})
        now: Any = await client.call_tool("get", {"of": "Ana Fox"})

    assert said(right)["accepted"] == 1
    assert [one["says"] for one in said(now)["facts"]] == ["Ana Fox has a dog"]


async def test_a_corrected_fact_gives_back_what_its_words_had_ended() -> None:
    desk = await a_crew()
    boat = [{"kind": "entity", "name": "Petrel", "type": "object"}]
    await desk.call("propose", claims=boat, said="A boat.")
    old = {"kind": "relation", "from": "Ana Fox", "type": "OWNS", "to": "Petrel"}
    await made(desk, **old, when="1400-01-01")
    first = await made(desk, kind="fact", says="The Petrel belongs to Zed Kay", when="1403-01-01")
    wrong = await made(desk, kind="fact", says="The Petrel belongs to Ilsa Vane", when="1405-01-01")

    await corrected(desk, wrong, "Ilsa Vane owns a cart")
    assert "The Petrel belongs to Zed Kay" in (await told_of(desk, "Zed Kay"))[1]
    await corrected(desk, first, "Zed Kay owns a mule")

    assert (await told_of(desk, "Petrel"))[2] == ["Ana Fox owns Petrel"]


FIELDS: dict[str, Any] = {"kind": "entity", "name": "Bea", "type": "character"}


@pytest.mark.parametrize("space", ["Saltmere", "account"])
async def test_a_corrected_field_names_the_value_before(space: str) -> None:
    desk = a_desk(user="ann")
    await desk.saltmere()
    entity = {**FIELDS, "fields": {"birthday": "1989-05-03", "pets": ["Rex", "Tom"]}}
    await desk.call("propose", claims=[entity], said="She is here.", space=space)

    async def note(*claims: tuple[str, Any], **more: Any) -> Any:
        wrong = [
            {"kind": "correction", "of": "Bea", "field": field, "value": value, "says": "No."}
            for field, value in claims
        ]
        return (await desk.call("propose", claims=wrong, space=space, **more)).get("note")

    dry = await note(("birthday", "1990-05-03"), dry_run=True)
    assert dry == "Bea's birthday: 1990-05-03 instead of 1989-05-03."
    assert await note(("birthday", "1990-05-03")) == dry
    assert await note(("shoe_size", "38")) == "Bea's shoe size: 38."
    assert await note(("pets", ["Rex"])) == 'Bea\'s pets: ["Rex"] instead of ["Rex","Tom"].'
    several = await note(*((f"f{n}", str(n)) for n in range(5)))
    assert several == "Bea's f0: 0. Bea's f1: 1. Bea's f2: 2. And 2 more."
    assert await note(("name", "Beata")) == "Bea's name: Beata instead of Bea."


async def test_a_refused_correction_of_a_field_names_no_value() -> None:
    desk = a_desk(user="ann")
    invoice = {"type": "invoice", "number": "7", "total": "12.00 EUR"}
    reply = await desk.call("tell", space="account", records=[invoice])
    (row,) = reply["entities"]
    claim = {"kind": "correction", "of": row["id"], "field": "schema_version", "value": "2"}

    reply = await desk.call("propose", claims=[claim], space="account")

    assert reply["accepted"] == 0
    assert reply["note"] == "Accepted 0 of 1."


@pytest.mark.parametrize("space", ["Saltmere", "account"])
async def test_a_correction_that_is_sent_again_says_the_same(space: str) -> None:
    desk = a_desk(user="ann")
    await desk.saltmere()
    entity = {**FIELDS, "fields": {"birthday": "1989-05-03"}}
    await desk.call("propose", claims=[entity], said="She is here.", space=space)
    claim = {"kind": "correction", "of": "Bea", "field": "birthday", "value": "1990-05-03"}
    by = Principal(agent_id="solo", agent_type="Solo", user="ann", authorities=None)
    call = {"claims": [claim], "space": space}

    first, second = [
        (await desk.gateway.call("propose", call, by, {KEY_META: "again"})).body for _ in range(2)
    ]

    assert first["note"] == "Bea's birthday: 1990-05-03 instead of 1989-05-03."
    assert second == first

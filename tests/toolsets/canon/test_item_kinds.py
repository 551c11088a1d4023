"""Spaces of every kind: what makes sense in each is done, and what does not is said."""

from typing import Any

import pytest

from canonry.gateway.principal import Principal
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.catalog.kit import LAB, hostile_names, import_rows
from tests.toolsets.world.kit import an_isle, brought_in

pytestmark = pytest.mark.anyio
INVOICE = "Invoice\nInvoice number: INV-7\nVendor: Acme Ltd\nDate: 2026-01-12\nTotal: 480.00 EUR\n"


async def an_account() -> ToolDriver:
    driver = make_driver()
    await driver.call("tell", space="me", text=INVOICE, title="invoice.txt")
    record = {"type": "invoice", "invoice_number": "INV-7", "amount_due": 450.0}
    await driver.call("tell", space="account", records=[record, {"type": "contact", "name": "Ann"}])
    return driver


async def test_a_record_field_shows_each_source_and_the_current_value() -> None:
    driver = await an_account()
    claim = {"kind": "correction", "of": "INV-7", "field": "amount_due", "value": 470.0}
    assert (await driver.call("propose", claims=[claim], dry_run=True))["written"] is False
    await driver.call("propose", claims=[claim])

    (field,) = (await driver.call("why", of="INV-7", field="amount_due"))["fields"]
    every = await driver.call("why", of="INV-7", limit=2)
    shown = await driver.call("get", of="INV-7", full=True)

    assert field["because"] == "A correction outranks all other values."
    assert [(word["value"], word["by"], word["stands"]) for word in field["said"]] == [
        (470.0, "correction", True),
        (450.0, "records", False),
        (480.0, "invoice.txt", False),
    ]
    assert (len(every["fields"]), every["next"]) == (2, "2")
    assert shown["fields"]["amount_due"] == 470.0


async def test_records_are_dated_changed_and_found_by_content() -> None:
    driver = await an_account()

    dates = (await driver.call("timeline"))["timeline"]
    about = (await driver.call("timeline", about="Ann"))["timeline"]
    changes = (await driver.call("changes"))["changes"]
    found = await driver.call("find", text="acme", kinds=["entity", "relation"])
    listed = await driver.call("find", kinds=["document", "passage", "lore"])
    brief = await driver.call("context", of="INV-7")

    assert "InvoiceIssued: INV-7 (amount_due: 450.0, " in str([row["says"] for row in dates])
    assert about == []
    said = [what for change in changes for what in change["what"]]
    assert ("said", "entity") in [(what["how"], what["kind"]) for what in said]
    assert {row["kind"] for row in found["found"]} == {"entity", "relation"}
    assert {row["kind"] for row in listed["found"]} == {"document"}
    assert "amount_due: 450.0" in brief["brief"]


async def test_a_catalog_project_is_read_and_not_written() -> None:
    driver = make_driver()
    await import_rows(driver.canon, hostile_names())
    await driver.saltmere()

    spaces = {row["kind"] for row in (await driver.call("spaces"))["spaces"]}
    listed = await driver.call("find", space=LAB, kinds=["entity"], limit=3)
    got = await driver.call("get", of=listed["found"][0]["id"], space=LAB)
    around = await driver.call("context", of=listed["found"][0]["id"], space=LAB)

    assert spaces == {"project", "universe", "account"}
    assert got["id"] == listed["found"][0]["id"]
    assert around["brief"]
    for tool, arguments in (
        ("tell", {"text": "x"}),
        ("propose", {"claims": [{"kind": "fact", "says": "x"}]}),
        ("decide", {"verdict": "retcon", "of": ["x"], "reason": "x"}),
        ("timeline", {}),
        ("review", {"what": "pending"}),
    ):
        error = await driver.refused(tool, space=LAB, **arguments)
        assert error["code"] == "NOT_HERE", (tool, error)
        assert "canonry catalog import" in error["message"] or tool == "review", error


async def test_laws_memories_and_stories_of_narrative_tools_are_read_here() -> None:
    driver = make_driver()
    space = await driver.saltmere()
    book = (await driver.call("get", of="Harbour book"))["id"]
    odo = (await driver.call("get", of="Odo"))["id"]
    backed: dict[str, Any] = {
        "authority": "source",
        "confidence": 1.0,
        "evidence_refs": [f"source:{book}"],
    }

    async def narrative(
        tool: str, agent: str = "CanonKeeper", **arguments: object
    ) -> dict[str, str]:
        who = Principal(agent_id="k", agent_type=agent, authorities=None)
        result = await driver.gateway.call(tool, arguments, who)
        assert result.error is None, result.text
        return dict(result.body)

    law = await narrative(
        "neo4j_create_axiom",
        universe_id=space,
        statement="The dead stay dead",
        domain="metaphysics",
        **backed,
    )
    story = await narrative(
        "neo4j_create_story", universe_id=space, title="The long fog", story_type="campaign"
    )
    memory = await narrative(
        "mongodb_create_character_memory",
        "MemoryManager",
        entity_id=odo,
        text="I saw a light.",
        emotional_valence=0.0,
        importance=0.5,
        certainty=1.0,
    )

    listed = await driver.call("find", kinds=["lore"])
    found = await driver.call("find", text="the dead", kinds=["lore"])
    known = await driver.call("find", text="dead", kinds=["lore"], as_known_at="2025-01-16")
    assert [row["kind"] for row in listed["found"]] == ["law"]
    assert found["found"][0]["id"] == known["found"][0]["id"] == next(iter(law.values()))
    assert (await driver.call("get", of="The long"))["id"] == story["story_id"]
    assert (await driver.call("get", of=memory["memory_id"]))["about"] == ["Odo Brand"]
    assert (await driver.call("why", of=found["found"][0]["id"]))["because"][0][
        "name"
    ] == "Harbour book"


async def test_items_of_every_kind_are_searched_as_known_then() -> None:
    driver = make_driver()
    await driver.saltmere()
    event = {"kind": "event", "says": "Odo polishes the lamp", "who": ["Odo"], "when": "1901-05-01"}
    await driver.call("propose", said="He polishes it.", claims=[event])
    await driver.call("tell", scene="Storm", turns=[{"by": "Odo", "text": "The lamp burns."}])
    driver.clock.move_by(3_600_000_000)
    await driver.call("tell", scene="Storm", turns=[{"by": "Odo", "text": "The lamp is out."}])
    await driver.call("decide", verdict="merge", of=["Odo", "Ilsa"], reason="One.")

    known = "2025-01-15T00:30:00Z"
    then = await driver.call("find", text="Odo lamp Ilsa", as_known_at=known, limit=20)
    about = await driver.call("find", text="Odo lamp", about="Odo", as_known_at=known)
    early = await driver.call("find", text="lamp", kinds=["event"], at="1900-01-01")
    past = await driver.call("get", of="Odo", as_known_at=known)

    says = [row.get("says", row.get("name")) for row in then["found"]]
    assert "The lamp burns." in says
    assert "The lamp is out." not in says
    assert {row["kind"] for row in then["found"]} >= {"entity", "event", "relation", "turn"}
    assert "Ilsa Vane" in [row.get("name") for row in then["found"]]
    assert {row["kind"] for row in about["found"]} <= {
        "entity",
        "fact",
        "event",
        "relation",
        "turn",
    }
    assert early["found"] == []
    assert past["name"] == "Odo Brand"
    assert "also_called" not in past


async def test_a_played_world_takes_claims_and_lists_its_places() -> None:
    driver = make_driver()
    await brought_in(driver.canon, an_isle())
    places = (await driver.call("find", kinds=["entity"], limit=50))["found"]
    relations = (await driver.call("find", kinds=["relation"], limit=5))["found"]

    place = next(row for row in places if row["type"] == "location")
    claim = {"kind": "fact", "says": "The well has run dry", "about": [place["id"]]}
    claimed = await driver.call("propose", said="So I hear.", claims=[claim])
    reply = await driver.call("get", of=place["id"])

    assert [row["kind"] for row in (await driver.call("spaces"))["spaces"]] == ["world", "account"]
    assert relations
    assert claimed["accepted"] == 1
    assert "The well has run dry" in [fact["says"] for fact in reply["facts"]]

"""The first fifteen of the thirty defects that the original of this contract had, each once."""

from itertools import pairwise
from typing import Any

import pytest

from tests.toolsets.truth.kit import NOWHERE, an_invoice, make_driver

pytestmark = pytest.mark.anyio


async def test_d01_a_correction_outlives_a_later_record() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=1500.5)
    await driver.correct(invoice, "amount_due", 500)
    await driver.ingest(an_invoice(amount_due=111))
    assert (await driver.snapshot(invoice))["amount_due"] == 500


async def test_d02_a_corrected_field_is_traced_to_the_correction() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=1500.5)
    corrected = await driver.correct(invoice, "amount_due", 500)
    traced = await driver.call("get_field_provenance", entity_id=invoice, field="amount_due")
    assert traced["value"] == 500
    assert traced["source_observation"]["id"] == corrected["observation_id"]
    assert traced["source_observation"]["source_priority"] == 1000
    assert traced["source_material"]["id"] == traced["source_observation"]["source_id"]
    assert traced["source_material"]["mime_type"] == "application/json"


async def test_d03_a_return_to_an_old_value_is_new() -> None:
    driver = make_driver()
    task = {"entity_type": "task", "title": "Write", "status": "open"}
    replies = [await driver.ingest({**task, "status": status}) for status in ("A", "B", "A")]
    assert [reply["deduplicated"] for reply in replies] == [False, False, True]
    entity = replies[0]["entities"][0]["entity_id"]
    assert (await driver.snapshot(entity))["status"] == "A"
    assert (await driver.call("list_observations", entity_id=entity))["total"] == 3


async def test_d04_a_merge_recomputes_the_survivor_and_keeps_all_edges() -> None:
    driver = make_driver()
    kept = await driver.entity("company", name="Acme Works", tax_id="A-1")
    gone = await driver.entity("company", name="Acme Werke", tax_id="A-2", industry="tools")
    invoice = await driver.entity("invoice", invoice_number="INV-1", amount_due=1)
    await driver.relate(invoice, "PART_OF", gone)
    await driver.relate(invoice, "REFERS_TO", kept)
    merged = await driver.merge(gone, kept)
    assert merged["observations_moved"] == 1
    survivor = await driver.call("get_entity_snapshot", entity_id=kept)
    assert survivor["snapshot"]["industry"] == "tools"
    assert survivor["observation_count"] == 2
    edges = await driver.call("list_relationships", entity_id=kept)
    assert edges["total"] == 2
    assert {edge["target_entity_id"] for edge in edges["relationships"]} == {kept}


async def test_d05_statements_under_a_merged_name_reach_the_survivor() -> None:
    driver = make_driver()
    kept = await driver.entity("company", name="Acme Works", tax_id="A-1")
    gone = await driver.entity("company", name="Acme Werke", tax_id="A-2")
    await driver.merge(gone, kept)
    reply = await driver.ingest({"entity_type": "company", "tax_id": "A-2", "industry": "tools"})
    assert reply["entities"][0]["entity_id"] == kept
    assert (await driver.snapshot(kept))["industry"] == "tools"
    assert (await driver.snapshot(gone))["industry"] == "tools"


async def test_d06_self_merges_and_merge_cycles_are_refused() -> None:
    driver = make_driver()
    one = await driver.entity("company", name="One", tax_id="1")
    two = await driver.entity("company", name="Two", tax_id="2")
    arguments = {"user_id": driver.user, "from_entity_id": one, "to_entity_id": one}
    await driver.refused("merge_entities", "VALIDATION_ERROR", **arguments)
    await driver.merge(one, two)
    back = {"user_id": driver.user, "from_entity_id": two, "to_entity_id": one}
    await driver.refused("merge_entities", "VALIDATION_ERROR", **back)
    again = {"user_id": driver.user, "from_entity_id": one, "to_entity_id": two}
    await driver.refused("merge_entities", "ENTITY_ALREADY_MERGED", **again)
    assert (await driver.snapshot(two))["name"] == "Two"


async def test_d07_one_instant_is_one_state_however_it_is_written() -> None:
    driver = make_driver()
    first = {"extracted_at": "2025-01-01T12:00:00Z", "extractor_version": "1"}
    later = {"extracted_at": "2025-01-01T14:00:00Z", "extractor_version": "1"}
    reply = await driver.ingest(an_invoice(amount_due=1), provenance=first)
    await driver.ingest(an_invoice(amount_due=2), provenance=later)
    invoice = reply["entities"][0]["entity_id"]
    for at in (
        "2025-01-01T13:00:00Z",
        "2025-01-01T15:00:00+02:00",
        "2025-01-01T05:00:00-08:00",
        "2025-01-01T13:00:00",
        "2025-01-01 13:00:00.000",
        "2025-01-01T13:00Z",
    ):
        assert (await driver.snapshot(invoice, at=at))["amount_due"] == 1
    await driver.refused("get_entity_snapshot", "VALIDATION_ERROR", entity_id=invoice, at="banana")


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("get_entity_snapshot", {}),
        ("list_observations", {}),
        ("list_relationships", {}),
        ("get_related_entities", {}),
        ("get_field_provenance", {"field": "name"}),
        ("explain_snapshot", {}),
    ],
)
async def test_d08_an_unknown_entity_is_not_an_empty_answer(tool: str, more: Any) -> None:
    driver = make_driver()
    await driver.refused(tool, "ENTITY_NOT_FOUND", entity_id=NOWHERE, **more)
    await driver.refused(tool, "VALIDATION_ERROR", entity_id="ent_xyz", **more)


async def test_d09_an_edge_needs_both_its_ends() -> None:
    driver = make_driver()
    one = await driver.entity("task", title="One", status="open")
    for ends in ((one, NOWHERE), (NOWHERE, one)):
        arguments = {"relationship_type": "PART_OF", "source_entity_id": ends[0]}
        arguments["target_entity_id"] = ends[1]
        await driver.refused("create_relationship", "ENTITY_NOT_FOUND", **arguments)


async def test_d10_an_edge_of_another_type_closes_no_cycle() -> None:
    driver = make_driver()
    one = await driver.entity("task", title="One", status="open")
    two = await driver.entity("task", title="Two", status="open")
    await driver.relate(one, "DEPENDS_ON", two)
    await driver.relate(two, "REFERS_TO", one)
    await driver.relate(one, "REFERS_TO", two)
    arguments = {"source_entity_id": two, "target_entity_id": one}
    refused = {"relationship_type": "DEPENDS_ON", **arguments}
    await driver.refused("create_relationship", "CYCLE_DETECTED", **refused)


async def test_d11_a_longer_cycle_is_found_and_cannot_be_bypassed() -> None:
    driver = make_driver()
    tasks = [await driver.entity("task", title=f"T{n}", status="open") for n in range(4)]
    for one, two in pairwise(tasks):
        await driver.relate(one, "PART_OF", two)
    for start in tasks[:3]:
        arguments = {"source_entity_id": tasks[3], "target_entity_id": start}
        closing = {"relationship_type": "PART_OF", **arguments}
        await driver.refused("create_relationship", "CYCLE_DETECTED", **closing)


async def test_d12_the_same_edge_is_the_same_edge() -> None:
    driver = make_driver()
    one = await driver.entity("task", title="One", status="open")
    two = await driver.entity("task", title="Two", status="open")
    first = await driver.relate(one, "DEPENDS_ON", two, metadata={"why": "order"})
    driver.wait()
    heads = await driver.heads()
    again = await driver.relate(one, "DEPENDS_ON", two, metadata={"why": "order"})
    assert await driver.heads() == heads
    assert (again["id"], again["created_at"]) == (first["id"], first["created_at"])
    grown = await driver.relate(one, "DEPENDS_ON", two, metadata={"since": "May"})
    assert grown["metadata"] == {"why": "order", "since": "May"}
    assert (await driver.call("list_relationships", entity_id=one))["total"] == 1


async def test_d13_a_neighbourhood_has_sources_and_events_by_default() -> None:
    driver = make_driver()
    invoice = await driver.entity(
        "invoice", invoice_number="INV-9", amount_due=1, date_due="2025-02-14", vendor_name="Acme"
    )
    around = await driver.call("get_graph_neighborhood", node_id=invoice)
    assert around["entity"]["id"] == invoice
    assert len(around["related_sources"]) == 1
    assert [event["event_type"] for event in around["timeline_events"]] == ["InvoiceDue"]
    assert [entity["canonical_name"] for entity in around["related_entities"]] == ["Acme"]
    assert "observations" not in around


async def test_d14_an_edge_counts_once_however_it_is_reached() -> None:
    driver = make_driver()
    tasks = [await driver.entity("task", title=f"T{n}", status="open") for n in range(3)]
    await driver.relate(tasks[0], "DEPENDS_ON", tasks[1])
    await driver.relate(tasks[1], "DEPENDS_ON", tasks[2])
    related = await driver.call("get_related_entities", entity_id=tasks[0], max_hops=3)
    assert (related["total_entities"], related["total_relationships"]) == (2, 2)
    assert related["hops_traversed"] == 2
    without = await driver.call(
        "get_related_entities", entity_id=tasks[0], max_hops=3, include_entities=False
    )
    assert without["total_entities"] == 2


async def test_d15_the_timeline_has_days_refuses_nonsense_and_marks_replacements() -> None:
    driver = make_driver()
    await driver.ingest(an_invoice(invoice_date="2025-01-15", date_due="2025-02-14"))
    day = {"after_date": "2025-01-15", "before_date": "2025-01-15"}
    within = await driver.call("list_timeline_events", **day)
    assert [event["event_type"] for event in within["events"]] == ["InvoiceIssued"]
    await driver.refused("list_timeline_events", "VALIDATION_ERROR", before_date="banana")
    rolled = await driver.ingest(an_invoice("INV-10", date_due="2025-02-30"))
    assert [warning["path"] for warning in rolled["warnings"] if "path" in warning] != []
    await driver.ingest(an_invoice(invoice_date="2025-01-15", date_due="2025-03-01"))
    due = await driver.call("list_timeline_events", event_type="InvoiceDue")
    assert [event["event_timestamp"] for event in due["events"]] == ["2025-03-01T00:00:00Z"]
    every = await driver.call(
        "list_timeline_events", event_type="InvoiceDue", include_superseded=True
    )
    assert [event["superseded"] for event in every["events"]] == [False, True]

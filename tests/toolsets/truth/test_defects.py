"""The first fifteen of the thirty defects that the original of this contract had, each once."""

from itertools import pairwise
from typing import Any

import pytest

from tests.toolsets.truth.kit import NOWHERE, a_desk, an_invoice

pytestmark = pytest.mark.anyio


async def test_d01_a_correction_outlives_a_later_record() -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="INV-9", amount_due=1500.5)
    await desk.correct(invoice, "amount_due", 500)
    await desk.ingest(an_invoice(amount_due=111))
    assert (await desk.snapshot(invoice))["amount_due"] == 500


async def test_d02_a_corrected_field_is_traced_to_the_correction() -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="INV-9", amount_due=1500.5)
    corrected = await desk.correct(invoice, "amount_due", 500)
    traced = await desk.call("get_field_provenance", entity_id=invoice, field="amount_due")
    assert traced["value"] == 500
    assert traced["source_observation"]["id"] == corrected["observation_id"]
    assert traced["source_observation"]["source_priority"] == 1000
    assert traced["source_material"]["id"] == traced["source_observation"]["source_id"]
    assert traced["source_material"]["mime_type"] == "application/json"


async def test_d03_a_return_to_an_old_value_is_new() -> None:
    desk = a_desk()
    task = {"entity_type": "task", "title": "Write", "status": "open"}
    replies = [await desk.ingest({**task, "status": status}) for status in ("A", "B", "A")]
    assert [reply["deduplicated"] for reply in replies] == [False, False, True]
    entity = replies[0]["entities"][0]["entity_id"]
    assert (await desk.snapshot(entity))["status"] == "A"
    assert (await desk.call("list_observations", entity_id=entity))["total"] == 3


async def test_d04_a_merge_recomputes_the_survivor_and_keeps_all_edges() -> None:
    desk = a_desk()
    kept = await desk.entity("company", name="Acme Works", tax_id="A-1")
    gone = await desk.entity("company", name="Acme Werke", tax_id="A-2", industry="tools")
    invoice = await desk.entity("invoice", invoice_number="INV-1", amount_due=1)
    await desk.relate(invoice, "PART_OF", gone)
    await desk.relate(invoice, "REFERS_TO", kept)
    merged = await desk.merge(gone, kept)
    assert merged["observations_moved"] == 1
    survivor = await desk.call("get_entity_snapshot", entity_id=kept)
    assert survivor["snapshot"]["industry"] == "tools"
    assert survivor["observation_count"] == 2
    edges = await desk.call("list_relationships", entity_id=kept)
    assert edges["total"] == 2
    assert {edge["target_entity_id"] for edge in edges["relationships"]} == {kept}


async def test_d05_what_is_said_under_a_merged_name_reaches_the_survivor() -> None:
    desk = a_desk()
    kept = await desk.entity("company", name="Acme Works", tax_id="A-1")
    gone = await desk.entity("company", name="Acme Werke", tax_id="A-2")
    await desk.merge(gone, kept)
    reply = await desk.ingest({"entity_type": "company", "tax_id": "A-2", "industry": "tools"})
    assert reply["entities"][0]["entity_id"] == kept
    assert (await desk.snapshot(kept))["industry"] == "tools"
    assert (await desk.snapshot(gone))["industry"] == "tools"


async def test_d06_nothing_is_merged_into_itself_and_no_ring_is_closed() -> None:
    desk = a_desk()
    one = await desk.entity("company", name="One", tax_id="1")
    two = await desk.entity("company", name="Two", tax_id="2")
    arguments = {"user_id": desk.user, "from_entity_id": one, "to_entity_id": one}
    await desk.refused("merge_entities", "VALIDATION_ERROR", **arguments)
    await desk.merge(one, two)
    back = {"user_id": desk.user, "from_entity_id": two, "to_entity_id": one}
    await desk.refused("merge_entities", "VALIDATION_ERROR", **back)
    again = {"user_id": desk.user, "from_entity_id": one, "to_entity_id": two}
    await desk.refused("merge_entities", "ENTITY_ALREADY_MERGED", **again)
    assert (await desk.snapshot(two))["name"] == "Two"


async def test_d07_one_instant_is_one_state_however_it_is_written() -> None:
    desk = a_desk()
    first = {"extracted_at": "2025-01-01T12:00:00Z", "extractor_version": "1"}
    later = {"extracted_at": "2025-01-01T14:00:00Z", "extractor_version": "1"}
    reply = await desk.ingest(an_invoice(amount_due=1), provenance=first)
    await desk.ingest(an_invoice(amount_due=2), provenance=later)
    invoice = reply["entities"][0]["entity_id"]
    for at in (
        "2025-01-01T13:00:00Z",
        "2025-01-01T15:00:00+02:00",
        "2025-01-01T05:00:00-08:00",
        "2025-01-01T13:00:00",
        "2025-01-01 13:00:00.000",
        "2025-01-01T13:00Z",
    ):
        assert (await desk.snapshot(invoice, at=at))["amount_due"] == 1
    await desk.refused("get_entity_snapshot", "VALIDATION_ERROR", entity_id=invoice, at="banana")


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
    desk = a_desk()
    await desk.refused(tool, "ENTITY_NOT_FOUND", entity_id=NOWHERE, **more)
    await desk.refused(tool, "VALIDATION_ERROR", entity_id="ent_xyz", **more)


async def test_d09_an_edge_needs_both_its_ends() -> None:
    desk = a_desk()
    one = await desk.entity("task", title="One", status="open")
    for ends in ((one, NOWHERE), (NOWHERE, one)):
        arguments = {"relationship_type": "PART_OF", "source_entity_id": ends[0]}
        arguments["target_entity_id"] = ends[1]
        await desk.refused("create_relationship", "ENTITY_NOT_FOUND", **arguments)


async def test_d10_an_edge_of_another_type_closes_no_cycle() -> None:
    desk = a_desk()
    one = await desk.entity("task", title="One", status="open")
    two = await desk.entity("task", title="Two", status="open")
    await desk.relate(one, "DEPENDS_ON", two)
    await desk.relate(two, "REFERS_TO", one)
    await desk.relate(one, "REFERS_TO", two)
    arguments = {"source_entity_id": two, "target_entity_id": one}
    refused = {"relationship_type": "DEPENDS_ON", **arguments}
    await desk.refused("create_relationship", "CYCLE_DETECTED", **refused)


async def test_d11_a_longer_cycle_is_found_and_no_way_leads_around_that() -> None:
    desk = a_desk()
    tasks = [await desk.entity("task", title=f"T{n}", status="open") for n in range(4)]
    for one, two in pairwise(tasks):
        await desk.relate(one, "PART_OF", two)
    for start in tasks[:3]:
        arguments = {"source_entity_id": tasks[3], "target_entity_id": start}
        closing = {"relationship_type": "PART_OF", **arguments}
        await desk.refused("create_relationship", "CYCLE_DETECTED", **closing)


async def test_d12_the_same_edge_is_the_same_edge() -> None:
    desk = a_desk()
    one = await desk.entity("task", title="One", status="open")
    two = await desk.entity("task", title="Two", status="open")
    first = await desk.relate(one, "DEPENDS_ON", two, metadata={"why": "order"})
    desk.wait()
    heads = await desk.heads()
    again = await desk.relate(one, "DEPENDS_ON", two, metadata={"why": "order"})
    assert await desk.heads() == heads
    assert (again["id"], again["created_at"]) == (first["id"], first["created_at"])
    grown = await desk.relate(one, "DEPENDS_ON", two, metadata={"since": "May"})
    assert grown["metadata"] == {"why": "order", "since": "May"}
    assert (await desk.call("list_relationships", entity_id=one))["total"] == 1


async def test_d13_a_neighbourhood_has_sources_and_events_unless_told_otherwise() -> None:
    desk = a_desk()
    invoice = await desk.entity(
        "invoice", invoice_number="INV-9", amount_due=1, date_due="2025-02-14", vendor_name="Acme"
    )
    around = await desk.call("get_graph_neighborhood", node_id=invoice)
    assert around["entity"]["id"] == invoice
    assert len(around["related_sources"]) == 1
    assert [event["event_type"] for event in around["timeline_events"]] == ["InvoiceDue"]
    assert [entity["canonical_name"] for entity in around["related_entities"]] == ["Acme"]
    assert "observations" not in around


async def test_d14_an_edge_counts_once_however_one_walks() -> None:
    desk = a_desk()
    tasks = [await desk.entity("task", title=f"T{n}", status="open") for n in range(3)]
    await desk.relate(tasks[0], "DEPENDS_ON", tasks[1])
    await desk.relate(tasks[1], "DEPENDS_ON", tasks[2])
    related = await desk.call("get_related_entities", entity_id=tasks[0], max_hops=3)
    assert (related["total_entities"], related["total_relationships"]) == (2, 2)
    assert related["hops_traversed"] == 2
    without = await desk.call(
        "get_related_entities", entity_id=tasks[0], max_hops=3, include_entities=False
    )
    assert without["total_entities"] == 2


async def test_d15_the_timeline_knows_days_refuses_nonsense_and_marks_what_was_replaced() -> None:
    desk = a_desk()
    await desk.ingest(an_invoice(invoice_date="2025-01-15", date_due="2025-02-14"))
    day = {"after_date": "2025-01-15", "before_date": "2025-01-15"}
    within = await desk.call("list_timeline_events", **day)
    assert [event["event_type"] for event in within["events"]] == ["InvoiceIssued"]
    await desk.refused("list_timeline_events", "VALIDATION_ERROR", before_date="banana")
    rolled = await desk.ingest(an_invoice("INV-10", date_due="2025-02-30"))
    assert [warning["path"] for warning in rolled["warnings"] if "path" in warning] != []
    await desk.ingest(an_invoice(invoice_date="2025-01-15", date_due="2025-03-01"))
    due = await desk.call("list_timeline_events", event_type="InvoiceDue")
    assert [event["event_timestamp"] for event in due["events"]] == ["2025-03-01T00:00:00Z"]
    every = await desk.call(
        "list_timeline_events", event_type="InvoiceDue", include_superseded=True
    )
    assert [event["superseded"] for event in every["events"]] == [False, True]

"""A furnished account: one item of every kind, and arguments that each tool takes."""

import base64
from collections.abc import Mapping
from typing import Any

from tests.toolsets.truth.kit import ToolDriver, an_invoice, make_driver

NOTE = base64.b64encode(b"# Note\n\nInvoice INV-77 of Acme Corp is due on 2025-03-01.\n").decode()


async def make_furnished_driver(
    user: str | None = None, driver: ToolDriver | None = None
) -> tuple[ToolDriver, Any]:
    """A driver with an account in use, and the arguments that fit each tool."""
    driver = driver or make_driver()
    driver = driver if user is None else driver.of(user)
    reply = await driver.ingest(
        an_invoice(invoice_date="2025-01-15", vendor_name="Acme Corp", colour="blue"),
        {"entity_type": "company", "name": "Acme Ltd", "tax_id": "A-2", "email": "a@acme.test"},
        {"entity_type": "habit", "name": "Running", "day": "2025-01-01"},
    )
    invoice, company, habit = (each["entity_id"] for each in reply["entities"])
    gone = await driver.entity("company", name="Gone", tax_id="A-9")
    merged = await driver.entity("company", name="Merged", tax_id="A-8")
    await driver.merge(merged, gone)
    await driver.relate(invoice, "REFERS_TO", company, metadata={"why": "test"})
    await driver.correct(invoice, "amount_due", 7)
    file = await driver.call(
        "ingest", user_id=driver.user, file_content=NOTE, mime_type="text/markdown"
    )
    return driver, arguments_of(
        driver, reply, file, {"one": invoice, "other": company, "odd": habit, "merged": merged}
    )


def arguments_of(
    driver: ToolDriver, reply: Mapping[str, Any], file: Mapping[str, Any], ids: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Arguments that every tool takes, by its name."""
    one, other = ids["one"], ids["other"]
    user = {"user_id": driver.user}
    ends = {"source_entity_id": one, "target_entity_id": other}
    return {
        "ingest": {**user, "entities": [an_invoice("INV-10", notes="Something")]},
        "upload_file": {"file_path": "missing.txt"},
        "get_file_url": {"file_path": f"files/{driver.user}/{file['content_hash']}"},
        "get_entity_snapshot": {"entity_id": one},
        "retrieve_entities": {"entity_type": "invoice"},
        "get_entity_by_identifier": {"identifier": "INV-9"},
        "get_related_entities": {"entity_id": one, "max_hops": 2},
        "get_graph_neighborhood": {"node_id": one, "include_observations": True},
        "merge_entities": {**user, "from_entity_id": other, "to_entity_id": ids["merged"]},
        "list_observations": {"entity_id": one},
        "get_field_provenance": {"entity_id": one, "field": "amount_due"},
        "create_relationship": {"relationship_type": "SETTLES", **ends},
        "list_relationships": {"entity_id": one},
        "list_timeline_events": {"source_id": reply["source_id"], "include_superseded": True},
        "correct": {
            **user,
            "entity_id": one,
            "entity_type": "invoice",
            "field": "description",
            "value": "Something",
        },
        "reinterpret": {
            "source_id": file["source_id"],
            "interpretation_config": {"provider": "rules"},
        },
        "list_entity_types": {},
        "get_relationship_snapshot": {"relationship_type": "REFERS_TO", **ends},
        "unmerge_entities": {**user, "entity_id": ids["merged"]},
        "edit_aliases": {**user, "entity_id": other, "add": ["Something"]},
        "register_entity_schema": {
            **user,
            "entity_type": "gadget",
            "fields": {"name": {"type": "string"}},
            "identity": [["name"]],
        },
        "list_entity_schemas": {"entity_type": "habit"},
        "explain_snapshot": {"entity_id": one},
        "list_possible_duplicates": {},
        "list_unclear_values": {},
        "settle_unclear_values": {
            **user,
            "source_id": file["source_id"],
            "field": "amount_due",
            "read_as": "comma",
        },
        "withdraw_source": {**user, "source_id": file["source_id"]},
        "search_records": {"query": "acme", "after_date": "2025", "min_amount": 1},
        "summarise_records": {
            "entity_type": "invoice",
            "field": "amount_due",
            "group_by": ["vendor_name"],
            "period": "month",
        },
    }

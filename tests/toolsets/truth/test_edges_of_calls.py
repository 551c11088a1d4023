"""Tools answer at the edges: one entity twice, none at all, a repeated call, an undone one."""

import base64
from pathlib import Path
from typing import Any

import pytest

from canonry.gateway.principal import KEY_META, Principal
from canonry.records.usecases.files import filing_of
from canonry.stores.folder import FolderLocalFiles
from tests.toolsets.truth.kit import NOWHERE, ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio
NOTE = base64.b64encode(b"# Note\n\nInvoice INV-77 of Acme Corp.\n").decode()


async def two_companies(driver: ToolDriver) -> tuple[str, str]:
    acme = await driver.entity("company", name="Acme Corp", tax_id="A-1")
    return acme, await driver.entity("company", name="Beta Corp", tax_id="B-2")


async def reason(driver: ToolDriver, tool: str, arguments: dict[str, Any]) -> str | None:
    """Why a call was refused; None: it was not."""
    outcome = await driver.outcome(tool, arguments)
    return None if outcome.error is None else outcome.body["error"]["details"]["reason"]


async def test_no_entity_relates_to_itself_even_by_another_name() -> None:
    driver = make_driver()
    acme, beta = await two_companies(driver)
    await driver.merge(beta, acme)
    ends = {"source_entity_id": acme, "target_entity_id": beta}

    refused = await driver.refused(
        "create_relationship", "VALIDATION_ERROR", relationship_type="REFERS_TO", **ends
    )

    assert "are one entity" in refused["message"]


async def test_an_ended_relationship_is_not_found() -> None:
    driver = make_driver()
    acme, beta = await two_companies(driver)
    await driver.relate(acme, "REFERS_TO", beta)
    back = {"source_entity_id": beta, "target_entity_id": acme}

    for kind, ends in (
        ("SETTLES", {"source_entity_id": acme, "target_entity_id": beta}),
        ("REFERS_TO", back),
    ):
        arguments = {"relationship_type": kind, **ends}
        assert (
            await reason(driver, "get_relationship_snapshot", arguments) == "relationship.unknown"
        )


async def test_a_relationship_is_found_by_former_names_of_its_ends() -> None:
    driver = make_driver()
    acme, beta = await two_companies(driver)
    invoice = await driver.entity("invoice", invoice_number="INV-1")
    await driver.relate(invoice, "REFERS_TO", beta)
    await driver.merge(beta, acme)

    for end in (acme, beta):
        found = await driver.call(
            "get_relationship_snapshot",
            relationship_type="REFERS_TO",
            source_entity_id=invoice,
            target_entity_id=end,
        )
        assert found["target_entity_id"] == acme


@pytest.mark.parametrize(("other", "why"), [("invoice", "merge.types"), ("person", None)])
async def test_only_similar_entities_can_be_merged(other: str, why: str | None) -> None:
    driver = make_driver()
    contact = await driver.entity("contact", name="Ada Lovelace", email="ada@example.test")
    fields: dict[str, Any] = {"invoice_number": "INV-1"} if other == "invoice" else {"name": "Ada"}
    item = await driver.entity(other, **fields)

    arguments = {"user_id": driver.user, "from_entity_id": contact, "to_entity_id": item}

    assert await reason(driver, "merge_entities", arguments) == why


async def test_a_retried_merge_returns_the_first_reply() -> None:
    driver = make_driver()
    acme, beta = await two_companies(driver)
    await driver.ingest(
        {"entity_type": "company", "name": "Beta Corp", "tax_id": "B-2", "city": "X"}
    )
    arguments = {"user_id": driver.user, "from_entity_id": beta, "to_entity_id": acme}
    principal = Principal(agent_id="desk", user=driver.user)

    first, again = [
        await driver.gateway.call("merge_entities", arguments, principal, {KEY_META: "once"})
        for _ in range(2)
    ]

    assert first.error is None
    assert again.body == first.body
    assert first.body["observations_moved"] == 2


async def test_an_unmerged_entity_cannot_be_unmerged() -> None:
    driver = make_driver()
    acme, beta = await two_companies(driver)
    await driver.merge(beta, acme)

    for entity, code in ((acme, "entity.not-merged"), (NOWHERE, "entity.unknown")):
        arguments = {"user_id": driver.user, "entity_id": entity}
        assert await reason(driver, "unmerge_entities", arguments) == code


async def test_an_empty_correction_clears_the_field_and_a_day_is_dated() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-1", notes="A stain.")

    await driver.correct(invoice, "notes", None)
    await driver.correct(invoice, "due_date", "2025-03-01")

    snapshot = await driver.snapshot(invoice)
    assert snapshot.get("notes") is None
    events = await driver.call("list_timeline_events", after_date="2025-03-01")
    assert [event["event_type"] for event in events["events"]] == ["InvoiceDue"]


async def test_a_schema_registered_again_is_the_same_version() -> None:
    driver = make_driver()
    said = {
        "user_id": driver.user,
        "entity_type": "gadget",
        "fields": {"name": {"type": "string"}, "price": {"type": "number"}},
        "identity": [["name"]],
    }

    first = await driver.call("register_entity_schema", **said)
    again = await driver.call("register_entity_schema", **said)

    assert (first["registered"], again["registered"]) == (True, False)
    assert again["schema_version"] == first["schema_version"]


@pytest.mark.parametrize("entity_type", ["", " ", "x" * 300])
async def test_a_schema_has_a_type_with_a_name(entity_type: str) -> None:
    driver = make_driver()

    await driver.refused(
        "register_entity_schema",
        "VALIDATION_ERROR",
        user_id=driver.user,
        entity_type=entity_type,
        fields={"name": {"type": "string"}},
    )


async def test_the_state_before_the_first_record_is_empty() -> None:
    """Both ways of asking about the past agree, also under the name that was merged away."""
    driver = make_driver()
    acme, beta = await two_companies(driver)
    driver.wait()
    await driver.merge(beta, acme)

    for entity in (acme, beta):
        for asked in ({"as_known_at": "2024-01-01"}, {"at": "2024-01-01"}):
            reply = await driver.call("get_entity_snapshot", entity_id=entity, **asked)
            assert reply["snapshot"] == {}, (entity, asked)


async def test_a_merged_entity_shows_the_past_as_known_then() -> None:
    driver = make_driver()
    acme, beta = await two_companies(driver)  # a minute and two after 00:00
    await driver.merge(beta, acme)
    driver.wait()
    await driver.ingest(
        {"entity_type": "company", "name": "Acme Corp", "tax_id": "A-1", "city": "X"}
    )

    async def snapshot_of(entity: str, **asked: str) -> Any:
        return (await driver.call("get_entity_snapshot", entity_id=entity, **asked))["snapshot"]

    before = await snapshot_of(beta, as_known_at="2025-01-15T00:01:59Z")
    since = await snapshot_of(beta, as_known_at="2025-01-15T00:02:30Z")
    now = await snapshot_of(beta)
    as_it_is_known_now = {"at": "2025-01-15T00:02:30Z", "as_known_at": "2025-01-15T00:10:00Z"}

    assert before == {}
    assert since == await snapshot_of(acme, as_known_at="2025-01-15T00:02:30Z")
    assert since == await snapshot_of(beta, **as_it_is_known_now)
    assert (since["name"], now["name"]) == ("Beta Corp", "Acme Corp")


async def test_a_codebase_record_may_nest_its_fields() -> None:
    """Its own kind is called entity_type as well, and is kept under another name."""
    driver = make_driver()

    entity = await driver.entity(
        "codebase_entity",
        name="parse",
        fields={"entity_type": "module", "path": "src/parse.py"},
    )

    reply = await driver.call("get_entity_snapshot", entity_id=entity)
    assert reply["entity_type"] == "codebase_entity"
    assert reply["snapshot"]["path"] == "src/parse.py"
    assert reply["snapshot"]["codebase_entity_type"] == "module"


async def test_an_empty_file_is_refused() -> None:
    driver = make_driver()

    refused = await driver.refused(
        "ingest", "VALIDATION_ERROR", user_id=driver.user, file_content="", mime_type="text/plain"
    )

    assert "empty" in refused["message"]


async def test_records_have_no_file_to_interpret() -> None:
    driver = make_driver()
    reply = await driver.ingest(an_invoice())

    arguments = {
        "source_id": reply["source_id"],
        "interpretation_config": {"provider": "rules"},
    }

    assert await reason(driver, "reinterpret", arguments) == "interpretation.no-file"


async def test_a_source_neighbourhood_has_the_relations_among_its_entities() -> None:
    driver = make_driver()
    reply = await driver.ingest(
        an_invoice(), {"entity_type": "company", "name": "Acme Corp", "tax_id": "A-1"}
    )
    invoice, acme = (each["entity_id"] for each in reply["entities"])
    _, beta = await two_companies(driver)
    await driver.relate(invoice, "REFERS_TO", acme)
    await driver.relate(invoice, "REFERS_TO", beta)

    around = await driver.call(
        "get_graph_neighborhood", node_id=reply["source_id"], node_type="source"
    )

    ends = {(e["source_entity_id"], e["target_entity_id"]) for e in around["relationships"]}
    assert ends == {(invoice, acme)}


async def test_a_file_may_belong_to_a_second_source_once(tmp_path: Path) -> None:
    driver = make_driver()
    reply = await driver.ingest(an_invoice())
    filing_of(driver.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "bill.txt").write_text("Invoice INV-9 of Acme Corp.")
    arguments = {"file_path": "bill.txt", "source_material_id": reply["source_id"]}

    first = await driver.call("upload_file", **arguments)
    before = await driver.heads()
    again = await driver.call("upload_file", **arguments)

    assert again["file_url"] == first["file_url"]
    assert await driver.heads() == before
    link = await driver.call("get_file_url", file_path=first["file_url"])
    assert link["signed_url"].startswith("/files/")


async def test_a_file_with_caller_properties_is_about_one_entity(
    tmp_path: Path,
) -> None:
    driver = make_driver()
    await driver.ingest(an_invoice())
    filing_of(driver.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "bill.txt").write_text("Words.")
    said = {"file_path": "bill.txt", "properties": '{"notes": "A bill.", "entity_type": ""}'}

    first = await driver.call("upload_file", **said)
    again = await driver.call("upload_file", **said)

    assert (first["deduplicated"], again["deduplicated"]) == (False, True)
    assert again["entity_snapshots"] == first["entity_snapshots"]
    (reported,) = first["entity_snapshots"]
    assert reported["entity_type"] == "document"
    assert reported["snapshot"] == {"notes": "A bill.", "title": "bill.txt"}

"""What the tools answer at the edges: one entity twice, nothing there, said already, taken back."""

import base64
from pathlib import Path
from typing import Any

import pytest

from canonry.gateway.principal import KEY_META, Principal
from canonry.records.usecases.files import filing_of
from canonry.stores.folder import FolderLocalFiles
from tests.toolsets.truth.kit import NOWHERE, Desk, a_desk, an_invoice

pytestmark = pytest.mark.anyio
NOTE = base64.b64encode(b"# Note\n\nInvoice INV-77 of Acme Corp.\n").decode()


async def two_companies(desk: Desk) -> tuple[str, str]:
    acme = await desk.entity("company", name="Acme Corp", tax_id="A-1")
    return acme, await desk.entity("company", name="Beta Corp", tax_id="B-2")


async def reason(desk: Desk, tool: str, arguments: dict[str, Any]) -> str | None:
    """Why a call was refused; None: it was not."""
    outcome = await desk.outcome(tool, arguments)
    return None if outcome.error is None else outcome.body["error"]["details"]["reason"]


async def test_nothing_relates_to_itself_not_even_by_another_name() -> None:
    desk = a_desk()
    acme, beta = await two_companies(desk)
    await desk.merge(beta, acme)
    ends = {"source_entity_id": acme, "target_entity_id": beta}

    refused = await desk.refused(
        "create_relationship", "VALIDATION_ERROR", relationship_type="REFERS_TO", **ends
    )

    assert "are one entity" in refused["message"]


async def test_a_relationship_that_does_not_stand_is_not_found() -> None:
    desk = a_desk()
    acme, beta = await two_companies(desk)
    await desk.relate(acme, "REFERS_TO", beta)
    back = {"source_entity_id": beta, "target_entity_id": acme}

    for kind, ends in (
        ("SETTLES", {"source_entity_id": acme, "target_entity_id": beta}),
        ("REFERS_TO", back),
    ):
        arguments = {"relationship_type": kind, **ends}
        assert await reason(desk, "get_relationship_snapshot", arguments) == "relationship.unknown"


async def test_a_relationship_is_found_by_the_names_that_its_ends_had() -> None:
    desk = a_desk()
    acme, beta = await two_companies(desk)
    invoice = await desk.entity("invoice", invoice_number="INV-1")
    await desk.relate(invoice, "REFERS_TO", beta)
    await desk.merge(beta, acme)

    for end in (acme, beta):
        found = await desk.call(
            "get_relationship_snapshot",
            relationship_type="REFERS_TO",
            source_entity_id=invoice,
            target_entity_id=end,
        )
        assert found["target_entity_id"] == acme


@pytest.mark.parametrize(("other", "why"), [("invoice", "merge.types"), ("person", None)])
async def test_only_what_is_alike_can_be_one(other: str, why: str | None) -> None:
    desk = a_desk()
    contact = await desk.entity("contact", name="Ada Lovelace", email="ada@example.test")
    fields: dict[str, Any] = {"invoice_number": "INV-1"} if other == "invoice" else {"name": "Ada"}
    thing = await desk.entity(other, **fields)

    arguments = {"user_id": desk.user, "from_entity_id": contact, "to_entity_id": thing}

    assert await reason(desk, "merge_entities", arguments) == why


async def test_a_merge_that_is_retried_tells_what_the_first_one_did() -> None:
    desk = a_desk()
    acme, beta = await two_companies(desk)
    await desk.ingest({"entity_type": "company", "name": "Beta Corp", "tax_id": "B-2", "city": "X"})
    arguments = {"user_id": desk.user, "from_entity_id": beta, "to_entity_id": acme}
    principal = Principal(agent_id="desk", user=desk.user)

    first, again = [
        await desk.gateway.call("merge_entities", arguments, principal, {KEY_META: "once"})
        for _ in range(2)
    ]

    assert first.error is None
    assert again.body == first.body
    assert first.body["observations_moved"] == 2


async def test_what_was_not_merged_cannot_be_taken_back() -> None:
    desk = a_desk()
    acme, beta = await two_companies(desk)
    await desk.merge(beta, acme)

    for entity, code in ((acme, "entity.not-merged"), (NOWHERE, "entity.unknown")):
        arguments = {"user_id": desk.user, "entity_id": entity}
        assert await reason(desk, "unmerge_entities", arguments) == code


async def test_a_correction_to_nothing_empties_the_field_and_one_to_a_day_is_dated() -> None:
    desk = a_desk()
    invoice = await desk.entity("invoice", invoice_number="INV-1", notes="A stain.")

    await desk.correct(invoice, "notes", None)
    await desk.correct(invoice, "due_date", "2025-03-01")

    snapshot = await desk.snapshot(invoice)
    assert snapshot.get("notes") is None
    events = await desk.call("list_timeline_events", after_date="2025-03-01")
    assert [event["event_type"] for event in events["events"]] == ["InvoiceDue"]


async def test_a_schema_that_is_registered_again_is_the_same_version() -> None:
    desk = a_desk()
    said = {
        "user_id": desk.user,
        "entity_type": "gadget",
        "fields": {"name": {"type": "string"}, "price": {"type": "number"}},
        "identity": [["name"]],
    }

    first = await desk.call("register_entity_schema", **said)
    again = await desk.call("register_entity_schema", **said)

    assert (first["registered"], again["registered"]) == (True, False)
    assert again["schema_version"] == first["schema_version"]


@pytest.mark.parametrize("entity_type", ["", " ", "x" * 300])
async def test_a_schema_has_a_type_with_a_name(entity_type: str) -> None:
    desk = a_desk()

    await desk.refused(
        "register_entity_schema",
        "VALIDATION_ERROR",
        user_id=desk.user,
        entity_type=entity_type,
        fields={"name": {"type": "string"}},
    )


async def test_what_was_known_before_anything_was_known_is_nothing() -> None:
    """Both ways of asking about the past agree, also under the name that was merged away."""
    desk = a_desk()
    acme, beta = await two_companies(desk)
    desk.wait()
    await desk.merge(beta, acme)

    for entity in (acme, beta):
        for asked in ({"as_known_at": "2024-01-01"}, {"at": "2024-01-01"}):
            told = await desk.call("get_entity_snapshot", entity_id=entity, **asked)
            assert told["snapshot"] == {}, (entity, asked)


async def test_a_name_that_was_merged_away_tells_the_past_as_it_was_known_then() -> None:
    desk = a_desk()
    acme, beta = await two_companies(desk)  # a minute and two after 00:00
    await desk.merge(beta, acme)
    desk.wait()
    await desk.ingest({"entity_type": "company", "name": "Acme Corp", "tax_id": "A-1", "city": "X"})

    async def told(entity: str, **asked: str) -> Any:
        return (await desk.call("get_entity_snapshot", entity_id=entity, **asked))["snapshot"]

    before = await told(beta, as_known_at="2025-01-15T00:01:59Z")
    since = await told(beta, as_known_at="2025-01-15T00:02:30Z")
    now = await told(beta)
    as_it_is_known_now = {"at": "2025-01-15T00:02:30Z", "as_known_at": "2025-01-15T00:10:00Z"}

    assert before == {}
    assert since == await told(acme, as_known_at="2025-01-15T00:02:30Z")
    assert since == await told(beta, **as_it_is_known_now)
    assert (since["name"], now["name"]) == ("Beta Corp", "Acme Corp")


async def test_a_codebase_record_may_carry_its_fields_within() -> None:
    """Its own kind is called entity_type as well, and is kept under another name."""
    desk = a_desk()

    entity = await desk.entity(
        "codebase_entity",
        name="parse",
        fields={"entity_type": "module", "path": "src/parse.py"},
    )

    told = await desk.call("get_entity_snapshot", entity_id=entity)
    assert told["entity_type"] == "codebase_entity"
    assert told["snapshot"]["path"] == "src/parse.py"
    assert told["snapshot"]["codebase_entity_type"] == "module"


async def test_an_empty_file_is_refused() -> None:
    desk = a_desk()

    refused = await desk.refused(
        "ingest", "VALIDATION_ERROR", user_id=desk.user, file_content="", mime_type="text/plain"
    )

    assert "empty" in refused["message"]


async def test_records_have_no_file_to_interpret() -> None:
    desk = a_desk()
    reply = await desk.ingest(an_invoice())

    arguments = {
        "source_id": reply["source_id"],
        "interpretation_config": {"provider": "rules"},
    }

    assert await reason(desk, "reinterpret", arguments) == "interpretation.no-file"


async def test_a_neighbourhood_of_a_source_has_the_relations_among_what_it_tells_of() -> None:
    desk = a_desk()
    reply = await desk.ingest(
        an_invoice(), {"entity_type": "company", "name": "Acme Corp", "tax_id": "A-1"}
    )
    invoice, acme = (each["entity_id"] for each in reply["entities"])
    _, beta = await two_companies(desk)
    await desk.relate(invoice, "REFERS_TO", acme)
    await desk.relate(invoice, "REFERS_TO", beta)

    around = await desk.call(
        "get_graph_neighborhood", node_id=reply["source_id"], node_type="source"
    )

    ends = {(e["source_entity_id"], e["target_entity_id"]) for e in around["relationships"]}
    assert ends == {(invoice, acme)}


async def test_a_file_may_belong_to_a_second_source_and_once_only(tmp_path: Path) -> None:
    desk = a_desk()
    reply = await desk.ingest(an_invoice())
    filing_of(desk.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "bill.txt").write_text("Invoice INV-9 of Acme Corp.")
    arguments = {"file_path": "bill.txt", "source_material_id": reply["source_id"]}

    first = await desk.call("upload_file", **arguments)
    before = await desk.heads()
    again = await desk.call("upload_file", **arguments)

    assert again["file_url"] == first["file_url"]
    assert await desk.heads() == before
    link = await desk.call("get_file_url", file_path=first["file_url"])
    assert link["signed_url"].startswith("/files/")


async def test_a_file_with_what_its_bringer_says_is_about_one_entity_however_often(
    tmp_path: Path,
) -> None:
    desk = a_desk()
    await desk.ingest(an_invoice())
    filing_of(desk.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "bill.txt").write_text("Words.")
    said = {"file_path": "bill.txt", "properties": '{"notes": "A bill.", "entity_type": ""}'}

    first = await desk.call("upload_file", **said)
    again = await desk.call("upload_file", **said)

    assert (first["deduplicated"], again["deduplicated"]) == (False, True)
    assert again["entity_snapshots"] == first["entity_snapshots"]
    (told,) = first["entity_snapshots"]
    assert told["entity_type"] == "document"
    assert told["snapshot"] == {"notes": "A bill.", "title": "bill.txt"}

"""The other fifteen of the thirty defects that the original of this contract had, each once."""

import base64
import json
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

from canonry.gateway.call import GatewaySettings
from canonry.records.toolset import FACE, TRUTH
from canonry.server.binding import tool_entry
from tests.toolsets.truth.kit import BOB, an_invoice, make_driver

pytestmark = pytest.mark.anyio


async def test_d16_two_invoices_of_one_customer_are_two() -> None:
    driver = make_driver()
    reply = await driver.ingest(
        an_invoice("INV-1", customer_name="Bob & Co"), an_invoice("INV-2", customer_name="Bob & Co")
    )
    one, two = (each["entity_id"] for each in reply["entities"][:2])
    assert one != two
    assert reply["entities"][0]["identity_rule"] == "invoice_number"


async def test_d17_a_name_is_one_in_both_unicode_forms() -> None:
    driver = make_driver()
    composed = await driver.entity("company", name=unicodedata.normalize("NFC", "Café Noir"))
    split = await driver.entity("company", name=unicodedata.normalize("NFD", "Café Noir"))
    assert composed == split


async def test_d18_the_order_of_keys_says_nothing() -> None:
    driver = make_driver()
    record = an_invoice(currency="EUR", vendor_name="Acme")
    first = await driver.ingest(record)
    second = await driver.ingest(dict(reversed(record.items())))
    assert second["source_id"] == first["source_id"]
    assert second["deduplicated"]
    entity = first["entities"][0]["entity_id"]
    assert (await driver.call("list_observations", entity_id=entity))["total"] == 1


@pytest.mark.parametrize("identifier", ["%", "_", "*", "A%", "A_me"])
async def test_d19_wildcards_stand_for_themselves(identifier: str) -> None:
    driver = make_driver()
    await driver.ingest({"entity_type": "company", "name": "Acme"})
    found = await driver.call("get_entity_by_identifier", identifier=identifier)
    assert (found["entities"], found["total"]) == ([], 0)


async def test_d20_a_correction_fits_the_field_and_the_entity() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=1500.5)
    said = {"user_id": driver.user, "entity_id": invoice, "field": "amount_due", "value": 5}
    wrong = "VALIDATION_ERROR"
    await driver.refused("correct", wrong, **{**said, "entity_type": "invoice", "value": "lots"})
    await driver.refused("correct", wrong, **{**said, "entity_type": "company"})
    unknown = {**said, "entity_type": "invoice", "field": "no_such_field"}
    await driver.refused("correct", wrong, **unknown)


async def test_d21_files_are_held_to_size_kind_and_form() -> None:
    driver = make_driver()
    said = {"user_id": driver.user, "mime_type": "text/plain"}
    large = base64.b64encode(b"x" * 52_428_801).decode()
    await driver.refused("ingest", "FILE_TOO_LARGE", file_content=large, **said)
    program = base64.b64encode(b"MZ\x90\x00" + bytes(200)).decode()
    await driver.refused("ingest", "UNSUPPORTED_FILE_TYPE", file_content=program, **said)
    await driver.refused("ingest", "VALIDATION_ERROR", file_content="not base64!", **said)
    await driver.refused("ingest", "VALIDATION_ERROR", file_content="YWJj\nYQ", **said)


async def test_d22_a_missing_file_has_no_url() -> None:
    driver = make_driver()
    for path in ("files/nobody/nothing", "/etc/passwd", "../../etc/passwd", "file:///etc/passwd"):
        await driver.refused("get_file_url", "FILE_NOT_FOUND", file_path=path)


async def test_d23_a_list_is_traced_to_everybody_who_added_to_it() -> None:
    driver = make_driver()
    contract = {"entity_type": "contract", "contract_number": "C-1"}
    first = await driver.ingest({**contract, "files": ["a.pdf"]})
    second = await driver.ingest({**contract, "files": ["b.pdf", "a.pdf"]})
    entity = first["entities"][0]["entity_id"]
    traced = await driver.call("get_field_provenance", entity_id=entity, field="files")
    assert sorted(traced["value"]) == ["a.pdf", "b.pdf"]
    sources = {each["source_id"] for each in traced["contributing_observations"]}
    assert traced["source_observation"]["source_id"] == second["source_id"]
    assert sources <= {first["source_id"], second["source_id"]}
    snapshot = await driver.call("get_entity_snapshot", entity_id=entity)
    assert "," not in snapshot["provenance"]["files"]
    assert snapshot["provenance"]["files"] in snapshot["provenance_all"]["files"]


@pytest.mark.parametrize("number", [2**53 + 1, 12345678901234567890, -(2**63), 2**70])
async def test_d24_large_whole_numbers_stay_exact(number: int) -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="INV-9", amount_due=number)
    assert (await driver.snapshot(invoice))["amount_due"] == number


async def test_d25_errors_have_an_envelope_a_trace_and_limits() -> None:
    driver = make_driver(settings=GatewaySettings(published_rates=True))
    error = await driver.refused("ingest", "VALIDATION_ERROR", user_id="", entities=[])
    assert set(error) == {"code", "message", "details", "trace_id", "http_status"}
    assert error["trace_id"]
    for _ in range(9):
        await driver.outcome("upload_file", {"file_path": "missing"})
    await driver.outcome("upload_file", {"file_path": "missing"})
    limited = await driver.refused("upload_file", "RATE_LIMIT_EXCEEDED", file_path="missing")
    assert 0 < limited["details"]["retry_after_seconds"] <= 60


async def test_d26_one_record_of_two_users_is_two_entities() -> None:
    driver = make_driver()
    other = driver.of(BOB)
    mine = await driver.entity("company", name="Acme")
    theirs = await other.entity("company", name="Acme")
    assert mine != theirs
    await other.refused("get_entity_snapshot", "ENTITY_NOT_FOUND", entity_id=mine)
    one = await driver.entity("task", title="One", status="open")
    await driver.relate(mine, "DEPENDS_ON", one)
    arguments = {"source_entity_id": one, "target_entity_id": theirs}
    foreign = {"relationship_type": "DEPENDS_ON", **arguments}
    await driver.refused("create_relationship", "ENTITY_NOT_FOUND", **foreign)


def test_d27_the_initial_text_read_by_a_client_is_small() -> None:
    bare = replace(TRUTH, descriptions={})  # they have a budget of their own
    listed = [tool_entry(tool, bare) for tool in TRUTH.tools]
    assert len(json.dumps(listed, separators=(",", ":"))) <= 27_000
    assert len(FACE.instructions) <= 2_000


async def test_d28_a_named_entity_is_created_with_an_edge() -> None:
    driver = make_driver()
    reply = await driver.ingest(an_invoice(vendor_name="Acme Corp", customer_name="Bob GmbH"))
    assert reply["interpretation"]["entities_created"] == 3
    companies = await driver.call("retrieve_entities", entity_type="company")
    names = {entity["canonical_name"] for entity in companies["entities"]}
    assert names == {"Acme Corp", "Bob GmbH"}
    invoice = reply["entities"][0]["entity_id"]
    edges = await driver.call("list_relationships", entity_id=invoice, direction="outbound")
    assert {edge["relationship_type"] for edge in edges["relationships"]} == {"REFERS_TO"}
    assert edges["total"] == 2


async def test_d29_two_results_about_one_target_are_two() -> None:
    driver = make_driver()
    result = {"entity_type": "validation_result", "validation_type": "test", "target": "FU-061"}
    reply = await driver.ingest(
        {**result, "status": "failed", "timestamp": "2025-01-01T10:00:00Z"},
        {**result, "status": "passed", "timestamp": "2025-01-01T11:00:00Z"},
    )
    one, two = (each["entity_id"] for each in reply["entities"])
    assert one != two


async def test_d30_a_batch_with_one_bad_record_leaves_nothing() -> None:
    driver = make_driver()
    await driver.ingest(an_invoice("INV-0"))
    bad: list[Any] = [an_invoice("INV-1"), {"entity_type": "invoice"}, {"entity_type": ""}]
    await driver.refused("ingest", "VALIDATION_ERROR", user_id=driver.user, entities=bad)
    assert (await driver.call("retrieve_entities", entity_type="invoice"))["total"] == 1

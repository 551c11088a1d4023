"""The examples that the contract prints, as they stand there."""

from pathlib import Path

import pytest

from canonry.records.usecases.files import filing_of
from canonry.stores.folder import FolderLocalFiles
from tests.adapters.readers.paper import a_pdf
from tests.toolsets.truth.kit import make_driver

pytestmark = pytest.mark.anyio


async def test_ingest_validates_input() -> None:
    await make_driver().refused("ingest", "VALIDATION_ERROR", user_id="", entities=[])


async def test_retrieve_entities_returns_deterministic_order() -> None:
    driver = make_driver()
    await driver.ingest(*({"entity_type": "company", "name": f"Company {n}"} for n in range(9)))
    first = await driver.call("retrieve_entities", entity_type="company")
    again = await driver.call("retrieve_entities", entity_type="company")
    assert first["entities"] == again["entities"]
    assert [each["canonical_name"] for each in first["entities"]] != []


async def test_ingest_and_retrieve_entity() -> None:
    driver = make_driver()
    invoice = {"entity_type": "invoice", "invoice_number": "INV-001", "amount": 100}
    await driver.call("ingest", user_id=driver.user, entities=[invoice])
    retrieved = await driver.call("retrieve_entities", entity_type="invoice")
    assert any(e["snapshot"].get("invoice_number") == "INV-001" for e in retrieved["entities"])
    assert retrieved["entities"][0]["snapshot"]["amount"] == 100


async def test_upload_file_creates_source_material_with_interpretation(tmp_path: Path) -> None:
    driver = make_driver()
    filing_of(driver.canon).local = FolderLocalFiles((tmp_path,))
    text = "Invoice\nInvoice Number: INV-7\nInvoice Date: 2025-01-15\nTotal: 100.00 EUR\n"
    (tmp_path / "sample_invoice.pdf").write_bytes(a_pdf(text))
    result = await driver.call("upload_file", file_path="sample_invoice.pdf")
    assert result["source_id"]
    assert result["entity_snapshots"][0]["entity_type"] == "invoice"
    assert result["entity_snapshots"][0]["snapshot"]["invoice_number"] == "INV-7"

"""The ten integration tests of the original contract, IT-001 to IT-010, over a store on disk.

Files are PDFs if the contract says so. If the original names a queue or a worker, these tests prove
the promise behind it: nothing is lost, and a second attempt does not double anything.
"""

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.log.items.sources import RunStatus, account_space
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.interpretations import Interpretation
from canonry.records.ports.interpreter import Interpreter
from canonry.records.toolset import TRUTH
from canonry.records.usecases.files import filing_of
from canonry.stores.memory.ledger import MemoryBlobs
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.errors import Unavailable
from canonry.values.policy import Policy, TruthPolicy
from tests.adapters.readers.paper import a_pdf
from tests.toolsets.truth.kit import ANN, BOB, ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio

PAPER = a_pdf(
    "Invoice\nInvoice Number: INV-7\nInvoice Date: 2025-01-15\nVendor: Alpha Ltd\n"
    "Customer: Carl GmbH\nTotal: 100.00 EUR\nDue Date: 2025-02-14"
)
FILE = {"file_content": b64encode(PAPER).decode(), "mime_type": "application/pdf"}
OTHERWISE = {"provider": "rules", "entity_type": "receipt"}
"""A configuration under which the same file is read once more."""


@asynccontextmanager
async def open_stored_driver(folder: Path, **policy: Any) -> AsyncIterator[ToolDriver]:
    """A driver whose canon lies on disk."""
    clock = HandClock()
    truth = Policy(truth=TruthPolicy(**policy))
    store = await open_embedded(folder, clock=clock, identities=CountingIdentities(), policy=truth)
    try:
        yield ToolDriver(canon=store.canon, gateway=Gateway(store.canon, (TRUTH,)), clock=clock)
    finally:
        await store.close()


async def ingest_invoice(driver: ToolDriver, **more: Any) -> tuple[dict[str, Any], str]:
    """Ingest the PDF, and return its outcome and the invoice in it."""
    reply = await driver.call("ingest", user_id=driver.user, **FILE, **more)
    return reply, str(reply["entities"][0]["entity_id"])


async def read_observations(driver: ToolDriver, entity_id: str) -> dict[str, dict[str, Any]]:
    """The observations of an entity by their ids."""
    listed = await driver.call("list_observations", entity_id=entity_id)
    return {each["id"]: each for each in listed["observations"]}


async def test_it_001_raw_file_ingestion_flow(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        reply, invoice = await ingest_invoice(driver)
        assert reply["content_hash"] == sha256(PAPER).hexdigest()
        assert not reply["deduplicated"]
        link = await driver.call("get_file_url", file_path=f"files/{ANN}/{reply['content_hash']}")
        assert reply["content_hash"] in link["signed_url"]
        (seen,) = (await read_observations(driver, invoice)).values()
        assert seen["source_id"] == reply["source_id"]
        assert seen["run_id"] == reply["interpretation"]["run_id"]
        shown = await driver.snapshot(invoice)
        assert (shown["invoice_number"], shown["amount_due"], shown["currency"]) == (
            "INV-7",
            100,
            "EUR",
        )
        chain = await driver.call("get_field_provenance", entity_id=invoice, field="amount_due")
        assert chain["source_material"]["content_hash"] == reply["content_hash"]
        found = await driver.call("get_entity_by_identifier", identifier="INV-7")
        assert [each["id"] for each in found["entities"]] == [invoice]


async def test_it_002_content_deduplication(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        first, _ = await ingest_invoice(driver)
        again = await driver.call("ingest", user_id=ANN, **FILE)
        assert again["deduplicated"]
        assert (again["source_id"], again["content_hash"]) == (
            first["source_id"],
            first["content_hash"],
        )
        theirs, _ = await ingest_invoice(driver.of(BOB))
        assert not theirs["deduplicated"]
        assert theirs["content_hash"] == first["content_hash"]
        assert theirs["source_id"] != first["source_id"]


async def test_it_003_reinterpretation_immutability(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        first, invoice = await ingest_invoice(driver)
        before = await read_observations(driver, invoice)
        again = await driver.call(
            "reinterpret", source_id=first["source_id"], interpretation_config=OTHERWISE
        )
        assert again["run_id"] != first["interpretation"]["run_id"]
        assert again["observations_created"] > 0
        assert {
            i: each for i, each in (await read_observations(driver, invoice)).items() if i in before
        } == (before)
        source = {"node_id": first["source_id"], "node_type": "source"}
        reply = await driver.call("get_graph_neighborhood", include_observations=True, **source)
        runs = {each["run_id"] for each in reply["observations"]}
        assert runs == {first["interpretation"]["run_id"], again["run_id"]}


async def test_it_004_correction_override(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        first, invoice = await ingest_invoice(driver)
        done = await driver.correct(invoice, "amount_due", 500)
        word = (await read_observations(driver, invoice))[done["observation_id"]]
        assert (word["source_priority"], word["correction"]) == (1000, True)
        assert (await driver.snapshot(invoice))["amount_due"] == 500
        source = {"source_id": first["source_id"], "interpretation_config": OTHERWISE}
        await driver.call("reinterpret", **source)
        await driver.call("ingest", user_id=ANN, **FILE)
        assert (await driver.snapshot(invoice))["amount_due"] == 500


async def test_it_005_entity_merge_flow(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        _, gone = await ingest_invoice(driver)
        kept = await driver.entity(**an_invoice("INV-8", notes="kept"))
        merged = await driver.merge(gone, kept, merge_reason="one invoice, renumbered")
        assert (merged["observations_moved"], merged["to_entity_id"]) == (1, kept)
        assert len(await read_observations(driver, kept)) == 2
        assert (await read_observations(driver, gone)).keys() == (
            await read_observations(driver, kept)
        ).keys()
        shown = await driver.call("get_entity_snapshot", entity_id=gone)
        assert (shown["entity_id"], shown["observation_count"]) == (kept, 2)
        assert shown["snapshot"]["vendor_name"] == "Alpha Ltd"
        listed = await driver.call("retrieve_entities", entity_type="invoice")
        assert [each["id"] for each in listed["entities"]] == [kept]
        everybody = await driver.call(
            "retrieve_entities", entity_type="invoice", include_merged=True
        )
        found = {each["id"]: each.get("merged_to") for each in everybody["entities"]}
        assert found == {kept: None, gone: kept}


async def test_it_006_cross_user_isolation(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        reply, invoice = await ingest_invoice(driver)
        bob = driver.of(BOB)
        own = await bob.entity(**an_invoice("INV-7"))
        source = {"node_id": reply["source_id"], "node_type": "source"}
        await bob.refused("get_graph_neighborhood", "SOURCE_NOT_FOUND", **source)
        await bob.refused("get_entity_snapshot", "ENTITY_NOT_FOUND", entity_id=invoice)
        assert (await bob.call("retrieve_entities"))["total"] == 1
        merge = {"from_entity_id": own, "to_entity_id": invoice}
        await bob.refused("merge_entities", "ENTITY_NOT_FOUND", user_id=BOB, **merge)
        wrong = {"entity_type": "invoice", "field": "notes", "value": "x"}
        arguments = {"user_id": BOB, "entity_id": invoice, **wrong}
        await bob.refused("correct", "ENTITY_NOT_FOUND", **arguments)


class BlobsThatFailOnce(MemoryBlobs):
    """A place for files that does not answer at first."""

    failed = False

    @override
    async def put_bytes(self, data: bytes) -> str:
        if not self.failed:
            self.failed = True
            raise Unavailable("blobs.unavailable", "the place for files does not answer; try again")
        return await super().put_bytes(data)


async def test_it_007_upload_queue_retry() -> None:
    driver = make_driver()
    blobs = BlobsThatFailOnce()
    filing_of(driver.canon).blobs_of = lambda _: blobs
    error = await driver.refused("ingest", "DB_INSERT_FAILED", user_id=driver.user, **FILE)
    assert error["details"]["retryable"]
    reply, invoice = await ingest_invoice(driver)
    assert not reply["deduplicated"]
    assert await blobs.get_bytes(reply["content_hash"]) == PAPER
    assert len(await read_observations(driver, invoice)) == 1


class Silent(Interpreter):
    """An interpreter whose model answers to nothing."""

    provider = "silent"

    @override
    def complete_configuration(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        names = ("model_id", "temperature", "prompt_hash", "code_version")
        return {"provider": self.provider, **dict.fromkeys(names, "none")}

    @override
    async def interpret_reading(
        self,
        reading: Any,
        configuration: Mapping[str, Any],
        schemas: Sequence[EntitySchema],
    ) -> Interpretation:
        raise Unavailable("interpretation.failed", "the model did not answer in time; try again")

    @override
    async def close(self) -> None:
        pass


async def test_it_008_interpretation_timeout(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        known = filing_of(driver.canon).interpreters
        filing_of(driver.canon).interpreters = {**known, "silent": Silent()}
        arguments = {"user_id": ANN, **FILE, "interpretation_config": {"provider": "silent"}}
        error = (await driver.outcome("ingest", arguments)).body["error"]
        assert (error["code"], error["details"]["retryable"]) == ("ANALYSIS_FAILED", True)
        source = error["details"]["source_id"]
        page = await driver.canon.state.runs(source, limit=10, offset=0)
        assert [(each.status, each.error) for each in page.items] == [
            (RunStatus.FAILED, "interpretation.failed")
        ]
        assert page.items[0].ended_at is not None
        assert page.items[0].space == account_space(ANN)
        reply, _ = await ingest_invoice(driver)
        assert reply["source_id"] == source
        assert reply["interpretation"]["observations_created"] > 0


async def test_it_009_unknown_field_routing(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        reply = await driver.ingest(an_invoice("INV-9", colour="blue"))
        invoice = reply["entities"][0]["entity_id"]
        (seen,) = (await read_observations(driver, invoice)).values()
        assert "colour" not in seen["fields"]
        assert seen["raw_fragments"] == {"colour": {"value": "blue", "reason": "unknown_field"}}
        assert seen["source_id"] == reply["source_id"]
        assert seen["run_id"] == reply["interpretation"]["run_id"]
        shown = await driver.call("get_entity_snapshot", entity_id=invoice)
        assert "colour" not in shown["snapshot"]
        assert shown["raw_fragments"]["colour"]["observation_id"] == seen["id"]
        (warning,) = [w for w in reply["warnings"] if w["path"].endswith("/colour")]
        assert warning["code"] == "field.unknown-field"


async def test_it_010_interpretation_quota_enforcement(tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path, interpretations=2) as driver:
        first, _ = await ingest_invoice(driver)
        source = {"source_id": first["source_id"]}
        await driver.call("reinterpret", **source, interpretation_config=OTHERWISE)
        third = {"provider": "rules", "entity_type": "note"}
        arguments = {**source, "interpretation_config": third}
        await driver.refused("reinterpret", "QUOTA_EXCEEDED", **arguments)
        driver.wait(31 * 86_400)
        done = await driver.call("reinterpret", **arguments)
        assert done["run_id"] != first["interpretation"]["run_id"]

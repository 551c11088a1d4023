"""Exporting an account: all that its user told, in plain JSON, and nothing of anybody else."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.records.toolset import TRUTH
from tests.cli.run import run_canonry
from tests.toolsets.truth.kit import ANN, BOB, ToolDriver, an_invoice

NOTE = b"# Shed\n\nThe shed of Ann is green.\n"
SECRET = b"# Secret\n\nBob has a red shed.\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which two users keep records and files."""
    folder = tmp_path_factory.mktemp("accounts") / "data"

    async def keep() -> None:
        store = await open_embedded(folder)
        try:
            gateway = Gateway(store.canon, (TRUTH,))
            for user, file in ((ANN, NOTE), (BOB, SECRET)):
                driver = ToolDriver(canon=store.canon, gateway=gateway, clock=None, user=user)  # type: ignore[arg-type]
                await fill_account(driver, file)
        finally:
            await store.close()

    asyncio.run(keep())
    return folder


async def fill_account(driver: ToolDriver, file: bytes) -> None:
    whose = {"user_id": driver.user}
    records = [
        an_invoice(f"INV-{driver.user[0]}", amount_due=5, vendor_name="Acme Corp", mascot="Walrus"),
        {"entity_type": "company", "name": "Old", "tax_id": "T-1"},
        {"entity_type": "company", "name": "New", "tax_id": "T-2"},
    ]
    reply = await driver.call("ingest", **whose, entities=records)
    invoice, old, new = (each["entity_id"] for each in reply["entities"])
    ends = {"entity_id": invoice, "entity_type": "invoice", "field": "amount_due"}
    await driver.call("correct", **whose, **ends, value=7)
    await driver.merge(old, new)
    content = base64.b64encode(file).decode()
    await driver.call("ingest", **whose, file_content=content, mime_type="text/markdown")


def read_export(file: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        ((kind, item), *_) = json.loads(line).items()
        found.setdefault(kind, []).append(item)
    return found


def test_an_account_export_is_complete_and_contains_no_other_account(
    data: Path, tmp_path: Path
) -> None:
    out, files = tmp_path / "ann.jsonl", tmp_path / "files"
    done = run_canonry(
        "export", str(out), "--account", ANN, "--files", str(files), "--data", str(data)
    )
    assert done.returncode == 0, done.stderr

    result = read_export(out)
    invoice = next(e for e in result["entity"] if e["entity_type"] == "invoice")
    assert invoice["fields"]["amount_due"] == 7
    assert invoice["raw_fragments"]["mascot"]["value"] == "Walrus"
    said = [o for o in result["observation"] if o["entity_id"] == invoice["id"]]
    assert [(o["fields"].get("amount_due"), o["correction"]) for o in said] == [
        (7, True),
        (5, False),
    ]
    (old,) = (e for e in result["entity"] if e["name"] == "Old")
    assert next(e["name"] for e in result["entity"] if e["id"] == old["merged_into"]) == "New"
    (edge,) = (r for r in result["relationship"] if r["source_entity_id"] == invoice["id"])
    assert edge["relationship_type"] == "REFERS_TO"
    assert {o["source_id"] for o in result["observation"]} <= {s["id"] for s in result["source"]}
    assert [each.read_bytes() for each in files.rglob("*") if each.is_file()] == [NOTE]
    text = out.read_text(encoding="utf-8")
    assert "red shed" not in text
    assert BOB not in text


def test_a_missing_account_is_refused_with_advice(data: Path, tmp_path: Path) -> None:
    done = run_canonry("export", str(tmp_path / "x"), "--account", "nobody", "--data", str(data))
    assert done.returncode != 0
    assert "no such account" in done.stderr


def test_the_local_user_is_called_me(tmp_path: Path) -> None:
    async def record_company() -> None:
        store = await open_embedded(tmp_path / "own")
        records = {"entities": [{"entity_type": "company", "name": "Mine"}]}
        who = Principal(agent_id="a", agent_type="Operator")
        outcome = await Gateway(store.canon, (TRUTH,)).call("ingest", records, who)
        await store.close()
        assert outcome.error is None, outcome.text

    asyncio.run(record_company())
    out = tmp_path / "mine.jsonl"

    done = run_canonry("export", str(out), "--account", "me", "--data", str(tmp_path / "own"))

    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in read_export(out)["entity"]] == ["Mine"]

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
from tests.cli.run import canonry
from tests.toolsets.truth.kit import ANN, BOB, Desk, an_invoice

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
                desk = Desk(canon=store.canon, gateway=gateway, clock=None, user=user)  # type: ignore[arg-type]
                await tell(desk, file)
        finally:
            await store.close()

    asyncio.run(keep())
    return folder


async def tell(desk: Desk, file: bytes) -> None:
    whose = {"user_id": desk.user}
    records = [
        an_invoice(f"INV-{desk.user[0]}", amount_due=5, vendor_name="Acme Corp", mascot="Walrus"),
        {"entity_type": "company", "name": "Old", "tax_id": "T-1"},
        {"entity_type": "company", "name": "New", "tax_id": "T-2"},
    ]
    reply = await desk.call("ingest", **whose, entities=records)
    invoice, old, new = (each["entity_id"] for each in reply["entities"])
    ends = {"entity_id": invoice, "entity_type": "invoice", "field": "amount_due"}
    await desk.call("correct", **whose, **ends, value=7)
    await desk.merge(old, new)
    content = base64.b64encode(file).decode()
    await desk.call("ingest", **whose, file_content=content, mime_type="text/markdown")


def exported(file: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        ((kind, thing), *_) = json.loads(line).items()
        found.setdefault(kind, []).append(thing)
    return found


def test_an_account_is_exported_whole_with_its_files_and_without_anybody_elses(
    data: Path, tmp_path: Path
) -> None:
    out, files = tmp_path / "ann.jsonl", tmp_path / "files"
    done = canonry("export", str(out), "--account", ANN, "--files", str(files), "--data", str(data))
    assert done.returncode == 0, done.stderr

    told = exported(out)
    invoice = next(e for e in told["entity"] if e["entity_type"] == "invoice")
    assert invoice["fields"]["amount_due"] == 7
    assert invoice["raw_fragments"]["mascot"]["value"] == "Walrus"
    said = [o for o in told["observation"] if o["entity_id"] == invoice["id"]]
    assert [(o["fields"].get("amount_due"), o["correction"]) for o in said] == [
        (7, True),
        (5, False),
    ]
    (old,) = (e for e in told["entity"] if e["name"] == "Old")
    assert next(e["name"] for e in told["entity"] if e["id"] == old["merged_into"]) == "New"
    (edge,) = (r for r in told["relationship"] if r["source_entity_id"] == invoice["id"])
    assert edge["relationship_type"] == "REFERS_TO"
    assert {o["source_id"] for o in told["observation"]} <= {s["id"] for s in told["source"]}
    assert [each.read_bytes() for each in files.rglob("*") if each.is_file()] == [NOTE]
    text = out.read_text(encoding="utf-8")
    assert "red shed" not in text
    assert BOB not in text


def test_an_account_that_is_not_there_is_refused_and_says_how_to_name_one(
    data: Path, tmp_path: Path
) -> None:
    done = canonry("export", str(tmp_path / "x"), "--account", "nobody", "--data", str(data))
    assert done.returncode != 0
    assert "no such account" in done.stderr


def test_the_one_local_user_is_me(tmp_path: Path) -> None:
    async def told() -> None:
        store = await open_embedded(tmp_path / "own")
        records = {"entities": [{"entity_type": "company", "name": "Mine"}]}
        who = Principal(agent_id="a", agent_type="Operator")
        outcome = await Gateway(store.canon, (TRUTH,)).call("ingest", records, who)
        await store.close()
        assert outcome.error is None, outcome.text

    asyncio.run(told())
    out = tmp_path / "mine.jsonl"

    done = canonry("export", str(out), "--account", "me", "--data", str(tmp_path / "own"))

    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in exported(out)["entity"]] == ["Mine"]

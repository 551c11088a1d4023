"""The truth toolset through real servers and a real client, with the largest file that is taken."""

import base64
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from canonry.canon.ports.files import FILE_BYTES_MAX
from canonry.log.items.sources import DEFAULT_USER
from tests.cli.run import SOURCE
from tests.replies import parse_result
from tests.server.http_process import serve_over_http

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and memory differ there"),
]
MEMORY_MAX = 1_200 * 1024 * 1024
"""The most memory that a server may need while it takes the largest file."""

LINE = b"Nothing in here is a number or a name.\n"
PATIENCE = 60.0


def serve_command(data: Path, *more: str) -> list[str]:
    return ["-m", "canonry.cli", "serve", "--toolsets", "truth", "--data", str(data), *more]


def make_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "CANONRY_RECALL_EMBEDDER": "hashing"}


@asynccontextmanager
async def over_stdio(data: Path) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable, args=serve_command(data), env=make_environment()
    )
    async with Client(server, read_timeout_seconds=PATIENCE) as client:
        yield client


@contextmanager
def serve_truth(data: Path, *more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of the truth toolset over HTTP, and the process that serves it."""
    words = [sys.executable, *serve_command(data, *more)]
    with serve_over_http(words, make_environment()) as (address, process):
        yield f"{address}/mcp/truth", process


@asynccontextmanager
async def over_http(data: Path) -> AsyncIterator[Client]:
    with serve_truth(data) as (address, process):
        async with Client(address, read_timeout_seconds=PATIENCE) as client:
            yield client
        peak = Path(f"/proc/{process.pid}/status")
        if peak.exists():
            line = next(x for x in peak.read_text().splitlines() if x.startswith("VmHWM"))
            assert int(line.split()[1]) * 1024 < MEMORY_MAX


TRANSPORTS = pytest.mark.parametrize("connect", [over_stdio, over_http])


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    reply: dict[str, Any] = parse_result(result)
    return reply


@TRANSPORTS
async def test_records_become_a_snapshot_linked_to_its_source(connect: Any, tmp_path: Path) -> None:
    async with connect(tmp_path / "data") as client:
        invoice = {"entity_type": "invoice", "invoice_number": "INV-1", "amount_due": 2**70 + 1}
        reply = await call_tool(client, "ingest", user_id=DEFAULT_USER, entities=[invoice])
        entity = reply["entities"][0]["entity_id"]
        snapshot = await call_tool(client, "get_entity_snapshot", entity_id=entity)
        assert snapshot["snapshot"]["amount_due"] == 2**70 + 1
        traced = await call_tool(
            client, "get_field_provenance", entity_id=entity, field="amount_due"
        )
        assert traced["source_material"]["id"] == reply["source_id"]
        refused = await call_tool(client, "get_entity_snapshot", entity_id="nobody")
        assert refused["error"]["code"] == "VALIDATION_ERROR"


@TRANSPORTS
async def test_records_are_searched_and_summed_by_a_real_client(
    connect: Any, tmp_path: Path
) -> None:
    payments = [
        {
            "entity_type": "transaction",
            "transaction_id": f"T{n}",
            "date": f"2025-0{n}-01",
            "amount": n / 10,
            "currency": "EUR",
            "description": f"Rent of the {word} garage",
        }
        for n, word in ((1, "north"), (2, "south"), (3, "south"))
    ]
    async with connect(tmp_path / "data") as client:
        reply = await call_tool(client, "ingest", user_id=DEFAULT_USER, entities=payments)
        ids = [each["entity_id"] for each in reply["entities"]]
        found = await call_tool(
            client, "search_records", query="south garage", before_date="2025-02"
        )
        assert found["entities"][0]["id"] == ids[1]
        assert found["entities"][0]["matches"][0]["field"] == "description"
        asked = {"entity_type": "transaction", "field": "amount", "period": "year"}
        summed = await call_tool(client, "summarise_records", **asked)
        (group,) = summed["groups"]
        assert (group["sum"], sorted(group["entity_ids"])) == ("0.6", sorted(ids))


@TRANSPORTS
async def test_the_largest_file_is_accepted_and_one_more_byte_is_not(
    connect: Any, tmp_path: Path
) -> None:
    data = (LINE * (FILE_BYTES_MAX // len(LINE) + 1))[:FILE_BYTES_MAX]
    parse_result = {"user_id": DEFAULT_USER, "mime_type": "text/plain", "interpret": False}
    async with connect(tmp_path / "data") as client:
        content = base64.b64encode(data).decode()
        reply = await call_tool(client, "ingest", **parse_result, file_content=content)
        assert reply["file_size"] == FILE_BYTES_MAX
        more = base64.b64encode(data + b"x").decode()
        refused = await call_tool(client, "ingest", **parse_result, file_content=more)
        assert refused["error"]["code"] == "FILE_TOO_LARGE"

"""The catalog and its operator through real transports: whatever a client sends, a tool answers."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from mcp import Client

from canonry.app.compose import compose_memory
from canonry.catalog.operator import OPERATOR
from canonry.catalog.toolset import CATALOG
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.server.http import http_app
from canonry.server.options import ServerOptions
from canonry.testing.clocks import CountingIdentities, HandClock
from tests.replies import parse_result
from tests.server.http_process import serve_over_http
from tests.server.lamp_process import ENVELOPE, MODERN, Message, Wire
from tests.server.test_worlds import ACCEPT, run_app
from tests.toolsets.catalog.kit import LAB, NOWHERE, OTHER, hostile_names, import_rows, make_uuid

SOURCE: Final = Path(__file__).parents[2] / "src"
COMMAND: Final = (sys.executable, "-m", "canonry.cli")
MISSING: Final = object()
ENTITY: Final = {"projectId": LAB, "entityId": make_uuid(1)}
SEARCH: Final = {"projectId": LAB, "query": "a"}
HUGE: Final = "x" * 3_000_000
BAD: Final = "VALIDATION_ERROR"
FORMS: Final[tuple[tuple[str, Any, str, str], ...]] = (
    ("list_projects", None, BAD, "arguments"),
    ("list_projects", [], BAD, "arguments"),
    ("get_entity", "x", BAD, "arguments"),
    ("get_entity", 5, BAD, "arguments"),
    ("get_entity", False, BAD, "arguments"),
    ("get_entity", MISSING, BAD, "projectId"),
    ("get_entity", {**ENTITY, "": 1}, BAD, "arguments"),
    ("get_entity", {**ENTITY, "a/b~c": 1}, BAD, "a/b~c"),
    ("get_entity", {**ENTITY, "__proto__": {}}, BAD, "__proto__"),
    ("get_entity", {**ENTITY, "projectId": [LAB]}, BAD, "projectId"),
    ("get_entity", {**ENTITY, "projectId": NOWHERE}, "PROJECT_NOT_FOUND", "projectId"),
    ("get_entity", {**ENTITY, "projectId": OTHER}, "ENTITY_NOT_FOUND", "entityId"),
    ("get_entity_graph", {**ENTITY, "depth": True}, BAD, "depth"),
    ("get_entity_graph", {**ENTITY, "relationshipTypes": "x"}, BAD, "relationshipTypes"),
    ("search_entities", {**SEARCH, "query": HUGE}, BAD, "query"),
    ("search_entities", {**SEARCH, "query": "\ud800"}, BAD, "query"),
    ("search_entities", {**SEARCH, "limit": 10**30}, BAD, "limit"),
    ("search_entities", {**SEARCH, "limit": -0.0}, BAD, "limit"),
    ("search_entities", {**SEARCH, "entityTypes": [None]}, BAD, "entityTypes[0]"),
)
REFUSED: Final[tuple[tuple[str, Any, str], ...]] = (
    ("catalog_save_project", None, "INVALID_INPUT"),
    ("catalog_save_project", {"name": "x" * 1_001, "slug": "s"}, "INVALID_INPUT"),
    ("catalog_save_project", {"name": "a\0b", "slug": "s"}, "INVALID_INPUT"),
    ("catalog_save_project", {"name": "n", "slug": "slug-1"}, "CONFLICT"),
    ("catalog_save_entity", {"projectId": LAB, "entityType": "video"}, "INVALID_INPUT"),
    ("catalog_save_entity", {"projectId": NOWHERE, "entityType": "news"}, "INVALID_INPUT"),
    ("catalog_move_entity", {**ENTITY, "action": "delete"}, "INVALID_INPUT"),
    (
        "catalog_move_entity",
        {"projectId": OTHER, "entityId": make_uuid(1), "action": "archive"},
        "NOT_FOUND",
    ),
    ("catalog_withdraw_relation", {"projectId": OTHER, "relationId": make_uuid(1)}, "NOT_FOUND"),
)


def call_params(tool: str, arguments: Any) -> Message:
    named: Message = {"name": tool}
    return named if arguments is MISSING else {**named, "arguments": arguments}


@contextmanager
def serve_folder(folder: Path) -> Iterator[Wire]:
    words = ("--toolsets", "catalog,operator", "--agent-type", "Operator", "--data", str(folder))
    with subprocess.Popen(
        [*COMMAND, "serve", *words],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            wire = Wire(process)
            wire.greet_server()
            yield wire
        finally:
            process.kill()


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server over standard input and output, with the hostile catalog."""
    folder = tmp_path_factory.mktemp("lines")
    file = folder / "catalog.json"
    file.write_text(json.dumps(hostile_names()), encoding="utf-8")
    words = [*COMMAND, "catalog", "import", str(file)]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    subprocess.run([*words, "--data", str(folder / "store")], env=env, check=True, timeout=60)
    with serve_folder(folder / "store") as wire:
        yield wire


def error_in(answer: Message) -> Message:
    """Return the error in the text of an answer."""
    result = answer["result"]
    assert result["isError"] is True, result
    assert "structuredContent" not in result
    error: Message = parse_result(result)["error"]
    return error


@pytest.mark.parametrize(("tool", "arguments", "code", "field"), FORMS, ids=range(len(FORMS)))
def test_every_form_of_arguments_is_answered_by_the_tool(
    lines: Wire, tool: str, arguments: Any, code: str, field: str
) -> None:
    error = error_in(lines.ask("tools/call", call_params(tool, arguments)))

    assert (error["code"], error["details"]["field"]) == (code, field)
    assert len(json.dumps(error)) < 1_000


@pytest.mark.parametrize(("tool", "arguments", "word"), REFUSED, ids=range(len(REFUSED)))
def test_an_operator_gets_the_reason_of_a_failure(
    lines: Wire, tool: str, arguments: Any, word: str
) -> None:
    error = error_in(lines.ask("tools/call", call_params(tool, arguments)))

    assert error["data"]["error"] == word
    assert len(json.dumps(error)) < 1_000
    projects = lines.call("list_projects", {})["result"]["structuredContent"]["projects"]
    assert [each["slug"] for each in projects] == ["slug-2", "slug-1", "slug-f"]


def test_a_call_without_arguments_lists_projects(lines: Wire) -> None:
    missing = lines.ask("tools/call", call_params("list_projects", MISSING))["result"]

    assert missing == lines.call("list_projects", {})["result"]
    assert len(missing["structuredContent"]["projects"]) == 3


def test_an_unknown_tool_is_an_error_of_the_protocol(lines: Wire) -> None:
    for arguments in ({}, [], MISSING):
        answer = lines.ask("tools/call", call_params("get_entities", arguments))

        assert answer["error"]["code"] == -32602
        assert answer["error"]["message"] == "Unknown tool: get_entities; did you mean get_entity?"


@pytest.mark.anyio
async def test_http_returns_the_same() -> None:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    await import_rows(canon, hostile_names())
    gateway = Gateway(canon, (CATALOG, OPERATOR))
    principal = Principal(agent_id="keeper", agent_type="Operator")
    app = http_app(gateway, principal, server_options=ServerOptions())
    transport = httpx2.ASGITransport(app=app)
    host = "http://127.0.0.1:8000"

    async with run_app(app), httpx2.AsyncClient(transport=transport, base_url=host) as client:

        async def ask(tool: str, arguments: Any) -> Message:
            parse_result = {**call_params(tool, arguments), "_meta": ENVELOPE}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parse_result}
            routing = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": tool}
            answer = await client.post("/mcp", content=json.dumps(body), headers=ACCEPT | routing)
            assert answer.status_code == 200, answer.text
            found: Message = answer.json()
            return found

        for tool, arguments, code, field in FORMS:
            error = error_in(await ask(tool, arguments))
            assert (error["code"], error["details"]["field"]) == (code, field), arguments
        for tool, arguments, word in REFUSED:
            assert error_in(await ask(tool, arguments))["data"]["error"] == word, arguments
        listed = await ask("list_projects", MISSING)
        assert len(listed["result"]["structuredContent"]["projects"]) == 3


@contextmanager
def serve_address(folder: Path, *words: str) -> Iterator[str]:
    """The address of `canonry serve` over HTTP, in a process of its own, once it listens."""
    command = [*COMMAND, "serve", *words, "--data", str(folder)]
    with serve_over_http(command, {**os.environ, "PYTHONPATH": str(SOURCE)}) as (address, _):
        yield address


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_writes_and_reads_over_http(tmp_path: Path, mode: Any) -> None:
    words = ("--toolsets", "catalog,operator", "--agent-type")
    with serve_address(tmp_path, *words, "Operator") as address:
        async with Client(f"{address}/mcp", mode=mode) as client:
            row = {"name": "Lab", "slug": "lab"}
            saved: Any = await client.call_tool("catalog_save_project", row)
            project = saved.structured_content["id"]
            own = {"projectId": project, "entityType": "concept", "title": "T", "slug": "t"}
            made: Any = await client.call_tool("catalog_save_entity", own)
            asked = {"projectId": project, "entityId": made.structured_content["id"]}
            moved: Any = await client.call_tool(
                "catalog_move_entity", {**asked, "action": "request_publish"}
            )
            graph: Any = await client.call_tool("get_entity_graph", asked)
        assert moved.structured_content["status"] == "publish_requested"
        assert [node["title"] for node in graph.structured_content["nodes"]] == ["T"]

    with serve_address(tmp_path, *words, "Reader", "--spaces", NOWHERE) as address:
        async with Client(f"{address}/mcp", mode=mode) as client:
            denied: Any = await client.call_tool("catalog_save_project", row)
            hidden: Any = await client.call_tool("get_entity", asked)
            listed: Any = await client.call_tool("list_projects", {})
    assert denied.is_error
    assert parse_result(denied)["error"]["data"]["error"] == "NOT_ALLOWED"
    assert parse_result(hidden)["error"]["code"] == "PROJECT_NOT_FOUND"
    assert listed.structured_content == {"projects": []}

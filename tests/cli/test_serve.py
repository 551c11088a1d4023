"""`canonry serve`: what the settings say is what a real client meets, over stdio and over HTTP."""

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from canonry.app.compose import compose_memory
from canonry.app.load_settings import load_settings
from canonry.app.packages import TOOLSETS, load_faces, load_toolsets
from canonry.app.serving import advice_on, gateway_for, principal_for
from canonry.cli.serve import server_options
from canonry.server.options import HttpLimits
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.provenance import Authority
from tests.cli.run import SOURCE, run_canonry
from tests.replies import parse_result

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def serve_client(
    *arguments: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    """A client of `canonry serve ARGUMENTS` over stdio."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "canonry.cli", "serve", "--toolsets", "narrative", *arguments],
        env={"PYTHONPATH": str(SOURCE), "HOME": os.environ["HOME"], **(environment or {})},
    )
    with open(os.devnull, "w", encoding="utf-8") as log:  # noqa: PTH123 - never blocks
        async with Client(stdio_client(server, errlog=log)) as client:
            yield client


async def call_tool(client: Client, tool: str, agent: str | None = None, **arguments: Any) -> Any:
    meta: Any = {"dev.canonry/agent": {"agent_type": agent, "agent_id": "a"}} if agent else None
    return parse_result(await client.call_tool(tool, arguments, meta=meta))


async def test_the_agent_type_option_sets_the_caller(tmp_path: Path) -> None:
    async with serve_client("--data", str(tmp_path), "--agent-type", "CanonKeeper") as client:
        made = await call_tool(client, "neo4j_create_universe", name="Home")
        denied = await call_tool(client, "neo4j_query_universes", agent="Narrator")

    assert made["universe_id"]
    assert denied["error"]["code"] == -32001
    assert (tmp_path / "canon.db").is_file()


async def test_the_environment_names_the_agent_too() -> None:
    environment = {"CANONRY_AGENT_TYPE": "Narrator", "CANONRY_MEMORY": "1"}
    async with serve_client(environment=environment) as client:
        denied = await call_tool(client, "neo4j_create_universe", name="Home")
        listed = await call_tool(client, "neo4j_query_universes")

    assert denied["error"]["code"] == -32001
    assert listed == {"universes": [], "total": 0}


async def test_a_trusted_client_names_its_agent_per_call() -> None:
    async with serve_client("--memory", "--trust-meta") as client:
        made = await call_tool(client, "neo4j_create_universe", agent="CanonKeeper", name="Home")
        nobody = await call_tool(client, "neo4j_query_universes")

    assert made["universe_id"]
    assert "--agent-type" in nobody["error"]["message"]


async def test_the_file_decides_toolsets_and_error_style(tmp_path: Path) -> None:
    path = tmp_path / "canonry.toml"
    path.write_text(
        'memory = true\ncontract_only = true\nerror_mode = "jsonrpc"\nagent_type = "Narrator"\n'
    )
    async with serve_client("--config", str(path)) as client:
        tools = (await client.list_tools()).tools
        info = client.server_info
        with pytest.raises(MCPError) as caught:
            await call_tool(client, "mongodb_get_pending_proposals")

    assert {"mongodb_append_turn", "neo4j_get_entity"} <= {tool.name for tool in tools}
    assert not [tool for tool in tools if tool.name.startswith("composite_canonize")]
    assert caught.value.data["error"] == "UNAUTHORIZED"
    assert info is not None
    assert info.title == "monitor-data-layer"


def test_a_server_ends_with_its_input_and_names_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "canonry.cli",
            "serve",
            "--toolsets",
            "catalog,operator",
            "--data",
            str(tmp_path),
        ],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout == ""
    assert "No agent type is set" in done.stderr


@pytest.mark.parametrize("asked", [False, True])
def test_an_unservable_store_ends_the_server_with_one_line(tmp_path: Path, asked: bool) -> None:
    (tmp_path / "canon.db").write_text("something else")
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    lines = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    done = subprocess.run(
        [sys.executable, "-m", "canonry.cli", "serve", "--data", str(tmp_path), "--trust-meta"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        input="".join(f"{json.dumps(each)}\n" for each in lines if asked),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.returncode == 3
    assert re.fullmatch(r"canonry: .* \(store\.not-canonry\)\n", done.stderr)
    assert [each["id"] for each in answers] == ([1, 2] if asked else [])
    if asked:
        assert answers[0]["result"]["serverInfo"]["name"] == "canonry"
        assert answers[1]["error"]["code"] == -32603
        assert answers[1]["error"]["data"] == {"error": "store.not-canonry"}
        assert answers[1]["error"]["message"] in done.stderr
        assert str(tmp_path) not in answers[1]["error"]["message"]


def test_a_client_is_greeted_before_any_tool_is_loaded() -> None:
    script = (
        "import sys, canonry.cli.serve, canonry.server.stdio\n"
        "from canonry.app.packages import load_faces\n"
        "print(load_faces(['narrative', 'narrative'])[0].server_name)\n"
        "heavy = ('canonry.canon.commands', 'canonry.stores', 'canonry.gateway.call')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout == "monitor-data-layer\n[]\n"


def test_a_toolset_matches_its_advertised_introduction() -> None:
    faces, toolsets = load_faces(TOOLSETS), load_toolsets(TOOLSETS)

    assert [
        {each.name: getattr(toolset, each.name) for each in fields(face)}
        for face, toolset in zip(faces, toolsets, strict=True)
    ] == [asdict(face) for face in faces]


def test_other_machines_are_served_only_with_tokens(tmp_path: Path) -> None:
    done = run_canonry(
        *("serve", "--http", "0.0.0.0:0", "--agent-type", "Reader", "--data", str(tmp_path))
    )

    assert done.returncode == 2
    assert "http.unprotected" in done.stderr


def test_an_unknown_toolset_is_named_with_the_known_ones() -> None:
    done = run_canonry("serve", "--memory", "--toolsets", "narative")

    assert done.returncode == 2
    assert "There is no toolset narative. Toolsets: canon, narrative" in done.stderr


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "canon.db").write_text("something else")
    done = run_canonry("verify", "--data", str(tmp_path))

    assert done.returncode == 3
    assert re.search(r"canonry: .* \(store\.not-canonry\)", done.stderr)


def startup_error(toolsets: tuple[str, ...] = ("narrative",), **given: object) -> str:
    """Why a server with these settings does not start."""
    with pytest.raises(InvalidInput) as caught:
        advice_on(load_settings(given, environment={}), load_toolsets(toolsets))
    return f"{caught.value.code}: {caught.value.message}"


def test_a_server_that_would_deny_everybody_does_not_start() -> None:
    toolsets = load_toolsets(("narrative",))
    for allowed in ({"agent_type": "Narrator"}, {"trust_meta": True}):
        assert advice_on(load_settings(allowed, environment={}), toolsets) is None

    assert "agent.missing" in startup_error()
    assert "CanonKeeper" in startup_error()
    assert "did you mean CanonKeeper" in startup_error(agent_type="CanonKeper")
    assert "Known: " in startup_error(agent_type="all")
    assert "agent.unknown" in startup_error(agent_type="CanonKeeper,canonkeeper")
    done = run_canonry("serve", "--memory", "--toolsets", "narrative")
    assert done.returncode == 2
    assert "agent.missing" in done.stderr


def test_canon_serves_its_local_user_and_requires_a_role_over_http() -> None:
    toolsets = load_toolsets(("canon",))

    assert advice_on(load_settings({}, environment={}), toolsets) is None
    assert "agent.missing" in startup_error(("canon",), http="127.0.0.1:8000")


def test_the_principal_follows_the_settings() -> None:
    space = "01890A5D-AC96-774B-BCCE-B302099A8057"
    options = {"agent_type": "Narrator", "authorities": "gm", "spaces": space, "trust_meta": True}
    principal = principal_for(load_settings(options, environment={}))

    assert principal.agent_id == "Narrator"
    assert principal.authorities == frozenset({Authority.GM})
    assert principal_for(load_settings({}, environment={})).authorities is None
    assert principal.spaces == frozenset((SpaceId(space.lower()),))
    assert principal.trusted
    with pytest.raises(InvalidInput, match="agent_id"):
        principal_for(load_settings({"agent_id": "x" * 200}, environment={}))


def test_tokens_are_verified_as_configured(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("the key")
    options = {
        "http": "127.0.0.1:8000",
        "auth_issuer": "https://issuer",
        "auth_audience": "canonry",
        "auth_key_file": str(key),
        "auth_algorithms": "HS256",
    }
    bearer = server_options(load_settings(options, environment={})).bearer

    assert bearer is not None
    assert bearer.key == "the key"
    assert bearer.algorithms == ("HS256",)
    assert bearer.resource_url == "http://127.0.0.1:8000/mcp"
    key.unlink()
    with pytest.raises(InvalidInput, match="key file"):
        server_options(load_settings(options, environment={}))


@pytest.mark.parametrize("named", ["none", "FOO", "HS256,none", "hs256"])
def test_an_algorithm_without_signature_is_refused(named: str) -> None:
    with pytest.raises(InvalidInput, match="auth-algorithms must be any of RS256") as caught:
        load_settings({"auth_algorithms": named}, environment={})
    assert caught.value.code == "settings.malformed"


def test_limits_of_connections_and_callers_follow_the_settings() -> None:
    plain = server_options(load_settings({}, environment={})).limits
    assert plain == HttpLimits()
    given = {
        "http_connections": "300",
        "http_idle": "75",
        "http_sessions_each": "20",
        "http_in_flight": "64.5",
    }
    limits = server_options(load_settings(given, environment={})).limits
    assert (limits.connections, limits.each_address, limits.idle_seconds) == (300, 150, 75)
    assert (limits.each_principal, limits.in_flight_bytes) == (20, 67_633_152)
    given["http_connections_each"] = "300"
    assert server_options(load_settings(given, environment={})).limits.each_address == 300


async def test_the_log_can_be_limited_to_failures() -> None:
    settings = load_settings(
        {"log_level": "warning", "agent_type": "Reader", "memory": True}, environment={}
    )
    gateway = gateway_for(settings, compose_memory(), load_toolsets(settings.toolsets))
    lines: list[bytes] = []
    gateway.audit.write_to(lines.append)
    principal = principal_for(settings)
    await gateway.call("spaces", {}, principal)
    await gateway.call("open", {"name": "Home"}, principal)

    assert len(lines) == 1
    assert b'"open"' in lines[0]

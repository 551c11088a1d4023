"""Streamable HTTP: both eras, one path a toolset, protection, tokens, health and a clean end."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import jwt
import pytest
from mcp import Client

from canonry.server.http import http_app
from canonry.server.options import BearerOptions, ServerOptions
from canonry.values.errors import InvalidInput
from tests.gateway.sample import KEEPER, LAMP, a_gateway
from tests.replies import parse_result
from tests.server.lamp_process import CLIENT, ENVELOPE, MODERN, PATIENCE, Message, lamp_process
from tests.server.lamp_server import ISSUER, KEY, RESOURCE, TOKEN_OPTIONS

ACCEPT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def address_of(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with lamp_process("http", "trusted") as process:
        yield address_of(process)


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    with lamp_process("http", "bearer") as process:
        yield address_of(process)


def call_tool(
    address: str,
    name: str,
    arguments: Message,
    *,
    path: str = "/mcp",
    meta: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> httpx2.Response:
    params = {"name": name, "arguments": arguments, "_meta": {**ENVELOPE, **(meta or AS_KEEPER)}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    routing = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name}
    with httpx2.Client(timeout=PATIENCE) as client:
        return client.post(
            address + path,
            content=json.dumps(body),
            headers={**ACCEPT, **routing, **(headers or {})},
        )


AS_KEEPER = {"dev.canonry/agent": {"agent_id": "keeper-9", "agent_type": "Keeper"}}


def error_in(response: httpx2.Response) -> Message:
    assert response.status_code == 200
    result = response.json()["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    error: Message = parse_result(result)["error"]
    return error


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/lamps"])
async def test_the_official_client_is_served(address: str, mode: Any, path: str) -> None:
    seen: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    meta: Any = AS_KEEPER
    async with Client(address + path, mode=mode) as client:
        assert "light" in [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("light", {"lamp_id": LAMP}, meta=meta)
        assert result.structured_content["by"] == "keeper-9"
        await client.call_tool("count", {}, progress_callback=listen, meta=meta)
        anonymous = await client.call_tool("light", {"lamp_id": LAMP})
        assert parse_result(anonymous)["error"]["code"] == -32001
    assert seen == [1, 2, 3]


def test_a_small_call_is_answered_with_plain_json(address: str) -> None:
    response = call_tool(address, "light", {"lamp_id": LAMP}, path="/mcp/lamps")
    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["structuredContent"]["level"] == 50


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"lamp_id": LAMP, "note": "x" * 10_000_000}, "/note"),
        ({"lamp_id": LAMP, "note": "é" * 10_000_000}, "/note"),
        ({"lamp_id": LAMP, "note": "\x00"}, "/note"),
        ({"lamp_id": LAMP, "note": "\udfff"}, "/note"),
        ({"lamp_id": LAMP, "level": -5}, "/level"),
    ],
)
def test_bad_arguments_are_refused_with_their_path(
    address: str, arguments: Message, path: str
) -> None:
    error = error_in(call_tool(address, "light", arguments))
    assert (error["code"], error["data"]["path"]) == (-32003, path)


def test_an_unknown_toolset_path_is_not_found(address: str) -> None:
    assert call_tool(address, "light", {"lamp_id": LAMP}, path="/mcp/nothing").status_code == 404


def test_the_handshake_names_the_contract(address: str) -> None:
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": CLIENT}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with httpx2.Client(timeout=PATIENCE) as client:
        response = client.post(f"{address}/mcp", content=json.dumps(body), headers=ACCEPT)
    data = next(line for line in response.text.splitlines() if line.startswith("data: "))
    result = json.loads(data.removeprefix("data: "))["result"]
    assert result["protocolVersion"] == "2024-11-05"
    assert result["serverInfo"]["name"] == "lamp-layer"


@pytest.mark.parametrize("note", ["\ud800", "\ud83d \ude00", "\x00", "\\ud800\udfff"])
def test_a_lone_surrogate_is_refused_with_its_path_in_a_session(address: str, note: str) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
    params = {"name": "light", "arguments": {"lamp_id": LAMP, "note": note}, "_meta": AS_KEEPER}
    with httpx2.Client(timeout=PATIENCE) as client:
        first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        opened = client.post(f"{address}/mcp", content=json.dumps(first), headers=ACCEPT)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], **ACCEPT}
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        client.post(f"{address}/mcp", content=json.dumps(done), headers=session)
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        response = client.post(f"{address}/mcp", content=json.dumps(body), headers=session)
    data = next(line for line in response.text.splitlines() if line.startswith("data: "))
    answer = json.loads(data.removeprefix("data: "))
    assert answer["id"] == 2
    error = parse_result(answer["result"])["error"]
    assert (error["code"], error["data"]["path"]) == (-32003, "/note")


@pytest.mark.parametrize("header", ["host", "origin"])
def test_a_foreign_web_page_cannot_reach_a_local_server(address: str, header: str) -> None:
    headers = {header: "evil.example" if header == "host" else "https://evil.example"}
    assert call_tool(address, "count", {}, headers=headers).status_code in {400, 403, 421}
    with httpx2.Client() as client:
        assert client.get(f"{address}/metrics", headers=headers).status_code in {400, 403, 421}


def test_health_readiness_and_metrics_are_reported(address: str) -> None:
    call_tool(address, "count", {})
    with httpx2.Client() as client:
        assert client.get(f"{address}/healthz").text == "ok\n"
        assert client.get(f"{address}/readyz").text == "ready\n"
        metrics = client.get(f"{address}/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'canonry_calls_total{outcome="ok",tool="count"}' in metrics.text


def a_token(**claims: Any) -> str:
    now = int(time.time())
    values = {
        "iss": ISSUER,
        "aud": RESOURCE,
        "exp": now + 60,
        "sub": "agent-5",
        "agent_type": "Keeper",
        "spaces": ["*"],
    }
    values.update(claims)
    key = str(values.pop("key", KEY))
    return jwt.encode({k: v for k, v in values.items() if v is not None}, key, algorithm="HS256")


def with_token(
    address: str, token: str | None, arguments: Message | None = None
) -> httpx2.Response:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return call_tool(
        address, "light", arguments or {"lamp_id": LAMP}, headers=headers, meta=ENVELOPE
    )


def test_a_verified_token_identifies_the_caller(guarded: str) -> None:
    for _ in range(2):
        response = with_token(guarded, a_token())
        assert response.json()["result"]["structuredContent"]["by"] == "agent-5"
    denied = error_in(with_token(guarded, a_token(agent_type="Visitor")))
    assert denied["code"] == -32001
    nobody = error_in(with_token(guarded, a_token(agent_type=None)))
    assert nobody["data"]["error"] == "identity.missing"


@pytest.mark.parametrize(
    "token",
    [
        None,
        "garbage",
        a_token(exp=1),
        a_token(exp=None),
        a_token(aud="https://elsewhere.example"),
        a_token(iss="https://elsewhere.example"),
        a_token(key="another secret, of which the server knows nothing at all"),
        jwt.encode({"iss": ISSUER, "aud": RESOURCE, "exp": 1 << 40}, "", algorithm="none"),
    ],
)
def test_any_other_token_is_refused(guarded: str, token: str | None) -> None:
    response = with_token(guarded, token)
    assert response.status_code == 401
    assert "resource_metadata" in response.headers["www-authenticate"]


def test_a_token_grants_its_named_authorities(guarded: str) -> None:
    claim = {"lamp_id": LAMP, "authority": "gm"}
    granted = with_token(guarded, a_token(authorities=["gm"]), claim)
    assert "isError" not in granted.json()["result"]
    refused = error_in(with_token(guarded, a_token(), claim))
    assert refused["data"]["error"] == "authority.claim-refused"


def test_meta_grants_nothing_beyond_the_token(guarded: str) -> None:
    headers = {"authorization": f"Bearer {a_token(agent_type='Visitor')}"}
    error = error_in(
        call_tool(guarded, "light", {"lamp_id": LAMP}, headers=headers, meta=AS_KEEPER)
    )
    assert error["code"] == -32001


def test_clients_learn_where_to_get_tokens(guarded: str) -> None:
    with httpx2.Client() as client:
        reply = client.get(f"{guarded}/.well-known/oauth-protected-resource/mcp").json()
    assert reply["authorization_servers"] == [ISSUER]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_public_address_is_not_served_without_tokens(host: str) -> None:
    with pytest.raises(InvalidInput, match="bearer tokens") as caught:
        http_app(a_gateway(), KEEPER, host=host, server_options=ServerOptions())
    assert caught.value.code == "http.unprotected"
    for options in (ServerOptions(bearer=TOKEN_OPTIONS), ServerOptions(allow_unprotected=True)):
        http_app(a_gateway(), KEEPER, host=host, server_options=options)


def test_tokens_need_exactly_one_source_of_keys() -> None:
    bearer = BearerOptions(issuer=ISSUER, audience=RESOURCE, resource_url=RESOURCE)
    with pytest.raises(InvalidInput) as caught:
        http_app(a_gateway(), KEEPER, server_options=ServerOptions(bearer=bearer))
    assert caught.value.code == "bearer.key-missing"


def wait_for_line(address: str, line: str) -> None:
    deadline = time.monotonic() + PATIENCE
    with httpx2.Client() as client:
        while line not in client.get(f"{address}/metrics").text.splitlines():
            assert time.monotonic() < deadline, f"{line} never came"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_signal_lets_running_calls_finish_and_closes_the_canon() -> None:
    with lamp_process("http", "trusted", "patient") as process:
        address = address_of(process)
        with ThreadPoolExecutor() as pool:
            pending = pool.submit(call_tool, address, "pause", {"seconds": 2})
            wait_for_line(address, "canonry_calls_in_flight 1.0")
            process.send_signal(signal.SIGTERM)
            assert pending.result(PATIENCE).json()["result"]["structuredContent"]["paused"]
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert b"closed\n" in process.stderr.read()

"""Pages of allowed origins may call from a browser: preflights, and the headers that they read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from starlette.testclient import TestClient

from canonry.server.http import http_app
from canonry.server.options import ServerOptions
from tests.gateway.sample import KEEPER, a_gateway
from tests.server.lamp_server import TOKEN_OPTIONS

SITE: Final = "https://canon.example"
ALLOWED: Final = (SITE, "http://localhost:*")
ASKS: Final = "content-type,authorization,mcp-session-id,mcp-protocol-version,mcp-method"
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "page", "version": "1"},
    },
}
PATHS: Final = (
    "/mcp",
    "/mcp/lamps",
    "/health",
    "/metrics",
    "/.well-known/oauth-protected-resource",
)
FOREIGN: Final = (
    *("https://evil.example", "https://canon.example.evil", "https://canon.example:444", "null"),
    *(
        "http://canon.example",
        "http://localhost:1:2",
        "http://localhost.evil:80",
        "http://127.0.0.1",
    ),
)


@contextmanager
def serve_client(**options: Any) -> Iterator[TestClient]:
    app: Any = http_app(a_gateway(), KEEPER, server_options=ServerOptions(**options))
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        yield client


def send_preflight(client: TestClient, origin: str, path: str, method: str = "POST") -> Any:
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": ASKS}
    return client.options(path, headers={"Origin": origin, **asked})


def cors_headers(response: Any) -> set[str]:
    return {name for name in response.headers if name.startswith("access-control-")}


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("origin", [SITE, "http://localhost:6274", "http://localhost"])
@pytest.mark.parametrize("path", PATHS)
def test_a_preflight_from_an_allowed_origin_is_answered(
    path: str, origin: str, method: str
) -> None:
    with serve_client(allowed_origins=ALLOWED) as client:
        answer = send_preflight(client, origin, path, method)

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == origin
    assert method in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == ASKS
    assert "Origin" in answer.headers["vary"]
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("options", [{}, {"allowed_origins": ALLOWED}])
@pytest.mark.parametrize("origin", FOREIGN)
def test_other_origins_receive_no_cors_headers(origin: str, options: dict[str, Any]) -> None:
    with serve_client(**options) as client:
        for path in PATHS:
            asked = send_preflight(client, origin, path)
            called = client.get(path, headers={"Origin": origin})

            assert asked.status_code >= 400
            assert cors_headers(asked) | cors_headers(called) == set()


def test_a_page_of_an_allowed_origin_reads_its_session_id() -> None:
    headers = {"Accept": "application/json, text/event-stream", "Origin": SITE}
    with serve_client(allowed_origins=ALLOWED) as client:
        opened = client.post("/mcp", json=INITIALIZE, headers=headers)
        headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        ended = client.delete("/mcp", headers=headers)
        without = client.get("/health")

    exposed = opened.headers["access-control-expose-headers"].lower()
    assert {"mcp-session-id", "mcp-protocol-version"} <= set(exposed.split(", "))
    assert opened.headers["access-control-allow-origin"] == SITE
    assert (opened.status_code, ended.status_code) == (200, 200)
    assert cors_headers(without) == set()


def test_a_page_can_read_where_to_get_a_token() -> None:
    with serve_client(allowed_origins=ALLOWED, bearer=TOKEN_OPTIONS) as client:
        asked = send_preflight(client, SITE, "/mcp")
        refused = client.post("/mcp", json=INITIALIZE, headers={"Origin": SITE})

    assert asked.status_code == 204
    assert refused.status_code == 401
    assert "WWW-Authenticate" in refused.headers["access-control-expose-headers"]
    assert refused.headers["access-control-allow-origin"] == SITE


def test_a_foreign_host_name_is_refused_from_an_allowed_origin_too() -> None:
    with serve_client(allowed_origins=ALLOWED) as client:
        headers = {"Origin": SITE, "Host": "evil.example"}

        assert client.get("/metrics", headers=headers).status_code == 421

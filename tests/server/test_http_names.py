"""The server refuses requests that a browser may be made to send, and protects metrics."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from canonry.server.http import http_app
from canonry.server.identity import BearerVerifier
from canonry.server.middleware import HostGuard
from canonry.server.options import ServerOptions
from canonry.values.errors import InvalidInput
from tests.gateway.sample import KEEPER, a_gateway
from tests.server.http_thread import connect_from
from tests.server.lamp_process import lamp_process
from tests.server.lamp_server import TOKEN_OPTIONS
from tests.server.test_http import a_token


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with lamp_process("http", "trusted") as process:
        assert process.stdout is not None
        yield int(process.stdout.readline().rpartition(b":")[2])


def request_status(port: int, *fields: bytes, path: bytes = b"/metrics") -> int:
    """The status of a request with exactly these fields."""
    with connect_from(port) as connection:
        connection.sendall(b"\r\n".join((b"GET " + path + b" HTTP/1.1", *fields, b"", b"")))
        return int(connection.recv(65_536).split(b" ")[1])


@pytest.mark.parametrize("path", [b"/metrics", b"/mcp", b"/mcp/lamps"])
@pytest.mark.parametrize(
    "host",
    [
        *(b"evil.example", b"localhost:80.evil.com", b"localhost:80@evil.com", b"localhost:"),
        *(b"localhost.evil.com:80", b"localhost:80:80", b"localhost:999999", b"[::1]evil.com:1"),
        *(b"localhost, evil.com", b"localhost/evil.com", b"127.0.0.1:80#", b"", b"localhost:\xb2"),
    ],
)
def test_a_host_with_our_name_as_prefix_is_refused(port: int, host: bytes, path: bytes) -> None:
    assert request_status(port, b"Host: " + host, path=path) == 421


@pytest.mark.parametrize("host", [b"localhost", b"LOCALHOST:80", b"127.0.0.1:8000", b"[::1]:1"])
def test_our_own_host_is_served_under_any_port(port: int, host: bytes) -> None:
    assert request_status(port, b"Host: " + host) == 200


@pytest.mark.parametrize(
    "origin",
    [
        *(b"https://evil.example", b"http://localhost:1@evil.com", b"http://localhost:80.evil.com"),
        *(b"null", b"http://", b"https://localhost:80", b"http://localhost:80/", b"localhost:80"),
    ],
)
def test_an_origin_with_our_name_as_prefix_is_refused(port: int, origin: bytes) -> None:
    assert request_status(port, b"Host: localhost", b"Origin: " + origin) == 403


def test_a_local_origin_is_served_and_two_hosts_are_not(port: int) -> None:
    assert request_status(port, b"Host: localhost", b"Origin: http://localhost:3000") == 200
    assert request_status(port, b"Host: localhost", b"Origin: http://127.0.0.1") == 200
    assert request_status(port, b"Host: localhost", b"Host: localhost") == 400
    assert request_status(port) == 421


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        *(("canon.example.com", False), ("CANON.example.com", False), ("other.example:7", False)),
        *(("canon.example.com:8443", True), ("other.example:8", True), ("any.example:9", False)),
    ],
)
def test_an_allowed_name_is_exact_unless_it_allows_any_port(host: str, refused: bool) -> None:
    guard = HostGuard(["Canon.example.com", "other.example:7", "any.example:*"], [])
    scope = {"headers": [(b"host", host.encode())]}
    assert (guard.refusal_for(scope) is not None) is refused


def metrics_status(client: str, options: ServerOptions, headers: dict[str, str]) -> int:
    """The status of asking for metrics from an address."""

    async def ask() -> int:
        app = http_app(a_gateway(), KEEPER, host="0.0.0.0", server_options=options)
        transport = httpx2.ASGITransport(app=app, client=(client, 40_000))
        async with httpx2.AsyncClient(transport=transport, base_url="http://any") as asking:
            return (await asking.get("/metrics", headers=headers)).status_code

    return asyncio.run(ask())


GUARDED = ServerOptions(bearer=TOKEN_OPTIONS)
OPEN = ServerOptions(allow_unprotected=True)


@pytest.mark.parametrize(
    ("client", "options", "headers", "expected"),
    [
        ("127.0.0.1", GUARDED, {}, 200),
        ("::1", OPEN, {}, 200),
        ("192.0.2.7", GUARDED, {}, 401),
        ("192.0.2.7", OPEN, {}, 401),
        ("127.0.0.1", OPEN, {"x-forwarded-for": "127.0.0.1"}, 401),
        ("127.0.0.1", GUARDED, {"forwarded": "for=192.0.2.7"}, 401),
        ("192.0.2.7", GUARDED, {"authorization": "Bearer (fresh)"}, 200),
        ("192.0.2.7", OPEN, {"authorization": "Bearer (fresh)"}, 401),
        ("192.0.2.7", GUARDED, {"authorization": "Bearer (spent)"}, 401),
        ("192.0.2.7", GUARDED, {"authorization": "Bearer no"}, 401),
    ],
)
def test_metrics_are_served_locally_or_with_a_token(
    client: str, options: ServerOptions, headers: dict[str, str], expected: int
) -> None:
    tokens = {"(fresh)": a_token(), "(spent)": a_token(exp=1)}  # now: collecting may take a minute
    found = {
        name: " ".join(tokens.get(word, word) for word in value.split())
        for name, value in headers.items()
    }
    assert metrics_status(client, options, found) == expected


def test_metrics_need_the_scopes_required_of_every_token() -> None:
    options = ServerOptions(bearer=replace(TOKEN_OPTIONS, required_scopes=("canon",)))
    plain = {"authorization": f"Bearer {a_token()}"}
    scoped = {"authorization": f"Bearer {a_token(scope='other canon')}"}
    assert metrics_status("192.0.2.7", options, plain) == 401
    assert metrics_status("192.0.2.7", options, scoped) == 200


PUBLIC = (
    ec.generate_private_key(ec.SECP256R1())
    .public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"key": "abc"}, "bearer.key-short"),
        ({"key": "x" * 31}, "bearer.key-short"),
        ({"key": "x" * 31 + "\n"}, "bearer.key-short"),
        ({"key": "x" * 47, "algorithms": ("HS384",)}, "bearer.key-short"),
        ({"key": "x" * 63, "algorithms": ("HS256", "HS512")}, "bearer.key-short"),
        ({"algorithms": ("none",)}, "bearer.algorithm-unknown"),
        ({"algorithms": ("HS256", "FOO")}, "bearer.algorithm-unknown"),
        ({"algorithms": ()}, "bearer.algorithm-unknown"),
        ({"key": PUBLIC}, "bearer.key-unfit"),
        ({"algorithms": ("RS256",)}, "bearer.key-unfit"),
        ({"key": PUBLIC, "algorithms": ("RS256",)}, "bearer.key-unfit"),
        ({"key": None, "jwks_url": "https://issuer.example/keys"}, "bearer.key-public"),
    ],
)
def test_weak_keys_and_algorithms_are_refused_at_the_start(
    changes: dict[str, Any], code: str
) -> None:
    options = ServerOptions(bearer=replace(TOKEN_OPTIONS, **changes))
    with pytest.raises(InvalidInput) as caught:
        http_app(a_gateway(), KEEPER, server_options=options)
    assert caught.value.code == code
    assert caught.value.details.get("path") in {"auth.algorithms", "auth.key_file"}


@pytest.mark.parametrize(
    "changes",
    [
        {"key": "x" * 32},
        {"key": "x" * 64, "algorithms": ("HS512", "HS256")},
        {"key": PUBLIC, "algorithms": ("RS256", "ES256", "EdDSA")},
        {"key": None, "jwks_url": "https://issuer.example/keys", "algorithms": ("RS256",)},
    ],
)
def test_sufficiently_long_keys_are_accepted(changes: dict[str, Any]) -> None:
    BearerVerifier(replace(TOKEN_OPTIONS, **changes))

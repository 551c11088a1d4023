"""The pages as commands serve them: beside the protocol, behind tokens, and by a link."""

import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from canonry.assistant import CANON
from canonry.cli.serve import inspector_front
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.server.http import http_app
from canonry.server.options import HttpLimits, ServerOptions
from tests.cli.run import run_canonry
from tests.inspector.kit import a_harbour, run_apart
from tests.meta.tree import ROOT
from tests.server.http_thread import serve_app
from tests.server.lamp_server import TOKEN_OPTIONS
from tests.server.test_http import a_token

PATIENCE = 60


@contextmanager
def serve_command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that serves, and the first address that it says."""
    process = subprocess.Popen(
        [sys.executable, "-m", "canonry.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = ""
    began = time.monotonic()
    while not (found := re.search(r"http://[^\s;\"]+", said)):
        line = process.stdout.readline()
        assert line, said
        assert time.monotonic() - began < PATIENCE, said
        said += line
    try:
        yield process, found[0].removesuffix("/mcp")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def test_inspect_serves_the_holder_of_the_link_and_no_protocol(tmp_path: Path) -> None:
    with serve_command("inspect", "--data", str(tmp_path)) as (process, link):
        address = link.partition("/enter")[0]
        with httpx2.Client(follow_redirects=True) as mine, httpx2.Client() as other:
            assert "canonry demo" in mine.get(link).text
            assert other.get(link).status_code == 401
            assert other.get(f"{address}/health").status_code == 401
            assert other.post(f"{address}/mcp", json={}).status_code == 404
            assert mine.get(address, headers={"host": "evil.example"}).status_code == 421
            foreign = mine.post(f"{address}/decide", headers={"origin": "http://evil.example"})
            assert foreign.status_code == 403
        assert address.startswith("http://127.0.0.1:")
    assert process.returncode == 0


def test_inspect_can_be_read_only(tmp_path: Path) -> None:
    assert run_canonry("inspect", "--read-only", "--data", str(tmp_path)).returncode == 3
    assert run_canonry("inspect", "--port", "70000").returncode == 2


@pytest.mark.parametrize("offered", [True, False])
def test_serve_offers_the_pages_beside_the_protocol(tmp_path: Path, offered: bool) -> None:
    option = "--http-inspector" if offered else "--no-http-inspector"
    more = ("--agent-type", "Reader", option, "--data", str(tmp_path))
    with serve_command("serve", "--http", "127.0.0.1:0", *more) as (_, address):
        page = httpx2.get(f"{address}/")
        assert page.status_code == (200 if offered else 404)
        assert ("Spaces" in page.text) is offered
        assert httpx2.get(f"{address}/healthz").text.startswith("ok")
        assert httpx2.get(f"{address}/static/style.css").status_code == page.status_code


def test_a_token_opens_the_pages_with_its_identity() -> None:
    harbour = run_apart(a_harbour(world=False))
    gateway = Gateway(harbour.driver.canon, [CANON])
    app = http_app(
        gateway,
        Principal(),
        server_options=ServerOptions(bearer=TOKEN_OPTIONS),
        front=inspector_front,
    )
    page = f"/thing/{harbour.ids['Odo Brand']}"
    with (
        serve_app(app, HttpLimits()) as port,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True) as client,
    ):
        assert client.get(page).status_code == 401
        assert client.post("/sign-in", data={"token": "nothing"}).status_code == 401
        token = a_token(agent_type="Reader", spaces=[harbour.space])
        assert "Saltmere" in client.post("/sign-in", data={"token": token}).text
        seen = client.get(page)
        assert "Odo Brand" in seen.text
        assert 'action="/decide"' not in seen.text
        assert token not in seen.text
        none = a_token(agent_type="Reader", spaces=["00000000-0000-4000-8000-000000000000"])
        client.post("/sign-in", data={"token": none})
        assert client.get(page).status_code >= 400


def cookie_of(options: ServerOptions, **headers: str) -> str:
    """The cookie of whoever signs in through a proxy on this machine."""
    harbour = run_apart(a_harbour(world=False))
    gateway = Gateway(harbour.driver.canon, [CANON])
    app = http_app(gateway, Principal(), server_options=options, front=inspector_front)
    with (
        serve_app(app, HttpLimits(), options.trusted_proxies) as port,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=headers) as client,
    ):
        entered = client.post("/sign-in", data={"token": a_token(agent_type="Reader")})
        assert entered.status_code == 303
        return entered.headers["set-cookie"]


@pytest.mark.parametrize(
    ("resource", "proxies", "proto", "secure"),
    [
        ("https://canon.example.com/mcp", (), None, True),
        ("http://127.0.0.1/mcp", ("127.0.0.1",), "https", True),
        ("http://127.0.0.1/mcp", ("127.0.0.0/8",), "https", True),
        ("http://127.0.0.1/mcp", ("127.0.0.1",), "http", False),
        ("http://127.0.0.1/mcp", ("127.0.0.1",), None, False),
        ("http://127.0.0.1/mcp", ("10.0.0.1",), "https", False),
    ],
)
def test_the_session_cookie_is_secure_behind_a_tls_proxy(
    resource: str, proxies: tuple[str, ...], proto: str | None, secure: bool
) -> None:
    bearer = replace(TOKEN_OPTIONS, resource_url=resource)
    options = ServerOptions(bearer=bearer, trusted_proxies=proxies)
    headers = {} if proto is None else {"x-forwarded-proto": proto}

    cookie = cookie_of(options, **headers)

    assert ("; Secure" in cookie) is secure
    assert "HttpOnly" in cookie


def test_a_proxy_is_an_address_or_a_network() -> None:
    wrong = run_canonry("serve", "--http", "127.0.0.1:0", "--http-trusted-proxies", "proxy.example")
    assert (wrong.returncode, "http_trusted_proxies" in wrong.stderr) == (2, True)


def test_built_in_assets_match_the_lock_and_are_small() -> None:
    lock = (ROOT / "web" / "package-lock.json").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    static = ROOT / "src" / "canonry" / "inspector" / "static"

    assert '"integrity": "sha512-' in lock
    assert '"resolved"' not in lock
    assert "/src" in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert (static / "vendor" / "cytoscape.min.js").is_file()
    own = [path for path in static.iterdir() if path.suffix in {".js", ".css"}]
    assert len(own) > 4
    assert sum(path.stat().st_size for path in own) < 40_000

"""A server whose token issuer fails: known keys count on, and nobody waits for the issuer."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from canonry.cli.serve import inspector_front
from canonry.gateway.audit import Audit
from canonry.models.outside_services import OutsideServices
from canonry.server.http import http_app
from canonry.server.identity import WAIT_SECONDS, IssuerKeys
from canonry.server.options import BearerOptions, HttpLimits, ServerOptions
from canonry.values.errors import Unavailable
from tests.gateway.sample import KEEPER, a_gateway
from tests.server.http_sessions import ACCEPT
from tests.server.http_thread import serve_app
from tests.server.issuer import Issuer, Mode, an_issuer
from tests.server.lamp_process import CLIENT

NAME = "https://issuer.example"
FAILURES: tuple[Mode, ...] = ("refuses", "hangs", "drips", "junk", "empty", "redirects")
LONGEST = WAIT_SECONDS + 3.0
"""Seconds that an answer may take on a machine with much to do; the issuer takes for ever."""


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with an_issuer() as issuer:
        yield issuer


def a_token(issuer: Issuer, key_id: str = "one", **claims: Any) -> str:
    given = {"iss": NAME, "aud": "canonry", "sub": "ada", "agent_type": "Keeper", "spaces": []}
    return issuer.sign_token({**given, "exp": int(time.time()) + 600, **claims}, key_id)


@dataclass
class Server:
    """A server that trusts the issuer, and the lines of its log."""

    client: httpx2.Client
    log: list[dict[str, Any]]

    def open_session(self, token: str) -> httpx2.Response:
        """The answer to opening a session, which does not take long."""
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        began = time.monotonic()
        headers = {**ACCEPT, "authorization": f"Bearer {token}"}
        answer = self.client.post("/mcp", json=body, headers=headers)
        assert time.monotonic() - began < LONGEST
        return answer

    def read_readiness(self) -> httpx2.Response:
        return self.client.get("/readyz")

    def comes_to_say(self, status: int, text: str = "") -> None:
        """Ask for readiness a bounded number of times: the keys are fetched in the background."""
        for _ in range(200):
            result = self.read_readiness()
            if result.status_code == status and text in result.text:
                return
            time.sleep(0.05)
        raise AssertionError(result.text)


@contextmanager
def a_server(issuer: Issuer, **changes: Any) -> Iterator[Server]:
    given: dict[str, Any] = {"jwks_url": issuer.url, "algorithms": ("ES256",), **changes}
    bearer = BearerOptions(issuer=NAME, audience="canonry", resource_url=NAME, **given)
    log: list[dict[str, Any]] = []
    audit = Audit(lambda line: log.append(json.loads(line)))
    options = ServerOptions(bearer=bearer)
    app = http_app(a_gateway(audit=audit), KEEPER, server_options=options, front=inspector_front)
    with (
        serve_app(app, HttpLimits()) as port,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0) as client,
    ):
        yield Server(client, log)


@pytest.mark.parametrize("mode", FAILURES)
def test_known_keys_stay_valid_while_the_issuer_fails(issuer: Issuer, mode: Mode) -> None:
    with a_server(issuer, refresh_seconds=0.1) as server:
        server.comes_to_say(200)
        assert server.open_session(a_token(issuer)).status_code == 200
        issuer.mode = mode
        server.comes_to_say(200, "away: issuer")

        assert server.open_session(a_token(issuer, jti="another")).status_code == 200
        metrics = server.client.get("/metrics").text
        assert 'canonry_service_away{service="issuer"} 1.0' in metrics
        [line] = [each for each in server.log if each["event"] == "service"]
        assert (line["name"], line["outcome"]) == ("issuer", "bearer.unverifiable")


@pytest.mark.parametrize("mode", FAILURES)
def test_without_any_key_the_answer_is_503_and_not_401(issuer: Issuer, mode: Mode) -> None:
    issuer.mode = mode
    with a_server(issuer) as server:
        for _ in range(2):
            answer = server.open_session(a_token(issuer))
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert "bearer.unverifiable" in answer.text
        assert server.read_readiness().status_code == 503
        assert server.client.get("/healthz").status_code == 200
        assert server.client.get("/metrics").status_code == 200
        dialogue = server.client.post(
            "/api/npc/dialogue", headers={"authorization": f"Bearer {a_token(issuer)}"}
        )
        assert dialogue.status_code == 503
        shown = server.client.post("/sign-in", data={"token": a_token(issuer)})
        assert (shown.status_code, shown.headers["retry-after"]) == (503, "5")


def test_an_untrusted_token_is_refused_while_the_issuer_fails(
    issuer: Issuer,
) -> None:
    with a_server(issuer, refresh_seconds=0.1) as server:
        server.comes_to_say(200)
        issuer.mode = "hangs"
        server.comes_to_say(200, "away: issuer")
        assert server.open_session("nonsense").status_code == 401
        assert server.open_session(a_token(issuer, exp=1)).status_code == 401
        assert server.open_session(a_token(issuer, aud="others")).status_code == 401
        assert server.open_session(a_token(issuer, "unknown")).status_code == 503


def test_a_recovered_issuer_is_trusted_again(issuer: Issuer) -> None:
    issuer.mode = "refuses"
    with a_server(issuer) as server:
        assert server.open_session(a_token(issuer)).status_code == 503
        issuer.mode = "answers"
        server.comes_to_say(200)
        assert server.open_session(a_token(issuer)).status_code == 200
        assert [e["outcome"] for e in server.log if e["event"] == "service"][-1] == "ok"


def test_keys_are_trusted_only_as_long_as_configured(issuer: Issuer) -> None:
    with a_server(issuer, refresh_seconds=0.1, keys_seconds=0.5) as server:
        server.comes_to_say(200)
        issuer.mode = "refuses"
        server.comes_to_say(503)
        assert server.open_session(a_token(issuer)).status_code == 503


@asynccontextmanager
async def keys_of(issuer: Issuer, **changes: Any) -> AsyncIterator[IssuerKeys]:
    service = OutsideServices().service_named("issuer", failures=1)
    given = {"trusted_seconds": 600.0, "refresh_seconds": 600.0, **changes}
    keys = IssuerKeys(issuer.url, service, **given)
    try:
        yield keys
    finally:
        await keys.close()


@pytest.mark.anyio
async def test_a_rotated_key_is_fetched_when_its_first_token_arrives(issuer: Issuer) -> None:
    async with keys_of(issuer, unknown_key_seconds=0.0) as keys:
        assert await keys.find_key("one") is not None
        issuer.rotate_key("two")
        assert await keys.find_key("two") is not None
        assert await keys.find_key("one") is None


@pytest.mark.anyio
async def test_unknown_keys_cause_one_fetch_at_a_time_with_a_pause(
    issuer: Issuer,
) -> None:
    async with keys_of(issuer) as keys:
        found = await asyncio.gather(*(keys.find_key(f"unknown-{n}") for n in range(50)))
        assert found == [None] * 50
        assert await keys.find_key("unknown") is None
        assert issuer.asked == 1


@pytest.mark.anyio
async def test_many_callers_of_a_hanging_issuer_share_one_short_wait(issuer: Issuer) -> None:
    issuer.mode = "hangs"
    async with keys_of(issuer) as keys:
        began = time.monotonic()
        asked = (keys.find_key("one") for _ in range(50))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert time.monotonic() - began < LONGEST
        assert {type(each) for each in found} == {Unavailable}
        assert issuer.asked == 1

"""Two users of one HTTP server: whoever the token's subject is has an account of their own."""

import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from canonry.server.identity import BearerVerifier, principal_of
from canonry.server.options import BearerOptions
from tests.server.test_truth import PATIENCE, call_tool, serve_truth

pytestmark = pytest.mark.anyio

ISSUER, AUDIENCE = "https://issuer.example", "https://canonry.example/mcp"
KEY = secrets.token_hex(32)
OPTIONS = BearerOptions(
    issuer=ISSUER, audience=AUDIENCE, resource_url=AUDIENCE, key=KEY, algorithms=("HS256",)
)
ADA, EVE = "auth0|ada", "00000000-0000-4000-8000-0000000000ee"
INVOICE = {"entity_type": "invoice", "invoice_number": "INV-1", "amount_due": 5}


def a_token(**claims: Any) -> str:
    times = {"exp": int(time.time()) + 600}
    return jwt.encode({"iss": ISSUER, "aud": AUDIENCE, **times, **claims}, KEY, algorithm="HS256")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "key").write_text(KEY, encoding="utf-8")
    bearer = {
        "--auth-issuer": ISSUER,
        "--auth-audience": AUDIENCE,
        "--auth-key-file": str(tmp_path / "key"),
        "--auth-algorithms": "HS256",
    }
    words = (word for pair in bearer.items() for word in pair)
    with serve_truth(tmp_path / "data", *words) as (served, _):
        yield served


@asynccontextmanager
async def speaking_for(subject: str, address: str) -> AsyncIterator[Client]:
    token = a_token(sub=subject, agent_type="Assistant", spaces=["*"])
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, read_timeout_seconds=PATIENCE) as client:
            yield client


async def test_each_subject_has_an_account_invisible_to_others(address: str) -> None:
    async with speaking_for(ADA, address) as ada, speaking_for(EVE, address) as eve:
        reply = await call_tool(ada, "ingest", user_id=ADA, entities=[INVOICE])
        entity = reply["entities"][0]["entity_id"]
        assert (await call_tool(eve, "retrieve_entities"))["total"] == 0
        refused = await call_tool(eve, "get_entity_snapshot", entity_id=entity)
        assert refused["error"]["code"] == "ENTITY_NOT_FOUND"
        for other in (ADA, "00000000-0000-0000-0000-000000000000"):
            refused = await call_tool(eve, "ingest", user_id=other, entities=[INVOICE])
            assert refused["error"]["code"] == "VALIDATION_ERROR"
        own = await call_tool(eve, "ingest", user_id=EVE, entities=[INVOICE])
        assert own["entities"][0]["created"] is True
        assert own["entities"][0]["entity_id"] != entity
        assert (await call_tool(ada, "retrieve_entities"))["total"] == 1


async def test_a_token_without_subject_is_refused() -> None:
    """Else it would be taken for the one user of a local server."""
    verifier = BearerVerifier(OPTIONS)

    assert await verifier.verify_token(a_token(agent_type="Assistant")) is None
    assert await verifier.verify_token(a_token(sub=" ")) is None
    assert await verifier.verify_token(a_token(sub=ADA)) is not None


def test_a_user_claim_takes_precedence_over_the_subject() -> None:
    assert principal_of({"sub": ADA, "user_id": EVE}).user == EVE
    assert principal_of({"sub": EVE.upper()}).user == EVE
    by_name = principal_of({"sub": ADA}).user
    assert by_name not in {None, ADA}
    assert by_name != principal_of({"sub": "auth0|eve"}).user


def test_a_token_names_characters_whose_secrets_it_may_know() -> None:
    played = ["0190A1B2-0000-7000-8000-000000000001", "0190a1b2-0000-7000-8000-000000000002"]

    assert principal_of({"sub": ADA, "characters": played}).characters == {
        "0190a1b2-0000-7000-8000-000000000001",
        "0190a1b2-0000-7000-8000-000000000002",
    }
    assert principal_of({"sub": ADA, "characters": " ".join(played)}).characters == {
        one.lower() for one in played
    }
    assert principal_of({"sub": ADA}).characters == frozenset()

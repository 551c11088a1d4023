"""Files behind links, over the HTTP host and the local one: safe headers, and nothing but files."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx2
import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import Account
from canonry.gateway.call import Gateway
from canonry.log.items.sources import account_space
from canonry.records.usecases.files import filing_of, given_file, sign_url
from canonry.records.usecases.ingest_file import ingest_file
from canonry.server.binding import KnownHost, LoopbackHost, host_files
from canonry.server.http import http_app
from canonry.server.options import ServerOptions
from canonry.testing.clocks import HandClock, a_caller
from canonry.values.ids import SpaceId
from canonry.values.moments import SECOND
from canonry.values.provenance import Actor
from tests.gateway.sample import KEEPER

pytestmark = pytest.mark.anyio

ADA = "00000000-0000-0000-0000-0000000000ad"
PAGE = b"<!doctype html><script>alert(1)</script><p>W\xc3\xb6rter"


async def keep_file(canon: Canon, data: bytes = PAGE, name: str = 'a "b"\u2026.html') -> str:
    caller = replace(a_caller(), actor=Actor(agent_id="a-1", agent_type="x", user=ADA))
    account = Account(user_id=ADA, space=SpaceId(account_space(ADA)))
    given = given_file(base64.b64encode(data).decode(), "text/html", name)
    return (await ingest_file(canon, caller, account, given, interpret=False)).source.files[0]


@asynccontextmanager
async def open_client(canon: Canon) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the HTTP host."""
    app = http_app(Gateway(canon, ()), KEEPER, server_options=ServerOptions())
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_a_link_returns_the_file_as_an_inert_attachment() -> None:
    canon = compose_memory()
    signed = await sign_url(canon, ADA, await keep_file(canon))

    async with open_client(canon) as client:
        answer = await client.get(signed.url)
        head = await client.head(signed.url)

    assert answer.status_code == 200
    assert answer.content == PAGE
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''a%20%22b%22%E2%80%A6.html"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "no-store" in answer.headers["cache-control"]
    assert (head.status_code, head.content) == (200, b"")


async def test_an_expired_or_changed_link_is_refused_alike() -> None:
    clock = HandClock()
    canon = compose_memory(clock=clock)
    signed = await sign_url(canon, ADA, await keep_file(canon), 60)
    path, _, query = signed.url.partition("?")
    changed = [
        path,
        f"{path}?{query[:-1]}",
        f"{path}?{query.replace('expires=', 'expires=9')}",
        f"{path[:-64]}{'0' * 64}?{query}",
        f"/files/{'a' * 64}?{query}",
        f"/files/..%2f..%2fetc%2fpasswd?{query}",
        f"/files/{ADA}/{'b' * 64}?{query}",
    ]

    async with open_client(canon) as client:
        found = {((answer := await client.get(each)).status_code, answer.text) for each in changed}
        clock.move_by(60 * SECOND)
        ended = await client.get(signed.url)

    assert found == {(403, ended.text)}
    assert ended.status_code == 403


async def test_a_file_without_bytes_is_not_found() -> None:
    canon = compose_memory()
    signed = await sign_url(canon, ADA, key := await keep_file(canon))
    await filing_of(canon).blobs_of(ADA).delete_bytes(key.rpartition("/")[2])

    async with open_client(canon) as client:
        answer = await client.get(signed.url)

    assert answer.status_code == 404


async def test_files_are_only_fetched() -> None:
    canon = compose_memory()
    signed = await sign_url(canon, ADA, await keep_file(canon))

    async with open_client(canon) as client:
        answers = [await client.request(each, signed.url) for each in ("POST", "PUT", "DELETE")]

    assert {answer.status_code for answer in answers} == {405}


async def test_a_local_file_host_runs_from_the_first_link_until_the_end() -> None:
    canon = compose_memory()
    key = await keep_file(canon)
    host_files(canon, None)
    assert isinstance(filing_of(canon).host, LoopbackHost)

    signed = await sign_url(canon, ADA, key)
    again = await sign_url(canon, ADA, key)
    async with httpx2.AsyncClient() as client:
        answer = await client.get(signed.url)
        elsewhere = await client.get(signed.url.partition("/files")[0])
        await filing_of(canon).close()
        with pytest.raises(httpx2.TransportError):
            await client.get(signed.url)

    assert signed.url.startswith("http://127.0.0.1:")
    assert again.url.partition("/files")[0] == signed.url.partition("/files")[0]
    assert answer.content == PAGE
    assert elsewhere.status_code == 404


async def test_links_use_the_public_address_if_there_is_one() -> None:
    canon = compose_memory()
    key = await keep_file(canon)
    host_files(canon, "https://files.example/")
    host_files(canon, None)

    assert isinstance(filing_of(canon).host, KnownHost)
    signed = await sign_url(canon, ADA, key)
    assert signed.url.startswith(f"https://files.example/files/{ADA}/")

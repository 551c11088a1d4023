"""Who comes in, by what they stay in, and what no foreign page can make a browser do."""

import pytest

from canonry.gateway.principal import Principal
from canonry.inspector.doors import SESSIONS_MAX, OneLink, TokenDesk
from tests.inspector.kit import Harbour, Reader, a_harbour, a_reader, principal_of

pytestmark = pytest.mark.anyio
KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


def behind_link(harbour: Harbour) -> Reader:
    return a_reader(harbour.desk, OneLink(principal=principal_of(harbour.desk), key=KEY))


def behind_tokens(harbour: Harbour, seconds: float = 60.0) -> Reader:
    async def verify(token: str) -> tuple[Principal, float] | None:
        return (principal_of(harbour.desk), seconds) if token == "good" else None

    return a_reader(harbour.desk, TokenDesk(verify=verify))


async def test_the_link_opens_once_and_leaves_no_key_in_any_address(harbour: Harbour) -> None:
    reader = behind_link(harbour)
    assert (await reader.get("/")).status == 401

    opened = await reader.get(f"/enter?key={KEY}")
    again = await Reader(reader.app).get(f"/enter?key={KEY}")

    assert (opened.status, opened.header("location")) == (303, "/")
    assert opened.header("referrer-policy") == "no-referrer"
    assert again.status == 401
    assert KEY not in await reader.page("/")


@pytest.mark.parametrize("key", ["", "0" * 32, KEY[:-1], KEY + "0", "\ud800", "ü"])
async def test_another_key_opens_nothing(harbour: Harbour, key: str) -> None:
    reader = behind_link(harbour)

    assert (await reader.get(f"/enter?key={key}")).status == 401
    assert (await reader.get(f"/enter?key={KEY}")).status == 303


async def test_the_cookie_is_kept_from_scripts_and_other_sites(harbour: Harbour) -> None:
    reader = behind_link(harbour)
    cookie = (await reader.get(f"/enter?key={KEY}")).header("set-cookie")

    assert cookie.startswith("canonry-8123=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@pytest.mark.parametrize("cookie", ["", "x", "0" * 64, "\x00", "f" * 4_000])
async def test_a_made_up_session_is_none(harbour: Harbour, cookie: str) -> None:
    reader = behind_link(harbour)
    reader.cookies["canonry-8123"] = cookie

    assert (await reader.get(f"/space?space={harbour.space}")).status == 401


async def test_a_token_lets_in_until_it_ends_or_somebody_leaves(harbour: Harbour) -> None:
    reader = behind_tokens(harbour)
    assert "Token" in (await reader.get("/")).text
    assert (await reader.post("/sign-in", {"token": "bad"})).status == 401
    assert (await reader.post("/sign-in", {"token": "x" * 30_000})).status == 401
    foreign = await reader.post("/sign-in", {"token": "good"}, sec_fetch_site="cross-site")
    assert foreign.status == 401

    assert (await reader.post("/sign-in", {"token": " good\n"})).status == 303
    assert "Saltmere" in await reader.page("/")
    key = await reader.form_key()
    assert (await reader.post("/leave", {"key": key})).status == 303
    assert (await reader.get("/")).status == 401

    late = behind_tokens(harbour, seconds=0.0)
    assert (await late.post("/sign-in", {"token": "good"})).status == 303
    assert (await late.get("/")).status == 401


async def test_a_link_is_no_token_and_a_token_no_link(harbour: Harbour) -> None:
    assert (await behind_link(harbour).post("/sign-in", {"token": "good"})).status == 401
    assert (await behind_tokens(harbour).get(f"/enter?key={KEY}")).status == 401


async def test_of_many_sessions_the_oldest_ends(harbour: Harbour) -> None:
    reader = behind_tokens(harbour)
    await reader.post("/sign-in", {"token": "good"})
    for _ in range(SESSIONS_MAX):
        await Reader(reader.app).post("/sign-in", {"token": "good"})

    assert (await reader.get("/")).status == 401


async def test_no_page_can_be_framed_or_take_anything_from_elsewhere(harbour: Harbour) -> None:
    reader = harbour.reader()
    for path in [*harbour.pages(), "/nowhere", "/static/style.css", "/static/nothing.js"]:
        answer = await reader.get(path)
        policy = answer.header("content-security-policy")
        assert "default-src 'none'" in policy, path
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.header("x-frame-options") == "DENY"
        assert answer.header("referrer-policy") == "no-referrer"
        assert answer.header("x-content-type-options") == "nosniff"
        assert "http://" not in answer.text.replace("http://www.w3.org", "")
        assert "https://" not in answer.text
        assert " style=" not in answer.text
        assert " onclick" not in answer.text


@pytest.mark.parametrize("key", ["", "0" * 64, "x", "ü"])
async def test_a_form_without_its_own_key_does_nothing(harbour: Harbour, key: str) -> None:
    reader = harbour.reader()
    await reader.page("/")
    before = await harbour.desk.heads()

    form = {"key": key, "verdict": "reject", "of": harbour.ids["proposal"], "reason": "no"}
    answer = await reader.post("/decide", form)

    assert answer.status == 403
    assert await harbour.desk.heads() == before


async def test_the_key_of_another_session_is_none(harbour: Harbour) -> None:
    one = harbour.reader()
    key = await one.form_key()
    other = Reader(one.app)
    await other.page("/")

    form = {"key": key, "verdict": "reject", "of": harbour.ids["proposal"], "reason": "no"}

    assert (await other.post("/decide", form)).status == 403


async def test_reading_by_a_form_and_writing_by_an_address_are_refused(harbour: Harbour) -> None:
    reader = harbour.reader()

    assert (await reader.get("/decide?verdict=reject")).status == 404
    assert (await reader.post("/review", {})).status == 404


async def test_a_form_that_is_too_large_is_none(harbour: Harbour) -> None:
    reader = harbour.reader()
    key = await reader.form_key()

    assert (await reader.post("/decide", {"key": key, "reason": "x" * 300_000})).status == 403
    assert (await reader.post("/decide", {"key": key, "of": ["x"] * 2_000})).status == 403


@pytest.mark.parametrize(
    "back", ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:x", "", "/\n"]
)
async def test_a_form_never_leads_elsewhere(harbour: Harbour, back: str) -> None:
    reader = harbour.reader()
    key = await reader.form_key()

    answer = await reader.post("/language", {"key": key, "language": "de", "back": back})

    assert answer.header("location") == "/"


async def test_the_language_is_remembered(harbour: Harbour) -> None:
    reader = harbour.reader()
    key = await reader.form_key()
    form = {"key": key, "language": "de", "back": "/health?x=1#there"}

    assert (await reader.post("/language", form)).header("location") == "/health?x=1"
    assert '<html lang="de">' in await reader.page("/")


async def test_a_visitor_who_has_the_cookie_gets_no_other(harbour: Harbour) -> None:
    reader = harbour.reader()

    assert (await reader.get("/")).header("set-cookie")
    assert not (await reader.get("/")).header("set-cookie")

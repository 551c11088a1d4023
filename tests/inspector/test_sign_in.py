"""A visitor signs in and stays signed in, and no foreign page can use the browser."""

from dataclasses import replace

import pytest
from starlette.types import ASGIApp

from canonry.gateway.principal import Principal
from canonry.inspector.sign_in import SESSIONS_EACH, SESSIONS_MAX, OneLink, TokenSignIn
from tests.inspector.kit import Harbour, Reader, a_harbour, a_reader, principal_of

pytestmark = pytest.mark.anyio
KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


def behind_link(harbour: Harbour) -> Reader:
    return a_reader(harbour.driver, OneLink(principal=principal_of(harbour.driver), key=KEY))


def behind_tokens(harbour: Harbour, seconds: float = 60.0) -> Reader:
    async def verify(token: str) -> tuple[Principal, float] | None:
        return (principal_of(harbour.driver), seconds) if token == "good" else None

    return a_reader(harbour.driver, TokenSignIn(verify=verify))


async def test_the_link_opens_once_and_leaves_no_key_in_any_address(harbour: Harbour) -> None:
    reader = behind_link(harbour)
    assert (await reader.get("/")).status == 401

    opened = await reader.get(f"/enter?key={KEY}")
    again = await Reader(reader.app).get(f"/enter?key={KEY}")

    assert (opened.status, opened.first_header("location")) == (303, "/")
    assert opened.first_header("referrer-policy") == "no-referrer"
    assert again.status == 401
    assert KEY not in await reader.read_page("/")


@pytest.mark.parametrize("key", ["", "0" * 32, KEY[:-1], KEY + "0", "\ud800", "ü"])
async def test_another_key_opens_nothing(harbour: Harbour, key: str) -> None:
    reader = behind_link(harbour)

    assert (await reader.get(f"/enter?key={key}")).status == 401
    assert (await reader.get(f"/enter?key={KEY}")).status == 303


async def test_the_cookie_is_hidden_from_scripts_and_other_sites(harbour: Harbour) -> None:
    reader = behind_link(harbour)
    cookie = (await reader.get(f"/enter?key={KEY}")).first_header("set-cookie")

    assert cookie.startswith("canonry-8123=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@pytest.mark.parametrize("cookie", ["", "x", "0" * 64, "\x00", "f" * 4_000])
async def test_a_forged_session_is_refused(harbour: Harbour, cookie: str) -> None:
    reader = behind_link(harbour)
    reader.cookies["canonry-8123"] = cookie

    assert (await reader.get(f"/space?space={harbour.space}")).status == 401


async def test_a_token_is_valid_until_it_expires_or_its_user_signs_out(harbour: Harbour) -> None:
    reader = behind_tokens(harbour)
    assert "Token" in (await reader.get("/")).text
    assert (await reader.post("/sign-in", {"token": "bad"})).status == 401
    assert (await reader.post("/sign-in", {"token": "x" * 30_000})).status == 401
    foreign = await reader.post("/sign-in", {"token": "good"}, sec_fetch_site="cross-site")
    assert foreign.status == 401

    assert (await reader.post("/sign-in", {"token": " good\n"})).status == 303
    assert "Saltmere" in await reader.read_page("/")
    key = await reader.form_key()
    assert (await reader.post("/leave", {"key": key})).status == 303
    assert (await reader.get("/")).status == 401

    late = behind_tokens(harbour, seconds=0.0)
    assert (await late.post("/sign-in", {"token": "good"})).status == 303
    assert (await late.get("/")).status == 401


async def test_a_link_is_no_token_and_a_token_no_link(harbour: Harbour) -> None:
    assert (await behind_link(harbour).post("/sign-in", {"token": "good"})).status == 401
    assert (await behind_tokens(harbour).get(f"/enter?key={KEY}")).status == 401


def behind_many_tokens(harbour: Harbour) -> Reader:
    """A door at which each word is the token of a principal of that name."""

    async def verify(token: str) -> tuple[Principal, float] | None:
        return replace(principal_of(harbour.driver), agent_id=token), 60.0

    return a_reader(harbour.driver, TokenSignIn(verify=verify))


async def signed_in(app: ASGIApp, name: str) -> Reader:
    reader = Reader(app)
    assert (await reader.post("/sign-in", {"token": name})).status == 303
    return reader


async def is_in(reader: Reader) -> bool:
    return (await reader.get("/health")).status == 200


async def test_many_sign_ins_of_one_principal_end_only_its_own_sessions(
    harbour: Harbour,
) -> None:
    app = behind_many_tokens(harbour).app
    ann, first = await signed_in(app, "ann"), await signed_in(app, "eve")
    last = [await signed_in(app, "eve") for _ in range(SESSIONS_MAX + 1)][-SESSIONS_EACH:]

    assert await is_in(ann)
    assert not await is_in(first)
    assert [await is_in(each) for each in (last[0], last[-1])] == [True, True]


async def test_the_longest_idle_session_of_a_principal_ends_first(harbour: Harbour) -> None:
    app = behind_many_tokens(harbour).app
    used, idle = await signed_in(app, "ann"), await signed_in(app, "ann")
    for _ in range(SESSIONS_EACH - 2):
        await signed_in(app, "ann")
    assert await is_in(used)
    await signed_in(app, "ann")

    assert await is_in(used)
    assert not await is_in(idle)


async def test_with_many_principals_the_largest_holder_loses_a_session(
    harbour: Harbour,
) -> None:
    app = behind_many_tokens(harbour).app
    ann = await signed_in(app, "ann")
    eve = [await signed_in(app, "eve") for _ in range(SESSIONS_EACH)]
    for number in range(SESSIONS_MAX - SESSIONS_EACH):
        await signed_in(app, f"p{number}")

    assert await is_in(ann)
    assert not await is_in(eve[0])


async def test_signing_out_frees_a_session(harbour: Harbour) -> None:
    app = behind_many_tokens(harbour).app
    first = await signed_in(app, "ann")
    for _ in range(3 * SESSIONS_EACH):
        gone = await signed_in(app, "ann")
        assert (await gone.post("/leave", {"key": await gone.form_key()})).status == 303

    assert await is_in(first)


async def test_no_page_can_be_framed_or_load_external_content(harbour: Harbour) -> None:
    reader = harbour.reader()
    for path in [*harbour.page_addresses(), "/nowhere", "/static/style.css", "/static/nothing.js"]:
        answer = await reader.get(path)
        policy = answer.first_header("content-security-policy")
        assert "default-src 'none'" in policy, path
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.first_header("x-frame-options") == "DENY"
        assert answer.first_header("referrer-policy") == "no-referrer"
        assert answer.first_header("x-content-type-options") == "nosniff"
        assert "http://" not in answer.text.replace("http://www.w3.org", "")
        assert "https://" not in answer.text
        assert " style=" not in answer.text
        assert " onclick" not in answer.text


@pytest.mark.parametrize("key", ["", "0" * 64, "x", "ü"])
async def test_a_form_without_its_key_does_nothing(harbour: Harbour, key: str) -> None:
    reader = harbour.reader()
    await reader.read_page("/")
    before = await harbour.driver.heads()

    form = {"key": key, "verdict": "reject", "of": harbour.ids["proposal"], "reason": "no"}
    answer = await reader.post("/decide", form)

    assert answer.status == 403
    assert await harbour.driver.heads() == before


async def test_the_key_of_another_session_is_refused(harbour: Harbour) -> None:
    one = harbour.reader()
    key = await one.form_key()
    other = Reader(one.app)
    await other.read_page("/")

    form = {"key": key, "verdict": "reject", "of": harbour.ids["proposal"], "reason": "no"}

    assert (await other.post("/decide", form)).status == 403


async def test_reads_by_form_and_writes_by_address_are_refused(harbour: Harbour) -> None:
    reader = harbour.reader()

    assert (await reader.get("/decide?verdict=reject")).status == 404
    assert (await reader.post("/review", {})).status == 404


async def test_an_oversized_form_is_refused(harbour: Harbour) -> None:
    reader = harbour.reader()
    key = await reader.form_key()

    assert (await reader.post("/decide", {"key": key, "reason": "x" * 300_000})).status == 403
    assert (await reader.post("/decide", {"key": key, "of": ["x"] * 2_000})).status == 403


@pytest.mark.parametrize(
    "back", ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:x", "", "/\n"]
)
async def test_a_form_never_redirects_elsewhere(harbour: Harbour, back: str) -> None:
    reader = harbour.reader()
    key = await reader.form_key()

    answer = await reader.post("/language", {"key": key, "language": "de", "back": back})

    assert answer.first_header("location") == "/"


async def test_the_language_is_remembered(harbour: Harbour) -> None:
    reader = harbour.reader()
    key = await reader.form_key()
    form = {"key": key, "language": "de", "back": "/health?x=1#there"}

    assert (await reader.post("/language", form)).first_header("location") == "/health?x=1"
    assert '<html lang="de">' in await reader.read_page("/")


async def test_a_client_with_a_cookie_receives_no_other(harbour: Harbour) -> None:
    reader = harbour.reader()

    assert (await reader.get("/")).first_header("set-cookie")
    assert not (await reader.get("/")).first_header("set-cookie")

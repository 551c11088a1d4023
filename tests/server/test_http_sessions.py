"""Sessions and bodies are shared fairly, and nothing of a body outlives its answer."""

import contextlib
import gc
import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
import pytest

from canonry.app.system import SystemClock
from canonry.server.http import http_app
from canonry.server.options import HttpLimits, ServerOptions
from tests.gateway.sample import LAMP, TRUSTED, a_canon, a_gateway
from tests.server.http_sessions import Session, message_in
from tests.server.http_thread import serve_app
from tests.server.lamp_process import PATIENCE, lamp_process
from tests.server.lamp_server import ISSUER, KEY, MEBIBYTE, RESOURCE
from tests.server.test_http import call_tool


def make_token(subject: str) -> str:
    """A token of which the server knows only whose it is."""
    claims = {"iss": ISSUER, "aud": RESOURCE, "exp": int(time.time()) + 600, "sub": subject}
    return jwt.encode(claims, KEY, algorithm="HS256")


@pytest.fixture(scope="module")
def few() -> Iterator[str]:
    with lamp_process("http", "bearer", "few") as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()


@pytest.fixture(scope="module")
def trusted() -> Iterator[str]:
    with lamp_process("http", "trusted") as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()


def test_a_caller_with_too_many_sessions_loses_the_longest_idle_one(few: str) -> None:
    with contextlib.ExitStack() as stack:
        ben = stack.enter_context(Session(few, make_token("ben-1")))
        ada = [stack.enter_context(Session(few, make_token("ada-1"))) for _ in range(3)]
        assert ada[0].ping_server() == 200
        ada.append(stack.enter_context(Session(few, make_token("ada-1"), "/mcp/lamps")))
        assert [each.ping_server() for each in ada] == [200, 404, 200, 200]
        ada += [stack.enter_context(Session(few, make_token("ada-1"))) for _ in range(20)]
        assert [each.ping_server() for each in ada[-3:]] == [200, 200, 200]
        assert ben.ping_server() == 200
        for each in (ben, *ada[-3:]):
            assert each.end_session() == 200
            assert each.ping_server() == 404


def test_among_many_callers_the_largest_holder_loses_a_session(few: str) -> None:
    with contextlib.ExitStack() as stack:
        ada = [stack.enter_context(Session(few, make_token("ada-2"))) for _ in range(3)]
        others = [stack.enter_context(Session(few, make_token(f"other-{n}"))) for n in range(3)]
        assert [each.ping_server() for each in ada] == [404, 200, 200]
        assert [each.ping_server() for each in others] == [200, 200, 200]
        for each in (*ada[1:], *others):
            assert each.end_session() == 200


def test_a_session_named_by_another_caller_stays_unknown_to_it(few: str) -> None:
    with Session(few, make_token("ada-3")) as ada, Session(few, make_token("eve-3")) as eve:
        stolen = {"mcp-session-id": ada.id}
        assert eve.post_message({"id": 2, "method": "ping"}, **stolen).status_code == 404
        assert ada.ping_server() == 200
        assert (ada.end_session(), eve.end_session()) == (200, 200)


def half_an_upload(address: str, bearer: str, size: int) -> socket.socket:
    """A request of which all but the last byte has arrived."""
    parts = urlsplit(address)
    connection = socket.create_connection((str(parts.hostname), int(parts.port or 0)), PATIENCE)
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"Authorization: Bearer {bearer}\r\nContent-Length: {size}\r\n\r\n"
    )
    connection.sendall(head.encode() + b" " * (size - 1))
    return connection


def test_one_caller_cannot_exceed_its_share_of_running_calls(few: str) -> None:
    size = 700_000
    assert size < MEBIBYTE < 2 * size
    with (
        half_an_upload(few, make_token("ada-4"), size) as first,
        half_an_upload(few, make_token("ada-4"), size) as second,
    ):
        # Whichever the server reads last is too much; that may be either.
        refused, _, _ = select.select([first, second], [], [], PATIENCE)
        (kept,) = {first, second} - set(refused)
        assert refused[0].recv(65_536).startswith(b"HTTP/1.1 429 ")
        with half_an_upload(few, make_token("ben-4"), size) as other:
            other.sendall(b" ")
            assert other.recv(65_536).startswith(b"HTTP/1.1 400 ")
        kept.sendall(b" ")
        assert kept.recv(65_536).startswith(b"HTTP/1.1 400 ")
    with half_an_upload(few, make_token("ada-4"), size) as again:
        again.sendall(b" ")
        assert again.recv(65_536).startswith(b"HTTP/1.1 400 ")


def test_an_oversized_body_is_refused(few: str) -> None:
    with half_an_upload(few, make_token("ada-5"), 2 * MEBIBYTE) as declared:
        assert declared.recv(65_536).startswith(b"HTTP/1.1 413 ")


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Nothing is freed that something else still knows, not even in circles."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def find_keepers(mark: str) -> list[str]:
    """Return the owners of texts or bytes that hold `mark` many times over."""
    found: list[str] = []
    for each in gc.get_objects():
        for inner in yield_reachable(each, 8):
            text = inner.decode("latin-1") if isinstance(inner, bytes | bytearray) else inner
            if len(text) > 100_000 and mark in text:
                found.append(type(each).__name__)
    return found


def yield_reachable(each: object, depth: int) -> Iterator[str | bytes | bytearray]:
    """Texts and bytes that `each` holds, also through what the collector does not track."""
    for inner in gc.get_referents(each):
        if isinstance(inner, str | bytes | bytearray):
            yield inner
        elif depth and isinstance(inner, dict | list | tuple) and not gc.is_tracked(inner):
            yield from yield_reachable(inner, depth - 1)


def upload_text(session: Session, mark: str, how: str) -> None:
    """Say something large that a session may hear, in one of many ways."""
    note = mark * (200_000 // len(mark))
    if how == "call":
        assert session.call("light", {"lamp_id": LAMP, "note": note}).status_code == 200
    elif how == "unknown":
        assert session.post_message(
            {"id": 5, "method": "no/such", "params": {"x": note}}
        ).is_success
    elif how == "notification":
        said = session.post_message({"method": "notifications/progress", "params": {"x": note}})
        assert said.status_code == 202
    else:
        assert session.post_message({"id": 77, "result": {"x": note}}).status_code == 202


@pytest.mark.parametrize("how", ["call", "unknown", "notification", "response"])
def test_no_object_keeps_an_answered_body(how: str) -> None:
    app = http_app(a_gateway(canon=a_canon(SystemClock())), TRUSTED, server_options=ServerOptions())
    mark = f"only-{how}-says-this."
    with serve_app(app, HttpLimits()) as port, no_collection(), contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(Session(f"http://127.0.0.1:{port}")) for _ in range(4)]
        for each in sessions:
            upload_text(each, mark, how)
        assert sessions[0].end_session() == 200
        deadline = time.monotonic() + PATIENCE
        while find_keepers(mark) and time.monotonic() < deadline:
            sessions[1].ping_server()  # the answer comes before the last of its request is dropped
        assert find_keepers(mark) == []


def test_no_object_keeps_a_body_without_session() -> None:
    app = http_app(a_gateway(canon=a_canon(SystemClock())), TRUSTED, server_options=ServerOptions())
    mark = "only-the-newest-says-this."
    with serve_app(app, HttpLimits()) as port, no_collection():
        address = f"http://127.0.0.1:{port}"
        for _ in range(4):
            answer = call_tool(address, "light", {"lamp_id": LAMP, "note": mark * 8_000})
            assert answer.status_code == 200
            del answer
        deadline = time.monotonic() + PATIENCE
        while find_keepers(mark) and time.monotonic() < deadline:
            call_tool(address, "count", {})
        assert find_keepers(mark) == []


def resident_bytes(process: int) -> int:
    """The bytes of memory that a process has."""
    pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_flat_over_a_thousand_uploads() -> None:
    with lamp_process("http", "trusted") as process, contextlib.ExitStack() as stack:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        upload_text(stack.enter_context(Session(address)), "x", "call")
        before = resident_bytes(process.pid)
        for _ in range(250):
            session = stack.enter_context(Session(address))
            for _ in range(4):
                upload_text(session, "x", "call")
        grown = resident_bytes(process.pid) - before
    assert grown < 40_000_000, f"{grown:,} bytes more"


@pytest.mark.parametrize("odd", [1.5, None, True, [], {}])
@pytest.mark.parametrize("method", ["ping", "tools/call"])
def test_a_request_with_an_invalid_id_is_answered_with_an_error(
    trusted: str, odd: Any, method: str
) -> None:
    with Session(trusted) as session:
        answer = session.post_message({"id": odd, "method": method, "params": {}})
        assert answer.status_code == 400
        said = answer.json()
        assert said["id"] is None
        assert said["error"]["code"] == -32600
        assert "string or an integer" in said["error"]["message"]
        assert session.ping_server() == 200


@pytest.mark.parametrize("number", [0, -7, 2**53, "a", "ä", ""])
def test_any_other_id_is_returned_unchanged(trusted: str, number: Any) -> None:
    with Session(trusted) as session:
        answer = message_in(session.post_message({"id": number, "method": "ping"}))
        assert (answer["id"], answer["result"]) == (number, {})


def test_requests_that_share_an_id_are_all_answered(trusted: str) -> None:
    with Session(trusted) as session, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(session.call, "pause", {"seconds": 0.2}, 7) for _ in range(4)]
        for each in asked:
            answer = message_in(each.result(PATIENCE))
            assert answer["id"] == 7
            assert answer["result"]["structuredContent"]["paused"]

"""Batches of JSON-RPC: received under the revision that has them, and refused under all others."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from canonry.server.messages import BATCH_MAX, BATCHING
from tests.gateway.sample import LAMP
from tests.server.http_sessions import AS_KEEPER, Session
from tests.server.lamp_process import VERSIONS, Message, Wire, lamp_process

OTHERS = [each for each in VERSIONS if each != BATCHING]
NOTE: Message = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
VERSION_HEADER = "mcp-protocol-version"


def ping_message(number: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "method": "ping"}


def light_message(number: Any, level: int) -> Message:
    arguments = {"lamp_id": LAMP, "level": level}
    params = {"name": "light", "arguments": arguments, "_meta": AS_KEEPER}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


MIXED: list[Any] = [
    light_message(1, 3),
    NOTE,
    "no message",
    ping_message("b"),
    {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {}},
    ping_message("b"),
    {"jsonrpc": "2.0", "id": 5, "method": "no/such/method"},
    {"jsonrpc": "2.0", "id": 6},
    [ping_message(7)],
    light_message(8, 5),
]
"""Of every kind one: calls, a notification, no messages, and what may not be part of a batch."""
REFUSED = [None, None, 4, "b", 6]
"""The ids of those that are no requests of a batch, as far as they have one."""


def text_of_answer(answer: Message) -> str:
    """The text that a tool answers."""
    (content,) = answer["result"]["content"]
    return str(content["text"])


def check_answers(answers: list[Message]) -> None:
    """See that everything in MIXED that is due an answer has one, and nothing else."""
    by_id = {each["id"]: each for each in answers if "result" in each}
    assert set(by_id) == {1, 8, "b"}
    assert [json.loads(text_of_answer(by_id[n]))["level"] for n in (1, 8)] == [3, 5]
    errors = [(each["id"], each["error"]["code"]) for each in answers if "error" in each]
    assert sorted(errors, key=str) == sorted(
        [*((known, -32600) for known in REFUSED), (5, -32601)], key=str
    )


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with lamp_process("stdio", "trusted") as process:
        spoken = Wire(process, BATCHING)
        spoken.greet_server()
        yield spoken


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with lamp_process("http", "trusted") as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()


@pytest.fixture(scope="module")
def session(address: str) -> Iterator[Session]:
    with Session(address, revision=BATCHING) as opened:
        yield opened


def receive_batch(wire: Wire, batch: Any) -> Any:
    """Return the answer to a batch on standard output: one line."""
    wire.send_line(json.dumps(batch).encode())
    return wire.receive_answer()


def batch_events(session: Session, batch: Any) -> list[Message]:
    """The messages that come back for a batch over HTTP."""
    response = session.post_body(json.dumps(batch))
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    found = [line for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in found]


def test_a_line_with_a_batch_is_answered_by_one_line(wire: Wire) -> None:
    check_answers(receive_batch(wire, MIXED))
    assert receive_batch(wire, [ping_message(9)]) == [{"jsonrpc": "2.0", "id": 9, "result": {}}]
    assert wire.ask("ping")["result"] == {}


def test_a_body_with_a_batch_is_answered_by_one_stream(session: Session) -> None:
    check_answers(batch_events(session, MIXED))
    assert batch_events(session, [ping_message(9)]) == [{"jsonrpc": "2.0", "id": 9, "result": {}}]
    assert session.ping_server() == 200


def test_a_batch_of_notifications_has_no_answer(wire: Wire, session: Session) -> None:
    wire.send_line(json.dumps([NOTE, NOTE]).encode())
    assert wire.ask("ping")["result"] == {}
    accepted = session.post_body(json.dumps([NOTE, NOTE]))
    assert (accepted.status_code, accepted.content) == (202, b"")


@pytest.mark.parametrize("batch", [[], [ping_message(n) for n in range(BATCH_MAX + 1)]], ids=len)
def test_an_empty_or_oversized_batch_is_refused(
    wire: Wire, session: Session, batch: list[Message]
) -> None:
    response = session.post_body(json.dumps(batch))
    for reported in (receive_batch(wire, batch), response.json()):
        assert (reported["id"], reported["error"]["code"]) == (None, -32600)
        assert f"1 to {BATCH_MAX} messages" in reported["error"]["message"]
    assert response.status_code == 400
    assert len(batch_events(session, [ping_message(n) for n in range(BATCH_MAX)])) == BATCH_MAX


def test_a_batch_of_invalid_messages_has_an_error_for_each(wire: Wire, session: Session) -> None:
    response = session.post_body(b" [1, 2]")
    assert response.status_code == 400
    for answers in (receive_batch(wire, [1, 2]), response.json()):
        assert [each["error"]["code"] for each in answers] == [-32600, -32600]


def test_a_cancelled_call_leaves_the_other_answers_of_its_batch(wire: Wire) -> None:
    stop = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    reply = receive_batch(wire, [light_message(1, 2), stop, ping_message(2)])
    if isinstance(reply, dict):  # done before it was stopped: the client ignores its answer
        assert reply["id"] == 1
        reply = wire.receive_answer()
    assert {"jsonrpc": "2.0", "id": 2, "result": {}} in reply
    assert wire.ask("ping")["id"] > 2


@pytest.mark.parametrize("revision", OTHERS)
def test_no_other_protocol_revision_takes_a_batch(address: str, revision: str) -> None:
    with Session(address, revision=revision) as session:
        assert session.post_body(json.dumps([ping_message(1)])).status_code == 400
        named = session.post_body(json.dumps([ping_message(1)]), **{VERSION_HEADER: revision})
        assert named.status_code == 400
    with lamp_process("stdio", "trusted") as process:
        wire = Wire(process, revision)
        wire.greet_server()
        reply = receive_batch(wire, [ping_message(1)])
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)


def test_an_expired_session_refuses_the_whole_batch(address: str) -> None:
    with Session(address, revision=BATCHING) as session:
        batch = json.dumps([ping_message(1), ping_message(2)])
        named = session.post_body(batch, **{VERSION_HEADER: BATCHING})
        other = session.post_body(batch, **{VERSION_HEADER: "2025-06-18"})
        assert (named.status_code, other.status_code) == (200, 400)
        assert session.end_session() == 200
        assert session.post_body(batch).status_code in {400, 404}


def test_a_batch_before_the_handshake_is_refused() -> None:
    with lamp_process("stdio", "trusted") as process:
        reply = receive_batch(Wire(process, BATCHING), [ping_message(1)])
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)


def test_the_end_of_the_input_waits_for_answers_of_a_batch() -> None:
    with lamp_process("stdio", "trusted") as process:
        wire = Wire(process, BATCHING)
        wire.greet_server()
        wire.send_line(json.dumps([light_message(n, n) for n in range(20)]).encode())
        wire.hang_up()
        (answers,) = wire.receive_rest()
        assert len(answers) == 20

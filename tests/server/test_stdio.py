"""Standard input and output: every revision on the wire, hostile lines, and a prompt end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.message import SessionMessage

from canonry import __version__
from canonry.server.stdio import Bound, OpeningWork, _Input, _Output
from canonry.values.errors import Unavailable
from tests.gateway.sample import KEEPER, LAMP, LAMPS, SECRET
from tests.replies import parse_result
from tests.server.lamp_process import (
    CLIENT,
    MODERN,
    REPOSITORY,
    VERSIONS,
    Message,
    Wire,
    lamp_command,
    lamp_environment,
    lamp_process,
)
from tests.server.lamp_server import LONG

HELLO: Message = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": CLIENT,
}
REPLY = {"lamp_id": LAMP, "level": 7, "by": KEEPER.agent_id}


@pytest.fixture(scope="module")
def keeper() -> Iterator[Wire]:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        wire.greet_server()
        yield wire


def error_in(answer: Message) -> Message:
    result = answer["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    error: Message = parse_result(result)["error"]
    return error


@pytest.mark.parametrize("version", VERSIONS)
def test_each_handshake_revision_follows_its_specification(version: str) -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process, version)
        hello = wire.greet_server()["result"]
        assert hello["protocolVersion"] == version
        assert hello["serverInfo"]["name"] == "lamp-layer"
        assert hello["serverInfo"]["version"] == __version__
        assert set(hello["capabilities"]) == {"tools", "resources", "prompts", "completions"}
        result = wire.call("light", {"lamp_id": LAMP, "level": 7})["result"]
        text = json.dumps(REPLY, separators=(",", ":"))
        assert result["content"] == [{"type": "text", "text": text}]
        assert "resultType" not in result
        structured = version >= "2025-06-18"
        assert result.get("structuredContent") == (REPLY if structured else None)
        refused = wire.call("light", {"lamp_id": "?"})["result"]
        assert refused["isError"] is True
        assert json.loads(refused["content"][0]["text"])["error"]["code"] == -32003
        unknown = wire.call("nothing", {})
        assert unknown["error"]["code"] == -32602


def test_the_stateless_revision_follows_its_specification() -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process, MODERN)
        result = wire.call("light", {"lamp_id": LAMP, "level": 7})["result"]
        assert result["resultType"] == "complete"
        assert result["structuredContent"] == REPLY
        assert wire.call("nothing", {})["error"]["code"] == -32602
        listed = wire.ask("tools/list")["result"]
        schema = listed["tools"][0]["inputSchema"]
        assert json.dumps(schema) == json.dumps(LAMPS.tools[0].input_schema)
        assert listed["resultType"] == "complete"
        assert wire.ask("server/discover")["result"]["supportedVersions"] == [MODERN]


@pytest.mark.parametrize(("version", "code"), [("2025-06-18", -32001), (MODERN, -31001)])
def test_protocol_errors_have_the_numbers_of_their_revision(version: str, code: int) -> None:
    with lamp_process("stdio", "jsonrpc", "anonymous") as process:
        wire = Wire(process, version)
        if version != MODERN:
            wire.greet_server()
        error = wire.call("light", {"lamp_id": LAMP})["error"]
        assert error["code"] == code
        assert error["data"]["error"] == "identity.missing"
        assert "--agent-type" in error["message"]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"lamp_id": LAMP, "note": "a\x00b"}, "/note"),
        ({"lamp_id": LAMP, "note": "a\ud800b"}, "/note"),
        ({"lamp_id": LAMP, "note": "x" * 10_000_000}, "/note"),
        ({"lamp_id": LAMP, "details": {"a": 2**60}}, "/details/a"),
        ({"lamp_id": LAMP, "colour": "red"}, "/colour"),
        ({"lamp_id": LAMP, "since": "yesterday"}, "/since"),
    ],
)
def test_bad_arguments_are_refused_with_their_path(
    keeper: Wire, arguments: dict[str, Any], path: str
) -> None:
    error = error_in(keeper.call("light", arguments))
    assert error["code"] == -32003
    assert error["data"]["path"] == path
    assert len(json.dumps(error)) < 1000


@pytest.mark.parametrize("depth", [40, 400])
def test_deep_nesting_is_refused_with_its_path(keeper: Wire, depth: int) -> None:
    line = (
        b'{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"light","arguments":'
        + b'{"details":' * depth
        + b"1"
        + b"}" * depth
        + b"}}"
    )
    keeper.send_line(line)
    answer = keeper.receive_answer()
    assert answer["id"] == "deep"
    error = error_in(answer)
    assert error["data"]["error"] == "limits.depth"
    assert error["data"]["path"].startswith("/details/details")


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"garbage", -32700, None),
        (b"[]", -32600, None),
        (b"\xff\xfe", -32700, None),
        (b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":' + b"[" * 100_000, -32700, 8),
        (b'{"jsonrpc":"1.0","id":9,"method":"x"}', -32600, 9),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"tools/list","params":{"x":"\\ud800"}}', -32600, None),
    ],
)
def test_invalid_messages_are_answered_and_the_server_survives(
    keeper: Wire, line: bytes, code: int, request_id: int | None
) -> None:
    keeper.send_line(line)
    answer = keeper.receive_answer()
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)
    assert "result" in keeper.call("count", {})


@pytest.mark.parametrize("request_id", [{"a": [1]}, [], None, 1.5, True, "nobody", 10**30])
def test_a_cancellation_of_an_unknown_call_is_ignored(keeper: Wire, request_id: object) -> None:
    params = {"requestId": request_id}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    keeper.send_line(json.dumps(message).encode())
    assert "result" in keeper.call("count", {})


def test_an_empty_line_is_skipped(keeper: Wire) -> None:
    keeper.send_line(b"  ")
    assert "result" in keeper.call("count", {})


def test_a_lone_surrogate_in_a_name_is_answered(keeper: Wire) -> None:
    assert keeper.call("no\ud800pe", {})["error"]["code"] == -32602


def test_a_defect_shows_neither_its_text_nor_a_trace(keeper: Wire) -> None:
    answer = keeper.call("fail", {})
    assert error_in(answer)["code"] == -32603
    assert SECRET not in json.dumps(answer)
    assert "Traceback" not in json.dumps(answer)


def test_many_calls_at_once_are_all_answered(keeper: Wire) -> None:
    sent = {
        keeper.send_request("tools/call", {"name": "count", "arguments": {}}) for _ in range(300)
    }
    assert {keeper.receive_answer()["id"] for _ in sent} == sent


def test_the_server_ends_with_its_input_and_closes_the_canon() -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        wire.greet_server()
        wire.hang_up()
        assert process.returncode == 0
        wire.receive_rest()
        assert b"closed\n" in wire.errors


def test_running_calls_are_answered_before_the_end() -> None:
    with lamp_process("stdio", "patient") as process:
        wire = Wire(process)
        wire.greet_server()
        quick = wire.send_request("tools/call", {"name": "pause", "arguments": {"seconds": 0.1}})
        wire.hang_up()
        answers = {each["id"]: each for each in wire.receive_rest()}
        assert answers[quick]["result"]["structuredContent"] == {"paused": True}


def test_an_endless_call_does_not_keep_the_server_running() -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        wire.greet_server()
        wire.send_request("tools/call", {"name": "wait", "arguments": {}})
        wire.call("count", {})
        wire.hang_up()
        assert process.returncode == 0


def test_a_watcher_does_not_keep_the_server_running() -> None:
    with lamp_process("stdio", "patient") as process:
        wire = Wire(process, MODERN)
        wire.send_request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
        assert wire.receive_answer()["method"] == "notifications/subscriptions/acknowledged"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LONG / 2) == 0


def test_the_server_ends_without_any_message() -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0
        wire.receive_rest()
        assert b"closed\n" in wire.errors


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_order(number: signal.Signals) -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        wire.greet_server()
        process.send_signal(number)
        assert process.wait() == 0
        wire.receive_rest()
        assert b"closed\n" in wire.errors


def test_the_audit_is_written_to_standard_error_line_by_line() -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        wire.greet_server()
        wire.call("light", {"lamp_id": LAMP, "note": "Jane Roe"})
        wire.hang_up()
        wire.receive_rest()
    lines = [json.loads(line) for line in wire.errors if line.startswith(b"{")]
    assert [line["name"] for line in lines if line["event"] == "call"] == ["light"]
    assert b"Jane Roe" not in b"".join(wire.errors)


def test_a_client_that_reads_no_log_does_not_stop_the_server() -> None:
    with subprocess.Popen(
        lamp_command("stdio"),
        cwd=REPOSITORY,
        env=lamp_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
        first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        call = {"name": "count", "arguments": {}}
        lines = [json.dumps(first), '{"jsonrpc":"2.0","method":"notifications/initialized"}']
        for line in lines:
            process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        for number in range(1, 1501):  # more lines of audit than a pipe holds
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            if number % 50 == 0:
                process.stdin.flush()
                for _ in range(50):
                    assert b'"result"' in process.stdout.readline()
        assert process.stderr is not None
        process.stderr.close()
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_is_served(mode: Any) -> None:
    words = lamp_command("stdio", "trusted")
    parameters = StdioServerParameters(
        command=words[0], args=words[1:], cwd=REPOSITORY, env=lamp_environment()
    )
    meta: Any = {"dev.canonry/agent": {"agent_id": "k-1", "agent_type": "Keeper"}}
    seen: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with Client(parameters, mode=mode) as client:
        result = await client.call_tool("light", {"lamp_id": LAMP}, meta=meta)
        assert result.structured_content["by"] == "k-1"
        await client.call_tool("count", {}, progress_callback=listen, meta=meta)
        assert seen == [1, 2, 3]
        spoofed: Any = {"dev.canonry/agent": {"agent_type": "Stranger"}}
        result = await client.call_tool("light", {"lamp_id": LAMP}, meta=spoofed)
        assert parse_result(result)["error"]["code"] == -32001


def test_a_failure_to_open_is_reported_to_waiting_clients() -> None:
    with lamp_process("stdio", "unopened") as process:
        wire = Wire(process)
        assert wire.ask("initialize", HELLO)["result"]["serverInfo"]["name"] == "lamp-layer"
        answers = wire.receive_rest()
        assert process.wait() != 0
        assert answers == []
        assert any(b"the lamps are in use" in line for line in wire.errors)


def test_a_call_waiting_for_a_failed_open_gets_the_reason() -> None:
    with lamp_process("stdio", "unopened") as process:
        wire = Wire(process)
        greeting, call = {"method": "initialize", "params": HELLO}, {"method": "tools/call"}
        lines = (
            {"id": 1, **greeting},
            {"method": "notifications/initialized"},
            {"id": 2, **call, "params": {"name": "count", "arguments": {}}},
        )
        # One write: a call that comes after the server has given up is not read.
        wire.send_line(b"\n".join(json.dumps({"jsonrpc": "2.0", **e}).encode() for e in lines))
        answers = {each["id"]: each for each in wire.receive_rest()}
        assert answers[1]["result"]["serverInfo"]["name"] == "lamp-layer"
        refused = answers[2]["error"]
        assert refused["message"] == "the lamps are in use"
        assert refused["data"] == {"error": "store.busy"}
        assert process.wait() != 0


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform == "win32", reason="one call waits for sockets alone there")
async def test_pending_lines_are_written_before_the_end() -> None:
    """The loop decides to end while the thread that reads still hands lines over."""
    loop, (source, client), (_, sink) = asyncio.get_running_loop(), os.pipe(), os.pipe()

    async def nothing() -> Bound:
        raise Unavailable("store.busy", "the lamps are in use")

    opening = OpeningWork(nothing)
    output = _Output(loop, sink, opening.begin_work)
    messages = _Input(loop, source, output, opening, 0.1)
    lines = [{"jsonrpc": "2.0", "method": f"notifications/{n}"} for n in range(3)]
    os.write(client, b"".join(json.dumps(each).encode() + b"\n" for each in lines) + b'{"half')
    messages.end_input()

    read = [each.message async for each in messages if isinstance(each, SessionMessage)]
    assert [getattr(each, "method", "") for each in read] == [each["method"] for each in lines]


def test_a_client_that_sends_everything_and_leaves_is_answered() -> None:
    with lamp_process("stdio") as process:
        wire = Wire(process)
        first = wire.send_request("initialize", HELLO)
        wire.send_line(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        asked = [wire.send_request("tools/list") for _ in range(3)]
        wire.hang_up()
        answers = wire.receive_rest()
        assert {each["id"] for each in answers if "result" in each} == {first, *asked}
        assert process.returncode == 0

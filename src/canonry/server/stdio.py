"""Serve one client over standard input and output, and log to standard error."""

import asyncio
import contextlib
import gc
import logging
import os
import queue
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import mcp_types as types
import orjson
from mcp.shared.message import SessionMessage
from typing_extensions import override

from canonry.gateway.toolset_introduction import Face
from canonry.language.texts.visible import escape_hidden
from canonry.server import messages
from canonry.server.options import ServerOptions
from canonry.server.startup import Handlers, greeting_server

if TYPE_CHECKING:
    from canonry.gateway.call import Gateway
    from canonry.gateway.principal import Principal


_KEPT: Final = 10_000  # bounds the memory of a log that nobody reads
_PAUSE: Final = 0.05  # one write takes the lines of this time together
_STDERR: Final = 2


class LineLog:
    """Lines on their way to a file descriptor.

    If no program reads the other end, the oldest lines are dropped; no call waits.
    Lines appear within a twentieth of a second: a busy server writes many at once.
    """

    def __init__(self, descriptor: int = _STDERR) -> None:
        """Start nothing before the first line."""
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque(maxlen=_KEPT)
        self._some = threading.Event()
        self._closing = threading.Event()
        self._writer: threading.Thread | None = None

    def write_line(self, line: bytes) -> None:
        """Take one whole line without blocking."""
        self._lines.append(line)
        if not self._some.is_set():
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_lines, name="log", daemon=True)
                self._writer.start()
            self._some.set()

    def close(self, seconds: float = 0.2) -> None:
        """Write the remaining lines if the other end reads them in time."""
        self._closing.set()
        self._some.set()
        if self._writer is not None:
            self._writer.join(seconds)

    def _write_lines(self) -> None:
        while not self._closing.is_set() or self._lines:
            self._some.wait()
            self._closing.wait(_PAUSE)
            self._some.clear()
            waiting = []
            with suppress(IndexError):
                while True:
                    waiting.append(self._lines.popleft())
            with suppress(OSError):
                _write_all(
                    self._descriptor,
                    escape_hidden(b"".join(waiting).decode(errors="replace")).encode(),
                )


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class _Handler(logging.Handler):
    """Writes the source and level of libraries' log records, never their text."""

    def __init__(self, log: LineLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    @override
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[0] if record.exc_info else None
        line = {
            "event": "library",
            "level": record.levelname.lower(),
            "logger": record.name,
            "place": f"{record.module}:{record.lineno}",
            "error": error.__name__ if error else None,
        }
        self._log.write_line(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def capture_library_logs(log: LineLog) -> None:
    """Send warnings and errors of libraries to `log`, without text that may quote a message."""
    root = logging.getLogger()
    root.handlers[:] = [_Handler(log)]
    root.setLevel(logging.WARNING)


Close = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGateway:
    """A gateway over an open canon, its principal, and the function that closes the canon."""

    gateway: "Gateway"
    principal: "Principal"
    close: Close


Bound = tuple[Handlers, Close]
"""The handlers of requests to an open gateway, and the function that closes its canon."""


class OpeningWork:
    """Runs `work` once for all waiting callers; a caller that stops waiting does not stop it."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Bound]]) -> None:
        """Take the work without beginning it."""
        self._work = work
        self._task: asyncio.Task[Bound] | None = None

    def begin_work(self) -> asyncio.Task[Bound]:
        """Begin the work, unless it has begun."""
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return self._task

    async def await_end(self) -> None:
        """Wait until the work has ended, well or not."""
        if not (task := self.begin_work()).done():
            await asyncio.wait((task,))

    async def await_result(self) -> Bound:
        """Return the result of the work.

        Raises:
            Exception: the exception of the work, for each caller.
        """
        await self.await_end()
        return self.begin_work().result()


_ENDLESS: Final = "subscriptions/listen"
"""A request whose answer ends with the connection; the end of the input does not wait for it."""
_POLLS: Final = sys.platform != "win32"
"""True if one system call can wait for a pipe and for the end; on Windows only for sockets."""
_CHUNK: Final = 1 << 18  # four times the capacity of a pipe on Linux
_CHUNKS_AFTER_END: Final = 4
"""Chunks that are still read after the end: a client that keeps sending does not hold a server."""
_LINES_AHEAD: Final = 256  # a client that sends without end does not fill the memory
_LINE_BYTES: Final = 128 * 1024 * 1024  # more than the largest file in base64
_OUTPUT_BYTES: Final = 32 * 1024 * 1024  # a client that stops reading does not fill the memory


async def serve_stdio(
    faces: Sequence[Face],
    open_canon: Callable[[], Awaitable[OpenGateway]],
    *,
    server_options: ServerOptions,
) -> None:
    """Serve until standard input ends or the process is asked to stop, then close the canon.

    The greeting needs `faces` alone. `open_canon` is awaited when the first answer has been
    written, or the first request needs it, or the input ends. If it fails, waiting requests get
    its error, reading stops, and its exception is raised here.
    Calls in flight at the end get `drain_seconds` to be answered.
    """
    log = LineLog()
    capture_library_logs(log)
    loop = asyncio.get_running_loop()
    source, sink = _take_standard_streams()

    async def open_bound() -> Bound:
        try:
            return await _open_bound(open_canon, log, server_options)
        except Exception:
            inputs.end_input()
            raise

    opening = OpeningWork(open_bound)
    output = _Output(loop, sink, opening.begin_work)
    inputs = _Input(loop, source, output, opening, server_options.drain_seconds)

    async def ready_handlers() -> Handlers:
        return (await opening.await_result())[0]

    server = greeting_server(faces, ready_handlers)
    if _POLLS:  # event loops on Windows take no signal handlers
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, inputs.end_input)
    try:
        await server.run(inputs, output, server.create_initialization_options())
    finally:
        await output.finish_writing()
        try:
            _, close = await opening.await_result()
            await close()
        finally:
            log.close()


async def _open_bound(
    open_canon: Callable[[], Awaitable[OpenGateway]], log: LineLog, options: ServerOptions
) -> Bound:
    opened = await open_canon()
    from canonry.server.binding import Binding, host_files  # noqa: PLC0415 - imports the gateway

    opened.gateway.audit.write_to(log.write_line)
    host_files(opened.gateway.canon, options.public_url)
    binding = Binding(opened.gateway, lambda: opened.principal, options, alone=True)
    gc.freeze()  # loaded modules stay: no garbage collection visits them again
    return binding.handlers, opened.close


def _take_standard_streams() -> tuple[int, int]:
    """Reserve the standard streams: stray output goes to standard error, children read nothing."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return source, sink


class _Stream:
    """One direction of the connection, as a context manager of the SDK that closes nothing.

    The descriptor lives as long as the process, and its thread ends with it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        self._loop = loop
        self._descriptor = descriptor

    async def aclose(self) -> None:
        """Nothing to do."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to do."""


class _Output(_Stream):
    """Messages to the client, written by their own thread.

    `begun` is called in the loop when the first message has been written.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, descriptor: int, begun: Callable[[], object]
    ) -> None:
        super().__init__(loop, descriptor)
        self._begun = begun
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued = 0  # the loop counts it
        self._written = 0  # the thread counts it
        self._room = asyncio.Event()
        self._room.set()
        self.unanswered: set[int | str] = set()
        self.idle = asyncio.Event()
        self.idle.set()
        self._finished = asyncio.Event()
        self.batches = messages.BatchedLines(self.put_line)
        self.takes_batches = False
        threading.Thread(target=self._write_queued, name="stdout", daemon=True).start()

    def drop_expected(self, request: int | str | None) -> None:
        """Note that no answer to `request` is due any more."""
        if request is not None:
            self.unanswered.discard(request)
            self.batches.take_answer(request, None)
        if not self.unanswered:
            self.idle.set()

    async def send(self, item: SessionMessage, /) -> None:
        """Queue a message; wait only while the client leaves very much unread."""
        message = item.message
        await self._room.wait()
        line = messages.encode_message(message)
        if not isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self.put_line(line)
            return
        if isinstance(message, types.JSONRPCResponse) and "protocolVersion" in message.result:
            self.takes_batches = message.result["protocolVersion"] == messages.BATCHING
        if not self.batches.take_answer(message.id, line):
            self.put_line(line)
        self.drop_expected(message.id)

    def put_line(self, line: bytes) -> None:
        """Queue a line."""
        self._queued += len(line)
        if self._queued - self._written > _OUTPUT_BYTES:
            self._room.clear()
        self._lines.put(line)

    async def finish_writing(self, seconds: float = 0.3) -> None:
        """Write the remaining messages if the client reads them in time."""
        self._lines.put(None)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._finished.wait(), seconds)

    def _write_queued(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError):  # the client has gone; its input ends as well
                _write_all(self._descriptor, line)
            if not self._written:
                self._call_in_loop(self._begun)
            self._written += len(line)
            if not self._room.is_set() and self._queued - self._written <= _OUTPUT_BYTES // 2:
                self._call_in_loop(self._room.set)
        self._call_in_loop(self._finished.set)

    def _call_in_loop(self, callback: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed
            self._loop.call_soon_threadsafe(callback)


class _Input(_Stream):
    """Messages from the client, read by their own thread, at most a few hundred lines ahead.

    When the input ends, the stream ends only after every request has been answered, because the
    SDK cancels requests in flight at the end of the stream. The canon is opened before that: the
    error of a store that cannot be served appears even without a request.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        descriptor: int,
        output: _Output,
        opening: OpeningWork,
        drain: float,
    ) -> None:
        super().__init__(loop, descriptor)
        self._output = output
        self._opening = opening
        self._drain = drain
        self._lines: deque[bytes | None] = deque()
        self._batched: deque[types.JSONRPCMessage] = deque()
        self._arrived = asyncio.Event()
        self._permits = threading.Semaphore(_LINES_AHEAD)
        self._ended, self._end = os.pipe()
        self._chunks_left = _CHUNKS_AFTER_END
        threading.Thread(target=self._read_lines, name="stdin", daemon=True).start()

    def end_input(self) -> None:
        """Read the lines that the client has sent by now, answer them, then end.

        The reading thread marks the end. Another thread would overtake lines on their way.
        """
        if _POLLS:
            os.write(self._end, b"\n")
        else:
            self._feed_line(None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            StopAsyncIteration: after the last message, when every request has been answered.
        """
        while True:
            if self._batched:
                part = self._batched.popleft()
                self._track_request(part)
                return SessionMessage(part)
            while not self._lines:
                self._arrived.clear()
                await self._arrived.wait()
            line = self._lines.popleft()
            if line is None:
                self._lines.appendleft(None)
                await (
                    self._opening.await_end()
                )  # the time for answers begins when answers are possible
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._output.idle.wait(), self._drain)
                raise StopAsyncIteration
            self._permits.release()
            batch = messages.read_batch(line) if self._output.takes_batches else None
            if isinstance(batch, messages.Batch):
                self._batched.extend(message for _, message in batch.messages)
                self._output.batches.open_batch(batch)
                continue
            message = messages.decode_line(line) if batch is None else batch
            if isinstance(message, bytes):
                self._output.put_line(message)
            elif message is not None:
                self._track_request(message)
                return SessionMessage(message)

    def _track_request(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            if message.method != _ENDLESS:
                self._output.unanswered.add(message.id)
                self._output.idle.clear()
        elif (
            isinstance(message, types.JSONRPCNotification)
            and message.method == "notifications/cancelled"
        ):
            cancelled = (message.params or {}).get("requestId")
            if isinstance(cancelled, int | str):  # other ids belong to no request
                self._output.drop_expected(cancelled)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self.receive()

    def _feed_line(self, line: bytes | None) -> None:
        self._lines.append(line)
        self._arrived.set()

    def _read_lines(self) -> None:
        pieces: list[bytes] = []
        length = 0
        with contextlib.suppress(RuntimeError):  # the loop has closed
            while chunk := self._read_chunk():
                *whole, rest = chunk.split(b"\n")
                for end in whole:
                    self._permits.acquire()
                    line = b"".join((*pieces, end)) if length <= _LINE_BYTES else b"{"
                    pieces, length = [], 0
                    self._loop.call_soon_threadsafe(self._feed_line, line)
                if length <= _LINE_BYTES:
                    pieces.append(rest)
                length += len(rest)
            has_ended_itself = self._chunks_left == _CHUNKS_AFTER_END
            if has_ended_itself and any(pieces):
                self._loop.call_soon_threadsafe(self._feed_line, b"".join(pieces))
            self._loop.call_soon_threadsafe(self._feed_line, None)

    def _read_chunk(self) -> bytes:
        if _POLLS:
            ready, _, _ = select.select((self._descriptor, self._ended), (), ())
            self._chunks_left -= self._ended in ready
            if self._descriptor not in ready or self._chunks_left < 0:
                return b""
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:
            return b""

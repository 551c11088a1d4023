"""Structured lines on standard error, written by a thread, so that a full pipe stops no call."""

import logging
import os
import threading
from collections import deque
from contextlib import suppress
from typing import Final

import orjson
from typing_extensions import override

from canonry.language.texts.visible import visible

_KEPT: Final = 10_000
_PAUSE: Final = 0.05
_STDERR: Final = 2


class LineLog:
    """Lines on their way to a file descriptor.

    If nobody reads the other end, the oldest lines are dropped; nothing waits.
    Lines appear within a twentieth of a second, so that a busy server writes many at once.
    """

    def __init__(self, descriptor: int = _STDERR) -> None:
        """Nothing is started before the first line."""
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque(maxlen=_KEPT)
        self._some = threading.Event()
        self._closing = threading.Event()
        self._writer: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Take one whole line; never blocks."""
        self._lines.append(line)
        if not self._some.is_set():
            if self._writer is None:
                self._writer = threading.Thread(target=self._run, name="log", daemon=True)
                self._writer.start()
            self._some.set()

    def close(self, seconds: float = 0.2) -> None:
        """Write what is left, if the other end takes it in time."""
        self._closing.set()
        self._some.set()
        if self._writer is not None:
            self._writer.join(seconds)

    def _run(self) -> None:
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
                    self._descriptor, visible(b"".join(waiting).decode(errors="replace")).encode()
                )


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class _Handler(logging.Handler):
    """Log records of libraries: where they come from and how grave they are, never their text."""

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
        self._log.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def capture_library_logs(log: LineLog) -> None:
    """Send warnings and errors of libraries to `log`, without what they may quote of a message."""
    root = logging.getLogger()
    root.handlers[:] = [_Handler(log)]
    root.setLevel(logging.WARNING)

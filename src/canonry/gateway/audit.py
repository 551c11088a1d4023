"""One structured line a call, with names, codes and sizes, and nothing that a caller wrote."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from canonry.gateway.metrics import Metrics

Write = Callable[[bytes], None]
"""Takes one whole line; must not block."""


def discard(line: bytes) -> None:
    """Keep no log."""


@dataclass(slots=True, kw_only=True)
class Record:
    """What the audit keeps about one call, filled in while the call goes on."""

    kind: str
    name: str
    agent_type: str = ""
    size: int = 0
    code: str = "ok"
    cached: bool = False
    incident: str = ""
    trace: str = ""


class Audit:
    """Counts every call and writes a line about it."""

    def __init__(self, write: Write = discard, metrics: Metrics | None = None) -> None:
        """`write` receives JSON lines; the metrics are shared by everything that is counted."""
        self.metrics = metrics or Metrics()
        self._write = write

    def write_to(self, write: Write) -> None:
        """Send the lines elsewhere from now on; a host does this with its own log."""
        self._write = write

    def begin(self) -> None:
        """Count a call that has begun; `end` follows."""
        self.metrics.in_flight += 1

    def end(self, record: Record, seconds: float) -> None:
        """Keep what is known about a call that has ended."""
        self.metrics.in_flight -= 1
        self.record(record, seconds)

    def record(self, record: Record, seconds: float) -> None:
        """Count a call and write its line."""
        self.metrics.count(record.name, record.code, seconds)
        line: dict[str, Any] = {
            "event": record.kind,
            "name": record.name,
            "agent_type": record.agent_type,
            "outcome": record.code,
            "ms": round(seconds * 1000, 3),
            "size": record.size,
        }
        if record.cached:
            line["cached"] = True
        if record.trace:
            line["trace"] = record.trace
        if record.incident:
            line["incident"] = record.incident
        self._write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def incident(self, incident: str, error: BaseException) -> None:
        """Write where an unexpected error arose.

        Only types and places are kept: the message of an unknown exception may quote anything.
        """
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{_module(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]
        line = {
            "event": "incident",
            "incident": incident,
            "error": type(error).__name__,
            "caused_by": type(error.__cause__).__name__ if error.__cause__ else None,
            "trace": places[-12:],
        }
        self._write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def _module(filename: str) -> str:
    return "/".join(filename.replace("\\", "/").rsplit("/", 3)[-3:])

"""One structured line a call, with names, codes and sizes, and nothing that a caller wrote."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, Self

import orjson

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.metrics import Metrics
from canonry.models.outside_services import OutsideService, OutsideServices
from canonry.values.ids import is_uuid

_CALLERS: Final = 1024

Write = Callable[[bytes], None]
"""Takes one whole line; must not block."""


def discard(line: bytes) -> None:
    """Keep no log."""


@dataclass(slots=True, kw_only=True)
class AuditLine:
    """What the audit keeps about one call, filled in while the call goes on."""

    kind: str
    name: str
    agent_type: str = ""
    caller: str = ""
    size: int = 0
    code: str = "ok"
    cached: bool = False
    incident: str = ""
    denied: bool = False
    trace: str = ""
    correlation: str = ""


class Correlations:
    """Names of calls, each another one: what the caller says with `_meta`, else made up."""

    def __init__(self, key: bytes) -> None:
        """The key tells the calls of one process from those of another."""
        self._process = blake2b(key, digest_size=4).hexdigest()
        self._count = 0

    def of(self, given: object) -> str:
        """The id of a call; of what a caller says only a UUID is taken."""
        if isinstance(given, str) and is_uuid(given):
            return given.lower()
        self._count += 1
        return f"{self._process}-{self._count:x}"


class Pseudonyms:
    """Names of callers by which the lines of one process can be told apart, and nobody found."""

    def __init__(self, key: bytes) -> None:
        """Nobody can guess the key, so that no list of names can be tried."""
        self._key = key
        self._known = lru_cache(_CALLERS)(self._name)

    def of(self, caller: Caller) -> str:
        """The name of whoever calls."""
        return self._known(caller.actor.user, caller.actor.agent_id)

    def _name(self, *identity: str | None) -> str:
        return blake2b(repr(identity).encode(), key=self._key, digest_size=6).hexdigest()


class Audit:
    """Counts every call and writes a line about it."""

    def __init__(self, write: Write = discard, metrics: Metrics | None = None) -> None:
        """`write` receives JSON lines; the metrics are shared by everything that is counted."""
        self.metrics = metrics or Metrics()
        self._write = write

    def write_to(self, write: Write) -> None:
        """Send the lines elsewhere from now on; a host does this with its own log."""
        self._write = write

    def tell(self, line: bytes) -> None:
        """Write a line that is about no call."""
        self._write(line)

    def watching(self, services: OutsideServices) -> Self:
        """The same audit, which writes a line when one of these services goes away or is back."""
        self.metrics.services = services
        services.changed = self._tell_of_service
        return self

    def _tell_of_service(self, service: OutsideService) -> None:
        fault = service.fault
        line = {
            "event": "service",
            "name": service.name,
            "outcome": "ok" if fault is None else fault.code,
            "reason": "" if fault is None else fault.message,
        }
        self._write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def record(self, line: AuditLine, seconds: float) -> None:
        """Count a call and write its line."""
        self.metrics.count(line.name, line.code, seconds)
        fields: dict[str, Any] = {
            "event": line.kind,
            "name": line.name,
            "agent_type": line.agent_type,
            "caller": line.caller,
            "outcome": line.code,
            "ms": round(seconds * 1000, 3),
            "size": line.size,
        }
        if line.correlation:
            fields["correlation"] = line.correlation
        if line.cached:
            fields["cached"] = True
        if line.trace:
            fields["trace"] = line.trace
        if line.incident:
            fields["incident"] = line.incident
        self._write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))

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


class CallCounter:
    """Counts nothing. Put a subclass in as the service `CallCounter` to count calls by outcome."""

    def count(self, canon: Canon, line: AuditLine) -> None:
        """Count one call that has ended."""

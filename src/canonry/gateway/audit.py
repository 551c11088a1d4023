"""The audit: one structured line per call, metrics, and a check of the clock."""

import traceback
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.commits import Dating
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock
from canonry.models.outside_services import OutsideService, OutsideServices
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.moments import Instant

if TYPE_CHECKING:
    from prometheus_client.core import Metric


_BOUNDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Calls by tool and outcome, durations by tool, and lookups of cached replies.

    Labels are names of tools and codes only: their number is bounded and none is personal.
    """

    def __init__(self) -> None:
        """Start every count at zero."""
        self._calls: dict[tuple[str, str], int] = {}
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self.cache_hits = 0
        self.cache_misses = 0
        self.in_flight = 0
        self.services: Iterable[OutsideService] = ()

    def count_call(self, tool: str, code: str, seconds: float) -> None:
        """Count one call of `tool` that ended with `code` after `seconds`."""
        key = (tool, code)
        self._calls[key] = self._calls.get(key, 0) + 1
        buckets = self._buckets.get(tool)
        if buckets is None:
            buckets = self._buckets[tool] = [0] * (len(_BOUNDS) + 1)
            self._seconds[tool] = 0.0
        buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[tool] += seconds

    def render_metrics(self) -> str:
        """Return all counts in the Prometheus text format."""
        from prometheus_client import generate_latest  # noqa: PLC0415 - see `collect`

        return generate_latest(self).decode()

    def collect(self) -> "Iterator[Metric]":
        """Yield all counts as metrics of the Prometheus client, outside of its registry.

        The library is imported here, and counting is our own code: calls wait for neither.
        """
        from prometheus_client.core import (  # noqa: PLC0415 - as above
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        calls = CounterMetricFamily(
            "canonry_calls", "Calls by tool and outcome.", labels=("tool", "outcome")
        )
        for labels, count in sorted(self._calls.items()):
            calls.add_metric(labels, count)
        lookups = CounterMetricFamily(
            "canonry_cache_lookups", "Lookups of cached replies.", labels=("result",)
        )
        lookups.add_metric(("hit",), self.cache_hits)
        lookups.add_metric(("miss",), self.cache_misses)
        seconds = HistogramMetricFamily(
            "canonry_call_seconds", "How long calls took.", labels=("tool",)
        )
        for tool, buckets in sorted(self._buckets.items()):
            cumulative = zip((*map(str, _BOUNDS), "+Inf"), accumulate(buckets), strict=True)
            seconds.add_metric((tool,), buckets=list(cumulative), sum_value=self._seconds[tool])
        away = GaugeMetricFamily(
            "canonry_service_away",
            "1 while a service gets no requests because it failed.",
            labels=("service",),
        )
        failures = CounterMetricFamily(
            "canonry_service_failures", "Requests that a service failed.", labels=("service",)
        )
        for service in self.services:
            away.add_metric((service.name,), service.fault is not None)
            failures.add_metric((service.name,), service.failed)
        yield away
        yield failures
        yield calls
        yield GaugeMetricFamily(
            "canonry_calls_in_flight", "Calls that have begun and not ended.", self.in_flight
        )
        yield lookups
        yield seconds


_CALLERS: Final = 1024  # hashing is repeated only for callers that are rarely heard of

Write = Callable[[bytes], None]
"""Takes one whole line without blocking."""


def discard_line(line: bytes) -> None:
    """Keep no log."""


@dataclass(slots=True, kw_only=True)
class AuditLine:
    """The record of one call, filled in while the call runs."""

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
    """Ids of calls: the id that the caller gives in `_meta`, or else a new one."""

    def __init__(self, key: bytes) -> None:
        """Take a key that keeps ids of two processes apart."""
        self._process = blake2b(key, digest_size=4).hexdigest()
        self._count = 0

    def correlation_of(self, given: object) -> str:
        """Return the id of a call: the given one if it is a UUID, or else a new one."""
        if isinstance(given, str) and is_uuid(given):
            return given.lower()
        self._count += 1
        return f"{self._process}-{self._count:x}"


class Pseudonyms:
    """Pseudonyms of callers: they keep the lines of one process apart and identify no person."""

    def __init__(self, key: bytes) -> None:
        """Take a secret key, against attacks that try a list of names."""
        self._key = key
        self._known = lru_cache(_CALLERS)(self._hash_identity)

    def pseudonym_of(self, caller: Caller) -> str:
        """Return the pseudonym of a caller."""
        return self._known(caller.actor.user, caller.actor.agent_id)

    def _hash_identity(self, *identity: str | None) -> str:
        return blake2b(repr(identity).encode(), key=self._key, digest_size=6).hexdigest()


class Audit:
    """Counts every call and writes a line about it."""

    def __init__(self, write: Write = discard_line, metrics: Metrics | None = None) -> None:
        """Write JSON lines with `write`, and count into `metrics`."""
        self.metrics = metrics or Metrics()
        self._write = write

    def write_to(self, write: Write) -> None:
        """Send the lines to another log from now on, for example that of a host."""
        self._write = write

    def write_event(self, fields: Mapping[str, Any]) -> None:
        """Write a line with these fields."""
        self._write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))

    def watch_services(self, services: OutsideServices) -> Self:
        """Return this audit; it also writes a line when one of the services fails or recovers."""
        self.metrics.services = services
        services.changed = self._report_service
        return self

    def _report_service(self, service: OutsideService) -> None:
        fault = service.fault
        line = {
            "event": "service",
            "name": service.name,
            "outcome": "ok" if fault is None else fault.code,
            "reason": "" if fault is None else fault.message,
        }
        self.write_event(line)

    def record_call(self, line: AuditLine, seconds: float) -> None:
        """Count a call and write its line."""
        self.metrics.count_call(line.name, line.code, seconds)
        fields: dict[str, Any] = {
            "event": line.kind,
            "name": line.name,
            "agent_type": line.agent_type,
            "caller": line.caller,
            "outcome": line.code,
            "ms": round(seconds * 1000, 3),
            "size": line.size,
        }
        for name in ("correlation", "cached", "trace", "incident"):
            if value := getattr(line, name):
                fields[name] = value
        self.write_event(fields)

    def record_incident(self, incident: str, error: BaseException) -> None:
        """Write the type and the location of an unexpected error.

        The message is left out, because the message of an unknown exception may quote anything.
        """
        frames = [
            f"{'/'.join(Path(each.filename).parts[-3:])}:{each.lineno} {each.name}"
            for each in traceback.extract_tb(error.__traceback__)
        ]
        line = {
            "event": "incident",
            "incident": incident,
            "error": type(error).__name__,
            "caused_by": type(error.__cause__).__name__ if error.__cause__ else None,
            "trace": frames[-12:],
        }
        self.write_event(line)


class CallCounter:
    """Counts nothing. Set a subclass as the service `CallCounter` to count calls by outcome."""

    def count_call(self, canon: Canon, line: AuditLine) -> None:
        """Count one call that has ended."""


_HEADS: Final = 500  # bounds the memory of a walk through all spaces
_FRESH_SECONDS: Final = 60.0  # a health check must not read all heads each time


class ClockWatch:
    """Checks the clock as the next commit would: its time must follow the newest commit."""

    def __init__(self, clock: Clock, ledger: Ledger, audit: Audit) -> None:
        """Trust the clock as it is now, as an opening store does."""
        self._clock = clock
        self._ledger = ledger
        self._audit = audit
        self._dating = Dating(clock.now(), clock.monotonic())
        self._newest: Instant | None = None
        self._until: float | None = None
        self._told: str | None = None

    async def find_fault(self) -> str | None:
        """Return the code that a write would get now, or None; log each change of it.

        Raises:
            CanonryError: the store does not answer.
        """
        now, steady = self._clock.now(), self._clock.monotonic()
        if self._until is None or steady >= self._until:
            last: SpaceId | None = None
            dates: list[Instant] = []
            while heads := await self._ledger.list_heads(after=last, limit=_HEADS):
                last = heads[-1].space
                dates = [max([*dates, *(head.recorded_at for head in heads)])]
            self._newest = max(dates, default=None)
            self._until = steady + _FRESH_SECONDS
        code = None
        try:
            self._dating.next_date(now, steady, self._newest)
        except Unavailable as error:
            code = error.code
        if code != self._told:
            self._told = code
            self._audit.write_event({"event": "clock", "outcome": code or "ok"})
        return code

"""Counts and durations of calls, kept in the process and shown as Prometheus text."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from canonry.models.outside_services import OutsideService

_BOUNDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Calls by tool and outcome, durations by tool, and the fate of cached replies.

    Labels are names of tools and codes only, so their number is bounded and nothing is personal.
    """

    def __init__(self) -> None:
        """Everything starts at zero with the process."""
        self._calls: dict[tuple[str, str], int] = {}
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self.cache_hits = 0
        self.cache_misses = 0
        self.in_flight = 0
        self.services: Iterable[OutsideService] = ()

    def count(self, tool: str, code: str, seconds: float) -> None:
        """Count one call of `tool` that ended with `code` after `seconds`."""
        key = (tool, code)
        self._calls[key] = self._calls.get(key, 0) + 1
        buckets = self._buckets.get(tool)
        if buckets is None:
            buckets = self._buckets[tool] = [0] * (len(_BOUNDS) + 1)
            self._seconds[tool] = 0.0
        buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[tool] += seconds

    def exposition(self) -> str:
        """Everything counted, in the Prometheus text format."""
        from prometheus_client import generate_latest  # noqa: PLC0415 - see `collect`

        return generate_latest(self).decode()

    def collect(self) -> "Iterator[Metric]":
        """Everything counted, as the library knows it; nothing of it is in its registry.

        It is imported by whoever asks, and counting is our own: a call waits for neither.
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
            "Whether a service is left alone because it fails.",
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

"""Counts and durations of calls, kept in the process and shown as Prometheus text."""

from bisect import bisect_left
from typing import Final

_BOUNDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


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
        lines = [
            "# HELP canonry_calls_total Calls by tool and outcome.",
            "# TYPE canonry_calls_total counter",
        ]
        lines += [
            f'canonry_calls_total{{tool="{_label(tool)}",outcome="{_label(code)}"}} {count}'
            for (tool, code), count in sorted(self._calls.items())
        ]
        lines += [
            "# HELP canonry_calls_in_flight Calls that have begun and not ended.",
            "# TYPE canonry_calls_in_flight gauge",
            f"canonry_calls_in_flight {self.in_flight}",
            "# HELP canonry_cache_lookups_total Lookups of cached replies.",
            "# TYPE canonry_cache_lookups_total counter",
            f'canonry_cache_lookups_total{{result="hit"}} {self.cache_hits}',
            f'canonry_cache_lookups_total{{result="miss"}} {self.cache_misses}',
            "# HELP canonry_call_seconds How long calls took.",
            "# TYPE canonry_call_seconds histogram",
        ]
        for tool in sorted(self._buckets):
            lines += self._histogram(tool)
        return "\n".join(lines) + "\n"

    def _histogram(self, tool: str) -> list[str]:
        label, lines, total = _label(tool), [], 0
        for bound, count in zip((*_BOUNDS, "+Inf"), self._buckets[tool], strict=True):
            total += count
            lines.append(f'canonry_call_seconds_bucket{{tool="{label}",le="{bound}"}} {total}')
        lines.append(f'canonry_call_seconds_sum{{tool="{label}"}} {self._seconds[tool]:.6f}')
        lines.append(f'canonry_call_seconds_count{{tool="{label}"}} {total}')
        return lines


def _label(text: str) -> str:
    return text.translate(_ESCAPES)

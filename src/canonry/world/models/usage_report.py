"""What telemetry adds up to, as it may be told: sums by purpose, event and model, never a call."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from canonry.canon.session.ai_words import ModelPurpose
from canonry.values.ids import SpaceId
from canonry.values.time import Instant
from canonry.world.models.telemetry import BOUNDS_MS, Telemetry, UsageSums

_SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def usage_report(
    telemetry: Telemetry,
    since: Instant,
    purpose: ModelPurpose | None = None,
    spaces: Collection[SpaceId] | None = None,
) -> Sequence[Mapping[str, Any]]:
    """A row for each purpose, event and model, in the order of their names; of `spaces` or of all.

    A latency is the upper bound in milliseconds of the class that holds this share of all; null
    where it lies beyond the last. `diversity` is the share of pairs of neighbouring words that are
    different ones.
    """
    return [
        _row(*key, sums)
        for key, sums in sorted(telemetry.sums(since, spaces).items(), key=lambda each: each[0])
        if purpose in {None, key[0]}
    ]


def _row(purpose: str, event: str, model: str, sums: UsageSums) -> dict[str, Any]:
    numbers = sums.numbers
    told = {
        "purpose": purpose or None,
        "eventType": event,
        "model": model or None,
        "count": numbers["count"],
        "rejections": dict(sorted(sums.rules.items())),
    }
    if not purpose:
        return told
    decided = sum(sums.outcomes.values())
    return {
        **told,
        "promptTokens": numbers["prompt_tokens"],
        "completionTokens": numbers["completion_tokens"],
        "costMicros": numbers["micros"],
        "toolCalls": numbers["tool_calls"],
        "cacheHits": numbers["cache_hits"],
        "retries": numbers["retries"],
        "flaggedRatio": numbers["flagged"] / numbers["count"],
        "outcomes": dict(sorted(sums.outcomes.items())),
        "rejectionRate": sums.outcomes["rejected"] / decided if decided else None,
        "latencyMs": {name: _latency(sums, share) for name, share in _SHARES.items()},
        "diversity": len(sums.distinct) / numbers["pairs"] if numbers["pairs"] else None,
    }


def _latency(sums: UsageSums, share: float) -> int | None:
    left = share * sum(sums.latencies.values())
    for place, bound in enumerate(BOUNDS_MS):
        left -= sums.latencies[place]
        if left <= 0 < sum(sums.latencies.values()):
            return bound
    return None

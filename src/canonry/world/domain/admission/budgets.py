"""Gate 6, rate: how much was admitted in windows that slide, and how long until there is room."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.values.policy import AdmissionLimits
from canonry.values.time import SECOND, Instant
from canonry.world.domain.admission.kit import Rejection, refusal

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
_MILLISECOND: Final = SECOND // 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was admitted: when, and at the price of how many tokens; the earliest first."""

    instants: list[Instant]
    tokens: list[int]


def over_budget(
    mine: Spent, world: Sequence[Instant], tokens: int, now: Instant, limits: AdmissionLimits
) -> Rejection | None:
    """The refusal of what goes beyond a window; `mine` is the player's, `world` everybody's."""
    for rule, instants, most in (
        ("rate.player", mine.instants, limits.player_a_minute),
        ("rate.world", world, limits.world_a_minute),
    ):
        since = bisect_right(instants, now - MINUTE)
        if len(instants) - since >= most:
            free = instants[len(instants) - most] + MINUTE
            reason = f"{most} proposals were admitted within a minute"
            return _later(rule, reason, free - now)
    return None if tokens == 0 else _tokens(mine, tokens, now, limits.tokens_an_hour)


def _tokens(mine: Spent, tokens: int, now: Instant, most: int) -> Rejection | None:
    since = bisect_right(mine.instants, now - HOUR)
    spent = sum(mine.tokens[since:])
    if spent + tokens <= most:
        return None
    wait = 0
    for at, each in zip(mine.instants[since:], mine.tokens[since:], strict=True):
        spent -= each
        wait = at + HOUR - now
        if spent + tokens <= most:
            break
    reason = f"with these {tokens} tokens an hour would have more than {most}"
    return _later("rate.tokens", reason, wait)


def _later(rule: str, reason: str, wait: int) -> Rejection:
    return refusal(rule, reason, path="", retry_after_ms=max(1, -(-wait // _MILLISECOND)))

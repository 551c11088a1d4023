"""Measures of one order of turns against the turns that answer."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

FIRST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Each between 0 and 1, higher is better."""

    hit_1: float
    hit_5: float
    hit_10: float
    span_10: float
    ndcg_10: float


def measured(order: Sequence[int], answers: frozenset[int]) -> Measures:
    """Measure the answer to one question; `order` holds only what was found."""
    right = [turn in answers for turn in order[:FIRST]]
    most = min(FIRST, len(answers))
    gained = sum(1 / math.log2(n + 2) for n, hit in enumerate(right) if hit)
    ideal = sum(1 / math.log2(n + 2) for n in range(most))
    return Measures(
        hit_1=float(any(right[:1])),
        hit_5=float(any(right[:5])),
        hit_10=float(any(right)),
        span_10=sum(right) / most,
        ndcg_10=gained / ideal,
    )


def mean(several: Sequence[Measures]) -> Measures:
    """The mean of each measure."""
    rows = [asdict(each) for each in several]
    return Measures(**{name: sum(row[name] for row in rows) / len(rows) for name in rows[0]})

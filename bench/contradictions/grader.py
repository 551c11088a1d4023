"""The domain's own grader, on sides as the pairs have them."""

from functools import partial

from bench.contradictions.pairs import Side
from canonry.canon.judging.comparing.conflicts import Stated
from canonry.canon.judging.comparing.conflicts import grade as graded
from canonry.language.clauses.keys import stems_in

MONTHS, DAYS = 12, 31


def statement_of(side: Side) -> Stated:
    """What the side states; its names stand for the ids of entities."""
    return Stated(
        statement=side.statement,
        entities=frozenset(side.entities),
        fact_type=side.fact_type,
        properties=side.properties,
        time=_instant(side.time),
        until=_instant(side.until),
        scene=side.scene,
        called=partial(stems_in, " ".join(side.entities)),
    )


def grade(standing: Side, claim: Side) -> str | None:
    """How the domain grades the claim."""
    return graded(statement_of(standing), statement_of(claim))


def _instant(told: str | None) -> float | None:
    """Some count of days that grows with the date."""
    if told is None:
        return None
    year, month, day = (*map(int, told.split("-")), 1, 1)[:3]
    return (year * MONTHS + month) * DAYS + day

"""Grading statements: precision and recall on the labelled pairs, and the time of each pair."""

import time
from collections.abc import Sequence

from bench.contradictions.grader import grade, names_of
from bench.contradictions.measures import PRECISION, RECALL, figures_of, measure
from bench.contradictions.pairs import Half, Pair, read_pairs
from bench.report import Row, median
from canonry.language.reading.reading import read_statements

MILLISECONDS = 1_000.0
PAIR_MS = 0.2
ROUNDS = 5


def run() -> list[Row]:
    """The figures of both halves, and how long reading and grading take."""
    pairs = read_pairs()
    measured = measure(pairs, grade)
    rows = []
    for half in Half:
        figures = figures_of(measured.of(half))
        aimed = half is Half.KEPT
        for what, value, budget in (
            ("contradictions: precision", figures.precision, PRECISION if aimed else None),
            ("contradictions: recall", figures.recall, None),
            ("both grades: precision", figures.both_precision, None),
            ("both grades: recall", figures.both_recall, RECALL if aimed else None),
        ):
            rows.append(
                Row(
                    section="grading",
                    what=f"{half}: {what}",
                    value=value or 0.0,
                    unit="",
                    budget=budget,
                    at_least=True,
                )
            )
    return [*rows, *_times(pairs)]


def _times(pairs: Sequence[Pair]) -> list[Row]:
    known, fresh = [], []
    for number in range(ROUNDS):
        start = time.process_time()
        for pair in pairs:
            # Ids that no other round has, so that no statement is remembered.
            names = {name: f"{said}-{number}" for name, said in names_of(pair.claim).items()}
            read_statements(pair.claim.statement, names)
        fresh.append((time.process_time() - start) / len(pairs) * MILLISECONDS)
        for pair in pairs:
            grade(pair.canon, pair.claim)
        start = time.process_time()
        for pair in pairs:
            grade(pair.canon, pair.claim)
        known.append((time.process_time() - start) / len(pairs) * MILLISECONDS)
    return [
        Row(section="grading", what="reading a statement once", value=median(fresh), unit="ms"),
        Row(
            section="grading",
            what="grading a pair whose statements are known",
            value=median(known),
            unit="ms",
            budget=PAIR_MS,
        ),
    ]

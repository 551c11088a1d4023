"""Grading statements: precision and recall on the labelled pairs, and the time of each pair."""

import time
from collections.abc import Sequence

from bench.contradictions.grader import grade, statement_of
from bench.contradictions.measures import PRECISION, RECALL, figures_of, measure
from bench.contradictions.pairs import Half, Pair, read_pairs
from bench.report import Row, median
from canonry.canon.judging.comparing.conflicts import grade as graded
from canonry.language.clauses.frames import sentences_in
from canonry.language.clauses.reading import frames_of

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
    sides = [(statement_of(pair.canon), statement_of(pair.claim)) for pair in pairs]
    known, fresh = [], []
    for _round in range(ROUNDS):
        frames_of.cache_clear()
        sentences_in.cache_clear()
        start = time.process_time()
        for _standing, claim in sides:
            frames_of(claim.statement)
        fresh.append((time.process_time() - start) / len(sides) * MILLISECONDS)
        for standing, claim in sides:
            graded(standing, claim)
        start = time.process_time()
        for standing, claim in sides:
            graded(standing, claim)
        known.append((time.process_time() - start) / len(sides) * MILLISECONDS)
    return [
        Row(section="grading", what="reading a statement once", value=median(fresh), unit="ms"),
        Row(
            section="grading",
            what="grading a pair whose frames are known",
            value=median(known),
            unit="ms",
            budget=PAIR_MS,
        ),
    ]

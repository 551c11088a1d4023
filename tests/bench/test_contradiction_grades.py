"""How the product grades the labelled pairs: no worse than what was measured when it was built."""

from functools import cache

import pytest

from bench.contradictions.grader import grade
from bench.contradictions.measures import PRECISION, RECALL, Measured, figures_of, measure
from bench.contradictions.pairs import Half, Side, read_pairs

GRADES = {"contradiction", "possible", None}


@cache
def measured() -> Measured:
    return measure(read_pairs(), grade)


@pytest.mark.parametrize(
    ("half", "precision", "recall", "both"),
    [(Half.DEVELOP, 0.97, 0.9, 0.89), (Half.KEPT, PRECISION, 0.75, RECALL)],
)
def test_d4_what_is_called_a_contradiction_is_one(
    half: Half, precision: float, recall: float, both: float
) -> None:
    figures = figures_of(measured().of(half))

    assert (figures.precision or 0) >= precision
    assert (figures.recall or 0) >= recall
    assert (figures.both_recall or 0) >= both


def test_every_pair_is_graded_in_either_order() -> None:
    for pair in read_pairs():
        assert {grade(pair.canon, pair.claim), grade(pair.claim, pair.canon)} <= GRADES


def test_a_statement_never_conflicts_with_itself() -> None:
    sides: list[Side] = [side for pair in read_pairs() for side in (pair.canon, pair.claim)]

    assert [side.statement for side in sides if grade(side, side) == "contradiction"] == []

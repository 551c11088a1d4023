"""Canonry grades the labelled pairs no worse than when it was built."""

from functools import cache

import pytest

from bench.contradictions.grader import grade
from bench.contradictions.measures import Measured, figures_of, measure
from bench.contradictions.pairs import Half, Side, read_pairs, read_set

GRADES = {"contradiction", "possible", None}


@cache
def measure_grades(name: str) -> Measured:
    return measure(read_set(name), grade)


@pytest.mark.parametrize(
    ("name", "half", "precision", "recall", "left_alone"),
    [
        ("statements", Half.DEVELOP, 0.98, 0.94, 0.98),
        ("statements", Half.KEPT, 0.97, 0.61, 0.98),
        ("everyday", Half.DEVELOP, 0.98, 0.82, 0.98),
        ("everyday", Half.KEPT, 0.98, 0.78, 0.98),
        ("classes", Half.DEVELOP, 0.97, 0.57, 0.99),
        ("classes", Half.KEPT, 0.98, 0.46, 0.99),
        ("spoken", Half.DEVELOP, 0.97, 0.8, 0.98),
        ("spoken", Half.KEPT, 0.91, 0.51, 0.98),
        ("varied", Half.DEVELOP, 0.96, 0.36, 0.98),
        ("varied", Half.KEPT, 0.88, 0.34, 0.98),
        ("pairs", Half.DEVELOP, 0.97, 0.79, 0.98),
        ("pairs", Half.KEPT, 0.93, 0.6, 0.98),
    ],
)
def test_a_reported_contradiction_is_one(
    name: str, half: Half, precision: float, recall: float, left_alone: float
) -> None:
    figures = figures_of(measure_grades(name).of(half))

    assert (figures.precision or 0) >= precision
    assert (figures.recall or 0) >= recall
    assert (figures.specificity or 0) >= left_alone


@pytest.mark.parametrize(
    ("name", "language", "recall"),
    [
        ("statements", "de", 0.6),
        ("statements", "es", 0.6),
        ("statements", "fr", 0.9),
        ("everyday", "fr", 0.8),
        ("spoken", "de", 0.45),
        ("spoken", "es", 0.55),
        ("spoken", "fr", 0.6),
    ],
)
def test_other_languages_are_read_by_the_same_code(name: str, language: str, recall: float) -> None:
    figures = figures_of(measure_grades(name).other_languages[language, Half.KEPT])

    assert (figures.precision or 0) >= 0.95
    assert (figures.recall or 0) >= recall


def test_every_pair_is_graded_equally_in_both_orders() -> None:
    for pair in read_pairs():
        assert {grade(pair.canon, pair.claim), grade(pair.claim, pair.canon)} <= GRADES


def test_a_statement_never_conflicts_with_itself() -> None:
    sides: list[Side] = [side for pair in read_pairs() for side in (pair.canon, pair.claim)]

    assert [side.statement for side in sides if grade(side, side) == "contradiction"] == []

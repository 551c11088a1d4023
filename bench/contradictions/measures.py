"""Measures of a function that grades pairs, against their labels."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench.contradictions.pairs import ENGLISH, Half, Label, Pair, Side

PRECISION, RECALL = 0.97, 0.80
"""The aim on the kept half: precision of contradictions, and recall of both grades together."""

Grader: TypeAlias = Callable[[Side, Side], str | None]
"""A grader of a claim against a standing statement: `contradiction`, `possible`, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """A pair, and the grade that it was given."""

    pair: Pair
    given: Label

    @property
    def right(self) -> bool:
        """Return whether the grade is the label."""
        return self.given is self.pair.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Each between 0 and 1, higher is better; None where there is nothing to have a share of.

    `precision` and `recall` are of the contradictions; `specificity` is the share of the
    compatible pairs that are left alone.
    """

    pairs: int
    precision: float | None
    recall: float | None
    possible_precision: float | None
    possible_recall: float | None
    both_precision: float | None
    both_recall: float | None
    specificity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All pairs with their grades; the English ones by half, the others by language."""

    graded: tuple[Graded, ...]

    def of(self, half: Half) -> Sequence[Graded]:
        """The English pairs of a half."""
        return [
            each for each in self.graded if each.pair.half is half and each.pair.language == ENGLISH
        ]

    @property
    def other_languages(self) -> Mapping[tuple[str, Half], Sequence[Graded]]:
        """The pairs that are not English, by their language and half."""
        found: dict[tuple[str, Half], list[Graded]] = {}
        for each in self.graded:
            if each.pair.language != ENGLISH:
                found.setdefault((each.pair.language, each.pair.half), []).append(each)
        return found

    @property
    def kept(self) -> bool:
        """Return whether the kept half reaches the aim; a grader that finds nothing does not."""
        figures = figures_of(self.of(Half.KEPT))
        return (figures.precision or 0.0) >= PRECISION and (figures.both_recall or 0.0) >= RECALL


def measure(pairs: Sequence[Pair], grade: Grader) -> Measured:
    """Every pair as `grade` grades its claim against its canon.

    Raises:
        ValueError: `grade` gave something that is no grade.
    """
    graded = []
    for pair in pairs:
        given = grade(pair.canon, pair.claim)
        label = Label.COMPATIBLE if given is None else Label(given)
        graded.append(Graded(pair=pair, given=label))
    return Measured(graded=tuple(graded))


def figures_of(graded: Sequence[Graded]) -> Figures:
    """Precision and recall of each grade and of both as one, and the share left alone."""
    offered = [each for each in graded if each.given is not Label.COMPATIBLE]
    wanted = [each for each in graded if each.pair.label is not Label.COMPATIBLE]
    both = sum(each.pair.label is not Label.COMPATIBLE for each in offered)
    precision, recall = _of_grade(graded, Label.CONTRADICTION)
    possible_precision, possible_recall = _of_grade(graded, Label.POSSIBLE)
    _, specificity = _of_grade(graded, Label.COMPATIBLE)
    return Figures(
        pairs=len(graded),
        precision=precision,
        recall=recall,
        possible_precision=possible_precision,
        possible_recall=possible_recall,
        both_precision=_share(both, offered),
        both_recall=_share(both, wanted),
        specificity=specificity,
    )


def _of_grade(graded: Sequence[Graded], label: Label) -> tuple[float | None, float | None]:
    """Return the precision and the recall of this grade."""
    given = [each for each in graded if each.given is label]
    labelled = [each for each in graded if each.pair.label is label]
    hits = sum(each.right for each in given)
    return _share(hits, given), _share(hits, labelled)


def confusion(graded: Sequence[Graded]) -> Mapping[str, Counter[tuple[Label, Label]]]:
    """For each kind, in the order of the pairs, how often a label was given which grade."""
    found: dict[str, Counter[tuple[Label, Label]]] = {}
    for each in graded:
        found.setdefault(each.pair.kind, Counter())[each.pair.label, each.given] += 1
    return found


def _share(part: int, whole: Sequence[Graded]) -> float | None:
    return part / len(whole) if whole else None

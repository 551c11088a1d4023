"""Measurements as text: figures, confusion by kind, and the wrong pairs by their ids."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import product

from bench.contradictions.measures import Figures, Graded, Measured, confusion, figures_of
from bench.contradictions.pairs import Half, Label

HEAD = (
    "pairs",
    "precision",
    "recall",
    "poss. prec.",
    "poss. recall",
    "both: prec.",
    "both: recall",
    "left alone",
)
WIDTH = 14
KIND_WIDTH = 18


def report(measured: Measured, title: str = "contradictions") -> str:
    """The report of one set; it holds no statement, so that nobody builds on those kept."""
    lines = [f"{title:<{KIND_WIDTH}}" + "".join(f"{name:>{WIDTH}}" for name in HEAD)]
    for half in Half:
        graded = measured.of(half)
        lines.append(_row(half, figures_of(graded)))
        hard = [each for each in graded if each.pair.hard]
        lines.append(_row(f"{half}, hard", figures_of(hard)))
    for (language, half), others in measured.other_languages.items():
        lines.append(_row(f"{half}, {language}", figures_of(others)))
    for half in Half:
        lines += ["", f"{half}: label > grade", *_table(measured.of(half))]
        lines += [f"{half}, wrong:", *_wrong(measured.of(half))]
    for (language, half), others in measured.other_languages.items():
        lines += [f"{half}, {language}, wrong:", *_wrong(others)]
    return "\n".join(lines) + "\n"


def _row(title: str, figures: Figures) -> str:
    shares = (
        figures.precision,
        figures.recall,
        figures.possible_precision,
        figures.possible_recall,
        figures.both_precision,
        figures.both_recall,
        figures.specificity,
    )
    shown = "".join(f"{'-' if one is None else f'{one:.3f}':>{WIDTH}}" for one in shares)
    return f"{title:<{KIND_WIDTH}}{figures.pairs:>{WIDTH}}{shown}"


def _table(graded: Sequence[Graded]) -> Iterator[str]:
    cells = list(product(Label, Label))
    names = [f"{label[:5]}>{given[:5]}" for label, given in cells]
    yield f"{'':<{KIND_WIDTH}}" + "".join(f"{name:>13}" for name in names)
    for kind, counts in confusion(graded).items():
        yield f"{kind:<{KIND_WIDTH}}" + "".join(f"{counts[cell] or '.':>13}" for cell in cells)


def _wrong(graded: Sequence[Graded]) -> Sequence[str]:
    wrong = [f"{each.pair.id}>{each.given}" for each in graded if not each.right]
    return textwrap.wrap(
        " ".join(wrong) or "none",
        width=100,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )

"""Forms: lists whose lines are labels and values, which say of the document what labels say.

A list of goods looks alike; what stands above a list, and whether its labels are known, decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from canonry.records.notation.labels import LabelledLine

_SUMS: Final = frozenset({"", "tax", "subtotal", "total", "amount_due"})
"""What a line of a list of goods may be that is none; `""` is no known label."""

_GOODS: Final = frozenset({"items", "actions", "agenda", "points", "attendees"})
_KNOWN_IN_A_FORM: Final = 2


def forms_in(lines: Sequence[LabelledLine]) -> frozenset[int]:
    """The places of the lines that stand in lists of labels and values, one below the other.

    A list is such a form where most of its lines are pairs and several of their labels are known,
    and where nothing above it says that it lists goods, tasks or people.
    """
    found: set[int] = set()
    for places, above in _lists(lines):
        if above in _GOODS:
            continue
        pairs = [place for place in places if lines[place].label and lines[place].value]
        known = sum(1 for place in pairs if lines[place].notion not in _SUMS)
        if len(pairs) * 2 > len(places) and known >= _KNOWN_IN_A_FORM:
            found.update(pairs)
    return frozenset(found)


def with_goods_unlabelled(lines: Sequence[LabelledLine]) -> Sequence[LabelledLine]:
    """The lines, where those of a list of goods say nothing of the document but its sums."""
    goods = {place for places, above in _lists(lines) if above in _GOODS for place in places}
    return [
        replace(line, notion="") if place in goods and line.notion not in _SUMS else line
        for place, line in enumerate(lines)
    ]


def _lists(lines: Sequence[LabelledLine]) -> Iterator[tuple[Sequence[int], str]]:
    """The places of the lines of each list, and the notion of the line above it."""
    for listed, group in groupby(range(len(lines)), lambda place: lines[place].listed):
        if listed:
            places = list(group)
            yield places, lines[places[0] - 1].notion if places[0] else ""

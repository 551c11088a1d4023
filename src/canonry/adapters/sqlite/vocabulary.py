"""The vocabulary of the keyword index: how often stems occur in a space, and which are alike."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import apsw

from canonry.domain.keywords import SLIPS_MAX, alike

RUN_MAX: Final = 5_000
"""So many stems with the same first letter are compared with a misspelled one."""

_N: Final = "SELECT n FROM stem_counts WHERE mark = ? AND stem = ?"
_ALIKE: Final = (
    "SELECT stem, n FROM stem_counts WHERE mark = ? AND stem >= ? AND stem < ?"
    " AND length(stem) BETWEEN ? AND ? LIMIT ?"
)
_BEGUN: Final = "SELECT stem, n FROM stem_counts WHERE mark = ? AND stem >= ? AND stem < ? LIMIT ?"
_LAST: Final = "\U0010ffff"


def counts_of(db: apsw.Connection, marks: Sequence[str], stems: Collection[str]) -> Counter[str]:
    """In how many passages of these marks each stem occurs; none has no entry."""
    found: Counter[str] = Counter()
    for mark in marks:
        for stem in stems:
            row: Any = db.execute(_N, (mark, stem)).fetchone()
            if row is not None:
                found[stem] += row[0]
    return found


def resembling(db: apsw.Connection, marks: Sequence[str], stem: str) -> Counter[str]:
    """The stems, with their counts, that `stem` may be a misspelling of; the first letter is right.

    Two letters that are swapped at the very beginning, or a wrong first one, are not forgiven:
    every stem would have to be compared.
    """
    first, length = stem[0], len(stem)
    around = (length - SLIPS_MAX, length + SLIPS_MAX)
    found: Counter[str] = Counter()
    for mark in marks:
        run = (mark, first, first + _LAST, *around, RUN_MAX)
        found.update(dict(alike(stem, _pairs(db, _ALIKE, run))))
    return found


def beginning_with(db: apsw.Connection, marks: Sequence[str], letters: str) -> Counter[str]:
    """The stems that begin with these letters, with their counts."""
    found: Counter[str] = Counter()
    for mark in marks:
        run = (mark, letters, letters + _LAST, RUN_MAX)
        found.update(dict(_pairs(db, _BEGUN, run)))
    return found


def _pairs(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Iterator[tuple[str, int]]:
    yield from db.execute(sql, values)

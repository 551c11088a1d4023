"""The vocabulary of the keyword index: how often stems occur in a space, and which are alike."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import apsw

from canonry.language.texts.stems import lengths_near
from canonry.readmodels.keywords import alike, beginnings_alike

RUN_MAX: Final = 5_000
"""So many stems with the same first letter are compared with a misspelled one."""

MARKS_MAX: Final = 16
LETTERS_MAX: Final = 64
"""So many first letters are tried for one that is wrong; scripts with more have no such slips."""

_NEXT: Final = "SELECT stem FROM stem_counts WHERE mark = ? AND stem > ? ORDER BY stem LIMIT 1"
_AT_ONCE: Final = 32
_COUNTS: Final = (
    "SELECT stem, n FROM stem_counts"  # noqa: S608 - marks for values
    f" WHERE mark = ? AND stem IN ({', '.join('?' * _AT_ONCE)})"
)
_ALIKE: Final = (
    "SELECT stem, n FROM stem_counts WHERE mark = ? AND stem >= ? AND stem < ?"
    " AND length(stem) BETWEEN ? AND ? LIMIT ?"
)
_BEGUN: Final = "SELECT stem, n FROM stem_counts WHERE mark = ? AND stem >= ? AND stem < ? LIMIT ?"
_LAST: Final = "\U0010ffff"


def counts_of(db: apsw.Connection, marks: Sequence[str], stems: Collection[str]) -> Counter[str]:
    """The number of passages with each stem, in these marks; a stem in none has no entry."""
    found: Counter[str] = Counter()
    wanted = tuple(stems)
    for mark in marks:
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            asked = mark, *some, *(None,) * (_AT_ONCE - len(some))
            for stem, n in _pairs(db, _COUNTS, asked):
                found[stem] += n
    return found


def resembling(
    db: apsw.Connection, marks: Sequence[str], stem: str, *, at_start: bool = False
) -> Counter[str]:
    """The stems, with their counts, that `stem` may be a misspelling of; `alike` decides.

    Looking for another first letter takes a hundred lookups a mark, so it is done for few marks
    only.
    """
    around = lengths_near(len(stem))
    found: Counter[str] = Counter()
    for mark in marks if not at_start or len(marks) <= MARKS_MAX else ():
        starts = beginnings_alike(stem, _first_letters(db, mark)) if at_start else (stem[0],)
        for start in sorted(starts):
            run = (mark, start, start + _LAST, *around, RUN_MAX)
            found.update(dict(alike(stem, _pairs(db, _ALIKE, run), at_start=at_start)))
    return found


def _first_letters(db: apsw.Connection, mark: str) -> Iterator[str]:
    """The letters with which stems of this mark begin."""
    after = ""
    for _ in range(LETTERS_MAX):
        row: Any = db.execute(_NEXT, (mark, after)).fetchone()
        if row is None:
            return
        yield row[0][0]
        after = row[0][0] + _LAST


def beginning_with(db: apsw.Connection, marks: Sequence[str], letters: str) -> Counter[str]:
    """The stems that begin with these letters, with their counts."""
    found: Counter[str] = Counter()
    for mark in marks:
        run = (mark, letters, letters + _LAST, RUN_MAX)
        found.update(dict(_pairs(db, _BEGUN, run)))
    return found


def _pairs(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Iterator[tuple[str, int]]:
    yield from db.execute(sql, values)

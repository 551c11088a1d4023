"""Words of an index, and passages that wait for it."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import apsw

from canonry.language.texts.stems import lengths_near, stems_of
from canonry.readmodels.keywords import alike, beginnings_alike
from canonry.readmodels.passages import Collection as PassagesCollection
from canonry.readmodels.passages import Passage
from canonry.readmodels.ports.state import Spaces
from canonry.stores.sqlite.bodies import thing_in
from canonry.stores.sqlite.lookups import CountKey, number
from canonry.stores.sqlite.text.passages import BATCH, StemKey, count_stems, index, passage_of
from canonry.stores.sqlite.views import count

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


# Passages that wait to be indexed, because a transaction of the index costs more than a write.
#
# A write of few passages only notes that they wait; later a transaction of its own indexes many at
# once. A search reads those that wait as well, so that it misses none.

_WaitingRow: TypeAlias = tuple[int, str, bytes]

_PAGE: Final = 500
_KNOWN: Final = 512
_KNOWN_SETS: Final = 16
# CROSS JOIN walks the few that wait first, and never all things.
_WAITING: Final = (
    "SELECT u.n, t.kind, t.body FROM unindexed u CROSS JOIN things t ON t.n = u.n"
    " WHERE u.n > ? ORDER BY u.n LIMIT ?"
)
_NO_MORE: Final = "DELETE FROM unindexed WHERE n = ?"


def index_waiting(db: apsw.Connection) -> int:
    """Index every passage that waits; how many."""
    counted: Counter[CountKey] = Counter()
    stems: Counter[StemKey] = Counter()
    done = 0
    for page in _pages(db):
        index(db, page, counted, stems)
        db.executemany(_NO_MORE, [(n,) for n, _ in page])
        done += len(page)
    count(db, counted)
    count_stems(db, stems)
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """The passages of some spaces that wait, each with its stems, and what they hold together."""

    passages: Sequence[tuple[Passage, Sequence[str]]]
    vocabulary: Mapping[str, int]
    words: int


def waiting(db: apsw.Connection, collection: PassagesCollection, spaces: Spaces) -> Late:
    """The passages of a collection in these spaces that wait."""
    rows = tuple(row for page in _rows(db) for row in page)
    return _late(rows, collection, spaces)


@lru_cache(maxsize=_KNOWN_SETS)
def _late(rows: tuple[_WaitingRow, ...], collection: PassagesCollection, spaces: Spaces) -> Late:
    """What becomes of these rows; kept, because each search asks several times until a write."""
    told = (_told(kind, body) for _, kind, body in rows)
    passages = [
        each
        for each in told
        if each is not None
        and each[0].collection is collection
        and (spaces is None or each[0].space in spaces)
    ]
    vocabulary = Counter(stem for _, stems in passages for stem in set(stems))
    words = sum(len(stems) for _, stems in passages)
    return Late(passages=passages, vocabulary=vocabulary, words=words)


def _pages(db: apsw.Connection) -> Iterator[Sequence[tuple[int, Passage]]]:
    for rows in _rows(db):
        found = ((n, passage_of(thing_in(kind, body))) for n, kind, body in rows)
        yield [(n, passage) for n, passage in found if passage is not None]


def _rows(db: apsw.Connection) -> Iterator[Sequence[_WaitingRow]]:
    after, length = 0, _PAGE
    while length == _PAGE:
        rows = list[Any](db.execute(_WAITING, (after, _PAGE)))
        yield rows
        length = len(rows)
        after = rows[-1][0] if rows else after


@lru_cache(maxsize=_KNOWN)
def _told(kind: str, body: bytes) -> tuple[Passage, Sequence[str]] | None:
    """The passage of a thing that waits, with its stems."""
    passage = passage_of(thing_in(kind, body))
    return None if passage is None else (passage, stems_of(passage.text))


def how_many_wait(db: apsw.Connection) -> int:
    """The number of passages that wait; the count stops at `BATCH`."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM unindexed LIMIT ?)"
    return number(db, sql, (BATCH,))

"""Passages that wait to be indexed, because a transaction of the index costs more than a write.

A write of few passages only notes that they wait; later a transaction of its own indexes many at
once. A search reads those that wait as well, so that it misses none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

import apsw

from canonry.language.texts.stems import stems_of
from canonry.readmodels.passages import Collection, Passage
from canonry.readmodels.ports.state import Spaces
from canonry.stores.sqlite.bodies import thing_in
from canonry.stores.sqlite.listing import CountKey
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.text.passages import BATCH, StemKey, count_stems, index, passage_of
from canonry.stores.sqlite.views import count

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


def waiting(db: apsw.Connection, collection: Collection, spaces: Spaces) -> Late:
    """The passages of a collection in these spaces that wait."""
    rows = tuple(row for page in _rows(db) for row in page)
    return _late(rows, collection, spaces)


@lru_cache(maxsize=_KNOWN_SETS)
def _late(rows: tuple[_WaitingRow, ...], collection: Collection, spaces: Spaces) -> Late:
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

"""Passages that wait to be indexed, because a transaction of the index costs more than a write.

A write of few passages only notes that they wait; later a transaction of its own indexes many at
once. A search reads those that wait as well, so that it misses none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.bodies import thing_in
from canonry.adapters.sqlite.listing import CountKey
from canonry.adapters.sqlite.lookups import number
from canonry.adapters.sqlite.text.passages import BATCH, StemKey, count_stems, index, passage_of
from canonry.adapters.sqlite.views import count
from canonry.domain.recall.passages import Passage

_PAGE: Final = 500
_KNOWN: Final = 512
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


def waiting(db: apsw.Connection) -> Iterator[tuple[int, Passage]]:
    """The passages that wait, with the numbers of their things."""
    for page in _pages(db):
        yield from page


def _pages(db: apsw.Connection) -> Iterator[Sequence[tuple[int, Passage]]]:
    after, length = 0, _PAGE
    while length == _PAGE:
        rows = list[Any](db.execute(_WAITING, (after, _PAGE)))
        found = ((n, _passage(kind, body)) for n, kind, body in rows)
        yield [(n, passage) for n, passage in found if passage is not None]
        length = len(rows)
        after = rows[-1][0] if rows else after


@lru_cache(maxsize=_KNOWN)
def _passage(kind: str, body: bytes) -> Passage | None:
    """The passage of a thing that waits; kept, because each search reads it until it is indexed."""
    return passage_of(thing_in(kind, body))


def how_many_wait(db: apsw.Connection) -> int:
    """The number of passages that wait; the count stops at `BATCH`."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM unindexed LIMIT ?)"
    return number(db, sql, (BATCH,))

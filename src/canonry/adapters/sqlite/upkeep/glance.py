"""A glance: whether every view has as many rows as the others say, without folding a commit.

It reads no payload and decodes nothing, so that it may follow every backup. It shows a view that
was lost or half copied; whether a row says what the records say, only `verify` can tell.
"""

from dataclasses import dataclass
from typing import Final

import apsw

from canonry.adapters.sqlite.lookups import number
from canonry.domain.views.listing import UNCOUNTED, List
from canonry.ports.views.upkeep import Finding

_TOLD: Final = "'turn', 'memory', 'snippet'"
"""Kinds of which every thing is a passage."""

_UNCOUNTED: Final = ", ".join(map(str, sorted(UNCOUNTED)))
_PASSAGES: Final = int(List.PASSAGES)
_LISTED: Final = ", ".join(map(str, sorted({*UNCOUNTED, _PASSAGES, int(List.TIMELINE)})))
_LOST: Final = (
    f"SELECT count(*) FROM things t WHERE t.kind IN ({_TOLD})"  # noqa: S608 - our own SQL
    " AND NOT EXISTS (SELECT 1 FROM passage_stems s WHERE s.n = t.n)"
    " AND NOT EXISTS (SELECT 1 FROM unindexed u WHERE u.n = t.n)"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements that give one number, and what it means where they do not."""

    where: str
    what: str
    one: str
    two: str

    def look(self, db: apsw.Connection) -> Finding | None:
        """What does not agree; `db` sees one moment of the store."""
        if number(db, self.one) == number(db, self.two):
            return None
        return Finding(where=self.where, what=self.what)


PAIRS: Final = (
    Pair(
        "passages",
        "the index of words has not the passages that it is said to have",
        "SELECT count(*) FROM passages_docsize",
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list = {_PASSAGES} AND facet = 'passages'",  # noqa: S608
    ),
    Pair(
        "passage_stems",
        "the stems are not those of as many passages as there are",
        "SELECT count(*) FROM passage_stems",
        "SELECT count(*) FROM passages_docsize",
    ),
    Pair(
        "things",
        "something that was told is neither indexed nor waits to be",
        _LOST,
        "SELECT 0",
    ),
    Pair(
        "listing",
        "the lists have not the rows that they are said to have",
        f"SELECT count(*) FROM listing WHERE list NOT IN ({_UNCOUNTED})",  # noqa: S608
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list NOT IN ({_LISTED})",  # noqa: S608
    ),
)
"""Each is looked at in a moment of its own, since long ones keep the log from being emptied."""

"""A glance: whether every view has as many rows as the others say, without folding a commit.

It reads no payload and decodes nothing, so that it may follow every backup. It shows a view that
was lost or half copied; whether a row says what the records say, only `verify` can tell.
"""

from collections.abc import Sequence
from typing import Final

import apsw

from canonry.adapters.sqlite.upkeep.scratch import number
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
_AGREEING: Final = (
    (
        "passages",
        "the index of words has not the passages that it is said to have",
        "SELECT count(*) FROM passages_docsize",
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list = {_PASSAGES} AND facet = 'passages'",  # noqa: S608
    ),
    (
        "passage_stems",
        "the stems are not those of as many passages as there are",
        "SELECT count(*) FROM passage_stems",
        "SELECT count(*) FROM passages_docsize",
    ),
    (
        "things",
        "something that was told is neither indexed nor waits to be",
        _LOST,
        "SELECT 0",
    ),
    (
        "listing",
        "the lists have not the rows that they are said to have",
        f"SELECT count(*) FROM listing WHERE list NOT IN ({_UNCOUNTED})",  # noqa: S608
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list NOT IN ({_LISTED})",  # noqa: S608
    ),
)


def glance_at(db: apsw.Connection) -> Sequence[Finding]:
    """What does not agree; `db` sees one moment of the store."""
    return tuple(
        Finding(where=where, what=what)
        for where, what, one, two in _AGREEING
        if number(db, one) != number(db, two)
    )

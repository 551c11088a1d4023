"""Placing: the scene and place of passages that another index found, read from this index alone.

Hundreds are placed for each search, so their things are not decoded; only what waits to be indexed
is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import apsw

from canonry.readmodels.listing import List
from canonry.readmodels.ports.text import Hit, TextQuery
from canonry.stores.sqlite.packing import pack, unpack
from canonry.stores.sqlite.pages import counted
from canonry.stores.sqlite.text.passages import mark_of
from canonry.stores.sqlite.text.waiting import waiting
from canonry.values.json_values import decode_json

_AT_ONCE: Final = 64
_NO_SHARES: Final[Mapping[str, float]] = MappingProxyType({})
# One row for many: each row that is handed over is a chance to wait for another thread.
_PLACES: Final = (
    "SELECT json_group_array("  # noqa: S608 - marks for values
    "json_array(s.id, s.scene, s.place, s.entities, s.mark, s.source))"
    " FROM things t CROSS JOIN passage_stems s ON s.n = t.n"
    f" WHERE t.id IN ({', '.join('?' * _AT_ONCE)})"
)


def placed(db: apsw.Connection, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
    """Those of `ids` that the filters of `query` allow, whatever words they hold, in no order."""
    marks, wanted = _marks_asked(db, query), frozenset(ids)
    rows = _rows(db, tuple(wanted))
    source, without = query.source_id, query.without_scene
    hits = [
        Hit(identity, 0.0, _NO_SHARES, scene, place, tuple(about.split()) if about else ())
        for identity, scene, place, about, mark, origin in rows
        if mark in marks
        and (source is None or source == origin)
        and (without is None or without != scene)
        and (not query.entities or not query.entities.isdisjoint(about.split()))
    ]
    if len(rows) < len(wanted):
        hits += _waiting(db, wanted.difference([row[0] for row in rows]), query)
    return hits


def _marks_asked(db: apsw.Connection, query: TextQuery) -> frozenset[str]:
    if query.spaces is not None:
        return frozenset(mark_of(space, query.collection) for space in query.spaces)
    rows = counted(db, List.PASSAGES, str(query.collection), None)
    return frozenset(mark_of(unpack(space), query.collection) for space, _, _ in rows)


def _rows(db: apsw.Connection, ids: Sequence[str]) -> Sequence[Any]:
    """The rows of these ids, asked for in blocks of one size: one prepared statement does."""
    found: list[Any] = []
    for start in range(0, len(ids), _AT_ONCE):
        some = [pack(identity) for identity in ids[start : start + _AT_ONCE]]
        asked = *some, *(None,) * (_AT_ONCE - len(some))
        row: Any = db.execute(_PLACES, asked).fetchone()
        found += decode_json(row[0].encode())
    return found


def _waiting(db: apsw.Connection, ids: frozenset[str], query: TextQuery) -> Iterator[Hit]:
    for passage, _ in waiting(db, query.collection, query.spaces).passages:
        if passage.id in ids and query.allows(passage):
            scene, place, about = passage.scene_id, passage.place, passage.entities
            yield Hit(passage.id, 0.0, _NO_SHARES, scene, place, about)

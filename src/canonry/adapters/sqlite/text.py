"""Keyword search with FTS5: the index finds candidates, the formula ranks them.

FTS5 ranks with figures of the whole table. Here it only picks the best candidates of each space;
their scores come from BM25 over the figures of the spaces asked for, and of nothing else.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.adapters.sqlite.listing import List
from canonry.adapters.sqlite.packing import unpack
from canonry.adapters.sqlite.pages import counted
from canonry.adapters.sqlite.passages import (
    entity_in,
    mark_of,
    scene_in,
    source_in,
    word_in,
)
from canonry.adapters.sqlite.readers import Readers
from canonry.adapters.sqlite.waiting import waiting
from canonry.domain.encoding import decode_thing
from canonry.domain.errors import CanonryError, Unavailable
from canonry.domain.passages import Passage, passages_of
from canonry.domain.words import terms_of
from canonry.ports.views.text import Hit, Text, TextQuery

K1: Final = 1.2
B: Final = 0.75
TERMS_LOOKED_UP: Final = 256
TERMS_SEARCHED: Final = 32
FREQUENT: Final = 1000
"""A word in more passages than this, and in a tenth of all, is left out where rarer ones exist."""

_RARE_SHARE: Final = 10
_CANDIDATES: Final = 64
_TERM: Final = "SELECT doc FROM passage_terms WHERE term = ?"
_COUNT: Final = "SELECT count(*) FROM passages WHERE passages MATCH ?"
_FIND: Final = (
    "SELECT t.kind, t.body FROM (SELECT rowid AS n FROM passages WHERE passages MATCH ?"
    " ORDER BY bm25(passages, 1.0, 0.0), rowid LIMIT ?) AS found JOIN things t ON t.n = found.n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """Passages searched, their mean length, and in how many of them each term occurs."""

    passages: int
    length: float
    found_in: Mapping[str, int]


class _Counted:
    """A passage with how often it holds each word."""

    __slots__ = ("count", "passage")

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.count = Counter(terms_of(passage.text))


class SqliteText(Text):
    """Reads what the ledger folded in its own transactions."""

    def __init__(self, readers: Readers) -> None:
        """Read through `readers`."""
        self._readers = readers

    @override
    async def search(self, query: TextQuery) -> Sequence[Hit]:
        terms = list(dict.fromkeys(terms_of(query.text)))[:TERMS_LOOKED_UP]
        if not terms or query.limit < 1:
            return []
        try:
            return await self._readers.long(lambda db: _search(db, query, terms), together=True)
        except CanonryError as error:
            message = "keyword search did not answer; go on without it"
            raise Unavailable("text.unavailable", message, cause=error.code) from error


def _search(db: apsw.Connection, query: TextQuery, terms: Sequence[str]) -> Sequence[Hit]:
    sizes: Counter[str] = Counter()
    words = 0
    for packed, facet, n in counted(db, List.PASSAGES, str(query.collection), query.spaces):
        if facet == "passages":
            sizes[unpack(packed)] = n
        else:
            words += n
    late = [_Counted(passage) for _, passage in waiting(db) if _asked_for(query, passage)]
    found_in = Counter({term: _found_in(db, query, sizes, term) for term in terms})
    for item in late:
        found_in.update(found_in.keys() & item.count.keys())
    figures = _Figures(
        passages=sum(_size(db, query, space, n) for space, n in sizes.items()) + len(late),
        length=(words + sum(item.count.total() for item in late)) / (sizes.total() + len(late) or 1)
        or 1,
        found_in=found_in,
    )
    searched = _choose(figures)
    hits = [hit for item in late for hit in _hit(item, figures)]
    for space in sizes if searched else ():
        match = _match(query, space, searched)
        for kind, body in db.execute(_FIND, (match, max(_CANDIDATES, 4 * query.limit))):
            for passage in passages_of(decode_thing(kind, body)):
                if passage.space == space:
                    hits += _hit(_Counted(passage), figures)
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))[: query.limit]


def _asked_for(query: TextQuery, passage: Passage) -> bool:
    return (
        passage.collection is query.collection
        and (query.spaces is None or passage.space in query.spaces)
        and (not query.entities or not query.entities.isdisjoint(passage.entities))
        and query.source_id in {None, passage.source_id}
        and (query.without_scene is None or passage.scene_id != query.without_scene)
    )


def _found_in(db: apsw.Connection, query: TextQuery, spaces: Mapping[str, int], term: str) -> int:
    total = 0
    for space in spaces:
        mark = mark_of(space, query.collection)
        if _narrow(query, mark):
            total += _one(db, _COUNT, _match(query, space, (term,)))
        else:
            total += _one(db, _TERM, word_in(mark, term).encode().lower().decode())
    return total


def _size(db: apsw.Connection, query: TextQuery, space: str, everything: int) -> int:
    """How many passages of the space the filters leave."""
    mark = mark_of(space, query.collection)
    narrow = _narrow(query, mark)
    if narrow:
        out = _out(query, mark)
        return _one(db, _COUNT, f"({narrow}) NOT {out}" if out else narrow)
    if query.without_scene is not None:
        return everything - _one(db, _COUNT, _out(query, mark))
    return everything


def _choose(figures: _Figures) -> Sequence[str]:
    """The rarest terms; frequent ones only where there are no others."""
    present = sorted((n, term) for term, n in figures.found_in.items() if n > 0)
    limit = max(FREQUENT, figures.passages // _RARE_SHARE)
    rare = [term for n, term in present if n <= limit]
    return rare[:TERMS_SEARCHED] or [term for _, term in present[:2]]


def _match(query: TextQuery, space: str, terms: Sequence[str]) -> str:
    mark = mark_of(space, query.collection)
    match = f"({' OR '.join(_quoted(word_in(mark, term)) for term in terms)})"
    narrow, out = _narrow(query, mark), _out(query, mark)
    if narrow:
        match = f"({match} AND {narrow})"
    return f"{match} NOT {out}" if out else match


def _narrow(query: TextQuery, mark: str) -> str:
    """What a passage must be marked with."""
    parts = []
    if query.entities:
        named = " OR ".join(_quoted(entity_in(mark, e)) for e in sorted(query.entities))
        parts.append(f"({named})")
    if query.source_id is not None:
        parts.append(_quoted(source_in(mark, query.source_id)))
    return " AND ".join(parts)


def _out(query: TextQuery, mark: str) -> str:
    """What a passage must not be marked with."""
    return "" if query.without_scene is None else _quoted(scene_in(mark, query.without_scene))


def _quoted(token: str) -> str:
    return f'"{token}"'


def _one(db: apsw.Connection, sql: str, value: str) -> int:
    row: Any = db.execute(sql, (value,)).fetchone()
    return 0 if row is None else int(row[0])


def _hit(item: _Counted, figures: _Figures) -> Sequence[Hit]:
    count = item.count
    found = sorted(figures.found_in.keys() & count.keys())
    raw = 0.0
    for term in found:
        n = figures.found_in[term]
        idf = math.log(1 + (max(figures.passages - n, 0) + 0.5) / (n + 0.5))
        norm = count[term] + K1 * (1 - B + B * count.total() / figures.length)
        raw += idf * count[term] * (K1 + 1) / norm
    if raw <= 0:
        return ()
    return (Hit(passage=item.passage, score=raw / (raw + 1), terms=tuple(found)),)

"""Text in SQLite: passages by their words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.readmodels.keywords import (
    POSTINGS_MAX,
    Figures,
    Measure,
    Sought,
    alike,
    doubted,
    measure,
    most_frequent,
    picked,
    sought_in,
)
from canonry.readmodels.listing import List
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ranking import Asked
from canonry.stores.sqlite.bodies import pack, unpack
from canonry.stores.sqlite.keeping import SqliteView
from canonry.stores.sqlite.pages import counted
from canonry.stores.sqlite.text.passages import entity_in, mark_of, scene_in, source_in, word_in
from canonry.stores.sqlite.text.vocabulary import beginning_with, counts_of, resembling, waiting
from canonry.values.errors import CanonryError, Unavailable
from canonry.values.json_values import decode_json

# Placing: the scene and place of passages that another index found, read from this index alone.
#
# Hundreds are placed for each search, so their things are not decoded; only what waits to be
# indexed is.

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
        missing = wanted.difference([row[0] for row in rows])
        late = (passage for passage, _ in waiting(db, query.collection, query.spaces).passages)
        hits += [Hit.of(p, _NO_SHARES) for p in late if p.id in missing and query.allows(p)]
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


# Keyword search with FTS5: the index finds candidates, the formula ranks them.
#
# FTS5 ranks with figures of the whole table. Here it only picks the best candidates of each space;
# their scores come from BM25 over the figures of the spaces asked for, and of nothing else.
# Frequent terms do not pick candidates as long as rarer ones do, because their lists are long; they
# still count in the scores of what is found.

# One row for all: each row that is handed over is a chance to wait for another thread.
_FIND: Final = (
    "SELECT json_group_array(json_array(s.id, s.scene, s.place, s.entities, s.stems))"
    " FROM (SELECT rowid AS n FROM passages WHERE passages MATCH ?"
    " ORDER BY bm25(passages, 1.0, 0.0), rowid LIMIT ?) AS found"
    " JOIN passage_stems s ON s.n = found.n"
)


class SqliteText(SqliteView, Text):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        sought = sought_in(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
        try:
            return await self._readers.long(lambda db: _search(db, query, sought), together=True)
        except CanonryError as error:
            raise _silent(error) from error

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        wanted = frozenset(stems)
        try:
            return await self._readers.consistent(lambda db: _figures(_Corpus(db, query), wanted))
        except CanonryError as error:
            raise _silent(error) from error

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        if not wanted:
            return ()
        try:
            return await self._readers.consistent(lambda db: placed(db, wanted, query))
        except CanonryError as error:
            raise _silent(error) from error


def _silent(error: CanonryError) -> Unavailable:
    message = "keyword search did not answer; go on without it"
    return Unavailable("text.unavailable", message, cause=error.code)


class _Corpus:
    """The passages of a collection in the spaces asked for: indexed ones, and those that wait."""

    def __init__(self, db: apsw.Connection, query: TextQuery) -> None:
        self.db = db
        self.sizes: Counter[str] = Counter()
        words = 0
        for packed, facet, n in counted(db, List.PASSAGES, str(query.collection), query.spaces):
            if facet == "passages":
                self.sizes[unpack(packed)] = n
            else:
                words += n
        self.late = waiting(db, query.collection, query.spaces)
        self.vocabulary = self.late.vocabulary
        self.marks = [mark_of(space, query.collection) for space in self.sizes]
        self.passages = self.sizes.total() + len(self.late.passages)
        self.length = (words + self.late.words) / (self.passages or 1) or 1

    def counts(self, stems: Iterable[str]) -> Counter[str]:
        """In how many passages each of `stems` occurs."""
        wanted = frozenset(stems)
        late = {stem: n for stem in wanted if (n := self.vocabulary.get(stem))}
        return counts_of(self.db, self.marks, wanted) + Counter(late)

    def resembling(self, stem: str) -> Mapping[str, int]:
        """The words that a stem may be a misspelling of."""
        found = self._alike(stem) or self._alike(stem, at_start=True)
        return most_frequent(found.items())

    def _alike(self, stem: str, *, at_start: bool = False) -> Counter[str]:
        late = dict(alike(stem, self.vocabulary.items(), at_start=at_start))
        return resembling(self.db, self.marks, stem, at_start=at_start) + Counter(late)

    def beginning(self, letters: str) -> Mapping[str, int]:
        """The words that begin with these letters."""
        late = {stem: n for stem, n in self.vocabulary.items() if stem.startswith(letters)}
        return most_frequent((beginning_with(self.db, self.marks, letters) + Counter(late)).items())


def _search(db: apsw.Connection, query: TextQuery, sought: Sought) -> TextFound:
    corpus = _Corpus(db, query)
    figures = _figures(corpus, (*sought.stems, *(stem for p in sought.phrases for stem in p)))
    unknown = doubted(sought, figures.found_in)
    corrected = {stem: corpus.resembling(stem) for stem in unknown}
    begun = {letters: corpus.beginning(letters) for letters in sought.begun}
    figures = figures.knowing((*corrected.values(), *begun.values()))
    scores = measure(sought, figures, corrected=corrected, begun=begun)
    hits = [
        Hit.of(passage, shares)
        for passage, stems in corpus.late.passages
        if query.allows(passage) and (shares := scores.shares(stems))
    ]
    rare = picked(figures, scores)
    for space in corpus.sizes if rare else ():
        match = _match(query, space, (*((stem,) for stem in rare), *_readable(sought, figures)))
        hits += _indexed(db, match, query.limit, scores)
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    asked = scores.asked(hits[0].shares if hits else {})
    return TextFound(hits=hits[: query.limit], asked=asked)


def _figures(corpus: _Corpus, stems: Iterable[str]) -> Figures:
    return Figures(passages=corpus.passages, length=corpus.length, found_in=corpus.counts(stems))


def _indexed(db: apsw.Connection, match: str, limit: int, scores: Measure) -> Iterator[Hit]:
    row: Any = db.execute(_FIND, (match, limit)).fetchone()
    found: Sequence[tuple[str, str | None, int | None, str, str]] = decode_json(row[0].encode())
    told = scores.shares
    for identity, scene, place, entities, stems in found:
        if shares := told(stems.split(" ")):
            raw = sum(shares.values())
            about = tuple(entities.split()) if entities else ()
            yield Hit(identity, raw / (raw + 1), shares, scene, place, about)


def _readable(sought: Sought, figures: Figures) -> Iterator[Sequence[str]]:
    """The phrases that some passage may hold and whose rarest word is rare enough to look up."""
    for phrase in sought.phrases:
        if 0 < min(figures.found_in.get(stem, 0) for stem in phrase) <= POSTINGS_MAX:
            yield phrase


def _match(query: TextQuery, space: str, phrases: Iterable[Sequence[str]]) -> str:
    mark = mark_of(space, query.collection)
    words = (" ".join(word_in(mark, stem) for stem in phrase) for phrase in phrases)
    match = f"({' OR '.join(map(_quoted, words))})"
    narrow = _narrow(query, mark)
    if narrow:
        match = f"({match} AND {narrow})"
    if query.without_scene is not None:
        match = f"{match} NOT {_quoted(scene_in(mark, query.without_scene))}"
    return match


def _narrow(query: TextQuery, mark: str) -> str:
    """The marks that the filters of a query ask for."""
    parts = []
    if query.entities:
        named = " OR ".join(_quoted(entity_in(mark, e)) for e in sorted(query.entities))
        parts.append(f"({named})")
    if query.source_id is not None:
        parts.append(_quoted(source_in(mark, query.source_id)))
    return " AND ".join(parts)


def _quoted(token: str) -> str:
    return f'"{token}"'

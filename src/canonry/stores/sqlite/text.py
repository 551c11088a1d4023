"""Text search in SQLite: words of the index, queued passages, and search."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import apsw
from typing_extensions import override

from canonry.language.texts.stems import lengths_near, stems_of
from canonry.log.ports.world import translating
from canonry.readmodels.listing import List
from canonry.readmodels.passages import Collection as PassagesCollection
from canonry.readmodels.passages import Passage
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery, no_keyword_search
from canonry.readmodels.ranking import (
    POSTINGS_MAX,
    Asked,
    Figures,
    Measure,
    Sought,
    alike,
    beginnings_alike,
    doubted,
    measure,
    most_frequent,
    picked,
    sought_in,
)
from canonry.stores.sqlite.rows import CountKey, counted, filled, pack, thing_in, unpack
from canonry.stores.sqlite.state import SqliteView
from canonry.stores.sqlite.views import (
    ENTITY,
    SCENE,
    SOURCE,
    StemKey,
    count,
    count_stems,
    index,
    mark_of,
    passage_of,
    sign_in,
    word_in,
)
from canonry.values.errors import CanonryError
from canonry.values.json_values import decode_json

RUN_MAX: Final = 5_000
"""Stems with the same first letter that are compared with a misspelled one."""

MARKS_MAX: Final = 16
LETTERS_MAX: Final = 64
"""First letters that are tried for a wrong one. Scripts with more have no such misspellings."""

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
    """Return the number of passages with each stem in these marks; absent stems have no entry."""
    found: Counter[str] = Counter()
    for mark, some in product(marks, filled(tuple(stems), _AT_ONCE)):
        for stem, n in _pairs(db, _COUNTS, (mark, *some)):
            found[stem] += n
    return found


def resembling(
    db: apsw.Connection, marks: Sequence[str], stem: str, *, at_start: bool = False
) -> Counter[str]:
    """Return the stems, with counts, that `stem` may be a misspelling of, as `alike` decides.

    Trying another first letter takes a hundred lookups per mark, and is done for few marks only.
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
    """Yield the first letters of the stems of this mark."""
    after = ""
    for _ in range(LETTERS_MAX):
        row: Any = db.execute(_NEXT, (mark, after)).fetchone()
        if row is None:
            return
        yield row[0][0]
        after = row[0][0] + _LAST


def _pairs(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Iterator[tuple[str, int]]:
    yield from db.execute(sql, values)


# Passages wait to be indexed, because a transaction of the index costs more than a write.
#
# A write of few passages only queues them. Later, one transaction indexes many. A search reads the
# queued passages too, so it misses none.

_WaitingRow: TypeAlias = tuple[int, str, bytes]

_PAGE: Final = 500
_KNOWN: Final = 512
_KNOWN_SETS: Final = 16
# CROSS JOIN reads the few queued rows first, instead of all items.
_WAITING: Final = (
    "SELECT u.n, t.kind, t.body FROM unindexed u CROSS JOIN things t ON t.n = u.n"
    " WHERE u.n > ? ORDER BY u.n LIMIT ?"
)
_NO_MORE: Final = "DELETE FROM unindexed WHERE n = ?"


def index_waiting(db: apsw.Connection) -> int:
    """Index every queued passage and return their number."""
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
    """Queued passages of some spaces, with their stems and statistics."""

    passages: Sequence[tuple[Passage, Sequence[str]]]
    vocabulary: Mapping[str, int]
    words: int


def waiting(db: apsw.Connection, collection: PassagesCollection, spaces: Spaces) -> Late:
    """Return the queued passages of a collection in these spaces."""
    rows = tuple(row for page in _rows(db) for row in page)
    return _late(rows, collection, spaces)


@lru_cache(maxsize=_KNOWN_SETS)
def _late(rows: tuple[_WaitingRow, ...], collection: PassagesCollection, spaces: Spaces) -> Late:
    """Decode queued rows. Cached, because each search asks several times until the next write."""
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
    """Return the passage of a queued item, with its stems."""
    passage = passage_of(thing_in(kind, body))
    return None if passage is None else (passage, stems_of(passage.text))


# Placing: scene and position of passages that another index found, read from this index.
#
# A search places hundreds of passages, so their items are not decoded. Only queued passages are.

_TEXT_AT_ONCE: Final = 64
_NO_SHARES: Final[Mapping[str, float]] = MappingProxyType({})
# One row for many ids: each row that is fetched may switch to another thread.
_PLACES: Final = (
    "SELECT json_group_array("  # noqa: S608 - marks for values
    "json_array(s.id, s.scene, s.place, s.entities, s.mark, s.source))"
    " FROM things t CROSS JOIN passage_stems s ON s.n = t.n"
    f" WHERE t.id IN ({', '.join('?' * _TEXT_AT_ONCE)})"
)


def placed(db: apsw.Connection, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
    """Return those of `ids` that the filters of `query` allow, whatever their words, unsorted."""
    marks, wanted = _marks_asked(db, query), frozenset(ids)
    rows = _text_rows(db, tuple(wanted))
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


def _text_rows(db: apsw.Connection, ids: Sequence[str]) -> Sequence[Any]:
    """Return the rows of these ids, in blocks of one size, so that one statement is prepared."""
    found: list[Any] = []
    for some in filled(list(map(pack, ids)), _TEXT_AT_ONCE):
        row: Any = db.execute(_PLACES, some).fetchone()
        found += decode_json(row[0].encode())
    return found


# Keyword search with FTS5: the index finds candidates, and BM25 ranks them.
#
# FTS5 ranks by statistics of the whole table. Here it only selects the best candidates of each
# space. Their scores are BM25 over the statistics of the requested spaces only. Frequent terms
# select no candidates while rarer terms do, because their lists are long. They still count in the
# scores.

# One row for all: each row that is fetched may switch to another thread.
_FIND: Final = (
    "SELECT json_group_array(json_array(s.id, s.scene, s.place, s.entities, s.stems))"
    " FROM (SELECT rowid AS n FROM passages WHERE passages MATCH ?"
    " ORDER BY bm25(passages, 1.0, 0.0), rowid LIMIT ?) AS found"
    " JOIN passage_stems s ON s.n = found.n"
)


class SqliteText(SqliteView, Text):
    """Keyword search over the tables that the ledger updates in its own transactions."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        sought = sought_in(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
        with _heard():
            return await self._readers.long(lambda db: _search(db, query, sought), together=True)

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        wanted = frozenset(stems)
        with _heard():
            return await self._read(lambda db: _figures(_Corpus(db, query), wanted))

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        if not wanted:
            return ()
        with _heard():
            return await self._read(lambda db: placed(db, wanted, query))


_heard: Final = translating((CanonryError,), lambda error: no_keyword_search(error.code))


class _Corpus:
    """Passages of a collection in the requested spaces, both indexed and queued."""

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
        """Return the number of passages in which each of `stems` occurs."""
        wanted = frozenset(stems)
        late = {stem: n for stem in wanted if (n := self.vocabulary.get(stem))}
        return counts_of(self.db, self.marks, wanted) + Counter(late)

    def resembling(self, stem: str) -> Mapping[str, int]:
        """Return the words that a stem may be a misspelling of."""
        found = self._alike(stem) or self._alike(stem, at_start=True)
        return most_frequent(found.items())

    def _alike(self, stem: str, *, at_start: bool = False) -> Counter[str]:
        late = dict(alike(stem, self.vocabulary.items(), at_start=at_start))
        return resembling(self.db, self.marks, stem, at_start=at_start) + Counter(late)

    def beginning(self, letters: str) -> Mapping[str, int]:
        """Return the words that begin with these letters."""
        late = {stem: n for stem, n in self.vocabulary.items() if stem.startswith(letters)}
        # The stems that begin with these letters, with their counts.
        found: Counter[str] = Counter()
        for mark in self.marks:
            run = (mark, letters, letters + _LAST, RUN_MAX)
            found.update(dict(_pairs(self.db, _BEGUN, run)))
        return most_frequent((found + Counter(late)).items())


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
    return TextFound.of(hits, scores, query.limit)


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
    """Yield the phrases that a passage may contain and whose rarest word is rare enough."""
    for phrase in sought.phrases:
        if 0 < min(figures.found_in.get(stem, 0) for stem in phrase) <= POSTINGS_MAX:
            yield phrase


def _match(query: TextQuery, space: str, phrases: Iterable[Sequence[str]]) -> str:
    mark = mark_of(space, query.collection)
    words = (" ".join(word_in(mark, stem) for stem in phrase) for phrase in phrases)
    match = f"({' OR '.join(map(_quoted, words))})"
    # The marks for the filters of a query.
    parts = []
    if query.entities:
        named = " OR ".join(_quoted(sign_in(mark, ENTITY, e)) for e in sorted(query.entities))
        parts.append(f"({named})")
    if query.source_id is not None:
        parts.append(_quoted(sign_in(mark, SOURCE, query.source_id)))
    narrow = " AND ".join(parts)
    if narrow:
        match = f"({match} AND {narrow})"
    if query.without_scene is not None:
        match = f"{match} NOT {_quoted(sign_in(mark, SCENE, query.without_scene))}"
    return match


def _quoted(token: str) -> str:
    return f'"{token}"'

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

from canonry.language.texts.stems import near_lengths, stems_of
from canonry.log.ports.world import translate_errors
from canonry.readmodels import ranking
from canonry.readmodels.listing import List
from canonry.readmodels.passages import Collection as PassagesCollection
from canonry.readmodels.passages import Passage
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery, no_keyword_search
from canonry.stores.sqlite import views
from canonry.stores.sqlite.rows import (
    CountKey,
    filled,
    item_in_row,
    list_counts,
    pack_id,
    unpack_id,
)
from canonry.stores.sqlite.state import SqliteView
from canonry.values.errors import CanonryError
from canonry.values.json_values import decode_json

RUN_MAX: Final = 5_000
"""Stems with the same first letter that are compared with a misspelled one."""

MARKS_MAX: Final = 16  # each mark is scanned for each first letter: bench search
LETTERS_MAX: Final = 64
"""First letters that are tried for a wrong one. Scripts with more have no such misspellings."""

_NEXT: Final = "SELECT stem FROM stem_counts WHERE mark = ? AND stem > ? ORDER BY stem LIMIT 1"
_AT_ONCE: Final = 32  # one statement per batch, not per stem: bench search
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
        for stem, n in _select_counts(db, _COUNTS, (mark, *some)):
            found[stem] += n
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


def _select_counts(
    db: apsw.Connection, sql: str, values: tuple[Any, ...]
) -> Iterator[tuple[str, int]]:
    yield from db.execute(sql, values)


# Passages wait to be indexed, because a transaction of the index costs more than a write.
#
# A write of few passages only queues them. Later, one transaction indexes many. A search reads the
# queued passages too, so it misses none.

_QueuedRow: TypeAlias = tuple[int, str, bytes]

_PAGE: Final = 500  # a search holds a page of rows at a time
_KNOWN: Final = 512  # about as many as may be queued
_KNOWN_SETS: Final = 16  # searches between two writes see one queue: bench compare, find
# CROSS JOIN reads the few queued rows first, instead of all items.
_QUEUED: Final = (
    "SELECT u.n, t.kind, t.body FROM unindexed u CROSS JOIN things t ON t.n = u.n"
    " WHERE u.n > ? ORDER BY u.n LIMIT ?"
)


def index_queued(db: apsw.Connection) -> int:
    """Index every queued passage and return their number."""
    counted: Counter[CountKey] = Counter()
    stems: Counter[views.StemKey] = Counter()
    done = 0
    for page in _passage_pages(db):
        views.index_passages(db, page, counted, stems)
        db.executemany("DELETE FROM unindexed WHERE n = ?", [(n,) for n, _ in page])
        done += len(page)
    views.add_counts(db, counted)
    views.count_stems(db, stems)
    return done


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedPassages:
    """Queued passages of some spaces, with their stems and statistics."""

    passages: Sequence[tuple[Passage, Sequence[str]]]
    vocabulary: Mapping[str, int]
    words: int


def queued_passages(
    db: apsw.Connection, collection: PassagesCollection, spaces: Spaces
) -> QueuedPassages:
    """Return the queued passages of a collection in these spaces."""
    rows = tuple(row for page in _queued_rows(db) for row in page)
    return _decode_queued(rows, collection, spaces)


@lru_cache(maxsize=_KNOWN_SETS)
def _decode_queued(
    rows: tuple[_QueuedRow, ...], collection: PassagesCollection, spaces: Spaces
) -> QueuedPassages:
    """Decode queued rows. Cached, because each search asks several times until the next write."""
    decoded = (_decode_passage(kind, body) for _, kind, body in rows)
    passages = [
        each
        for each in decoded
        if each is not None
        and each[0].collection is collection
        and (spaces is None or each[0].space in spaces)
    ]
    vocabulary = Counter(stem for _, stems in passages for stem in set(stems))
    words = sum(len(stems) for _, stems in passages)
    return QueuedPassages(passages=passages, vocabulary=vocabulary, words=words)


def _passage_pages(db: apsw.Connection) -> Iterator[Sequence[tuple[int, Passage]]]:
    for rows in _queued_rows(db):
        found = ((n, views.passage_of(item_in_row(kind, body))) for n, kind, body in rows)
        yield [(n, passage) for n, passage in found if passage is not None]


def _queued_rows(db: apsw.Connection) -> Iterator[Sequence[_QueuedRow]]:
    after, length = 0, _PAGE
    while length == _PAGE:
        rows = list[Any](db.execute(_QUEUED, (after, _PAGE)))
        yield rows
        length = len(rows)
        after = rows[-1][0] if rows else after


@lru_cache(maxsize=_KNOWN)  # each search decodes the queued passages: bench compare, find
def _decode_passage(kind: str, body: bytes) -> tuple[Passage, Sequence[str]] | None:
    """Return the passage of a queued item, with its stems."""
    passage = views.passage_of(item_in_row(kind, body))
    return None if passage is None else (passage, stems_of(passage.text))


# Placing: scene and position of passages that another index found, read from this index.
#
# A search ranks hundreds of passages, so their items are not decoded. Only queued passages are.

_TEXT_AT_ONCE: Final = 64  # one statement of a fixed size stays prepared: bench search
_NO_SHARES: Final[Mapping[str, float]] = MappingProxyType({})
# One row for many ids: each row that is fetched may switch to another thread.
_POSITIONS: Final = (
    "SELECT json_group_array("  # noqa: S608 - marks for values
    "json_array(s.id, s.scene, s.place, s.entities, s.mark, s.source))"
    " FROM things t CROSS JOIN passage_stems s ON s.n = t.n"
    f" WHERE t.id IN ({', '.join('?' * _TEXT_AT_ONCE)})"
)


def find_hits(db: apsw.Connection, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
    """Return those of `ids` that the filters of `query` allow, whatever their words, unsorted."""
    marks, wanted = _marks_asked(db, query), frozenset(ids)
    rows = _text_rows(db, tuple(wanted))
    source, without = query.source_id, query.without_scene
    hits = [
        Hit(identity, 0.0, _NO_SHARES, scene, position, tuple(about.split()) if about else ())
        for identity, scene, position, about, mark, origin in rows
        if mark in marks
        and (source is None or source == origin)
        and (without is None or without != scene)
        and (not query.entities or not query.entities.isdisjoint(about.split()))
    ]
    if len(rows) < len(wanted):
        missing = wanted.difference([row[0] for row in rows])
        queued = (e for e, _ in queued_passages(db, query.collection, query.spaces).passages)
        hits += [Hit.make_hit(p, _NO_SHARES) for p in queued if p.id in missing and query.allows(p)]
    return hits


def _marks_asked(db: apsw.Connection, query: TextQuery) -> frozenset[str]:
    if query.spaces is not None:
        return frozenset(views.mark_of(space, query.collection) for space in query.spaces)
    rows = list_counts(db, List.PASSAGES, str(query.collection), None)
    return frozenset(views.mark_of(unpack_id(space), query.collection) for space, _, _ in rows)


def _text_rows(db: apsw.Connection, ids: Sequence[str]) -> Sequence[Any]:
    """Return the rows of these ids, in blocks of one size, so that one statement is prepared."""
    found: list[Any] = []
    for some in filled(list(map(pack_id, ids)), _TEXT_AT_ONCE):
        row: Any = db.execute(_POSITIONS, some).fetchone()
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
        sought = ranking.parse_query(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=ranking.Asked(terms={}, strongest=0.0))
        with _text_errors():
            return await self._readers.run_long(
                lambda db: _search_passages(db, query, sought), consistent=True
            )

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> ranking.Figures:
        wanted = frozenset(stems)
        with _text_errors():
            return await self._read_consistent(
                lambda db: _corpus_figures(_Corpus(db, query), wanted)
            )

    @override
    async def hits_of_items(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        if not wanted:
            return ()
        with _text_errors():
            return await self._read_consistent(lambda db: find_hits(db, wanted, query))


_text_errors: Final = translate_errors((CanonryError,), lambda error: no_keyword_search(error.code))


class _Corpus:
    """Passages of a collection in the requested spaces, both indexed and queued."""

    def __init__(self, db: apsw.Connection, query: TextQuery) -> None:
        self.db = db
        self.sizes: Counter[str] = Counter()
        words = 0
        for packed, facet, n in list_counts(db, List.PASSAGES, str(query.collection), query.spaces):
            if facet == "passages":
                self.sizes[unpack_id(packed)] = n
            else:
                words += n
        self.queued = queued_passages(db, query.collection, query.spaces)
        self.vocabulary = self.queued.vocabulary
        self.marks = [views.mark_of(space, query.collection) for space in self.sizes]
        self.passages = self.sizes.total() + len(self.queued.passages)
        self.length = (words + self.queued.words) / (self.passages or 1) or 1

    def stem_counts(self, stems: Iterable[str]) -> Counter[str]:
        """Return the number of passages in which each of `stems` occurs."""
        wanted = frozenset(stems)
        queued = {stem: n for stem in wanted if (n := self.vocabulary.get(stem))}
        return counts_of(self.db, self.marks, wanted) + Counter(queued)

    def resembling_words(self, stem: str) -> Mapping[str, int]:
        """Return the words that a stem may be a misspelling of."""
        found = self._alike_stems(stem) or self._alike_stems(stem, at_start=True)
        return ranking.most_frequent(found.items())

    def _alike_stems(self, stem: str, *, at_start: bool = False) -> Counter[str]:
        queued = dict(ranking.words_alike(stem, self.vocabulary.items(), at_start=at_start))
        around = near_lengths(len(stem))
        found: Counter[str] = Counter()
        for mark in self.marks if not at_start or len(self.marks) <= MARKS_MAX else ():
            starts = (
                ranking.beginnings_alike(stem, _first_letters(self.db, mark))
                if at_start
                else (stem[0],)
            )
            for start in sorted(starts):
                run = (mark, start, start + _LAST, *around, RUN_MAX)
                found.update(
                    dict(
                        ranking.words_alike(
                            stem, _select_counts(self.db, _ALIKE, run), at_start=at_start
                        )
                    )
                )
        return found + Counter(queued)

    def words_beginning(self, letters: str) -> Mapping[str, int]:
        """Return the words that begin with these letters."""
        queued = {stem: n for stem, n in self.vocabulary.items() if stem.startswith(letters)}
        # The stems that begin with these letters, with their counts.
        found: Counter[str] = Counter()
        for mark in self.marks:
            run = (mark, letters, letters + _LAST, RUN_MAX)
            found.update(dict(_select_counts(self.db, _BEGUN, run)))
        return ranking.most_frequent((found + Counter(queued)).items())


def _search_passages(db: apsw.Connection, query: TextQuery, sought: ranking.Sought) -> TextFound:
    corpus = _Corpus(db, query)
    figures = _corpus_figures(corpus, (*sought.stems, *(s for p in sought.phrases for s in p)))
    unknown = ranking.doubted_stems(sought, figures.found_in)
    corrected = {stem: corpus.resembling_words(stem) for stem in unknown}
    begun = {letters: corpus.words_beginning(letters) for letters in sought.begun}
    figures = figures.with_words((*corrected.values(), *begun.values()))
    scores = ranking.make_measure(sought, figures, corrected=corrected, begun=begun)
    hits = [
        Hit.make_hit(passage, shares)
        for passage, stems in corpus.queued.passages
        if query.allows(passage) and (shares := scores.term_shares(stems))
    ]
    rare = ranking.pick_rare(figures, scores)
    for space in corpus.sizes if rare else ():
        match = _match_expression(
            query, space, (*((stem,) for stem in rare), *_possible_phrases(sought, figures))
        )
        hits += _indexed_hits(db, match, query.limit, scores)
    return TextFound.best_hits(hits, scores, query.limit)


def _corpus_figures(corpus: _Corpus, stems: Iterable[str]) -> ranking.Figures:
    return ranking.Figures(
        passages=corpus.passages, length=corpus.length, found_in=corpus.stem_counts(stems)
    )


def _indexed_hits(
    db: apsw.Connection, match: str, limit: int, scores: ranking.Measure
) -> Iterator[Hit]:
    row: Any = db.execute(_FIND, (match, limit)).fetchone()
    found: Sequence[tuple[str, str | None, int | None, str, str]] = decode_json(row[0].encode())
    shares_of = scores.term_shares
    for identity, scene, position, entities, stems in found:
        if shares := shares_of(stems.split(" ")):
            raw = sum(shares.values())
            about = tuple(entities.split()) if entities else ()
            yield Hit(identity, raw / (raw + 1), shares, scene, position, about)


def _possible_phrases(sought: ranking.Sought, figures: ranking.Figures) -> Iterator[Sequence[str]]:
    """Yield the phrases that a passage may contain and whose rarest word is rare enough."""
    for phrase in sought.phrases:
        if 0 < min(figures.found_in.get(stem, 0) for stem in phrase) <= ranking.POSTINGS_MAX:
            yield phrase


def _match_expression(query: TextQuery, space: str, phrases: Iterable[Sequence[str]]) -> str:
    mark = views.mark_of(space, query.collection)
    words = (" ".join(views.word_in(mark, stem) for stem in phrase) for phrase in phrases)
    match = f"({' OR '.join(map(_quote_token, words))})"
    # The marks for the filters of a query.
    parts = []
    if query.entities:
        named = " OR ".join(
            _quote_token(views.sign_in(mark, views.ENTITY, e)) for e in sorted(query.entities)
        )
        parts.append(f"({named})")
    if query.source_id is not None:
        parts.append(_quote_token(views.sign_in(mark, views.SOURCE, query.source_id)))
    narrow = " AND ".join(parts)
    if narrow:
        match = f"({match} AND {narrow})"
    if query.without_scene is not None:
        match = f"{match} NOT {_quote_token(views.sign_in(mark, views.SCENE, query.without_scene))}"
    return match


def _quote_token(token: str) -> str:
    return f'"{token}"'

"""Views in SQLite: folding commits into them, and passages into the word index."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import apsw

from canonry.language.texts.stems import stems_of
from canonry.log.commits import Commit
from canonry.log.entries import KIND_NAMES, Entry, StoredItem, Tombstone
from canonry.log.fold_commit import fold_commit, ids_needed
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import Story
from canonry.log.items.sources import Source
from canonry.log.observations import EXTRA_ROUNDS, ids_needed_next
from canonry.log.ports.ledger import Blobs
from canonry.log.sealing import Sealed, require_unaltered, unseal
from canonry.readmodels.listing import UNCOUNTED, List, row_difference
from canonry.readmodels.passages import Collection, Passage, is_searched, passages_of
from canonry.stores.sqlite import catalog, commits
from canonry.stores.sqlite.catalog import Changed
from canonry.stores.sqlite.commits import Stored
from canonry.stores.sqlite.identifiers import update_identifiers, update_timeline
from canonry.stores.sqlite.rows import CountKey, body_of, item_in_row, look_up, pack_id, rows_of
from canonry.values.ids import Space
from canonry.values.observations import Observation

# Passages in the index: each stem follows a mark of its space and collection.
#
# The passages of a stem are listed and counted for each space separately. A small space in a large
# store is searched as fast as if it were alone, and its results reveal nothing about other spaces.

StemKey: TypeAlias = tuple[str, str]
"""A mark and a stem."""

BATCH: Final = 128
"""Passages that enter the index at once. Fewer wait until this many are queued."""

_MARK_BYTES: Final = 6  # part of each indexed row; 48 bits tell all spaces of a store apart
ENTITY, SCENE, SOURCE = "e", "c", "s"
"""Signs for an entity, a scene and a source that passages refer to."""

_INDEX: Final = "INSERT INTO passages (rowid, words, marks) VALUES (?, ?, ?)"
_UNINDEX: Final = "INSERT INTO passages (passages, rowid, words, marks) VALUES ('delete', ?, ?, ?)"
_KEEP: Final = "INSERT INTO passage_stems VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_COUNT: Final = (
    "INSERT INTO stem_counts VALUES (?, ?, ?)"
    " ON CONFLICT (mark, stem) DO UPDATE SET n = n + excluded.n"
)
_UNCOUNT: Final = "DELETE FROM stem_counts WHERE mark = ? AND stem = ? AND n <= 0"


@lru_cache(maxsize=4096)  # one value per collection and space: bench compare, bulk
def mark_of(space: str, collection: Collection) -> str:
    """Return the mark before the words of one collection of one space."""
    return blake2b(f"{space}/{collection}".encode(), digest_size=_MARK_BYTES).hexdigest()


def word_in(mark: str, term: str) -> str:
    """Return a term as it is indexed after its mark. Terms never contain an underscore."""
    return f"{mark}_{term}"


def sign_in(mark: str, sign: str, identity: str) -> str:
    """Return the index word for passages about an entity, or from a scene or a source."""
    digest = blake2b(identity.encode(), digest_size=_MARK_BYTES).hexdigest()
    return f"{mark}@{sign}{digest}"


def passage_of(item: StoredItem | None) -> Passage | None:
    """Return the passage of an item, or None if the item is not searched."""
    return None if item is None else next(passages_of(item), None)


def index_passages(
    db: apsw.Connection,
    passages: Iterable[tuple[int, Passage]],
    counted: Counter[CountKey],
    stem_counts: Counter[StemKey],
) -> None:
    """Add passages to the index and count them. Call `count_stems` afterwards."""
    indexed: list[tuple[int, str, str]] = []
    kept: list[tuple[Any, ...]] = []
    for n, passage in passages:
        stems = stems_of(passage.text)
        mark = mark_of(passage.space, passage.collection)
        indexed.append((n, _marked_words(mark, stems), _all_marks(mark, passage)))
        # Most passages are about their own entity only.
        about = None if passage.entities == (passage.id,) else " ".join(passage.entities)
        stem_text = " ".join(stems)
        scene, position, source = passage.scene_id, passage.turn_index, passage.source_id
        kept.append((n, passage.id, mark, scene, position, source, about, stem_text))
        _count_passage(passage, counted, 1, len(stems))
        stem_counts.update([(mark, stem) for stem in set(stems)])
    db.executemany(_INDEX, indexed)
    db.executemany(_KEEP, kept)


def unindex_passage(
    db: apsw.Connection, n: int, passage: Passage, counted: Counter[CountKey]
) -> None:
    """Remove the passage of the item with row number `n` from the index."""
    stems = stems_of(passage.text)
    mark = mark_of(passage.space, passage.collection)
    db.execute(_UNINDEX, (n, _marked_words(mark, stems), _all_marks(mark, passage)))
    db.execute("DELETE FROM passage_stems WHERE n = ?", (n,))
    _count_passage(passage, counted, -1, -len(stems))
    count_stems(db, {(mark, stem): -1 for stem in set(stems)})


def count_stems(db: apsw.Connection, changes: Mapping[StemKey, int]) -> None:
    """Add `changes` to the counts of stems. A count of zero has no row."""
    ordered = sorted(changes.items())
    db.executemany(_COUNT, [(*key, change) for key, change in ordered])
    db.executemany(_UNCOUNT, [key for key, change in ordered if change < 0])


def _marked_words(mark: str, stems: Sequence[str]) -> str:
    behind = word_in(mark, "")
    return " ".join([behind + stem for stem in stems])


def _count_passage(passage: Passage, counted: Counter[CountKey], passages: int, words: int) -> None:
    count_key = (int(List.PASSAGES), str(passage.collection), pack_id(passage.space))
    counted[*count_key, "passages"] += passages
    counted[*count_key, "words"] += words


def _all_marks(mark: str, passage: Passage) -> str:
    marks = [sign_in(mark, ENTITY, entity) for entity in passage.entities]
    if passage.scene_id is not None:
        marks.append(sign_in(mark, SCENE, passage.scene_id))
    if passage.source_id is not None:
        marks.append(sign_in(mark, SOURCE, passage.source_id))
    return " ".join(marks)


VERSIONED: Final = (Entity, Relation, Fact, Event, Axiom, Source, Story, Space)

_LAST: Final = "SELECT coalesce(max(n), 0) FROM things"
_INSERT: Final = "INSERT INTO things (n, id, kind, body) VALUES (?, ?, ?, ?)"
_UPDATE: Final = "UPDATE things SET kind = ?, body = ? WHERE n = ?"
_KEEP_VERSION: Final = "INSERT INTO versions (id, since, kind, body) VALUES (?, ?, ?, ?)"
_LIST: Final = "INSERT INTO listing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UNLIST: Final = (
    "DELETE FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND rank = ? AND later = ? AND id = ?"
)
_ADD_TO_COUNT: Final = (
    "INSERT INTO counts VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (list, owner, space, facet) DO UPDATE SET n = n + excluded.n"
)
_DROP_EMPTY_COUNT: Final = (
    "DELETE FROM counts WHERE list = ? AND owner = ? AND space = ? AND facet = ? AND n = 0"
)
_KEY: Final = 7  # the first columns of a row of `listing` are its primary key


@dataclass(frozen=True, slots=True)
class Loaded:
    """An item as a view stores it, with its row number and its bytes."""

    n: int
    kind: str
    body: bytes
    item: Any


def load_items(db: apsw.Connection, ids: Iterable[str]) -> dict[str, Loaded]:
    """Return those of `ids` that the view contains."""
    asked = {pack_id(item_id): item_id for item_id in ids}
    return {
        asked[packed]: Loaded(n, kind, body, item_in_row(kind, body, under=packed))
        for packed, (n, kind, body) in look_up(db, asked).items()
    }


def store_items(
    db: apsw.Connection, histories: Iterable[Sequence[StoredItem]], before: Mapping[str, Loaded]
) -> None:
    """Update the views to these items. Each sequence has an item's states, the last one current."""
    counted: Counter[CountKey] = Counter()
    changed = _write_items(db, histories, before)
    _queue_passages(db, changed, counted)
    shown: dict[_ViewUpdate, list[Changed]] = {_update_lists: list(changed)}
    for change in changed:
        _, was, item = change
        for update in _FURTHER_UPDATES.get(type(item if was is None else was), ()):
            shown.setdefault(update, []).append(change)
    for update, some in shown.items():
        update(db, some, counted)
    add_counts(db, counted)


def add_counts(db: apsw.Connection, changes: Mapping[CountKey, int]) -> None:
    """Add `changes` to the counts. A count of zero has no row."""
    if not changes:
        return
    db.executemany(_ADD_TO_COUNT, [(*key, change) for key, change in changes.items() if change])
    less = [key for key, change in changes.items() if change < 0]
    if less:
        db.executemany(_DROP_EMPTY_COUNT, less)


def _write_items(
    db: apsw.Connection, histories: Iterable[Sequence[StoredItem]], before: Mapping[str, Loaded]
) -> Sequence[Changed]:
    """Write the items; return each with its row number and its previous state."""
    last: Any = db.execute(_LAST).fetchone()[0]  # type: ignore[index] # there is always a row
    written: list[Changed] = []
    rows: list[tuple[Any, ...]] = []
    for stages in histories:
        item = stages[-1]
        old = before.get(item.id)
        kind = KIND_NAMES[type(item)]
        body = body_of(kind, item)
        if isinstance(item, VERSIONED) and (old is not None or len(stages) > 1):
            db.executemany(_KEEP_VERSION, _former_versions(old, stages))
        if old is None:
            last += 1
            rows.append((last, pack_id(item.id), kind, body))
            written.append((last, None, item))
            continue
        db.execute(_UPDATE, (kind, body, old.n))
        if isinstance(item, Tombstone):
            db.execute("DELETE FROM versions WHERE id = ?", (pack_id(item.id),))
        written.append((old.n, old.item, item))
    db.executemany(_INSERT, rows)
    return written


def _former_versions(old: Loaded | None, stages: Sequence[StoredItem]) -> list[tuple[Any, ...]]:
    """Return the former states of an item, each with the position since which it held."""
    past = [] if old is None else [(old.item, old.kind, old.body)]
    for item in stages[:-1]:
        kind = KIND_NAMES[type(item)]
        past.append((item, kind, body_of(kind, item)))
    return [
        (pack_id(item.id), item.changed_at, kind, body)
        for (item, kind, body), after in zip(past, stages[len(stages) - len(past) :], strict=True)
        if item.changed_at < after.changed_at
    ]


def _change_sides(changed: Sequence[Changed]) -> tuple[Sequence[StoredItem], Sequence[StoredItem]]:
    """Return the items before and after the change."""
    return [was for _, was, _ in changed if was is not None], [item for _, _, item in changed]


def _update_lists(
    db: apsw.Connection, changed: Sequence[Changed], counted: Counter[CountKey]
) -> None:
    dropped, put = row_difference(rows_of, *_change_sides(changed))
    if dropped:
        db.executemany(_UNLIST, [row[:_KEY] for row in dropped])
    if put:
        db.executemany(_LIST, put)
    counted.subtract([row[:4] for row in dropped if row[0] not in UNCOUNTED])
    counted.update([row[:4] for row in put if row[0] not in UNCOUNTED])


def _queue_passages(
    db: apsw.Connection, changed: Sequence[Changed], counted: Counter[CountKey]
) -> None:
    """Queue passages that are new or changed for indexing. Large numbers are indexed at once."""
    many = len(changed) >= BATCH
    queued: list[int] = []
    texts: list[tuple[int, Passage]] = []
    for n, was, item in changed:
        if was is None and not many:
            if is_searched(item):
                queued.append(n)
            continue
        gone, come = passage_of(was), passage_of(item)
        if gone == come:
            continue
        if gone is not None:
            db.execute("DELETE FROM unindexed WHERE n = ?", (n,))
            if db.changes() == 0:
                unindex_passage(db, n, gone, counted)
        if come is not None:
            queued.append(n)
            texts.append((n, come))
    if many and len(queued) >= BATCH:
        stems: Counter[StemKey] = Counter()
        index_passages(db, texts, counted, stems)
        count_stems(db, stems)
    else:
        db.executemany("INSERT INTO unindexed VALUES (?)", [(n,) for n in queued])


def _update_identifiers(
    db: apsw.Connection, changed: Sequence[Changed], _: Counter[CountKey]
) -> None:
    update_identifiers(db, *_change_sides(changed))


def _update_dates(
    db: apsw.Connection, changed: Sequence[Changed], counted: Counter[CountKey]
) -> None:
    update_timeline(db, *_change_sides(changed), counted)


def _update_catalog(db: apsw.Connection, changed: Sequence[Changed], _: Counter[CountKey]) -> None:
    catalog.update_catalog(db, changed)


_ViewUpdate: TypeAlias = Callable[[apsw.Connection, Sequence[Changed], Counter[CountKey]], None]
_FURTHER_UPDATES: Final[Mapping[type[StoredItem], tuple[_ViewUpdate, ...]]] = {
    Entity: (_update_identifiers, _update_dates, _update_catalog),
    Observation: (_update_dates,),
    Relation: (_update_catalog,),
    Space: (_update_catalog,),
}
"""Functions that update further tables for a type of item, besides lists and texts."""


PAGE: Final = 200  # bounds the memory of a rebuild

Fetch = Callable[[str], bytes]
"""Returns the bytes of a blob by its digest."""


def fetch_on_loop(blobs: Blobs) -> Fetch:
    """Return a function that reads a blob from a thread while the event loop continues."""
    loop = asyncio.get_running_loop()
    return lambda digest: asyncio.run_coroutine_threadsafe(blobs.get_bytes(digest), loop).result()


class CommitFold:
    """Folds commits in order. Reads the affected items once and writes them once at the end."""

    def __init__(self, db: apsw.Connection, entries: Iterable[Entry]) -> None:
        """Load from the views of `db` the items that folding `entries` reads."""
        self._db = db
        self._before: dict[str, Loaded] = {}
        self._now: dict[str, StoredItem] = {}
        self._asked: set[str] = set()
        self._stages: dict[str, list[StoredItem]] = {}
        self._known_items(ids_needed(entries))

    def fold_commit(self, commit: Commit) -> frozenset[str]:
        """Fold the next commit and return the keys that it touched."""
        wanted = ids_needed(commit.entries)
        items = self._known_items(wanted)
        for _round in range(EXTRA_ROUNDS):
            items |= self._known_items(ids_needed_next(commit.entries, items).difference(wanted))
        changes = fold_commit(commit, items)
        self._now.update(changes.items)
        for item in changes.items.values():
            self._stages.setdefault(item.id, []).append(item)
        return changes.touched

    def write_views(self) -> None:
        """Write the folded items to the views."""
        store_items(self._db, self._stages.values(), self._before)

    def _known_items(self, ids: frozenset[str]) -> dict[str, StoredItem]:
        """Return those of `ids` that exist, and load those that nobody has asked for."""
        fresh = ids - self._asked
        self._asked |= fresh
        found = load_items(self._db, fresh - self._now.keys())
        self._before |= found
        self._now |= {i: item.item for i, item in found.items()}
        return {i: self._now[i] for i in ids if i in self._now}


def fold_into(db: apsw.Connection, commit: Commit) -> frozenset[str]:
    """Fold `commit` into the views of `db` and return the keys that it touched."""
    commit_fold = CommitFold(db, commit.entries)
    touched = commit_fold.fold_commit(commit)
    commit_fold.write_views()
    return touched


def stored_commits(
    db: apsw.Connection, *, after: int = 0, until: int | None = None
) -> Iterator[Stored]:
    """Yield the commits past the number `after`, in the order in which the store took them.

    Commits are read in pages. Between two pages no statement runs.
    """
    while page := commits.by_seq(db, after=after, limit=PAGE):
        for stored in page:
            if until is not None and stored.seq > until:
                return
            yield stored
        after = page[-1].seq


def complete_commit(stored: Stored, fetch: Fetch, left_out: frozenset[int] = frozenset()) -> Sealed:
    """Return the sealed commit with its blob payloads, but without those in `left_out`."""
    blobs = {entry: digest for entry, digest in stored.blobs.items() if entry not in left_out}
    sealed = stored.with_payloads({entry: fetch(digest) for entry, digest in blobs.items()})
    if not left_out:
        return sealed
    parts = (None if i in left_out else part for i, part in enumerate(sealed.parts))
    return replace(sealed, parts=tuple(parts))


def fold_all(
    db: apsw.Connection,
    fetch: Fetch,
    *,
    after: int = 0,
    seen: Callable[[int], None] = lambda _: None,
    touched: Callable[[Stored, frozenset[str]], None] = lambda _stored, _keys: None,
) -> int:
    """Fold the commits past the number `after` into the views; return the last number.

    `touched` receives the keys that each commit touches.
    """
    for stored in stored_commits(db, after=after):
        touched(stored, fold_into(db, unseal(require_unaltered(complete_commit(stored, fetch)))))
        after = stored.seq
        seen(after)
    return after

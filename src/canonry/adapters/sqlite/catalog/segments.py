"""The segments of a project's search index: built whole and never changed but for what leaves.

Texts that no segment has yet are fresh, and are read one by one. Once they are many they become a
small segment, and small segments one large one, so that a text is indexed twice in its life. In a
segment the newest document comes first. What leaves stays in the postings, marked as gone, until
half of its segment is; an erasure builds such segments anew at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.packing import Packed, in_order, pack
from canonry.domain.catalog.catalog import CatalogItem, fold
from canonry.domain.vocabularies.catalog_kinds import CONTENT_KINDS

SMALL: Final = 2_048
"""So many documents are read one by one at most, and make a small segment."""

SMALL_LENGTH: Final = 750_000
"""So many characters do as well, however few documents they are."""

TOGETHER: Final = 4
"""So many small segments become a large one, which bounds the memory that building takes."""

DOCUMENT_LENGTH_MAX: Final = 65_000
"""A text of more characters stays fresh for good: a place in a document has two bytes."""

TABLES: Final = (
    "catalog_texts",
    "catalog_fresh",
    "catalog_segments",
    "catalog_documents",
    "catalog_kinds",
    "catalog_postings",
)

_TEXT: Final = "INSERT INTO catalog_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_NO_TEXT: Final = "DELETE FROM catalog_texts WHERE n = ?"
_FRESH: Final = "INSERT INTO catalog_fresh VALUES (?, ?, ?)"
_NOT_FRESH: Final = "DELETE FROM catalog_fresh WHERE space = ? AND n = ?"
_WAITING: Final = (
    "SELECT count(*), coalesce(sum(length), 0) FROM catalog_fresh WHERE space = ? AND length <= ?"
)
_FRESH_ONES: Final = "SELECT n, length FROM catalog_fresh WHERE space = ? AND length <= ?"
_WHERE: Final = "SELECT segment, document FROM catalog_documents WHERE n = ?"
_GONE: Final = "DELETE FROM catalog_documents WHERE n = ?"
_KIND: Final = "SELECT documents FROM catalog_kinds WHERE segment = ? AND kind = ?"
_REKIND: Final = "UPDATE catalog_kinds SET documents = ? WHERE segment = ? AND kind = ?"
_FEWER: Final = "UPDATE catalog_segments SET alive = alive - 1 WHERE segment = ?"
_HALF_GONE: Final = "SELECT segment FROM catalog_segments WHERE space = ? AND alive * 2 <= size"
_NOT_WHOLE: Final = "SELECT segment, space FROM catalog_segments WHERE alive < size"
_SMALL: Final = (
    "SELECT segment FROM catalog_segments WHERE space = ? AND size <= ? AND length <= ?"
    " ORDER BY segment"
)
_DOCUMENTS: Final = "SELECT n FROM catalog_documents WHERE segment = ?"
_DROP: Final = tuple(
    f"DELETE FROM {table} WHERE segment = ?"  # noqa: S608 - our own tables
    for table in ("catalog_segments", "catalog_documents", "catalog_kinds", "catalog_postings")
)
_READ: Final = "SELECT updated, id, n, kind, title, slug, summary FROM catalog_texts WHERE n = ?"
_SEGMENT: Final = "INSERT INTO catalog_segments (space, size, alive, length) VALUES (?, ?, ?, ?)"
_DOCUMENT: Final = "INSERT INTO catalog_documents VALUES (?, ?, ?)"
_KINDS: Final = "INSERT INTO catalog_kinds VALUES (?, ?, ?)"
_POSTS: Final = "INSERT OR IGNORE INTO catalog_postings VALUES (?, ?, ?)"


def put(db: apsw.Connection, n: int, item: CatalogItem) -> None:
    """Let the entity of the thing `n` be found; `settle` must follow."""
    texts = fold(item.title), fold(item.slug), fold(item.summary or "")
    space = pack(item.project)
    db.execute(_TEXT, (n, space, pack(item.id), item.kind, item.updated, *texts))
    db.execute(_FRESH, (space, n, sum(map(len, texts)) + len(texts)))


def take(db: apsw.Connection, n: int, item: CatalogItem) -> None:
    """Let the entity of the thing `n` be found no more; `settle` must follow."""
    db.execute(_NO_TEXT, (n,))
    db.execute(_NOT_FRESH, (pack(item.project), n))
    if db.changes():
        return
    segment, document = _row(db, _WHERE, (n,))
    db.execute(_GONE, (n,))
    bits = bytearray(_row(db, _KIND, (segment, item.kind))[0])
    bits[document >> 3] &= ~(1 << (document & 7))
    db.execute(_REKIND, (bytes(bits), segment, item.kind))
    db.execute(_FEWER, (segment,))


def settle(db: apsw.Connection, spaces: Iterable[Packed]) -> None:
    """Build the segments that are due in these projects."""
    for space in spaces:
        waiting, length = _row(db, _WAITING, (space, DOCUMENT_LENGTH_MAX))
        if waiting >= SMALL or length >= SMALL_LENGTH:
            for some in _bounded(_rows(db, _FRESH_ONES, (space, DOCUMENT_LENGTH_MAX))):
                db.executemany(_NOT_FRESH, [(space, n) for n in some])
                _build(db, space, some)
        for (segment,) in _rows(db, _HALF_GONE, (space,)):
            _again(db, space, [segment])
        small = [row[0] for row in _rows(db, _SMALL, (space, SMALL, 2 * SMALL_LENGTH))]
        for start in range(0, len(small) - TOGETHER + 1, TOGETHER):
            _again(db, space, small[start : start + TOGETHER])


def purge(db: apsw.Connection) -> None:
    """Build every segment anew that still holds something of what is gone."""
    for segment, space in _rows(db, _NOT_WHOLE, ()):
        _again(db, space, [segment])


def _bounded(rows: Iterable[tuple[int, int]]) -> Iterator[Sequence[int]]:
    """The numbers of texts, in parts that fill a small segment each; what fills none stays."""
    some: list[int] = []
    total = 0
    for n, length in rows:
        some.append(n)
        total += length
        if len(some) >= SMALL or total >= SMALL_LENGTH:
            yield some
            some, total = [], 0


def _again(db: apsw.Connection, space: Packed, segments: Sequence[int]) -> None:
    """Put one new segment in the place of `segments`."""
    numbers = [row[0] for segment in segments for row in _rows(db, _DOCUMENTS, (segment,))]
    for segment in segments:
        for statement in _DROP:
            db.execute(statement, (segment,))
    if numbers:
        _build(db, space, numbers)


def _build(db: apsw.Connection, space: Packed, numbers: Sequence[int]) -> None:
    # Arrays are slow to load, and a small catalog needs none.
    from canonry.adapters.sqlite.catalog.postings import bits_of, postings  # noqa: PLC0415

    rows = [_row(db, _READ, (n,)) for n in numbers]
    rows.sort(key=lambda row: in_order(row[1]))
    rows.sort(key=lambda row: row[0], reverse=True)  # stable: equally new ones stay by id
    size, texts = len(rows), [row[4:] for row in rows]
    length = sum(len(part) + 1 for text in texts for part in text)
    db.execute(_SEGMENT, (space, size, size, length))
    segment = db.last_insert_rowid()
    db.executemany(_DOCUMENT, [(row[2], segment, document) for document, row in enumerate(rows)])
    for kind in CONTENT_KINDS:
        members = [document for document, row in enumerate(rows) if row[3] == kind]
        db.execute(_KINDS, (segment, kind, bits_of(members, size)))
    # Of two long grams with one hash the first is kept; who asks for the other sees that it is not.
    found = postings(texts, range(size), size)
    db.executemany(_POSTS, ((segment, key, posts) for key, posts in found))


def _row(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Any:
    return db.execute(sql, values).fetchone()


def _rows(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> list[Any]:
    return db.execute(sql, values).fetchall()

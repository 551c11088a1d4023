"""Search in a catalog: exact substrings, all of them counted, the newest entities first.

Every segment of the index tells exactly which of its documents hold the text; what is too fresh to
be in one is read. Since each segment has its newest documents first, the page is among the first
few of each, however many there are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.faults import translated
from canonry.adapters.sqlite.packing import Packed, in_order, pack
from canonry.domain.catalog.catalog import fold
from canonry.domain.vocabularies.catalog_kinds import CONTENT_KINDS
from canonry.ports.views.catalog import CatalogQuery

_FRESH: Final = (
    "SELECT t.updated, t.id, t.n FROM catalog_fresh f CROSS JOIN catalog_texts t ON t.n = f.n"
    " WHERE f.space = ?1 AND t.kind IN (?2, ?3, ?4, ?5)"
    " AND (instr(t.title, ?6) OR instr(t.slug, ?6) OR instr(t.summary, ?6))"
    " ORDER BY t.updated DESC, t.id"
)
_SEGMENTS: Final = (
    "SELECT segment, size, length FROM catalog_segments WHERE space = ? ORDER BY segment"
)
_ANY: Final = "SELECT 1 FROM catalog_segments LIMIT 1"
_KINDS: Final = "SELECT kind, documents FROM catalog_kinds WHERE segment = ?"
_POSTS: Final = "SELECT posts FROM catalog_postings WHERE segment = ? AND gram = ?"
_WEIGHT: Final = "SELECT length(posts) FROM catalog_postings WHERE segment = ? AND gram = ?"
_DOCUMENT: Final = (
    "SELECT t.updated, t.id, t.n FROM catalog_documents d CROSS JOIN catalog_texts t ON t.n = d.n"
    " WHERE d.segment = ? AND d.document = ?"
)
_HOLDS: Final = (
    "SELECT 1 FROM catalog_documents d CROSS JOIN catalog_texts t ON t.n = d.n"
    " WHERE d.segment = ?1 AND d.document = ?2"
    " AND (instr(t.title, ?3) OR instr(t.slug, ?3) OR instr(t.summary, ?3))"
)


class _Hit:
    """A text that matches; the newest come first, and equally new ones by id."""

    __slots__ = ("n", "place", "updated")

    def __init__(self, updated: str, packed: Packed, n: int) -> None:
        self.updated = updated
        self.place = in_order(packed)
        self.n = n

    def __lt__(self, other: "_Hit") -> bool:
        if self.updated != other.updated:
            return self.updated > other.updated
        return self.place < other.place


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """What a question reads of one segment."""

    db: apsw.Connection
    number: int
    size: int
    length: int

    def posts(self, key: int) -> bytes | None:
        """As in `catalog_matching`, here and below."""
        row: Any = self.db.execute(_POSTS, (self.number, key)).fetchone()
        return None if row is None else bytes(row[0])

    def weight(self, key: int) -> int:
        row: Any = self.db.execute(_WEIGHT, (self.number, key)).fetchone()
        return 0 if row is None else int(row[0])

    def holds(self, document: int, text: str) -> bool:
        row: Any = self.db.execute(_HOLDS, (self.number, document, text)).fetchone()
        return row is not None

    def hits(self, documents: Sequence[int]) -> Iterator[_Hit]:
        for document in documents:
            row: Any = self.db.execute(_DOCUMENT, (self.number, document)).fetchone()
            yield _Hit(*row)


def load_arrays(db: apsw.Connection) -> None:
    """Load what searching in segments takes, if there are any: the first question need not wait."""
    with translated():
        large = db.execute(_ANY).fetchone() is not None
    if large:
        import canonry.adapters.sqlite.catalog.matching  # noqa: PLC0415, F401 - see `_in_segments`


def is_segmented(db: apsw.Connection, project: str) -> bool:
    """Whether a project is so large that it has segments."""
    return db.execute(_SEGMENTS, (pack(project),)).fetchone() is not None


def search_texts(db: apsw.Connection, query: CatalogQuery) -> tuple[Sequence[int], int]:
    """The numbers of the things on the page, and how many match in all."""
    text, space = fold(query.text), pack(query.project)
    if "\0" in text:  # no text holds one, and to a statement it is the end
        return (), 0
    kinds = sorted(query.kinds or CONTENT_KINDS)
    among = (*kinds, *("",) * (len(CONTENT_KINDS) - len(kinds)))
    fresh: list[Any] = db.execute(_FRESH, (space, *among, text)).fetchall()
    total, streams = len(fresh), [iter([_Hit(*row) for row in fresh[: query.limit]])]
    for segment, documents in _in_segments(db, space, text, frozenset(kinds)):
        total += len(documents)
        streams.append(segment.hits(documents[: query.limit].tolist()))
    # Merging reads one hit of each segment, and then only as many more as there is room for.
    return [hit.n for hit in islice(merge(*streams), query.limit)], total


def _in_segments(
    db: apsw.Connection, space: Packed, text: str, kinds: frozenset[str]
) -> Iterator[tuple[_Segment, Any]]:
    """Each segment of a project that has documents which match, and these."""
    rows: list[Any] = db.execute(_SEGMENTS, (space,)).fetchall()
    if not rows:
        return
    # Arrays are slow to load, and a small catalog needs none.
    from canonry.adapters.sqlite.catalog.matching import documents_with  # noqa: PLC0415
    from canonry.adapters.sqlite.catalog.postings import flags_of  # noqa: PLC0415 - as above

    for number, size, length in rows:
        segment = _Segment(db=db, number=number, size=size, length=length)
        documents = documents_with(text, segment)
        if not len(documents):
            continue
        wanted = flags_of(bytes((size + 7) // 8), size)
        for kind, bits in db.execute(_KINDS, (number,)):
            if kind in kinds:
                wanted |= flags_of(bits, size)
        yield segment, documents[wanted[documents]]

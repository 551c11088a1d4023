"""Examination of a catalog's search index: it holds exactly what the texts beside it do.

How texts are spread over segments depends on the order in which they came, so that the index is
not compared with another but with what its own documents say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.packing import in_order, unpack
from canonry.domain.vocabularies.catalog_kinds import CONTENT_KINDS
from canonry.ports.views.upkeep import Finding

SHOWN: Final = 5
"""So many entities of each sort are named."""

_UNPLACED: Final = (
    "SELECT t.id FROM live.catalog_texts t WHERE"
    " (SELECT count(*) FROM live.catalog_fresh f WHERE f.space = t.space AND f.n = t.n)"
    " + (SELECT count(*) FROM live.catalog_documents d JOIN live.catalog_segments s"
    " ON s.segment = d.segment AND s.space = t.space WHERE d.n = t.n) <> 1 LIMIT ?"
)
_TEXTLESS: Final = (
    "SELECT n FROM (SELECT n FROM live.catalog_fresh UNION ALL"
    " SELECT n FROM live.catalog_documents) WHERE n NOT IN (SELECT n FROM live.catalog_texts)"
    " LIMIT ?"
)
_STRAY: Final = (
    "SELECT segment FROM live.catalog_postings WHERE segment NOT IN"
    " (SELECT segment FROM live.catalog_segments) LIMIT ?"
)
_SEGMENTS: Final = "SELECT segment, size, alive, length FROM live.catalog_segments ORDER BY segment"
_DOCUMENTS: Final = (
    "SELECT d.document, t.updated, t.id, t.kind, t.title, t.slug, t.summary"
    " FROM live.catalog_documents d JOIN live.catalog_texts t ON t.n = d.n"
    " WHERE d.segment = ? ORDER BY d.document"
)
_KINDS: Final = "SELECT kind, documents FROM live.catalog_kinds WHERE segment = ?"
_SHORT: Final = (
    "SELECT gram, posts FROM live.catalog_postings WHERE segment = ? AND gram >= 0 ORDER BY gram"
)
_LONG: Final = "SELECT gram, posts FROM live.catalog_postings WHERE segment = ? AND gram < 0"
_POSTS: Final = "SELECT posts FROM live.catalog_postings WHERE segment = ? AND gram = ?"
_WHERE: Final = "catalog_postings"


def index_findings(db: apsw.Connection) -> Iterator[Finding]:
    """What the index of `live` tells otherwise than the texts of `live`."""
    for row in db.execute(_UNPLACED, (SHOWN,)):
        what = "this text is not once in the index"
        yield Finding(where=f"{_WHERE}: {unpack(row[0])}", what=what)
    for row in db.execute(_TEXTLESS, (SHOWN,)):
        yield Finding(where=f"{_WHERE}: {row[0]}", what="the index holds a text that is not there")
    for row in db.execute(_STRAY, (SHOWN,)):
        yield Finding(where=f"{_WHERE}: segment {row[0]}", what="there is no such segment")
    segments: list[Any] = db.execute(_SEGMENTS).fetchall()
    for segment, size, counted, length in segments:
        yield from _in_segment(db, segment, size, counted)
        yield from _in_longer(_Live(db=db, segment=segment, length=length))


def _in_segment(db: apsw.Connection, segment: int, size: int, counted: int) -> Iterator[Finding]:
    rows: list[Any] = db.execute(_DOCUMENTS, (segment,)).fetchall()
    named = {row[0]: str(unpack(row[2])) for row in rows}
    if len(rows) != counted or not _in_order(rows) or any(number >= size for number in named):
        what = "its documents are not those that were counted, or in another order"
        yield Finding(where=f"catalog_segments: segment {segment}", what=what)
        return
    # Arrays are slow to load, and a small catalog needs none.
    from canonry.adapters.sqlite.catalog.postings import (  # noqa: PLC0415
        bits_of,
        flags_of,
        postings,
        told_otherwise,
    )

    members = {kind: bits_of([r[0] for r in rows if r[3] == kind], size) for kind in CONTENT_KINDS}
    kinds: list[Any] = db.execute(_KINDS, (segment,)).fetchall()
    if dict(kinds) != members:
        what = "the kinds of its documents are not those of the texts"
        yield Finding(where=f"catalog_kinds: segment {segment}", what=what)
    every = postings([row[4:] for row in rows], list(named), size)
    true = takewhile(lambda posting: posting[0] >= 0, every)
    held: Any = db.execute(_SHORT, (segment,))
    try:
        alive = flags_of(bits_of(list(named), size), size)
        wrong = set(told_otherwise(held, true, alive))
    except (ValueError, IndexError):
        yield Finding(where=f"{_WHERE}: segment {segment}", what="it cannot be read")
        return
    for document in sorted(wrong)[:SHOWN]:
        what = "the index tells other characters than the text"
        yield Finding(where=f"{_WHERE}: {named[document]}", what=what)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Live:
    """The postings of a segment of `live`, so as they are."""

    db: apsw.Connection
    segment: int
    length: int

    def posts(self, key: int) -> bytes | None:
        """As in `catalog_matching`, here and below."""
        row: Any = self.db.execute(_POSTS, (self.segment, key)).fetchone()
        return None if row is None else bytes(row[0])

    def weight(self, key: int) -> int:
        return len(self.posts(key) or b"")


def _in_longer(live: _Live) -> Iterator[Finding]:
    """Postings of longer grams that tell otherwise than those of three characters.

    These also tell of documents that are gone, as the longer ones do.
    """
    rows: list[Any] = live.db.execute(_LONG, (live.segment,)).fetchall()
    if not rows:
        return
    # Arrays are slow to load, and a small catalog needs none.
    from canonry.adapters.sqlite.catalog.matching import places_with  # noqa: PLC0415
    from canonry.adapters.sqlite.catalog.postings import (  # noqa: PLC0415 - as above
        head_of,
        long_key_of,
        places_in,
    )

    for key, posts in rows:
        try:
            gram = posts[: posts.index(b"\0")].decode()
            told = places_in(posts, len(head_of(gram)))
            right = long_key_of(gram) == key and list(told) == list(places_with(gram, live))
        except ValueError:
            right = False
        if not right:
            what = "the index tells other places of a longer text"
            yield Finding(where=f"{_WHERE}: segment {live.segment}", what=what)
            return


def _in_order(rows: Sequence[Any]) -> bool:
    """Whether the newest come first, and equally new ones by id."""
    by_id = sorted(rows, key=lambda row: in_order(row[2]))
    return rows == sorted(by_id, key=lambda row: row[1], reverse=True)

"""The n-grams of a catalog's texts: an index of three characters, and counts of one and two.

Three characters or more are found in the trigram index, where a phrase is exactly a substring.
Each row carries one mark of its project and one of its kind there, as a trigram of its own, so
that a small project beside a large one is searched as fast as if it were alone.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, TypeAlias

import apsw

from canonry.adapters.sqlite.packing import Packed, pack, unpack
from canonry.domain.catalog import CatalogItem, fold
from canonry.domain.vocabularies.catalog_kinds import CONTENT_KINDS

GramKey: TypeAlias = tuple[Packed, str, str]
"""(space, kind, one or two characters; the empty text stands for the entity itself)."""

Folded: TypeAlias = tuple[str, str, str]
"""The title, slug and summary of an entity as they are searched."""

PAD: Final = "\x01\x01"
"""Behind each text, so that its last characters begin a trigram as well."""

UNINDEXED: Final = frozenset("\x00\x01\ufffd\ufffe\uffff")
"""Characters that the index confuses with others: what holds one is looked for in the texts."""

_COLUMNS: Final = "(rowid, title, slug, summary, mark, sort)"
_INDEX: Final = f"INSERT INTO catalog_grams {_COLUMNS} VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608
_UNINDEX: Final = (
    "INSERT INTO catalog_grams (catalog_grams, rowid, title, slug, summary, mark, sort)"
    " VALUES ('delete', ?, ?, ?, ?, ?, ?)"
)
_COUNT: Final = (
    "INSERT INTO catalog_counts VALUES (?, ?, ?, ?)"
    " ON CONFLICT (space, kind, gram) DO UPDATE SET n = n + excluded.n"
)
_UNCOUNT: Final = "DELETE FROM catalog_counts WHERE space = ? AND kind = ? AND gram = ? AND n = 0"
_AGAIN: Final = (
    f"INSERT INTO catalog_grams {_COLUMNS}"  # noqa: S608 - our own SQL
    " SELECT n, title || ?1, slug || ?1, summary || ?1, ?2, ?3 FROM catalog_texts"
    " WHERE space = ?4 AND kind = ?5"
)
_FIRST: Final = 0x4E00
_RANGE: Final = 20_000
_MARK: Final = 3
_MARK_BYTES: Final = 8


def folded(item: CatalogItem) -> Folded:
    """The texts of an entity as they are searched; no summary has no text."""
    return fold(item.title), fold(item.slug), fold(item.summary or "")


def index(db: apsw.Connection, n: int, item: CatalogItem, counted: Counter[GramKey]) -> None:
    """Put the entity of the thing `n` into the index, and count it; `count_grams` must follow."""
    texts = folded(item)
    db.execute(_INDEX, (n, *_row(item, texts)))
    counted.update(_grams(item, texts))


def unindex(db: apsw.Connection, n: int, item: CatalogItem, counted: Counter[GramKey]) -> None:
    """Take the entity of the thing `n` out of the index."""
    texts = folded(item)
    db.execute(_UNINDEX, (n, *_row(item, texts)))
    counted.subtract(_grams(item, texts))


def count_grams(db: apsw.Connection, changes: Counter[GramKey]) -> None:
    """Add `changes` to the counts; what none is left of has no row."""
    for key, change in changes.items():
        if change:
            db.execute(_COUNT, (*key, change))
        if change < 0:
            db.execute(_UNCOUNT, key)


def index_again(db: apsw.Connection) -> None:
    """Fill an empty index from the texts beside it."""
    rows: list[Any] = db.execute("SELECT DISTINCT space FROM catalog_counts").fetchall()
    for (space,) in rows:
        for kind in CONTENT_KINDS:
            project = unpack(space)
            db.execute(_AGAIN, (PAD, mark_of(project), mark_of(project, kind), space, kind))


@lru_cache(maxsize=4096)
def mark_of(project: str, kind: str = "") -> str:
    """Three characters that stand for a project, or for a kind in it."""
    digest = blake2b(f"{project}/{kind}".encode(), digest_size=_MARK_BYTES).digest()
    number = int.from_bytes(digest)
    letters = []
    for _ in range(_MARK):
        number, digit = divmod(number, _RANGE)
        letters.append(chr(_FIRST + digit))
    return "".join(letters)


def phrase(text: str) -> str:
    """`text` as a phrase of the index's query language, where every character is plain."""
    quoted = text.replace('"', '""')
    return f'"{quoted}"'


def expression(project: str, kinds: Collection[str], text: str, *, alone: bool) -> str:
    """What asks the index for `text` in a project; `alone` if it holds no other."""
    sought = phrase(text)
    if all(_FIRST <= ord(letter) < _FIRST + _RANGE for letter in text):
        sought = f"{{title slug summary}} : {sought}"  # it could be a mark, and costs a third more
    if kinds:
        marks = " OR ".join(phrase(mark_of(project, kind)) for kind in sorted(kinds))
        return f"{sought} AND sort : ({marks})"
    return sought if alone else f"{sought} AND mark : {phrase(mark_of(project))}"


def _row(item: CatalogItem, texts: Folded) -> tuple[str, ...]:
    title, slug, summary = texts
    marks = mark_of(item.project), mark_of(item.project, item.kind)
    return (title + PAD, slug + PAD, summary + PAD, *marks)


def _grams(item: CatalogItem, texts: Folded) -> Iterator[GramKey]:
    """Every one and two characters that the texts hold, once each."""
    found = {""}
    for text in texts:
        found.update(text)
        found.update(map("".join, pairwise(text)))
    space, kind = pack(item.project), item.kind
    return ((space, kind, gram) for gram in found)

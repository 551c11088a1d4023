"""Search in a catalog: exact substrings, all of them counted, the newest entities first.

SQLite's trigram index finds texts that few entities have. A text that many have, or one of fewer
than three characters, is sought by reading the texts of the project in the order of the reply: some
50 ms for 10^5 of them, and the page is among the first.
"""

from collections.abc import Sequence
from typing import Any, Final

import apsw

from canonry.log.schemas.catalog_kinds import CONTENT_KINDS
from canonry.readmodels.catalog import CatalogItem, fold
from canonry.readmodels.ports.catalog import CatalogQuery
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.packing import pack

FEW: Final = 1_000
"""So many texts of all projects at most are looked up one by one."""

_GRAM: Final = 3
_CONFUSED: Final = frozenset("\ufffd\ufffe\uffff")
"""Characters that the index takes for each other."""

_TEXT: Final = "INSERT INTO catalog_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_NO_TEXT: Final = "DELETE FROM catalog_texts WHERE n = ?"
_GRAMS: Final = "INSERT INTO catalog_grams (rowid, title, slug, summary) VALUES (?, ?, ?, ?)"
_NO_GRAMS: Final = (
    "INSERT INTO catalog_grams (catalog_grams, rowid, title, slug, summary)"
    " VALUES ('delete', ?, ?, ?, ?)"
)

_HELD: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM catalog_grams WHERE catalog_grams MATCH ? LIMIT ?)"
)
_WANTED: Final = (
    "t.space = :space AND t.kind IN (:kind0, :kind1, :kind2, :kind3)"
    " AND (instr(t.title, :text) OR instr(t.slug, :text) OR instr(t.summary, :text))"
)
_FOUND: Final = (
    "SELECT t.n FROM catalog_grams g CROSS JOIN catalog_texts t ON t.n = g.rowid"  # noqa: S608
    f" WHERE g.catalog_grams MATCH :phrase AND {_WANTED} ORDER BY t.updated DESC, t.id"
)
_COUNT: Final = f"SELECT count(*) FROM catalog_texts t WHERE {_WANTED}"  # noqa: S608 - our own SQL
_PAGE: Final = (
    f"SELECT t.n FROM catalog_texts t WHERE {_WANTED}"  # noqa: S608 - our own SQL
    " ORDER BY t.updated DESC, t.id LIMIT :limit"
)


def put(db: apsw.Connection, n: int, item: CatalogItem) -> None:
    """Make the entity of the thing `n` findable by its text."""
    texts = _folded(item)
    db.execute(_TEXT, (pack(item.project), item.updated, pack(item.id), item.kind, n, *texts))
    db.execute(_GRAMS, (n, *texts))


def take(db: apsw.Connection, n: int, item: CatalogItem) -> None:
    """Make the entity of the thing `n` no longer findable."""
    db.execute(_NO_GRAMS, (n, *_folded(item)))
    db.execute(_NO_TEXT, (n,))


def search_texts(db: apsw.Connection, query: CatalogQuery) -> tuple[Sequence[int], int]:
    """The numbers of the things on the page, and how many match in all."""
    text = fold(query.text)
    if "\0" in text:  # no text holds one, and to a statement it is the end
        return (), 0
    kinds = sorted(query.kinds or CONTENT_KINDS)
    among = (*kinds, *("",) * (len(CONTENT_KINDS) - len(kinds)))
    values = {"space": pack(query.project), "text": text, "limit": query.limit}
    values |= {f"kind{i}": kind for i, kind in enumerate(among)}
    phrase = _phrase(text)
    if phrase is not None and number(db, _HELD, (phrase, FEW + 1)) <= FEW:
        found = _numbers(db, _FOUND, {**values, "phrase": phrase})
        return found[: query.limit], len(found)
    page = _numbers(db, _PAGE, values)
    if len(page) < query.limit:  # then every text was read for it
        return page, len(page)
    return page, number(db, _COUNT, values)


def _phrase(text: str) -> str | None:
    """The query for the trigram index; None where the index cannot answer."""
    if len(text) < _GRAM or not _CONFUSED.isdisjoint(text):
        return None
    return '"' + text.replace('"', '""') + '"'


def _folded(item: CatalogItem) -> tuple[str, str, str]:
    return fold(item.title), fold(item.slug), fold(item.summary or "")


def _numbers(db: apsw.Connection, sql: str, values: dict[str, Any]) -> Sequence[int]:
    rows: list[Any] = db.execute(sql, values).fetchall()
    return [row[0] for row in rows]

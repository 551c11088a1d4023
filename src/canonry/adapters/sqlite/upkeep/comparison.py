"""Comparison: every row of every view against the same view folded afresh."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.packing import unpack
from canonry.adapters.sqlite.upkeep.scratch import number
from canonry.domain.ids import is_uuid
from canonry.ports.views.upkeep import Finding

SHOWN: Final = 5
"""So many differences of each sort are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    name: str
    key: Sequence[str]
    rest: Sequence[str]


_TABLES: Final = (
    _Table(name="things", key=("id",), rest=("kind", "body")),
    _Table(name="versions", key=("id", "since"), rest=("kind", "body")),
    _Table(
        name="listing",
        key=("list", "owner", "space", "facet", "rank", "later", "id"),
        rest=("starts", "ends", "name"),
    ),
    _Table(name="counts", key=("list", "owner", "space", "facet"), rest=("n",)),
    _Table(name="identifiers", key=("space", "key", "id"), rest=("entity_type", "born", "root")),
    _Table(
        name="timeline",
        key=(
            "current",
            "space",
            "event_type",
            "rank",
            "event",
            "entity",
            "field",
            "observation",
        ),
        rest=("source",),
    ),
    _Table(name="stem_counts", key=("mark", "stem"), rest=("n",)),
    _Table(name="catalog_projects", key=("place", "id"), rest=("slug",)),
    _Table(name="catalog_items", key=("space", "kind", "word", "id"), rest=("thing",)),
    _Table(
        name="catalog_texts",
        key=("space", "updated", "id"),
        rest=("kind", "title", "slug", "summary"),
    ),
    _Table(name="catalog_nodes", key=("thing",), rest=("id", "place")),
    _Table(
        name="catalog_neighbours",
        key=("thing", "rel_type", "place", "id", "outward"),
        rest=("other",),
    ),
    _Table(name="catalog_edges", key=("source", "target", "rel_type"), rest=("relation",)),
)
_STEMS: Final = (
    "SELECT t.id, s.id AS same, s.mark, s.scene, s.place, s.source, s.entities, s.stems"
    " FROM {schema}.passage_stems s LEFT JOIN {schema}.things t ON t.n = s.n"
)
_WORDS: Final = (
    "SELECT w.term, coalesce(t.id, w.doc) AS id, w.col, w.offset"
    " FROM {words} w LEFT JOIN {schema}.things t ON t.n = w.doc"
)


def differences(db: apsw.Connection) -> Iterator[Finding]:
    """What differs between the views of `live` and the scratch views of `db`."""
    for table in _TABLES:
        yield from _rows(db, table)
    yield from _words(db, "passages")
    yield from _words(db, "catalog_grams")
    yield from _stems(db)
    yield from _waiting(db)


def _rows(db: apsw.Connection, table: _Table) -> Iterator[Finding]:
    same = " AND ".join(f"l.{column} = s.{column}" for column in table.key)
    differ = " OR ".join(f"l.{column} IS NOT s.{column}" for column in table.rest)
    keys = ", ".join(table.key)
    name = table.name
    absent = "SELECT {keys} FROM {one}.{name} AS {a} WHERE NOT EXISTS (SELECT 1 FROM {two}.{name} AS {b} WHERE {same}) LIMIT ?"  # noqa: E501
    there = {"keys": keys, "name": name, "same": same}
    for row in db.execute(absent.format(one="live", a="l", two="main", b="s", **there), (SHOWN,)):
        yield Finding(where=f"{name}: {_named(row)}", what="the records lead to no such row")
    for row in db.execute(absent.format(one="main", a="s", two="live", b="l", **there), (SHOWN,)):
        yield Finding(where=f"{name}: {_named(row)}", what="this row is missing")
    shown = ", ".join(f"l.{column}" for column in table.key)
    sql = f"SELECT {shown} FROM live.{name} l JOIN main.{name} s ON {same} WHERE {differ} LIMIT ?"  # noqa: S608
    for row in db.execute(sql, (SHOWN,)):
        yield Finding(where=f"{name}: {_named(row)}", what="the records lead to another value")


def _words(db: apsw.Connection, index: str) -> Iterator[Finding]:
    """What an index of words tells otherwise than the same one made afresh."""
    for words, schema in (("live_words", "live"), ("true_words", "main")):
        db.execute(f"DROP TABLE IF EXISTS temp.{words}")
        db.execute(
            f"CREATE VIRTUAL TABLE temp.{words} USING fts5vocab ({schema}, {index}, instance)"
        )
    if _same_words(db):
        return
    live = _WORDS.format(words="live_words", schema="live")
    true = _WORDS.format(words="true_words", schema="main")
    for one, two, what in (
        (live, true, "a word is indexed that the text does not hold"),
        (true, live, "a word of the text is not indexed"),
    ):
        sql = f"SELECT DISTINCT id FROM ({one} EXCEPT {two}) LIMIT ?"  # noqa: S608 - our own SQL
        for (packed,) in db.execute(sql, (SHOWN,)):
            yield Finding(where=f"{index}: {_named((packed,))}", what=what)


def _same_words(db: apsw.Connection) -> bool:
    """Whether both indexes hold the same, read side by side; they are sorted alike."""
    sql = "SELECT count(*) FROM live.things l JOIN main.things s ON s.id = l.id WHERE s.n <> l.n"
    if number(db, sql):
        return False
    sql = "SELECT term, doc, col, offset FROM temp."
    one, two = db.execute(sql + "live_words"), db.execute(sql + "true_words")
    return all(here == there for here, there in zip_longest(one, two))


def _stems(db: apsw.Connection) -> Iterator[Finding]:
    live, true = _STEMS.format(schema="live"), _STEMS.format(schema="main")
    for one, two, what in (
        (live, true, "its stems are not those that the records lead to"),
        (true, live, "its stems are missing"),
    ):
        sql = f"SELECT DISTINCT id FROM ({one} EXCEPT {two}) LIMIT ?"  # noqa: S608 - our own SQL
        for (packed,) in db.execute(sql, (SHOWN,)):
            yield Finding(where=f"passage_stems: {_named((packed,))}", what=what)


def _waiting(db: apsw.Connection) -> Iterator[Finding]:
    live = "SELECT coalesce(t.id, u.n) FROM live.unindexed u LEFT JOIN live.things t ON t.n = u.n"
    true = "SELECT t.id FROM main.unindexed u JOIN main.things t ON t.n = u.n"
    for (packed,) in db.execute(f"{live} EXCEPT {true} LIMIT ?", (SHOWN,)):
        what = "it waits to be indexed, and is no passage"
        yield Finding(where=f"unindexed: {_named((packed,))}", what=what)


def _named(row: tuple[Any, ...]) -> str:
    """A key as a person can look it up; what owns a list may be a tag, and is not told."""
    shown = [unpack(value) if isinstance(value, bytes) else value for value in row]
    ids = [str(value) for value in shown if isinstance(value, int) or is_uuid(str(value))]
    return " ".join(ids) or "a row"

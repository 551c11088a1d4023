"""Comparison: every row of every view against the same view folded afresh."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any, Final

import apsw

from canonry.readmodels.ports.upkeep import Finding
from canonry.stores.sqlite.bodies import said_in
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.packing import unpack
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import is_uuid

SHOWN: Final = 5
"""So many differences of each sort are named."""


_TABLES: Final = {
    "things": ("id", "kind body"),
    "versions": ("id since", "kind body"),
    "listing": ("list owner space facet rank later id", "starts ends name"),
    "counts": ("list owner space facet", "n"),
    "identifiers": ("space key id", "entity_type born root"),
    "timeline": ("current space event_type rank event entity field observation", "source"),
    "stem_counts": ("mark stem", "n"),
    "catalog_projects": ("place id", "slug"),
    "catalog_items": ("space kind word id", "thing"),
    "catalog_texts": ("space updated id", "kind title slug summary"),
    "catalog_nodes": ("thing", "id place"),
    "catalog_neighbours": ("thing rel_type place id outward", "other"),
    "catalog_edges": ("source target rel_type", "relation"),
}
"""Of each table the columns that identify a row, and those that must be equal then."""

_DIFFERS: Final = "l.{0} IS NOT s.{0}"
_OTHERWISE: Final = {
    "body": "(l.body IS NOT s.body AND said(l.kind, l.body) IS NOT said(s.kind, s.body))"
}
"""A body may have been packed by another version of the library that packs them."""

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
    db.create_scalar_function("said", _said, 2, deterministic=True)
    for name, columns in _TABLES.items():
        yield from _rows(db, name, *(each.split() for each in columns))
    yield from _words(db, "passages")
    yield from _words(db, "catalog_grams")
    yield from _stems(db)
    yield from _waiting(db)


def _rows(
    db: apsw.Connection, name: str, key: Sequence[str], rest: Sequence[str]
) -> Iterator[Finding]:
    same = " AND ".join(f"l.{column} = s.{column}" for column in key)
    differ = " OR ".join(_OTHERWISE.get(each, _DIFFERS).format(each) for each in rest)
    live, true = f"live.{name} AS l", f"main.{name} AS s"
    absent = "SELECT {keys} FROM {one} WHERE NOT EXISTS (SELECT 1 FROM {two} WHERE {same}) LIMIT ?"
    of_live, of_true = (", ".join(f"{each}.{column}" for column in key) for each in "ls")
    both = f"SELECT {of_live} FROM {live} JOIN {true} ON {same} WHERE {differ} LIMIT ?"  # noqa: S608
    for sql, what in (
        (
            absent.format(keys=of_live, one=live, two=true, same=same),
            "the records lead to no such row",
        ),
        (absent.format(keys=of_true, one=true, two=live, same=same), "this row is missing"),
        (both, "the records lead to another value"),
    ):
        yield from _found(db, name, sql, what)


def _said(*row: Any) -> Any:
    """What a kind and a body say, or the body as it is where the row is not sound."""
    kind, body = row
    with suppress(BrokenInvariant):
        return said_in(kind, body)
    return body


def _found(db: apsw.Connection, name: str, sql: str, what: str) -> Iterator[Finding]:
    """The first of those that a statement gives, by what identifies them."""
    for row in db.execute(sql, (SHOWN,)):
        yield Finding(where=f"{name}: {_named(row)}", what=what)


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
        yield from _found(db, index, sql, what)


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
        yield from _found(db, "passage_stems", sql, what)


def _waiting(db: apsw.Connection) -> Iterator[Finding]:
    live = "SELECT coalesce(t.id, u.n) FROM live.unindexed u LEFT JOIN live.things t ON t.n = u.n"
    true = "SELECT t.id FROM main.unindexed u JOIN main.things t ON t.n = u.n"
    what = "it waits to be indexed, and is no passage"
    return _found(db, "unindexed", f"{live} EXCEPT {true} LIMIT ?", what)


def _named(row: tuple[Any, ...]) -> str:
    """A key as a person can look it up; what owns a list may be a tag, and is not told."""
    shown = [unpack(value) if isinstance(value, bytes) else value for value in row]
    ids = [str(value) for value in shown if isinstance(value, int) or is_uuid(str(value))]
    return " ".join(ids) or "a row"

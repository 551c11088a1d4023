"""Catalogs as rows: projects, items and relations, each following from one thing alone."""

from collections.abc import Iterator
from typing import TypeAlias

from canonry.log.entries import Thing
from canonry.readmodels.catalog import edge_of, fold, is_project, item_of, place_of
from canonry.values.ids import Space

ItemRow: TypeAlias = tuple[str, str, str, str, str, str | None, str, str, str, str]
"""(space, thing, kind, word, id, place, updated, title, slug, summary)."""


def placed(title: str) -> str:
    """Where a title stands among others; the store keeps no NUL, which the domain parts it by."""
    return place_of(title).replace("\0", "\1")


def projects_of(thing: Thing) -> Iterator[tuple[str, str, str]]:
    """The row of a project."""
    if isinstance(thing, Space) and is_project(thing):
        yield thing.id, placed(thing.name), str(thing.properties.get("slug", ""))


def items_of(thing: Thing) -> Iterator[ItemRow]:
    """The row of an item; only what agents see has a place and is searched."""
    item = item_of(thing)
    if item is not None:
        place = placed(item.title) if item.content else None
        texts = (fold(item.title), fold(item.slug), fold(item.summary or ""))
        what = (item.project, item.thing, item.kind, item.word, item.id)
        yield (*what, place, item.updated, *texts)


def edges_of(thing: Thing) -> Iterator[tuple[str, str, str, str, str]]:
    """The row of a relation between items that holds."""
    edge = edge_of(thing)
    if edge is not None:
        yield edge.project, edge.source, edge.target, edge.rel_type, edge.relation

"""Rows: what a thing is found by, as the nodes that the graph keeps of it.

`canonry.readmodels.listing` says what they are. A run is all rows of one list, owner, space and
facet; its key begins with what a query knows and ends with what it looks for in other lists too.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.schemas import identity_keys as identifiers
from canonry.readmodels import listing
from canonry.readmodels.listing import NOBODY, UNCOUNTED, List, Owner
from canonry.readmodels.timeline import TimelineEntry, entries_told

_TOLD: Final = frozenset(
    map(
        int,
        (
            *(List.SCENES, List.SCENES_OF, List.SCENES_OPEN, List.TURNS, List.PROPOSALS),
            *(List.PROPOSALS_OF, List.MEMORIES, List.SNIPPETS),
        ),
    )
)
"""Lists that the view of documents is asked for, and this one never."""


class RowNode(NamedTuple):
    """A row with the run that it stands in."""

    listed: int
    owner: str
    space: str
    facet: str
    rank: int
    later: int
    id: str
    starts: int | None
    ends: int | None
    name: str | None


class TextNode(NamedTuple):
    """That an entity is found under a text."""

    space: str
    text: str
    id: str
    entity_type: str
    born: int
    root: str


class DateNode(NamedTuple):
    """That a field says a date; `rank` grows towards the past."""

    space: str
    current: bool
    event_type: str
    rank: int
    event: str
    entity: str
    field: str
    observation: str
    source: str


def head_of(listed: int, owner: Owner) -> str:
    """How the key of a run begins."""
    return f"{int(listed)} {json.dumps(str(owner), ensure_ascii=False)} "


def tail_of(store: str, space: str = NOBODY, facet: str = "") -> str:
    """How the key of a run ends."""
    return json.dumps([store, space, facet], ensure_ascii=False)


def rows_of(thing: Thing) -> Iterator[RowNode]:
    """The rows of a thing that this view is asked for."""
    for listed, owner, space, facet, rank, later, *rest in listing.rows_of(thing):
        if listed not in _TOLD:
            place = (listed, str(owner), space, facet, int(rank), later)
            yield RowNode(*place, *rest)  # type: ignore[arg-type] # four are left


def texts_of(thing: Thing) -> Iterator[TextNode]:
    """The texts of an entity; others have none."""
    if isinstance(thing, Entity):
        for row in identifiers.rows_of(thing):
            yield TextNode(row.space, row.key, row.id, row.entity_type, row.born, row.root)


def dates_of(thing: Thing) -> Iterator[DateNode]:
    """The dates of an observation or an entity; others have none."""
    for entry, current in entries_told(thing):
        yield _date(entry, current=current)


def row_node(store: str, row: RowNode) -> dict[str, Any]:
    """What the node of a row bears."""
    kept = {"starts": row.starts, "ends": row.ends, "name": row.name}
    run = head_of(row.listed, row.owner) + tail_of(store, row.space, row.facet)
    place = {
        "store": store,
        "by": row.id,
        "run": run,
        "rank": row.rank,
        "later": row.later,
        "id": row.id,
    }
    return place | {name: value for name, value in kept.items() if value is not None}


def text_node(store: str, row: TextNode) -> dict[str, Any]:
    """What the node of a text bears."""
    key = json.dumps([store, row.space, row.text, row.id], ensure_ascii=False)
    return row._asdict() | {"store": store, "by": row.id, "key": key}


def date_node(store: str, row: DateNode) -> dict[str, Any]:
    """What the node of a date bears."""
    key = json.dumps([store, *row[:-1]], ensure_ascii=False)
    by = row.entity if row.current else row.observation
    return row._asdict() | {"store": store, "by": by, "key": key}


def counted(store: str, rows: Iterable[RowNode]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The runs of rows that are counted: key -> what the node of the run bears."""
    for row in rows:
        if row.listed not in UNCOUNTED:
            tail = tail_of(store, row.space, row.facet)
            bears = {
                "run": head_of(row.listed, row.owner) + tail,
                "tail": tail,
                "store": store,
                "list": row.listed,
                "owner": row.owner,
                "space": row.space,
                "facet": row.facet,
            }
            yield bears["run"], bears  # type: ignore[misc] # the key is a text


def _date(entry: TimelineEntry, *, current: bool) -> DateNode:
    return DateNode(
        entry.space,
        current,
        entry.event_type,
        -entry.instant,
        entry.event_id,
        entry.entity_id,
        entry.field,
        entry.observation_id,
        entry.source_id,
    )

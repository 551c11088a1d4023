"""Views in the ledger's own transaction: what a fold changed becomes rows, nothing else does.

Whatever many things change, it is written by the same few statements, each over arrays of rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from canonry.log.canon import BESIDE_ROUNDS, beside, needs
from canonry.log.encoding import decode_thing, encode_thing
from canonry.log.entries import THING_KINDS, Entry, Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import Story
from canonry.log.items.sources import Source
from canonry.readmodels.listing import UNCOUNTED, difference
from canonry.stores.postgres.catalog.rows import edges_of, items_of, projects_of
from canonry.stores.postgres.database import PgConnection, PgRow, Values, fetched, run
from canonry.stores.postgres.pages import rows_of
from canonry.stores.postgres.state import timeline
from canonry.stores.postgres.state.identifiers import identifiers_of
from canonry.stores.postgres.text.passages import PassageCounts, passages_in
from canonry.values.ids import Space

VERSIONED: Final = (Entity, Relation, Fact, Event, Axiom, Source, Story, Space)

# Things of another space may be changed by somebody who holds the turn there.
LOAD: Final = "SELECT id, kind, body FROM things WHERE id = ANY(%s)"

StoredCount: TypeAlias = tuple[str, int, str, str]
"""(space, list, owner, facet)."""


@dataclass(frozen=True, slots=True)
class ViewTable:
    """A table of views: the types of its columns, of which the first `key` are its primary key."""

    name: str
    types: tuple[str, ...]
    columns: tuple[str, ...]
    key: int
    replaces: bool = False

    @property
    def insert(self) -> str:
        """The statement that writes rows, given column by column."""
        names = ", ".join(self.columns)
        marks = ", ".join(f"%s::{kind}[]" for kind in self.types)
        said = f"INSERT INTO {self.name} ({names}) SELECT * FROM unnest({marks})"
        if not self.replaces:
            return said
        key, rest = ", ".join(self.columns[: self.key]), self.columns[self.key :]
        values = ", ".join(f"{column} = excluded.{column}" for column in rest)
        return f"{said} ON CONFLICT ({key}) DO UPDATE SET {values}"

    @property
    def delete(self) -> str:
        """The statement that takes rows away, given the columns of the key one by one."""
        marks = ", ".join(f"%s::{kind}[]" for kind in self.types[: self.key])
        names = ", ".join(f"c{n}" for n in range(self.key))
        same = " AND ".join(f"t.{c} = g.c{n}" for n, c in enumerate(self.columns[: self.key]))
        return f"DELETE FROM {self.name} t USING unnest({marks}) AS g ({names}) WHERE {same}"


def _table(name: str, key: int, columns: str, *, replaces: bool = False) -> ViewTable:
    """A table by its columns, as `name type`, which are text where nothing is said."""
    told = [each.partition(":") for each in columns.split()]
    return ViewTable(
        name,
        tuple(kind or "text" for _, _, kind in told),
        tuple(column for column, _, _ in told),
        key,
        replaces,
    )


THINGS: Final = _table("things", 2, "space id kind body:bytea", replaces=True)
VERSIONS: Final = _table("versions", 3, "space id since:bigint kind body:bytea", replaces=True)
LISTING: Final = _table(
    "listing",
    7,
    "space list:smallint owner facet rank:bigint later:bigint id starts:bigint ends:bigint name",
)
IDENTIFIERS: Final = _table("identifiers", 3, "space key id entity_type born:bigint root")
TIMELINE: Final = _table(
    "timeline",
    8,
    "space current:boolean event_type rank:bigint event entity field observation source",
)
PROJECTS: Final = _table("catalog_projects", 1, "space place slug", replaces=True)
ITEMS: Final = _table(
    "catalog_items",
    2,
    "space thing kind word id place updated title slug summary",
    replaces=True,
)
EDGES: Final = _table("catalog_edges", 5, "space source target rel_type relation")
SHARED: Final[Sequence[tuple[ViewTable, Callable[[Thing], Iterable[tuple[Any, ...]]]]]] = (
    (LISTING, rows_of),
    (IDENTIFIERS, identifiers_of),
    (TIMELINE, timeline.rows_of),
    (PROJECTS, projects_of),
    (ITEMS, items_of),
    (EDGES, edges_of),
)
"""The tables that follow from the things alone, row by row."""

VIEW_TABLES: Final = (
    "things",
    "versions",
    "listing",
    "counts",
    "identifiers",
    "timeline",
    "passages",
    "stem_counts",
    "catalog_projects",
    "catalog_items",
    "catalog_edges",
)

_COUNT: Final = (
    "INSERT INTO counts SELECT * FROM unnest(%s::text[], %s::smallint[], %s::text[], %s::text[],"
    " %s::bigint[]) ON CONFLICT (space, list, owner, facet) DO UPDATE SET n = counts.n + excluded.n"
)
_UNCOUNT: Final = (
    "DELETE FROM counts c USING unnest(%s::text[], %s::smallint[], %s::text[], %s::text[])"
    " AS g (space, list, owner, facet) WHERE c.space = g.space AND c.list = g.list"
    " AND c.owner = g.owner AND c.facet = g.facet AND c.n = 0"
)
_FORGET: Final = "DELETE FROM versions WHERE id = ANY(%s)"


def columns_of(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rows turned into columns."""
    return [list(column) for column in zip(*rows, strict=True)]


def loaded_in(rows: Iterable[PgRow]) -> dict[str, Thing]:
    """The things that rows of `LOAD` hold."""
    return {identity: decode_thing(kind, body) for identity, kind, body in rows}


class Loading:
    """The things that a transaction looks at and changes; what is there already is not asked for.

    `asked` are the ids that were looked up, whether there is anything under them or not.
    """

    def __init__(self, db: PgConnection, loaded: Mapping[str, Thing], asked: set[str]) -> None:
        """Begin with what was loaded."""
        self._db = db
        self._before = dict(loaded)
        self._now = dict(loaded)
        self._asked = asked
        self._changed: dict[str, None] = {}
        self._past: dict[tuple[str, int], tuple[Any, ...]] = {}

    async def for_entries(self, entries: Sequence[Entry]) -> dict[str, Thing]:
        """The things that folding these entries looks at, as they are by now."""
        await self._load(needs(entries))
        for _round in range(BESIDE_ROUNDS):
            await self._load(beside(entries, self._now))
        return self._now

    async def for_things(self, things: Iterable[Thing]) -> None:
        """Know how these things stand, which are about to be replaced."""
        await self._load({thing.id for thing in things})

    async def _load(self, ids: Iterable[str]) -> None:
        missing = set(ids).difference(self._asked)
        if missing:
            self._asked |= missing
            found = loaded_in(await fetched(self._db, LOAD, (list(missing),)))
            self._before |= found
            self._now |= found

    def change(self, things: Mapping[str, Thing]) -> None:
        """Note what things have become."""
        for identity, thing in things.items():
            self._keep(self._now.get(identity), thing)
            self._now[identity] = thing
            self._changed[identity] = None
            self._asked.add(identity)

    def _keep(self, was: Thing | None, now: Thing) -> None:
        """Keep what a thing was in its past, from the position on at which it became that."""
        if isinstance(now, Tombstone):
            for key in [key for key in self._past if key[0] == now.id]:
                del self._past[key]
        elif isinstance(was, VERSIONED) and was.changed_at < now.changed_at:
            kind = THING_KINDS[type(was)]
            row = (was.space, was.id, was.changed_at, kind, encode_thing(was))
            self._past[was.id, was.changed_at] = row

    async def store(self) -> None:
        """Make the views show what was changed."""
        come = [self._now[identity] for identity in self._changed]
        gone = [self._before[i] for i in self._changed if i in self._before]
        erased = [thing.id for thing in come if isinstance(thing, Tombstone)]
        if erased:
            await run(self._db, _FORGET, (erased,))
        moved = [(t.space, t.id) for t in gone if t.space != self._now[t.id].space]
        if moved:
            await run(self._db, THINGS.delete, columns_of(moved))
        rows = [(t.space, t.id, THING_KINDS[type(t)], encode_thing(t)) for t in come]
        await self._put(THINGS, rows)
        await self._put(VERSIONS, list(self._past.values()))
        counted: Counter[StoredCount] = Counter()
        for table, derived in SHARED:
            dropped, put = difference(derived, gone, come)
            events = timeline.events_of((*dropped, *put)) if table is TIMELINE else ()
            if events:
                await run(self._db, timeline.DISCOUNT, columns_of(events))
            await self._drop(table, dropped)
            await self._put(table, put)
            if events:
                await run(self._db, timeline.COUNT, columns_of(events))
                await run(self._db, timeline.UNCOUNT, columns_of(events))
            if table is LISTING:
                counted.subtract(_counted(dropped))
                counted.update(_counted(put))
        await self._passages(gone, come, counted)
        await _count(self._db, counted)
        self._before |= {i: self._now[i] for i in self._changed}
        self._changed.clear()
        self._past.clear()

    async def _drop(self, table: ViewTable, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            await run(self._db, table.delete, columns_of(row[: table.key] for row in rows))

    async def _put(self, table: ViewTable, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            await run(self._db, table.insert, columns_of(rows))

    async def _passages(
        self, gone: Sequence[Thing], come: Sequence[Thing], counted: Counter[StoredCount]
    ) -> None:
        said = PassageCounts(counted)
        dropped, put = difference(passages_in, gone, come)
        for passage in dropped:
            said.take(passage)
        for passage in put:
            said.put(passage)
        for statement, values in said.statements(dropped, put):
            await run(self._db, statement, values)


def _counted(rows: Iterable[Sequence[Any]]) -> list[StoredCount]:
    return [(row[0], row[1], row[2], row[3]) for row in rows if row[1] not in UNCOUNTED]


async def _count(db: PgConnection, changes: Mapping[StoredCount, int]) -> None:
    """Add to the counts, always in one order; what none is left of has no row."""
    ordered = sorted((*key, n) for key, n in changes.items() if n)
    if ordered:
        await run(db, _COUNT, columns_of(ordered))
    less = [row[:-1] for row in ordered if row[-1] < 0]
    if less:
        values: Values = columns_of(less)
        await run(db, _UNCOUNT, values)

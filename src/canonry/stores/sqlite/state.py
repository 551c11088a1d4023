"""Views of items in SQLite: the graph, documents and world locations."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final, TypeVar

import apsw
from typing_extensions import override

from canonry.language.texts.sentences import plain_statement
from canonry.log.commits import Position
from canonry.log.entries import StoredItem
from canonry.log.folding import key_hash, name_key, statement_key
from canonry.log.items.entities import Entity, EntityClass, normalised_name
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, Story, Turn
from canonry.log.items.sources import InterpretationRun, Snippet, Source
from canonry.log.schemas.identity_keys import IdentifierOwner
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.log.schemas.world_types import EXIT
from canonry.readmodels.edges import ALWAYS, Direction, OpenExit
from canonry.readmodels.listing import NOBODY, TAG, List
from canonry.readmodels.ports import documents
from canonry.readmodels.ports import state as ports
from canonry.readmodels.ports.view import PAGE_MAX, Page, View
from canonry.readmodels.timeline import TimelineEvent
from canonry.stores.sqlite import commits, identifiers
from canonry.stores.sqlite.connections import Readers
from canonry.stores.sqlite.rows import (
    FIRST_IDS,
    FacetCondition,
    Packed,
    Selection,
    entities_of,
    events_of,
    facts_of,
    find_items,
    ids_beginning,
    ids_of_owners,
    item_in_row,
    list_counts,
    look_up,
    pack_id,
    page_of,
    proposals_of,
    relations_of,
    scenes_of,
    select_items,
    unpack_id,
    version_of,
)
from canonry.values.audience import is_compartment
from canonry.values.ids import EntityId, SceneId, SourceId, Space, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

T = TypeVar("T")


class SqliteView(View):
    """A view in the store's own file, written with each commit and therefore always current."""

    def __init__(self, readers: Readers) -> None:
        """Read through `readers`."""
        self._readers = readers
        self._read_consistent = partial(readers.run_short, consistent=True)

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return await self._readers.run_short(lambda db: commits.tip_of(db, space).position)

    async def _read_page(self, selection: Selection, limit: int, offset: int) -> Page[Any]:
        return await self._read_consistent(lambda db: page_of(db, selection, limit, offset))

    async def _select_items(self, sql: str, values: Sequence[Any]) -> Sequence[Any]:
        """Return the items whose ids a statement selects."""
        return await self._read_consistent(lambda db: select_items(db, sql, values))


NAMESAKES_MAX: Final = 50  # a name that thousands share costs no more than this
_FOLDED_INLINE: Final = 200  # more would hold the event loop: bench stalls
_READ_INLINE: Final = 256  # more items than this exceed the time of a query on the event loop


_LISTS: Final[Mapping[type, tuple[List, List]]] = {
    Axiom: (List.AXIOMS, List.AXIOMS),
    InterpretationRun: (List.RUNS, List.RUNS),
    Observation: (List.OBSERVATIONS_FROM, List.OBSERVATIONS_FROM),
    RegisteredSchema: (List.SCHEMAS, List.SCHEMAS),
    Source: (List.SOURCES, List.SOURCES),
    Space: (List.SPACES, List.SPACES_IN),
    Story: (List.STORIES, List.STORIES),
}
"""The list of all items of a kind, and the list of those of an owner."""


class SqliteState(SqliteView, ports.State):
    """State queries over the tables that the ledger updates in its own transactions."""

    @override
    async def items_by_id(self, ids: Iterable[str]) -> Mapping[str, StoredItem]:
        wanted = list(ids)
        read = self._readers.run_short if len(wanted) <= _READ_INLINE else self._readers.run_long
        return await read(lambda db: _items_by_id(db, wanted))

    @override
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        return await self._readers.run_short(lambda db: ids_beginning(db, text, limit))

    @override
    async def items_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, StoredItem]:
        wanted = list(ids)
        return await self._read_consistent(lambda db: _items_at(db, wanted, position))

    @override
    async def compartments(self) -> frozenset[SpaceId]:
        runs = await self._readers.run_short(
            lambda db: list_counts(db, List.COMPARTMENTS, NOBODY, None)
        )
        return frozenset(SpaceId(name) for s, _, _ in runs if is_compartment(name := unpack_id(s)))

    @override
    async def entities(self, query: ports.EntityQuery) -> Page[Entity]:
        def select_page(db: apsw.Connection) -> Page[Entity]:
            def count(tag: str) -> int:
                return sum(n for *_, n in list_counts(db, List.ENTITIES, TAG + tag, query.spaces))

            rarest = min(sorted(query.all_of), key=count, default=None)
            return page_of(db, entities_of(query, rarest), query.limit, query.offset)

        return await self._read_consistent(select_page)

    @override
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        wanted, owner = normalised_name(name), key_hash(name_key(entity_type, name))
        values = (int(List.ENTITIES_NAMED), owner, pack_id(space), "", NAMESAKES_MAX)
        found = await self._select_items(FIRST_IDS, values)
        return [e for e in found if e.entity_type == entity_type and wanted in e.known_as]

    @override
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        sql = (
            "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ''"
            " AND facet = '' AND rank > ? ORDER BY rank, later, id LIMIT ?"
        )
        values = (int(List.OBSERVATIONS), pack_id(entity_id), after, limit)
        return await self._select_items(sql, values)

    @override
    async def entities_identified(self, query: ports.IdentifierQuery) -> Mapping[str, Page[Entity]]:
        return await self._read_consistent(lambda db: identifiers.select_identified(db, query))

    @override
    async def identifier_owners(
        self, query: ports.IdentifierQuery
    ) -> Mapping[str, Page[IdentifierOwner]]:
        return await self._read_consistent(
            lambda db: identifiers.select_identified(db, query, IdentifierOwner)
        )

    @override
    async def entity_types(self, spaces: ports.Spaces) -> Mapping[str, int]:
        runs = await self._readers.run_short(
            lambda db: list_counts(db, List.ENTITIES, NOBODY, spaces)
        )
        found: Counter[str] = Counter()
        for _, facet, n in runs:
            entity_type, _, level = facet.rsplit("/", 2)
            if level == CanonLevel.CANON:
                found[entity_type] += n
        return dict(sorted(found.items()))

    @override
    async def entities_seen_until(
        self, entity_ids: Iterable[EntityId], instant: Instant
    ) -> Mapping[str, Entity]:
        wanted = list(entity_ids)

        def find_seen(db: apsw.Connection, most: int) -> Mapping[str, Entity]:
            seen = ((one, identifiers.seen_until(db, one, instant, most=most)) for one in wanted)
            return {one: entity for one, entity in seen if entity is not None}

        try:
            return await self._read_consistent(lambda db: find_seen(db, _FOLDED_INLINE))
        except identifiers.TooLong:
            return await self._readers.run_long(
                lambda db: find_seen(db, PAGE_MAX**2), consistent=True
            )

    @override
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        wanted = list(entity_ids)
        return await self._read_consistent(
            lambda db: identifiers.newest_observations(db, wanted, limit, offset)
        )

    @override
    async def timeline(self, query: ports.TimelineQuery) -> Page[TimelineEvent]:
        return await self._read_consistent(lambda db: identifiers.select_timeline(db, query))

    @override
    async def list_items(self, kind: type[T], query: ports.ListQuery) -> Page[T]:
        whole, of_owner = _LISTS[kind]
        selection = Selection(
            listed=whole if query.owner is None else of_owner,
            owners=(NOBODY if query.owner is None else query.owner,),
            spaces=query.spaces,
            facet=None
            if query.named is None
            else FacetCondition(whole=frozenset((str(query.named),))),
            newest_first=query.newest_first,
        )
        return await self._read_page(selection, query.limit, query.offset)

    @override
    async def facts(self, query: ports.FactQuery) -> Page[Fact]:
        return await self._read_page(facts_of(query), query.limit, query.offset)

    @override
    async def facts_stating(self, space: SpaceId, statements: AbstractSet[str]) -> Sequence[Fact]:
        wanted = frozenset(map(plain_statement, statements))
        keys = dict.fromkeys(map(statement_key, wanted), ports.STATING_MAX)
        found = await self._facts_by_key(List.FACTS_STATING, space, keys)
        return [fact for fact in found if plain_statement(fact.statement) in wanted]

    @override
    async def facts_framed(self, space: SpaceId, keys: Mapping[str, int]) -> Sequence[Fact]:
        return await self._facts_by_key(List.FACTS_FRAMED, space, keys, newest=True)

    @override
    async def events(self, query: ports.EventQuery) -> Page[Event]:
        return await self._read_page(events_of(query), query.limit, query.offset)

    @override
    async def relations(self, query: ports.RelationQuery) -> Page[Relation]:
        return await self._read_page(relations_of(query), query.limit, query.offset)

    async def _facts_by_key(
        self, listed: List, space: SpaceId, keys: Mapping[str, int], *, newest: bool = False
    ) -> Sequence[Fact]:
        """Return the facts under each key, up to its number, the first or the newest."""
        owners = [(key_hash(key), limit) for key, limit in keys.items()]

        facts: Sequence[Fact] = await self._read_consistent(
            lambda db: find_items(db, ids_of_owners(db, listed, owners, space, newest=newest))
        )
        return sorted(facts, key=lambda fact: (fact.created_at, fact.id))


def _items_by_id(db: apsw.Connection, ids: Sequence[str]) -> Mapping[str, StoredItem]:
    asked = {pack_id(item_id): item_id for item_id in ids}
    found = look_up(db, asked)
    return {asked[packed]: item_in_row(*row[1:], under=packed) for packed, row in found.items()}


def _items_at(
    db: apsw.Connection, ids: Sequence[str], position: Position
) -> Mapping[str, StoredItem]:
    found: dict[str, StoredItem] = {}
    for item_id, item in _items_by_id(db, ids).items():
        if item.changed_at <= position:
            found[item_id] = item
        elif (past := version_of(db, pack_id(item_id), position)) is not None:
            found[item_id] = past
    return found


class SqliteDocuments(SqliteView, documents.Documents):
    """Document queries over the tables that the ledger updates in its own transactions."""

    @override
    async def scenes(self, query: documents.SceneQuery) -> Page[Scene]:
        return await self._read_page(scenes_of(query), query.limit, query.offset)

    @override
    async def proposals(self, query: documents.ProposalQuery) -> Page[Proposal]:
        return await self._read_page(proposals_of(query), query.limit, query.offset)

    @override
    async def memories(self, query: documents.MemoryQuery) -> Page[Memory]:
        least = -query.min_importance if query.min_importance > 0 else None
        selection = Selection(listed=List.MEMORIES, owners=(query.entity_id,), rank_most=least)
        return await self._read_page(selection, query.limit, query.offset)

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        selection = Selection(listed=List.SNIPPETS, owners=(source_id,))
        return await self._read_page(selection, limit, offset)

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        open_ones = Selection(listed=List.SCENES_OPEN, spaces=spaces)
        return (await self._read_page(open_ones, limit, 0)).items

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        newest = last is not None
        sql = (
            "SELECT id FROM listing WHERE list = ? AND owner = ?"  # noqa: S608 - ours
            " AND space = '' AND facet = '' AND rank > ?"
            f" ORDER BY rank {'DESC' if newest else 'ASC'} LIMIT ?"
        )
        values = (int(List.TURNS), pack_id(scene_id), after, last if last is not None else limit)
        turns = await self._select_items(sql, values)
        return turns[::-1] if newest else turns


# Edges of worlds in SQLite: each entity's edges are indexed by their end.
#
# Current edges end last. Finding who is in a location now does not read past visits.

_EDGES: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND rank > ? AND later <= ? ORDER BY later{down}, id{down} LIMIT ?"
)
_ALL_EDGES: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet >= ? AND facet < ?"
    " AND rank > ? AND later <= ? ORDER BY facet, later{down}, id{down} LIMIT ?"
)
_EDGES_BY_ORDER: Final = {
    newest: tuple(sql.format(down=" DESC" if newest else "") for sql in (_EDGES, _ALL_EDGES))
    for newest in (False, True)
}
_EXITS: Final = (
    "SELECT facet, name FROM listing WHERE list = ? AND owner = ? AND space = ?"
    " AND facet >= ? AND facet < ? AND rank > ? AND later <= ? AND name IS NOT NULL"
    " ORDER BY facet, later, id"
)
_EVENTS: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND rank <= ? ORDER BY rank DESC, later DESC, id DESC LIMIT ?"
)
_FOLLOWING: Final = (
    "SELECT rank, later, id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND (rank, later, id) > (?, ?, ?) ORDER BY rank, later, id LIMIT ?"
)


class SqlitePlaces(SqliteView, documents.Places):
    """Queries over world edges in the tables that the ledger updates in its own transactions."""

    @override
    async def edges(self, query: documents.EdgeQuery) -> Sequence[Relation]:
        return await self._read_consistent(lambda db: _select_edges(db, query))

    @override
    async def open_exits(
        self, space: SpaceId, places: Iterable[EntityId], at: Instant
    ) -> Sequence[OpenExit]:
        wanted = tuple(places)
        return await self._read_consistent(lambda db: _select_exits(db, space, wanted, at))

    @override
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        list_key = (int(List.EVENTS_OF), pack_id(entity), pack_id(space), str(CanonLevel.CANON))
        return await self._select_items(_EVENTS, (*list_key, at, limit))

    @override
    async def entities_after(
        self, space: SpaceId, entity_type: str, last: Entity | None, *, limit: int
    ) -> Sequence[Entity]:
        facets = [f"{entity_type}/{each}/{CanonLevel.CANON}" for each in EntityClass]
        start = None if last is None else (last.created_at, 0, last.id)
        return await self._read_consistent(
            lambda db: _next_items(db, List.ENTITIES, space, facets, start, limit)
        )

    @override
    async def events_after(
        self, space: SpaceId, last: Event | None, *, limit: int
    ) -> Sequence[Event]:
        start = None if last is None else (*last.rank, last.id)
        facets = [str(CanonLevel.CANON)]
        return await self._read_consistent(
            lambda db: _next_items(db, List.EVENTS, space, facets, start, limit)
        )


def _next_items(  # noqa: PLR0917 - where to begin in which list
    db: apsw.Connection,
    listed: List,
    space: SpaceId,
    facets: Sequence[str],
    start: tuple[int, int, str] | None,
    limit: int,
) -> Sequence[Any]:
    """Return the next rows of a list that has no owner."""
    rank, later, identity = (ALWAYS, 0, "") if start is None else (*start[:2], pack_id(start[2]))
    rows: list[Any] = []
    for facet in facets:
        list_key = (int(listed), NOBODY, pack_id(space), facet)
        rows += db.execute(_FOLLOWING, (*list_key, rank, later, identity, limit))
    rows.sort(key=lambda row: (*row[:2], unpack_id(row[2])))
    return find_items(db, [row[2] for row in rows[:limit]])


def _select_edges(db: apsw.Connection, query: documents.EdgeQuery) -> Sequence[Relation]:
    head = f"{'out' if query.outward else 'in'}/{query.rel_type}"
    space, ids = pack_id(query.space), list[Packed]()
    of_a_kind, of_all = _EDGES_BY_ORDER[query.newest_first]
    rows: Any
    for entity in query.entities:
        list_key = (int(List.EDGES_OF), pack_id(entity), space)
        rest = (query.at, query.at, query.limit)
        if query.kinds is None:  # "0" is the character after "/"
            rows = db.execute(of_all, (*list_key, f"{head}/", f"{head}0", *rest))
            ids += [row[0] for row in rows]
            continue
        for kind in query.kinds:
            rows = db.execute(of_a_kind, (*list_key, f"{head}/{kind}", *rest))
            ids += [row[0] for row in rows]
    return find_items(db, ids)


def _select_exits(
    db: apsw.Connection, space: SpaceId, locations: Sequence[EntityId], at: Instant
) -> Sequence[OpenExit]:
    head, owner_space, found = f"out/{EXIT}", pack_id(space), list[OpenExit]()
    for location in locations:
        key = (int(List.EDGES_OF), pack_id(location), owner_space, f"{head}/", f"{head}0", at, at)
        rows: Any = db.execute(_EXITS, key)
        for facet, end in rows:
            direction = Direction(facet.rpartition("/")[2])
            found.append(OpenExit(start=location, direction=direction, end=EntityId(end)))
    return found

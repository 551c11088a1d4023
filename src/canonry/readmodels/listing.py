"""Listing rows: the lists that contain an item, derived from the item alone.

All engines store the same rows in their own form, so that lists and totals are equal.

A row is (list, owner, space, facet, rank, later, id, starts, ends, name). A query names a list and
its owner (an entity, a tag, a scene, or nobody), selects facets (`canon/gm/state`), and pages by
(rank, later, id). Rows of counted lists are counted by (list, owner, space, facet).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, TypeAlias, TypeVar

from canonry.log.entries import Thing
from canonry.log.folding import key_hash, name_key, statement_key, statements_keys
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Story, Turn
from canonry.log.items.sources import InterpretationRun, Snippet, Source
from canonry.log.items.veils import homed, is_veiled, variants
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.edges import kind_of, span_of, way_of
from canonry.values.ids import Space
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.values.state_tags import normal_tags

Owner: TypeAlias = str | int
"""An id, a tag with its prefix, `NOBODY`, or the hash of a key."""
ListingRow: TypeAlias = tuple[
    int, Owner, str, str, int | float, int, str, int | None, int | None, str | None
]

_FAR: Final = 2**63 - 1
_FORMER: Final = 2**61
"""A rank after all instants, which puts former names after current ones."""

NOBODY: Final = ""
MERGED: Final = ">"
"""The owner of merged entities."""

TAG: Final = "#"
"""The prefix of a tag as owner of its list, so that no tag equals `NOBODY`."""


class List(IntEnum):
    """The lists; their numbers are stored, so a number is never reused."""

    ENTITIES = 1
    ENTITIES_NAMED = 2
    FACTS = 3
    FACTS_OF = 4
    FACTS_STATING = 5
    EVENTS = 6
    EVENTS_OF = 7
    EVENTS_IN = 8
    EVENTS_CAUSING = 9
    RELATIONS = 10
    RELATIONS_OF = 11
    SPACES = 12
    SPACES_IN = 13
    AXIOMS = 14
    SOURCES = 15
    STORIES = 16
    SCENES = 17
    SCENES_OF = 18
    SCENES_OPEN = 19
    TURNS = 20
    PROPOSALS = 21
    PROPOSALS_OF = 22
    MEMORIES = 23
    SNIPPETS = 24
    OBSERVATIONS = 25
    PASSAGES = 26
    OBSERVATIONS_SEEN = 27
    OBSERVATIONS_FROM = 28
    SCHEMAS = 29
    RUNS = 30
    TIMELINE = 31
    """Counts the events of the timeline, whose rows have a table of their own."""
    FACTS_FRAMED = 32
    COMPARTMENTS = 33
    """The compartments with variants of items that differ by audience."""
    EDGES_OF = 40


SPACELESS: Final = frozenset(
    map(int, (List.EVENTS_CAUSING, List.TURNS, List.OBSERVATIONS, List.OBSERVATIONS_SEEN))
)
"""Lists whose rows have the space `NOBODY`, because only their owner selects them."""

UNCOUNTED: Final = SPACELESS | frozenset(
    map(int, (List.ENTITIES_NAMED, List.FACTS_STATING, List.FACTS_FRAMED, List.EDGES_OF))
)
"""Lists that are never asked for a total."""


def rows_of(thing: Thing) -> Iterable[ListingRow]:
    """Return an item's rows in every list, for each variant in its compartment."""
    if not is_veiled(thing):
        rows = _rows(thing)
        return (*rows, *_edges(thing)) if isinstance(thing, Relation) else rows
    found = dict.fromkeys(_edges(homed(thing)))
    for variant in (homed(thing), *variants(thing)):
        number = int(List.COMPARTMENTS)
        found[number, NOBODY, variant.space, "", 0, 0, thing.id, None, None, None] = None
    for variant in variants(thing):
        found |= dict.fromkeys(_rows(variant))
    return found


def _rows(thing: Thing) -> Sequence[ListingRow]:
    rows = _ROWS.get(type(thing))
    return () if rows is None else rows(thing)


RowT = TypeVar("RowT")


def difference(
    rows: Callable[[Thing], Iterable[RowT]], gone: Iterable[Thing], come: Iterable[Thing]
) -> tuple[Sequence[RowT], Sequence[RowT]]:
    """Return the rows only in `gone`, and those only in `come`."""
    before = dict.fromkeys([row for thing in gone for row in rows(thing)])
    if not before:  # an item never has equal rows
        return (), [row for thing in come for row in rows(thing)]
    after = dict.fromkeys([row for thing in come for row in rows(thing)])
    return (
        [row for row in before if row not in after],
        [row for row in after if row not in before],
    )


def storable(instant: int | None) -> int | None:
    """Clamp `instant` to what a column can store: a duration may end beyond that."""
    return None if instant is None else max(-_FAR, min(instant, _FAR))


def _row(
    listed: List,
    owner: Owner,
    thing: Any,
    facet: str = "",
    *,
    rank: float | None = None,
    later: int = 0,
    starts: int | None = None,
    ends: int | None = None,
    name: str | None = None,
) -> ListingRow:
    """Return the item's row, by default sorted by its creation."""
    number = int(listed)  # a number hashes faster than an enum member
    space = NOBODY if number in SPACELESS else thing.space
    place = (number, owner, space, str(facet))
    at = thing.created_at if rank is None else rank
    return (*place, at, later, thing.id, starts, ends, name)


def _both(
    listed: List, of_owner: List, owner: Owner | None, thing: Any, facet: str = "", **place: Any
) -> list[ListingRow]:
    """Return the item's row in a list of all items, and that in the list of its owner, if any."""
    every = _row(listed, NOBODY, thing, facet, **place)
    return [every] if owner is None else [every, (int(of_owner), owner, *every[2:])]


def _alike(
    listed: List, owners: Iterable[Owner], thing: Any, facet: str = "", **place: Any
) -> list[ListingRow]:
    """Return the item's rows in one list, which differ only by their owners."""
    number, _owner, *rest = _row(listed, NOBODY, thing, facet, **place)
    return [(number, owner, *rest) for owner in owners]  # type: ignore[misc] # the rest of a row


def _entity(entity: Entity) -> list[ListingRow]:
    facet = f"{entity.entity_type}/{entity.entity_class}/{entity.level}"
    known = entity.known_as
    name = "\n".join(known)
    if entity.merged_into is not None:
        return [_row(List.ENTITIES, MERGED, entity, facet, name=name)]
    found = [_row(List.ENTITIES, NOBODY, entity, facet, name=name)]
    tags = normal_tags(entity.state_tags)
    found += _alike(List.ENTITIES, [TAG + tag for tag in tags], entity, facet)
    if entity.level is CanonLevel.CANON:
        rank: int = entity.created_at
        for one in known:
            key = key_hash(name_key(entity.entity_type, one))
            found.append(_row(List.ENTITIES_NAMED, key, entity, rank=rank))
            rank = entity.created_at + _FORMER
    return found


def _observation(observation: Observation) -> list[ListingRow]:
    owner, place = observation.entity_id, observation.position
    seen = -observation.seen_at
    alike = observation.likeness
    found = [
        _row(List.OBSERVATIONS, owner, observation, rank=place),
        _row(List.OBSERVATIONS_SEEN, owner, observation, rank=seen, later=-place, name=alike),
    ]
    if observation.source_id is not None:
        source = observation.source_id
        found.append(_row(List.OBSERVATIONS_FROM, source, observation, rank=place))
    return found


def _fact(fact: Fact) -> list[ListingRow]:
    facet = f"{fact.level}/{fact.authority}/{fact.fact_type}"
    starts, ends = storable(fact.time_ref), storable(fact.ends_at)
    found = [_row(List.FACTS, NOBODY, fact, facet, starts=starts, ends=ends)]
    involved = frozenset(fact.involved)
    found += _alike(List.FACTS_OF, involved, fact, facet, starts=starts, ends=ends)
    found.append(_row(List.FACTS_STATING, key_hash(statement_key(fact.statement)), fact))
    if fact.level is CanonLevel.CANON:
        found += _alike(List.FACTS_FRAMED, map(key_hash, statements_keys(fact)), fact)
    return found


def _event(event: Event) -> list[ListingRow]:
    (rank, later), level, scene = event.rank, event.level, event.scene_id
    found = _both(List.EVENTS, List.EVENTS_IN, scene, event, level, rank=rank, later=later)
    involved = frozenset(event.involved)
    found += _alike(List.EVENTS_OF, involved, event, level, rank=rank, later=later)
    if event.causes:
        found += _alike(List.EVENTS_CAUSING, frozenset(event.causes), event)
    return found


def _relation(relation: Relation) -> list[ListingRow]:
    state = f"{'current' if relation.current else 'past'}/{relation.rel_type}"
    every = _row(List.RELATIONS, NOBODY, relation, f"edge/{state}")
    if relation.from_id == relation.to_id:
        return [every, _row(List.RELATIONS_OF, relation.from_id, relation, f"both/{state}")]
    return [
        every,
        _row(List.RELATIONS_OF, relation.from_id, relation, f"out/{state}"),
        _row(List.RELATIONS_OF, relation.to_id, relation, f"in/{state}"),
    ]


def _edges(relation: Thing) -> Iterator[ListingRow]:
    """Return the edges of worlds by their end, for `Places`; open exits have their end as name.

    A walk through a world sees each edge as its whole audience does.
    """
    if isinstance(relation, Relation) and (span := span_of(relation)) is not None:
        since, until = (max(-_FAR, end) for end in span)
        kind = f"{relation.rel_type}/{kind_of(relation)}"
        way = way_of(relation)
        ends = (
            ("out", relation.from_id, None if way is None else way.end),
            ("in", relation.to_id, None),
        )
        for side, end, name in ends:
            facet = f"{side}/{kind}"
            yield _row(List.EDGES_OF, end, relation, facet, rank=until, later=since, name=name)


def _scene(scene: Scene) -> list[ListingRow]:
    status, rank, later = scene.status, scene.order, scene.created_at
    found = _both(
        List.SCENES, List.SCENES_OF, scene.story_id, scene, status, rank=rank, later=later
    )
    if scene.status is SceneStatus.FINALIZING:
        found.append(_row(List.SCENES_OPEN, NOBODY, scene))
    return found


def _proposal(proposal: Proposal) -> list[ListingRow]:
    facet = f"{proposal.type}/{proposal.status}/{'+'.join(proposal.asks)}"
    return _both(List.PROPOSALS, List.PROPOSALS_OF, proposal.scene_id, proposal, facet)


def _memory(memory: Memory) -> list[ListingRow]:
    rank, later = -memory.importance, -memory.created_at
    return [_row(List.MEMORIES, memory.entity_id, memory, rank=rank, later=later)]


_ROWS: Final[Mapping[type, Callable[[Any], Sequence[ListingRow]]]] = {
    Turn: lambda thing: (_row(List.TURNS, thing.scene_id, thing, rank=thing.index),),
    Entity: _entity,
    Observation: _observation,
    Relation: _relation,
    Fact: _fact,
    Event: _event,
    Scene: _scene,
    Proposal: _proposal,
    Memory: _memory,
    Space: lambda thing: _both(List.SPACES, List.SPACES_IN, thing.parent, thing, thing.kind),
    Axiom: lambda thing: (_row(List.AXIOMS, NOBODY, thing),),
    Source: lambda thing: (_row(List.SOURCES, NOBODY, thing),),
    Story: lambda thing: (_row(List.STORIES, NOBODY, thing),),
    RegisteredSchema: lambda thing: (_row(List.SCHEMAS, NOBODY, thing, thing.entity_type),),
    InterpretationRun: lambda thing: _both(List.RUNS, List.RUNS, thing.source_id, thing),
    Snippet: lambda thing: (_row(List.SNIPPETS, thing.source_id, thing, rank=thing.index),),
}
"""The rows of an item of each kind, as its variant in one compartment."""

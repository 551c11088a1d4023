"""Listing rows: the lists that contain an item, derived from the item alone.

All engines store the same rows in their own form, so that lists and totals are equal.

A row is (list, owner, space, facet, rank, later, id, starts, ends, name). A query names a list and
its owner (an entity, a tag, a scene, or nobody), selects facets (`canon/gm/state`), and pages by
(rank, later, id). Rows of counted lists are counted by (list, owner, space, facet).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, TypeAlias, TypeVar

from canonry.log.entries import StoredItem
from canonry.log.folding import key_hash, name_key, statement_key, statements_keys
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Story, Turn
from canonry.log.items.secret_parts import has_variants, in_compartment, list_variants
from canonry.log.items.sources import InterpretationRun, Snippet, Source
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.edges import kind_of, open_exit_of, span_of
from canonry.values.ids import Space
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.values.state_tags import normal_tags

Owner: TypeAlias = str | int
"""An id, a tag with its prefix, `NOBODY`, or the hash of a key."""
ListingRow: TypeAlias = tuple[
    int, Owner, str, str, int | float, int, str, int | None, int | None, str | None
]

_FAR: Final = 2**63 - 1  # the range of a 64-bit column
_FORMER: Final = 2**61  # a rank after all instants, which puts former names after current ones

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


def rows_of(item: StoredItem) -> Iterable[ListingRow]:
    """Return an item's rows in every list, for each variant in its compartment."""
    if not has_variants(item):
        rows = _item_rows(item)
        return (*rows, *_edge_rows(item)) if isinstance(item, Relation) else rows
    found = dict.fromkeys(_edge_rows(in_compartment(item)))
    for variant in (in_compartment(item), *list_variants(item)):
        number = int(List.COMPARTMENTS)
        found[number, NOBODY, variant.space, "", 0, 0, item.id, None, None, None] = None
    for variant in list_variants(item):
        found |= dict.fromkeys(_item_rows(variant))
    return found


def _item_rows(item: StoredItem) -> Sequence[ListingRow]:
    rows = _ROWS.get(type(item))
    return () if rows is None else rows(item)


RowT = TypeVar("RowT")


def row_difference(
    rows: Callable[[StoredItem], Iterable[RowT]],
    gone: Iterable[StoredItem],
    come: Iterable[StoredItem],
) -> tuple[Sequence[RowT], Sequence[RowT]]:
    """Return the rows only in `gone`, and those only in `come`."""
    before = dict.fromkeys([row for item in gone for row in rows(item)])
    if not before:  # an item never has equal rows
        return (), [row for item in come for row in rows(item)]
    after = dict.fromkeys([row for item in come for row in rows(item)])
    return [row for row in before if row not in after], [row for row in after if row not in before]


def clamp_instant(instant: int | None) -> int | None:
    """Clamp `instant` to what a column can store: a duration may end beyond that."""
    return None if instant is None else max(-_FAR, min(instant, _FAR))


def _listing_row(
    listed: List,
    owner: Owner,
    item: Any,
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
    space = NOBODY if number in SPACELESS else item.space
    sort_start = (number, owner, space, str(facet))
    at = item.created_at if rank is None else rank
    return (*sort_start, at, later, item.id, starts, ends, name)


def _owner_rows(
    listed: List, of_owner: List, owner: Owner | None, item: Any, facet: str = "", **sort_keys: Any
) -> list[ListingRow]:
    """Return the item's row in a list of all items, and that in the list of its owner, if any."""
    every = _listing_row(listed, NOBODY, item, facet, **sort_keys)
    return [every] if owner is None else [every, (int(of_owner), owner, *every[2:])]


def _rows_by_owner(
    listed: List, owners: Iterable[Owner], item: Any, facet: str = "", **sort_keys: Any
) -> list[ListingRow]:
    """Return the item's rows in one list, which differ only by their owners."""
    number, _owner, *rest = _listing_row(listed, NOBODY, item, facet, **sort_keys)
    return [(number, owner, *rest) for owner in owners]  # type: ignore[misc] # the rest of a row


def _entity_rows(entity: Entity) -> list[ListingRow]:
    facet = f"{entity.entity_type}/{entity.entity_class}/{entity.level}"
    known = entity.known_as
    name = "\n".join(known)
    if entity.merged_into is not None:
        return [_listing_row(List.ENTITIES, MERGED, entity, facet, name=name)]
    found = [_listing_row(List.ENTITIES, NOBODY, entity, facet, name=name)]
    tags = normal_tags(entity.state_tags)
    found += _rows_by_owner(List.ENTITIES, [TAG + tag for tag in tags], entity, facet)
    if entity.level is CanonLevel.CANON:
        rank: int = entity.created_at
        for one in known:
            key = key_hash(name_key(entity.entity_type, one))
            found.append(_listing_row(List.ENTITIES_NAMED, key, entity, rank=rank))
            rank = entity.created_at + _FORMER
    return found


def _observation_rows(observation: Observation) -> list[ListingRow]:
    owner, position = observation.entity_id, observation.position
    seen = -observation.seen_at
    alike = observation.likeness_key
    found = [
        _listing_row(List.OBSERVATIONS, owner, observation, rank=position),
        _listing_row(
            List.OBSERVATIONS_SEEN, owner, observation, rank=seen, later=-position, name=alike
        ),
    ]
    if observation.source_id is not None:
        source = observation.source_id
        found.append(_listing_row(List.OBSERVATIONS_FROM, source, observation, rank=position))
    return found


def _fact_rows(fact: Fact) -> list[ListingRow]:
    facet = f"{fact.level}/{fact.authority}/{fact.fact_type}"
    starts, ends = clamp_instant(fact.time_ref), clamp_instant(fact.ends_at)
    found = [_listing_row(List.FACTS, NOBODY, fact, facet, starts=starts, ends=ends)]
    involved = frozenset(fact.involved)
    found += _rows_by_owner(List.FACTS_OF, involved, fact, facet, starts=starts, ends=ends)
    found.append(_listing_row(List.FACTS_STATING, key_hash(statement_key(fact.statement)), fact))
    if fact.level is CanonLevel.CANON:
        found += _rows_by_owner(List.FACTS_FRAMED, map(key_hash, statements_keys(fact)), fact)
    return found


def _event_rows(event: Event) -> list[ListingRow]:
    (rank, later), level, scene = event.rank, event.level, event.scene_id
    found = _owner_rows(List.EVENTS, List.EVENTS_IN, scene, event, level, rank=rank, later=later)
    involved = frozenset(event.involved)
    found += _rows_by_owner(List.EVENTS_OF, involved, event, level, rank=rank, later=later)
    if event.causes:
        found += _rows_by_owner(List.EVENTS_CAUSING, frozenset(event.causes), event)
    return found


def _relation_rows(relation: Relation) -> list[ListingRow]:
    state = f"{'current' if relation.current else 'past'}/{relation.rel_type}"
    every = _listing_row(List.RELATIONS, NOBODY, relation, f"edge/{state}")
    if relation.from_id == relation.to_id:
        return [every, _listing_row(List.RELATIONS_OF, relation.from_id, relation, f"both/{state}")]
    return [
        every,
        _listing_row(List.RELATIONS_OF, relation.from_id, relation, f"out/{state}"),
        _listing_row(List.RELATIONS_OF, relation.to_id, relation, f"in/{state}"),
    ]


def _edge_rows(relation: StoredItem) -> Iterator[ListingRow]:
    """Return the edges of worlds by their end, for `Places`; open exits have their end as name.

    A walk through a world sees each edge as its whole audience does.
    """
    if isinstance(relation, Relation) and (span := span_of(relation)) is not None:
        since, until = (max(-_FAR, end) for end in span)
        kind = f"{relation.rel_type}/{kind_of(relation)}"
        open_exit = open_exit_of(relation)
        ends = (
            ("out", relation.from_id, None if open_exit is None else open_exit.end),
            ("in", relation.to_id, None),
        )
        for side, end, name in ends:
            facet = f"{side}/{kind}"
            yield _listing_row(
                List.EDGES_OF, end, relation, facet, rank=until, later=since, name=name
            )


def _scene_rows(scene: Scene) -> list[ListingRow]:
    status, rank, later = scene.status, scene.order, scene.created_at
    found = _owner_rows(
        List.SCENES, List.SCENES_OF, scene.story_id, scene, status, rank=rank, later=later
    )
    if scene.status is SceneStatus.FINALIZING:
        found.append(_listing_row(List.SCENES_OPEN, NOBODY, scene))
    return found


def _proposal_rows(proposal: Proposal) -> list[ListingRow]:
    facet = f"{proposal.type}/{proposal.status}/{'+'.join(proposal.asks)}"
    return _owner_rows(List.PROPOSALS, List.PROPOSALS_OF, proposal.scene_id, proposal, facet)


def _memory_rows(memory: Memory) -> list[ListingRow]:
    rank, later = -memory.importance, -memory.created_at
    return [_listing_row(List.MEMORIES, memory.entity_id, memory, rank=rank, later=later)]


_ROWS: Final[Mapping[type, Callable[[Any], Sequence[ListingRow]]]] = {
    Turn: lambda thing: (_listing_row(List.TURNS, thing.scene_id, thing, rank=thing.index),),
    Entity: _entity_rows,
    Observation: _observation_rows,
    Relation: _relation_rows,
    Fact: _fact_rows,
    Event: _event_rows,
    Scene: _scene_rows,
    Proposal: _proposal_rows,
    Memory: _memory_rows,
    Space: lambda thing: _owner_rows(List.SPACES, List.SPACES_IN, thing.parent, thing, thing.kind),
    Axiom: lambda thing: (_listing_row(List.AXIOMS, NOBODY, thing),),
    Source: lambda thing: (_listing_row(List.SOURCES, NOBODY, thing),),
    Story: lambda thing: (_listing_row(List.STORIES, NOBODY, thing),),
    RegisteredSchema: lambda thing: (_listing_row(List.SCHEMAS, NOBODY, thing, thing.entity_type),),
    InterpretationRun: lambda thing: _owner_rows(List.RUNS, List.RUNS, thing.source_id, thing),
    Snippet: lambda thing: (_listing_row(List.SNIPPETS, thing.source_id, thing, rank=thing.index),),
}
"""The rows of an item of each kind, as its variant in one compartment."""

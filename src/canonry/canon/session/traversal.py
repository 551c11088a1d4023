"""Traverse relations from an entity."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change
from canonry.canon.session.lookup import readable_scope
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, Entry
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Relation
from canonry.readmodels.ports.state import RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.readmodels.timeline import join_edges
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId

# Traverse related entities over current relations, hop by hop, each entity once.
#
# A relation of a merged entity counts as its survivor's. Duplicate relations after a merge count
# once; relations from the survivor to itself are skipped.

NODES_MAX: Final = 1_000  # bounds the memory of a walk and the reply
EDGES_MAX: Final = 5_000  # bounds the memory of a walk and the reply
DIRECTIONS: Final = {"outbound": "out", "inbound": "in", "both": "any"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The entities around a start entity, without it; the ends of relations are survivors.

    `hops` is the largest distance; `truncated`: more entities exist than were visited.
    """

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    hops: int
    truncated: bool


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The state of a traversal: entities by each of their ids, and the visited relations."""

    canon: Canon
    caller: Caller
    types: frozenset[str]
    direction: str
    known: dict[str, Entity]
    reached: dict[EntityId, Entity] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    truncated: bool = False


async def traverse_related(
    canon: Canon,
    caller: Caller,
    start: Entity,
    *,
    types: Iterable[str] = (),
    direction: str = "both",
    max_hops: int = 1,
) -> Related:
    """Return the entities within `max_hops` of `start`, over relations of these types or of all."""
    walk = _Walk(
        canon=canon,
        caller=caller,
        types=frozenset(types),
        direction=DIRECTIONS[direction],
        known=dict.fromkeys(family_of(start), start),
        reached={start.id: start},
    )
    frontier: tuple[Entity, ...] = (start,)
    hops = 0
    while frontier and hops < max_hops and not walk.truncated:
        frontier = await _walk_hop(walk, frontier)
        hops += bool(frontier)
    del walk.reached[start.id]
    return Related(
        entities=tuple(walk.reached.values()),
        relations=tuple(
            join_edges(walk.relations.values(), {i: each.id for i, each in walk.known.items()})
        ),
        hops=hops,
        truncated=walk.truncated,
    )


async def _walk_hop(walk: _Walk, frontier: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Walk one hop; return the new entities in order of their ids."""
    edges = await _find_edges(walk, frontier)
    await _load_ends(walk, {end for edge in edges for end in (edge.from_id, edge.to_id)})
    new: dict[EntityId, Entity] = {}
    for edge in edges:
        ends = walk.known.get(edge.from_id), walk.known.get(edge.to_id)
        if ends[0] is None or ends[1] is None or ends[0].id == ends[1].id:
            continue
        fresh = {end.id: end for end in ends if end and end.id not in walk.reached}
        if len(walk.reached) + len(new.keys() | fresh.keys()) > NODES_MAX + 1:
            walk.truncated = True
            continue
        new |= fresh
        walk.relations[edge.id] = edge
    ordered = tuple(new[each] for each in sorted(new))
    walk.reached |= {each.id: each for each in ordered}
    return ordered


async def _find_edges(walk: _Walk, frontier: tuple[Entity, ...]) -> list[Relation]:
    """Return the frontier's unvisited relations, newest first."""
    edges: list[Relation] = []
    for space in sorted({entity.space for entity in frontier}):
        family = frozenset[EntityId]().union(
            *(family_of(entity) for entity in frontier if entity.space == space)
        )
        query = RelationQuery(
            spaces=frozenset((space,)),
            entities=family,
            rel_type=next(iter(walk.types)) if len(walk.types) == 1 else None,
            direction=walk.direction,
            current=True,
            limit=PAGE_MAX,
        )
        offset = 0
        while True:
            page = await walk.canon.state.relations(with_changes(query, offset=offset))
            edges += (each for each in page.items if not walk.types or each.rel_type in walk.types)
            offset += PAGE_MAX
            if offset >= page.total:
                break
            if len(walk.relations) + len(edges) >= EDGES_MAX:
                walk.truncated = True
                break
    return [edge for edge in edges if edge.id not in walk.relations]


async def _load_ends(walk: _Walk, ends: set[EntityId]) -> None:
    """Load the entities at these ends, survivors for merged ones."""
    roots = await readable_scope(walk.canon, walk.caller).root_entities(ends - walk.known.keys())
    walk.known |= {root.id: root for root in roots.values() if root.id not in walk.known}
    walk.known |= {end: walk.known[root.id] for end, root in roots.items()}


def separate_entities(gone: Entity, kept: Entity, reason: str) -> Change:
    """Return the change that separates `gone` from `kept` with all its former statements."""
    brought = [member for member in gone.brought if member in kept.members]
    apart = {gone.id, *brought}
    entries: list[Entry] = [
        EntitiesUnmerged(
            kept=kept.id,
            separated=gone.id,
            remaining=tuple(member for member in kept.members if member not in apart),
            reason=reason,
        )
    ]
    entries += (
        EntitiesMerged(kept=gone.id, merged=member, members=(), reason=reason) for member in brought
    )
    return Change(entries=tuple(entries), reads=frozenset(map(item_key, (kept.id, *apart))))

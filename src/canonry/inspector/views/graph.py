"""The graph: entities and the relations between them, around one of them or over a whole space."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.assistant.desk import Desk, desk_of
from canonry.canon.queries.listings import RelationQuery, query_relations
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.traversal import traverse_related
from canonry.gateway.tool import Arguments
from canonry.inspector.views.log import as_of
from canonry.inspector.views.places import SpaceSeen, entity_types, place_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.values.provenance import CanonLevel

NODES: Final = 200
NODES_MAX: Final = 2_000
_PAGE: Final = 500
_MORE: Final = 50
_HOPS_MAX: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation between two nodes."""

    id: str
    start: str
    end: str
    rel_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSeen:
    """Nodes by (id, name, type), and what runs between them; `more`: not all could be taken."""

    space: SpaceSeen
    centre: str | None
    centre_name: str
    nodes: Sequence[tuple[str, str, str]]
    edges: Sequence[Edge]
    known_types: Sequence[str]
    rel_types: Sequence[str]
    hops: int
    most: int
    more: bool


async def seen_graph(canon: Canon, caller: Caller, arguments: Arguments) -> GraphSeen:
    """The graph around `about`, or of the newest relations of the space."""
    desk = await desk_of(canon, caller, arguments, "about")
    hops = min(max(int(arguments.get("hops", 1)), 1), _HOPS_MAX)
    most = min(int(arguments.get("most", NODES)), NODES_MAX)
    centre: Entity | None = None
    relations: Sequence[Relation]
    more = False
    if arguments.get("about"):
        centre = await desk.entity(arguments["about"], path="/about")
        found = await traverse_related(canon, caller, centre, max_hops=hops)
        relations, more = found.relations, found.truncated
    else:
        relations, more = await _newest(desk, most)
    then = await as_of(desk, relations, arguments)
    relations = tuple(each for each in then if each.level is CanonLevel.CANON)
    entities = await canon.seen_by(caller).roots(
        {one for each in relations for one in (each.from_id, each.to_id)}
        | ({centre.id} if centre else set())
    )
    wanted = arguments.get("type")
    named = arguments.get("rel_type")
    edges = [
        Edge(
            id=each.id,
            start=entities[each.from_id].id,
            end=entities[each.to_id].id,
            rel_type=each.rel_type,
        )
        for each in relations
        if each.from_id in entities and each.to_id in entities
    ]
    rel_types = sorted({each.rel_type for each in edges})
    kept = {each.id: each for each in entities.values()}
    if wanted:
        kept = {i: e for i, e in kept.items() if e.entity_type == wanted or e is centre}
    kept = dict(list(kept.items())[:most])
    edges = [
        each
        for each in edges
        if each.start in kept and each.end in kept and (not named or each.rel_type == named)
    ]
    return GraphSeen(
        space=await place_of(desk),
        centre=None if centre is None else centre.id,
        centre_name="" if centre is None else centre.name,
        nodes=[(each.id, each.name, each.entity_type) for each in kept.values()],
        edges=edges,
        known_types=sorted(await entity_types(desk)),
        rel_types=rel_types,
        hops=hops,
        most=most,
        more=more or len(entities) > most,
    )


async def _newest(desk: Desk, most: int) -> tuple[Sequence[Relation], bool]:
    """The newest relations, as many as tie no more than so many; and whether there are more."""
    found: list[Relation] = []
    tied: set[str] = set()
    if desk.space.opened is None:
        return found, False
    ids = {"universe_id": desk.space.id, "entity_id": None}
    while True:
        limit = min(_PAGE, (most - len(tied)) // 2 + _MORE)  # most of them tie two that are new
        asked = RelationQuery(newest_first=True, limit=limit, offset=len(found))
        page = await query_relations(desk.canon, desk.caller, asked, **ids)
        for each in page.items:
            tied |= {each.from_id, each.to_id}
            if len(tied) > most:
                return found, True
            found.append(each)
        if not page.items or len(found) >= page.total:
            return found, False

"""The log, the state of the store, differences between moments, and the graph."""

from collections.abc import Mapping, Sequence
from typing import Final

from canonry.assistant.desk import desk_of
from canonry.assistant.differences import differences_between
from canonry.assistant.explaining import how_of, says
from canonry.assistant.rows import kind_of, named_in
from canonry.canon.queries.explain import ChangeQuery, Written, list_changes
from canonry.canon.queries.listings import list_spaces
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import first_items, paged
from canonry.canon.session.traversal import traverse_related
from canonry.gateway.tool import Arguments
from canonry.inspector.drawing import difference_row
from canonry.inspector.views.places import Seen, entity_types, place_of
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.scenes import Scene
from canonry.readmodels.ports.state import RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.recall.usecases.recall import RecallServices
from canonry.values.ids import SpaceId
from canonry.values.provenance import CanonLevel

PAGE: Final = 50
_STEP: Final = 2
_ENTRIES: Final = 500
"""The most entries of commits on one page."""
_ABOUT: Final = 6
_SPACES: Final = 100


async def seen_log(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the commits of a space up to `until`, newest first, within the user's read scope.

    `follows` means that the hash of a commit includes the commit before.
    """
    desk = await desk_of(canon, caller, arguments)
    space = desk.space.id
    head = await canon.ledger.head(space)
    until = min(int(arguments.get("until") or head), head)
    found, things = await _newest(canon, caller, space, until)
    after = Position(found[0].commit.position - 1) if found else ORIGIN
    shown_ids = {ids_of(entry)[0] for each in found for entry in each.entries[:_ABOUT]}
    names = await canon.seen_by(caller).roots(
        one for each in shown_ids for one in named_in(things[each])
    )
    commits: list[Seen] = []
    before = await _hash_at(canon, space, after)
    for written in found:
        about = ((how_of(e), things[ids_of(e)[0]]) for e in written.entries[:_ABOUT])
        done = [
            {"how": how, "kind": kind_of(e), "id": e.id, "says": says(e, names)} for how, e in about
        ]
        follows = before is None or written.commit.previous == before
        before = written.commit.hash
        if not done:  # the user may read nothing of it
            continue
        left = len(written.entries) - len(done)
        commits.append({"commit": written.commit, "done": done, "left": left, "follows": follows})
    return {
        "space": await place_of(desk),
        "commits": commits[::-1],
        "head": head,
        "older": after if after > ORIGIN else None,
        "newer": min(until + PAGE, head) if until < head else None,
    }


async def _newest(
    canon: Canon, caller: Caller, space: SpaceId, until: int
) -> tuple[Sequence[Written], Mapping[str, Thing]]:
    """Return the last commits up to `until`, oldest first; fewer if they are large."""
    found: list[Written] = []
    things: dict[str, Thing] = {}
    while until > ORIGIN and len(found) < PAGE and len(things) < _ENTRIES:
        after = Position(max(ORIGIN, until - _STEP))
        query = ChangeQuery(space=space, after=after, limit=until - after)
        some = await list_changes(canon, caller, query)
        found = [*some.written, *found]
        things |= some.things
        until = after
    return found, things


async def _hash_at(canon: Canon, space: SpaceId, position: Position) -> str | None:
    if position == ORIGIN:
        return None
    found = await canon.ledger.read_sealed(space, after=Position(position - 1), limit=1)
    return found[0].hash if found else None


async def seen_health(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the lag of the views of each space."""
    del arguments
    spaces = [each for each in await list_spaces(canon, caller) if each.opened is not None]
    told: list[Seen] = []
    for each in spaces[:_SPACES]:
        head = await canon.ledger.head(each.id)
        cursor = await canon.store_of_all.state.cursor(each.id)
        told.append(
            {"space": each.id, "name": each.name, "head": head, "lag": max(0, head - cursor)}
        )
    return {
        "spaces": told,
        "recall": canon.service(RecallServices).recall is not None,
        "more": len(spaces) > _SPACES,
    }


async def seen_differences(
    canon: Canon, caller: Caller, arguments: Arguments
) -> tuple[Sequence[Seen], bool]:
    """Return the differences of a space, or of the scene `of`, between two moments.

    `sides` are the two moments, each with the tools' names of times. The second result says
    whether the search stopped at a limit.
    """
    desk = await desk_of(canon, caller, arguments, "of")
    one, other = [await desk.at_viewpoint(side) for side in arguments["sides"]]
    scene = arguments.get("of")
    within = None if scene is None else (await desk.thing(scene, Scene, path="/of")).id
    rows, more = await differences_between(one, other, within=within)
    told = (difference_row(e["kind"], e["id"], e.get("before"), e.get("after")) for e in rows)
    return list(told), more


NODES: Final = 200
NODES_MAX: Final = 2_000
_HOPS_MAX: Final = 4


async def seen_graph(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the graph around `about`, or of the newest relations of the space.

    `nodes` are by (id, name, type), and `edges` by (id, start, end, type).
    """
    desk = await desk_of(canon, caller, arguments, "about")
    hops = min(max(int(arguments.get("hops", 1)), 1), _HOPS_MAX)
    most = min(int(arguments.get("most", NODES)), NODES_MAX)
    centre: Entity | None = None
    relations: Sequence[Relation] = ()
    more = False
    if arguments.get("about"):
        centre = await desk.entity(arguments["about"], path="/about")
        found = await traverse_related(desk.canon, caller, centre, max_hops=hops)
        relations, more = found.relations, found.truncated
    elif desk.space.opened is not None:
        asked = RelationQuery(spaces=frozenset((desk.space.id,)), newest_first=True)
        relations, more = await first_items(
            paged(desk.canon.state.relations, asked), 1 + most // PAGE_MAX
        )
    relations = [e for e in await desk.holding(relations) if e.level is CanonLevel.CANON]
    ends = [centre.id] if centre else []
    ends += [one for each in relations for one in (each.from_id, each.to_id)]
    entities = await desk.canon.seen_by(caller).roots(dict.fromkeys(ends))
    wanted = arguments.get("type")
    named = arguments.get("rel_type")
    edges = [
        (each.id, entities[each.from_id].id, entities[each.to_id].id, each.rel_type)
        for each in relations
        if each.from_id in entities and each.to_id in entities
    ]
    rel_types = sorted({each for *_, each in edges})
    kept = {each.id: each for i in ends if (each := entities.get(i))}
    if wanted:
        kept = {i: e for i, e in kept.items() if e.entity_type == wanted or e is centre}
    kept = dict(list(kept.items())[:most])
    edges = [
        (one, start, end, rel_type)
        for one, start, end, rel_type in edges
        if start in kept and end in kept and (not named or rel_type == named)
    ]
    return {
        "space": await place_of(desk),
        "centre": None if centre is None else centre.id,
        "centre_name": "" if centre is None else centre.name,
        "nodes": [(each.id, each.name, each.entity_type) for each in kept.values()],
        "edges": edges,
        "known_types": sorted(await entity_types(desk)),
        "rel_types": rel_types,
        "hops": hops,
        "most": most,
        "more": more or len(entities) > most,
    }

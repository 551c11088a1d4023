"""The log, the state of the store, differences between moments, and the graph."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from canonry.assistant.desk import Desk, desk_of, known_at
from canonry.assistant.explaining import how_of, says
from canonry.assistant.rows import Names, kind_of, named_in, rows_of
from canonry.canon.queries.explain import ChangeQuery, Written, list_changes, read_as_known
from canonry.canon.queries.listings import list_spaces, query_asserted
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.traversal import traverse_related
from canonry.gateway.tool import Arguments
from canonry.inspector.drawing import DifferenceRow
from canonry.inspector.views.places import Seen, entity_types, place_of
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.recall.usecases.find_things import holds
from canonry.recall.usecases.recall import RecallServices
from canonry.values.errors import InvalidInput
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
        done = _done(written, things, names)
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


def _done(written: Written, things: Mapping[str, Thing], names: Names) -> Sequence[Seen]:
    about = ((entry, things[ids_of(entry)[0]]) for entry in written.entries[:_ABOUT])
    return [
        {"how": how_of(entry), "kind": kind_of(thing), "id": thing.id, "says": says(thing, names)}
        for entry, thing in about
    ]


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


COMMITS_MAX: Final = 500
"""The most commits that are searched for differences."""
LISTED_MAX: Final = 500
"""The most facts, events and relations, each, that are searched."""
SHOWN_MAX: Final = 500

_CANON: Final = (Entity, Fact, Event, Relation, Axiom, Scene, Turn)
_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
T = TypeVar("T", bound=Thing)


async def as_of(desk: Desk, things: Iterable[T], arguments: Arguments) -> list[T]:
    """Return the items that were known and held, as they were, in their order."""
    listed: list[Any] = list(things)
    then, at = known_at(arguments), await desk.time(arguments, "at")
    if then is not None:
        ids = [each.id for each in listed]
        past = await read_as_known(desk.canon, desk.caller, desk.space.id, ids, then)
        listed = [past[each] for each in ids if each in past]
    return [each for each in listed if holds(each, at)]


async def one_as_of(desk: Desk, thing: T, arguments: Arguments) -> T:
    """Return the item as it was known.

    Raises:
        InvalidInput: `thing.not-yet`.
    """
    found = await as_of(desk, (thing,), arguments)
    if not found:
        message = "This item was not known at that time. Ask for a later time."
        raise InvalidInput("thing.not-yet", message, path="/as_known_at")
    return found[0]


async def seen_differences(
    canon: Canon, caller: Caller, arguments: Arguments
) -> tuple[Sequence[DifferenceRow], bool]:
    """Return the differences of a space, or of the scene `of`, between two moments.

    `sides` are the two moments, each with the tools' names of times. The second result says
    whether the search stopped at a limit.
    """
    desk = await desk_of(canon, caller, arguments, "of")
    first, second = arguments["sides"]
    things, more = await _touched(desk, (first, second))
    if first.get("at") != second.get("at"):
        dated, many = await _dated(desk)
        things, more = things | {each.id: each for each in dated}, more or many
    if arguments.get("of"):
        scene = (await desk.thing(arguments["of"], Scene, path="/of")).id
        things = {i: each for i, each in things.items() if getattr(each, "scene_id", "") == scene}
    one, other = [await _standing(desk, things, side) for side in (first, second)]
    moved = [i for i in things if one.get(i) is not other.get(i)]
    left, right = [
        await _told(desk, [side[i] for i in moved if i in side]) for side in (one, other)
    ]
    nothing = ("", None)
    rows = [
        DifferenceRow(field=said[0] or then[0], id=each, one=then[1], other=said[1])
        for each in moved
        for then, said in ((left.get(each, nothing), right.get(each, nothing)),)
        if then[1] != said[1]
    ]
    return rows[:SHOWN_MAX], more or len(rows) > SHOWN_MAX


async def _standing(desk: Desk, things: Mapping[str, Thing], side: Arguments) -> dict[str, Thing]:
    """Return the items that held at a moment, as they were."""
    at = await desk.time(side, "at")
    then = await as_of(desk, things.values(), side)
    return {
        each.id: each
        for each in then
        if isinstance(each, _CANON)
        and (getattr(each, "level", CanonLevel.CANON) in _STANDING and holds(each, at))
    }


async def _told(desk: Desk, things: Sequence[Thing]) -> Mapping[str, tuple[str, str]]:
    """Return the text of items with their kinds."""
    rows = await rows_of(desk, things, full=True)
    return {
        row["id"]: (row["kind"], _says(row, thing)) for row, thing in zip(rows, things, strict=True)
    }


def _says(row: Mapping[str, Any], thing: Thing) -> str:
    fields = thing.properties if isinstance(thing, Entity) and thing.description else {}
    more = (f"{name}: {value}" for name, value in fields.items())
    named = (row.get("name"), row.get("type"), ", ".join(row.get("tags", ())), row.get("says"))
    return " · ".join(str(each) for each in (*named, *more) if each)


async def _touched(desk: Desk, sides: Sequence[Arguments]) -> tuple[dict[str, Thing], bool]:
    """Return the items written between the two transaction times, in the order of the log."""
    canon, space = desk.canon, desk.space.id
    head = await canon.ledger.head(space)
    known = [known_at(side) for side in sides]
    places = [head if t is None else await canon.ledger.position_at(space, t) for t in known]
    after, until = Position(min(places)), Position(max(places))
    if after == until:
        return {}, False
    limit = min(until - after, COMMITS_MAX)
    found = await list_changes(
        canon, desk.caller, ChangeQuery(space=space, after=after, limit=limit)
    )
    ids = (i for each in found.written for entry in each.entries for i in ids_of(entry))
    kept = dict.fromkeys(i for i in ids if isinstance(found.things.get(i), _CANON))
    return {i: found.things[i] for i in kept}, until - after > COMMITS_MAX


async def _dated(desk: Desk) -> tuple[list[Thing], bool]:
    """Return the items with a valid time."""
    if desk.space.opened is None:
        return [], False
    ids: dict[str, Any] = {"universe_id": desk.space.id, "entity_id": None}
    canon, caller = desk.canon, desk.caller
    pages: list[Any] = [
        await query_asserted(canon, caller, FactQuery(limit=LISTED_MAX), **ids),
        await query_asserted(canon, caller, EventQuery(limit=LISTED_MAX), **ids),
        await query_asserted(canon, caller, RelationQuery(limit=LISTED_MAX), **ids),
    ]
    found = [each for page in pages for each in page.items]
    return found, any(page.total > len(page.items) for page in pages)


NODES: Final = 200
NODES_MAX: Final = 2_000
_PAGE: Final = 500
_MORE: Final = 50
_HOPS_MAX: Final = 4


async def seen_graph(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the graph around `about`, or of the newest relations of the space.

    `nodes` are by (id, name, type), and `edges` by (id, start, end, type).
    """
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
        relations, more = await _newest_relations(desk, most)
    then = await as_of(desk, relations, arguments)
    relations = tuple(each for each in then if each.level is CanonLevel.CANON)
    entities = await canon.seen_by(caller).roots(
        {one for each in relations for one in (each.from_id, each.to_id)}
        | ({centre.id} if centre else set())
    )
    wanted = arguments.get("type")
    named = arguments.get("rel_type")
    edges = [
        (each.id, entities[each.from_id].id, entities[each.to_id].id, each.rel_type)
        for each in relations
        if each.from_id in entities and each.to_id in entities
    ]
    rel_types = sorted({each for *_, each in edges})
    kept = {each.id: each for each in entities.values()}
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


async def _newest_relations(desk: Desk, most: int) -> tuple[Sequence[Relation], bool]:
    """Return the newest relations of at most `most` entities, and whether there are more."""
    found: list[Relation] = []
    tied: set[str] = set()
    if desk.space.opened is None:
        return found, False
    ids = {"universe_id": desk.space.id, "entity_id": None}
    while True:
        limit = min(_PAGE, (most - len(tied)) // 2 + _MORE)  # most of them have two new ends
        asked = RelationQuery(newest_first=True, limit=limit, offset=len(found))
        page = await query_asserted(desk.canon, desk.caller, asked, **ids)
        for each in page.items:
            tied |= {each.from_id, each.to_id}
            if len(tied) > most:
                return found, True
            found.append(each)
        if not page.items or len(found) >= page.total:
            return found, False

"""Moments: things as they were known then, of which only what held at a time of their world."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from canonry.assistant.desk import Desk, desk_of, known_at
from canonry.assistant.rows import rows_of
from canonry.canon.queries.list_changes import ChangeQuery, list_changes
from canonry.canon.queries.query_events import EventQuery, query_events
from canonry.canon.queries.query_facts import FactQuery, query_facts
from canonry.canon.queries.query_relations import RelationQuery, query_relations
from canonry.canon.queries.read_as_known import read_as_known
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.comparing import DifferenceRow
from canonry.log.canon import ids_of
from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.recall.usecases.find_things import holds
from canonry.values.errors import InvalidInput
from canonry.values.provenance import CanonLevel

COMMITS_MAX: Final = 500
"""So many commits are looked through for what is different."""
LISTED_MAX: Final = 500
"""So many facts, events and relations each are looked through for what held."""
SHOWN_MAX: Final = 500

_CANON: Final = (Entity, Fact, Event, Relation, Axiom, Scene, Turn)
_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
T = TypeVar("T", bound=Thing)


async def as_of(desk: Desk, things: Iterable[T], arguments: Arguments) -> list[T]:
    """Those that were known and held, as they stood, in their order."""
    listed: list[Any] = list(things)
    then, at = known_at(arguments), await desk.time(arguments, "at")
    if then is not None:
        ids = [each.id for each in listed]
        past = await read_as_known(desk.canon, desk.caller, desk.space.id, ids, then)
        listed = [past[each] for each in ids if each in past]
    return [each for each in listed if holds(each, at)]


async def one_as_of(desk: Desk, thing: T, arguments: Arguments) -> T:
    """The thing as it was known.

    Raises:
        InvalidInput: `thing.not-yet`.
    """
    found = await as_of(desk, (thing,), arguments)
    if not found:
        message = "it was not known then; ask for a later time"
        raise InvalidInput("thing.not-yet", message, path="/as_known_at")
    return found[0]


async def seen_differences(
    canon: Canon, caller: Caller, arguments: Arguments
) -> tuple[Sequence[DifferenceRow], bool]:
    """What of a space, or of what the scene `of` brought, is not the same at two moments.

    `sides` are the two, each with the names of times as the tools take them. And whether there
    was more than is looked through.
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
    """Those that were so at a moment, as they were."""
    at = await desk.time(side, "at")
    then = await as_of(desk, things.values(), side)
    return {each.id: each for each in then if isinstance(each, _CANON) and _stands(each, at)}


async def _told(desk: Desk, things: Sequence[Thing]) -> Mapping[str, tuple[str, str]]:
    """What things say, each with its kind."""
    rows = await rows_of(desk, things, full=True)
    return {
        row["id"]: (row["kind"], _says(row, thing)) for row, thing in zip(rows, things, strict=True)
    }


def _stands(thing: Thing, at: Any) -> bool:
    return getattr(thing, "level", CanonLevel.CANON) in _STANDING and holds(thing, at)


def _says(row: Mapping[str, Any], thing: Thing) -> str:
    fields = thing.properties if isinstance(thing, Entity) and thing.description else {}
    more = (f"{name}: {value}" for name, value in fields.items())
    named = (row.get("name"), row.get("type"), ", ".join(row.get("tags", ())), row.get("says"))
    return " · ".join(str(each) for each in (*named, *more) if each)


async def _touched(desk: Desk, sides: Sequence[Arguments]) -> tuple[dict[str, Thing], bool]:
    """What was written between what was known at the two, in the order of the log."""
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
    """What has a time in its world."""
    if desk.space.opened is None:
        return [], False
    ids: dict[str, Any] = {"universe_id": desk.space.id, "entity_id": None}
    canon, caller = desk.canon, desk.caller
    pages: list[Any] = [
        await query_facts(canon, caller, FactQuery(limit=LISTED_MAX), **ids),
        await query_events(canon, caller, EventQuery(limit=LISTED_MAX), **ids),
        await query_relations(canon, caller, RelationQuery(limit=LISTED_MAX), **ids),
    ]
    found = [each for page in pages for each in page.items]
    return found, any(page.total > len(page.items) for page in pages)

"""Finding and getting: by words and filters, or by name, now, at a time, or as once known."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

from canonry.assistant.desk import (
    AT,
    EVERYBODY,
    FULL,
    KNOWN_AT,
    PAGING,
    SPACE,
    Desk,
    Wanted,
    known_at,
    named,
    takes,
    wanted,
)
from canonry.assistant.everywhere import desks_of, found_in, in_their_calendars, placed
from canonry.assistant.recording import described, raw_fields
from canonry.assistant.rows import ONE, ROWS, Row, cut, fitted, reply_schema, row_of, rows_of
from canonry.assistant.searching import found_rows, looked_for
from canonry.canon.queries.listings import (
    EntityQuery,
    EventQuery,
    FactQuery,
    RelationQuery,
    query_axioms,
    query_entities,
    query_events,
    query_facts,
    query_relations,
    query_snippets,
    query_sources,
)
from canonry.canon.queries.timeline import read_as_known
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.get_entity_as_of import get_entity_as_of
from canonry.gateway.shapes import COUNT, TEXT, array, enum
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import Source
from canonry.narrative.usecases.scenes import get_turns, query_scenes
from canonry.readmodels.ports.documents import SceneQuery
from canonry.recall.usecases.find_things import FoundKind, holds
from canonry.records.usecases.snapshots import read_snapshot
from canonry.values.errors import InvalidInput
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

_PROPERTIES: Final = 12
_AROUND: Final = 5
"""So many facts and relations stand beside an entity in brief; of each four times more in full."""


async def _find(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desks = await desks_of(canon, caller, arguments, "about")
    entity = None
    if (named := arguments.get("about")) is not None:
        desk, entity, _ = await found_in(desks, named, Entity, path="/about")
        desks = [desk]
    kinds = frozenset(map(FoundKind, arguments.get("kinds") or ()))
    if "type" in arguments:
        kinds = frozenset({FoundKind.ENTITY})
    about = entity if isinstance(entity, Entity) else None
    desks = list(await in_their_calendars(desks, arguments, "at"))
    if arguments.get("text") is None:
        return await _listed(desks, arguments, kinds, about)
    return await looked_for(desks, arguments, kinds, about)


async def _listed(
    desks: Sequence[Desk], arguments: Arguments, kinds: frozenset[FoundKind], entity: Entity | None
) -> Reply:
    """What matches filters alone, space by space and kind by kind, each in its own order."""
    page = wanted(arguments)
    if not kinds:
        around = {FoundKind.FACT, FoundKind.EVENT, FoundKind.RELATION}
        kinds = frozenset({FoundKind.ENTITY} if entity is None else around)
    things: list[tuple[Desk, Thing]] = []
    total, skip = 0, page.offset
    for desk, kind in product(desks, sorted(kinds)):
        left = page.limit - len(things)
        asked = {"limit": max(left, 1), "offset": skip}
        some, count = await _kind(desk, arguments, kind, entity, asked)
        things += [(desk, each) for each in some[: max(left, 0)]]
        total, skip = total + count, max(0, skip - count)
    if (then := known_at(arguments)) is not None:
        things = [pair for desk in desks for pair in await _as_known(desk, things, then)]
    times = {desk.space.id: await desk.time(arguments, "at") for desk in desks}
    shown = [(desk, each) for desk, each in things if holds(each, times[desk.space.id])]
    reply = fitted(await found_rows(desks, shown, page), page, total)
    reply.pop("next", None)  # which counts what is shown, and not what was looked at
    kept = len(reply["found"])
    if kept < len(shown):
        reply["next"] = str(page.offset + things.index(shown[kept]))
    elif page.offset + page.limit < total:
        reply["next"] = str(page.offset + page.limit)
    elif not page.offset:
        reply["total"] = kept
    return reply


async def _as_known(
    desk: Desk, things: Sequence[tuple[Desk, Thing]], then: Instant
) -> list[tuple[Desk, Thing]]:
    """Those of the space as they were known at an instant."""
    ids = [each.id for at, each in things if at is desk]
    past = await read_as_known(desk.canon, desk.caller, desk.space.id, ids, then)
    known = (past[i] for i in ids if i in past)
    return [(desk, e) for e in known if getattr(e, "level", None) is not CanonLevel.RETCONNED]


async def _kind(
    desk: Desk, arguments: Arguments, kind: FoundKind, entity: Entity | None, asked: Any
) -> tuple[Sequence[Thing], int]:
    canon, caller, space = desk.canon, desk.caller, desk.space.id
    if desk.space.opened is None:
        return (), 0
    ids = {"universe_id": space, "entity_id": None if entity is None else entity.id}
    at = await desk.time(arguments, "at")
    level = CanonLevel.CANON if known_at(arguments) is None else None
    page: Any
    match kind:
        case FoundKind.ENTITY:
            about = EntityQuery(entity_type=arguments.get("type"), level=level, **asked)
            page = await query_entities(canon, caller, about, universe_id=space)
        case FoundKind.FACT:
            facts = FactQuery(level=level, start=at, end=at, **asked)
            page = await query_facts(canon, caller, facts, **ids)
        case FoundKind.EVENT:
            page = await query_events(canon, caller, EventQuery(level=level, **asked), **ids)
        case FoundKind.RELATION:
            relations = RelationQuery(current=at is None, **asked)
            page = await query_relations(canon, caller, relations, **ids)
        case FoundKind.DOCUMENT:
            page = await query_sources(canon, caller, space, **asked)
        case FoundKind.PASSAGE if desk.space.told:
            page = await query_scenes(canon, caller, SceneQuery(**asked), universe_id=space)
        case FoundKind.LORE if desk.space.told:
            page = await query_axioms(canon, caller, space, **asked)
        case _:
            return (), 0
    return page.items, page.total


async def get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Everything about one thing, with a page of what lies inside or around it."""
    desks = await desks_of(canon, caller, arguments, "of")
    desk, thing, hint = await found_in(desks, arguments["of"], path="/of")
    row = placed(await _whole(desk, thing, arguments), desk, desks)
    return {**row, "hint": hint} if hint else row


async def _whole(desk: Desk, thing: Thing, arguments: Arguments) -> Row:
    canon, caller, page = desk.canon, desk.caller, wanted(arguments)
    if isinstance(thing, Entity):
        return dict(await _entity(desk, thing, arguments, page))
    if (then := known_at(arguments)) is not None:
        past = await read_as_known(canon, caller, thing.space, (thing.id,), then)
        if thing.id not in past:
            message = "it was not known then; ask for a later time"
            raise InvalidInput("thing.not-yet", message, path="/as_known_at")
        thing = past[thing.id]
    (row,) = await rows_of(desk, (thing,), full=True)
    match thing:
        case Scene():
            turns = await get_turns(
                canon, caller, thing.id, after=page.offset - 1, limit=page.limit
            )
            told: Sequence[Thing] = turns.turns
            at_end = then is None and turns.following is None
            total = page.offset + len(told) if at_end else turns.total
            if then is not None:
                ids = [each.id for each in told]
                told = list((await read_as_known(canon, caller, thing.space, ids, then)).values())
            reply = await _inside(desk, told, total, page, "turns_said")
            if "next" in reply:  # turns for others may lie between those that are told
                last = turns.turns[len(reply["turns_said"]) - 1]
                reply["next"] = str(last.index + 1)
            return row | reply
        case Source():
            asked = {"limit": page.limit, "offset": page.offset}
            parts = await query_snippets(canon, caller, thing.id, **asked)
            return row | await _inside(desk, parts.items, parts.total, page, "passages")
        case Proposal():
            return row | _proposal(thing)
        case _:
            return row


async def _inside(desk: Desk, things: Sequence[Thing], total: int, page: Wanted, name: str) -> Row:
    rows = await rows_of(desk, things, full=page.full)
    for row in rows:
        row.pop("scene", None)
        row.pop("document", None)
    reply = fitted(rows, page, total, name)
    return {name: reply[name], "total": total} | (
        {"next": reply["next"]} if "next" in reply else {}
    )


def _proposal(thing: Proposal) -> Row:
    ruling = thing.decision or thing.review
    judged = {} if ruling is None else {"rule": ruling.rule, "because": ruling.rationale}
    return {"content": dict(thing.content), "evidence": [str(e) for e in thing.evidence], **judged}


async def _entity(desk: Desk, entity: Entity, arguments: Arguments, page: Wanted) -> Reply:
    at, then = await desk.time(arguments, "at", end_of_day=True), known_at(arguments)
    canon, caller = desk.canon, desk.caller
    raw: Row = {}
    says: str | None = None
    if desk.is_account:
        read = await read_snapshot(canon, caller, entity.id, at=at, known_at=then)
        entity, raw = read.entity, raw_fields(read.shown)
        fields = {n: e for n, e in read.shown.fields.items() if e is not None or n not in raw}
        says = described(read.shown)
    else:
        if at is not None or then is not None:
            entity = await get_entity_as_of(canon, caller, entity.id, at=at, known_at=then)
        fields = dict(entity.properties)
    row = row_of(entity, {}, {}, full=page.full)
    row["says"] = cut(entity.description if says is None else says, page.full)
    also = [name for name in entity.aliases if name != entity.name]
    some, others = _some(fields, page), _some(raw, page)
    row |= {"also_called": also, "fields": some, "raw_fields": others}
    if left := len(fields) + len(raw) - len(some) - len(others):
        row["fields_left"] = left
    row |= await _around(desk, entity, page, at, then)
    return {key: value for key, value in row.items() if value not in ("", [], {})}


def _some(fields: Mapping[str, Any], page: Wanted) -> Row:
    """The fields, or the beginnings of the first of them where rows are short."""
    if page.full:
        return dict(fields)
    return {name: _short(value) for name, value in list(fields.items())[:_PROPERTIES]}


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    return cut(value, full=False) if isinstance(value, str) else value


async def _around(desk: Desk, entity: Entity, page: Wanted, at: Any, then: Any) -> Row:
    """What is said of an entity beside its own fields: facts and relations that hold."""
    canon, caller = desk.canon, desk.caller
    most = _AROUND * 4 if page.full else _AROUND
    ids = {"universe_id": entity.space, "entity_id": entity.id}
    level = CanonLevel.CANON if then is None else None  # what is no longer canon may have been
    facts = await query_facts(canon, caller, FactQuery(level=level, limit=500), **ids)
    relations = await query_relations(canon, caller, RelationQuery(limit=500), **ids)
    things: list[Thing] = [*facts.items, *relations.items]
    if then is not None:
        every = [each.id for each in things]
        past = await read_as_known(canon, caller, entity.space, every, then)
        things = list(past.values())
    held = [t for t in things if holds(t, at) and getattr(t, "level", None) is CanonLevel.CANON]
    told = [each for each in held if isinstance(each, Fact)]
    told.sort(key=lambda each: (each.position, each.statement))
    tied = [each for each in held if isinstance(each, Relation)]
    rows = await rows_of(desk, (*told[-most:], *tied[-most:]))
    shown = min(len(told), most)
    row: Row = {
        "facts": [{"id": each["id"], "says": each["says"]} for each in rows[:shown]],
        "relations": [{"id": each["id"], "says": each["says"]} for each in rows[shown:]],
    }
    left = len(told) + len(tied) - len(rows)
    if left > 0:
        row["hint"] = f"{left} more facts and relations: find with about"
    return row


FIND: Final = Tool(
    name="find",
    title="Find",
    description=(
        "Look by words and meaning for what there is, holds, happened, was said or written; "
        "without text, list. Tells what holds now."
    ),
    input_schema=takes(
        {},
        {
            "text": TEXT.but(maxLength=1_000, description="What to look for; leave out to list."),
            "kinds": array(enum(*FoundKind)).but(description="Only these; else all."),
            "about": named("Only what concerns this entity."),
            "type": named("Only entities of this type."),
            "at": AT,
            "as_known_at": KNOWN_AT,
            "space": SPACE,
            "full": FULL,
            **PAGING,
        },
    ),
    output_schema=reply_schema({"found": ROWS}, {"total": COUNT, "searched": TEXT, "more": TEXT}),
    roles=EVERYBODY,
    run=_find,
    read_only=True,
)
GET: Final = Tool(
    name="get",
    title="Get",
    description=(
        "One thing by name or id: an entity with fields, facts and relations, a scene with "
        "turns, a document with passages, or anything else."
    ),
    input_schema=takes(
        {"of": named("Name, beginning of a name, or id.")},
        {"at": AT, "as_known_at": KNOWN_AT, "space": SPACE, "full": FULL, **PAGING},
    ),
    output_schema=ONE,
    roles=EVERYBODY,
    run=get,
    read_only=True,
)
TOOLS: Final = (FIND, GET)

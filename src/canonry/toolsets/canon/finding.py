"""Finding and getting: by words and filters, or by name, now, at a time, or as once known."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.log.entries import Thing
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.facts import Fact
from canonry.domain.things.proposals import Ask, Proposal
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Scene
from canonry.domain.things.sources import Source
from canonry.gateway.shapes import COUNT, TEXT, array, enum
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.canon.desk import (
    AT,
    FULL,
    KNOWN_AT,
    PAGING,
    SPACE,
    Desk,
    Wanted,
    desk_of,
    known_at,
    named,
    takes,
    wanted,
)
from canonry.toolsets.canon.records import described, fields_saying, raw_fields, records_saying
from canonry.toolsets.canon.reviewing import WAITING
from canonry.toolsets.canon.roles import EVERYBODY
from canonry.toolsets.canon.rows import (
    ONE,
    ROWS,
    Row,
    cut,
    filled,
    fitted,
    reply_schema,
    row_of,
    rows_of,
)
from canonry.usecases.canonization.list_proposals import ProposalQuery, list_proposals
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.get_entity_as_of import get_entity_as_of
from canonry.usecases.narrative.get_turns import get_turns
from canonry.usecases.narrative.query_scenes import SceneQuery, query_scenes
from canonry.usecases.queries.query_axioms import query_axioms
from canonry.usecases.queries.query_entities import EntityQuery, query_entities
from canonry.usecases.queries.query_events import EventQuery, query_events
from canonry.usecases.queries.query_facts import FactQuery, query_facts
from canonry.usecases.queries.query_relations import RelationQuery, query_relations
from canonry.usecases.queries.query_snippets import query_snippets
from canonry.usecases.queries.query_sources import query_sources
from canonry.usecases.queries.read_as_known import read_as_known
from canonry.usecases.recall.find_passages import (
    LOOK_MISSING,
    MEANING_BEHIND,
    MEANING_MISSING,
    WORDS_MISSING,
)
from canonry.usecases.recall.find_things import (
    FoundKind,
    FoundThings,
    ThingSearch,
    find_things,
    holds,
)
from canonry.usecases.truth.read_snapshot import read_snapshot

_PROPERTIES: Final = 12
_OTHER_WORDS: Final = "other words, other kinds, or tell it"
_AROUND: Final = 5
"""So many facts and relations stand beside an entity in brief; of each four times more in full."""


async def _find(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desk = await desk_of(canon, caller, arguments, "about")
    page, text = wanted(arguments), arguments.get("text")
    kinds = frozenset(map(FoundKind, arguments.get("kinds") or ()))
    if "type" in arguments:
        kinds = frozenset({FoundKind.ENTITY})
    named = arguments.get("about")
    entity = None if named is None else await desk.entity(named, path="/about")
    if text is None:
        return await _listed(desk, arguments, kinds, entity, page)
    search = ThingSearch(
        space=desk.space.id,
        text=text,
        kinds=kinds or frozenset(FoundKind),
        about=frozenset() if entity is None else family_of(entity),
        entity_type=arguments.get("type"),
        at=await desk.time(arguments, "at"),
        known_at=known_at(arguments),
        taken_back=True,
        limit=page.offset + page.limit + 1,
    )
    result = await find_things(canon, search)
    found = [thing for thing, _ in result.found]
    if desk.is_account and FoundKind.ENTITY in search.kinds and search.known_at is None:
        found = await _with_records(desk, search, found)
    shown = found[page.offset : page.offset + page.limit]
    rows = await rows_of(desk, shown, full=page.full)
    if desk.is_account:
        said = await fields_saying(desk, text, [e for e in shown if isinstance(e, Entity)])
        rows = [_matched(row, said.get(row["id"], {})) for row in rows]
    reply = fitted(rows, page, len(found))
    reply.pop("total")  # of a search nobody counts all that is alike
    if searched := _searched(result):
        reply["searched"] = searched
    if result.truncated:
        reply["more"] = "not everything was looked through; name kinds or about"
    if not shown:
        reply["hint"] = f"nothing is known of it here; {await _elsewhere(desk)}"
    return reply


def _matched(row: Row, said: Mapping[str, str]) -> Row:
    """The row with those fields that say what was looked for, unless it says them already."""
    told = f"{row.get('name')} {row.get('says')}"
    return filled({**row, "matched": {n: each for n, each in said.items() if each not in told}})


async def _with_records(desk: Desk, search: ThingSearch, found: list[Thing]) -> list[Thing]:
    """What was found, and then those records whose fields say it that no index has."""
    known = {each.id: each for each in found}
    for each in await records_saying(desk, search.text, search.limit):
        kind = search.entity_type in {None, each.entity_type}
        if kind and (not search.about or each.id in search.about):
            known.setdefault(each.id, each)
    return list(known.values())[: search.limit]


def _searched(result: FoundThings) -> str:
    """By what was searched, where that is not by all there is."""
    lacks = frozenset(result.degraded)
    if lacks >= {WORDS_MISSING, MEANING_MISSING}:
        return "names only"
    if MEANING_MISSING in lacks:
        return "words only"
    if WORDS_MISSING in lacks:
        return "meaning only"
    if MEANING_BEHIND in lacks:
        return f"words; the newest {result.behind} commits not by meaning yet"
    return "without the second look" if LOOK_MISSING in lacks else ""


async def _elsewhere(desk: Desk) -> str:
    """Where to look, or what to do, after a search without a hit."""
    if not desk.space.told:
        return _OTHER_WORDS
    query = ProposalQuery(types=WAITING, asks=frozenset({Ask.PENDING, Ask.NEEDS_REVIEW}), limit=1)
    waiting = await list_proposals(desk.canon, desk.caller, query, universe_id=desk.space.id)
    return f"{waiting.total} proposed, see review" if waiting.total else _OTHER_WORDS


async def _listed(
    desk: Desk,
    arguments: Arguments,
    kinds: frozenset[FoundKind],
    entity: Entity | None,
    page: Wanted,
) -> Reply:
    """What matches filters alone, kind by kind, each in its own order."""
    if not kinds:
        around = {FoundKind.FACT, FoundKind.EVENT, FoundKind.RELATION}
        kinds = frozenset({FoundKind.ENTITY} if entity is None else around)
    things: list[Thing] = []
    total, skip = 0, page.offset
    for kind in sorted(kinds):
        left = page.limit - len(things)
        asked = {"limit": max(left, 1), "offset": skip}
        some, count = await _kind(desk, arguments, kind, entity, asked)
        things += some[: max(left, 0)]
        total, skip = total + count, max(0, skip - count)
    at, then = await desk.time(arguments, "at"), known_at(arguments)
    if then is not None:
        ids = [each.id for each in things]
        past = await read_as_known(desk.canon, desk.caller, desk.space.id, ids, then)
        known = (past[i] for i in ids if i in past)
        things = [e for e in known if getattr(e, "level", None) is not CanonLevel.RETCONNED]
    shown = [each for each in things if holds(each, at)]
    reply = fitted(await rows_of(desk, shown, full=page.full), page, total)
    reply.pop("next", None)  # which counts what is shown, and not what was looked at
    kept = len(reply["found"])
    if kept < len(shown):
        reply["next"] = str(page.offset + things.index(shown[kept]))
    elif page.offset + page.limit < total:
        reply["next"] = str(page.offset + page.limit)
    elif not page.offset:
        reply["total"] = kept
    return reply


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
    desk = await desk_of(canon, caller, arguments, "of")
    page = wanted(arguments)
    thing = await desk.thing(arguments["of"], path="/of")
    if isinstance(thing, Entity):
        return await _entity(desk, thing, arguments, page)
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
            total = turns.total if then is None else thing.turn_count
            if then is not None:
                ids = [each.id for each in told]
                told = list((await read_as_known(canon, caller, thing.space, ids, then)).values())
            return row | await _inside(desk, told, total, page, "turns_said")
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

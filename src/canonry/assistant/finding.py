"""The tools `find` and `get`, with valid time and transaction time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from itertools import product
from typing import Any, Final

from canonry.assistant import spaces
from canonry.assistant.claims import described, fields_saying, raw_fields, records_saying
from canonry.assistant.desk import EVERYBODY, Desk, Wanted, wanted
from canonry.assistant.disputing import disputes_of, refused_words
from canonry.assistant.first_sentences import (
    NOTHING,
    counted,
    disputes_said,
    kinds_counted,
    later_told,
)
from canonry.assistant.reviewing import WAITING
from canonry.assistant.rows import (
    Row,
    cut,
    fields_of,
    filled,
    fitted,
    former_names,
    newer_than,
    row_of,
    rows_of,
)
from canonry.assistant.spaces import MORE, SPACES_MAX, desks_of, found_in, placed
from canonry.assistant.tools import canon_tool
from canonry.assistant.wording import NOTES, SEARCHED
from canonry.canon.canonization.proposals import list_proposals
from canonry.canon.queries.listings import (
    choose_space,
    list_spaces,
    query_asserted,
    query_axioms,
    query_entities,
    query_snippets,
    query_sources,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.narrowing import tags_then
from canonry.canon.session.snippets import SAID_ID
from canonry.gateway.catalogue import beginning
from canonry.gateway.tool import Arguments, Reply, Resource, Shelf, Shelved
from canonry.language.reading.tokens import verb_of
from canonry.language.texts.stems import asked_stems, stems_of, terms_of
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Ask, Proposal
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.narrative import narrative_type
from canonry.narrative.usecases.scenes import get_turns, query_scenes
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ranking import sought_in
from canonry.recall.domain.questions import read_times
from canonry.recall.usecases.find_passages import MEANING_MISSING, WORDS_MISSING
from canonry.recall.usecases.find_things import FoundKind, FoundThings, ThingSearch, find_things
from canonry.recall.usecases.recall import RecallServices
from canonry.records.usecases.records import list_entities
from canonry.records.usecases.snapshots import read_snapshot
from canonry.values.calendars.reckoning import GREGORIAN
from canonry.values.json_values import encode_json
from canonry.values.provenance import CanonLevel

_OTHER_WORDS: Final = "Try other words or kinds, or record it with tell."


async def looked_for(
    desks: Sequence[Desk], arguments: Arguments, kinds: frozenset[FoundKind], entity: Entity | None
) -> Reply:
    """Search all spaces by words and meaning, and return the best hits first."""
    page, text, many = wanted(arguments), arguments["text"], len(desks) > 1
    results: list[FoundThings] = []
    over = 0  # rows of the next page, in place of those left out
    for desk in desks:
        search = ThingSearch(
            space=desk.space.id,
            text=text,
            kinds=kinds or frozenset(FoundKind),
            about=frozenset() if entity is None else family_of(entity),
            entity_type=_type_in(desk, arguments),
            limit=page.offset + page.limit + 1,
        )
        result = await find_things(desk.canon, search)
        if desk.is_account and FoundKind.ENTITY in search.kinds and desk.canon.now is None:
            result = replace(result, found=await _with_records(desk, search, result.found))
        left = await without_repeats(desk, text, result.found)
        over += (len(result.found) - len(left)) * (len(result.found) >= search.limit)
        results.append(replace(result, found=left))
    ordered = ([(-strength, n, e) for e, strength in r.found] for n, r in enumerate(results))
    found = [(desks[n], each) for _, n, each in merge(*ordered, key=lambda one: one[:2])]
    shown = found[page.offset : page.offset + page.limit]
    reply = fitted(await found_rows(desks, shown, page, text), page, len(found) + over)
    reply.pop("total")  # a search has no total
    if searched := searched_in(results):
        reply["searched"] = searched
    if any(each.truncated for each in results):
        reply["more"] = "The search stopped before the end. Narrow it with `kinds` or `about`."
    elif many and len(desks) == SPACES_MAX:
        reply["more"] = MORE
    reply |= await _said_of(desks[0], text, reply["found"], results)
    if later := await _first_told_later(desks[0], text, [thing for _, thing in found]):
        reply["later"] = later
        reply["note"] += later_told(reply)
    return reply


async def _said_of(
    desk: Desk, text: str, rows: Sequence[Row], results: Sequence[FoundThings]
) -> Row:
    """Return the first sentence of a search, and advice if it found nothing."""
    ended = sum(each.ended for each in results)
    left_out = f"{counted(ended, 'item')} that ended"
    if not rows and ended:
        return {
            "note": f"Nothing that holds now answers, only {left_out}.",
            "hint": NOTES["before"],
        }
    if not rows:
        return {"note": nothing_found(desk, results), "hint": await _elsewhere(desk)}
    if not _is_answered(text, rows):
        return {"note": NOTES["unanswered"]}
    found = f"Found {kinds_counted(rows)}"
    found = f"{found}, without {left_out}." if ended else f"{found}."
    asked = {*asked_stems(text)}
    has = {row["id"]: len(asked & {*stems_of(str(row.get("says")))}) for row in rows}
    best = [row for row in rows if has[row["id"]] == max(has.values())]
    return {"note": found + disputes_said(best)}


def _is_answered(text: str, rows: Sequence[Row]) -> bool:
    """Tell whether a row has all the words of a question, or is cut so that it may have them."""
    sought = set(sought_in(text).stems if text.rstrip().endswith("?") else ())
    asked = {_base(word) for word in terms_of(text) if not sought.isdisjoint(stems_of(word))}
    said = (encode_json(each).decode() for each in rows)
    whole = (asked <= {*map(_base, terms_of(row))} or "\u2026" in row for row in said)
    within = any(row["kind"] == "document" for row in rows)  # of which only the title is shown
    dated = any(not row.keys().isdisjoint({"from", "until", "when"}) for row in rows)
    within |= dated and bool(read_times(text, GREGORIAN, None))
    return within or len(asked) <= 1 or any(whole)


def _base(word: str) -> str:
    """Return the base of a verb, so that `left` is `leave`; the stem of any other word."""
    verb = verb_of(word.casefold(), "en")
    return verb[0] if verb else "".join(stems_of(word))


async def _first_told_later(desk: Desk, text: str, found: Sequence[Thing]) -> list[Row]:
    """Return what a search finds that was first told for a time after that of the read."""
    if desk.canon.now is None or desk.is_account or desk.canon.viewpoint.at is None:
        return []
    kinds = frozenset({FoundKind.FACT, FoundKind.RELATION})
    later = await find_things(
        desk.canon.now, ThingSearch(space=desk.space.id, text=text, kinds=kinds)
    )
    things = [*found, *(thing for thing, _ in later.found)]
    return await first_told(desk, [one for one in things if isinstance(one, Fact | Relation)])


async def first_told(desk: Desk, things: Sequence[Thing]) -> list[Row]:
    """Return the first statements of the timelines that begin after the time of the read.

    `things` are the facts and relations of all times that the caller may see.
    """
    view = desk.canon.viewpoint
    if view.at is None or view.at.at is None or view.is_past or desk.canon.now is None:
        return []
    begins = [(getattr(one, "time_ref", getattr(one, "since", None)), one) for one in things]
    known, first = set[str](), list[Thing]()
    for begin, one in sorted(begins, key=lambda each: (each[0] is not None, each[0] or 0)):
        names = _timelines(one)
        if begin is not None and begin > view.at.at and known.isdisjoint(names):
            first.append(one)
        known |= names
    rows = await rows_of(replace(desk, canon=desk.canon.now), first[:_LATER])
    return [{name: row[name] for name in ("id", "says", "from")} for row in rows]


def _timelines(thing: Thing) -> set[str]:
    if isinstance(thing, Relation):
        return {f"{thing.from_id} {thing.rel_type}"}
    said = thing.statements if isinstance(thing, Fact) else ()
    return {f"{one.subject} {one.attribute}" for one in said if not one.implied} or {thing.id}


def nothing_found(desk: Desk, results: Sequence[FoundThings]) -> str:
    """Return the hint of an empty result; it mentions an unfinished vector index."""
    behind = max((each.behind for each in results), default=0)
    if behind:
        built = f"the index of meaning still lacks {behind} commits"
        return f"Nothing has these words, and {built}. Ask again later."
    lacks = any(MEANING_MISSING in each.degraded for each in results)
    if lacks and desk.canon.service(RecallServices).recall is not None:
        return "Nothing has these words. Search by meaning does not answer yet. Ask again later."
    return NOTHING


async def found_rows(
    desks: Sequence[Desk], found: Sequence[tuple[Desk, Thing]], page: Wanted, text: str = ""
) -> list[Row]:
    """Return the found items as rows in their order; name the space if there are several."""
    rows: dict[str, Row] = {}
    for desk in desks:
        things = [thing for at, thing in found if at is desk]
        said: Mapping[str, Mapping[str, str]] = {}
        if desk.is_account and text:
            said = await fields_saying(desk, text, [e for e in things if isinstance(e, Entity)])
        against = await disputes_of(desk, {each.id for each in things} if text else ())
        refused = await refused_words(desk, things)
        for row in await rows_of(desk, things, full=page.full):
            told = f"{row.get('name')} {row.get('says')}"
            also = said.get(row["id"], {}).items()
            matched = {n: each for n, each in also if each not in told}
            more: Row = {"disputed": against.get(row["id"]), "matched": matched}
            more["refused"] = row["id"] in refused or None
            rows[row["id"]] = placed(filled({**row, **more}), desk, desks)
    return [rows[thing.id] for _, thing in found]


async def without_repeats(
    desk: Desk, text: str, found: Sequence[tuple[Thing, float]]
) -> Sequence[tuple[Thing, float]]:
    """Return the found items without quotes that tell the same as found statements they support.

    A record that is named by the words of a found passage is left out.

    A quote stays if the statements lack a word of the question that it has, or a third of its
    words. Otherwise they take its place.
    """
    passages = {e.text.strip() for e, _ in found if isinstance(e, Snippet)}
    records = [each for each, _ in found if isinstance(each, Entity)]
    own: Mapping[str, set[str]] = {
        e.id: {e.name, str(fields_of(e).get("content")).strip()} for e in records
    }
    found = [each for each in found if passages.isdisjoint(own.get(each[0].id, ()))]
    telling = [e for e, _ in found if isinstance(e, Fact | Event | Relation)]
    cited = {one.ref for each in telling for one in each.evidence}
    words = [each for each, _ in found if isinstance(each, Snippet) and each.id in cited]
    if not words:
        return found
    sources = await desk.canon.seen_by(desk.caller).things({each.source_id for each in words})
    says = {row["id"]: {*stems_of(row["says"])} for row in await rows_of(desk, telling)}
    repeats: dict[str, Sequence[Thing]] = {}
    for each in words:
        by = [e for e in telling if each.id in {one.ref for one in e.evidence}]
        known, told = set[str]().union(*(says[e.id] for e in by)), {*stems_of(each.text)}
        quoted = getattr(sources.get(each.source_id), "doc_id", "") == SAID_ID
        if quoted and told & {*asked_stems(text)} <= known and 3 * len(told - known) <= len(told):
            repeats[each.id] = by
    left: dict[str, tuple[Thing, float]] = {}
    for thing, strength in found:
        for one in repeats.get(thing.id, (thing,)):
            left.setdefault(one.id, (one, strength))
    return list(left.values())


async def _with_records(
    desk: Desk, search: ThingSearch, found: Sequence[tuple[Thing, float]]
) -> Sequence[tuple[Thing, float]]:
    """Append records with matching fields that the indexes omit."""
    if len(found) >= search.limit:
        return found
    known = {thing.id: (thing, strength) for thing, strength in found}
    for each in await records_saying(desk, search.text, search.limit):
        kind = search.entity_type in {None, each.entity_type}
        if kind and (not search.about or each.id in search.about):
            known.setdefault(each.id, (each, 0.0))
    return list(known.values())[: search.limit]


def searched_by(degraded: Iterable[str], behind: int = 0) -> str:
    """Describe how an incomplete search was done; empty if nothing was missing."""
    lacks = frozenset(degraded)
    if lacks >= {WORDS_MISSING, MEANING_MISSING}:
        return "names only"
    first = next((each for each in SEARCHED if each in lacks), "")
    return str(SEARCHED.get(first, "")).format(f"{behind} commits" if behind else "commits")


def searched_in(results: Sequence[FoundThings]) -> str:
    """Describe how several incomplete searches were done."""
    behind = max((each.behind for each in results), default=0)
    return searched_by((name for each in results for name in each.degraded), behind)


async def _elsewhere(desk: Desk) -> str:
    """Return advice after a search without hits."""
    if not desk.space.told:
        return _OTHER_WORDS
    query = ProposalQuery(types=WAITING, asks=frozenset({Ask.PENDING, Ask.NEEDS_REVIEW}), limit=1)
    waiting = await list_proposals(desk.canon, desk.caller, query, universe_id=desk.space.id)
    return f"Open proposals: {waiting.total}; see review." if waiting.total else _OTHER_WORDS


_PROPERTIES: Final = 12
_EACH: Final = 500
_AROUND: Final = 20
"""The least number of facts and relations each that `get` shows in `full` with an entity."""
_LATER: Final = 5


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
    if arguments.get("text") is None:
        return await _listed(desks, arguments, kinds, about)
    return await looked_for(desks, arguments, kinds, about)


async def _listed(
    desks: Sequence[Desk], arguments: Arguments, kinds: frozenset[FoundKind], entity: Entity | None
) -> Reply:
    """List the items that match the filters, by space and kind, each in its own order."""
    page = wanted(arguments)
    if not kinds:
        around = frozenset({FoundKind.FACT, FoundKind.EVENT, FoundKind.RELATION})
        kinds = around if entity else frozenset(FoundKind) - {FoundKind.LORE}
    things: list[tuple[Desk, Thing]] = []
    total, skip = 0, page.offset
    for desk, kind in product(desks, (each for each in FoundKind if each in kinds)):
        left = page.limit - len(things)
        asked = {"limit": max(left, 1), "offset": skip}
        typed = _type_in(desk, arguments)
        some, count = await of_kind(desk, kind, entity, typed, **asked)
        things += [(desk, each) for each in some[: max(left, 0)]]
        total, skip = total + count, max(0, skip - count)
    shown = [(desk, each) for desk, each in things if desk.canon.viewpoint.shows(each)]
    reply = fitted(await found_rows(desks, shown, page), page, total)
    reply.pop("next", None)  # it counts the rows shown, not the rows read
    kept = len(reply["found"])
    if kept < len(shown):
        reply["next"] = str(page.offset + things.index(shown[kept]))
    elif page.offset + page.limit < total:
        reply["next"] = str(page.offset + page.limit)
    elif not page.offset:
        reply["total"] = kept
    return reply


ASSERTED: Final[Mapping[FoundKind, tuple[Any, Mapping[str, Any]]]] = {
    FoundKind.FACT: (FactQuery, {"level": CanonLevel.CANON}),
    FoundKind.EVENT: (EventQuery, {"level": CanonLevel.CANON}),
    FoundKind.RELATION: (RelationQuery, {"current": True}),
}


async def of_kind(
    desk: Desk,
    kind: FoundKind,
    entity: Entity | None = None,
    typed: str | None = None,
    **asked: Any,
) -> tuple[Sequence[Thing], int]:
    """Return a page of the items of a kind, of one entity or of all, and their number."""
    canon, caller, space = desk.canon, desk.caller, desk.space.id
    if desk.space.opened is None:
        return (), 0
    ids = {"universe_id": space, "entity_id": None if entity is None else entity.id}
    page: Any
    match kind:
        case FoundKind.ENTITY:
            about = EntityQuery(entity_type=typed, level=CanonLevel.CANON, **asked)
            page = await query_entities(canon, caller, about, universe_id=space)
        case FoundKind.FACT | FoundKind.EVENT | FoundKind.RELATION:
            query, own = ASSERTED[kind]
            page = await query_asserted(canon, caller, query(**own, **asked), **ids)
        case FoundKind.DOCUMENT:
            page = await query_sources(canon, caller, space, **asked)
        case FoundKind.PASSAGE if desk.space.told:
            page = await query_scenes(canon, caller, SceneQuery(**asked), universe_id=space)
        case FoundKind.LORE if desk.space.told:
            page = await query_axioms(canon, caller, space, **asked)
        case _:
            return (), 0
    return page.items, page.total


def _type_in(desk: Desk, arguments: Arguments) -> str | None:
    """Return the type of entities to find: in a space of judged claims, the nearest of the six."""
    given: str | None = arguments.get("type")
    return given if given is None or not desk.space.told else narrative_type(given).value


async def get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Return one item with a page of its parts: turns, passages, or facts and relations."""
    desks = await desks_of(canon, caller, arguments, "of")
    desk, thing, hint = await found_in(desks, arguments["of"], path="/of")
    row = placed(await _whole(desk, thing, arguments), desk, desks)
    return {**row, "hint": hint} if hint else row


async def _whole(desk: Desk, thing: Thing, arguments: Arguments) -> Row:
    canon, caller, page = desk.canon, desk.caller, wanted(arguments)
    if isinstance(thing, Entity):
        return dict(await _entity(desk, thing, page))
    (row,) = await rows_of(desk, (thing,), full=True)
    match thing:
        case Scene():
            turns = await get_turns(
                canon, caller, thing.id, after=page.offset - 1, limit=page.limit
            )
            told: Sequence[Thing] = turns.turns
            at_end = turns.following is None
            total = page.offset + len(told) if at_end else turns.total
            reply = await _inside(desk, told, total, page, "turns_said")
            if "next" in reply:  # between the turns shown may be turns for other readers
                last = turns.turns[len(reply["turns_said"]) - 1]
                reply["next"] = str(last.index + 1)
            return row | reply
        case Source():
            asked = {"limit": page.limit, "offset": page.offset}
            parts = await query_snippets(canon, caller, thing.id, **asked)
            return row | await _inside(desk, parts.items, parts.total, page, "passages")
        case Proposal():
            ruling = thing.decision or thing.review
            judged = {} if ruling is None else {"rule": ruling.rule, "because": ruling.rationale}
            proposed = {
                "content": dict(thing.content),
                "evidence": [str(e) for e in thing.evidence],
                **judged,
            }
            return row | proposed
        case Fact() | Event() | Relation():
            return row | filled({"disputed": (await disputes_of(desk, {thing.id})).get(thing.id)})
        case _:
            return row


async def _inside(desk: Desk, things: Sequence[Thing], total: int, page: Wanted, name: str) -> Row:
    rows = await rows_of(desk, things, full=page.full)
    for row in rows:
        row.pop("scene", None)
        row.pop("document", None)
    return fitted(rows, page, total, name)


async def _entity(desk: Desk, entity: Entity, page: Wanted) -> Reply:
    canon, caller, view = desk.canon, desk.caller, desk.canon.viewpoint
    raw: Row = {}
    says: str | None = None
    called = entity.name
    if desk.is_account:
        at = None if view.at is None else view.at.at
        now = canon.now or canon
        read = await read_snapshot(now, caller, entity.id, at=at, known_at=view.known_at)
        entity, raw = read.entity, raw_fields(read.shown)
        fields = {n: e for n, e in read.shown.fields.items() if e is not None or n not in raw}
        says = described(read.shown)
    else:
        fields = fields_of(entity)
    row = row_of(entity, {}, {}, full=page.full) | {"tags": list(tags_then(entity, view))}
    if not fields:  # a record of a later time
        row["name"] = called
    row["says"] = cut(entity.description if says is None else says, page.full)
    also = [*entity.aliases] or former_names(entity)
    some, others = _some(fields, page), _some(raw, page)
    row |= {"also_called": also, "fields": some, "raw_fields": others}
    row |= {"superseded_by": (await newer_than(desk, (entity,))).get(entity.id, "")}
    if left := len(fields) + len(raw) - len(some) - len(others):
        row["fields_left"] = left
    row |= await _around(desk, entity, page)
    return {key: value for key, value in row.items() if value not in ("", [], {})}


def _some(fields: Mapping[str, Any], page: Wanted) -> Row:
    """Return the fields; if not `full`, only the first ones, shortened."""
    if page.full:
        return dict(fields)
    return {name: _short(value) for name, value in list(fields.items())[:_PROPERTIES]}


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    return cut(value, full=False) if isinstance(value, str) else value


async def statements_of(
    desk: Desk, entity: Entity, *, ended: bool = False
) -> tuple[list[Fact], Sequence[Relation]]:
    """Return an entity's facts and relations that hold, or also `ended`, as they were recorded."""
    canon, caller = desk.canon, desk.caller
    ids = {"universe_id": entity.space, "entity_id": entity.id}
    asked = FactQuery(level=CanonLevel.CANON, limit=_EACH)
    facts = await query_asserted(canon, caller, asked, **ids)
    tied = RelationQuery(current=not ended, limit=_EACH)
    ties = await query_asserted(canon, caller, tied, **ids)
    told = [each for each in facts.items if ended or canon.viewpoint.shows(each)]
    return sorted(told, key=lambda each: (each.position, each.statement)), ties.items


def _short_row(row: Row, entity: Entity) -> Row:
    """Return the id, words and readers of a statement, and when a planned one begins.

    The names of its entity are told once.
    """
    row["now_called"] = {n: e for n, e in row.get("now_called", {}).items() if e != entity.name}
    names = ["id", "says", "now_called", "for", "disputed"]
    names += ("from", "planned", "later") if row.keys() & {"planned", "later"} else ()
    return filled({name: row[name] for name in names if name in row})


async def _around(desk: Desk, entity: Entity, page: Wanted) -> Row:
    """Return the current facts and relations of an entity."""
    most = max(page.limit, _AROUND if page.full else 0)
    told, tied = await statements_of(desk, entity)
    rows = await rows_of(desk, (*told[-most:], *tied[-most:]))
    against = await disputes_of(desk, {row["id"] for row in rows})
    brief = [_short_row({**row, "disputed": against.get(row["id"])}, entity) for row in rows]
    shown = min(len(told), most)
    row: Row = {"facts": brief[:shown], "relations": brief[shown:]}
    over = {"facts_left": len(told) - shown, "relations_left": len(tied) - len(brief[shown:])}
    row |= {name: count for name, count in over.items() if count}
    now = desk.canon.now
    if now is not None and desk.canon.viewpoint.at is not None:
        facts, ties = await statements_of(replace(desk, canon=now), entity, ended=True)
        row["later"] = await first_told(desk, [*facts, *ties])
    left = len(told) + len(tied) - len(rows)
    if left > 0:
        row["hint"] = f"For {left} more facts and relations, call find with `about`."
    return row


TOOLS: Final = (
    canon_tool("find", _find, EVERYBODY, kinds=FoundKind),
    canon_tool("get", get, EVERYBODY),
)


async def _thing(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    arguments = {"of": variables["thing_id"], "full": True}
    return encode_json(await get(canon, caller, arguments)).decode()


async def _space(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    return encode_json(
        spaces.row_of(await choose_space(canon, caller, variables["space_id"]))
    ).decode()


async def _spaces(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    spaces = ((each.id, each.name) for each in await list_spaces(canon, caller))
    return beginning(spaces, word, offset, limit)


async def _entities(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    query = EntityQuery(name_pattern=f"{word}*" if word else None, limit=limit, offset=offset)
    page = await list_entities(canon, caller, None, query)
    return [(each.id, f"{each.name} ({each.shown_type})") for each in page.items], page.total


SHELVES: Final[Mapping[str, Shelf]] = {
    "space_id": Shelf(find=_spaces),
    "thing_id": Shelf(find=_entities),
}

THING: Final = Resource(
    uri_template="canon://thing/{thing_id}",
    name="thing",
    title="Thing",
    description="One entity, fact, event, scene, document or proposal, with all details.",
    mime_type="application/json",
    roles=EVERYBODY,
    read=_thing,
)
RESOURCES: Final = (
    Resource(
        uri_template="canon://space/{space_id}",
        name="space",
        title="Space",
        description="One space and its contents.",
        mime_type="application/json",
        roles=EVERYBODY,
        read=_space,
    ),
    THING,
)

"""The tools `why`, `timeline`, `changes` and `context`."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from canonry.assistant.desk import EVERYBODY, Desk, Wanted, desk_of, wanted
from canonry.assistant.differences import differences_between
from canonry.assistant.disputing import disputes_of, refused_words
from canonry.assistant.finding import (
    ASSERTED,
    THING,
    nothing_found,
    of_kind,
    searched_by,
    searched_in,
    statements_of,
    without_repeats,
)
from canonry.assistant.first_sentences import NOTHING
from canonry.assistant.rows import (
    Names,
    Row,
    filled,
    fitted,
    former_names,
    kind_of,
    named_in,
    properties_said,
    row_of,
    rows_of,
)
from canonry.assistant.spaces import desks_of, found_in, of_each, placed
from canonry.assistant.tools import canon_tool
from canonry.canon.commands.retcon_things import list_dependents
from canonry.canon.queries.explain import (
    ChangeQuery,
    Explanation,
    Traced,
    Window,
    Written,
    explain,
    list_changes,
    read_timeline,
)
from canonry.canon.queries.names import AS_KNOWN_AT, AT, TIMES, recorded_time
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.snippets import SAID_TITLE
from canonry.gateway.tool import Arguments, Noted, Reply
from canonry.language.texts.stems import stems_of
from canonry.log.canon import ids_of
from canonry.log.commits import Position
from canonry.log.entries import (
    AudienceChanged,
    CallUndone,
    EntitiesMerged,
    Entry,
    Made,
    ProposalDecided,
    Thing,
    Withdrawn,
)
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Axiom, Event, Fact, FactDraft, Relation
from canonry.log.items.proposals import Proposal, ProposalStatus, ProposalType
from canonry.log.items.scenes import Memory, Scene, Story, TurnDraft
from canonry.log.items.sources import InterpretationRun, SnippetDraft, Source, SourceType
from canonry.log.schemas.narrative import NAME, PROPERTY_PREFIX, STATE_TAGS
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.narrative.usecases.context import ContextRequest, SceneContext, assemble_context
from canonry.narrative.usecases.scenes import STORY
from canonry.readmodels.passages import names_of
from canonry.readmodels.ports.state import TimelineQuery
from canonry.recall.domain.context import Section, fit, tokens_of
from canonry.recall.usecases.find_things import (
    FoundKind,
    FoundThings,
    ThingSearch,
    about,
    find_things,
)
from canonry.records.usecases.corrections import locate_field
from canonry.records.usecases.records import list_timeline, survivors_of
from canonry.records.usecases.snapshots import FieldExplained, explain_snapshot
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput
from canonry.values.moments import DAY, Instant, parse_instant, render_instant
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import CanonLevel

SUCCESSORS: Final = ("superseded_by", "replaced_by")
_EVIDENCE: Final = 5
_WORDS: Final = 5
_RESTING: Final = 10
_WORDS_MAX: Final = 120
_GOES_ON: Final = "For the rest, call changes with since={}."
_NARROWER: Final = "There are more differences. Raise `limit`, or choose nearer states."
_GROUNDS: Final = ("reason", "evidence", "authority", "confidence")
_A_CHANGE: Final = 360
"""The bytes of a reply for each change that `limit` asks for."""
_ABOUT: Final = 8
"""The number of items of each kind that a row of `changes` lists."""


async def _why(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desks = await desks_of(canon, caller, arguments, "of")
    page = wanted(arguments)
    kinds = (Entity, Relation, Fact, Event, Axiom, Proposal, Observation)
    desk, thing, hint = await found_in(desks, arguments["of"], *kinds, path="/of")
    canon = desk.canon
    if desk.is_account and isinstance(thing, Entity):
        desk.require_now(arguments, *TIMES)
        return await _fields(desk, thing, arguments.get("field"), page)
    found = await explain(canon, caller, thing.id)
    (row,) = await rows_of(desk, (found.thing,), full=page.full)
    row["because"] = [
        await _traced(desk, each, page) for each in found.evidence[: _EVIDENCE * (1 + page.full)]
    ]
    row |= _judged(found)
    row |= {"audience": found.audience, "more_known_to": found.more_known_to}
    row["disputed"] = (await disputes_of(desk, {found.thing.id})).get(found.thing.id)
    if (resting := await _resting(desk, thing)) is not None:
        row |= resting
    reply = filled({**placed(row, desk, desks), "hint": hint})
    told = (each.place for each in found.evidence[: len(row["because"])])
    return Noted(reply=reply, parts=_links(each for each in told if each is not None))


def _links(places: Iterable[Scene | Source]) -> tuple[Mapping[str, Any], ...]:
    """Return links to the scenes and documents of the evidence, each once."""
    named = {each.id: _source(each) if isinstance(each, Source) else each.title for each in places}
    return tuple(THING.link(each, title) for each, title in named.items())


async def _traced(desk: Desk, traced: Traced, page: Wanted) -> Row:
    """Return the row of one piece of evidence: its text, speaker and place."""
    thing = traced.thing
    if thing is None:
        return {"id": traced.evidence.ref, "says": "erased"}
    (row,) = await rows_of(desk, (thing,), full=page.full)
    kept = ("kind", "id", "name", "says", "by", "scene", "document", "page")
    return {name: row[name] for name in kept if name in row}


def _judged(found: Explanation) -> Row:
    row: Row = {}
    proposal = found.proposal
    if proposal is not None and (ruling := proposal.decision or proposal.review) is not None:
        judged = {
            "rule": ruling.rule,
            "because": ruling.rationale,
            "score": None if ruling.score is None else round(ruling.score, 2),
            "proposed_by": proposal.proposed_by,
            "authority": proposal.authority.value,
            "decided_by": ruling.decided_by,
        }
        row["judged"] = filled(judged)
    if found.commit is not None:
        at = render_instant(found.commit.recorded_at)
        row["recorded"] = {"when": at, "by": found.commit.actor.agent_id, "tool": found.commit.tool}
    if found.fall is not None:
        fall, thing = found.fall.commit, found.thing
        ends = {name: getattr(thing, name, None) for name in SUCCESSORS}
        told = {
            "how": type(found.fall.entry).__name__,
            "because": getattr(found.fall.entry, "reason", ""),
            "when": render_instant(fall.recorded_at),
            "by": fall.actor.agent_id,
        }
        row["ended_by"] = filled({**told, **ends})
    return row


async def _resting(desk: Desk, thing: Thing) -> Row | None:
    if not isinstance(thing, Fact | Event | Relation | Entity):
        return None
    found = await list_dependents(desk.canon, desk.caller, thing.id)
    shown = found.dependents[:_RESTING]
    rows = await rows_of(desk, (each.thing for each in shown))
    brief = [
        {"id": row["id"], "says": row.get("says") or row.get("name", ""), "tie": each.tie.value}
        for row, each in zip(rows, shown, strict=True)
    ]
    left = len(found.dependents) - len(shown)
    return {"rests_on_it": brief, **({"rests_on_it_left": left} if left else {})}


async def _fields(desk: Desk, entity: Entity, field: str | None, page: Wanted) -> Reply:
    """Explain an account's record: for each field the observed values and the current one."""
    explained = await explain_snapshot(desk.canon, desk.caller, entity.id, field, unread=True)
    shown = explained.fields[page.offset : page.offset + page.limit]
    ids = {w.observation.source_id for each in shown for w in each.words}
    sources = await desk.canon.seen_by(desk.caller).things(i for i in ids if i is not None)
    rows = [_explained(each, sources, page) for each in shown]
    head = {"kind": "entity", "id": entity.id, "name": entity.name}
    reply = {**head, **fitted(rows, page, len(explained.fields), "fields")}
    if field is not None and shown and shown[0].field in explained.read.shown.fields:
        places = await locate_field(desk.canon, desk.caller, entity.id, field)
        told = [filled({**asdict(each), "box": list(each.box or ())}) for each in places]
        reply |= filled({"places": told})
    cited = {word["source"] for row in reply["fields"] for word in row["said"]}
    documents = (each for i, each in sources.items() if i in cited and isinstance(each, Source))
    return Noted(reply=reply, parts=_links(documents))


def _explained(field: FieldExplained, sources: Mapping[str, Thing], page: Wanted) -> Row:
    words = [
        {
            "value": word.value,
            "stands": word.wins,
            "by": _source(source := sources.get(word.observation.source_id or "")),
            "source": word.observation.source_id,
            "seen": render_instant(word.observation.seen_at),
            **_grounds(source),
        }
        for word in field.words[: _WORDS * (1 + 3 * page.full)]
    ]
    return {"field": field.field, "value": field.value, "because": field.reason, "said": words}


def _grounds(source: Thing | None) -> Row:
    """Return the reason, evidence, authority and confidence that a source was given with."""
    said = source.properties if isinstance(source, Source) else {}
    return {name: said[name] for name in _GROUNDS if said.get(name)}


def _source(thing: Thing | None) -> str:
    if not isinstance(thing, Source):
        return "erased"
    return thing.title or thing.file_name or thing.source_type.value


async def _timeline(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desks = await desks_of(canon, caller, arguments, "about")
    entity: Entity | None = None
    if (about := arguments.get("about")) is not None:
        desk, thing, _ = await found_in(desks, about, Entity, path="/about")
        desks, entity = [desk], thing if isinstance(thing, Entity) else None
    return await of_each(desks, arguments, lambda d: _dated(d, arguments, entity), "timeline")


async def _dated(desk: Desk, arguments: Arguments, entity: Entity | None) -> Reply:
    canon, caller, page = desk.canon, desk.caller, wanted(arguments)
    start = await desk.time(arguments, "from", end_of_day=False)
    end = await desk.time(arguments, "to", end_of_day=True)
    if desk.is_account:
        desk.require_now(arguments, *TIMES)
        if desk.space.opened is None:
            return fitted((), page, 0, "timeline")
    else:
        desk.require_told("Timelines", "Use get to read a row of a catalog.")
    space = desk.space.id
    window = Window(
        entity_ids=() if entity is None else (entity.id,),
        start=start,
        end=end,
        changes=True,
        limit=page.limit,
        offset=page.offset,
    )
    found = await read_timeline(canon, caller, space, window)
    rows = await rows_of(desk, (each.item for each in found.items), full=page.full)
    for each, row in zip(found.items, rows, strict=True):
        row["when"] = row.pop("from", row.get("when", "undated"))
        if each.ends:
            row |= {"when": row.pop("until", "undated"), "how": "ended"}
            row.pop("ended", None)
    dates: Sequence[Row] = ()
    total = found.total
    if desk.is_account:  # the dates of records follow what was told
        left = replace(page, offset=max(0, page.offset - found.total))
        dates, count = await _dates(desk, entity, start, end, left)
        total += count
    reply = fitted([*rows, *dates][: page.limit], page, total, "timeline")
    if found.truncated:
        reply["more"] = "The search stopped before the end. Narrow it with `from` and `to`."
    return reply


async def _dates(
    desk: Desk, entity: Entity | None, start: Instant | None, end: Instant | None, page: Wanted
) -> tuple[list[Row], int]:
    """Return the dates in the records of the account, newest first, and their number."""
    query = TimelineQuery(start=start, end=end, limit=page.limit, offset=page.offset)
    found = await list_timeline(desk.canon, desk.caller, query)
    entities = await survivors_of(desk.canon, desk.caller, found.items)
    rows: list[Row] = []
    for event in found.items:
        named = {e.id: e for each in event.entries if (e := entities.get(each.entity_id))}
        if entity is None or entity.id in named:
            told = [f"{e.name} ({properties_said(e, full=False)})" for e in named.values()]
            rows.append(
                {
                    "when": desk.spoken(event.instant),
                    "says": f"{event.event_type}: {'; '.join(told)}",
                    "about": [each.name for each in named.values()],
                    "source": event.source_id,
                }
            )
    return rows, found.total


async def _changes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """List the changes of one space; of several, in order of time with an instant as cursor."""
    since = _since(arguments.get("since"), canon)
    if "after" in since:
        desks = [await desk_of(canon, caller, arguments)]
    else:
        desks = await desks_of(canon, caller, arguments)
    if not arguments.keys().isdisjoint({AT, "from"}):
        desks = [each for each in desks if each.space.told] or desks
        desks[0].require_told("States at a time", "Omit `at` and `from`.")
    if len(desks) == 1:
        return await _written_to(desks[0], arguments) | await _differences(desks, arguments)
    page = wanted({"limit": arguments["limit"]} if "limit" in arguments else {})
    rows: list[Row] = []
    left = 0
    for desk in desks:
        part = await _written_to(desk, arguments)
        rows += [placed(row, desk, desks) for row in part["changes"]]
        left += part["left"]
    rows.sort(key=lambda row: parse_instant(row["when"]))
    some = rows[: page.limit] if since else rows[-page.limit :]
    kept = _fitted(some, page, newest=not since)
    if since and kept:  # keep all rows of one instant: the cursor leads past it
        kept += [row for row in rows[len(kept) :] if row["when"] == kept[-1]["when"]]
    left += len(rows) - len(kept) if since else 0
    given = arguments.get("since") or render_instant(canon.clock.now())
    cursor = kept[-1]["when"] if kept else given
    reply: Row = {"changes": kept, "cursor": cursor, "left": left}
    reply |= await _differences(desks, arguments)
    return {**reply, "hint": _GOES_ON.format(cursor)} if left else reply


async def _differences(desks: Sequence[Desk], arguments: Arguments) -> Row:
    """Return the differences between the state of `from` and `since`, and the viewpoint."""
    at, since = arguments.get("from", arguments.get(AT)), arguments.get("since")
    if "from" not in arguments and (since is None or AS_KNOWN_AT not in arguments):
        return {}
    known = arguments.get(AS_KNOWN_AT) if since is None else since
    if since is not None and not since.isdecimal():
        known = render_instant(_since(since, desks[0].canon)["since"])
    first = filled({AT: at, AS_KNOWN_AT: known})
    rows: list[Row] = []
    truncated = False
    for desk in desks:
        found, more = await differences_between(await desk.at_viewpoint(first), desk)
        rows += [placed(row, desk, desks) for row in found]
        truncated |= more
    page = wanted({name: arguments[name] for name in ("limit",) if name in arguments})
    reply = fitted(rows[: page.limit], page, len(rows), "differences")
    more = truncated or len(reply["differences"]) < len(rows)
    return {"differences": reply["differences"], **({"more": _NARROWER} if more else {})}


async def _written_to(desk: Desk, arguments: Arguments) -> Reply:
    canon, caller = desk.canon, desk.caller
    page = wanted({name: arguments[name] for name in ("limit", "full") if name in arguments})
    query = ChangeQuery(
        space=desk.space.id, limit=page.limit, **_since(arguments.get("since"), canon)
    )
    found = await list_changes(canon, caller, query)
    seen = canon.seen_by(caller)
    around = await seen.things({i for each in found.things.values() for i in named_in(each)})
    names = await seen.roots(i for i, each in around.items() if isinstance(each, Entity))
    rows = [
        {
            "at": one.commit.position,
            "when": render_instant(one.commit.recorded_at),
            "by": one.commit.actor.agent_id,
            "tool": one.commit.tool,
            "what": what,
        }
        for one in found.written
        if (what := _what(one, found.things, names, around))
    ]
    newest = query.after is None and query.since is None
    kept = _fitted(rows, page, newest=newest)
    cursor, left = found.cursor, found.left
    if len(kept) < len(rows) and not newest:
        cursor = Position(kept[-1]["at"])
        left += len(rows) - len(kept)
    reply: Row = {"changes": kept, "cursor": str(cursor), "left": left}
    if left:
        reply["hint"] = _GOES_ON.format(cursor)
    return reply


def _fitted(rows: Sequence[Row], page: Wanted, *, newest: bool) -> list[Row]:
    """Return the changes that fit into a reply: the first ones, or the `newest`."""
    turn = -1 if newest else 1
    kept: list[Row] = fitted(rows[::turn], page, len(rows), "changes", each=_A_CHANGE)["changes"]
    return kept[::turn]


def _since(text: str | None, canon: Canon) -> dict[str, Any]:
    if text is None:
        return {}
    if text.isascii() and text.isdecimal() and len(text) < 16:  # noqa: PLR2004 - as a position
        return {"after": Position(int(text))}
    return {"since": recorded_time(text, path="/since", now=canon.clock.now())}


def _what(
    written: Written, things: Mapping[str, Thing], names: Names, around: Mapping[str, Thing]
) -> list[Row]:
    """Return a row for each item that changed; of each kind the first few: imports stay short.

    A proposal has no row beside what it became, and a container none beside its contents.
    """
    told: dict[tuple[str, str, str], Row] = {}
    entries, every = written.entries, written.commit.entries
    made = {each.thing.id: each.thing for each in entries if isinstance(each, Made)}
    again = [how_of(each) for each in every if isinstance(each, AudienceChanged | Withdrawn)]
    again = ["restored" for each in every if isinstance(each, CallUndone)] or again
    parts = {each.text for each in made.values() if isinstance(each, SnippetDraft | TurnDraft)}
    stated = any(isinstance(each, FactDraft) for each in made.values())
    said = [e for e in made.values() if isinstance(e, ObservationDraft) and NAME in e.fields]
    called = {str(each.entity_id): each.fields[NAME] for each in reversed(said)}
    last = {ids_of(each)[0]: each for each in entries}
    for entry in entries:
        own = ids_of(entry)[0]
        thing, how = things[own], how_of(entry)
        words = called.get(own) or says(thing, names, around)  # an entity by its name of then
        ruling = thing.decision if isinstance(thing, Proposal) else None
        if ruling and (entry is not last[own] or ruling.canonical_id in last):
            continue
        if _is_told_beside(thing, words, how, parts):
            continue
        if isinstance(entry, EntitiesMerged) and entry.merged in things:
            words += f", with {says(things[entry.merged], names)}"
        if isinstance(entry, Made) and again:
            how = again[0]
        if isinstance(thing, Observation):
            of = things.get(thing.entity_id)
            is_state = stated and thing.fields.keys() == {STATE_TAGS}
            if thing.entity_id in made or of is None or is_state:
                continue  # the row of its entity or of its fact covers it
            how, words = _observed(thing, says(of, names), of)
            thing = of
        row = {"how": how, "kind": kind_of(thing), "id": thing.id, "says": words}
        told[how, row["kind"], thing.id] = row
    counts = Counter((how, kind) for how, kind, _ in told)
    few = {key: [row for (*one, _), row in told.items() if (*one,) == key] for key in counts}
    shown = [row for row in told.values() if row in few[row["how"], row["kind"]][:_ABOUT]]
    more = {key: count - _ABOUT for key, count in counts.items() if count > _ABOUT}
    return [*shown, *({"how": h, "kind": k, "says": f"{n} more"} for (h, k), n in more.items())]


def _is_told_beside(thing: Thing, words: str, how: str, parts: Collection[str]) -> bool:
    """Tell whether other rows tell all of an item: the parts of a container, what a claim did."""
    match thing:
        case Proposal():
            done = thing.type is ProposalType.UPKEEP or thing.decision is None
            return done and thing.status is ProposalStatus.ACCEPTED
        case Scene():
            return how == "changed" and bool(parts)
        case Source() | Story():
            own = thing.title == STORY or thing.title.startswith(SAID_TITLE)
            return own or getattr(thing, "source_type", None) is SourceType.CORRECTION
        case Entity():
            return words in parts
        case _:
            return isinstance(thing, InterpretationRun | RegisteredSchema)


def _observed(seen: Observation, name: str, entity: Thing) -> tuple[str, str]:
    """Return what an observation did to an entity, with its earlier name if it got another one."""
    told = {n.removeprefix(PROPERTY_PREFIX): value for n, value in seen.fields.items()}
    former = former_names(entity) if isinstance(entity, Entity) and [*told] == [NAME] else []
    if former:
        return "renamed", f"{name}, formerly {former[0]}"
    text = ", ".join(f"{field.replace('_', ' ')} {value}" for field, value in told.items())
    return "said", f"{name}: {text}"[:_WORDS_MAX]


def says(thing: Thing, names: Names, around: Mapping[str, Thing] | None = None) -> str:
    """Return an item in a few words."""
    row = row_of(thing, names, around or {}, full=False)
    silent = isinstance(thing, Scene | Memory)  # only their titles are shown
    return row.get("name") or ("" if silent else row.get("says", "")[:_WORDS_MAX]) or kind_of(thing)


def how_of(entry: Entry) -> str:
    """Return the effect of an entry in a word or two."""
    match entry:
        case ProposalDecided(decision=decision):
            return decision.status.value
        case AudienceChanged(audience=audience):
            return "hidden" if audience else "revealed"
        case _:
            return str(_BRIEF["effects"].get(type(entry).__name__, "changed"))


TOKENS: Final = 800
_FOUND: Final = 30
_ENTITIES: Final = 3
"""The number of found entities whose facts a brief gives."""
_NEAR: Final = 3
"""The number of other entities that most statements name, whose facts follow."""
_LEANER: Final = 4
_TRIES: Final = 8
"""Attempts to fit a brief. Headings count only after the lines are chosen."""
_BRIEF: Final = read_toml(__package__, "brief.toml")
"""Headings, weights, the sections of kinds (others are passages), and the effects of entries."""


async def _context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desks = await desks_of(canon, caller, arguments, "of")
    heads = {each.space.name: await each.canon.ledger.head(each.space.id) for each in desks}
    return {**await _write_brief(desks, arguments), "position": heads}


async def _write_brief(desks: Sequence[Desk], arguments: Arguments) -> Reply:
    """Return the brief about a scene, an entity or a question."""
    budget = int(arguments.get("tokens", TOKENS))
    of, question = arguments.get("of"), arguments.get("question")
    if of is None and question is None:
        message = "Name a scene or an entity in /of, or ask a /question."
        raise InvalidInput("context.of-what", message, path="/question")
    thing = None
    if of is not None:
        desk, thing, _ = await found_in(desks, of, Entity, Scene, path="/of")
        desks = [desk]
        if isinstance(thing, Scene):
            desk.require_now(arguments, "at")
            return await _scene(desk, thing, question, budget)
    entity = thing if isinstance(thing, Entity) else None
    title = entity.name if entity is not None else str(question)
    sections: dict[str, list[str]] = {}
    results: list[FoundThings] = []
    for desk in desks:
        where = f" [{desk.space.name}]" if len(desks) > 1 else ""
        for name, lines in (await _sections(desk, entity, question, results)).items():
            sections.setdefault(name, []).extend(f"{line}{where}" for line in lines)
    reply = filled({**_brief(title, sections, budget), "searched": searched_in(results)})
    if not any(sections.values()):
        reply["note"] = nothing_found(desks[0], results)
    return reply


async def _sections(
    desk: Desk, entity: Entity | None, question: str | None, results: list[FoundThings]
) -> dict[str, list[str]]:
    """Return lines on the hits for the question, and on the entity or the entities found."""
    found: list[Thing] = []
    if question is not None:
        search = ThingSearch(space=desk.space.id, text=question, limit=_FOUND)
        results.append(await find_things(desk.canon, search))
        found = [thing for thing, _ in results[-1].found]
    entities = [e for e in found if isinstance(e, Entity)][:_ENTITIES]
    own: list[Thing] = []
    if entity is not None:
        own = await _told_of(desk, entity, ended=question is not None)
        ties = Counter(i for e in own for i in about(e) if i not in family_of(entity))
        near = await desk.canon.seen_by(desk.caller).roots(i for i, _ in ties.most_common(_NEAR))
        entities = [entity, *(e for e in near.values() if e.id != entity.id)]
        named = {stem for e in entities for name in names_of(e) for stem in stems_of(name)}
        found = [e for e in found if about(e) or named & {*stems_of(getattr(e, "text", ""))}]
    around = [e for each in entities if each is not entity for e in await _told_of(desk, each)]
    if entity is not None and results and not any(map(about, found)):  # it asks for anything
        every = [e for kind in ASSERTED for e in (await of_kind(desk, kind, limit=_FOUND))[0]]
        around += filter(desk.canon.viewpoint.shows, every)
    every = list({e.id: e for e in (*entities, *own, *found, *around)}.values())
    telling = await without_repeats(desk, "", [(each, 0.0) for each in every])
    refused = await refused_words(desk, (each for each, _ in telling))
    against = await disputes_of(desk, {each.id for each, _ in telling})
    called: set[tuple[str, str]] = set()
    sections: dict[str, list[str]] = {}
    for row in await rows_of(desk, (each for each, _ in telling)):
        bare = {"document"} if entity is None else {"document", "entity"}  # a name tells nothing
        silent = row["kind"] in bare and row["id"] != getattr(entity, "id", "")
        if not silent or row.keys() & {"says", "tags"} or len(telling) == 1:
            name = _BRIEF["sections"].get(row["kind"], "passages")
            now = {n: e for n, e in row.get("now_called", {}).items() if (name, n) not in called}
            called |= {(name, former) for former in now}
            more = {"refused": row["id"] in refused, "disputed": against.get(row["id"], ())}
            sections.setdefault(name, []).append(_line({**row, "now_called": now, **more}))
    return sections


async def _told_of(desk: Desk, entity: Entity, *, ended: bool = False) -> list[Thing]:
    """Return the statements and events of an entity; then those that `ended` at a known time."""
    facts, ties = await statements_of(desk, entity, ended=ended)
    events, _ = await of_kind(desk, FoundKind.EVENT, entity, limit=_FOUND)
    every: list[Thing] = [*reversed(facts), *ties, *events]
    shows = desk.canon.viewpoint.shows
    return sorted((e for e in every if shows(e) or _ended(e)), key=lambda e: not shows(e))


def _ended(thing: Any) -> bool:
    """Tell whether a canon statement ended at a known time, on a later day than it began."""
    begin = getattr(thing, "time_ref", getattr(thing, "since", None))
    end = getattr(thing, "ends_at", getattr(thing, "until", None))
    dated = end is not None and (begin is None or end - begin >= DAY)
    return dated and thing.level is CanonLevel.CANON


def _line(row: Row) -> str:
    """Return a row as a line of prose with its id to cite."""
    name, said = row.get("name", ""), row.get("says", "")
    head = f"{name} ({row['type']})" if row["kind"] == "entity" else name
    tags = f" [{', '.join(row['tags'])}]" if row.get("tags") else ""
    text = f"{head}{tags}{': ' if head and said else ''}{said}"
    planned = "planned " if row.get("planned") else ""
    times = (f"{name} {row[name]}" for name in ("from", "until") if row.get(name))
    since = f" ({planned}{' '.join(times)})" if row.keys() & {"from", "until"} else ""
    when = f" ({row['when']})" if row.get("when") else ""
    where = next((f" — {row[name]}" for name in ("by", "scene", "document") if row.get(name)), "")
    cited = "" if row["kind"] == "entity" else f" {{{row['id']}}}"
    few = f" (only for {', '.join(row['for'])})" if row.get("for") else ""
    now = "".join(f" ({one} is now {name})" for one, name in row.get("now_called", {}).items())
    doubts = "".join(f' (may contradict "{one["says"]}")' for one in row.get("disputed", ()))
    told = f"{text}{' (refused)' if row.get('refused') else ''}{doubts}{now}{since}{when}"
    return f"{told}{where}{few}{cited}".replace("\n", " ")


def _brief(title: str, sections: dict[str, list[str]], budget: int, more: str = "") -> Row:
    """Return a brief with the lines that fit into the budget, under headings."""
    room = budget - tokens_of(title) - 4 * len(sections) - tokens_of(more)
    asked = [
        Section(
            name=name,
            weight=_BRIEF["weights"].get(name, 1),
            items=lines,
            cost=lambda line: tokens_of(f"- {line}\n"),
        )
        for name, lines in sections.items()
    ]
    text, fitted = "", fit(asked, 0)
    for _try in range(_TRIES):
        fitted = fit(asked, max(room, 0))
        parts = [f"# {title}", *([more] if more else [])]
        for name, heading in _BRIEF["headings"].items():
            if lines := fitted.kept.get(name, ()):
                parts.append("\n".join((f"## {heading}", *(f"- {line}" for line in lines))))
        text = "\n\n".join(parts)
        over = tokens_of(text) - budget
        if over <= 0 or room <= 0:
            break
        room -= over
    left = {name: count for name, count in fitted.omitted.items() if count}
    reply: Row = {"brief": text, "tokens": tokens_of(text)}
    if left:
        reply |= {"left_out": left, "hint": "For more, raise `tokens`. You can cite the {ids}."}
    elif not any(sections.values()):
        reply["note"] = NOTHING
    return reply


async def _scene(desk: Desk, scene: Scene, question: str | None, budget: int) -> Reply:
    # Lines are shorter than the rows that this request counts; `_brief` drops the surplus.
    request = ContextRequest(scene_id=scene.id, query=question, tokens=budget * _LEANER)
    told = await assemble_context(desk.canon, desk.caller, request)
    sections = await _scene_sections(desk, told)
    place = told.cast.location
    (row,) = await rows_of(desk, (scene,))
    where = "".join(f"{said}. " for said in (row.get("when"), place and f"At {place.name}") if said)
    more = " ".join(each for each in (told.scene.gm_notes, told.scene.summary) if each)
    count = told.narrative.total_turns
    setting = f"{where}{told.scene.status.value.capitalize()}, {count} turns. {more}".strip()
    reply = _brief(scene.title, sections, budget, setting)
    return filled({**reply, "searched": searched_by(told.degraded) if question else ""})


async def _scene_sections(desk: Desk, told: SceneContext) -> dict[str, list[str]]:
    canonical, narrative = told.canonical, told.narrative

    async def lines(things: Iterable[Thing]) -> list[str]:
        return [_line(row) for row in await rows_of(desk, things)]

    present = [each.entity for each in canonical.present]
    around = sorted((each.entity for each in canonical.around), key=lambda each: each.position)
    sections: dict[str, Any] = {
        "entities": await lines((*present, *around)),
        "facts": await lines(canonical.facts),
        "relations": await lines(canonical.relations),
        "events": await lines(canonical.events),
        "turns": await lines(narrative.turns),
        "scenes": await lines(narrative.scenes),
        "threads": [each.text for each in narrative.threads],
        "memories": [each.memory.text for each in told.recalled.memories],
        "documents": [hit.passage.text for hit in told.recalled.rules],
    }
    return {name: each for name, each in sections.items() if each}


TOOLS: Final = (
    canon_tool("why", _why, EVERYBODY),
    canon_tool("timeline", _timeline, EVERYBODY),
    canon_tool("changes", _changes, EVERYBODY),
    canon_tool("context", _context, EVERYBODY),
)

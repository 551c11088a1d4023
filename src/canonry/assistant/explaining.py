"""The tools `why`, `timeline`, `changes` and `context`."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from canonry.assistant.briefs import BRIEF, show_context
from canonry.assistant.call_context import EVERYBODY, CallContext, RowPage, context_of, read_page
from canonry.assistant.differences import differences_between
from canonry.assistant.disputes import disputes_of
from canonry.assistant.finding import ITEM_RESOURCE
from canonry.assistant.first_sentences import count_in_words
from canonry.assistant.rows import (
    Names,
    Row,
    cut_text,
    fit_rows,
    former_names,
    ids_named,
    kind_of,
    kind_word,
    properties_said,
    readers_shown,
    row_of,
    rows_of,
    without_empty,
)
from canonry.assistant.spaces import contexts_of, find_item_in, read_each_space, with_space_name
from canonry.assistant.tools import canon_tool
from canonry.canon.canonization.decide_proposals import is_by_rules
from canonry.canon.commands.retcon_items import list_dependents
from canonry.canon.queries import explain
from canonry.canon.queries.names import AS_KNOWN_AT, AT, TIMES, read_recorded_time
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.snippets import SAID_TITLE
from canonry.gateway.tool import Arguments, Noted, Reply
from canonry.log import entries as log
from canonry.log.commits import Position
from canonry.log.fold_commit import ids_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, FactDraft, Relation
from canonry.log.items.proposals import Proposal, ProposalStatus, ProposalType
from canonry.log.items.scenes import Memory, Scene, Story, TurnDraft
from canonry.log.items.sources import InterpretationRun, SnippetDraft, Source, SourceType
from canonry.log.schemas.narrative import NAME, PROPERTY_PREFIX, STATE_TAGS
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.narrative.usecases.scenes import STORY
from canonry.readmodels.ports.state import TimelineQuery
from canonry.records.usecases.corrections import locate_field
from canonry.records.usecases.records import list_timeline, survivors_of
from canonry.records.usecases.snapshots import FieldExplained, explain_snapshot
from canonry.values.moments import Instant, parse_instant, render_instant
from canonry.values.observations import Observation, ObservationDraft

SUCCESSORS: Final = ("superseded_by", "replaced_by")
_EVIDENCE: Final = 5
_OBSERVED: Final = 5
_RESTING: Final = 10
_LABEL_MAX: Final = 120  # a label only has to be recognised
_GOES_ON: Final = "For the rest, call changes with since={}."
_OLDER: Final = "Older changes are not listed. For them, call changes with since={}."
_NARROWER: Final = "There are more differences. Raise `limit`, or choose nearer states."
_GROUNDS: Final = ("reason", "evidence", "authority", "confidence")
_ACCEPTED: Final = re.compile(r"^accepted on the authority \w+ with a score of [\d.e-]+(?:; )?")
"""The part of a reason that other members of `judged` give."""
_A_CHANGE: Final = 360
"""The bytes of a reply for each change that `limit` asks for."""
_SILENT_KINDS: Final = frozenset({"proposal", "observation", "run"})
"""Kinds of forgotten items that belong to other ones."""
_ABOUT: Final = 8
"""The number of items of each kind that a row of `changes` lists."""


async def _explain_why(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    contexts = await contexts_of(canon, caller, arguments, "of")
    page = read_page(arguments)
    kinds = (Entity, Relation, Fact, Event, Axiom, Proposal, Observation)
    context, item, hint = await find_item_in(contexts, arguments["of"], *kinds, path="/of")
    canon = context.canon
    if context.is_account and isinstance(item, Entity):
        context.require_now(arguments, *TIMES)
        return await _explain_fields(context, item, arguments.get("field"), page)
    found = await explain.explain_item(canon, caller, item.id)
    (row,) = await rows_of(context, (found.thing,), full=page.full)
    row["because"] = [
        await _evidence_row(context, each, page)
        for each in found.evidence[: _EVIDENCE * (1 + page.full)]
    ]
    row |= _judgement_row(found)
    row |= {"audience": found.audience, "more_known_to": found.more_known_to}
    row["disputed"] = (await disputes_of(context, {found.thing.id})).get(found.thing.id)
    if (resting := await _resting_row(context, item)) is not None:
        row |= resting
    reply = without_empty({**with_space_name(row, context, contexts), "hint": hint})
    containers = (each.container for each in found.evidence[: len(row["because"])])
    return Noted(reply=reply, parts=_evidence_links(e for e in containers if e is not None))


def _evidence_links(containers: Iterable[Scene | Source]) -> tuple[Mapping[str, Any], ...]:
    """Return links to the scenes and documents of the evidence, each once."""
    named = {e.id: _source_title(e) if isinstance(e, Source) else e.title for e in containers}
    return tuple(ITEM_RESOURCE.link_to(each, title) for each, title in named.items())


async def _evidence_row(context: CallContext, traced: explain.TracedEvidence, page: RowPage) -> Row:
    """Return the row of one piece of evidence: its text, speaker and place."""
    item = traced.thing
    if item is None:
        return {"id": traced.evidence.ref, "says": "erased"}
    (row,) = await rows_of(context, (item,), full=page.full)
    kept = ("kind", "id", "name", "says", "by", "scene", "document", "page", "for")
    return {name: row[name] for name in kept if name in row}


def _judgement_row(found: explain.Explanation) -> Row:
    row: Row = {}
    proposal, commit = found.proposal, found.commit
    by = commit.actor.agent_id if commit is not None else None
    if proposal is not None and (ruling := proposal.decision or proposal.review) is not None:
        judged = {
            "rule": ruling.rule,
            "because": _ACCEPTED.sub("", ruling.rationale),
            "score": None if ruling.score is None else round(ruling.score, 2),
            "proposed_by": proposal.proposed_by if proposal.proposed_by != by else None,
            "authority": proposal.authority.value,
            "decided_by": ruling.decided_by if ruling.decided_by != by else None,
        }
        row["judged"] = without_empty(judged)
    if commit is not None:
        at = render_instant(commit.recorded_at)
        row["recorded"] = {"when": at, "by": by, "tool": commit.tool}
    if found.fall is not None:
        fall, item = found.fall.commit, found.thing
        ends = {name: getattr(item, name, None) for name in SUCCESSORS}
        ending = {
            "how": type(found.fall.entry).__name__,
            "because": getattr(found.fall.entry, "reason", ""),
            "when": render_instant(fall.recorded_at),
            "by": fall.actor.agent_id,
        }
        row["ended_by"] = without_empty({**ending, **ends})
    return row


async def _resting_row(context: CallContext, item: log.StoredItem) -> Row | None:
    if not isinstance(item, Fact | Event | Relation | Entity):
        return None
    found = await list_dependents(context.canon, context.caller, item.id)
    shown = found.dependents[:_RESTING]
    rows = await rows_of(context, (each.thing for each in shown))
    brief = [
        {
            "id": row["id"],
            "says": row.get("says") or row.get("name", ""),
            "tie": each.tie.value,
            **({"for": row["for"]} if "for" in row else {}),
        }
        for row, each in zip(rows, shown, strict=True)
    ]
    left = len(found.dependents) - len(shown)
    return {"rests_on_it": brief, **({"rests_on_it_left": left} if left else {})}


async def _explain_fields(
    context: CallContext, entity: Entity, field: str | None, page: RowPage
) -> Reply:
    """Explain an account's record: for each field the observed values and the current one."""
    explained = await explain_snapshot(context.canon, context.caller, entity.id, field, unread=True)
    shown = explained.fields[page.offset : page.offset + page.limit]
    ids = {w.observation.source_id for each in shown for w in each.observed}
    sources = await context.canon.caller_scope(context.caller).items_by_id(
        i for i in ids if i is not None
    )
    rows = [_field_row(each, sources, page) for each in shown]
    head = {"kind": "entity", "id": entity.id, "name": entity.name}
    reply = {**head, **fit_rows(rows, page, len(explained.fields), "fields")}
    if field is not None and shown and shown[0].field in explained.read.shown.fields:
        found = await locate_field(context.canon, context.caller, entity.id, field)
        located = [without_empty({**asdict(each), "box": list(each.box or ())}) for each in found]
        reply |= without_empty({"places": located})
    cited = {observed["source"] for row in reply["fields"] for observed in row["said"]}
    documents = (each for i, each in sources.items() if i in cited and isinstance(each, Source))
    return Noted(reply=reply, parts=_evidence_links(documents))


def _field_row(field: FieldExplained, sources: Mapping[str, log.StoredItem], page: RowPage) -> Row:
    values = [
        {
            "value": observed.value,
            "stands": observed.wins,
            "by": _source_title(source := sources.get(observed.observation.source_id or "")),
            "source": observed.observation.source_id,
            "seen": render_instant(observed.observation.seen_at),
            **{n: e for n in _GROUNDS if (e := getattr(source, "properties", {}).get(n))},
        }
        for observed in field.observed[: _OBSERVED * (1 + 3 * page.full)]
    ]
    return {"field": field.field, "value": field.value, "because": field.reason, "said": values}


def _source_title(item: log.StoredItem | None) -> str:
    if not isinstance(item, Source):
        return "erased"
    return item.title or item.file_name or item.source_type.value


async def _show_timeline(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    contexts = await contexts_of(canon, caller, arguments, "about")
    entity: Entity | None = None
    if (about := arguments.get("about")) is not None:
        context, item, _ = await find_item_in(contexts, about, Entity, path="/about")
        contexts, entity = [context], item if isinstance(item, Entity) else None
    return await read_each_space(
        contexts, arguments, lambda d: _read_dated(d, arguments, entity), "timeline"
    )


async def _read_dated(context: CallContext, arguments: Arguments, entity: Entity | None) -> Reply:
    canon, caller, page = context.canon, context.caller, read_page(arguments)
    start = await context.read_time(arguments, "from", end_of_day=False)
    end = await context.read_time(arguments, "to", end_of_day=True)
    if context.is_account:
        context.require_now(arguments, *TIMES)
        if context.space.opened is None:
            return fit_rows((), page, 0, "timeline")
    else:
        context.require_story_space("Timelines", "Use get to read a row of a catalog.")
    space = context.space.id
    window = explain.Window(
        entity_ids=() if entity is None else (entity.id,),
        start=start,
        end=end,
        changes=True,
        limit=page.limit,
        offset=page.offset,
    )
    found = await explain.read_timeline(canon, caller, space, window)
    rows = await rows_of(context, (each.item for each in found.items), full=page.full)
    for each, row in zip(found.items, rows, strict=True):
        row["when"] = row.pop("from", row.get("when", "undated"))
        if each.ends:
            row |= {"when": row.pop("until", "undated"), "how": "ended"}
            row.pop("ended", None)
    dates: Sequence[Row] = ()
    total = found.total
    if context.is_account:  # the dates of records follow what was stated
        left = replace(page, offset=max(0, page.offset - found.total))
        dates, count = await _record_dates(context, entity, start, end, left)
        total += count
    reply = fit_rows([*rows, *dates][: page.limit], page, total, "timeline")
    if found.truncated:
        reply["more"] = "The search stopped before the end. Narrow it with `from` and `to`."
    return reply


async def _record_dates(
    context: CallContext,
    entity: Entity | None,
    start: Instant | None,
    end: Instant | None,
    page: RowPage,
) -> tuple[list[Row], int]:
    """Return the dates in the records of the account, newest first, and their number."""
    query = TimelineQuery(start=start, end=end, limit=page.limit, offset=page.offset)
    found = await list_timeline(context.canon, context.caller, query)
    entities = await survivors_of(context.canon, context.caller, found.items)
    rows: list[Row] = []
    for event in found.items:
        named = {e.id: e for each in event.entries if (e := entities.get(each.entity_id))}
        if entity is None or entity.id in named:
            day = render_instant(event.instant)[:10]
            fields = {e.name: properties_said(e, full=False, without=day) for e in named.values()}
            reported = "; ".join(f"{n} ({each})" if each else n for n, each in fields.items())
            plain = event.event_type.casefold() == "date"
            rows.append(
                {
                    "when": context.time_in_words(event.instant),
                    "says": reported if plain else f"{event.event_type}: {reported}",
                    "about": [each.name for each in named.values()],
                    "source": event.source_id,
                }
            )
    return rows, found.total


async def _show_changes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """List the changes of one space; of several, in order of time with an instant as cursor."""
    since = _read_since(arguments.get("since"), canon)
    if "after" in since:
        contexts = [await context_of(canon, caller, arguments)]
    else:
        contexts = await contexts_of(canon, caller, arguments)
    if not arguments.keys().isdisjoint({AT, "from"}):
        contexts = [each for each in contexts if each.space.may_have_stories] or contexts
        contexts[0].require_story_space("States at a time", "Omit `at` and `from`.")
    if len(contexts) == 1:
        return await _changes_in(contexts[0], arguments) | await _show_differences(
            contexts, arguments
        )
    page = read_page({"limit": arguments["limit"]} if "limit" in arguments else {})
    rows: list[Row] = []
    left, older = 0, False
    for context in contexts:
        part = await _changes_in(context, arguments)
        rows += [with_space_name(row, context, contexts) for row in part["changes"]]
        left, older = left + part["left"], older or "hint" in part
    rows.sort(key=lambda row: parse_instant(row["when"]))
    some = rows[: page.limit] if since else rows[-page.limit :]
    kept = _fit_changes(some, page, newest=not since)
    if since and kept:  # keep all rows of one instant: the cursor leads past it
        kept += [row for row in rows[len(kept) :] if row["when"] == kept[-1]["when"]]
    left += len(rows) - len(kept) if since else 0
    given = arguments.get("since") or render_instant(canon.clock.now())
    cursor = kept[-1]["when"] if kept else given
    reply: Row = {"changes": kept, "cursor": cursor, "left": left}
    reply |= await _show_differences(contexts, arguments)
    if left or older or len(kept) < len(rows):
        reply["hint"] = _GOES_ON.format(cursor) if since else _OLDER.format("an earlier time")
    return reply


async def _show_differences(contexts: Sequence[CallContext], arguments: Arguments) -> Row:
    """Return the differences between the state of `from` and `since`, and the viewpoint."""
    at, since = arguments.get("from", arguments.get(AT)), arguments.get("since")
    if "from" not in arguments and (since is None or AS_KNOWN_AT not in arguments):
        return {}
    known = arguments.get(AS_KNOWN_AT) if since is None else since
    if since is not None and not since.isdecimal():
        known = render_instant(_read_since(since, contexts[0].canon)["since"])
    first = without_empty({AT: at, AS_KNOWN_AT: known})
    rows: list[Row] = []
    truncated = False
    for context in contexts:
        found, more = await differences_between(await context.at_viewpoint(first), context)
        rows += [with_space_name(row, context, contexts) for row in found]
        truncated |= more
    page = read_page({name: arguments[name] for name in ("limit",) if name in arguments})
    reply = fit_rows(rows[: page.limit], page, len(rows), "differences")
    more = truncated or len(reply["differences"]) < len(rows)
    return {"differences": reply["differences"], **({"more": _NARROWER} if more else {})}


async def _changes_in(context: CallContext, arguments: Arguments) -> Reply:
    canon, caller = context.canon, context.caller
    page = read_page({name: arguments[name] for name in ("limit", "full") if name in arguments})
    query = explain.ChangeQuery(
        space=context.space.id, limit=page.limit, **_read_since(arguments.get("since"), canon)
    )
    found = await explain.list_changes(canon, caller, query)
    seen = canon.caller_scope(caller)
    around = await seen.items_by_id({i for each in found.items.values() for i in ids_named(each)})
    names = await seen.root_entities(i for i, each in around.items() if isinstance(each, Entity))
    rows: list[Row] = []
    last = ""
    for one in found.written:
        what = _what_happened(context, one, found.items, names, around)
        own, head = one.commit.request or one.commit.id, rows[-1:]
        when = {"at": one.commit.position, "when": render_instant(one.commit.recorded_at)}
        who = {"by": one.commit.actor.agent_id, "tool": one.commit.tool}
        made = (e.thing for e in one.entries if isinstance(e, log.Made))
        sources = {each.source_id for each in made if isinstance(each, SnippetDraft)}
        if head and (own == last or sources & {row.get("id") for row in head[0]["what"]}):
            # a further commit of the same call, or the passages of its document
            head[0] |= when | {"what": head[0]["what"] + what}
        elif what:
            rows.append({**when, **who, "what": what})
            last = own
    newest = query.after is None and query.since is None
    kept = _fit_changes(rows, page, newest=newest)
    cursor, left, cut = found.cursor, found.left, len(rows) - len(kept)
    if cut and not newest:
        left += cursor - kept[-1]["at"]
        cursor = Position(kept[-1]["at"])
    reply: Row = {"changes": kept, "cursor": str(cursor), "left": left}
    before = rows[cut - 1]["at"] if cut else cursor - len(found.written)
    if newest and before:
        reply |= {"left": before, "hint": _OLDER.format(0)}
    elif left:
        reply["hint"] = _GOES_ON.format(cursor)
    return reply


def _fit_changes(rows: Sequence[Row], page: RowPage, *, newest: bool) -> list[Row]:
    """Return the changes that fit into a reply: the first ones, or the `newest`."""
    direction = -1 if newest else 1
    kept: list[Row] = fit_rows(rows[::direction], page, len(rows), "changes", each=_A_CHANGE)[
        "changes"
    ]
    return kept[::direction]


def _read_since(text: str | None, canon: Canon) -> dict[str, Any]:
    if text is None:
        return {}
    if text.isascii() and text.isdecimal() and len(text) < 16:  # noqa: PLR2004 - as a position
        return {"after": Position(int(text))}
    return {"since": read_recorded_time(text, path="/since", now=canon.clock.now())}


def _what_happened(
    context: CallContext,
    written: explain.Written,
    items: Mapping[str, log.StoredItem],
    names: Names,
    around: Mapping[str, log.StoredItem],
) -> list[Row]:
    """Return a row for each item that changed; of each kind the first few: imports stay short.

    A proposal has no row beside what it became, and a container none beside its contents.
    """
    rows: dict[tuple[str, str, str], Row] = {}
    entries, every = written.entries, written.commit.entries
    made = {each.thing.id: each.thing for each in entries if isinstance(each, log.Made)}
    again = [effect_of(e) for e in every if isinstance(e, log.AudienceChanged | log.Withdrawn)]
    again = ["restored" for each in every if isinstance(each, log.CallUndone)] or again
    parts = {each.text for each in made.values() if isinstance(each, SnippetDraft | TurnDraft)}
    stated = any(isinstance(each, FactDraft) for each in made.values())
    said = [e for e in made.values() if isinstance(e, ObservationDraft) and NAME in e.fields]
    called = {str(each.entity_id): each.fields[NAME] for each in reversed(said)}
    last = {ids_of(each)[0]: each for each in entries}
    for entry in entries:
        own = ids_of(entry)[0]
        item, how = items[own], effect_of(entry)
        text = called.get(own) or short_text(item, names, around)  # an entity by its name of then
        ruling = item.decision if isinstance(item, Proposal) else None
        if ruling and (entry is not last[own] or ruling.canonical_id in last):
            continue
        if _is_shown_otherwise(item, text, how, parts):
            continue
        if isinstance(entry, log.EntitiesMerged) and entry.merged in items:
            text += f", with {short_text(items[entry.merged], names)}"
        if isinstance(entry, log.Made) and again:
            how = again[0]
        if isinstance(item, Observation):
            of = items.get(item.entity_id)
            is_state = stated and item.fields.keys() == {STATE_TAGS}
            if item.entity_id in made or of is None or is_state:
                continue  # the row of its entity or of its fact covers it
            how, text = _observed(item, short_text(of, names), of)
            item = of
        row = {"how": how, "kind": kind_of(item), "id": item.id, "says": text}
        row |= readers_shown(context, item, names)
        rows[how, row["kind"], item.id] = row
    counts = Counter((how, kind) for how, kind, _ in rows)
    few = {key: [row for (*one, _), row in rows.items() if (*one,) == key] for key in counts}
    shown = [row for row in rows.values() if row in few[row["how"], row["kind"]][:_ABOUT]]
    more = {key: count - _ABOUT for key, count in counts.items() if count > _ABOUT}
    says = {key: f"{count} more" for key, count in more.items()}
    undone = any(isinstance(each, log.CallUndone) for each in every)
    gone = Counter(kind_word(e.was) for e in written.forgotten if e.was not in _SILENT_KINDS)
    how = "withdrawn" if undone else "forgotten"  # whose words are in no reply
    says |= {(how, kind): count_in_words(count, kind) for kind, count in gone.items()}
    return [*shown, *({"how": h, "kind": k, "says": text} for (h, k), text in says.items())]


def _is_shown_otherwise(item: log.StoredItem, text: str, how: str, parts: Collection[str]) -> bool:
    """Return whether other rows tell all of an item: the parts of a container, what a claim did."""
    match item:
        case Proposal():
            done = item.type is ProposalType.UPKEEP or item.decision is None
            return done and item.status is ProposalStatus.ACCEPTED
        case Scene():
            return how == "changed" and bool(parts)
        case Source() | Story():
            own = item.title == STORY or item.title.startswith(SAID_TITLE)
            return own or getattr(item, "source_type", None) is SourceType.CORRECTION
        case Entity():
            return text in parts
        case _:
            return isinstance(item, InterpretationRun | RegisteredSchema)


def _observed(seen: Observation, name: str, entity: log.StoredItem) -> tuple[str, str]:
    """Return what an observation did to an entity, with its earlier name if it got another one."""
    reported = {n.removeprefix(PROPERTY_PREFIX): value for n, value in seen.fields.items()}
    former = former_names(entity) if isinstance(entity, Entity) and [*reported] == [NAME] else []
    if former:
        return "renamed", f"{name}, formerly {former[0]}"
    text = ", ".join(f"{field.replace('_', ' ')} {value}" for field, value in reported.items())
    return "said", cut_text(f"{name}: {text}", most=_LABEL_MAX)


def short_text(
    item: log.StoredItem, names: Names, around: Mapping[str, log.StoredItem] | None = None
) -> str:
    """Return an item in a few words."""
    row = row_of(item, names, around or {}, full=False)
    silent = isinstance(item, Scene | Memory)  # only their titles are shown
    text = "" if silent else cut_text(row.get("says", ""), most=_LABEL_MAX)
    return row.get("name") or text or kind_of(item)


def effect_of(entry: log.Entry) -> str:
    """Return the effect of an entry in a word or two."""
    match entry:
        case log.ProposalDecided(decision=decision):
            refused = decision.status is ProposalStatus.REJECTED and is_by_rules(decision)
            return "refused" if refused else decision.status.value
        case log.AudienceChanged(audience=audience):
            return "hidden" if audience else "revealed"
        case _:
            return str(BRIEF["effects"].get(type(entry).__name__, "changed"))


TOOLS: Final = (
    canon_tool("why", _explain_why, EVERYBODY),
    canon_tool("timeline", _show_timeline, EVERYBODY),
    canon_tool("changes", _show_changes, EVERYBODY),
    canon_tool("context", show_context, EVERYBODY),
)

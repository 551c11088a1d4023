"""The tools `find` and `get_item`, with valid time and transaction time."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from heapq import merge
from itertools import chain, product
from operator import itemgetter
from typing import Any, Final, NamedTuple

from canonry.assistant import first_sentences, spaces
from canonry.assistant.call_context import EVERYBODY, CallContext, RowPage, read_page
from canonry.assistant.claims import description_of, find_records, matching_fields, raw_fields
from canonry.assistant.disputes import disputes_of, marks_of
from canonry.assistant.reviewing import WAITING
from canonry.assistant.rows import (
    Row,
    cut_text,
    fields_of,
    fit_rows,
    former_names,
    name_once,
    newer_than,
    properties_of,
    row_of,
    rows_of,
    without_empty,
)
from canonry.assistant.spaces import MORE, SPACES_MAX, contexts_of, find_item_in, with_space_name
from canonry.assistant.tools import canon_tool
from canonry.assistant.wording import ASKING, NOTES, PLACING, SEARCHED
from canonry.canon.canonization.proposals import list_proposals
from canonry.canon.queries import listings
from canonry.canon.queries.names import WORDY
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.snippets import SAID_TITLE
from canonry.canon.session.viewpoint import tags_then
from canonry.gateway.tool import (
    Arguments,
    Completion,
    CompletionPage,
    FindCompletions,
    Reply,
    Resource,
)
from canonry.language.reading.tokens import verb_of
from canonry.language.texts.stems import query_stems, stems_of, terms_of
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact, Relation, events_of_changes
from canonry.log.items.proposals import Proposal, ReviewKind
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import Source
from canonry.log.schemas.narrative import DESCRIPTION, NAME, narrative_type
from canonry.log.schemas.truth_types import type_named
from canonry.narrative.usecases.scenes import get_turns, query_scenes
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery
from canonry.recall.domain.questions import read_times
from canonry.recall.usecases.find_items import FoundItems, FoundKind, ItemSearch, find_items
from canonry.recall.usecases.find_passages import MEANING_MISSING, WORDS_MISSING
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.records.usecases.records import list_entities
from canonry.records.usecases.snapshots import read_snapshot
from canonry.values.calendars.reckoning import GREGORIAN
from canonry.values.json_values import encode_json
from canonry.values.provenance import CanonLevel
from canonry.values.state_tags import is_gone
from canonry.values.statements import Phase

_FEW: Final = 3  # the most rows about the subjects of a search that nothing answers
_SHARED: Final = 2  # beside a row with all of more words, a row with one of them is no answer
_STATEMENTS: Final = frozenset({FoundKind.FACT, FoundKind.EVENT, FoundKind.RELATION})
_NOT_READ: Final = frozenset({"id", "kind", "disputed", "space", "for"})
_READ_WHOLE: Final = ("text", "description", "summary")
"""The members of a row that do not answer a search, and those of an item that do."""
_OTHER_WORDS: Final = "Try other words or kinds, or record it with tell."


async def search_items(
    contexts: Sequence[CallContext],
    arguments: Arguments,
    kinds: frozenset[FoundKind],
    entity: Entity | None,
) -> Reply:
    """Search all spaces by words and meaning, and return the best hits first."""
    page, text, many = read_page(arguments), arguments["text"], len(contexts) > 1
    results: list[FoundItems] = []
    for context in contexts:
        search = ItemSearch(
            space=context.space.id,
            text=text,
            kinds=kinds or frozenset(FoundKind),
            about=frozenset() if entity is None else family_of(entity),
            entity_type=_type_in(context, arguments),
            limit=page.offset + page.limit + 1,
        )
        result = await find_items(context.canon, search)
        if context.is_account and FoundKind.ENTITY in search.kinds and context.canon.now is None:
            result = replace(result, found=await _with_records(context, search, result.found))
        results.append(result)
    ordered = ([(-strength, n, e) for e, strength in r.found] for n, r in enumerate(results))
    hits = [*merge(*ordered, key=itemgetter(0, 1))]
    found = _without_repeated_events([(contexts[n], each) for _, n, each in hits])
    shown = found[page.offset : page.offset + page.limit]
    rows = await found_rows(contexts, shown, page, text)
    by_words = any(MEANING_MISSING in each.degraded for each in results)
    least = 1.0 if by_words else max((-each[0] for each in hits), default=0.0) / 2
    strong = {item.id for weak, _, item in hits if -weak >= least}
    answer = _answers_in(text, rows, [item for _, item in shown], strong)
    if answer.subjects and not kinds and [row["kind"] for row in answer.rows] == ["entity"]:
        more = [(on, e) for on, one in shown[:1] for e in await _statements_on(on, one)]
        rows = [*rows[:1], *await found_rows(contexts, more, page, text)]
        answer = answer._replace(rows=rows)
    reply: Row = {"found": fit_rows(answer.rows, page, 0)["found"]}
    cut = len(reply["found"]) < len(answer.rows)
    end = page.offset + (rows.index(reply["found"][-1]) + 1 if cut else len(rows))
    if end < len(found) and not answer.subjects:
        reply["next"] = str(end)
    if searched := searched_in(results):
        reply["searched"] = searched
    if any(each.truncated for each in results):
        reply["more"] = "The search stopped before the end. Narrow it with `kinds` or `about`."
    elif many and len(contexts) == SPACES_MAX:
        reply["more"] = MORE
    reply |= await _claim_states(contexts[0], text, answer, results)
    if later := await _later_beginnings(contexts[0], text, [item for _, item in found]):
        reply["later"] = later
        reply["note"] += first_sentences.later_sentence(reply)
    return reply


class _Answer(NamedTuple):
    """The rows that answer a search, or some about its `subjects`, and words that they lack.

    One with all words of the search, or with unseen ones, makes it `whole`.
    """

    rows: Sequence[Row]
    lacking: Sequence[str] = ()
    subjects: Sequence[str] = ()
    whole: bool = False


def _answers_in(
    text: str, rows: Sequence[Row], items: Sequence[StoredItem], strong: Collection[str]
) -> _Answer:
    """Leave out the rows that share only a name or a number with a search that others answer.

    `strong` rows answer by their meaning, without its words, and others by two of its names.
    """
    sought = {*query_stems(text)}
    words = {_base_form(w): w for w in terms_of(text) if not sought.isdisjoint(stems_of(w))}

    def words_in(some: Iterable[Any]) -> set[str]:
        return {_base_form(e) for e in terms_of(" ".join(map(str, some)))} & words.keys()

    subjects: defaultdict[str, set[str]] = defaultdict(set)
    has: dict[str, set[str]] = {}
    both: dict[str, Collection[str]] = {}
    texts = {each.id for each in items if isinstance(each, Entity) and _is_bare_text(each)}
    for row, item in zip(rows, items, strict=True):
        parts = [each for name, each in row.items() if name not in _NOT_READ]
        has[row["id"]] = words_in((*parts, *(getattr(item, name, "") for name in _READ_WHOLE)))
        own = isinstance(item, Entity) and item.id not in texts
        names = row.get("about", [row["name"]] if own else [])
        if isinstance(item, Relation):  # the words beside its type are names
            names = str(row["says"]).split(f" {item.rel_type.replace('_', ' ').lower()} ")
        both[row["id"]] = names
        for name in names:
            subjects[name] |= words_in((name, row.get("type", "")))
    named = {name: its for name, its in subjects.items() if its}
    known = set[str]().union(*named.values())
    asked = [each for each in words if each not in known and words[each] not in ASKING]
    if listed := text.rstrip()[-1:] != "?" and len(sought) >= len({*terms_of(text)}):
        asked = [*words]  # of keywords, each name counts
    informative = {each for each in asked if not each.isdecimal()} or {*asked}
    most = max((len(each & informative) for each in has.values()), default=0)
    least = 2 if not listed and _SHARED < most == len(informative) else 1
    tied = {i for i, names in both.items() if len(named) > 1 and named.keys() <= {*names}}
    best = {i for i in tied if not informative} | {*strong}
    good = [e for e in rows if len(has[e["id"]] & informative) >= least or e["id"] in best]
    if not informative and "where" in terms_of(text):
        good = [e for e in rows if PLACING & {*terms_of(str(e.get("says")))}]
    good = good or [e for e in rows if e["id"] in tied]
    good = [row for row in good if "refused" not in row] or good
    said = [each for row in good if row["kind"] in _STATEMENTS for each in stems_of(row["says"])]
    quoted = {row["says"] for row in good if row["kind"] == "passage"}
    titled = {row.get("document") for row in good}
    good = [e for e in good if e["id"] not in texts or e["name"] not in titled]
    good = [e for e in good if e.get("name") not in quoted and not _repeats(e, {*said}, sought)]
    if informative and named and not good:
        some = [row for row in rows if row["id"] not in texts]
        return _Answer(some[:_FEW], [words[each] for each in asked], [*named])
    dated = bool(read_times(text, GREGORIAN, None))
    numbers = [] if dated else [each for each in asked if each.isdecimal()]
    lacking = [each for each in numbers if not any(each in has[row["id"]] for row in good)]
    whole = len(words) <= 1 or any(words.keys() <= each for each in has.values())
    whole = whole or any(row["kind"] == "document" for row in rows)  # only its title is shown
    whole = whole or (dated and any(row.keys() & {"from", "until", "when"} for row in rows))
    return _Answer(good or rows, lacking, whole=whole or text.rstrip()[-1:] != "?")


def _is_bare_text(entity: Entity) -> bool:
    """Return whether an account's record holds only a recorded text and its title."""
    is_note = entity.naming is not None and entity.shown_type in WORDY
    return is_note and properties_of(entity).keys() <= {"title", "content"}


def _repeats(row: Row, said: Collection[str], sought: Collection[str]) -> bool:
    """Return whether statements have the searched and most other words of a quoted text."""
    if row["kind"] != "passage" or not str(row.get("document")).startswith(SAID_TITLE):
        return False
    own = {*query_stems(row["says"])}
    return own & {*sought} <= {*said} and 3 * len(own - {*said}) <= len(own)


async def _statements_on(context: CallContext, entity: Any) -> list[StoredItem]:
    """Return the first events, facts and relations of an entity."""
    found = [
        await of_kind(context, kind, entity, limit=_FEW)
        for kind in (FoundKind.EVENT, FoundKind.FACT)
    ]
    shows = context.canon.viewpoint.may_show
    return [each for some, _ in found for each in some if shows(each)][:_FEW]


async def _claim_states(
    context: CallContext, text: str, answer: _Answer, results: Sequence[FoundItems]
) -> Row:
    """Return the first sentence of a search, and advice if it found nothing."""
    ended, rows = sum(each.ended for each in results), answer.rows
    left_out = f"{first_sentences.count_in_words(ended, 'item')} that ended"
    if not rows and ended:
        return {
            "note": f"Nothing that holds now answers, only {left_out}.",
            "hint": NOTES["before"],
        }
    if not rows:
        return {"note": no_results_hint(context, results), "hint": await _search_advice(context)}
    lacking = " or ".join(f'"{each}"' for each in answer.lacking)
    if answer.subjects:
        named = first_sentences.join_parts(answer.subjects)
        return {"note": f"Nothing is known here that mentions {lacking}. About {named} there is:"}
    if not answer.whole:
        return {"note": NOTES["unanswered"]}
    found = f"Found {first_sentences.count_kinds(rows)}"
    found = f"{found}, without {left_out}." if ended else f"{found}."
    asked = {*query_stems(text)}
    has = [len(asked & {*stems_of(str(row.get("says")))}) for row in rows]
    best = [row for row, count in zip(rows, has, strict=True) if count == max(has)]
    missing = f" None of them mentions {lacking}." if lacking else ""
    return {"note": found + missing + first_sentences.disputes_said(best)}


@lru_cache(maxsize=8_192)  # a search reads all words of its rows: bench compare, find
def _base_form(word: str) -> str:
    """Return the base of a verb, so that `left` is `leave`; the stem of any other word."""
    verb = verb_of(word.casefold(), "en")
    return verb[0] if verb else "".join(stems_of(word))


async def _later_beginnings(
    context: CallContext, text: str, found: Sequence[StoredItem]
) -> list[Row]:
    """Return what a search finds that was first stated for a time after that of the read."""
    if context.canon.now is None or context.is_account or context.canon.viewpoint.at is None:
        return []
    kinds = frozenset({FoundKind.FACT, FoundKind.RELATION})
    later = await find_items(
        context.canon.now, ItemSearch(space=context.space.id, text=text, kinds=kinds)
    )
    items = [*found, *(item for item, _ in later.found)]
    return await first_statements(context, [e for e in items if isinstance(e, Fact | Relation)])


async def first_statements(context: CallContext, items: Sequence[StoredItem]) -> list[Row]:
    """Return the first statements of the timelines that begin after the time of the read.

    `items` are the facts and relations of all times that the caller may see.
    """
    view = context.canon.viewpoint
    if view.at is None or view.at.at is None or view.is_past or context.canon.now is None:
        return []
    begins = [(getattr(one, "time_ref", getattr(one, "since", None)), one) for one in items]
    known, first = set[str](), list[StoredItem]()
    for begin, one in sorted(begins, key=lambda each: (each[0] is not None, each[0] or 0)):
        names = _timelines_of(one)
        if begin is not None and begin > view.at.at and known.isdisjoint(names):
            first.append(one)
        known |= names
    rows = await rows_of(replace(context, canon=context.canon.now), first[:_LATER])
    return [
        {name: row[name] for name in ("id", "says", "from", "for") if name in row} for row in rows
    ]


def _timelines_of(item: StoredItem) -> set[str]:
    if isinstance(item, Relation):
        return {f"{item.from_id} {item.rel_type}"}
    statements = item.statements if isinstance(item, Fact) else ()
    return {f"{one.subject} {one.attribute}" for one in statements if not one.implied} or {item.id}


def no_results_hint(context: CallContext, results: Sequence[FoundItems]) -> str:
    """Return the hint of an empty result; it mentions an unfinished vector index."""
    behind = max((each.behind for each in results), default=0)
    if behind:
        built = f"the index of meaning still lacks {behind} commits"
        return f"Nothing has these words, and {built}. Ask again later."
    lacks = any(MEANING_MISSING in each.degraded for each in results)
    if lacks and context.canon.find_service(RecallServices).recall is not None:
        return "Nothing has these words. Search by meaning does not answer yet. Ask again later."
    return first_sentences.NOTHING


def _without_repeated_events(found: Sequence[tuple[CallContext, StoredItem]]) -> list[Any]:
    """Leave out events that a fact among them tells too, as what they changed."""
    told = {*events_of_changes(item for _, item in found).values()}
    return [one for one in found if one[1].id not in told]


async def found_rows(
    contexts: Sequence[CallContext],
    found: Sequence[tuple[CallContext, StoredItem]],
    page: RowPage,
    text: str = "",
) -> list[Row]:
    """Return the found items as rows in their order; name the space if there are several."""
    rows: dict[str, Row] = {}
    for context in contexts:
        items = [item for at, item in found if at is context]
        matches: Mapping[str, Mapping[str, str]] = {}
        if context.is_account and text:
            matches = await matching_fields(
                context, text, [e for e in items if isinstance(e, Entity)]
            )
        against = await disputes_of(context, {each.id for each in items} if text else ())
        marks = await marks_of(context, items)
        for row in await rows_of(context, items, full=page.full):
            shown_text = f"{row.get('name')} {row.get('says')}"
            also = matches.get(row["id"], {}).items()
            matched = {n: each for n, each in also if each not in shown_text}
            more: Row = {"disputed": against.get(row["id"]), "matched": matched}
            more |= marks.get(row["id"], {})
            rows[row["id"]] = with_space_name(without_empty({**row, **more}), context, contexts)
    return [rows[item.id] for _, item in found]


async def _with_records(
    context: CallContext, search: ItemSearch, found: Sequence[tuple[StoredItem, float]]
) -> Sequence[tuple[StoredItem, float]]:
    """Append records with matching fields that the indexes omit."""
    if len(found) >= search.limit:
        return found
    known = {item.id: (item, strength) for item, strength in found}
    for each in await find_records(context, search.text, search.limit):
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


def searched_in(results: Sequence[FoundItems]) -> str:
    """Describe how several incomplete searches were done."""
    behind = max((each.behind for each in results), default=0)
    return searched_by((name for each in results for name in each.degraded), behind)


async def _search_advice(context: CallContext) -> str:
    """Return advice after a search without hits."""
    if not context.space.may_have_stories:
        return _OTHER_WORDS
    query = ProposalQuery(
        types=WAITING, asks=frozenset({ReviewKind.PENDING, ReviewKind.NEEDS_REVIEW}), limit=1
    )
    waiting = await list_proposals(
        context.canon, context.caller, query, universe_id=context.space.id
    )
    return f"Open proposals: {waiting.total}; see review." if waiting.total else _OTHER_WORDS


_PROPERTIES: Final = 12
_EACH: Final = 500  # bounds the work of a call about an entity with many statements
_AROUND: Final = 20
"""The least number of facts and relations each that `get` shows in `full` with an entity."""
_LATER: Final = 5


async def _find_items(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    contexts = await contexts_of(canon, caller, arguments, "about")
    entity = None
    if (named := arguments.get("about")) is not None:
        context, entity, _ = await find_item_in(contexts, named, Entity, path="/about")
        contexts = [context]
    kinds = frozenset(map(FoundKind, arguments.get("kinds") or ()))
    if "type" in arguments:
        kinds = frozenset({FoundKind.ENTITY})
    about = entity if isinstance(entity, Entity) else None
    if not (arguments.get("text") or "").strip():
        return await _list_items(contexts, arguments, kinds, about)
    return await search_items(contexts, arguments, kinds, about)


async def _list_items(
    contexts: Sequence[CallContext],
    arguments: Arguments,
    kinds: frozenset[FoundKind],
    entity: Entity | None,
) -> Reply:
    """List the items that match the filters, by space and kind, each in its own order."""
    page = read_page(arguments)
    if not kinds:
        around = frozenset({FoundKind.FACT, FoundKind.EVENT, FoundKind.RELATION})
        kinds = around if entity else frozenset(FoundKind) - {FoundKind.LORE}
    items: list[tuple[CallContext, StoredItem]] = []
    total, skip = 0, page.offset
    for context, kind in product(contexts, (each for each in FoundKind if each in kinds)):
        left = page.limit - len(items)
        asked = {"limit": max(left, 1), "offset": skip}
        typed = _type_in(context, arguments)
        some, count = await of_kind(context, kind, entity, typed, **asked)
        items += [(context, each) for each in some[: max(left, 0)]]
        total, skip = total + count, max(0, skip - count)
    shown = [(context, each) for context, each in items if context.canon.viewpoint.may_show(each)]
    shown = _without_repeated_events(shown)
    reply = fit_rows(await found_rows(contexts, shown, page), page, total)
    reply.pop("next", None)  # it counts the rows shown, not the rows read
    kept = len(reply["found"])
    if kept < len(shown):
        reply["next"] = str(page.offset + items.index(shown[kept]))
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
    context: CallContext,
    kind: FoundKind,
    entity: Entity | None = None,
    typed: str | None = None,
    **asked: Any,
) -> tuple[Sequence[StoredItem], int]:
    """Return a page of the items of a kind, of one entity or of all, and their number."""
    canon, caller, space = context.canon, context.caller, context.space.id
    if context.space.opened is None:
        return (), 0
    ids = {"universe_id": space, "entity_id": None if entity is None else entity.id}
    page: Any
    match kind:
        case FoundKind.ENTITY:
            about = EntityQuery(entity_type=typed, level=CanonLevel.CANON, **asked)
            page = await listings.query_entities(canon, caller, about, universe_id=space)
        case FoundKind.FACT | FoundKind.EVENT | FoundKind.RELATION:
            query, own = ASSERTED[kind]
            page = await listings.query_asserted(canon, caller, query(**own, **asked), **ids)
        case FoundKind.DOCUMENT:
            page = await listings.query_sources(canon, caller, space, **asked)
        case FoundKind.PASSAGE if context.space.may_have_stories:
            page = await query_scenes(canon, caller, SceneQuery(**asked), universe_id=space)
        case FoundKind.LORE if context.space.may_have_stories:
            page = await listings.query_axioms(canon, caller, space, **asked)
        case _:
            return (), 0
    return page.items, page.total


def _type_in(context: CallContext, arguments: Arguments) -> str | None:
    """Return the type of entities to find: in a space of judged claims, the nearest of the six."""
    given: str | None = arguments.get("type")
    if given is None:
        return None
    return narrative_type(given).value if context.space.may_have_stories else type_named(given)


async def get_item(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Return one item with a page of its parts: turns, passages, or facts and relations."""
    contexts = await contexts_of(canon, caller, arguments, "of")
    context, item, hint = await find_item_in(contexts, arguments["of"], path="/of")
    row = with_space_name(await _item_row(context, item, arguments), context, contexts)
    return {**row, "hint": hint} if hint else row


async def _item_row(context: CallContext, item: StoredItem, arguments: Arguments) -> Row:
    canon, caller, page = context.canon, context.caller, read_page(arguments)
    if isinstance(item, Entity):
        return dict(await _entity_row(context, item, page))
    (row,) = await rows_of(context, (item,), full=True)
    row |= (await marks_of(context, (item,))).get(item.id, {})
    match item:
        case Scene():
            turns = await get_turns(canon, caller, item.id, after=page.offset - 1, limit=page.limit)
            turns_shown: Sequence[StoredItem] = turns.turns
            at_end = turns.following is None
            total = page.offset + len(turns_shown) if at_end else turns.total
            reply = await _part_rows(context, turns_shown, total, page, "turns_said")
            if "next" in reply:  # between the turns shown may be turns for other readers
                last = turns.turns[len(reply["turns_said"]) - 1]
                reply["next"] = str(last.index + 1)
            return row | reply
        case Source():
            asked = {"limit": page.limit, "offset": page.offset}
            parts = await listings.query_snippets(canon, caller, item.id, **asked)
            return row | await _part_rows(context, parts.items, parts.total, page, "passages")
        case Proposal():
            ruling = item.decision or item.review
            judged = {} if ruling is None else {"rule": ruling.rule, "because": ruling.rationale}
            proposed = {
                "content": dict(item.content),
                "evidence": [str(e) for e in item.evidence],
                **judged,
            }
            return row | proposed
        case Fact() | Event() | Relation():
            return row | without_empty(
                {"disputed": (await disputes_of(context, {item.id})).get(item.id)}
            )
        case _:
            return row


async def _part_rows(
    context: CallContext, items: Sequence[StoredItem], total: int, page: RowPage, name: str
) -> Row:
    rows = await rows_of(context, items, full=page.full)
    marks = await marks_of(context, items)
    for row in rows:
        row.update(marks.get(row["id"], {}))
        row.pop("scene", None)
        row.pop("document", None)
    return fit_rows(rows, page, total, name)


async def _entity_row(context: CallContext, entity: Entity, page: RowPage) -> Reply:
    canon, caller, view = context.canon, context.caller, context.canon.viewpoint
    raw: Row = {}
    says: str | None = None
    called = entity.name
    if context.is_account:
        at = None if view.at is None else view.at.at
        now = canon.now or canon
        read = await read_snapshot(now, caller, entity.id, at=at, known_at=view.known_at)
        entity, raw = read.entity, raw_fields(read.shown)
        fields = {n: e for n, e in read.shown.fields.items() if e is not None or n not in raw}
        says = description_of(read.shown)
    else:
        fields = fields_of(entity)
    row = row_of(entity, {}, {}, full=page.full) | {"tags": list(tags_then(entity, view))}
    if not fields:  # a record of a later time
        row["name"] = called
    row["says"] = cut_text(entity.description if says is None else says, page.full)
    also = [*entity.aliases] or former_names(entity)
    shown = {NAME: row["name"], DESCRIPTION: row["says"]}
    fields = {n: e for n, e in fields.items() if n not in shown or e != shown[n]}
    some, others = _first_fields(fields, page), _first_fields(raw, page)
    row |= {"also_called": also, "fields": some, "raw_fields": others}
    row |= {"superseded_by": (await newer_than(context, (entity,))).get(entity.id, "")}
    if left := len(fields) + len(raw) - len(some) - len(others):
        row["fields_left"] = left
    row |= await _statement_rows(context, entity, page)
    return {key: value for key, value in row.items() if value not in ("", [], {})}


def _first_fields(fields: Mapping[str, Any], page: RowPage) -> Row:
    """Return the fields; if not `full`, only the first ones, shortened."""
    if page.full:
        return dict(fields)
    return {name: _shorten_value(value) for name, value in list(fields.items())[:_PROPERTIES]}


def _shorten_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shorten_value(each) for name, each in value.items()}
    return cut_text(value, full=False) if isinstance(value, str) else value


def query_about(entity: Entity) -> Mapping[str, Any]:
    """Return the members of a query for the statements about an entity that the caller found."""
    return {"spaces": frozenset((entity.space,)), "entities": family_of(entity)}


async def statements_of(
    context: CallContext, entity: Entity, *, ended: bool = False
) -> tuple[list[Fact], Sequence[Relation]]:
    """Return an entity's facts and relations that hold, or also `ended`, as they were recorded."""
    canon, about = context.canon, query_about(entity)
    facts = await canon.state.facts(FactQuery(level=CanonLevel.CANON, limit=_EACH, **about))
    ties = await canon.state.relations(RelationQuery(current=not ended, limit=_EACH, **about))
    holding = [each for each in facts.items if ended or canon.viewpoint.may_show(each)]
    if any(map(is_gone, tags_then(entity, canon.viewpoint))):  # the end of other states is clear
        holding = [e for e in holding if {one.phase for one in e.statements} != {Phase.ENDS}]
    return sorted(holding, key=lambda each: (each.position, each.statement)), ties.items


_STATED = ("id", "says", "now_called", "for", "disputed", "from", "until", "planned", "later")
"""The members of the row of a statement beside its entity."""


async def _statement_rows(context: CallContext, entity: Entity, page: RowPage) -> Row:
    """Return the current facts and relations of an entity."""
    most = max(page.limit, _AROUND if page.full else 0)
    known_facts, tied = await statements_of(context, entity)
    rows = await rows_of(context, (*known_facts[-most:], *tied[-most:]))
    ids = {row["id"] for row in rows}
    against = await disputes_of(context, ids)
    for other in chain(*against.values()):
        if other["id"] in ids:  # it has a row of its own
            other.pop("says")
            other.pop("said_by", None)
    rows = name_once([{**e, "disputed": against.get(e["id"])} for e in rows], former_names(entity))
    brief = [without_empty({n: row[n] for n in _STATED if n in row}) for row in rows]
    shown = min(len(known_facts), most)
    row: Row = {"facts": brief[:shown], "relations": brief[shown:]}
    ties_left = len(tied) - len(brief[shown:])
    over = {"facts_left": len(known_facts) - shown, "relations_left": ties_left}
    row |= {name: count for name, count in over.items() if count}
    now = context.canon.now
    if now is not None and context.canon.viewpoint.at is not None:
        facts, ties = await statements_of(replace(context, canon=now), entity, ended=True)
        row["later"] = await first_statements(context, [*facts, *ties])
    left = len(known_facts) + len(tied) - len(rows)
    if left > 0:
        row["hint"] = f"For {left} more facts and relations, call find with `about`."
    return row


TOOLS: Final = (
    canon_tool("find", _find_items, EVERYBODY, kinds=FoundKind),
    canon_tool("get", get_item, EVERYBODY),
)


async def _read_item(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    arguments = {"of": variables["thing_id"], "full": True}
    return encode_json(await get_item(canon, caller, arguments)).decode()


async def _read_space(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    return encode_json(
        spaces.row_of(await listings.choose_space(canon, caller, variables["space_id"]))
    ).decode()


async def _complete_spaces(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    spaces = ((each.id, each.name) for each in await listings.list_spaces(canon, caller))
    return asked.page_of(spaces)


async def _complete_entities(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    page = await list_entities(canon, caller, None, asked.entity_query())
    return [(each.id, f"{each.name} ({each.shown_type})") for each in page.items], page.total


COMPLETIONS: Final[Mapping[str, FindCompletions]] = {
    "space_id": _complete_spaces,
    "thing_id": _complete_entities,
}

ITEM_RESOURCE: Final = Resource(
    uri_template="canon://thing/{thing_id}",
    name="thing",
    title="Thing",
    description="One entity, fact, event, scene, document or proposal, with all details.",
    mime_type="application/json",
    roles=EVERYBODY,
    read=_read_item,
)
RESOURCES: Final = (
    Resource(
        uri_template="canon://space/{space_id}",
        name="space",
        title="Space",
        description="One space and its contents.",
        mime_type="application/json",
        roles=EVERYBODY,
        read=_read_space,
    ),
    ITEM_RESOURCE,
)

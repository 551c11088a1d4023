"""The brief of `context`: the statements that a model needs about a subject, within a budget."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from canonry.assistant import finding
from canonry.assistant.call_context import CallContext
from canonry.assistant.disputes import disputes_of, marks_of
from canonry.assistant.first_sentences import NOTHING, count_in_words, doubt_in_words
from canonry.assistant.rows import Row, name_once, rows_of, without_empty
from canonry.assistant.spaces import contexts_of, find_item_in
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.snippets import evidence_of_retracted, retracted_passages
from canonry.canon.session.spoken_times import today_of
from canonry.gateway.tool import Arguments, Reply
from canonry.language.texts.stems import query_stems, stems_of
from canonry.log import entries as log
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact, events_of_changes
from canonry.log.items.scenes import Scene, Story, Turn
from canonry.log.items.sources import Snippet
from canonry.narrative.usecases.context import ContextRequest, SceneContext, assemble_context
from canonry.readmodels.passages import names_of
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EventQuery
from canonry.recall.domain.context import Section, fit_sections, tokens_of
from canonry.recall.usecases.find_items import FoundItems, ItemSearch, find_items, involved_entities
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.json_values import fold_text
from canonry.values.moments import DAY
from canonry.values.provenance import CanonLevel

TOKENS: Final = 800
_FOUND: Final = 30  # more statements than fit into a brief
_ENTITIES: Final = 3
"""The number of found entities whose facts a brief gives."""
_NEAR: Final = 3
"""The number of other entities that most statements name, whose facts follow."""
_TURNS: Final = 3
"""The number of last turns of a scene without a summary that a brief adds."""
_LEANER: Final = 4
_TRIES: Final = 8
"""Attempts to fit a brief. Headings count only after the lines are chosen."""
BRIEF: Final = read_toml(__package__, "brief.toml")
"""Headings, weights, the sections of kinds (others are passages), and the effects of entries."""


async def show_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Serve the tool `context`, and add the positions of the logs that it read."""
    contexts = await contexts_of(canon, caller, arguments, "of")
    heads = {e.space.name: await e.canon.ledger.head_position(e.space.id) for e in contexts}
    return {**await _write_brief(contexts, arguments), "position": heads}


async def _write_brief(contexts: Sequence[CallContext], arguments: Arguments) -> Reply:
    """Return the brief about a scene, an entity or a question."""
    budget = int(arguments.get("tokens", TOKENS))
    of, question = arguments.get("of"), arguments.get("question")
    if of is None and question is None:
        message = "Name a scene or an entity in /of, or ask a /question."
        raise InvalidInput("context.of-what", message, path="/question")
    item = None
    if of is not None:
        context, item = await _find_subject(contexts, of)
        contexts = [context]
        if isinstance(item, Scene):
            context.require_now(arguments, "at")
            return await _brief_scene(context, item, question, budget)
    entity = item if isinstance(item, Entity) else None
    whole = item is not None and entity is None
    title = str(question) if item is None else str(getattr(item, "name", of))
    sections: dict[str, list[str]] = {}
    results: list[FoundItems] = []
    for context in contexts:
        where = f" [{context.space.name}]" if len(contexts) > 1 else ""
        for name, lines in (await _brief_sections(context, entity, question, results)).items():
            sections.setdefault(name, []).extend(f"{line}{where}" for line in lines)
    reply = _make_brief(title, sections, budget)
    if (question or whole) and "left_out" not in reply:
        known = {line for lines in sections.values() for line in lines}
        latest = {"latest": [e for e in await _latest_scene(contexts[0]) if e not in known]}
        fuller = _make_brief(title, sections | without_empty(latest), budget)
        reply = fuller if not sections or "left_out" not in fuller else reply
    if not any(sections.values()):
        scene = " The brief has only the latest scene." if "\n- " in reply["brief"] else ""
        reply["note"] = f"{finding.no_results_hint(contexts[0], results)}{scene}"
    return without_empty({**reply, "searched": finding.searched_in(results)})


async def _find_subject(
    contexts: Sequence[CallContext], of: str
) -> tuple[CallContext, log.StoredItem | None]:
    """Find what a brief is about: a scene, an entity, a story, or else a whole space."""
    try:
        return (await find_item_in(contexts, of, Entity, Scene, Story, path="/of"))[:2]
    except NotFound:
        for context in contexts:
            if fold_text(of.strip()) in {fold_text(context.space.name), context.space.id}:
                return context, context.space.opened
        raise


async def _latest_scene(context: CallContext) -> list[str]:
    """Return a line on the latest scene of a story; without a summary, also its last turns."""
    view, documents = context.canon.viewpoint, context.canon.documents
    real = view.clock == today_of(context.canon)
    if not context.space.may_have_stories or view.at is not None or real:
        return []
    query = SceneQuery(spaces=frozenset((context.space.id,)), limit=1)
    count = (await documents.scenes(query)).total
    scenes = (await documents.scenes(replace(query, offset=max(0, count - 1)))).items
    bare = [one for one in scenes if not one.summary]
    turns = [e for one in bare for e in await documents.turns(one.id, last=_TURNS)]
    by = await evidence_of_retracted(context.canon, query.spaces, frozenset()) if turns else {}
    gone = await retracted_passages(context.canon, by, [one.id for one in turns])
    turns = [one for one in turns if one.id not in gone]
    return [_row_line(row) for row in await rows_of(context, (*scenes, *turns))]


async def _brief_sections(
    context: CallContext, entity: Entity | None, question: str | None, results: list[FoundItems]
) -> dict[str, list[str]]:
    """Return lines on the hits for the question, and on the entity or the entities found.

    Without both, and for a question about anything, return lines on the statements of the space.
    """
    found: list[log.StoredItem] = []
    if question is not None:
        search = ItemSearch(space=context.space.id, text=question, limit=_FOUND)
        results.append(await find_items(context.canon, search))
        found = [item for item, _ in results[-1].found]
    entities = [e for e in found if isinstance(e, Entity)][:_ENTITIES]
    own: list[log.StoredItem] = []
    shows, asked = context.canon.viewpoint.may_show, {*query_stems(question or "")}
    if entity is not None:
        asked -= {each for name in names_of(entity) for each in stems_of(name)}
        own = await _statements_about_item(context, entity, ended=question is not None)
        own = [e for e in own if shows(e) or asked & {*stems_of(_words_of(e))}]
        ties = Counter(i for e in own for i in involved_entities(e) if i not in family_of(entity))
        nearest = [i for i, _ in ties.most_common(_NEAR)]
        near = await context.canon.caller_scope(context.caller).root_entities(nearest)
        entities = [entity, *(e for e in near.values() if e.id != entity.id)]
    others = [one for one in entities if one is not entity]
    around = [e for one in others for e in await _statements_about_item(context, one)]
    if entity is not None and asked:
        around = [e for e in around if isinstance(e, Event) or asked & {*stems_of(_words_of(e))}]
    about_anything = entity is not None and results and not any(map(involved_entities, found))
    if about_anything or (entity is None and question is None):
        every = [
            e
            for kind in finding.ASSERTED
            for e in (await finding.of_kind(context, kind, limit=_FOUND))[0]
        ]
        around += filter(shows, every)
    own += [e for e in (*found, *around) if not _is_denial(e)]
    unique = {e.id: e for e in (*entities, *own)}.values()
    items = sorted(unique, key=lambda e: not isinstance(e, Entity | Fact))  # as sections follow
    rows = name_once(await rows_of(context, items))
    raw = {each.id: each.text.strip() for each in items if isinstance(each, Turn | Snippet)}
    named = {each for e in entities if asked for name in names_of(e) for each in stems_of(name)}
    says = {row["id"]: {*stems_of(str(row.get("says")))} for row in rows if asked}
    new = (asked - named).difference(*(its for i, its in says.items() if i not in raw))
    quoted = {*raw.values()}  # each may be the name of a record
    marks = await marks_of(context, items)
    against = await disputes_of(context, {row["id"] for row in rows})
    sections: dict[str, list[str]] = {}
    bare = {"document"} if entity is None else {"document", "entity"}  # a name tells nothing
    for row in rows:
        silent = row["kind"] in bare and row["id"] != getattr(entity, "id", "")
        fits = not silent or row.keys() & {"says", "tags"} or len(rows) == 1
        if row["id"] in raw:
            fits = new and new & says[row["id"]] and (entity is None or named & says[row["id"]])
        if fits and row.get("name") not in quoted:
            name = BRIEF["sections"].get(row["kind"], "passages")
            more = marks.get(row["id"], {}) | {"disputed": against.get(row["id"], ())}
            sections.setdefault(name, []).append(_row_line({**row, **more}))
    return sections


def _words_of(item: Any) -> str:
    """Return the words of a statement or event, of a relation those of its type."""
    return str(getattr(item, "statement", getattr(item, "title", getattr(item, "rel_type", ""))))


def _is_denial(item: log.StoredItem) -> bool:
    """Return whether a fact says only what does not hold."""
    said = item.statements if isinstance(item, Fact) else ()
    return bool(said) and all(one.holds_then is False for one in said)


async def _statements_about_item(
    context: CallContext, entity: Entity, *, ended: bool = False
) -> list[log.StoredItem]:
    """Return the statements and events of an entity; then those that `ended` at a known time."""
    facts, ties = await finding.statements_of(context, entity, ended=ended)
    query = EventQuery(level=CanonLevel.CANON, limit=_FOUND, **finding.query_about(entity))
    events = await context.canon.state.events(query)
    told = events_of_changes((*facts, *events.items))
    own = (each for each in reversed(facts) if each.id not in told)
    every: list[log.StoredItem] = [*own, *ties, *events.items]
    shows = context.canon.viewpoint.may_show
    return sorted((e for e in every if shows(e) or _ended(e)), key=lambda e: not shows(e))


def _ended(item: Any) -> bool:
    """Return whether a canon statement ended at a known time, on a later day than it began."""
    begin = getattr(item, "time_ref", getattr(item, "since", None))
    end = getattr(item, "ends_at", getattr(item, "until", None))
    dated = end is not None and (begin is None or end - begin >= DAY)
    return dated and item.level is CanonLevel.CANON


def _row_line(row: Row) -> str:
    """Return a row as a line of prose with its id to cite."""
    name, statement = row.get("name", ""), row.get("says", "")
    head = f"{name} ({row['type']})" if row["kind"] == "entity" else name
    tags = f" [{', '.join(row['tags'])}]" if row.get("tags") else ""
    text = f"{head}{tags}{': ' if head and statement else ''}{statement}"
    planned = "planned " if row.get("planned") else ""
    times = (f"{name} {row[name]}" for name in ("from", "until") if row.get(name))
    since = f" ({planned}{' '.join(times)})" if row.keys() & {"from", "until"} else ""
    when = f" ({row['when']})" if row.get("when") else ""
    where = next((f" — {row[name]}" for name in ("by", "scene", "document") if row.get(name)), "")
    few = f" (only for {', '.join(row['for'])})" if row.get("for") else ""
    now = "".join(f" ({one} is now {name})" for one, name in row.get("now_called", {}).items())
    doubts = "".join(f' ({doubt_in_words(one)} "{one["says"]}")' for one in row.get("disputed", ()))
    wrong = "".join(f' (not canon: "{one}")' for one in row.get("not_canon", ()))
    reported = (
        f"{text}{' (refused)' if row.get('refused') else ''}{wrong}{doubts}{now}{since}{when}"
    )
    return _with_id(f"{reported}{where}{few}", row["id"])


def _with_id(text: str, item_id: str) -> str:
    """Return a text in one line that ends with the id to cite."""
    return f"{text} {{{item_id}}}".replace("\n", " ")


def _make_brief(title: str, sections: dict[str, list[str]], budget: int, more: str = "") -> Row:
    """Return a brief with the lines that fit into the budget, under headings."""
    room = budget - tokens_of(title) - 4 * len(sections) - tokens_of(more)
    asked = [
        Section(
            name=name,
            weight=BRIEF["weights"].get(name, 1),
            items=lines,
            cost=lambda line: tokens_of(f"- {line}\n"),
        )
        for name, lines in sections.items()
    ]
    for _try in range(_TRIES):
        fitted = fit_sections(asked, max(room, 0))
        parts = [f"# {title}", *([more] if more else [])]
        for name, heading in BRIEF["headings"].items():
            if lines := fitted.kept.get(name, ()):
                parts.append("\n".join((f"## {heading}", *(f"- {line}" for line in lines))))
        text = "\n\n".join(parts)
        spent = tokens_of(text)
        if spent <= budget or room <= 0:
            break
        room -= spent - budget
    left = {name: count for name, count in fitted.omitted.items() if count}
    reply: Row = {"brief": text, "tokens": spent}
    if left:
        reply |= {"left_out": left, "hint": "For more, raise `tokens`. You can cite the {ids}."}
    elif not any(sections.values()):
        reply["note"] = NOTHING
    return reply


async def _brief_scene(
    context: CallContext, scene: Scene, question: str | None, budget: int
) -> Reply:
    # Lines are shorter than the rows that this request counts; `_brief` drops the surplus.
    request = ContextRequest(scene_id=scene.id, query=question, tokens=budget * _LEANER)
    scene_context = await assemble_context(context.canon, context.caller, request)
    sections = await _scene_sections(context, scene_context)
    location = scene_context.cast.location
    (row,) = await rows_of(context, (scene,))
    where = "".join(
        f"{part}. " for part in (row.get("when"), location and f"At {location.name}") if part
    )
    more = " ".join(e for e in (scene_context.scene.gm_notes, scene_context.scene.summary) if e)
    count = scene_context.narrative.total_turns
    status = scene_context.scene.status.value.capitalize()
    setting = f"{where}{status}, {count_in_words(count, 'turn')}. {more}".strip()
    reply = _make_brief(scene.title, sections, budget, setting)
    return without_empty(
        {**reply, "searched": finding.searched_by(scene_context.degraded) if question else ""}
    )


async def _scene_sections(
    context: CallContext, scene_context: SceneContext
) -> dict[str, list[str]]:
    canonical, narrative = scene_context.canonical, scene_context.narrative

    async def row_lines(items: Iterable[log.StoredItem]) -> list[str]:
        listed = [*items]
        marks = await marks_of(context, listed)
        rows = await rows_of(context, listed)
        return [_row_line(row | marks.get(row["id"], {})) for row in rows]

    rules = [hit.passage.id for hit in scene_context.recalled.rules]
    passages = await context.canon.caller_scope(context.caller).items_by_id(rules)
    present = [each.entity for each in canonical.present]
    around = sorted((each.entity for each in canonical.around), key=lambda each: each.position)
    sections: dict[str, Any] = {
        "entities": await row_lines((*present, *around)),
        "facts": await row_lines(canonical.facts),
        "relations": await row_lines(canonical.relations),
        "events": await row_lines(canonical.events),
        "turns": await row_lines(narrative.turns),
        "scenes": await row_lines(narrative.scenes),
        "threads": [_with_id(each.text, each.id) for each in narrative.threads],
        "memories": [
            _with_id(each.memory.text, each.memory.id) for each in scene_context.recalled.memories
        ],
        "documents": await row_lines(passages[i] for i in rules if i in passages),
    }
    return {name: each for name, each in sections.items() if each}

"""Briefing: what a model should know of a scene, an entity or a question, within a token budget."""

from collections.abc import Iterable
from typing import Any, Final

from canonry.assistant.desk import AT, EVERYBODY, SPACE, Desk, named, takes
from canonry.assistant.finding import nothing_found, searched_by, searched_in
from canonry.assistant.rows import Row, filled, reply_schema, rows_of
from canonry.assistant.spaces import desks_of, found_in, in_their_calendars
from canonry.canon.queries.listings import query_asserted
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.get_entity_as_of import entity_at
from canonry.gateway.replies import COUNT, OBJECT, TEXT
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Scene
from canonry.narrative.usecases.context import ContextRequest, SceneContext, assemble_context
from canonry.readmodels.ports.state import FactQuery, RelationQuery
from canonry.recall.domain.context import Section, fit, tokens_of
from canonry.recall.usecases.find_things import FoundThings, ThingSearch, find_things, holds
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

TOKENS: Final = 800
TOKENS_MAX: Final = 8_000
_FOUND: Final = 30
_ENTITIES: Final = 3
"""What is said of so many of the entities found is told along with them."""
_EACH: Final = 200
_LEANER: Final = 4
_TRIES: Final = 8
"""Headings and marks are counted only once the lines are chosen."""
_HEADINGS: Final = {
    "entities": "Who and what",
    "facts": "What holds",
    "relations": "How they stand to each other",
    "events": "What happened",
    "lore": "Laws and lore",
    "passages": "What was said and written",
    "turns": "Said last",
    "scenes": "Before this scene",
    "threads": "Open",
    "memories": "Remembered",
    "documents": "Written in documents",
}
_WEIGHTS: Final = {"entities": 3, "facts": 4, "relations": 2, "events": 2, "turns": 3}


_SECTIONS: Final = {
    "entity": "entities",
    "fact": "facts",
    "event": "events",
    "law": "lore",
    "relation": "relations",
}
"""Under which heading a row stands; passages are what else there is."""


async def _context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desks = await desks_of(canon, caller, arguments, "of")
    budget = int(arguments.get("tokens", TOKENS))
    of, question = arguments.get("of"), arguments.get("question")
    if of is None and question is None:
        message = "name a scene or an entity in /of, or ask a question"
        raise InvalidInput("context.of-what", message, path="/question")
    thing = None
    if of is not None:
        desk, thing, _ = await found_in(desks, of, Entity, Scene, path="/of")
        desks = [desk]
        if isinstance(thing, Scene):
            return await _scene(desk, thing, question, budget)
    entity = thing if isinstance(thing, Entity) else None
    title = entity.name if entity is not None else str(question)
    sections: dict[str, list[str]] = {}
    results: list[FoundThings] = []
    for desk in await in_their_calendars(desks, arguments, "at"):
        where = f" [{desk.space.name}]" if len(desks) > 1 else ""
        at = await desk.time(arguments, "at")
        for name, lines in (await _sections(desk, at, entity, question, results)).items():
            sections.setdefault(name, []).extend(f"{line}{where}" for line in lines)
    reply = filled({**_brief(title, sections, budget), "searched": searched_in(results)})
    if not any(sections.values()):
        reply["hint"] = nothing_found(desks[0], results)
    return reply


async def _sections(
    desk: Desk,
    at: Instant | None,
    entity: Entity | None,
    question: str | None,
    results: list[FoundThings],
) -> dict[str, list[str]]:
    """What is found by the question, and what is said of the entity, or of those found."""
    found: list[Thing] = []
    if question is not None:
        search = ThingSearch(space=desk.space.id, text=question, at=at, limit=_FOUND)
        results.append(await find_things(desk.canon, search))
        found = [thing for thing, _ in results[-1].found]
    entities = [entity] if entity is not None else []
    entities += [e for e in found if isinstance(e, Entity) and e not in entities]
    around: list[Thing] = []
    for each in entities[:_ENTITIES]:
        around += await _said_of(desk, each, at)
    every = {e.id: e for e in (*entities, *found, *around) if holds(e, at)}
    things = list(every.values()) if at is None else await _as_of(desk, every.values(), at)
    sections: dict[str, list[str]] = {}
    for row in await rows_of(desk, things):
        sections.setdefault(_SECTIONS.get(row["kind"], "passages"), []).append(_line(row))
    return sections


async def _as_of(desk: Desk, things: Iterable[Thing], at: Instant) -> list[Thing]:
    """The things with the entities as they were at a time, without those that were not yet."""
    found: list[Thing] = []
    for each in things:
        try:
            was = await entity_at(desk.canon, each, at) if isinstance(each, Entity) else each
        except NotFound:
            continue
        found.append(was)
    return found


async def _said_of(desk: Desk, entity: Entity, at: Instant | None) -> list[Thing]:
    """What is said of an entity, now or at a time; who asks leaves out what did not hold then."""
    canon, caller = desk.canon, desk.caller
    ids = {"universe_id": entity.space, "entity_id": entity.id}
    facts = FactQuery(level=CanonLevel.CANON, start=at, end=at, limit=_EACH)
    relations = RelationQuery(current=at is None, limit=_EACH)
    found: list[Thing] = list((await query_asserted(canon, caller, facts, **ids)).items)
    return [*reversed(found), *(await query_asserted(canon, caller, relations, **ids)).items]


def _line(row: Row) -> str:
    """A row as a line of prose, with its id, by which it can be cited or asked for."""
    name, said = row.get("name", ""), row.get("says", "")
    head = f"{name} ({row['type']})" if row["kind"] == "entity" else name
    tags = f" [{', '.join(row['tags'])}]" if row.get("tags") else ""
    text = f"{head}{tags}{': ' if head and said else ''}{said}"
    since = f" (from {row['from']})" if row.get("from") else ""
    when = f" ({row['when']})" if row.get("when") else ""
    where = next((f" — {row[name]}" for name in ("by", "scene", "document") if row.get(name)), "")
    cited = "" if row["kind"] == "entity" else f" {{{row['id']}}}"
    few = f" (only for {', '.join(row['for'])})" if row.get("for") else ""
    return f"{text}{since}{when}{where}{few}{cited}".replace("\n", " ")


def _cost(line: str) -> int:
    return tokens_of(f"- {line}\n")


def _brief(title: str, sections: dict[str, list[str]], budget: int, more: str = "") -> Row:
    """The lines that fit, under their headings."""
    room = budget - tokens_of(title) - 4 * len(sections) - tokens_of(more)
    asked = [
        Section(name=name, weight=_WEIGHTS.get(name, 1), items=lines, cost=_cost)
        for name, lines in sections.items()
    ]
    text, fitted = "", fit(asked, 0)
    for _try in range(_TRIES):
        fitted = fit(asked, max(room, 0))
        parts = [f"# {title}", *([more] if more else [])]
        for name, heading in _HEADINGS.items():
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
        reply |= {"left_out": left, "hint": "more tokens tell more; {ids} can be cited"}
    elif not any(sections.values()):
        reply["hint"] = "nothing is known of it here"
    return reply


async def _scene(desk: Desk, scene: Scene, question: str | None, budget: int) -> Reply:
    # Lines take far less room than the rows that are counted there; what is too much goes here.
    request = ContextRequest(scene_id=scene.id, query=question, tokens=budget * _LEANER)
    told = await assemble_context(desk.canon, desk.caller, request)
    sections = await _scene_sections(desk, told)
    place = told.cast.location
    where = "" if place is None else f"At {place.name}. "
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


CONTEXT: Final = Tool(
    name="context",
    title="Context",
    description=(
        "A brief for a model, within a token budget: of a scene with those present, of an entity, "
        "or of a question. Lines end with ids to cite."
    ),
    input_schema=takes(
        {},
        {
            "of": named("Scene or entity."),
            "question": TEXT.but(maxLength=1_000, description="What the brief is for."),
            "tokens": COUNT.but(minimum=50, maximum=TOKENS_MAX, description="Budget; 800."),
            "at": AT,
            "space": SPACE,
        },
    ),
    output_schema=reply_schema(
        {"brief": TEXT, "tokens": COUNT}, {"left_out": OBJECT, "searched": TEXT}
    ),
    roles=EVERYBODY,
    run=_context,
    read_only=True,
)
TOOLS: Final = (CONTEXT,)

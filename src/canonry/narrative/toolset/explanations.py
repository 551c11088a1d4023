"""Explanation tools: why something is true, what happened when, and how an entity was at a time."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from canonry.canon.queries.explain import Explanation, Fall, Traced, explain
from canonry.canon.queries.timeline import Window, read_timeline
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.get_entity_as_of import get_entity_as_of
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    WORD,
    Field,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Noted, Reply
from canonry.log.commits import Position
from canonry.log.entries import THING_KINDS, EntitiesMerged, FactSuperseded, RelationEnded
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.narrative.toolset.arguments import (
    DETAIL,
    PAGING,
    instant_of,
    page_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.browsing import SOURCE_TEXT, TRANSCRIPT
from canonry.narrative.toolset.contract import reading_tool
from canonry.narrative.toolset.facts import EVENT_ROW, FACT_ROW
from canonry.narrative.toolset.shapes import ENTITY, PROPOSAL, TEXTS_BY_NAME, WORDS, name_in
from canonry.values.moments import parse_instant
from canonry.values.observations import Observation

_LINKS: Final = 20
"""So many scenes and sources are linked to beside an explanation."""

_COMMIT: Final = Shape(
    position=COUNT,
    recorded_at=INSTANT,
    agent_id=TEXT.of("actor.agent_id"),
    agent_type=TEXT.of("actor.agent_type"),
    tool=TEXT,
)
_TRACED: Final = Shape(
    ref=WORD.of("evidence"),
    kind=WORD.of("evidence.kind"),
    text=nullable(given(TEXT)),
    speaker=optional(given(WORD)),
    scene_id=optional(given(UUID)),
    entity_id=optional(given(UUID)),
    scene_title=optional(given(TEXT)),
    source_id=optional(given(UUID)),
    page=optional(nullable(given(COUNT))),
    section=optional(nullable(given(TEXT))),
    source_title=optional(given(TEXT)),
)
_OBSERVATION: Final = Shape(
    observation_id=UUID.of("id"),
    entity_id=UUID,
    fields=OBJECT,
    authority=WORD,
    confidence=NUMBER,
    evidence_refs=WORDS.of("evidence"),
    observed_at=nullable(INSTANT),
    recorded_at=INSTANT,
)
_FALL: Final = Shape(
    how=given(enum("retconned", "superseded", "merged")),
    by=optional(nullable(given(UUID))),
    until=optional(nullable(given(INSTANT))),
    reason=optional(given(TEXT)),
    **_COMMIT.within("commit"),
)


def _traced(traced: Traced) -> dict[str, Any]:
    """The reference with what its thing says, and the title of what that lies in."""
    values: dict[str, Any] = {"text": None}
    match traced.thing:
        case Turn() as turn:
            values = {"text": turn.text, "speaker": turn.speaker, "scene_id": turn.scene_id}
            values["entity_id"] = turn.entity_id
        case Scene() as scene:
            values = {"text": scene.summary, "scene_id": scene.id, "scene_title": scene.title}
        case Snippet() as snippet:
            values = {"text": snippet.text, "source_id": snippet.source_id}
            values |= {"page": snippet.page, "section": snippet.section}
        case Source() as source:
            values |= {"source_id": source.id, "source_title": source.title}
        case Axiom() as axiom:
            values = {"text": axiom.statement}
        case None:
            pass
    match traced.within:
        case Scene() as scene:
            values["scene_title"] = scene.title
        case Source() as source:
            values["source_title"] = source.title
        case None:
            pass
    return _TRACED(traced, **values)


def _fall(fall: Fall) -> dict[str, Any]:
    match fall.entry:
        case FactSuperseded() as entry:
            return _FALL(fall, how="superseded", by=entry.superseded_by, until=entry.until)
        case RelationEnded() as entry:
            ended = {"by": entry.superseded_by, "until": entry.until, "reason": entry.reason}
            return _FALL(fall, how="superseded", **ended)
        case EntitiesMerged() as entry:
            return _FALL(fall, how="merged", by=entry.kept, reason=entry.reason)
        case entry:
            return _FALL(fall, how="retconned", by=entry.replaced_by, reason=entry.reason)


def _statement(found: Explanation) -> str:
    """What the thing says, in one line."""
    match found.thing:
        case Fact() | Axiom() as thing:
            return thing.statement
        case Event() as event:
            return event.title
        case Entity() as entity:
            return entity.name
        case Relation() as relation:
            return f"{relation.from_id} {relation.rel_type} {relation.to_id}"
        case Proposal() as proposal:
            return f"a proposal of type {proposal.type}"
        case Observation() as observation:
            return ", ".join(observation.fields)


_EXPLAINED: Final = Shape(
    id=UUID.of("thing.id"),
    universe_id=optional(UUID).of("thing.space"),
    kind=TEXT.of(lambda found: THING_KINDS[type(found.thing)]),
    says=TEXT.of(_statement),
    recorded=nullable(_COMMIT).of("commit"),
    evidence=array(_TRACED.by(_traced)),
    proposal=nullable(PROPOSAL),
    observations=array(_OBSERVATION),
    fall=nullable(_FALL.by(_fall)),
    audience=optional(array(TEXT)).of(lambda found: found.audience or None),
    more_known_to=optional(array(array(TEXT))).of(lambda found: found.more_known_to or None),
)
_LEVEL: Final = Shape(canon_level=WORD.of("level"))
_STANDINGS: Final[Mapping[type, Shape]] = {
    Entity: Shape(**_LEVEL.fields, provenance=TEXTS_BY_NAME),
    Fact: Shape(
        **_LEVEL.fields,
        replaces=nullable(UUID),
        superseded_by=nullable(UUID),
        since=nullable(INSTANT).of("time_ref"),
        until=nullable(INSTANT).of("ends_at"),
    ),
    Relation: Shape(**_LEVEL.fields, since=nullable(INSTANT), until=nullable(INSTANT)),
    Event: _LEVEL,
    Axiom: _LEVEL,
}
"""How a thing of canon stands; proposals and observations do not."""
_STANDING: Final = {
    name: field for each in _STANDINGS.values() for name, field in each.fields.items()
}
_EXPLANATION: Final = obj(
    _EXPLAINED.fields,
    {
        name: _STANDING[name]
        for name in ("canon_level", "replaces", "since", "until", "superseded_by", "provenance")
    },
)
_ROWS: Final = {Event: EVENT_ROW, Fact: FACT_ROW}
_ITEM: Final = Shape(
    kind=enum("event", "fact").of(lambda each: THING_KINDS[type(each)]),
    time_ref=nullable(INSTANT),
    event=optional(given(Field(EVENT_ROW.schema))),
    fact=optional(given(Field(FACT_ROW.schema))),
)
_TIMELINE: Final = Shape(items=given(Field(array(_ITEM).schema)), total=COUNT, truncated=BOOLEAN)


@reading_tool(
    "neo4j_explain",
    "Explain why something is canon: its evidence down to the words of the turn or "
    "source, the rule that judged it, who and when, and what ended it.",
    takes=obj({"id": UUID}),
    gives=Field(_EXPLANATION),
)
async def _explain(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await explain(canon, caller, uuid_of(arguments, "id"))
    standing = _STANDINGS.get(type(found.thing))
    reply = _EXPLAINED(found) | (standing(found.thing) if standing else {})
    places = {each.place.id: each.place for each in found.evidence if each.place is not None}
    links = (
        (SOURCE_TEXT if isinstance(each, Source) else TRANSCRIPT).link(each.id, each.title)
        for each in places.values()
    )
    return Noted(reply=reply, parts=tuple(islice(links, _LINKS)))


@reading_tool(
    "neo4j_get_timeline",
    "List events and dated facts of a universe in the order of the world's time.",
    takes=obj(
        {"universe_id": UUID},
        {"entity_ids": array(UUID), "start": INSTANT, "end": INSTANT, **PAGING, **DETAIL},
    ),
    gives=_TIMELINE,
)
async def _get_timeline(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    window = Window(
        entity_ids=uuids_of(arguments, "entity_ids"),
        start=instant_of(arguments, "start"),
        end=instant_of(arguments, "end"),
        **page_of(arguments),
    )
    universe_id = uuid_of(arguments, "universe_id")
    found = await read_timeline(canon, caller, universe_id, window)
    detail = bool(arguments.get("detail"))
    rows = [_ROWS[type(each)](each, detail=detail) for each in found.items]
    await name_in(canon, caller, rows)
    items = [
        _ITEM(each, **{THING_KINDS[type(each)]: row})
        for each, row in zip(found.items, rows, strict=True)
    ]
    return _TIMELINE(found, items=items)


@reading_tool(
    "neo4j_get_entity_at",
    "Get an entity as the world had it at a time (at), or as canon knew it "
    "(as_known_at: an instant, or a position of the log).",
    title="Get entity at a time",
    takes=obj(
        {"entity_id": UUID},
        {
            "at": INSTANT,
            "as_known_at": Field({"anyOf": [INSTANT.schema, COUNT.but(maximum=2**53).schema]}),
        },
    ),
    gives=ENTITY,
)
async def _get_entity_at(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    known = arguments.get("as_known_at")
    entity = await get_entity_as_of(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        at=instant_of(arguments, "at"),
        known_at=parse_instant(known, path="/as_known_at") if isinstance(known, str) else None,
        known_position=Position(known) if isinstance(known, int) else None,
    )
    return ENTITY(entity)


TOOLS: Final = (_explain, _get_timeline, _get_entity_at)

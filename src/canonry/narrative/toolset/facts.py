"""Tools for facts, events and relations, and tools that explain canon."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from canonry.canon.commands.facts import create_event, create_fact, link_causes
from canonry.canon.commands.relations import NewRelation, create_relation, end_relation
from canonry.canon.commands.retcons import retcon_fact
from canonry.canon.judging.contents import EventContent, FactContent
from canonry.canon.queries.explain import Explanation, Fall, Traced, Window, explain, read_timeline
from canonry.canon.queries.listings import query_asserted
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.canon.session.lookup import require
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    NUMBER,
    OBJECT,
    SHARE,
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
from canonry.log.entries import (
    THING_KINDS,
    EntitiesMerged,
    FactRetconned,
    FactSuperseded,
    RelationEnded,
)
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, EventDraft, Fact, FactDraft, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.narrative import relation_type
from canonry.narrative.toolset import shapes
from canonry.narrative.toolset.contract import contract_tool, reading_tool, writing_tool
from canonry.narrative.toolset.search import SOURCE_TEXT, TRANSCRIPT
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.values.audience import audience_in
from canonry.values.errors import InvalidInput
from canonry.values.fields import Reference
from canonry.values.ids import SceneId
from canonry.values.moments import parse_instant
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, CanonLevel

_DURATION_MAX: Final = 10_000 * 366 * 86_400
"""Ten thousand years in seconds, more than the range of dates."""
_CREATED: Final = shapes.canon_created("fact_id")
FACT_ROW: Final = shapes.RowShape(
    shapes.FACT,
    *("fact_id", "statement", "time_ref", "until", "involved_entity_ids", "canon_level"),
    *("authority", "time_words", "superseded_by"),
)
_FACTS: Final = shapes.Listing("facts", FACT_ROW)
_RETCONNED: Final = Shape(
    fact_id=given(UUID),
    canon_level=WORD.of(lambda _: CanonLevel.RETCONNED),
    replacement_fact_id=given(nullable(UUID)),
    retconned_at=INSTANT.of("recorded_at"),
)


def _ids(receipt: Receipt[Any]) -> Iterator[str]:
    return (str(fact.id) for fact in receipt.made(FactDraft))


def _involved(arguments: Arguments) -> tuple[Reference, ...]:
    return tuple(map(Reference, shapes.uuids_of(arguments, "involved_entity_ids", minimum=1)))


def _duration(arguments: Arguments) -> int | None:
    value = arguments.get("duration")
    if value is None:
        return None
    if not 0 <= value <= _DURATION_MAX:
        message = f"/duration is {value}. It must be between 0 and {_DURATION_MAX} seconds."
        raise InvalidInput("duration.out-of-range", message, path="/duration")
    return int(value)


@contract_tool(
    "neo4j_create_fact",
    "Create a canonical fact about entities, with evidence. "
    "It holds from time_ref for duration seconds, or always.",
    gives=_CREATED,
    also={"audience": shapes.AUDIENCE},
)
async def _create_fact(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = FactContent(
        statement=shapes.text_of(arguments, "statement", canon.policy.limits.statement),
        involved=_involved(arguments),
        time_ref=shapes.instant_of(arguments, "time_ref"),
        duration=_duration(arguments),
    )
    receipt = await create_fact(canon, caller, shapes.backing_of(arguments), new)
    return shapes.created(_CREATED, receipt, FactDraft)


@contract_tool(
    "neo4j_query_facts",
    "Find facts whose interval overlaps a time range, by entity, level or authority; "
    "timeless facts match every range.",
    gives=_FACTS.gives,
    read_only=True,
    also=shapes.DETAIL,
)
async def _query_facts(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    range_ = arguments.get("time_range") or {}
    start, end = (
        parse_instant(range_[name], path=f"/time_range/{name}") if name in range_ else None
        for name in ("start", "end")
    )
    query = FactQuery(
        start=start,
        end=end,
        level=shapes.optional_of(arguments, "canon_level", CanonLevel),
        authority=shapes.optional_of(arguments, "authority", Authority),
        **shapes.page_of(arguments),
    )
    within = ("universe_id", "entity_id")
    return await _FACTS.query(canon, caller, arguments, query_asserted, query, *within)


@writing_tool(
    "neo4j_retcon_fact",
    "Retract a fact that was never true and, if you like, say what is true instead. Both stay "
    "in the log.",
    takes=obj(
        {"fact_id": UUID, "reason": TEXT},
        {
            "replacement_statement": TEXT,
            "authority": shapes.AUTHORITY.but(default="system"),
            "evidence_refs": array(TEXT),
        },
    ),
    gives=_RETCONNED,
)
async def _retcon_fact(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits, fact_id = canon.policy.limits, shapes.uuid_of(arguments, "fact_id")
    receipt = await retcon_fact(
        canon,
        caller,
        fact_id,
        reason=shapes.text_of(arguments, "reason", limits.description),
        replacement=shapes.optional_text(arguments, "replacement_statement", limits.statement),
        authority=Authority(arguments["authority"]),
        evidence=shapes.evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    instead = next(
        entry.replaced_by
        for entry in receipt.entries
        if isinstance(entry, FactRetconned) and entry.fact_id == fact_id
    )
    return _RETCONNED(receipt, fact_id=fact_id, replacement_fact_id=instead)


_SEVERITY_DEFAULT: Final = 5
_EVENTS_CREATED: Final = shapes.canon_created("event_id")
EVENT_ROW: Final = shapes.RowShape(
    shapes.EVENT,
    *("event_id", "title", "description", "time_ref", "severity", "scene_id"),
    *("involved_entity_ids", "causes_event_ids", "canon_level"),
    "time_words",
    description=TEXT.by(shapes.gist),
)
_EVENTS: Final = shapes.Listing("events", EVENT_ROW)
_LINK: Final = Shape(cause_event_id=given(UUID), effect_event_id=given(UUID))


@contract_tool(
    "neo4j_create_event",
    "Create a canonical event with its participants and effects.",
    gives=_EVENTS_CREATED,
    also={"audience": shapes.AUDIENCE},
)
async def _create_event(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    scene_id = shapes.optional_id(arguments, "scene_id", SceneId)
    backing = replace(shapes.backing_of(arguments), scene_id=scene_id)
    causes = shapes.checked_list(arguments.get("causes_event_ids") or (), "causes_event_ids")
    new = EventContent(
        title=shapes.text_of(arguments, "title", limits.name),
        description=shapes.text_of(arguments, "description", limits.description),
        time_ref=shapes.instant_of(arguments, "time_ref"),
        severity=int(arguments.get("severity", _SEVERITY_DEFAULT)),
        involved=_involved(arguments),
        causes=tuple(Reference(str(each).lower()) for each in causes),
    )
    receipt = await create_event(canon, caller, backing, new)
    return shapes.created(_EVENTS_CREATED, receipt, EventDraft)


@reading_tool(
    "neo4j_query_events",
    "List events by entity, scene or canon level, in story order.",
    takes=shapes.filters(
        universe_id=UUID,
        entity_id=UUID,
        scene_id=UUID,
        canon_level=enum("proposed", "canon", "retconned"),
    ),
    gives=_EVENTS.gives,
)
async def _query_events(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = EventQuery(
        scene_id=shapes.optional_uuid(arguments, "scene_id"),
        level=shapes.optional_of(arguments, "canon_level", CanonLevel),
        **shapes.page_of(arguments),
    )
    within = ("universe_id", "entity_id")
    return await _EVENTS.query(canon, caller, arguments, query_asserted, query, *within)


@writing_tool(
    "neo4j_create_causal_link",
    "Record that one event caused another. Links that would form a cycle are refused.",
    takes=_LINK.schema,
    gives=_LINK,
)
async def _create_causal_link(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    cause, effect = (
        shapes.uuid_of(arguments, "cause_event_id"),
        shapes.uuid_of(arguments, "effect_event_id"),
    )
    await link_causes(canon, caller, cause_id=cause, effect_id=effect)
    return _LINK(cause_event_id=cause, effect_event_id=effect)


_RELATIONS_CREATED: Final = Shape(
    relationship_id=UUID.of("relation_id"),
    rel_type=given(TEXT),
    created_at=INSTANT.of("recorded_at"),
    superseded=shapes.UUIDS,
    existing=BOOLEAN,
    warnings=array(TEXT),
)
_RELATIONS: Final = shapes.Listing(
    "relationships",
    shapes.RowShape(
        shapes.RELATION,
        *("relationship_id", "rel_type", "from_entity_id", "to_entity_id", "properties"),
        *("since", "until", "current", "canon_level"),
    ),
)


@writing_tool(
    "neo4j_create_relationship",
    "Relate two entities by LOCATED_IN, OWNS, MEMBER_OF, ALLY_OF, ENEMY_OF, KNOWS or another "
    "type. A new location or owner supersedes the earlier one.",
    takes=obj(
        {"from_entity_id": UUID, "to_entity_id": UUID, "rel_type": TEXT},
        {
            "properties": OBJECT.but(default={}),
            "since": INSTANT,
            "authority": shapes.AUTHORITY.but(default="system"),
            "confidence": SHARE.but(default=1.0),
            "evidence_refs": array(TEXT),
            "audience": array(TEXT),
        },
    ),
    gives=_RELATIONS_CREATED,
)
async def _create_relationship(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewRelation(
        kind=relation_type(arguments["rel_type"]),
        from_id=shapes.uuid_of(arguments, "from_entity_id"),
        to_id=shapes.uuid_of(arguments, "to_entity_id"),
        properties=arguments["properties"],
        since=shapes.instant_of(arguments, "since"),
        authority=Authority(arguments["authority"]),
        confidence=float(arguments["confidence"]),
        evidence=shapes.evidence_of(arguments) if "evidence_refs" in arguments else (),
        audience=shapes.optional_of(arguments, "audience", audience_in),
    )
    made = await create_relation(canon, caller, new)
    return _RELATIONS_CREATED(made, rel_type=new.kind.name)


@reading_tool(
    "neo4j_query_relationships",
    "List relations by entity, direction and type. current_only leaves out ended relations.",
    takes=shapes.filters(
        universe_id=UUID,
        entity_id=UUID,
        rel_type=TEXT,
        direction=enum("out", "in", "any").but(default="any"),
        current_only=BOOLEAN.but(default=False),
    ),
    gives=_RELATIONS.gives,
)
async def _query_relationships(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = RelationQuery(
        rel_type=shapes.optional_of(arguments, "rel_type", lambda name: relation_type(name).name),
        direction=arguments["direction"],
        current=bool(arguments["current_only"]),
        **shapes.page_of(arguments),
    )
    within = ("universe_id", "entity_id")
    return await _RELATIONS.query(canon, caller, arguments, query_asserted, query, *within)


@writing_tool(
    "neo4j_end_relationship",
    "End a relation that was true until a given time, or until now. If it was never true, use "
    "neo4j_retcon_thing.",
    takes=obj({"relationship_id": UUID, "reason": TEXT}, {"until": INSTANT}),
    gives=shapes.RELATION,
)
async def _end_relationship(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    relation = await end_relation(
        canon,
        caller,
        shapes.uuid_of(arguments, "relationship_id"),
        until=shapes.instant_of(arguments, "until"),
        reason=shapes.text_of(arguments, "reason", canon.policy.limits.description),
    )
    return shapes.RELATION(relation)


_LINKS: Final = 20
"""The most scenes and sources that an explanation links to."""

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
    evidence_refs=shapes.WORDS.of("evidence"),
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
    """Return the reference with its item's text, and the title of the item's scene or source."""
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
    proposal=nullable(shapes.PROPOSAL),
    observations=array(_OBSERVATION),
    fall=nullable(_FALL.by(_fall)),
    audience=optional(array(TEXT)).of(lambda found: found.audience or None),
    more_known_to=optional(array(array(TEXT))).of(lambda found: found.more_known_to or None),
)
_LEVEL: Final = Shape(canon_level=WORD.of("level"))
_STANDINGS: Final[Mapping[type, Shape]] = {
    Entity: Shape(**_LEVEL.fields, provenance=shapes.TEXTS_BY_NAME),
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
"""The state of an item of canon; proposals and observations have none."""
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
    "Explain why an item is canon: the quoted evidence, the rule that judged it, the author "
    "and time, and what ended it.",
    takes=obj({"id": UUID}),
    gives=Field(_EXPLANATION),
)
async def _explain(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await explain(canon, caller, shapes.uuid_of(arguments, "id"))
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
    "List a universe's events and dated facts in order of story time.",
    takes=obj(
        {"universe_id": UUID},
        {
            "entity_ids": array(UUID),
            "start": INSTANT,
            "end": INSTANT,
            **shapes.PAGING,
            **shapes.DETAIL,
        },
    ),
    gives=_TIMELINE,
)
async def _get_timeline(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    window = Window(
        entity_ids=shapes.uuids_of(arguments, "entity_ids"),
        start=shapes.instant_of(arguments, "start"),
        end=shapes.instant_of(arguments, "end"),
        **shapes.page_of(arguments),
    )
    universe_id = shapes.uuid_of(arguments, "universe_id")
    found = await read_timeline(canon, caller, universe_id, window)
    detail = bool(arguments.get("detail"))
    rows = [_ROWS[type(each.item)](each.item, detail=detail) for each in found.items]
    await shapes.name_in(canon, caller, rows)
    items = [
        _ITEM(each.item, **{THING_KINDS[type(each.item)]: row})
        for each, row in zip(found.items, rows, strict=True)
    ]
    return _TIMELINE(found, items=items)


@reading_tool(
    "neo4j_get_entity_at",
    "Get an entity as it was at a story time or in a scene, or as canon knew it. Give at or "
    "as_known_at.",
    title="Get entity at a time",
    takes=obj(
        {"entity_id": UUID},
        {
            "at": TEXT,
            "as_known_at": Field({"anyOf": [INSTANT.schema, COUNT.but(maximum=2**53).schema]}),
        },
    ),
    gives=shapes.ENTITY,
)
async def _get_entity_at(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    if canon.now is None:
        message = "Give /at for a story time, or /as_known_at for a time of recording."
        raise InvalidInput("time.missing", message, path="/at")
    return shapes.ENTITY(
        await require(canon, caller, Entity, shapes.uuid_of(arguments, "entity_id"))
    )


TOOLS: Final = (
    _create_relationship,
    _query_relationships,
    _end_relationship,
    _create_fact,
    _query_facts,
    _retcon_fact,
    _create_event,
    _query_events,
    _create_causal_link,
)
EXPLANATIONS_TOOLS: Final = (_explain, _get_timeline, _get_entity_at)

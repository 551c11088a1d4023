"""Tools on facts, events and relations."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from canonry.canon.commands.facts import NewEvent, NewFact, create_event, create_fact, link_causes
from canonry.canon.commands.relations import NewRelation, create_relation, end_relation
from canonry.canon.commands.retcons import retcon_fact
from canonry.canon.queries.listings import (
    EventQuery,
    FactQuery,
    RelationQuery,
    query_events,
    query_facts,
    query_relations,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.gateway.shapes import (
    BOOLEAN,
    INSTANT,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
)
from canonry.gateway.tool import Arguments, Reply
from canonry.log.entries import FactRetconned
from canonry.log.items.facts import EventDraft, FactDraft
from canonry.log.schemas.narrative import relation_type
from canonry.narrative.toolset.arguments import (
    DETAIL,
    backing_of,
    checked_list,
    evidence_of,
    filters,
    instant_of,
    optional_id,
    optional_of,
    optional_text,
    optional_uuid,
    page_of,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import contract_tool, reading_tool, writing_tool
from canonry.narrative.toolset.shapes import (
    AUDIENCE,
    AUTHORITY,
    EVENT,
    FACT,
    RELATION,
    UUIDS,
    Listing,
    RowShape,
    canon_created,
    created,
    gist,
)
from canonry.values.audience import audience_in
from canonry.values.errors import InvalidInput
from canonry.values.ids import SceneId
from canonry.values.moments import parse_instant
from canonry.values.provenance import Authority, CanonLevel

_DURATION_MAX: Final = 10_000 * 366 * 86_400
"""Ten thousand years in seconds: past the end of all dates that can be written."""
_CREATED: Final = canon_created("fact_id")
FACT_ROW: Final = RowShape(
    FACT,
    *("fact_id", "statement", "time_ref", "until", "involved_entity_ids", "canon_level"),
    *("authority", "time_words", "superseded_by"),
)
_FACTS: Final = Listing("facts", FACT_ROW)
_RETCONNED: Final = Shape(
    fact_id=given(UUID),
    canon_level=WORD.of(lambda _: CanonLevel.RETCONNED),
    replacement_fact_id=given(nullable(UUID)),
    retconned_at=INSTANT.of("recorded_at"),
)


def _ids(receipt: Receipt[Any]) -> Iterator[str]:
    return (str(fact.id) for fact in receipt.made(FactDraft))


def _duration(arguments: Arguments) -> int | None:
    value = arguments.get("duration")
    if value is None:
        return None
    if not 0 <= value <= _DURATION_MAX:
        message = f"/duration is in seconds, between 0 and {_DURATION_MAX}"
        raise InvalidInput("duration.out-of-range", message, path="/duration")
    return int(value)


@contract_tool(
    "neo4j_create_fact",
    "Create a canonical fact about entities, with evidence. "
    "It holds from time_ref for duration seconds, or always.",
    gives=_CREATED,
    also={"audience": AUDIENCE},
)
async def _create_fact(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewFact(
        statement=text_of(arguments, "statement", canon.policy.limits.statement),
        involved=uuids_of(arguments, "involved_entity_ids", minimum=1),
        time_ref=instant_of(arguments, "time_ref"),
        duration=_duration(arguments),
    )
    receipt = await create_fact(canon, caller, backing_of(arguments), new)
    return created(_CREATED, receipt, FactDraft)


@contract_tool(
    "neo4j_query_facts",
    "Find facts whose interval overlaps a time range, by entity, level or authority; "
    "timeless facts match every range.",
    gives=_FACTS.gives,
    read_only=True,
    also=DETAIL,
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
        level=optional_of(arguments, "canon_level", CanonLevel),
        authority=optional_of(arguments, "authority", Authority),
        **page_of(arguments),
    )
    within = ("universe_id", "entity_id")
    return await _FACTS.query(canon, caller, arguments, query_facts, query, *within)


@writing_tool(
    "neo4j_retcon_fact",
    "Say that a fact never was true, and what is true instead; both are kept.",
    takes=obj(
        {"fact_id": UUID, "reason": TEXT},
        {
            "replacement_statement": TEXT,
            "authority": AUTHORITY.but(default="system"),
            "evidence_refs": array(TEXT),
        },
    ),
    gives=_RETCONNED,
)
async def _retcon_fact(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits, fact_id = canon.policy.limits, uuid_of(arguments, "fact_id")
    receipt = await retcon_fact(
        canon,
        caller,
        fact_id,
        reason=text_of(arguments, "reason", limits.description),
        replacement=optional_text(arguments, "replacement_statement", limits.statement),
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    instead = next(
        entry.replaced_by
        for entry in receipt.entries
        if isinstance(entry, FactRetconned) and entry.fact_id == fact_id
    )
    return _RETCONNED(receipt, fact_id=fact_id, replacement_fact_id=instead)


TOOLS: Final = (_create_fact, _query_facts, _retcon_fact)


_SEVERITY_DEFAULT: Final = 5
_EVENTS_CREATED: Final = canon_created("event_id")
EVENT_ROW: Final = RowShape(
    EVENT,
    *("event_id", "title", "description", "time_ref", "severity", "scene_id"),
    *("involved_entity_ids", "causes_event_ids", "canon_level"),
    "time_words",
    description=TEXT.by(gist),
)
_EVENTS: Final = Listing("events", EVENT_ROW)
_LINK: Final = Shape(cause_event_id=given(UUID), effect_event_id=given(UUID))


@contract_tool(
    "neo4j_create_event",
    "Create a canonical event with the entities that took part and the events that it caused.",
    gives=_EVENTS_CREATED,
    also={"audience": AUDIENCE},
)
async def _create_event(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    scene_id = optional_id(arguments, "scene_id", SceneId)
    backing = replace(backing_of(arguments), scene_id=scene_id)
    causes = checked_list(arguments.get("causes_event_ids") or (), "causes_event_ids")
    new = NewEvent(
        title=text_of(arguments, "title", limits.name),
        description=text_of(arguments, "description", limits.description),
        time_ref=instant_of(arguments, "time_ref"),
        severity=int(arguments.get("severity", _SEVERITY_DEFAULT)),
        involved=uuids_of(arguments, "involved_entity_ids", minimum=1),
        causes=tuple(str(each).lower() for each in causes),
    )
    receipt = await create_event(canon, caller, backing, new)
    return created(_EVENTS_CREATED, receipt, EventDraft)


@reading_tool(
    "neo4j_query_events",
    "Find events by entity, scene or level, in the order in which they happened.",
    takes=filters(
        universe_id=UUID,
        entity_id=UUID,
        scene_id=UUID,
        canon_level=enum("proposed", "canon", "retconned"),
    ),
    gives=_EVENTS.gives,
)
async def _query_events(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = EventQuery(
        scene_id=optional_uuid(arguments, "scene_id"),
        level=optional_of(arguments, "canon_level", CanonLevel),
        **page_of(arguments),
    )
    within = ("universe_id", "entity_id")
    return await _EVENTS.query(canon, caller, arguments, query_events, query, *within)


@writing_tool(
    "neo4j_create_causal_link",
    "Say that one event caused another; a cycle is refused.",
    takes=_LINK.schema,
    gives=_LINK,
)
async def _create_causal_link(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    cause, effect = uuid_of(arguments, "cause_event_id"), uuid_of(arguments, "effect_event_id")
    await link_causes(canon, caller, cause_id=cause, effect_id=effect)
    return _LINK(cause_event_id=cause, effect_event_id=effect)


EVENTS_TOOLS: Final = (_create_event, _query_events, _create_causal_link)


_RELATIONS_CREATED: Final = Shape(
    relationship_id=UUID.of("relation_id"),
    rel_type=given(TEXT),
    created_at=INSTANT.of("recorded_at"),
    superseded=UUIDS,
    existing=BOOLEAN,
    warnings=array(TEXT),
)
_RELATIONS: Final = Listing(
    "relationships",
    RowShape(
        RELATION,
        *("relationship_id", "rel_type", "from_entity_id", "to_entity_id", "properties"),
        *("since", "until", "current", "canon_level"),
    ),
)


@writing_tool(
    "neo4j_create_relationship",
    "Relate two entities: LOCATED_IN, OWNS, MEMBER_OF, ALLY_OF, ENEMY_OF, KNOWS or others. "
    "A place or an owner supersedes the one before.",
    takes=obj(
        {"from_entity_id": UUID, "to_entity_id": UUID, "rel_type": TEXT},
        {
            "properties": OBJECT.but(default={}),
            "since": INSTANT,
            "authority": AUTHORITY.but(default="system"),
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
        from_id=uuid_of(arguments, "from_entity_id"),
        to_id=uuid_of(arguments, "to_entity_id"),
        properties=arguments["properties"],
        since=instant_of(arguments, "since"),
        authority=Authority(arguments["authority"]),
        confidence=float(arguments["confidence"]),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
        audience=optional_of(arguments, "audience", audience_in),
    )
    made = await create_relation(canon, caller, new)
    return _RELATIONS_CREATED(made, rel_type=new.kind.name)


@reading_tool(
    "neo4j_query_relationships",
    "Find relations by entity, direction and type; current_only skips the past.",
    takes=filters(
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
        rel_type=optional_of(arguments, "rel_type", lambda name: relation_type(name).name),
        direction=arguments["direction"],
        current=bool(arguments["current_only"]),
        **page_of(arguments),
    )
    within = ("universe_id", "entity_id")
    return await _RELATIONS.query(canon, caller, arguments, query_relations, query, *within)


@writing_tool(
    "neo4j_end_relationship",
    "Say that a relation holds no longer, from an instant on or from now.",
    takes=obj({"relationship_id": UUID, "reason": TEXT}, {"until": INSTANT}),
    gives=RELATION,
)
async def _end_relationship(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    relation = await end_relation(
        canon,
        caller,
        uuid_of(arguments, "relationship_id"),
        until=instant_of(arguments, "until"),
        reason=text_of(arguments, "reason", canon.policy.limits.description),
    )
    return RELATION(relation)


RELATIONS_TOOLS: Final = (_create_relationship, _query_relationships, _end_relationship)

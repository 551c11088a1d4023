"""Explanation tools: why something is true, what happened when, and how an entity was at a time."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.log.commits import Commit, Position
from canonry.domain.log.entries import (
    THING_KINDS,
    EntitiesMerged,
    FactSuperseded,
    RelationEnded,
)
from canonry.domain.observations import Observation
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Axiom, Event, Fact
from canonry.domain.things.proposals import Proposal
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Scene, Turn
from canonry.domain.things.sources import Snippet, Source
from canonry.domain.time import parse_instant, render_instant
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.replies.present import (
    ENTITY,
    EVENT,
    FACT,
    Presented,
    present_entity,
    present_event,
    present_fact,
    shown_instant,
)
from canonry.toolsets.narrative.replies.present_documents import PROPOSAL, present_proposal
from canonry.toolsets.narrative.replies.schemas import (
    BOOLEAN,
    COUNT,
    INSTANT,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    array,
    enum,
    nullable,
    obj,
)
from canonry.toolsets.narrative.requests.arguments import (
    instant_of,
    limit_of,
    offset_of,
    uuid_of,
    uuids_of,
)
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.get_entity_as_of import get_entity_as_of
from canonry.usecases.queries.explain import Explained, Explanation, Fall, explain
from canonry.usecases.queries.read_timeline import Window, read_timeline
from canonry.usecases.queries.trace_evidence import Traced

_COMMIT: Final = {
    "position": COUNT,
    "recorded_at": INSTANT,
    "agent_id": TEXT,
    "agent_type": TEXT,
    "tool": TEXT,
}
_TRACED: Final = obj(
    {"ref": TEXT, "kind": TEXT, "text": nullable(TEXT)},
    {
        "speaker": TEXT,
        "entity_id": UUID,
        "scene_id": UUID,
        "scene_title": TEXT,
        "source_id": UUID,
        "source_title": TEXT,
        "page": nullable(COUNT),
        "section": nullable(TEXT),
    },
)
_OBSERVATION: Final = obj(
    {
        "observation_id": UUID,
        "entity_id": UUID,
        "fields": OBJECT,
        "authority": TEXT,
        "confidence": NUMBER,
        "evidence_refs": array(TEXT),
        "observed_at": nullable(INSTANT),
        "recorded_at": INSTANT,
    }
)
_FALL: Final = obj(
    {"how": enum("retconned", "superseded", "merged"), **_COMMIT},
    {"by": nullable(UUID), "until": nullable(INSTANT), "reason": TEXT},
)
_EXPLANATION: Final = obj(
    {
        "id": UUID,
        "kind": TEXT,
        "says": TEXT,
        "recorded": nullable(obj(_COMMIT)),
        "evidence": array(_TRACED),
        "proposal": nullable(PROPOSAL),
        "observations": array(_OBSERVATION),
        "fall": nullable(_FALL),
    },
    {
        "universe_id": UUID,
        "canon_level": TEXT,
        "replaces": nullable(UUID),
        "since": nullable(INSTANT),
        "until": nullable(INSTANT),
        "superseded_by": nullable(UUID),
        "provenance": {"type": "object", "additionalProperties": TEXT},
    },
)


async def _explain(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await explain(canon, caller, uuid_of(arguments, "id"))
    thing = found.thing
    shown: Presented = {
        "id": thing.id,
        "universe_id": thing.space,
        "kind": THING_KINDS[type(thing)],
        "says": _says(thing),
        "recorded": None if found.commit is None else _commit(found.commit),
        "evidence": [_traced(each) for each in found.evidence],
        "proposal": None if found.proposal is None else present_proposal(found.proposal),
        "observations": [_observation(each) for each in found.observations],
        "fall": None if found.fall is None else _fall(found.fall),
    }
    return {**shown, **_standing(found)}


def _standing(found: Explanation) -> Presented:
    thing = found.thing
    shown: Presented = {}
    if not isinstance(thing, Proposal | Observation):
        shown["canon_level"] = thing.level.value
    if isinstance(thing, Fact):
        shown |= {"replaces": thing.replaces, "superseded_by": thing.superseded_by}
        shown |= {"since": shown_instant(thing.time_ref), "until": shown_instant(thing.ends_at)}
    if isinstance(thing, Relation):
        shown |= {"since": shown_instant(thing.since), "until": shown_instant(thing.until)}
    if isinstance(thing, Entity):
        shown["provenance"] = dict(thing.provenance)
    return shown


def _says(thing: Explained) -> str:
    """What the thing says, in one line."""
    match thing:
        case Fact() | Axiom():
            return thing.statement
        case Event():
            return thing.title
        case Entity():
            return thing.name
        case Relation():
            return f"{thing.from_id} {thing.rel_type} {thing.to_id}"
        case Proposal():
            return f"a proposal of type {thing.type}"
        case Observation():
            return ", ".join(thing.fields)


def _commit(commit: Commit) -> Presented:
    return {
        "position": commit.position,
        "recorded_at": render_instant(commit.recorded_at),
        "agent_id": commit.actor.agent_id,
        "agent_type": commit.actor.agent_type,
        "tool": commit.tool,
    }


def _traced(traced: Traced) -> Presented:
    shown: Presented = {
        "ref": str(traced.evidence),
        "kind": traced.evidence.kind.value,
        "text": None,
    }
    match traced.thing:
        case Turn() as turn:
            shown |= {"text": turn.text, "speaker": turn.speaker.value, "scene_id": turn.scene_id}
            shown |= {} if turn.entity_id is None else {"entity_id": turn.entity_id}
        case Scene() as scene:
            shown |= {"text": scene.summary, "scene_id": scene.id, "scene_title": scene.title}
        case Snippet() as snippet:
            shown |= {"text": snippet.text, "source_id": snippet.source_id}
            shown |= {"page": snippet.page, "section": snippet.section}
        case Source() as source:
            shown |= {"source_id": source.id, "source_title": source.title}
        case Axiom() as axiom:
            shown |= {"text": axiom.statement}
        case None:
            pass
    match traced.within:
        case Scene() as scene:
            shown["scene_title"] = scene.title
        case Source() as source:
            shown["source_title"] = source.title
        case None:
            pass
    return shown


def _observation(seen: Observation) -> Presented:
    return {
        "observation_id": seen.id,
        "entity_id": seen.entity_id,
        "fields": dict(seen.fields),
        "authority": seen.authority.value,
        "confidence": seen.confidence,
        "evidence_refs": [str(each) for each in seen.evidence],
        "observed_at": shown_instant(seen.observed_at),
        "recorded_at": render_instant(seen.recorded_at),
    }


def _fall(fall: Fall) -> Presented:
    commit = _commit(fall.commit)
    match fall.entry:
        case FactSuperseded() as entry:
            until = shown_instant(entry.until)
            return {"how": "superseded", "by": entry.superseded_by, "until": until, **commit}
        case RelationEnded() as entry:
            ended: Mapping[str, Any] = {"how": "superseded", "by": entry.superseded_by}
            return {
                **ended,
                "until": shown_instant(entry.until),
                "reason": entry.reason,
                **commit,
            }
        case EntitiesMerged() as entry:
            return {"how": "merged", "by": entry.kept, "reason": entry.reason, **commit}
        case entry:
            by = entry.replaced_by
            return {"how": "retconned", "by": by, "reason": entry.reason, **commit}


async def _timeline(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    window = Window(
        entity_ids=uuids_of(arguments, "entity_ids"),
        start=instant_of(arguments, "start"),
        end=instant_of(arguments, "end"),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    found = await read_timeline(canon, caller, uuid_of(arguments, "universe_id"), window)
    return {
        "items": [_item(each) for each in found.items],
        "total": found.total,
        "truncated": found.truncated,
    }


def _item(item: Event | Fact) -> Presented:
    at = shown_instant(item.time_ref)
    if isinstance(item, Event):
        return {"kind": "event", "time_ref": at, "event": present_event(item)}
    return {"kind": "fact", "time_ref": at, "fact": present_fact(item)}


async def _entity_at(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    known = arguments.get("as_known_at")
    entity = await get_entity_as_of(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        at=instant_of(arguments, "at"),
        known_at=parse_instant(known, path="/as_known_at") if isinstance(known, str) else None,
        known_position=Position(known) if isinstance(known, int) else None,
    )
    return present_entity(entity)


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="neo4j_explain",
        title="Explain",
        description=(
            "Explain why something is canon: its evidence down to the words of the turn or "
            "source, the rule that judged it, who and when, and what ended it."
        ),
        input_schema=obj({"id": UUID}),
        output_schema=_EXPLANATION,
        roles=ANYONE,
        run=_explain,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
    Tool(
        name="neo4j_get_timeline",
        title="Get timeline",
        description="List events and dated facts of a universe in the order of the world's time.",
        input_schema=obj(
            {"universe_id": UUID},
            {"entity_ids": array(UUID), "start": INSTANT, "end": INSTANT, **PAGING},
        ),
        output_schema=obj(
            {
                "items": array(
                    obj(
                        {"kind": enum("event", "fact"), "time_ref": nullable(INSTANT)},
                        {"event": EVENT, "fact": FACT},
                    )
                ),
                "total": COUNT,
                "truncated": BOOLEAN,
            }
        ),
        roles=ANYONE,
        run=_timeline,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
    Tool(
        name="neo4j_get_entity_at",
        title="Get entity at a time",
        description=(
            "Get an entity as the world had it at a time (at), or as canon knew it "
            "(as_known_at: an instant, or a position of the log)."
        ),
        input_schema=obj(
            {"entity_id": UUID},
            {
                "at": INSTANT,
                "as_known_at": {
                    "anyOf": [INSTANT, {"type": "integer", "minimum": 0, "maximum": 2**53}]
                },
            },
        ),
        output_schema=ENTITY,
        roles=ANYONE,
        run=_entity_at,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)

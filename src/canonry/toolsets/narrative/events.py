"""Event tools: create, query in order of happening, link a cause to its effect."""

from dataclasses import replace
from typing import Any, Final

from canonry.domain.ids import SceneId
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.facts import EventDraft
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import EVENT, listing, present_event
from canonry.toolsets.narrative.replies.schemas import UUID, enum, obj
from canonry.toolsets.narrative.requests.arguments import (
    checked_list,
    instant_of,
    limit_of,
    offset_of,
    optional_uuid,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.toolsets.narrative.requests.backings import KEEPER, backing_of, created, created_schema
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.graph.create_event import NewEvent, create_event
from canonry.usecases.graph.link_causes import link_causes
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_events import EventQuery, query_events

_SEVERITY_DEFAULT: Final = 5


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    scene_id = optional_uuid(arguments, "scene_id")
    backing = replace(
        backing_of(arguments), scene_id=None if scene_id is None else SceneId(scene_id)
    )
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
    return created(receipt, EventDraft, "event_id")


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    level = arguments.get("canon_level")
    query = EventQuery(
        scene_id=optional_uuid(arguments, "scene_id"),
        level=None if level is None else CanonLevel(level),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    page = await query_events(
        canon,
        caller,
        query,
        universe_id=optional_uuid(arguments, "universe_id"),
        entity_id=optional_uuid(arguments, "entity_id"),
    )
    shown: list[Any] = [present_event(event) for event in page.items]
    return {"events": shown, "total": page.total}


async def _link(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    cause, effect = uuid_of(arguments, "cause_event_id"), uuid_of(arguments, "effect_event_id")
    await link_causes(canon, caller, cause_id=cause, effect_id=effect)
    return {"cause_event_id": cause, "effect_event_id": effect}


_LINK: Final = obj({"cause_event_id": UUID, "effect_event_id": UUID})

TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_event",
        title="Create event",
        description=(
            "Create a canonical event with the entities that took part and the events that it "
            "caused."
        ),
        output_schema=created_schema("event_id"),
        run=_create,
        read_only=False,
    ),
    Tool(
        name="neo4j_query_events",
        title="Query events",
        description="Find events by entity, scene or level, in the order in which they happened.",
        input_schema=obj(
            {},
            {
                "universe_id": UUID,
                "entity_id": UUID,
                "scene_id": UUID,
                "canon_level": enum("proposed", "canon", "retconned"),
                **PAGING,
            },
        ),
        output_schema=listing("events", EVENT),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
    Tool(
        name="neo4j_create_causal_link",
        title="Create causal link",
        description="Say that one event caused another; a cycle is refused.",
        input_schema=_LINK,
        output_schema=_LINK,
        roles=KEEPER,
        run=_link,
        read_only=False,
        extension=True,
    ),
)

"""Event tools: create, query in order of happening, link a cause to its effect."""

from dataclasses import replace
from typing import Final

from canonry.canon.commands.create_event import NewEvent, create_event
from canonry.canon.commands.link_causes import link_causes
from canonry.canon.queries.query_events import EventQuery, query_events
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import TEXT, UUID, Shape, enum, given, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.facts import EventDraft
from canonry.narrative.toolset.arguments import (
    DETAIL,
    PAGING,
    backing_of,
    checked_list,
    instant_of,
    optional_of,
    optional_uuid,
    page_of,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import contract_tool, reading_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape, gist
from canonry.narrative.toolset.shapes import AUDIENCE, EVENT, canon_created, created
from canonry.values.ids import SceneId
from canonry.values.provenance import CanonLevel

_SEVERITY_DEFAULT: Final = 5
_CREATED: Final = canon_created("event_id")
EVENT_ROW: Final = RowShape(
    EVENT,
    *("event_id", "title", "description", "time_ref", "severity", "scene_id"),
    *("involved_entity_ids", "causes_event_ids", "canon_level"),
    "time_words",
    description=TEXT.by(gist),
)
_EVENTS: Final = Listing("events", EVENT_ROW)
_LINK: Final = Shape(cause_event_id=given(UUID), effect_event_id=given(UUID))


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
    return created(_CREATED, receipt, EventDraft)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = EventQuery(
        scene_id=optional_uuid(arguments, "scene_id"),
        level=optional_of(arguments, "canon_level", CanonLevel),
        **page_of(arguments),
    )
    page = await query_events(
        canon,
        caller,
        query,
        universe_id=optional_uuid(arguments, "universe_id"),
        entity_id=optional_uuid(arguments, "entity_id"),
    )
    return await _EVENTS(canon, caller, page, arguments)


async def _link(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    cause, effect = uuid_of(arguments, "cause_event_id"), uuid_of(arguments, "effect_event_id")
    await link_causes(canon, caller, cause_id=cause, effect_id=effect)
    return _LINK(cause_event_id=cause, effect_event_id=effect)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_event",
        "Create event",
        "Create a canonical event with the entities that took part and the events that it caused.",
        _create,
        gives=_CREATED,
        also={"audience": AUDIENCE},
    ),
    reading_tool(
        "neo4j_query_events",
        "Query events",
        "Find events by entity, scene or level, in the order in which they happened.",
        _query,
        takes=obj(
            {},
            {
                "universe_id": UUID,
                "entity_id": UUID,
                "scene_id": UUID,
                "canon_level": enum("proposed", "canon", "retconned"),
                **PAGING,
                **DETAIL,
            },
        ),
        gives=_EVENTS.gives,
    ),
    writing_tool(
        "neo4j_create_causal_link",
        "Create causal link",
        "Say that one event caused another; a cycle is refused.",
        _link,
        takes=_LINK.schema,
        gives=_LINK,
    ),
)

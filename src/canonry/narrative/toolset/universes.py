"""Universe tools: the spaces that everything else lies in; extensions, as the contract has none."""

from typing import Any, Final

from canonry.canon.commands.create_universe import create_universe
from canonry.canon.commands.declare_calendar import declare_calendar
from canonry.canon.queries.query_universes import query_universes
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.canon.session.lookup import require_universe
from canonry.canon.session.spoken_times import CALENDAR
from canonry.gateway.shapes import INSTANT, OBJECT, TEXT, UUID, Shape, given, nullable, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.narrative.toolset.arguments import (
    PAGING,
    optional_text,
    optional_uuid,
    page_of,
    text_of,
    uuid_of,
)
from canonry.narrative.toolset.contract import reading_tool, writing_tool
from canonry.narrative.toolset.shapes import SPACE, created, page_shape
from canonry.values.spaces import SpaceDraft, SpaceKind

_CREATED_UNIVERSE: Final = Shape(universe_id=UUID.of("id"), name=TEXT, created_at=given(INSTANT))
_CREATED_MULTIVERSE: Final = Shape(
    multiverse_id=UUID.of("id"), name=TEXT, created_at=given(INSTANT)
)
_DECLARED: Final = Shape(universe_id=given(UUID), declared_at=INSTANT.of("recorded_at"))
_UNIVERSES: Final = page_shape("universes", SPACE)


async def _create(
    canon: Canon, caller: Caller, arguments: Arguments, kind: SpaceKind, words: tuple[str, ...]
) -> Receipt[Any]:
    limits = canon.policy.limits
    texts = {word: optional_text(arguments, word, limits.name) for word in words}
    declared = {CALENDAR: arguments[CALENDAR]} if arguments.get(CALENDAR) else {}
    return await create_universe(
        canon,
        caller,
        kind=kind,
        name=text_of(arguments, "name", limits.name),
        description=optional_text(arguments, "description", limits.description) or "",
        properties={word: text for word, text in texts.items() if text is not None} | declared,
        parent=optional_uuid(arguments, "multiverse_id"),
    )


async def _create_universe(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    words = ("genre", "tone", "tech_level")
    receipt = await _create(canon, caller, arguments, SpaceKind.UNIVERSE, words)
    return created(_CREATED_UNIVERSE, receipt, SpaceDraft)


async def _create_multiverse(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    receipt = await _create(canon, caller, arguments, SpaceKind.MULTIVERSE, ("system_name",))
    return created(_CREATED_MULTIVERSE, receipt, SpaceDraft)


async def _get_universe(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return SPACE(await require_universe(canon, caller, uuid_of(arguments, "universe_id")))


async def _query_universes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    parent = optional_uuid(arguments, "multiverse_id")
    return _UNIVERSES(await query_universes(canon, caller, parent=parent, **page_of(arguments)))


async def _declare_calendar(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    universe_id = uuid_of(arguments, "universe_id")
    receipt = await declare_calendar(canon, caller, universe_id, arguments[CALENDAR])
    return _DECLARED(receipt, universe_id=universe_id)


TOOLS: Final[tuple[Tool, ...]] = (
    writing_tool(
        "neo4j_create_universe",
        "Create universe",
        "Create a universe: begin here, everything else lies in one.",
        _create_universe,
        takes=obj(
            {"name": TEXT},
            {
                "description": TEXT,
                "genre": TEXT,
                "tone": TEXT,
                "tech_level": TEXT,
                "multiverse_id": UUID,
                "calendar": OBJECT,
            },
        ),
        gives=_CREATED_UNIVERSE,
    ),
    writing_tool(
        "neo4j_declare_calendar",
        "Declare calendar",
        "Declare how a universe counts days; null: Gregorian. months [{name, days, "
        "intercalary}], week, eras [{name, first_year, backwards}], leap {every, except, but, "
        "month}; or counters [{name, seconds}].",
        _declare_calendar,
        takes=obj({"universe_id": UUID, "calendar": nullable(OBJECT)}),
        gives=_DECLARED,
        idempotent=True,
    ),
    writing_tool(
        "neo4j_create_multiverse",
        "Create multiverse",
        "Create a multiverse, which groups universes, for example of one game system.",
        _create_multiverse,
        takes=obj({"name": TEXT}, {"description": TEXT, "system_name": TEXT}),
        gives=_CREATED_MULTIVERSE,
    ),
    reading_tool(
        "neo4j_get_universe",
        "Get universe",
        "Retrieve a universe by ID.",
        _get_universe,
        takes=obj({"universe_id": UUID}),
        gives=SPACE,
    ),
    reading_tool(
        "neo4j_query_universes",
        "Query universes",
        "List the universes that you may see, oldest first.",
        _query_universes,
        takes=obj({}, {"multiverse_id": UUID, **PAGING}),
        gives=_UNIVERSES,
    ),
)

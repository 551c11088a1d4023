"""Universe tools: the spaces that everything else lies in; extensions, as the contract has none."""

from typing import Any, Final

from canonry.domain.spaces import SpaceDraft, SpaceKind
from canonry.domain.time import render_instant
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.replies.present import SPACE, listing, present_space
from canonry.toolsets.narrative.replies.schemas import INSTANT, TEXT, UUID, obj
from canonry.toolsets.narrative.requests.arguments import (
    limit_of,
    offset_of,
    optional_text,
    optional_uuid,
    text_of,
    uuid_of,
)
from canonry.toolsets.narrative.requests.backings import KEEPER
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.graph.create_universe import create_universe
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require_universe
from canonry.usecases.kernel.receipts import the_made
from canonry.usecases.queries.query_universes import query_universes


async def _create(
    canon: Canon, caller: Caller, arguments: Arguments, kind: SpaceKind, words: tuple[str, ...]
) -> tuple[SpaceDraft, str]:
    limits = canon.policy.limits
    texts = {word: optional_text(arguments, word, limits.name) for word in words}
    receipt = await create_universe(
        canon,
        caller,
        kind=kind,
        name=text_of(arguments, "name", limits.name),
        description=optional_text(arguments, "description", limits.description) or "",
        properties={word: text for word, text in texts.items() if text is not None},
        parent=optional_uuid(arguments, "multiverse_id"),
    )
    return the_made(receipt, SpaceDraft), render_instant(receipt.recorded_at)


async def _create_universe(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    words = ("genre", "tone", "tech_level")
    space, created_at = await _create(canon, caller, arguments, SpaceKind.UNIVERSE, words)
    return {"universe_id": space.id, "name": space.name, "created_at": created_at}


async def _create_multiverse(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    words = ("system_name",)
    space, created_at = await _create(canon, caller, arguments, SpaceKind.MULTIVERSE, words)
    return {"multiverse_id": space.id, "name": space.name, "created_at": created_at}


async def _get_universe(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return present_space(await require_universe(canon, caller, uuid_of(arguments, "universe_id")))


async def _query_universes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await query_universes(
        canon,
        caller,
        parent=optional_uuid(arguments, "multiverse_id"),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    shown: list[Any] = [present_space(space) for space in page.items]
    return {"universes": shown, "total": page.total}


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="neo4j_create_universe",
        title="Create universe",
        description="Create a universe: begin here, everything else lies in one.",
        input_schema=obj(
            {"name": TEXT},
            {
                "description": TEXT,
                "genre": TEXT,
                "tone": TEXT,
                "tech_level": TEXT,
                "multiverse_id": UUID,
            },
        ),
        output_schema=obj({"universe_id": UUID, "name": TEXT, "created_at": INSTANT}),
        roles=KEEPER,
        run=_create_universe,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="neo4j_create_multiverse",
        title="Create multiverse",
        description="Create a multiverse, which groups universes, for example of one game system.",
        input_schema=obj({"name": TEXT}, {"description": TEXT, "system_name": TEXT}),
        output_schema=obj({"multiverse_id": UUID, "name": TEXT, "created_at": INSTANT}),
        roles=KEEPER,
        run=_create_multiverse,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="neo4j_get_universe",
        title="Get universe",
        description="Retrieve a universe by ID.",
        input_schema=obj({"universe_id": UUID}),
        output_schema=SPACE,
        roles=ANYONE,
        run=_get_universe,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
    Tool(
        name="neo4j_query_universes",
        title="Query universes",
        description="List the universes that you may see, oldest first.",
        input_schema=obj({}, {"multiverse_id": UUID, **PAGING}),
        output_schema=listing("universes", SPACE),
        roles=ANYONE,
        run=_query_universes,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)

"""Source tools: create, query."""

from typing import Any, Final

from canonry.domain.ids import SpaceId
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.sources import SourceDraft, SourceType
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import SOURCE, listing, present_source
from canonry.toolsets.narrative.replies.schemas import UUID, obj
from canonry.toolsets.narrative.requests.arguments import (
    limit_of,
    offset_of,
    optional_text,
    text_of,
    uuid_of,
)
from canonry.toolsets.narrative.requests.backings import created, created_schema
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.graph.create_source import NewSource, create_source
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_sources import query_sources


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    new = NewSource(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        doc_id=text_of(arguments, "doc_id", limits.name),
        title=text_of(arguments, "title", limits.name),
        edition=optional_text(arguments, "edition", limits.name),
        origin=optional_text(arguments, "provenance", limits.description),
        source_type=SourceType(arguments["source_type"]),
        level=CanonLevel(arguments["canon_level"]),
    )
    receipt = await create_source(canon, caller, new)
    return created(receipt, SourceDraft, "source_id", new.level.value)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await query_sources(
        canon,
        caller,
        uuid_of(arguments, "universe_id"),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    shown: list[Any] = [present_source(source) for source in page.items]
    return {"sources": shown, "total": page.total}


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_source",
        title="Create source",
        description="Register a document that canon can cite as evidence, as source:<source_id>.",
        output_schema=created_schema("source_id"),
        run=_create,
        read_only=False,
    ),
    Tool(
        name="neo4j_query_sources",
        title="Query sources",
        description="List the sources of a universe, oldest first.",
        input_schema=obj({"universe_id": UUID}, PAGING),
        output_schema=listing("sources", SOURCE),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)

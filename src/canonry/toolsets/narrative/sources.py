"""Source tools: create, query."""

from typing import Final

from canonry.domain.ids import SpaceId
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.sources import Source, SourceType
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.arguments import optional_text, text_of, uuid_of
from canonry.toolsets.narrative.contract import contract_tool, listing_tool
from canonry.toolsets.narrative.shapes import SOURCE, canon_created, created, page_shape
from canonry.usecases.graph.create_source import NewSource, create_source
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_sources import query_sources

_CREATED: Final = canon_created("source_id")


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
    return created(_CREATED, receipt, Source)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_source",
        "Create source",
        "Register a document that canon can cite as evidence, as source:<source_id>.",
        _create,
        gives=_CREATED,
    ),
    listing_tool(
        "neo4j_query_sources",
        "Query sources",
        "List the sources of a universe, oldest first.",
        query_sources,
        within="universe_id",
        gives=page_shape("sources", SOURCE),
    ),
)

"""Search tools: what resembles a text, among what was said or among what is canon.

They suggest and prove nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.recall.passages import Collection
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present_passages import HIT, present_hit
from canonry.toolsets.narrative.replies.schemas import TEXT, UUID, array, enum, obj
from canonry.toolsets.narrative.requests.arguments import limit_of, optional_uuid, text_of
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.recall.search_canon import CanonKind, CanonRequest, search_canon
from canonry.usecases.recall.search_passages import SearchRequest, search_passages

SEARCH_MAX: Final = 100


async def _search(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    request = SearchRequest(
        collection=Collection(arguments["collection"]),
        text=text_of(arguments, "query_text", canon.policy.limits.query),
        universe_id=optional_uuid(filters, "universe_id"),
        entity_id=optional_uuid(filters, "entity_id"),
        source_id=optional_uuid(filters, "source_id"),
        min_score=float(arguments.get("min_score", 0.0)),
        limit=limit_of(arguments, default=10, maximum=SEARCH_MAX),
    )
    found = await search_passages(canon, caller, request)
    return {
        "results": [present_hit(hit, found.things) for hit in found.hits],
        "degraded": list(found.degraded),
    }


async def _search_canon(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    request = CanonRequest(
        text=text_of(arguments, "query_text", canon.policy.limits.query),
        kinds=frozenset(map(CanonKind, arguments.get("kinds") or CanonKind)),
        universe_id=optional_uuid(arguments, "universe_id"),
        limit=limit_of(arguments, default=10, maximum=SEARCH_MAX),
    )
    found = await search_canon(canon, caller, request)
    return {
        "results": [present_hit(hit, found.things) for hit in found.hits],
        "degraded": list(found.degraded),
    }


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "qdrant_semantic_search",
        title="Search passages",
        description=(
            "Find passages of scenes, sources or (for the memory roles) memories that resemble a "
            'text; they suggest and prove nothing. A "phrase" in quotes counts more, and begun* '
            "finds every word that begins so."
        ),
        output_schema=obj({"results": array(HIT), "degraded": array(TEXT)}),
        run=_search,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="qdrant_search_canon",
        title="Search canon",
        description=(
            "Find what canon says that resembles a text: entities, facts and events, axioms and "
            "lore."
        ),
        input_schema=obj(
            {"query_text": TEXT},
            {
                "kinds": array(enum(*(kind.value for kind in CanonKind))),
                "universe_id": UUID,
                "limit": {"type": "integer", "default": 10, "maximum": SEARCH_MAX},
            },
        ),
        output_schema=obj({"results": array(HIT), "degraded": array(TEXT)}),
        roles=ANYONE,
        run=_search_canon,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)

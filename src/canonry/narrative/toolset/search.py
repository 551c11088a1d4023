"""Search tools: what resembles a text, among what was said or among what is canon.

They suggest and prove nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    COUNT,
    INTEGER,
    TEXT,
    UUID,
    Field,
    Shape,
    array,
    enum,
    given,
    obj,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.narrative.toolset.arguments import DETAIL, limit_of, optional_uuid, text_of
from canonry.narrative.toolset.contract import contract_tool, reading_tool
from canonry.narrative.toolset.passages import HITS, hit_of
from canonry.narrative.toolset.rows import name_in
from canonry.readmodels.passages import Collection
from canonry.recall.usecases.search_canon import CanonKind, CanonRequest, search_canon
from canonry.recall.usecases.search_passages import PassagesFound, SearchRequest, search_passages

SEARCH_MAX: Final = 100
_FOUND: Final = Shape(results=given(Field(HITS.schema)), degraded=array(TEXT), behind=COUNT)


async def _search(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    request = SearchRequest(
        collection=Collection(arguments["collection"]),
        text=text_of(arguments, "query_text", None),
        universe_id=optional_uuid(filters, "universe_id"),
        entity_id=optional_uuid(filters, "entity_id"),
        source_id=optional_uuid(filters, "source_id"),
        min_score=float(arguments.get("min_score", 0.0)),
        limit=limit_of(arguments, default=10, maximum=SEARCH_MAX),
    )
    found = await search_passages(canon, caller, request)
    return _FOUND(found, results=await _hits(canon, caller, found, arguments))


async def _search_canon(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    request = CanonRequest(
        text=text_of(arguments, "query_text", None),
        kinds=frozenset(map(CanonKind, arguments.get("kinds") or CanonKind)),
        universe_id=optional_uuid(arguments, "universe_id"),
        limit=limit_of(arguments, default=10, maximum=SEARCH_MAX),
    )
    found = await search_canon(canon, caller, request)
    return _FOUND(found, results=await _hits(canon, caller, found, arguments))


async def _hits(
    canon: Canon, caller: Caller, found: PassagesFound, arguments: Arguments
) -> list[dict[str, Any]]:
    detail = bool(arguments.get("detail"))
    rows = [hit_of(hit, found.things, detail=detail) for hit in found.hits]
    await name_in(canon, caller, [row["payload"] for row in rows])
    return rows


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "qdrant_semantic_search",
        "Search passages",
        "Find passages of scenes, sources or (for the memory roles) memories that resemble a "
        'text; they suggest and prove nothing. A "phrase" in quotes counts more, and begun* '
        "finds every word that begins so.",
        _search,
        gives=_FOUND,
        reads=True,
        also=DETAIL,
    ),
    reading_tool(
        "qdrant_search_canon",
        "Search canon",
        "Find what canon says that resembles a text: entities, facts and events, relations, axioms "
        "and lore.",
        _search_canon,
        takes=obj(
            {"query_text": TEXT},
            {
                "kinds": array(enum(*CanonKind)),
                "universe_id": UUID,
                "limit": INTEGER.but(default=10, maximum=SEARCH_MAX),
                **DETAIL,
            },
        ),
        gives=_FOUND,
    ),
)

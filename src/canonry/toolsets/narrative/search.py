"""Search tool: passages of scenes, memories and sources by their words; it suggests, no more."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.entries import Thing
from canonry.domain.passages import Collection
from canonry.domain.scenes import Scene
from canonry.domain.sources import Snippet, Source
from canonry.domain.time import render_instant
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.arguments import limit_of, optional_uuid, text_of
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.present import Shown
from canonry.toolsets.narrative.schemas import OBJECT, SHARE, TEXT, UUID, array, enum, obj
from canonry.usecases.assemble_context import MEANING_MISSING
from canonry.usecases.caller import Caller
from canonry.usecases.canon import Canon
from canonry.usecases.search_passages import FoundPassage, SearchRequest, search_passages

SEARCH_MAX: Final = 100
HIT: Final = obj(
    {
        "id": UUID,
        "score": SHARE,
        "payload": OBJECT,
        "text": TEXT,
        "why": obj({"by": enum("keywords"), "terms": array(TEXT)}),
    }
)


def present_hit(hit: FoundPassage, things: Mapping[str, Thing]) -> Shown:
    """A passage with what it can be traced by, and the words that found it."""
    passage = hit.passage
    payload: dict[str, Any] = {
        "type": passage.kind,
        "universe_id": passage.space,
        "timestamp": render_instant(passage.at),
    }
    scene = things.get(passage.scene_id or "")
    source = things.get(passage.source_id or "")
    match passage.collection:
        case Collection.SCENES:
            payload |= {"scene_id": passage.scene_id, "entity_ids": list(passage.entities)}
            payload["story_id"] = scene.story_id if isinstance(scene, Scene) else None
            payload["scene_title"] = scene.title if isinstance(scene, Scene) else None
        case Collection.MEMORIES:
            payload |= {"memory_id": passage.id, "scene_id": passage.scene_id}
            payload |= {"entity_id": next(iter(passage.entities), None)}
            payload["importance"] = passage.importance
        case Collection.SNIPPETS:
            snippet = things.get(passage.id)
            payload |= {"snippet_id": passage.id, "source_id": passage.source_id}
            payload["doc_id"] = source.doc_id if isinstance(source, Source) else None
            payload["source_title"] = source.title if isinstance(source, Source) else None
            payload["page"] = snippet.page if isinstance(snippet, Snippet) else None
            payload["section"] = snippet.section if isinstance(snippet, Snippet) else None
    return {
        "id": passage.id,
        "score": hit.score,
        "payload": payload,
        "text": passage.text,
        "why": {"by": "keywords", "terms": list(hit.terms)},
    }


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
        "degraded": [MEANING_MISSING],
    }


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "qdrant_semantic_search",
        title="Search passages",
        description=(
            "Find passages of scenes, sources or (for the memory roles) memories that resemble a "
            "text; they suggest and prove nothing."
        ),
        output_schema=obj({"results": array(HIT), "degraded": array(TEXT)}),
        run=_search,
        read_only=True,
        idempotent=True,
    ),
)

"""Search tool: passages of scenes, memories and sources that resemble a text; it proves nothing."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.entries import Thing
from canonry.domain.passages import Collection, Passage
from canonry.domain.provenance import Evidence, EvidenceKind
from canonry.domain.ranking import Why
from canonry.domain.scenes import Scene
from canonry.domain.sources import Snippet, Source
from canonry.domain.time import render_instant
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.arguments import limit_of, optional_uuid, text_of
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.present import Shown
from canonry.toolsets.narrative.schemas import (
    NUMBER,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    array,
    enum,
    nullable,
    obj,
)
from canonry.usecases.caller import Caller
from canonry.usecases.canon import Canon
from canonry.usecases.find_passages import FoundPassage
from canonry.usecases.search_passages import SearchRequest, search_passages

SEARCH_MAX: Final = 100
_DIGITS: Final = 4
_CITED: Final = {
    "turn": EvidenceKind.TURN,
    "scene_summary": EvidenceKind.SCENE,
    "snippet": EvidenceKind.SNIPPET,
}
PARTS: Final = ("keywords", "meaning", "nearby", "named", "importance", "recency")
WHY: Final = obj(
    {
        "by": enum("keywords", "meaning", "both", "nearby"),
        "terms": array(TEXT),
        "similarity": NUMBER,
        "parts": obj(dict.fromkeys(PARTS, NUMBER)),
    }
)
HIT: Final = obj(
    {
        "id": UUID,
        "score": SHARE,
        "payload": OBJECT,
        "text": TEXT,
        "evidence_ref": nullable(TEXT),
        "why": WHY,
    }
)


def present_hit(hit: FoundPassage, things: Mapping[str, Thing]) -> Shown:
    """A passage with what it can be cited by, and why it was found."""
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
            payload["turn_index"] = passage.place
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
        "evidence_ref": evidence_ref(passage),
        "why": present_why(hit.why),
    }


def evidence_ref(passage: Passage) -> str | None:
    """What supports a statement that rests on the passage; a memory supports none."""
    kind = _CITED.get(passage.kind)
    return None if kind is None else str(Evidence(kind=kind, ref=passage.id))


def present_why(why: Why) -> Shown:
    """The words and the likeness that a passage was found by, and what makes up its strength.

    The score is the sum of the parts s as s / (1 + s).
    """
    by = "nearby"
    if why.terms or why.meaning > 0:
        by = ("both" if why.terms else "meaning") if why.meaning > 0 else "keywords"
    return {
        "by": by,
        "terms": [term for term, _ in why.terms],
        "similarity": round(why.similarity, _DIGITS),
        "parts": {name: round(getattr(why, name), _DIGITS) for name in PARTS},
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
)

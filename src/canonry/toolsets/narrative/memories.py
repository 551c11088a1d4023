"""Memory tools: what one character believes; kept by the MemoryManager, told to two roles only."""

from collections.abc import Sequence
from typing import Any, Final

from canonry.domain.things.memories import MemoryDraft
from canonry.domain.time import render_instant
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present_documents import MEMORY_FIELDS, present_memory
from canonry.toolsets.narrative.replies.schemas import (
    COUNT,
    INSTANT,
    NUMBER,
    TEXT,
    UUID,
    array,
    enum,
    nullable,
    obj,
)
from canonry.toolsets.narrative.requests.arguments import (
    limit_of,
    optional_text,
    optional_uuid,
    text_of,
    uuid_of,
)
from canonry.toolsets.narrative.requests.pages import QUERY_MAX
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.receipts import the_made
from canonry.usecases.narrative.keep_memory import Recollection, keep_memory
from canonry.usecases.narrative.recall_memories import recall_memories
from canonry.usecases.recall.find_passages import MEANING_MISSING, WORDS_MISSING

BY_WORDS, BY_MEANING, BY_BOTH = "keywords", "meaning", "both"


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = Recollection(
        entity_id=uuid_of(arguments, "entity_id"),
        text=text_of(arguments, "text", canon.policy.limits.memory),
        linked_fact_id=optional_uuid(arguments, "linked_fact_id"),
        scene_id=optional_uuid(arguments, "scene_id"),
        emotional_valence=float(arguments["emotional_valence"]),
        importance=float(arguments["importance"]),
        certainty=float(arguments["certainty"]),
    )
    receipt = await keep_memory(canon, caller, asked)
    return {
        "memory_id": the_made(receipt, MemoryDraft).id,
        "created_at": render_instant(receipt.recorded_at),
    }


async def _retrieve(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = optional_text(arguments, "semantic_query", canon.policy.limits.query)
    found = await recall_memories(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        limit=limit_of(arguments, default=20, maximum=QUERY_MAX),
        min_importance=float(arguments.get("min_importance", 0.0)),
        query=query,
    )
    metadata: dict[str, Any] = {"considered": found.considered, "meaning": None, "degraded": []}
    if query is not None:
        metadata["meaning"] = _searched_by(found.degraded)
        metadata["degraded"] = list(found.degraded)
    return {
        "memories": [
            {**present_memory(memory), "score": score} for memory, score in found.memories
        ],
        "total": found.total,
        "metadata": metadata,
    }


def _searched_by(degraded: Sequence[str]) -> str | None:
    """By what the memories were compared with the query; None: by nothing."""
    if MEANING_MISSING not in degraded:
        return BY_MEANING if WORDS_MISSING in degraded else BY_BOTH
    return None if WORDS_MISSING in degraded else BY_WORDS


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_create_character_memory",
        title="Create character memory",
        description="Keep what a character believes from now on; it may be wrong.",
        output_schema=obj({"memory_id": UUID, "created_at": INSTANT}),
        run=_create,
        read_only=False,
    ),
    contract_tool(
        "mongodb_retrieve_character_memories",
        title="Retrieve character memories",
        description=(
            "Recall a character's memories: the most important first, or by meaning, importance "
            "and recency for a query."
        ),
        output_schema=obj(
            {
                "memories": array(obj({**MEMORY_FIELDS, "score": nullable(NUMBER)})),
                "total": COUNT,
                "metadata": obj(
                    {
                        "considered": COUNT,
                        "meaning": nullable(enum(BY_WORDS, BY_MEANING, BY_BOTH)),
                        "degraded": array(TEXT),
                    }
                ),
            }
        ),
        run=_retrieve,
        read_only=True,
        idempotent=True,
    ),
)

"""Memory tools: what one character believes; kept by the MemoryManager, told to two roles only."""

from collections.abc import Sequence
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    COUNT,
    INSTANT,
    NUMBER,
    TEXT,
    UUID,
    Shape,
    array,
    enum,
    given,
    nullable,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.memories import MemoryDraft
from canonry.narrative.toolset.arguments import (
    QUERY_MAX,
    limit_of,
    optional_text,
    optional_uuid,
    text_of,
    uuid_of,
)
from canonry.narrative.toolset.contract import contract_tool
from canonry.narrative.toolset.shapes import MEMORY, created
from canonry.narrative.usecases.keep_memory import Recollection, keep_memory
from canonry.narrative.usecases.recall_memories import recall_memories
from canonry.recall.usecases.find_passages import MEANING_MISSING, WORDS_MISSING

BY_WORDS, BY_MEANING, BY_BOTH = "keywords", "meaning", "both"
_CREATED: Final = Shape(memory_id=UUID.of("id"), created_at=given(INSTANT))
_SCORED: Final = Shape(**MEMORY.fields, score=nullable(given(NUMBER)))
_METADATA: Final = Shape(
    considered=COUNT,
    meaning=nullable(given(enum(BY_WORDS, BY_MEANING, BY_BOTH))),
    degraded=array(TEXT),
)
_RECALLED: Final = Shape(
    memories=array(_SCORED).made(
        lambda found: [_SCORED(memory, score=score) for memory, score in found.memories]
    ),
    total=COUNT,
    metadata=given(_METADATA.by(dict)),
)


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
    return created(_CREATED, await keep_memory(canon, caller, asked), MemoryDraft)


async def _retrieve(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = optional_text(arguments, "semantic_query", None)
    found = await recall_memories(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        limit=limit_of(arguments, default=20, maximum=QUERY_MAX),
        min_importance=float(arguments.get("min_importance", 0.0)),
        query=query,
    )
    meaning = None if query is None else _searched_by(found.degraded)
    return _RECALLED(found, metadata=_METADATA(found, meaning=meaning))


def _searched_by(degraded: Sequence[str]) -> str | None:
    """By what the memories were compared with the query; None: by nothing."""
    if MEANING_MISSING not in degraded:
        return BY_MEANING if WORDS_MISSING in degraded else BY_BOTH
    return None if WORDS_MISSING in degraded else BY_WORDS


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_create_character_memory",
        "Create character memory",
        "Keep what a character believes from now on; it may be wrong.",
        _create,
        gives=_CREATED,
    ),
    contract_tool(
        "mongodb_retrieve_character_memories",
        "Retrieve character memories",
        "Recall a character's memories: the most important first, or by meaning, importance "
        "and recency for a query.",
        _retrieve,
        gives=_RECALLED,
        reads=True,
    ),
)

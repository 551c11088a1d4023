"""Search passages: what was said, remembered or written; it suggests and never decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.covered_spaces import covered_spaces
from canonry.canon.session.lookup import require
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.sources import Source
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.usecases.find_passages import FoundPassage, find_passages
from canonry.values.errors import InvalidInput, NotAllowed

MEMORY_READERS: Final = frozenset({"ContextAssembly", "MemoryManager"})
"""The agent types that may search memories unless the policy opens them."""

_SERVED: Final[Mapping[Collection, frozenset[str]]] = {
    Collection.SCENES: frozenset({"universe_id", "entity_id"}),
    Collection.MEMORIES: frozenset({"universe_id", "entity_id"}),
    Collection.SNIPPETS: frozenset({"universe_id", "source_id"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is looked for, and where; hits that score less than `min_score` are left out."""

    collection: Collection
    text: str
    universe_id: str | None = None
    entity_id: str | None = None
    source_id: str | None = None
    min_score: float = 0.0
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagesFound:
    """The passages found, best first, with the things that they come from and lie in, by id.

    `behind` commits are not searched by meaning yet.
    """

    hits: Sequence[FoundPassage]
    things: Mapping[str, Thing]
    degraded: tuple[str, ...]
    behind: int = 0


async def search_passages(canon: Canon, caller: Caller, request: SearchRequest) -> PassagesFound:
    """The best passages that the caller may read; what could not be searched is named.

    Raises:
        NotAllowed: `memories.closed`, the caller's agent type may not read minds.
        InvalidInput: `search.filter-not-served`, the collection knows nothing of that filter.
        NotFound: `universe.unknown`, `entity.unknown` or `source.unknown`.
    """
    _require_readable(canon, caller, request.collection)
    _require_served(request)
    query = TextQuery(
        collection=request.collection,
        text=request.text,
        spaces=await covered_spaces(canon, caller, request.universe_id),
        entities=await _entities(canon, caller, request),
        source_id=await _source(canon, caller, request),
        limit=request.limit,
    )
    found = await find_passages(canon, query)
    hits = [hit for hit in found.hits if hit.score >= request.min_score]
    passages = [hit.passage for hit in hits]
    around = {i for p in passages for i in (p.scene_id, p.source_id) if i is not None}
    around |= {entity for p in passages if p.kind == "turn" for entity in p.entities}
    seen = canon.covering(query.spaces)
    things = {**found.things, **await seen.things(around - found.things.keys())}
    return PassagesFound(hits=hits, things=things, degraded=found.degraded, behind=found.behind)


def _require_readable(canon: Canon, caller: Caller, collection: Collection) -> None:
    agent_type = caller.actor.agent_type
    if collection is not Collection.MEMORIES or canon.policy.memories_open:
        return
    if agent_type not in MEMORY_READERS:
        message = f"Agent type '{agent_type}' is not authorized to search memory_chunks"
        raise NotAllowed(
            "memories.closed",
            message,
            tool=caller.tool,
            agent_type=agent_type,
            allowed_types=sorted(MEMORY_READERS),
        )


def _require_served(request: SearchRequest) -> None:
    served = _SERVED[request.collection]
    given = {
        "universe_id": request.universe_id,
        "entity_id": request.entity_id,
        "source_id": request.source_id,
    }
    for name, value in given.items():
        if value is not None and name not in served:
            advice = ", ".join(sorted(served))
            message = f"{request.collection} cannot be filtered by {name}; it knows {advice}"
            path = f"/filters/{name}"
            raise InvalidInput("search.filter-not-served", message, path=path)


async def _entities(canon: Canon, caller: Caller, request: SearchRequest) -> frozenset[str]:
    if request.entity_id is None:
        return frozenset()
    return frozenset(family_of(await require(canon, caller, Entity, request.entity_id)))


async def _source(canon: Canon, caller: Caller, request: SearchRequest) -> str | None:
    if request.source_id is None:
        return None
    return (await require(canon, caller, Source, request.source_id)).id

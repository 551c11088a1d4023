"""Memories of characters: keep and recall them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, require_instances
from canonry.canon.session.lookup import require, require_same_space
from canonry.log.entries import Made
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact
from canonry.log.items.scenes import Memory, MemoryDraft, Scene
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import MemoryQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.recall.domain.context import rank_by_importance, rank_memories
from canonry.recall.usecases.find_passages import MEANING_MISSING, FoundPassage, find_passages
from canonry.values.fields import spread
from canonry.values.ids import EntityId, MemoryId, NewId


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """A memory as it is asked for."""

    entity_id: str
    text: str
    linked_fact_id: str | None
    scene_id: str | None
    emotional_valence: float
    importance: float
    certainty: float


async def keep_memory(canon: Canon, caller: Caller, asked: Recollection) -> Receipt:
    """Keep it; the same text twice is two memories.

    Raises:
        NotFound: `entity.unknown`, `fact.unknown` or `scene.unknown`.
        Conflict: `space.foreign`, `entity.not-an-instance` or `entity.retconned`.
    """
    space = (await require(canon, caller, Entity, asked.entity_id)).space

    async def prepare(new_id: NewId) -> Change:
        owner = await require(canon, caller, Entity, asked.entity_id)
        require_instances(space, (owner,), path="/entity_id")
        reads = {thing_key(asked.entity_id), thing_key(owner.id)}
        if asked.linked_fact_id is not None:
            fact = await require(canon, caller, Fact, asked.linked_fact_id)
            require_same_space(space, (fact,), path="/linked_fact_id")
            reads.add(thing_key(fact.id))
        if asked.scene_id is not None:
            scene = await require(canon, caller, Scene, asked.scene_id)
            require_same_space(space, (scene,), path="/scene_id")
            reads.add(thing_key(scene.id))
        memory = MemoryDraft(
            id=MemoryId(new_id("memory")),
            space=space,
            **spread(asked) | {"entity_id": owner.id},
        )
        return Change(entries=(Made(thing=memory),), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Memories with their scores (None without a query); `total` counts before the limit."""

    memories: Sequence[tuple[Memory, float | None]]
    total: int
    considered: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMemories:
    """All memories considered, strongest first, with the words that each shares with the query."""

    memories: Sequence[tuple[Memory, float]]
    terms: Mapping[str, tuple[str, ...]]
    degraded: tuple[str, ...]


async def recall_memories(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    *,
    limit: int,
    min_importance: float = 0.0,
    query: str | None = None,
) -> Recalled:
    """The memories of one character and of those merged into it.

    Without a query the most important come first, then the newest. With one, the formula of
    `canonry.recall.domain.context` ranks the memories that resemble it and the most important
    others, at most `PAGE_MAX` of each.

    Raises:
        NotFound: `entity.unknown`.
    """
    owner = await require(canon, caller, Entity, entity_id)
    minds = family_of(owner)
    known, total = await _most_important(canon, minds, min_importance)
    if query is None:
        ordered = rank_by_importance(known)
        plain = tuple((memory, None) for memory in ordered[:limit])
        return Recalled(memories=plain, total=total, considered=len(ordered))
    spaces = frozenset((owner.space,))
    asked = TextQuery(collection=Collection.MEMORIES, text=query, spaces=spaces)
    ranked = await rank_for(canon, minds, asked, known=known, min_importance=min_importance)
    return Recalled(
        memories=ranked.memories[:limit],
        total=total,
        considered=len(ranked.memories),
        degraded=ranked.degraded,
    )


async def rank_for(
    canon: Canon,
    minds: frozenset[EntityId],
    query: TextQuery,
    *,
    known: Sequence[Memory] | None = None,
    min_importance: float = 0.0,
) -> RankedMemories:
    """The memories of these minds by meaning, importance and recency, strongest first.

    `known` are memories to consider beside those that resemble the query; by default the
    most important ones. How recent one is counts from the newest of them, so that the same
    question has the same answer until something new is remembered.
    """
    if known is None:
        known, _ = await _most_important(canon, minds, min_importance)
    collection = Collection.MEMORIES
    asked = replace(query, collection=collection, entities=frozenset(minds), limit=PAGE_MAX)
    found = await find_passages(canon, asked)
    listed = {memory.id for memory in known}
    others = [
        thing
        for thing in found.things.values()
        if isinstance(thing, Memory)
        and thing.id not in listed
        and thing.entity_id in minds
        and thing.importance >= min_importance
    ]
    considered = (*known, *others)
    ranked = rank_memories(
        considered,
        {hit.passage.id: _meaning(hit, found.degraded) for hit in found.hits},
        now=max((memory.created_at for memory in considered), default=canon.clock.now()),
        weights=canon.policy.recall,
    )
    terms = {hit.passage.id: hit.terms for hit in found.hits}
    return RankedMemories(memories=ranked, terms=terms, degraded=found.degraded)


def _meaning(hit: FoundPassage, degraded: Sequence[str]) -> float:
    """How much a memory has to do with the query, in [0, 1]: by its words where nothing else is.

    Beside likenesses of meaning, words count by the share of the query that they cover, because
    their own scores are higher than any likeness.
    """
    if MEANING_MISSING in degraded:
        return hit.by_words
    return min(1.0, max(0.0, hit.why.similarity, hit.why.keywords))


async def _most_important(
    canon: Canon, minds: frozenset[EntityId], min_importance: float
) -> tuple[Sequence[Memory], int]:
    pages = await asyncio.gather(
        *(
            canon.documents.memories(
                MemoryQuery(entity_id=mind, min_importance=min_importance, limit=PAGE_MAX)
            )
            for mind in sorted(minds)
        )
    )
    return [memory for page in pages for memory in page.items], sum(page.total for page in pages)

"""Gather the recalled part of a scene's context: what resembles it; a mind is read by its owner."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity, family_of, normalised_name
from canonry.log.items.memories import Memory
from canonry.log.items.scenes import Scene, Turn
from canonry.narrative.usecases.recall_memories import rank_for
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.domain.context import without_repeats
from canonry.recall.usecases.find_passages import FoundPassage, find_passages
from canonry.recall.usecases.search_canon import degraded_of

LOOKED_AT: Final = 2
"""So many times as many passages are looked at as are told, because the same is told once."""
TURNS_ASKED: Final = 3
"""How many of the last turns the default query takes up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembrance:
    """A memory with its owner, its score, and the words that called it up."""

    memory: Memory
    owner: Entity
    score: float
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollections:
    """Each best first; `things` holds what the passages come from and lie in, by id."""

    scenes: Sequence[FoundPassage] = ()
    memories: Sequence[Remembrance] = ()
    rules: Sequence[FoundPassage] = ()
    things: Mapping[str, Thing]
    degraded: tuple[str, ...] = ()


def query_of(scene: Scene, turns: Sequence[Turn], asked: str | None, *, limit: int) -> str:
    """What to recall by: the question asked, else purpose, title and the last turns."""
    if asked is not None:
        return asked
    told = (turn.text for turn in reversed(turns[-TURNS_ASKED:]))
    words = " ".join(text for text in (scene.purpose, scene.title, *told) if text)
    return words[:limit]


async def gather_recalled(
    canon: Canon, scene: Scene, participants: Sequence[Entity], query: TextQuery
) -> Recollections:
    """Passages of other scenes, rules and lore, and memories of the participants and nobody else.

    Rules and lore are one list: excerpts of sources, axioms, and what is told of the world.

    Where nothing can be searched the lists stay empty or fall back to importance and recency, and
    `degraded` says so.
    """
    limit = canon.policy.context.recalled
    scenes, excerpts, lore, (memories, no_memories) = await asyncio.gather(
        find_passages(canon, replace(query, without_scene=scene.id)),
        find_passages(canon, replace(query, collection=Collection.SNIPPETS)),
        find_passages(canon, replace(query, collection=Collection.LORE)),
        _memories(canon, participants, query),
    )
    told = sorted((*excerpts.hits, *lore.hits), key=lambda hit: (-hit.strength, hit.passage.id))
    similar, rules = _once(scenes.hits)[:limit], _once(told)[:limit]
    known = {**scenes.things, **excerpts.things, **lore.things}
    wanted = {i for hit in (*similar, *rules) for i in _ids_of(hit)} - known.keys()
    return Recollections(
        scenes=similar,
        memories=memories,
        rules=rules,
        things={**known, **await canon.within(scene.space).things(wanted)},
        degraded=degraded_of(scenes.degraded, excerpts.degraded, lore.degraded, no_memories),
    )


def _once(hits: Sequence[FoundPassage]) -> Sequence[FoundPassage]:
    """The hits in order, without those that say the same as an earlier one."""
    return without_repeats(hits, lambda hit: normalised_name(hit.passage.text))


def _ids_of(hit: FoundPassage) -> tuple[str, ...]:
    passage = hit.passage
    return tuple(i for i in (passage.id, passage.scene_id, passage.source_id) if i is not None)


async def _memories(
    canon: Canon, participants: Sequence[Entity], query: TextQuery
) -> tuple[Sequence[Remembrance], tuple[str, ...]]:
    owners = {mind: owner for owner in participants for mind in family_of(owner)}
    if not owners:
        return (), ()
    ranked = await rank_for(canon, frozenset(owners), query)
    best = [
        Remembrance(
            memory=memory,
            owner=owners[memory.entity_id],
            score=score,
            terms=ranked.terms.get(memory.id, ()),
        )
        for memory, score in ranked.memories
    ]
    fresh = without_repeats(best, lambda each: (each.owner.id, normalised_name(each.memory.text)))
    return fresh[: canon.policy.context.recalled], ranked.degraded

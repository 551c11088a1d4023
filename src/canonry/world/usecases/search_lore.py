"""Search lore: the facts that fit a question by words and by meaning, as they stand now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.usecases.find_passages import FoundPassage, find_passages
from canonry.world.usecases.bound_world import BoundWorld

_SPARES: Final = (20, 200, 2_000)
"""Laws and archived facts stand among the lore as well: so many more are looked at, if need be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLore:
    """A fact of lore with its score in [0, 1), and the passage by which it was found."""

    entity: Entity
    found: FoundPassage


async def search_lore(
    canon: Canon, world: BoundWorld, query: str, limit: int
) -> Sequence[FoundLore]:
    """The best `limit` facts, best first."""
    if not query.strip():
        return ()
    facts: Sequence[FoundLore] = ()
    for spare in _SPARES:
        facts, exhausted = await _search(canon, world, query, limit + spare)
        if exhausted or len(facts) >= limit:
            break
    return facts[:limit]


async def _search(
    canon: Canon, world: BoundWorld, query: str, limit: int
) -> tuple[Sequence[FoundLore], bool]:
    """The facts among the best `limit` passages, and whether there are no more passages."""
    asked = TextQuery(
        collection=Collection.LORE, text=query, spaces=frozenset((world.space,)), limit=limit
    )
    passages = await find_passages(canon, asked)
    facts = [
        FoundLore(entity=thing, found=hit)
        for hit in passages.hits
        if isinstance(thing := passages.things.get(hit.passage.id), Entity)
        and thing.entity_type == WorldType.LORE_FACT
        and not thing.properties.get("archived")
    ]
    return facts, len(passages.hits) < limit

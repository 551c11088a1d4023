"""Search lore: the facts that fit a question by words and by meaning, as they stand now."""

from collections.abc import Sequence
from dataclasses import dataclass

from canonry.domain.entities import Entity
from canonry.domain.passages import Collection
from canonry.domain.vocabularies.world_types import WorldType
from canonry.ports.views.text import TextQuery
from canonry.usecases.bound_world import World
from canonry.usecases.canon import Canon
from canonry.usecases.find_passages import FoundPassage, find_passages

_SPARE = 20
"""Laws and archived facts stand among the lore as well; so many more are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLore:
    """A fact of lore with its score in [0, 1), and the passage by which it was found."""

    entity: Entity
    found: FoundPassage


async def search_lore(canon: Canon, world: World, query: str, limit: int) -> Sequence[FoundLore]:
    """The best `limit` facts, best first."""
    if not query.strip():
        return ()
    asked = TextQuery(
        collection=Collection.LORE,
        text=query,
        spaces=frozenset((world.space,)),
        limit=limit + _SPARE,
    )
    passages = await find_passages(canon, asked)
    facts = [
        FoundLore(entity=thing, found=hit)
        for hit in passages.hits
        if isinstance(thing := passages.things.get(hit.passage.id), Entity)
        and thing.entity_type == WorldType.LORE_FACT
        and not thing.properties.get("archived")
    ]
    return facts[:limit]

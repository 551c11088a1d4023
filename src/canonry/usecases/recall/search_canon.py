"""Search canon: entities, facts and lore by words and meaning; it suggests and never decides."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import Final

from canonry.domain.log.entries import Thing
from canonry.domain.recall.context import without_repeats
from canonry.domain.recall.passages import Collection, passages_of
from canonry.domain.things.entities import Entity
from canonry.ports.views.state import Spaces
from canonry.ports.views.text import TextQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces
from canonry.usecases.recall.find_passages import (
    MEANING_BEHIND,
    MEANING_MISSING,
    WORDS_MISSING,
    FoundPassage,
    find_passages,
)
from canonry.usecases.recall.search_passages import PassagesFound


class CanonKind(StrEnum):
    """What canon is made of: who and what there is, what is so or happened, the world's laws."""

    ENTITY = "entity"
    FACT = "fact"
    LORE = "lore"


COLLECTIONS: Final[Mapping[CanonKind, Collection]] = {
    CanonKind.ENTITY: Collection.ENTITIES,
    CanonKind.FACT: Collection.FACTS,
    CanonKind.LORE: Collection.LORE,
}

_DEGRADED: Final = (MEANING_MISSING, MEANING_BEHIND, WORDS_MISSING)
_WIDER: Final = (1, 4, 16)
"""So many times as many passages are looked at, as long as too few of them are left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonRequest:
    """What is looked for, and among what."""

    text: str
    kinds: frozenset[CanonKind] = frozenset(CanonKind)
    universe_id: str | None = None
    limit: int = 10


async def search_canon(canon: Canon, caller: Caller, request: CanonRequest) -> PassagesFound:
    """The best of all kinds together; an entity that was merged is shown as what it became.

    A smaller limit gives a prefix of a larger one's.

    Raises:
        NotFound: `universe.unknown`.
    """
    spaces = await covered_spaces(canon, caller, request.universe_id)
    return await find_canon(canon, spaces, request.text, request.kinds, limit=request.limit)


async def find_canon(
    canon: Canon, spaces: Spaces, text: str, kinds: frozenset[CanonKind], *, limit: int
) -> PassagesFound:
    """The same within spaces that the caller is known to see."""
    found = await asyncio.gather(
        *(
            _best(canon, TextQuery(collection=COLLECTIONS[kind], text=text, spaces=spaces), limit)
            for kind in sorted(kinds)
        )
    )
    hits = [hit for each in found for hit in each.hits]
    return PassagesFound(
        hits=sorted(hits, key=lambda hit: (-hit.strength, hit.passage.id))[:limit],
        things={i: thing for each in found for i, thing in each.things.items()},
        degraded=degraded_of(*(each.degraded for each in found)),
    )


async def _best(canon: Canon, query: TextQuery, limit: int) -> PassagesFound:
    """The first `limit` of one collection; more are looked at where merged ones fall together."""
    hits: Sequence[FoundPassage] = ()
    for wide in (limit * times for times in _WIDER):
        found = await find_passages(canon, replace(query, limit=wide))
        things = {**found.things, **await _became(canon, query, found.things)}
        shown = (each for hit in found.hits for each in _standing(hit, things))
        hits = without_repeats(shown, attrgetter("passage.id"))[:limit]
        if len(hits) == limit or len(found.hits) < wide:
            break
    return PassagesFound(hits=hits, things=things, degraded=found.degraded)


async def _became(
    canon: Canon, query: TextQuery, things: Mapping[str, Thing]
) -> Mapping[str, Thing]:
    """What the merged ones among `things` were merged into."""
    roots = {t.merged_into for t in things.values() if isinstance(t, Entity) and t.merged_into}
    return await canon.covering(query.spaces).things(roots - things.keys())


def _standing(hit: FoundPassage, things: Mapping[str, Thing]) -> Iterator[FoundPassage]:
    """The hit, or the entity that its own was merged into, if that is still canon."""
    thing = things.get(hit.passage.id)
    if not isinstance(thing, Entity) or thing.merged_into is None:
        yield hit
    elif (root := things.get(thing.merged_into)) is not None:
        for passage in passages_of(root):
            yield replace(hit, passage=passage)


def degraded_of(*parts: Sequence[str]) -> tuple[str, ...]:
    """What any of several searches could not look at, each once."""
    missing = {name for part in parts for name in part}
    return tuple(name for name in _DEGRADED if name in missing)

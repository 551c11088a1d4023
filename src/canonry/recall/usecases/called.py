"""What those are called whom passages are about, by whatever name a question may use."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from canonry.canon.session.canon import Canon
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.readmodels.passages import names_of
from canonry.readmodels.ports.state import Spaces

Called: TypeAlias = Mapping[str, Sequence[str]]
"""The names of entities by their ids."""


async def called_in(canon: Canon, spaces: Spaces, ids: frozenset[str]) -> Called:
    """The names of these entities, and of those that they were merged into."""
    if not ids:
        return {}
    seen = canon.covering(spaces)
    entities = await seen.things(ids)
    roots = {
        thing.merged_into
        for thing in entities.values()
        if isinstance(thing, Entity) and thing.merged_into is not None
    }
    known = {**entities, **await seen.things(roots - entities.keys())} if roots else entities
    return {each: _names(each, known) for each in ids}


def _names(entity_id: str, known: Mapping[str, Thing]) -> Sequence[str]:
    thing = known.get(entity_id)
    names: list[str] = []
    while isinstance(thing, Entity):
        names += names_of(thing)
        thing = None if thing.merged_into is None else known.get(thing.merged_into)
    return names

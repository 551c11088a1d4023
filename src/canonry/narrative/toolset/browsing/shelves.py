"""What can be browsed and completed: universes, scenes and entities, by name or id."""

from collections.abc import Mapping
from typing import Final

from canonry.canon.queries.query_entities import EntityQuery, query_entities
from canonry.canon.queries.query_sources import query_sources
from canonry.canon.queries.query_universes import query_universes
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.browsing import LOOKED_THROUGH, beginning, through
from canonry.gateway.tool import Shelf, Shelved
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Scene
from canonry.narrative.usecases.query_scenes import SceneQuery, query_scenes


async def _universes(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    async def page(limit: int, offset: int) -> Shelved:
        found = await query_universes(canon, caller, parent=None, limit=limit, offset=offset)
        return [(each.id, each.name) for each in found.items], found.total

    return await through(page, word, offset, limit)


async def _scenes(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    async def page(limit: int, offset: int) -> Shelved:
        query = SceneQuery(limit=limit, offset=offset)
        found = await query_scenes(canon, caller, query, universe_id=None)
        return [(each.id, _titled(each)) for each in found.items], found.total

    return await through(page, word, offset, limit)


async def _entities(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    pattern = f"{word}*" if word else None
    query = EntityQuery(name_pattern=pattern, limit=limit, offset=offset)
    page = await query_entities(canon, caller, query, universe_id=None)
    return [(each.id, _known(each)) for each in page.items], page.total


def _titled(scene: Scene) -> str:
    return scene.title or f"Scene {scene.order}"


def _known(entity: Entity) -> str:
    return f"{entity.name} ({entity.entity_type})"


async def _sources(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    """The sources of the universes that the caller may see, one universe after the other."""
    universes = await query_universes(canon, caller, parent=None, limit=LOOKED_THROUGH, offset=0)
    named: list[tuple[str, str]] = []
    for each in universes.items:
        page = await query_sources(canon, caller, each.id, limit=LOOKED_THROUGH, offset=0)
        named += [(source.id, source.title) for source in page.items]
    return beginning(named, word, offset, limit)


SHELVES: Final[Mapping[str, Shelf]] = {
    "universe_id": Shelf(find=_universes),
    "scene_id": Shelf(find=_scenes),
    "entity_id": Shelf(find=_entities),
    "source_id": Shelf(find=_sources),
}

"""Resources and completions."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from canonry.canon.queries.listings import (
    EntityQuery,
    EventQuery,
    get_entity,
    query_entities,
    query_events,
    query_snippets,
    query_sources,
    query_universes,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require, require_universe
from canonry.gateway.browsing import LOOKED_THROUGH, beginning, through
from canonry.gateway.tool import ANYONE, Resource, Shelf, Shelved
from canonry.log.items.facts import Event
from canonry.log.items.scenes import Speaker, Turn
from canonry.log.items.sources import Source
from canonry.narrative.toolset.shapes import ENTITY
from canonry.narrative.usecases.scenes import SceneQuery, query_scenes
from canonry.narrative.usecases.stories import TurnPage, get_turns
from canonry.values.errors import NotFound
from canonry.values.ids import Space, is_uuid
from canonry.values.moments import render_instant
from canonry.values.provenance import CanonLevel

TURNS_SHOWN: Final = 500
EVENTS_SHOWN: Final = 500
SNIPPETS_SHOWN: Final = 500
CHARACTERS_SHOWN: Final = 200_000


async def _entity(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    entity_id = _id_of(variables, "entity_id", "entity")
    found = await get_entity(canon, caller, entity_id, relations=False, history=False)
    return json.dumps(ENTITY(found.entity), ensure_ascii=False, indent=2)


async def _transcript(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    scene_id = _id_of(variables, "scene_id", "scene")
    page = await get_turns(canon, caller, scene_id, after=-1, limit=TURNS_SHOWN)
    return "\n\n".join(_told(page)) + "\n"


def _told(page: TurnPage) -> Iterator[str]:
    """The parts of a transcript, as many as the bound allows, and where to read on."""
    yield f"# {page.scene.title}"
    yield f"{page.scene.status.value}, {page.total} turns"
    size, following = 0, page.following
    for turn in page.turns:
        size += len(turn.text)
        if size > CHARACTERS_SHOWN:
            following = turn.index - 1
            break
        yield f"**{_speaker(turn, page.names)}:** {turn.text}"
    if following is not None:
        yield f"(Go on with mongodb_get_turns, after_index {following}.)"
    elif page.scene.summary:
        yield f"Summary: {page.scene.summary}"


def _speaker(turn: Turn, names: Mapping[str, str]) -> str:
    if turn.speaker is Speaker.ENTITY:
        return names.get(turn.entity_id or "") or "Somebody"
    return turn.speaker.called.capitalize()


async def _source(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    source_id = _id_of(variables, "source_id", "source")
    page = await query_snippets(canon, caller, source_id, limit=SNIPPETS_SHOWN, offset=0)
    source = await require(canon, caller, Source, source_id)
    parts = [f"# {source.title}", *_within(snippet.text for snippet in page.items)]
    left = page.total - (len(parts) - 1)
    if left:
        parts.append(f"({left} more parts; mongodb_query_snippets gives them.)")
    return "\n\n".join(parts) + "\n"


def _within(texts: Iterable[str]) -> Iterator[str]:
    """As many of the texts as a resource has room for."""
    size = 0
    for text in texts:
        size += len(text)
        if size > CHARACTERS_SHOWN:
            return
        yield text


async def _timeline(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    universe_id = _id_of(variables, "universe_id", "universe")
    universe = await require_universe(canon, caller, universe_id)
    events, left = await _last_events(canon, caller, universe)
    parts = [f"# Timeline of {universe.name}"]
    if left:
        parts.append(f"({left} earlier events are left out; neo4j_query_events gives them.)")
    parts.extend(_happening(event) for event in events)
    return "\n\n".join(parts) + "\n"


async def _last_events(canon: Canon, caller: Caller, universe: Space) -> tuple[list[Event], int]:
    offset = 0
    for _ in range(2):
        query = EventQuery(level=CanonLevel.CANON, limit=EVENTS_SHOWN, offset=offset)
        page = await query_events(canon, caller, query, universe_id=universe.id)
        if page.total - offset <= EVENTS_SHOWN:
            break
        offset = page.total - EVENTS_SHOWN
    return list(page.items), offset


def _happening(event: Event) -> str:
    when = "undated" if event.time_ref is None else render_instant(event.time_ref)
    return f"- **{when}**: {event.title} ({event.id})\n  {event.description}".rstrip()


def _id_of(variables: Mapping[str, str], name: str, kind: str) -> str:
    """The id in the URI; what is no id names nothing."""
    given = variables[name]
    if not is_uuid(given):
        raise NotFound(f"{kind}.unknown", f"this URI names no {kind}; it takes a UUID", kind=kind)
    return given.lower()


TRANSCRIPT: Final = Resource(
    uri_template="canonry://scene/{scene_id}/transcript",
    name="scene-transcript",
    title="Scene transcript",
    description="What was said in a scene, from the start.",
    mime_type="text/markdown",
    roles=ANYONE,
    read=_transcript,
)
SOURCE_TEXT: Final = Resource(
    uri_template="canonry://source/{source_id}",
    name="source",
    title="Source",
    description="A document that canon rests on, as far as its text is kept here.",
    mime_type="text/markdown",
    roles=ANYONE,
    read=_source,
)
RESOURCES: Final[tuple[Resource, ...]] = (
    Resource(
        uri_template="canonry://entity/{entity_id}",
        name="entity",
        title="Entity",
        description="An entity as it is now.",
        mime_type="application/json",
        roles=ANYONE,
        read=_entity,
    ),
    TRANSCRIPT,
    SOURCE_TEXT,
    Resource(
        uri_template="canonry://universe/{universe_id}/timeline",
        name="universe-timeline",
        title="Universe timeline",
        description="The canon events of a universe in the order in which they happened.",
        mime_type="text/markdown",
        roles=ANYONE,
        read=_timeline,
    ),
)


async def _universes(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    async def page(limit: int, offset: int) -> Shelved:
        found = await query_universes(canon, caller, parent=None, limit=limit, offset=offset)
        return [(each.id, each.name) for each in found.items], found.total

    return await through(page, word, offset, limit)


async def _scenes(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    async def page(limit: int, offset: int) -> Shelved:
        query = SceneQuery(limit=limit, offset=offset)
        found = await query_scenes(canon, caller, query, universe_id=None)
        return [
            (each.id, (each.title or f"Scene {each.order}")) for each in found.items
        ], found.total

    return await through(page, word, offset, limit)


async def _entities(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    pattern = f"{word}*" if word else None
    query = EntityQuery(name_pattern=pattern, limit=limit, offset=offset)
    page = await query_entities(canon, caller, query, universe_id=None)
    return [(each.id, f"{each.name} ({each.entity_type})") for each in page.items], page.total


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

"""The spaces of a user, the space of a page, and search results in it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.assistant.desk import Desk, desk_of
from canonry.assistant.rows import Row, rows_of
from canonry.canon.queries.listings import ChosenSpace, list_spaces, query_asserted, query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.language.texts.stems import stems_of
from canonry.log.items.entities import family_of
from canonry.log.items.scenes import Scene, Story
from canonry.narrative.usecases.scenes import query_scenes, query_stories
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery
from canonry.recall.usecases.find_things import FoundKind, ThingSearch, find_things
from canonry.values.moments import Instant

SHELF: Final = 12
"""The most items of each kind on the page of a space."""

Seen = dict[str, Any]
"""The values of a page by their names in the template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSeen(ChosenSpace):
    """The space of a page; `until` is now, by the clock of the server.

    `begun` and `ended` are the first and the last valid time of an event.
    """

    until: Instant
    begun: Instant | None
    ended: Instant | None


async def place_of(desk: Desk) -> SpaceSeen:
    """Return the space of a call."""
    space = desk.space
    begun = ended = None
    if space.opened is not None and space.told:
        begun, ended = await _told_times(desk)
    return SpaceSeen(
        id=space.id,
        kind=space.kind,
        name=space.name,
        opened=space.opened,
        until=desk.canon.clock.now(),
        begun=begun,
        ended=ended,
    )


async def _told_times(desk: Desk) -> tuple[Instant | None, Instant | None]:
    ids = {"universe_id": desk.space.id, "entity_id": None}
    first = await query_asserted(desk.canon, desk.caller, EventQuery(limit=1), **ids)
    if not first.items:
        return None, None
    last = EventQuery(limit=1, offset=max(0, first.total - 1))
    found = await query_asserted(desk.canon, desk.caller, last, **ids)
    times = [e.time_ref for page in (first, found) for e in page.items if e.time_ref is not None]
    return (min(times), max(times)) if times else (None, None)


async def all_places(canon: Canon, caller: Caller, arguments: Arguments) -> Sequence[ChosenSpace]:
    """Return every space that the caller may see."""
    del arguments
    return await list_spaces(canon, caller)


async def one_place(canon: Canon, caller: Caller, arguments: Arguments) -> SpaceSeen:
    """Return the named space, or the only one, or that of the item `of`."""
    return await place_of(await desk_of(canon, caller, arguments, "of", "about"))


async def overview(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the contents of a space."""
    desk = await desk_of(canon, caller, arguments)
    space = await place_of(desk)
    if desk.space.opened is None:
        return {"space": space, "types": (), "entities": (), "total": 0, "stories": ()}
    types = await entity_types(desk)
    query = EntityQuery(limit=SHELF)
    newest = await query_entities(canon, caller, query, universe_id=desk.space.id)
    stories: list[tuple[Story, Sequence[Scene]]] = []
    if desk.space.told:
        page = await query_stories(canon, caller, desk.space.id, limit=SHELF, offset=0)
        for story in page.items:
            asked = SceneQuery(story_id=story.id, limit=SHELF * 4)
            scenes = await query_scenes(canon, caller, asked, universe_id=desk.space.id)
            stories.append((story, scenes.items))
    return {
        "space": space,
        "types": sorted(types.items(), key=lambda each: (-each[1], each[0])),
        "entities": await rows_of(desk, newest.items),
        "total": newest.total,
        "stories": stories,
    }


async def entity_types(desk: Desk) -> Mapping[str, int]:
    """Return the number of entities of each type in the space of a call."""
    return await desk.canon.state.entity_types(frozenset((desk.space.id,)))


FOUND_MAX: Final = 50


async def search(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the results of a search with the filters of the page."""
    desk = await desk_of(canon, caller, arguments, "about")
    named = arguments.get("about")
    entity = None if named is None else await desk.entity(named, path="/about")
    text = arguments["text"]
    asked = frozenset(FoundKind(each) for each in arguments.get("kinds", ()) if each in _KINDS)
    found = await find_things(
        desk.canon,
        ThingSearch(
            space=desk.space.id,
            text=text,
            kinds=asked or frozenset(FoundKind),
            about=frozenset() if entity is None else family_of(entity),
            entity_type=arguments.get("type"),
            limit=FOUND_MAX,
        ),
    )
    rows = await rows_of(desk, (thing for thing, _ in found.found))
    words = {stem: word for word in text.split() for stem in stems_of(word)}
    return {
        "space": await place_of(desk),
        "hits": [
            {"row": row, "strength": round(strength * 100), "words": _shared(words, row)}
            for row, (_, strength) in zip(rows, found.found, strict=True)
        ],
        "kinds": Counter(row["kind"] for row in rows).most_common(),
        "types": Counter(row["type"] for row in rows if row["kind"] == "entity").most_common(),
        "known_types": sorted(await entity_types(desk)),
        "searched": found.degraded,
        "truncated": found.truncated,
    }


_KINDS: Final = frozenset(FoundKind)


def _shared(words: dict[str, str], row: Row) -> tuple[str, ...]:
    """Return the words of the question that occur in a row in any form."""
    told = " ".join(str(row.get(name, "")) for name in ("name", "says", "type", "about", "tags"))
    there = set(stems_of(told))
    return tuple(dict.fromkeys(word for stem, word in words.items() if stem in there))

"""Finding: what a search of a space found, by which of its words, and what else narrows it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.assistant.desk import desk_of, known_at
from canonry.assistant.rows import Row, rows_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.views.places import SpaceSeen, entity_types, place_of
from canonry.language.texts.stems import stems_of
from canonry.log.items.entities import family_of
from canonry.recall.usecases.find_things import FoundKind, ThingSearch, find_things

FOUND_MAX: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class HitSeen:
    """A row with its strength of 100, and the words of the question that stand in it."""

    row: Row
    strength: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSeen:
    """What was found; `kinds` and `types` count it, so that it can be narrowed."""

    space: SpaceSeen
    hits: Sequence[HitSeen]
    kinds: Sequence[tuple[str, int]]
    types: Sequence[tuple[str, int]]
    known_types: Sequence[str]
    searched: tuple[str, ...]
    truncated: bool


async def search(canon: Canon, caller: Caller, arguments: Arguments) -> SearchSeen:
    """What words find, by whatever the page narrows it."""
    desk = await desk_of(canon, caller, arguments, "about")
    named = arguments.get("about")
    entity = None if named is None else await desk.entity(named, path="/about")
    text = arguments["text"]
    asked = frozenset(FoundKind(each) for each in arguments.get("kinds", ()) if each in _KINDS)
    found = await find_things(
        canon,
        ThingSearch(
            space=desk.space.id,
            text=text,
            kinds=asked or frozenset(FoundKind),
            about=frozenset() if entity is None else family_of(entity),
            entity_type=arguments.get("type"),
            at=await desk.time(arguments, "at"),
            known_at=known_at(arguments),
            limit=FOUND_MAX,
        ),
    )
    rows = await rows_of(desk, (thing for thing, _ in found.found))
    words = {stem: word for word in text.split() for stem in stems_of(word)}
    return SearchSeen(
        space=await place_of(desk),
        hits=[
            HitSeen(row=row, strength=round(strength * 100), words=_shared(words, row))
            for row, (_, strength) in zip(rows, found.found, strict=True)
        ],
        kinds=Counter(row["kind"] for row in rows).most_common(),
        types=Counter(row["type"] for row in rows if row["kind"] == "entity").most_common(),
        known_types=sorted(await entity_types(desk)),
        searched=found.degraded,
        truncated=found.truncated,
    )


_KINDS: Final = frozenset(FoundKind)


def _shared(words: dict[str, str], row: Row) -> tuple[str, ...]:
    """Those words of the question that stand in a row in any of their forms."""
    told = " ".join(str(row.get(name, "")) for name in ("name", "says", "type", "about", "tags"))
    there = set(stems_of(told))
    return tuple(dict.fromkeys(word for stem, word in words.items() if stem in there))

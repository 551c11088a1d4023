"""Merge edits of a world, and keep its ids."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, TypeVar
from unicodedata import category

from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, SpaceId, content_id, is_uuid
from canonry.values.json_values import decode_json, encode_json, read_value
from canonry.world.domain.atlas import Atlas, Item, Mover, Place, Realm, Route

# Merging: what differs between two files of a world, and what two that grew from one amount to.
#
# Parts are known by their keys, exits by their direction, and lists of words are sets, so that two
# hands that worked in different places, or on different fields, never stand in each other's way.

_NAMED_BY: Final = ("key", "direction")
_ABSENT: Final = object()


class _Keyed(dict[str, Any]):
    """A list whose items have names, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One value that differs, by its path of keys; None where there is none."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedAtlas:
    """One world of two; where both say otherwise, `ours` stands and `conflicts` tell of it."""

    atlas: Atlas
    conflicts: tuple[Difference, ...]


def differences(before: Atlas, after: Atlas) -> list[Difference]:
    """What one world says otherwise than another, in the order of the paths."""
    found = _different(_tree(before), _tree(after), "")
    return sorted(found, key=lambda each: each.path)


def merged(base: Atlas, ours: Atlas, theirs: Atlas) -> MergedAtlas:
    """The world with the changes of both since the one that they grew from.

    A part that one side removed and the other changed is a conflict, too.
    """
    conflicts: list[Difference] = []
    tree = _joined(_tree(base), _tree(ours), _tree(theirs), "", conflicts)
    conflicts.sort(key=lambda each: each.path)
    return MergedAtlas(atlas=read_value(_plain(tree), Atlas), conflicts=tuple(conflicts))


def _tree(atlas: Atlas) -> dict[str, Any]:
    tree: dict[str, Any] = _indexed(decode_json(encode_json(atlas)))
    return tree


def _indexed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _indexed(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if all(isinstance(each, str) for each in value):
        return _Keyed({each: each for each in value})
    names = [_name_of(each) for each in value]
    if None in names or len(set(names)) < len(names):
        return value  # a road's stops, a lore's versions: their order is what they say
    return _Keyed({str(name): _indexed(each) for name, each in zip(names, value, strict=True)})


def _name_of(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return None
    return next((str(value[each]) for each in _NAMED_BY if each in value), None)


def _plain(tree: Any) -> Any:
    if isinstance(tree, _Keyed):
        return [_plain(each) for each in tree.values()]
    if isinstance(tree, dict):
        return {name: _plain(each) for name, each in tree.items()}
    return tree


def _names(*trees: Mapping[str, Any]) -> Sequence[str]:
    return list(dict.fromkeys(name for tree in trees for name in tree))


def _different(before: Any, after: Any, path: str) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in _names(before, after):
            one, other = before.get(name, _ABSENT), after.get(name, _ABSENT)
            yield from _different(one, other, f"{path}/{name}")
    elif before != after:
        yield Difference(path=path, before=_told(before), after=_told(after))


def _told(value: Any) -> Any:
    return None if value is _ABSENT else _plain(value)


def _joined(base: Any, ours: Any, theirs: Any, path: str, conflicts: list[Difference]) -> Any:
    if theirs in (ours, base):
        return ours
    if base == ours:
        return theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        before = base if isinstance(base, dict) else {}
        made = type(ours)()
        for name in _names(ours, theirs):
            one, other = ours.get(name, _ABSENT), theirs.get(name, _ABSENT)
            value = _joined(before.get(name, _ABSENT), one, other, f"{path}/{name}", conflicts)
            if value is not _ABSENT:
                made[name] = value
        return made
    conflicts.append(Difference(path=path, before=_told(ours), after=_told(theirs)))
    return ours


P = TypeVar("P", Place, Realm, Mover, Item)


def omitted(atlas: Atlas, gone: frozenset[str]) -> Atlas:
    """The atlas without the locations, realms, movers and items of these keys.

    Who or what was to be with one of them is at the starter instead; an event stays, and a route
    leads only between those of its stops that stay and follow on each other.
    """
    if not gone:
        return atlas

    def left(keys: Iterable[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key not in gone)

    def kept(parts: Iterable[P]) -> Iterator[P]:
        return (part for part in parts if part.key not in gone)

    def moved(movers: Iterable[Mover]) -> tuple[Mover, ...]:
        return tuple(replace(each, location=there(each.location)) for each in kept(movers))

    def there(key: str) -> str:
        return atlas.starter if key in gone else key

    return replace(
        atlas,
        realms=tuple(
            replace(each, within=left(each.within), **_ties(each, left))
            for each in kept(atlas.realms)
        ),
        locations=tuple(
            replace(
                each,
                realms=left(each.realms),
                exits=tuple(way for way in each.exits if gone.isdisjoint({way.to, way.requires})),
                **_ties(each, left),
            )
            for each in kept(atlas.locations)
        ),
        routes=tuple(part for route in atlas.routes for part in _parts(route, gone)),
        characters=moved(atlas.characters),
        players=moved(atlas.players),
        items=tuple(replace(each, holder=there(each.holder)) for each in kept(atlas.items)),
        layers=tuple(layer for layer in atlas.layers if layer.scope not in gone),
        events=tuple(
            replace(
                each,
                location=None if each.location in gone else each.location,
                participants=left(each.participants),
            )
            for each in atlas.events
        ),
    )


def _ties(part: Realm | Place, left: Callable[[Iterable[str]], tuple[str, ...]]) -> dict[str, Any]:
    return {tie.value: left(keys) for tie, keys in part.ties.items()}


def _parts(route: Route, gone: frozenset[str]) -> Iterator[Route]:
    for away, stops in groupby(route.stops, key=gone.__contains__):
        part = tuple(stops)
        if not away and len(part) > 1:
            yield replace(route, stops=part)


WORLD_KEY = "#world"
"""The key of the entity that holds a world's clock and its defaults; no file can use it."""


def is_key(text: str) -> bool:
    """Whether a thing can be named so: on one line without control characters or a # before it."""
    if not text or text != text.strip() or text[0] == "#":
        return False
    return text.splitlines() == [text] and all(category(sign) != "Cc" for sign in text)


def checked_key(text: str, *, path: str) -> str:
    """`text`, if a thing can be named so.

    Raises:
        InvalidInput: `key.malformed`.
    """
    if not is_key(text):
        message = "a key is a text on one line that neither begins with # nor with a space"
        raise InvalidInput("key.malformed", message, path=path)
    return text


def world_id_of(name: str) -> SpaceId:
    """The id of the world that a file without an id describes."""
    return SpaceId(content_id(f"world/{name}"))


def thing_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of the thing with this key; a key that is an id already stays as it is."""
    return EntityId(key.lower() if is_uuid(key) else content_id(f"{space}/thing/{key}"))


def layer_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of a layer; layers and lore have names of their own beside those of places."""
    return EntityId(key.lower() if is_uuid(key) else content_id(f"{space}/layer/{key}"))


def lore_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of the entity that holds all versions of a fact of lore."""
    return EntityId(content_id(f"{space}/lore/{key}"))


def event_id_of(space: SpaceId, key: str) -> str:
    """The id of an event that a file describes."""
    return key.lower() if is_uuid(key) else content_id(f"{space}/event/{key}")

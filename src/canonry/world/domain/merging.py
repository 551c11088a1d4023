"""Merging: what differs between two files of a world, and what two that grew from one amount to.

Parts are known by their keys, exits by their direction, and lists of words are sets, so that two
hands that worked in different places, or on different fields, never stand in each other's way.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.values.json_values import decode_json, encode_json, read_value
from canonry.world.domain.atlas import Atlas

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

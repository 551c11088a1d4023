"""Portraits: the snapshot of an entity as one text, by which recall finds the entity.

One rule makes them for every kind of entity: its names, its descriptions, then every other field
after its name. A table of the vocabulary says which field is which. State tags are left out: a
query finds them exactly, they change in every scene, and indexing an entity at each change would
double the cost of that change.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative_fields import (
    FRAGMENT_PREFIX,
    PROPERTY_PREFIX,
    STATE_TAGS,
    policy_of,
)
from canonry.log.schemas.portrait_fields import NAMES, OTHER_NAMES, PROSE, SILENT
from canonry.values.snapshots import Accumulator

PORTRAIT_MAX: Final = 20_000
"""The longest portrait in characters."""

_CALLED: Final = (*NAMES, *OTHER_NAMES)
_TOLD_FIRST: Final = frozenset((*_CALLED, *PROSE))
_DEPTH_MAX: Final = 4
_FIGURES: Final = (int, float)
_SINGLE: Final = (str, *_FIGURES)
_CODE_MIN: Final = 32
_CODE: Final = re.compile(r"[0-9a-f-]{32,}", re.IGNORECASE)  # ids and digests say nothing


def portrait(entity: Entity) -> str:
    """The text; empty where the snapshot says nothing."""
    return "\n".join(_lines(entity))[:PORTRAIT_MAX]


def is_portrayed(entity: Entity) -> bool:
    """Whether the portrait would hold any text; far cheaper than making it."""
    return any(line.strip() for line in _lines(entity))


def names_of(entity: Entity) -> tuple[str, ...]:
    """All names of an entity, the one that it has now first.

    After a merger that may be a name of the other entity; its own is kept beside it.
    """
    return _names(entity, _fields(entity.snapshot, _CALLED))


def _lines(entity: Entity) -> Iterator[str]:
    fields = _fields(entity.snapshot)
    names = _names(entity, fields)
    if names:
        yield _headline(names, _spoken(entity.entity_type))
    prose = (fields[name] for name in PROSE if name in fields)
    yield from dict.fromkeys(text for each in prose for text in _words(each))
    for name in sorted(fields.keys() - _TOLD_FIRST):
        if line := _line_of(name, fields[name]):
            yield line


def _names(entity: Entity, fields: Mapping[str, Any]) -> tuple[str, ...]:
    snapshots = (fields, _fields(entity.own)) if entity.members else (fields,)
    names = (each[name] for each in snapshots for name in _CALLED if name in each)
    return tuple(dict.fromkeys(text for name in names for text in _words(name)))


def _fields(snapshot: Accumulator, asked: Container[str] | None = None) -> Mapping[str, Any]:
    """The fields that say something, or those `asked` for, without the prefix of properties.

    What was kept unread is told as it stands, where nothing was read in its place.
    """
    shown: dict[str, Any] = {}
    for place, elements in snapshot.items():
        unread = place.startswith(FRAGMENT_PREFIX)
        name = place.removeprefix(FRAGMENT_PREFIX if unread else PROPERTY_PREFIX)
        if asked is not None and (unread or name not in asked):
            continue
        if place != STATE_TAGS and elements and not _is_silent(name):
            value = policy_of(place).show(elements)
            if unread and isinstance(value, Mapping):
                shown.setdefault(name, value.get("value"))
            else:
                shown[name] = value
    return shown


def _headline(names: Sequence[str], kind: str) -> str:
    others = f" ({', '.join(names[1:])})" if names[1:] else ""
    return f"{names[0]}{others}: {kind}"


def _line_of(name: str, value: Any, depth: int = 0) -> str:
    """A field after its name; of a yes the name alone, of a no nothing."""
    if value is True:
        return _spoken(name)
    words = _word(value) if isinstance(value, _SINGLE) else ", ".join(_words(value, depth))
    return f"{_spoken(name)}: {words}" if words else ""


def _words(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts and figures in a value, however deep."""
    match value:
        case Mapping() if depth < _DEPTH_MAX:
            for name, part in sorted(value.items()):
                if not _is_silent(name) and (line := _line_of(name, part, depth + 1)):
                    yield line
        case list() | tuple() if depth < _DEPTH_MAX:
            for part in value:
                yield from _words(part, depth + 1)
        case _ if text := _word(value):
            yield text
        case _:
            return


def _word(value: Any) -> str:
    """The text of a text or figure that says something; empty for everything else."""
    if isinstance(value, str):
        text = value.strip()
        return "" if len(text) >= _CODE_MIN and _CODE.fullmatch(text) else text
    return str(value) if isinstance(value, _FIGURES) and not isinstance(value, bool) else ""


def _is_silent(name: str) -> bool:
    return name in SILENT or name.startswith("_")


def _spoken(name: str) -> str:
    return str(name).replace("_", " ")

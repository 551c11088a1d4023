"""Portraits: what an entity's snapshot says as one text, by which recall finds it.

One rule serves every kind of entity: its names, what is written about it, and every other field
with its name. Which field is which stands in a table of the vocabulary. State tags are left out:
they change in every scene, a query finds them exactly, and indexing an entity anew at each change
would double what the change costs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.domain.entities import Entity
from canonry.domain.snapshots import Accumulator
from canonry.domain.vocabularies.narrative_fields import PROPERTY_PREFIX, STATE_TAGS, policy_of
from canonry.domain.vocabularies.portrait_fields import NAMES, OTHER_NAMES, PROSE, SILENT

PORTRAIT_MAX: Final = 20_000
"""The longest portrait in characters."""

_DEPTH_MAX: Final = 4
_CODE: Final = re.compile(r"[0-9a-f-]{32,}", re.IGNORECASE)  # ids and digests say nothing


def portrait(entity: Entity) -> str:
    """The text; empty where the snapshot says nothing."""
    fields = _fields(entity.snapshot)
    names = names_of(entity)
    lines = [_headline(names, _spoken(entity.entity_type))] if names else []
    lines += [text for name in PROSE for text in _words(fields.get(name))]
    told = {*NAMES, *OTHER_NAMES, *PROSE}
    for name, value in sorted(fields.items()):
        if name not in told:
            lines += _told(name, value)
    return "\n".join(lines)[:PORTRAIT_MAX]


def names_of(entity: Entity) -> tuple[str, ...]:
    """All that an entity is called, its name first.

    One that others were merged into may bear a name of theirs, and keeps its own beside it.
    """
    told = (_fields(entity.snapshot), _fields(entity.own) if entity.members else {})
    names = (fields.get(name) for fields in told for name in (*NAMES, *OTHER_NAMES))
    return tuple(dict.fromkeys(text for name in names for text in _words(name)))


def _fields(snapshot: Accumulator) -> Mapping[str, Any]:
    """The fields that say something, without the prefix of properties."""
    shown = {
        name.removeprefix(PROPERTY_PREFIX): policy_of(name).show(elements)
        for name, elements in snapshot.items()
        if name != STATE_TAGS and elements
    }
    return {name: value for name, value in shown.items() if not _is_silent(name)}


def _headline(names: Sequence[str], kind: str) -> str:
    others = f" ({', '.join(names[1:])})" if names[1:] else ""
    return f"{names[0]}{others}: {kind}"


def _told(name: str, value: Any, depth: int = 0) -> Iterator[str]:
    """A field with its name; one that only holds or not is its name, or nothing."""
    if value is True:
        yield _spoken(name)
    elif words := ", ".join(_words(value, depth)):
        yield f"{_spoken(name)}: {words}"


def _words(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts and figures in a value, however deep."""
    match value:
        case str() if (text := value.strip()) and not _CODE.fullmatch(text):
            yield text
        case int() | float() if not isinstance(value, bool):
            yield str(value)
        case Mapping() if depth < _DEPTH_MAX:
            for name, part in sorted(value.items()):
                if not _is_silent(name):
                    yield from _told(name, part, depth + 1)
        case list() | tuple() if depth < _DEPTH_MAX:
            for part in value:
                yield from _words(part, depth + 1)
        case _:
            return


def _is_silent(name: str) -> bool:
    return name in SILENT or name.startswith("_")


def _spoken(name: str) -> str:
    return str(name).replace("_", " ")

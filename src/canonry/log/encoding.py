"""The encoding of entries, and upcasters for older encodings."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final

import msgspec

from canonry.log.entries import (
    CHANGE_KINDS,
    STAMPED,
    THING_KINDS,
    Entry,
    Made,
    ProposalDecided,
    Thing,
)
from canonry.log.items.proposals import Decision
from canonry.log.items.scenes import Scene, SceneDraft, Turn, TurnDraft
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import spread
from canonry.values.observations import Observation

ENCODING_VERSION: Final = 3
"""The version that this Canonry writes."""

MIN_READER: Final = 3
"""The oldest Canonry encoding that may still write into a store which this one has written."""

Upcaster = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""(kind, payload of version n) -> payload of version n + 1."""


def _as_it_is(_kind: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fields that only a later version knows keep their default values."""
    return payload


# Version 2 says where in the stories a thing was told; older ones are at no place. Version 3 says
# who may see a thing; older ones are seen by everybody.
UPCASTERS: Final[Mapping[int, Upcaster]] = {1: _as_it_is, 2: _as_it_is}
"""From which version each step lifts; a golden file in the tests holds every version."""


def upcast(
    kind: str,
    version: int,
    payload: Mapping[str, Any],
    *,
    steps: Mapping[int, Upcaster] = UPCASTERS,
    target: int = ENCODING_VERSION,
) -> Mapping[str, Any]:
    """Lift `payload` from `version` to `target`, one step at a time.

    Raises:
        BrokenInvariant: `encoding.newer`, it was written by a later Canonry.
    """
    if version > target:
        message = f"a {kind} was written by a later version of Canonry; update this one"
        raise BrokenInvariant("encoding.newer", message, kind=kind, version=version)
    for step in range(version, target):
        payload = steps[step](kind, payload)
    return payload


# The one stored form of every domain value: JSON, tagged with a kind and an encoding version.
#
# Stored bytes are never rewritten. When a value changes shape, `ENCODING_VERSION` grows and a pure
# upcaster in `canonry.log.encoding` lifts the old form as it is read.

_MADE: Final = {f"{THING_KINDS[born]}.made": draft for draft, born in STAMPED.items()}
_CHANGES: Final = {kind: change for change, kind in CHANGE_KINDS.items()}
_KINDS: Final = {kind: born for born, kind in THING_KINDS.items()}

_FIRST: Final[dict[type, tuple[str, ...]]] = {
    Observation: (
        *("id", "space", "entity_id", "fields", "authority", "confidence", "evidence"),
        *("observed_at", "recorded_at"),
    ),
    Turn: ("id", "space", "scene_id", "index"),
}
"""What is stored first of a thing that has a stamp amid what its author knows."""

_encoder: Final = msgspec.json.Encoder()
_decoders: Final[dict[type, msgspec.json.Decoder[Any]]] = {}


def kind_of(entry: Entry) -> str:
    """The stored name of an entry's kind, such as `fact.made` or `scene.completed`."""
    if isinstance(entry, Made):
        return f"{THING_KINDS[STAMPED[type(entry.thing)]]}.made"
    return CHANGE_KINDS[type(entry)]


def encode_entry(entry: Entry) -> bytes:
    """The payload of an entry; its kind and version are stored beside it."""
    match entry:
        case Made(thing=draft):
            return _encoder.encode(_briefly(_room(STAMPED[type(draft)]) | spread(draft), draft))
        case ProposalDecided(decision=decision):
            return _encoder.encode(spread(entry) | {"decision": _room(Decision) | spread(decision)})
        case _:
            return _encoder.encode(entry)


def decode_entry(kind: str, version: int, payload: bytes) -> Entry:
    """The inverse of `encode_entry`, for every version ever written.

    Raises:
        BrokenInvariant: `encoding.unknown-kind` or `encoding.unreadable`.
    """
    born = _MADE.get(kind)
    target = born or _CHANGES.get(kind)
    if target is None:
        message = f"this version of Canonry does not know entries of the kind {kind}"
        raise BrokenInvariant("encoding.unknown-kind", message, kind=kind)
    value = _decode(target, kind, version, payload)
    return Made(thing=value) if born else value


def encode_thing(thing: Thing) -> bytes:
    """A thing as views store it."""
    kind: Any = type(thing)
    if kind in _FIRST:
        return _encoder.encode(_briefly(_room(kind) | spread(thing), thing))
    return _encoder.encode(_briefly(spread(thing), thing) if kind is Scene else thing)


def _briefly(said: dict[str, Any], thing: Any) -> dict[str, Any]:
    """The fields of a turn or scene without an audience of everybody.

    Turns are the commonest things by far, and are stored as they were before they had one.
    """
    if isinstance(thing, TurnDraft | SceneDraft) and not thing.audience:
        del said["audience"]
    return said


def decode_thing(
    kind: str, payload: bytes, version: int = ENCODING_VERSION, *, part: type | None = None
) -> Any:
    """The thing of `kind` (see `THING_KINDS`) that `payload` holds.

    Of a thing in the present encoding `part` may name a type with some of its fields instead.
    """
    return _decode(part or _KINDS[kind], kind, version, payload)


@cache
def _room(kind: type[Any]) -> dict[str, Any]:
    """The fields of `kind` in their stored order: zero where the log stamps, else as it begins."""
    blank = kind(**{each.name: 0 for each in fields(kind) if each.default is each.default_factory})
    return dict.fromkeys(_FIRST.get(kind, ()), 0) | spread(blank)


def _decode(target: type, kind: str, version: int, payload: bytes) -> Any:
    decoder = _decoders.get(target)
    if decoder is None:
        decoder = _decoders[target] = msgspec.json.Decoder(target)
    try:
        if version == ENCODING_VERSION:
            return decoder.decode(payload)
        raw = upcast(kind, version, msgspec.json.decode(payload))
        return msgspec.convert(raw, target)
    except msgspec.MsgspecError as error:
        message = f"a stored {kind} of encoding version {version} cannot be read"
        raise BrokenInvariant("encoding.unreadable", message, kind=kind) from error

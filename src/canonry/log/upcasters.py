"""Upcasters: pure steps that lift a stored payload from one encoding version to the next."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from canonry.values.errors import BrokenInvariant

ENCODING_VERSION: Final = 3
"""The version that this Canonry writes."""

MIN_READER: Final = 3
"""The oldest Canonry encoding that may still write into a store which this one has written."""

Upcaster = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""(kind, payload of version n) -> payload of version n + 1."""


def _without_places(_kind: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 2 says where in the stories a thing was told; older ones are at no place."""
    return payload


def _for_everybody(_kind: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Version 3 says who may see a thing; older ones are seen by everybody."""
    return payload


UPCASTERS: Final[Mapping[int, Upcaster]] = {1: _without_places, 2: _for_everybody}
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

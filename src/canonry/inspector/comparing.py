"""Comparing: what is different between two rows of the same thing, field by field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_LISTS: Final = {
    "facts": "fact",
    "relations": "relation",
    "turns_said": "turn",
    "passages": "passage",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """A field with its two values; None: there is none on that side. `id`: a thing beside it."""

    field: str
    id: str
    one: Any
    other: Any

    @property
    def same(self) -> bool:
        """Whether both sides say the same."""
        return bool(self.one == self.other)


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[DifferenceRow]:
    """Every field of either, in the order of the first; members of `fields` by their own names."""
    sides = dict(_flat(one)), dict(_flat(other))
    keys = dict.fromkeys([*sides[0], *sides[1]])
    return [
        DifferenceRow(field=field, id=thing, one=sides[0].get(key), other=sides[1].get(key))
        for key in keys
        for field, thing in (key,)
    ]


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Any]]:
    for name, value in row.items():
        if name == "fields" and isinstance(value, Mapping):
            yield from (((field, ""), each) for field, each in value.items())
        elif name in _LISTS:
            yield from (((_LISTS[name], each["id"]), each["says"]) for each in value)
        elif name not in {"hint", "id", "space"}:
            yield (name, ""), value

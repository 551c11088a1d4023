"""Statements: what somebody asserts of a subject, in one form for words, relations and states."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from math import inf
from typing import Any, Final

AHEAD: Final = "ahead"  # the qualifier of a change that is still to come: leaves tomorrow
PHRASE: Final = "~"
"""The first character of a subject or value that is a phrase instead of an entity's id.

A phrase is a head with its modifiers in alphabetical order: `~captain of:petrel`, `~cloak red`.
"""


def timeline_key(subject: str, attribute: str) -> str:
    """Return the key of all statements about a subject and an attribute."""
    return f"timeline:{subject}:{attribute}"


class Phase(StrEnum):
    """The relation of a value to the statement's own moment: before, at or after it."""

    IS = "is"
    BEGINS = "begins"
    ENDS = "ends"
    WAS = "was"


class Modality(StrEnum):
    """The certainty with which a statement is made; only an asserted one can hold."""

    ASSERTED = "asserted"
    PLANNED = "planned"
    POSSIBLE = "possible"
    REPORTED = "reported"
    BELIEVED = "believed"
    HYPOTHETICAL = "hypothetical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number of a unit, as the range that the words leave.

    `low` and `high` are in the base unit of `dimension` ("" is a plain number): metres, kilograms,
    seconds. `step` is the rounding of the figure. An approximate figure is `about`.
    """

    low: float = -inf
    high: float = inf
    dimension: str = ""
    step: float = 0.0
    about: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the members that differ from their defaults; an open end is absent."""
        return _changed_members(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Quantity":
        """Return the quantity that `to_json` wrote."""
        return cls(**_known_members(cls, data))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One assertion: a value of an attribute of a subject holds, or does not hold.

    `subject` and `value` are ids of entities, words of the attribute, or phrases (see `PHRASE`);
    None as a value is "any value" where `holds` is false, and "some value" where it is true.
    `phase` says whether the value holds, begins, ends or held before. `quantifier` is "", `all`,
    `some`, `only` (this value and no other) or `sole` (this subject and no other). `qualifiers`
    narrow the statement: words such as `night` or `in:east_wing`. A statement that follows from
    another one is `implied`. `when` is the point of time that the words name, such as `1402`.
    """

    subject: str
    attribute: str
    value: str | Quantity | None = None
    holds: bool = True
    phase: Phase = Phase.IS
    modality: Modality = Modality.ASSERTED
    quantifier: str = ""
    qualifiers: frozenset[str] = frozenset()
    when: str = ""
    implied: bool = False

    @property
    def as_asserted(self) -> "Statement":
        """Return a plan as it is from its time on."""
        return replace(self, modality=Modality.ASSERTED)

    @property
    def value_key(self) -> str | None:
        """Return the key that statements of this value share; None for quantities and none."""
        return f"value:{self.attribute}:{self.value}" if isinstance(self.value, str) else None

    @property
    def holds_then(self) -> bool | None:
        """Return whether the value holds at the statement's moment; None if the words leave it.

        A value that ends does not hold any more. A plan or a report never holds by itself.
        """
        if self.modality is not Modality.ASSERTED or self.phase is Phase.WAS:
            return None
        return self.holds is (self.phase is not Phase.ENDS)

    @property
    def index_keys(self) -> tuple[str, ...]:
        """Return the keys under which a claim finds it: its timeline, and its value.

        A statement that excludes all other subjects has a key for that, too.
        """
        keys = (timeline_key(self.subject, self.attribute), self.value_key, self.sole_key)
        return tuple(key for key in keys if key is not None)

    @property
    def sole_key(self) -> str | None:
        """Return the key of statements that only this subject has the value; None for others."""
        sole = self.quantifier == "sole" and isinstance(self.value, str)
        return f"sole:{self.attribute}:{self.value}" if sole else None

    def to_json(self) -> dict[str, Any]:
        """Return the members that differ from their defaults."""
        found = _changed_members(self)
        if isinstance(self.value, Quantity):
            found["value"] = self.value.to_json()
        if self.qualifiers:
            found["qualifiers"] = sorted(self.qualifiers)
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Statement":
        """Return the statement that `to_json` wrote."""
        value = data.get("value")
        members = {
            **_known_members(cls, data),
            "value": Quantity.from_json(value) if isinstance(value, Mapping) else value,
            "phase": Phase(data.get("phase", "is")),
            "modality": Modality(data.get("modality", "asserted")),
            "qualifiers": frozenset(data.get("qualifiers", ())),
        }
        return cls(**members)


def _changed_members(item: "Quantity | Statement") -> dict[str, Any]:
    members = ((each, getattr(item, each.name)) for each in fields(item))
    return {
        each.name: value.value if isinstance(value, StrEnum) else value
        for each, value in members
        if value != each.default
    }


def _known_members(kind: type[Quantity | Statement], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that this version knows; a later one can have written more."""
    return {each.name: data[each.name] for each in fields(kind) if each.name in data}

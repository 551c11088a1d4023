"""Rules as reference: entries by kind and name, and what a spell asks of whoever casts it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canonry.language.texts.stems import asked_stems, stems_of


class RuleKind(StrEnum):
    """What an entry is about."""

    SPELL = "spell"
    MONSTER = "monster"
    EQUIPMENT = "equipment"
    CONDITION = "condition"
    RULE = "rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEntry:
    """An entry: its text, and its values as JSON."""

    kind: RuleKind
    id: str
    name: str
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)


def excerpt_of(entry: RuleEntry, query: str, length: int) -> str:
    """The text of an entry from the line on that has most of the words asked for."""
    asked = frozenset(asked_stems(query))
    lines = entry.text.splitlines() or [""]
    best = max(range(len(lines)), key=lambda at: (len(asked & {*stems_of(lines[at])}), -at))
    return "\n".join(lines[best:])[:length]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caster:
    """Who would cast: their state as the world has it, and the marks of the place around them.

    `spells` None: nobody has written down which they know; so with `slots`, by level.
    """

    alive: bool
    conditions: frozenset[str]
    marks: frozenset[str]
    held: tuple[str, ...]
    spells: frozenset[str] | None = None
    slots: Mapping[str, int] | None = None


_HELPLESS: Final = frozenset({"incapacitated", "paralyzed", "petrified", "stunned", "unconscious"})
_SILENT: Final = frozenset({"silence", "silenced", "gagged", "mute"})
_BOUND: Final = frozenset({"bound", "shackled", "hands-bound"})
_NO_MAGIC: Final = frozenset({"antimagic", "anti-magic", "no-magic", "magic-dead"})


def objections(spell: RuleEntry, caster: Caster) -> tuple[str, ...]:
    """Why a spell cannot be cast here and now; none where it can."""
    needs = frozenset(spell.details.get("components", ()))
    here = caster.conditions | caster.marks
    found = [f"the caster is {each}" for each in sorted(caster.conditions & _HELPLESS)]
    if not caster.alive:
        found.insert(0, "the caster is dead")
    if caster.marks & _NO_MAGIC:
        found.append("no magic works in this place")
    if "V" in needs and here & _SILENT:
        found.append("it has to be spoken, and there is silence")
    if "S" in needs and caster.conditions & _BOUND:
        found.append("it needs a free hand")
    if caster.spells is not None and spell.name.casefold() not in caster.spells:
        found.append("the caster does not know this spell")
    level = spell.details.get("level", 0)
    if level and caster.slots is not None and not _slot(caster.slots, int(level)):
        found.append(f"no slot of level {level} or higher is left")
    if "M" in needs and (dear := _dear(spell)) and not _holds(caster.held, dear):
        found.append(f"it uses up or needs what is worth money, and is not at hand: {dear}")
    return tuple(found)


def _slot(slots: Mapping[str, int], level: int) -> bool:
    return any(left > 0 and told.isdecimal() and int(told) >= level for told, left in slots.items())


def _dear(spell: RuleEntry) -> str:
    """The material with a price, which no pouch holds."""
    material = str(spell.details.get("material") or "")
    return material if " worth " in material or " gp" in material else ""


def _holds(held: tuple[str, ...], material: str) -> bool:
    told = material.casefold()
    return any(name.casefold() in told for name in held)

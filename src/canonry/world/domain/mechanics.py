"""Dice and rules of play."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from itertools import count
from typing import Any, Final

from canonry.language.texts.stems import query_stems, stems_of
from canonry.values.errors import InvalidInput

# Dice. A roll depends on the seed, the expression and the number of the die alone.

EXPRESSION_MAX: Final = 100  # no rule book has longer expressions
DRAWN_MAX: Final = 1_000  # each die is hashed: bounds the time of a call
SIDES_MAX: Final = 1_000_000  # with 64 random bits, the remainder is almost unbiased
_TERM: Final = re.compile(
    r"(?P<sign>[+-])(?:(?P<dice>\d{0,4})d(?P<sides>\d{1,7}|%)(?:k(?P<end>[hl]?)(?P<kept>\d{1,4}))?"
    r"(?:\*(?P<times>\d{1,4}))?|(?P<plain>\d{1,9}))"
)
_PERCENT: Final = 100
_BYTES: Final = 8  # seeded rolls are repeatable: never change it


@dataclass(frozen=True, slots=True)
class DieRoll:
    """One die: how many sides it has, and what it shows."""

    sides: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """All dice that were rolled, in order, also those that were not kept, and the total."""

    rolls: tuple[DieRoll, ...]
    total: int
    seed: str


def roll_dice(expression: str, seed: str) -> Roll:
    """Evaluate a dice expression: sums of numbers and dice, optionally keeping the best.

    Raises:
        InvalidInput: `dice.malformed`, `dice.too-many`.
    """
    bare = "".join(expression.split()).casefold()
    plain = bare if bare.startswith(("+", "-")) else f"+{bare}"
    if len(expression) > EXPRESSION_MAX:
        raise _malformed_dice()
    drawn: list[DieRoll] = []
    numbers = random_numbers(f"{seed}/{plain}")
    total, at = 0, 0
    while at < len(plain):
        term = _TERM.match(plain, at)
        if term is None:
            raise _malformed_dice()
        total += (1 if term["sign"] == "+" else -1) * _roll_term(term, numbers, drawn)
        at = term.end()
    return Roll(rolls=tuple(drawn), total=total, seed=seed)


def _roll_term(term: re.Match[str], numbers: Iterator[int], drawn: list[DieRoll]) -> int:
    if term["plain"] is not None:
        return int(term["plain"])
    sides = _PERCENT if term["sides"] == "%" else int(term["sides"])
    dice = int(term["dice"] or 1)
    kept = dice if term["kept"] is None else int(term["kept"])
    if not 0 < sides <= SIDES_MAX or not 0 < kept <= dice:
        raise _malformed_dice()
    if len(drawn) + dice > DRAWN_MAX:
        message = f"The expression rolls more than {DRAWN_MAX} dice. Roll fewer at once."
        raise InvalidInput("dice.too-many", message, path="/expression")
    new_dice = [DieRoll(sides, next(numbers) % sides + 1) for _ in range(dice)]
    drawn += new_dice
    values = sorted((die.value for die in new_dice), reverse=term["end"] != "l")
    return sum(values[:kept]) * int(term["times"] or 1)


def random_numbers(seed: str) -> Iterator[int]:
    """Yield 64-bit numbers from the seed, equal on every machine."""
    seed_bytes = seed.encode("utf-8", "surrogatepass")
    for number in count():
        yield int.from_bytes(sha256(b"%d/" % number + seed_bytes).digest()[:_BYTES], "big")


def _malformed_dice() -> InvalidInput:
    message = "This is no dice expression. Write it like 2d6+3, 4d6kh3, 2d20kl1 or d%."
    return InvalidInput("dice.malformed", message, path="/expression")


class RuleKind(StrEnum):
    """Kind of a rulebook entry."""

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
    asked = frozenset(query_stems(query))
    lines = entry.text.splitlines() or [""]
    best = max(range(len(lines)), key=lambda at: (len(asked & {*stems_of(lines[at])}), -at))
    return "\n".join(lines[best:])[:length]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caster:
    """State of a caster and the marks of their location.

    `spells` None: the known spells are not recorded; likewise `slots`, by level.
    """

    alive: bool
    conditions: frozenset[str]
    marks: frozenset[str]
    held: tuple[str, ...]
    spells: frozenset[str] | None = None
    slots: Mapping[str, int] | None = None


_HELPLESS: Final = frozenset({"incapacitated", "paralyzed", "petrified", "stunned", "unconscious"})
_SILENT: Final = frozenset({"silence", "silenced", "gagged", "mute"})
_NO_MAGIC: Final = frozenset({"antimagic", "anti-magic", "no-magic", "magic-dead"})


def casting_objections(spell: RuleEntry, caster: Caster) -> tuple[str, ...]:
    """Why a spell cannot be cast here and now; none where it can."""
    needs = frozenset(spell.details.get("components", ()))
    here = caster.conditions | caster.marks
    found = [f"the caster is {each}" for each in sorted(caster.conditions & _HELPLESS)]
    if not caster.alive:
        found.insert(0, "the caster is dead")
    if caster.marks & _NO_MAGIC:
        found.append("magic does not work in this location")
    if "V" in needs and here & _SILENT:
        found.append("the spell must be spoken, and the caster is silenced")
    if "S" in needs and caster.conditions & {"bound", "shackled", "hands-bound"}:
        found.append("the spell needs a free hand")
    if caster.spells is not None and spell.name.casefold() not in caster.spells:
        found.append("the caster does not know this spell")
    level = spell.details.get("level", 0)
    if level and caster.slots is not None:
        left = [
            int(slot_level)
            for slot_level, n in caster.slots.items()
            if n > 0 and slot_level.isdecimal()
        ]
        if max(left, default=-1) < int(level):
            found.append(f"no slot of level {level} or higher is left")
    material = str(spell.details.get("material") or "")
    dear = " worth " in material or " gp" in material  # which no pouch holds
    at_hand = any(name.casefold() in material.casefold() for name in caster.held)
    if "M" in needs and dear and not at_hand:
        found.append(f"the caster lacks a material component: {material}")
    return tuple(found)

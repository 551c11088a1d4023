"""Dice: expressions such as 2d6+3 and 4d6kh3, rolled so that a seed always gives the same.

What is drawn is made of the seed, the expression and the number of the die alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Final

from canonry.values.errors import InvalidInput

EXPRESSION_MAX: Final = 100
DRAWN_MAX: Final = 1_000
SIDES_MAX: Final = 1_000_000
_TERM: Final = re.compile(
    r"(?P<sign>[+-])(?:(?P<dice>\d{0,4})d(?P<sides>\d{1,7}|%)(?:k(?P<end>[hl]?)(?P<kept>\d{1,4}))?"
    r"(?:\*(?P<times>\d{1,4}))?|(?P<plain>\d{1,9}))"
)
_PERCENT: Final = 100
_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Drawn:
    """One die: how many sides it has, and what it shows."""

    sides: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """All dice that were rolled, in order, also those that were not kept, and the total."""

    expression: str
    rolls: tuple[Drawn, ...]
    total: int
    seed: str


def roll(expression: str, seed: str) -> Roll:
    """What an expression comes to: sums of numbers and of dice, of which the best may be kept.

    Raises:
        InvalidInput: `dice.malformed`, `dice.too-many`.
    """
    told = "".join(expression.split()).casefold()
    plain = told if told.startswith(("+", "-")) else f"+{told}"
    if len(expression) > EXPRESSION_MAX:
        raise _malformed()
    drawn: list[Drawn] = []
    numbers = _numbers(f"{seed}/{plain}")
    total, at = 0, 0
    while at < len(plain):
        term = _TERM.match(plain, at)
        if term is None:
            raise _malformed()
        total += (1 if term["sign"] == "+" else -1) * _value(term, numbers, drawn)
        at = term.end()
    return Roll(expression=expression, rolls=tuple(drawn), total=total, seed=seed)


def _value(term: re.Match[str], numbers: Iterator[int], drawn: list[Drawn]) -> int:
    if term["plain"] is not None:
        return int(term["plain"])
    sides = _PERCENT if term["sides"] == "%" else int(term["sides"])
    dice = int(term["dice"] or 1)
    kept = dice if term["kept"] is None else int(term["kept"])
    if not 0 < sides <= SIDES_MAX or not 0 < kept <= dice:
        raise _malformed()
    if len(drawn) + dice > DRAWN_MAX:
        message = f"at most {DRAWN_MAX} dice are rolled at once"
        raise InvalidInput("dice.too-many", message, path="/expression")
    fallen = [Drawn(sides, next(numbers) % sides + 1) for _ in range(dice)]
    drawn += fallen
    values = sorted((die.value for die in fallen), reverse=term["end"] != "l")
    return sum(values[:kept]) * int(term["times"] or 1)


def _numbers(seed: str) -> Iterator[int]:
    """Numbers of 64 bits that follow from the seed, the same on every machine."""
    told = seed.encode("utf-8", "surrogatepass")
    for place in count():
        yield int.from_bytes(sha256(b"%d/" % place + told).digest()[:_BYTES], "big")


def _malformed() -> InvalidInput:
    message = "write dice as in 2d6+3, 4d6kh3, 2d20kl1 or d%"
    return InvalidInput("dice.malformed", message, path="/expression")

"""Quantities: a number with its bounds and its unit, and how two of them stand to each other."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import lru_cache
from math import isfinite
from typing import Final

from canonry.language.clauses.tokens import lemma
from canonry.language.words.frame_words import COINS, NUMBERS, SCALES, UNITS

ROUNDING: Final = 0.02
"""How far two measures may be apart after conversion and be the same; a share of the larger."""
NEAR: Final = 0.08
"""How far they may be apart and be rounded."""
ABOUT: Final = 0.06
"""How far what is not exact may be apart; a share of the smaller."""
EXACT: Final = 1e-9


class Measured(StrEnum):
    """How two quantities stand to each other."""

    SAME = "same"
    UNCLEAR = "unclear"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is counted or measured, from a least to a most; `about` where it is not exact."""

    low: float
    high: float
    about: bool = False
    unit: str = ""


_UNITS: Final = {lemma(unit): of for unit, of in UNITS.items()} | UNITS
_PLAIN: Final = ("", 1.0)
_COINS: Final = frozenset(map(lemma, COINS))


def unit_of(word: str) -> str:
    """The unit that a word or a stem names, empty where it names none."""
    stem = lemma(word)
    return word if word in _UNITS else stem if stem in _UNITS else ""


@lru_cache(maxsize=4096)
def is_coin(word: str) -> bool:
    """Whether the word names money, which has rates and no conversions."""
    return lemma(word) in _COINS


@lru_cache(maxsize=4096)
def number_of(word: str) -> float | None:
    """The number that a word says; None for another word."""
    if word in NUMBERS:
        return float(NUMBERS[word])
    if word[:1].isdigit():
        try:
            return float(Decimal(word.replace(":", ".").rstrip(".")))
        except InvalidOperation:
            return None
    return None


def scale_of(word: str) -> int | None:
    """By how much the word multiplies the number before it."""
    return SCALES.get(word)


def compared(one: Quantity, other: Quantity) -> Measured:
    """How two quantities of the same thing stand to each other."""
    first, second = _UNITS.get(one.unit, _PLAIN), _UNITS.get(other.unit, _PLAIN)
    if first[0] != second[0]:
        return Measured.UNCLEAR
    ends = [one.low * first[1], one.high * first[1], other.low * second[1], other.high * second[1]]
    gap = max(ends[2] - ends[1], ends[0] - ends[3])
    sizes = [abs(end) for end in ends if isfinite(end)]
    if gap <= EXACT * max(sizes):
        return Measured.SAME
    if one.about or other.about:
        return Measured.SAME if gap <= ABOUT * min(sizes) else Measured.UNCLEAR
    if one.unit == other.unit:
        return Measured.OTHER
    if gap <= ROUNDING * max(sizes):
        return Measured.SAME
    near = gap <= NEAR * max(sizes) or first[0] == "mile"
    return Measured.UNCLEAR if near else Measured.OTHER

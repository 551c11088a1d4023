"""Quantities: a number with its bounds and its unit, and how two of them stand to each other."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from math import inf
from typing import Final

from canonry.domain.frames.tokens import lemma
from canonry.domain.vocabularies.frame_words import COINS, NUMBERS, ORDINALS, SCALES, UNITS

ROUNDING: Final = 0.02
"""How far two units may be apart after conversion where nobody rounded."""
ABOUT: Final = 0.06


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
    digits: int = 0


_UNITS: Final = {lemma(unit): of for unit, of in UNITS.items()} | UNITS
_COINS: Final = frozenset(map(lemma, COINS))


def unit_of(word: str) -> str:
    """The unit that a word or a stem names, empty where it names none."""
    stem = lemma(word)
    return word if word in _UNITS else stem if stem in _UNITS else ""


def is_coin(word: str) -> bool:
    """Whether the word names money, which has rates and no conversions."""
    return lemma(word) in _COINS


def number_of(word: str) -> float | None:
    """The number that a word says; None for another word."""
    if word in NUMBERS:
        return float(NUMBERS[word])
    if word in ORDINALS:
        return None
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
    if one.unit != other.unit or one.unit or other.unit:
        return _measured(one, other)
    if one.about or other.about:
        return _about(one, other)
    return Measured.SAME if one.low <= other.high and other.low <= one.high else Measured.OTHER


def _measured(one: Quantity, other: Quantity) -> Measured:
    first, second = _UNITS.get(one.unit), _UNITS.get(other.unit)
    if first is None or second is None:
        return Measured.UNCLEAR
    if first[0] != second[0]:
        return Measured.UNCLEAR
    low, high = _scaled(one, first[1])
    other_low, other_high = _scaled(other, second[1])
    if one.about or other.about:
        return _about(
            Quantity(low=low, high=high, about=True), Quantity(low=other_low, high=other_high)
        )
    if one.unit == other.unit:
        same = low <= other_high * (1 + 1e-9) and other_low <= high * (1 + 1e-9)
        return Measured.SAME if same else Measured.OTHER
    slack = max(_slack(one) * first[1], _slack(other) * second[1])
    slack = min(slack, 0.04 * max(abs(low), abs(other_low)))
    gap = max(other_low - high, low - other_high)
    if gap <= max(slack, ROUNDING * max(abs(low), abs(other_low))):
        return Measured.SAME
    near = gap <= 0.08 * max(abs(low), abs(other_low))
    return Measured.UNCLEAR if near or first[0] == "mile" else Measured.OTHER


def _scaled(one: Quantity, factor: float) -> tuple[float, float]:
    return one.low * factor, one.high * factor


def _slack(one: Quantity) -> float:
    if one.low in (inf, -inf) or one.low != int(one.low):
        return 0.05
    number, step = int(abs(one.low)), 1
    while number and number % 10 == 0:
        number, step = number // 10, step * 10
    return step / 2


def _about(one: Quantity, other: Quantity) -> Measured:
    if one.low <= other.high and other.low <= one.high:
        return Measured.SAME
    gap = max(other.low - one.high, one.low - other.high)
    smaller = min(abs(one.low), abs(other.low), abs(one.high), abs(other.high)) or 1.0
    if gap <= ABOUT * smaller:
        return Measured.SAME
    return Measured.UNCLEAR

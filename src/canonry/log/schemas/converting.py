"""Converting: a value as somebody gave it becomes one of its field's type, or stays a fragment.

Nothing is rounded, rolled over or guessed: what cannot be taken exactly is kept as it came, with
the reason.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from canonry.log.schemas.schemas import FieldSpec, FieldType
from canonry.values.calendar_dates import read_date
from canonry.values.normal_forms import folded
from canonry.values.numerals import NUMERAL, plain_numeral
from canonry.values.time import Instant

_TRUE: Final = frozenset({"true", "yes", "y", "1"})
_FALSE: Final = frozenset({"false", "no", "n", "0"})
_CURRENCY: Final = re.compile(
    r"^(?:{0})\s*+|(?<!\s)\s*+(?:{0})$".format(
        "usd|eur|gbp|chf|jpy|cny|inr|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|ron|brl|mxn|zar|krw|sgd|hkd"
        "|try|ils|us\\$|ca\\$|a\\$|r\\$|k\u010d|z\u0142|fr\\.|kr\\.?"
        "|[$\u00a3\u00a5\u20ac\u20a3-\u20bf]"
    )
)
_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?e[+-]?\d{1,3}", re.ASCII)
_WRITTEN: Final = re.compile(NUMERAL)
_FEATURE_UNIT: Final = re.compile(r"FU-[0-9]+")
_RELEASE: Final = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+")
_TEN_CHARACTERS: Final = re.compile(r".{10}.*", re.DOTALL)
_TWO_CHARACTERS: Final = re.compile(r".{2}.*", re.DOTALL)
PATTERNS: Final[Mapping[str, re.Pattern[str]]] = {
    "feature_unit": _FEATURE_UNIT,
    "release": _RELEASE,
    "ten_characters": _TEN_CHARACTERS,
    "two_characters": _TWO_CHARACTERS,
}
"""What the whole of a text has to match, by the name that a schema's field gives."""

_DIGITS_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The value as the field holds it; `instant` is there where it is a date."""

    value: Any
    instant: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconvertible:
    """Why the value cannot be one of the field."""

    reason: str


Conversion: TypeAlias = Converted | Unconvertible


def convert(value: Any, spec: FieldSpec) -> Conversion:
    """`value` for the field `spec`; it is not null."""
    converted = _CONVERTERS[spec.type](value)
    if spec.choices and isinstance(converted, Converted):
        folded_choices = {folded(choice): choice for choice in spec.choices}
        chosen = folded_choices.get(folded(str(converted.value)))
        if chosen is None:
            return Unconvertible(reason="not_a_choice")
        return Converted(value=chosen)
    if not spec.pattern or isinstance(converted, Unconvertible):
        return converted
    fits = PATTERNS[spec.pattern].fullmatch(str(converted.value).strip()) is not None
    return converted if fits else Unconvertible(reason="not_of_pattern")


def out_of_order(
    order: Iterable[tuple[str, str]], said: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """The later fields that are before those that they follow, each with why: `before_<field>`."""
    for earlier, later in order:
        dates = [read_date(said[name]) for name in (earlier, later) if said.get(name) is not None]
        read = [each.instant for each in dates if each is not None]
        if len(read) == len((earlier, later)) and read[1] < read[0]:
            yield later, f"before_{earlier}"


def _string(value: Any) -> Conversion:
    match value:
        case str():
            return Converted(value=value)
        case bool():
            return Converted(value="true" if value else "false")
        case int() | float():
            return Converted(value=str(value))
        case _:
            return Unconvertible(reason="not_a_string")


def _number(value: Any) -> Conversion:
    match value:
        case bool():
            return Unconvertible(reason="not_a_number")
        case int() | float():
            return Converted(value=value)
        case str():
            sign, plain = _bare(value)
            if not _WRITTEN.fullmatch(plain) and not _PLAIN.fullmatch(plain):
                return Unconvertible(reason="not_a_number")
            numeral = plain if "e" in plain else plain_numeral(plain)
            if numeral is None:
                return Unconvertible(reason="unclear_number")
            number = Decimal(numeral)
            return _exactly(number.copy_negate() if sign < 0 else number)  # arithmetic would round
        case _:
            return Unconvertible(reason="not_a_number")


def _exactly(number: Decimal) -> Conversion:
    if abs(number.adjusted()) > _DIGITS_MAX:
        return Unconvertible(reason="not_exact")
    if number == number.to_integral_value():
        return Converted(value=int(number))
    near = float(number)
    if Decimal(repr(near)) != number:
        return Unconvertible(reason="not_exact")
    return Converted(value=near)


def _bare(text: str) -> tuple[int, str]:
    """The sign of a number, and its text without that and without a currency around it."""
    plain = folded(text)
    if len(plain) > _DIGITS_MAX:
        return 1, ""
    plain = plain.replace("\u2212", "-")
    sign = 1
    if plain.startswith("(") and plain.endswith(")"):
        sign, plain = -1, plain[1:-1].strip()
    for _turn in range(2):  # the sign may stand before or after the currency
        if plain[:1] in {"-", "+"} or plain[-1:] == "-":
            sign = -sign if "-" in (plain[:1], plain[-1:]) else sign
            plain = plain.strip("-+").strip()
        plain = _CURRENCY.sub("", plain, count=1).strip()
    return sign, plain


def _boolean(value: Any) -> Conversion:
    if isinstance(value, bool):
        return Converted(value=value)
    text = folded(str(value)) if isinstance(value, str | int) else ""
    if text in _TRUE:
        return Converted(value=True)
    return Converted(value=False) if text in _FALSE else Unconvertible(reason="not_a_boolean")


def _date(value: Any) -> Conversion:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return Unconvertible(reason="not_a_date")
    read = read_date(value)
    if read is None:
        return Unconvertible(reason="not_a_date")
    return Converted(value=read.text, instant=read.instant)


def _array(value: Any) -> Conversion:
    match value:
        case list() | tuple():
            return Converted(value=list(value))
        case dict():
            return Unconvertible(reason="not_an_array")
        case _:
            return Converted(value=[value])


def _object(value: Any) -> Conversion:
    return (
        Converted(value=value) if isinstance(value, dict) else Unconvertible(reason="not_an_object")
    )


_CONVERTERS: Final = {
    FieldType.STRING: _string,
    FieldType.NUMBER: _number,
    FieldType.BOOLEAN: _boolean,
    FieldType.DATE: _date,
    FieldType.ARRAY: _array,
    FieldType.OBJECT: _object,
}

"""Numbers in the notations of several countries, and the readings of an unclear value."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from canonry.log.schemas.schemas import EntitySchema, FieldSpec, FieldType
from canonry.log.schemas.typed_records import Converted, convert
from canonry.records.domain.shown import RawFragment, Shown
from canonry.values.calendar_dates import DayOrder, date_in
from canonry.values.json_values import NUMERAL, plain_numeral

_ISO_4217: Final = """
    AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KRW
    MAD MXN MYR NGN NOK NZD PEN PHP PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD UYU VND ZAR
"""
CURRENCIES: Final = frozenset(_ISO_4217.split())
"""The codes of known currencies."""

_DOLLARS: Final = frozenset({"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "ARS", "CLP", "COP"})
_SIGNS: Final = {
    "US$": "USD",
    "CA$": "CAD",
    "C$": "CAD",
    "A$": "AUD",
    "AU$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "MX$": "MXN",
    "R$": "BRL",
    "\u20ac": "EUR",
    "\xa3": "GBP",
    "\u20b9": "INR",
    "\u20a9": "KRW",
    "\u20ba": "TRY",
    "\u20b4": "UAH",
    "\u20bd": "RUB",
    "z\u0142": "PLN",
    "Fr.": "CHF",
    "Euro": "EUR",
    "euros": "EUR",
}
_SIGN: Final = re.compile(
    "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True))
)
_CODE: Final = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")
_DIGITS: Final = re.compile(
    r"(?<![\w.,])(?P<open>\()?(?P<sign>[-\u2212+])?\s?(?P<cur>[^\d\s\w(]{0,3})\s?(?P<inner>[-\u2212])?"
    rf"(?P<digits>{NUMERAL})"
    r"(?P<after>-)?(?P<close>\s?\))?"
)
_NO_NUMBERS: Final = re.compile(
    r"(?<!\d)\d{1,4}([./-])\d{1,4}(?:\1\d{1,4})+|(?<!\d)\d{1,2}[:.]\d\d(?:[:.]\d\d)?\s?(?:Uhr|h\b)"
)
"""Dates, versions and times. Their marks are no decimal marks."""

_CENTS: Final = 2
_UNIT: Final = re.compile(
    r"[0-9]\s?([%\u2030\xb0]|(?:(?:[kMGTm\xb5nc]?(?:g|m|l|L|W|Wh|V|A|Hz|J|B|bit|Pa)|t|s|h|d|min|ha"
    r"|Std\.?|Stk\.?|St\.|pcs|ft|lbs?|oz|mi|gal|hrs?|days|hours|Tage|Stunden|Monate|months)"
    r"(?:[\xb2\xb323]|/[^\W\d_]+)?)(?![^\W\d_]))"
)
"""Units of measure behind a number: kilograms, kilowatt-hours, per cent, hours, pieces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNumber:
    """A number in a text: its `value`, or None with the reason why it is unclear."""

    value: Decimal | None
    reason: str = ""

    @property
    def plain(self) -> int | float | None:
        """The value as a JSON number, an integer if it was written without decimals."""
        if self.value is None:
            return None
        exponent = self.value.as_tuple().exponent
        whole = isinstance(exponent, int) and exponent >= 0
        return int(self.value) if whole else float(self.value)


def number_in(text: str, mark: str | None = None, group: str | None = None) -> SeenNumber | None:
    """Find the first number of a text.

    If it is unclear, `mark` is the decimal mark. `group` is the mark between thousands.
    """
    found = _DIGITS.search(text)
    if found is None:
        return None
    digits = plain_numeral(found["digits"], mark, group)
    if digits is None:
        return SeenNumber(value=None, reason="the mark could divide thousands or decimals")
    negative = bool(
        (found["open"] and found["close"])
        or (found["sign"] or found["inner"] or "").strip("+")
        or found["after"]
    )
    value = Decimal(digits)
    return SeenNumber(value=-value if negative else value)


def unit_in(text: str) -> str | None:
    """Find the unit of measure behind a number."""
    found = _UNIT.search(text)
    return None if found is None else found[1]


def is_no_sum(text: str) -> bool:
    """Tell whether a text is a quantity and not an amount of money.

    A price per hour is an amount. A capital behind an amount is its tax class: `1,99 A`.
    """
    unit = unit_in(text)
    return (
        unit is not None and not (len(unit) == 1 and unit.isupper()) and not currency_in(text, "$")
    )


def numbers_in(text: str) -> Iterator[float]:
    """Yield all possible values of the numerals in a text, with either decimal mark."""
    for found in _DIGITS.finditer(_NO_NUMBERS.sub(" ", text)):
        plain = {plain_numeral(found["digits"], mark) for mark in (".", ",")} - {None}
        yield from (float(each) for each in plain if each)


def currency_in(text: str, dollar: str | None = None) -> str | None:
    """Find the currency in a text by code or sign; `dollar` is the code for a bare `$`."""
    for found in _CODE.finditer(text):
        if found[1] in CURRENCIES:
            return found[1]
    sign = _SIGN.search(text)
    if sign is not None:
        return _SIGNS[sign[0]]
    return dollar if "$" in text else None


def without_currency(label: str) -> tuple[str, str]:
    """Split the currency off the end of a plain label, such as `amount usd`.

    The currency is empty if there is none.
    """
    rest, _, last = label.rpartition(" ")
    code = last.upper()
    return (rest.removesuffix(" in"), code) if rest and code in CURRENCIES else (label, "")


def dollar_in(text: str) -> str | None:
    """Return the only dollar currency that a document names by code, or None."""
    codes = {found[1] for found in _CODE.finditer(text) if found[1] in _DOLLARS}
    return codes.pop() if len(codes) == 1 else None


def mark_in(text: str) -> str | None:
    """Return the decimal mark that all clear numbers of a text share, or None.

    A number is clear with two decimals, with both marks, or with several equal marks. Dates,
    versions and times do not count.
    """
    marks = {_last_mark(found["digits"]) for found in _DIGITS.finditer(_NO_NUMBERS.sub(" ", text))}
    marks.discard("")
    return marks.pop() if len(marks) == 1 else None


def _last_mark(digits: str) -> str:
    """Return the decimal mark of a number if it is clear, else an empty text."""
    seen = [char for char in digits if char in ".,"]
    if len(set(seen)) == 2:  # noqa: PLR2004 - both marks, the last one is decimal
        return seen[-1]
    if len(seen) > 1:
        return "," if seen[0] == "." else "."
    if seen and len(digits) - digits.index(seen[0]) - 1 == _CENTS:
        return seen[0]
    return ""


MARKS: Final = {".": "point", ",": "comma"}
"""Decimal marks, with the names of their notations."""

NOTATIONS: Final = (*MARKS.values(), *(f"{order}_first" for order in DayOrder))
"""Notations of a value: the decimal mark of a number, or the first part of a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A value with several readings, by notation. It is not shown as its field."""

    spec: FieldSpec
    fragment: RawFragment
    readings: Mapping[str, Any]


def unclear_in(shown: Shown, schema: EntitySchema) -> Iterator[Unclear]:
    """Yield the unclear values of an entity, except for fields that have a value."""
    for name, fragment in shown.fragments.items():
        canonical = schema.canonical(name)
        spec = None if canonical is None else schema.field(canonical)
        if spec is None or spec.name in shown.fields:
            continue
        readings = readings_of(fragment.value, spec)
        if len(set(readings.values())) > 1:
            yield Unclear(spec=spec, fragment=fragment, readings=readings)


def readings_of(value: Any, spec: FieldSpec) -> Mapping[str, Any]:
    """Return the readings of a value for a field by notation; empty if there are none."""
    if not isinstance(value, str):
        return {}
    found: dict[str, Any] = {}
    match spec.type:
        case FieldType.NUMBER:
            numbers = {name: number_in(value, mark) for mark, name in MARKS.items()}
            found = {name: seen.plain for name, seen in numbers.items() if seen is not None}
        case FieldType.DATE:
            days = {f"{order}_first": date_in(value, order) for order in DayOrder}
            found = {name: seen.value for name, seen in days.items() if seen is not None}
        case _:
            pass
    converted = {n: convert(each, spec) for n, each in found.items() if each is not None}
    return {n: each.value for n, each in converted.items() if isinstance(each, Converted)}

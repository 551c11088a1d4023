"""Numbers in the notations of several countries, and the readings of an unclear value."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from canonry.log.schemas.schemas import EntitySchema, FieldSpec, FieldType
from canonry.log.schemas.typed_records import Converted, convert_value
from canonry.records.domain.snapshots import RawFragment, ShownFields
from canonry.values.calendar_dates import DayOrder, read_day
from canonry.values.data_files import read_toml
from canonry.values.json_values import NUMERAL, plain_numeral

WORDS: Final = read_toml(__package__, "words.toml")
CURRENCIES: Final = frozenset(WORDS["currencies"].split())
"""The codes of known currencies."""

_DOLLARS: Final = frozenset(WORDS["dollars"].split())
_SIGNS: Final[dict[str, str]] = WORDS["signs"]
_SIGN: Final = re.compile(
    "|".join(
        rf"(?<![A-Za-z]){re.escape(sign)}" if sign[0].isascii() else sign
        for sign in sorted(_SIGNS, key=len, reverse=True)
    )
    + r"|(?<![A-Za-z])(?:[Ee]uros?|EUROS?)(?![^\W\d_])"
    # Before a date, it is the German abbreviation of Friday.
    r"|(?<![A-Za-z])Fr\.(?=\s?[\d'\u2019]+(?:\.(?:\d\d(?![.\d])|[-\u2013\u2014]))?(?![.\d]))"
)
_DOLLAR: Final = re.compile(r"(?<![A-Za-z])\$")
_CODE: Final = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")
MONEY: Final = (
    rf"(?:(?:{'|'.join(sorted(CURRENCIES))})(?![A-Za-z])|[A-Z]{{0,3}}\$|[\xa3\xa5\u20a0-\u20cf]"
    r"|(?:[Ee]uros?|EUROS?|[Kk]r|K\u010d|Ft|[Rr]s|[Ll]ei|S?[Ff]r|Rp|RM|z\u0142)(?![^\W\d_])\.?)"
)
_DASH: Final = r"\-\u2212\ufe63\uff0d\u2010\u2011\u2012\u2013"
_RUN: Final = (
    r"[0-9](?:[0-9]|[ \xa0\u202f](?=[0-9]{3}(?![0-9]))"
    rf"|[.,'\u2019_:/x\xd7*\u2044\xb7\u02d9\u2219\u22c5{_DASH}](?=[0-9]))*"
)
"""All digits with the marks between them, which are one numeral or none."""

_AMOUNT: Final = re.compile(
    rf"(?<![\w.,#/\[{_DASH}])(?P<about>[~<>\u2248\xb1\u2264\u2265]\s?)?(?P<open>\(\s?)?"
    rf"(?P<sign>^\s*[{_DASH}+]\s|[{_DASH}+])?(?:{MONEY}\s?(?P<gap>[{_DASH}+]\s)?)?(?P<inner>[{_DASH}+]|\()?"
    rf"(?P<digits>{_RUN})(?:[.,:]\s?[{_DASH}\u2014]+)?"
    rf"(?P<after>\s?[{_DASH}](?!\s*[\w(]))?(?:\s?{MONEY})?(?P<last>[-\u2212])?(?P<close>\s?\))?"
)
_FIGURE: Final = re.compile(rf"(?<![\w.,])(?P<digits>{NUMERAL})(?![0-9]|[.,'\u2019][0-9])")
_NUMERAL: Final = re.compile(NUMERAL)
_OTHER_SIZE: Final = re.compile(rf"{WORDS['other_size']}|\s?[kKMT](?={MONEY})")
"""A word or sign that changes the size of the number before it."""

_ONE_MORE: Final = re.compile(
    rf"\s{{0,9}}(?:(?:[^\W\d_]{{1,30}}\s{{1,9}})?"
    rf"(?:to|bis|or|oder|ou|o|a|\xe0|y|et|and|und|al|tot|do|x)\b\s{{0,9}}|[{_DASH}/*\xd7=+&\xb1\u2026]\s{{0,9}}"
    r"|\.{2,3}\s?|\((?=[0-9][0-9.,]{1,15}\))"
    rf"|\s{{1,9}}(?!\d{{1,4}}[./-]\d{{1,2}}[./-]))(?:{MONEY}\s?)?[0-9]"
)
"""A second number that belongs to the first one: a range, a product, an alternative."""

_BEFORE: Final = re.compile(
    rf"(?:\b(?:{WORDS['before']})\.?|[%\xbc-\xbe\u2150-\u215e])\s*$", re.IGNORECASE
)
"""Words before a number that make it a bound, a guess or a part."""

_COUNTED: Final = re.compile(r"[^0-9]*[0-9]+\s+[^\W\d_]{3,}")
_COUNTED_OF: Final = re.compile(r"\s(?:[^\W\d_]{3,}\b[^(;|]*|(?:of|von|de|di|z)\s+)[0-9]")
_CHANGED: Final = "the text beside the number changes it"
_WORD_MAX: Final = 24  # longer than any currency; bounds a look back
_LATIN: Final = str.maketrans("\u2007\u2009\u066b\u066c\uff0c\uff0e", "\u202f\u202f.,,.")
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
    def json_number(self) -> int | float | None:
        """The value as a JSON number, an integer if it was written without decimals."""
        if self.value is None:
            return None
        exponent = self.value.as_tuple().exponent
        whole = isinstance(exponent, int) and exponent >= 0
        return int(self.value) if whole else float(self.value)


def number_in(
    text: str, mark: str | None = None, group: str | None = None, *, whole: bool = False
) -> SeenNumber | None:
    """Find the first number of a text; with `whole`, the text has only a sign and a currency more.

    If it is unclear, `mark` is the decimal mark. `group` is the mark between thousands. A part of
    a number is never its value: a range, a fraction or a scale makes it unclear.
    """
    if not whole:
        return next(amounts_in(text, mark, group), None)
    plain = latin_digits(text.strip())
    found = _AMOUNT.fullmatch(plain)
    if found is None or _is_opened(found) is not bool(found["close"]):
        return None
    return _read_match(found, "", mark, group)


def amounts_in(
    text: str, mark: str | None = None, group: str | None = None
) -> Iterator[SeenNumber]:
    """Yield the numbers of a text as `number_in` finds them."""
    plain = latin_digits(text)
    for found in _AMOUNT.finditer(plain):
        seen = _read_match(found, plain[found.end() :], mark, group)
        lone = _is_opened(found) is not bool(found["close"])
        whole = f"({plain[found.end() :]}" if _is_opened(found) else f"{plain[: found.start()]})"
        if (lone and not {"(", ")"} <= {*whole}) or _BEFORE.search(
            plain, max(0, found.start() - _WORD_MAX), found.start()
        ):
            seen = SeenNumber(value=None, reason=seen.reason or _CHANGED)
        yield seen


def _is_opened(found: re.Match[str]) -> bool:
    return bool(found["open"]) or found["inner"] == "("


def _read_match(found: re.Match[str], rest: str, mark: str | None, group: str | None) -> SeenNumber:
    """Read the number of a match; `rest` is the text behind it."""
    clean = _NUMERAL.fullmatch(found["digits"]) is not None
    digits = plain_numeral(found["digits"], mark, group) if clean else None
    signs = [found[each] or "" for each in ("sign", "inner", "after", "last")]
    minus = sum(each.strip(" +(") != "" for each in signs)
    minus += _is_opened(found) and bool(found["close"])
    reason = ""
    if not clean and not set(found["digits"]) <= frozenset("0123456789.,'\u2019 \xa0\u202f"):
        reason = "it is more than one number"
    elif found["about"] or found["gap"] or _is_changed(found[0], rest):
        reason = _CHANGED
    elif digits is None:
        reason = "the mark could divide thousands or decimals"
    elif minus > 1 or (found["sign"] and signs[1] not in {"", "("}):
        reason = "it has two signs"
    if reason or digits is None:
        return SeenNumber(value=None, reason=reason)
    return SeenNumber(value=-Decimal(digits) if minus else Decimal(digits))


def _is_changed(number: str, rest: str) -> bool:
    """Return whether the text behind a number makes it a part of another value."""
    text, end = number + rest, len(number)
    if _OTHER_SIZE.match(text, end) or _ONE_MORE.match(text, end):
        return True
    if number.isdigit() and _COUNTED_OF.match(rest):
        return True
    if rest[:1] in {".", ","}:
        return rest[1:2].isalnum()
    # `1m` may be a metre, but not behind a currency.
    return rest[:1].isalnum() and (_UNIT.match(f"0{rest}") is None or not number[0].isdigit())


def latin_digits(text: str) -> str:
    """Write the digits and marks of other scripts as those of English; the length stays."""
    if text.isascii():
        return text
    return "".join(
        each if (digit := unicodedata.decimal(each, None)) is None else str(digit)
        for each in text.translate(_LATIN)
    )


def unit_in(text: str) -> str | None:
    """Find the unit of measure behind a number."""
    found = _UNIT.search(text)
    return None if found is None else found[1]


def is_no_sum(text: str) -> bool:
    """Return whether a text is a quantity and not an amount of money.

    A price per hour is an amount. A capital behind an amount is its tax class: `1,99 A`.
    """
    unit = unit_in(text)
    of_unit = unit is not None and not (len(unit) == 1 and unit.isupper())
    return (of_unit or _COUNTED.match(text) is not None) and not currency_in(text, "$")


def numbers_in(text: str) -> Iterator[float]:
    """Yield all possible values of the numerals in a text, with either decimal mark."""
    for found in _FIGURE.finditer(_NO_NUMBERS.sub(" ", text)):
        plain = {plain_numeral(found["digits"], mark) for mark in (".", ",")} - {None}
        yield from (float(each) for each in plain if each)


def currency_in(text: str, dollar: str | None = None) -> str | None:
    """Find the currency in a text by code or sign; `dollar` is the code for a bare `$`."""
    for found in _CODE.finditer(text):
        if found[1] in CURRENCIES:
            return found[1]
    sign = _SIGN.search(text)
    if sign is not None:
        return _SIGNS.get(sign[0]) or ("CHF" if sign[0] == "Fr." else "EUR")
    return dollar if _DOLLAR.search(text) else None


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
    marks = {_last_mark(found["digits"]) for found in _FIGURE.finditer(_NO_NUMBERS.sub(" ", text))}
    marks.discard("")
    return marks.pop() if len(marks) == 1 else None


def _last_mark(digits: str) -> str:
    """Return the decimal mark of a number if it is clear, else an empty text."""
    seen = [char for char in digits if char in ".,"]
    if len(set(seen)) == 2:  # noqa: PLR2004 - both marks, the last one is decimal
        return seen[-1]
    if len(seen) > 1:
        return "," if seen[0] == "." else "."
    return seen[0] if seen and len(digits) - digits.index(seen[0]) - 1 == _CENTS else ""


MARKS: Final = {".": "point", ",": "comma"}
"""Decimal marks, with the names of their notations."""

NOTATIONS: Final = (*MARKS.values(), *(f"{order}_first" for order in DayOrder))
"""Notations of a value: the decimal mark of a number, or the first part of a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclearValue:
    """A value with several readings, by notation. It is not shown as its field."""

    spec: FieldSpec
    fragment: RawFragment
    readings: Mapping[str, Any]


def unclear_values(shown: ShownFields, schema: EntitySchema) -> Iterator[UnclearValue]:
    """Yield the unclear values of an entity, except for fields that have a value."""
    for name, fragment in shown.fragments.items():
        canonical = schema.canonical_field(name)
        spec = None if canonical is None else schema.find_field(canonical)
        if spec is None or spec.name in shown.fields:
            continue
        readings = readings_of(fragment.value, spec)
        if len(set(readings.values())) > 1:
            yield UnclearValue(spec=spec, fragment=fragment, readings=readings)


def readings_of(value: Any, spec: FieldSpec) -> Mapping[str, Any]:
    """Return the readings of a value for a field by notation; empty if there are none."""
    if not isinstance(value, str):
        return {}
    found: dict[str, Any] = {}
    match spec.type:
        case FieldType.NUMBER:
            numbers = {name: number_in(value, mark, whole=True) for mark, name in MARKS.items()}
            found = {name: seen.json_number for name, seen in numbers.items() if seen is not None}
        case FieldType.DATE:
            days = {f"{order}_first": read_day(value, order) for order in DayOrder}
            found = {name: seen.value for name, seen in days.items() if seen is not None}
        case _:
            pass
    converted = {n: convert_value(each, spec) for n, each in found.items() if each is not None}
    return {n: each.value for n, each in converted.items() if isinstance(each, Converted)}

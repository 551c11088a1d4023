"""Numbers and amounts in the notations of several countries; an unclear mark is never chosen."""

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

_ISO_4217: Final = """
    AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KRW
    MAD MXN MYR NGN NOK NZD PEN PHP PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD UYU VND ZAR
"""
_CODES: Final = frozenset(_ISO_4217.split())
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
    r"(?P<digits>\d{1,3}(?:[ \xa0\u202f'\u2019.,]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(?P<after>-)?(?P<close>\s?\))?"
)
_GROUP: Final = 3
_BLANKS: Final = str.maketrans("", "", " \xa0\u202f'\u2019")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNumber:
    """A number as it was found: `value`, or None with the reason why it is unclear."""

    value: Decimal | None
    reason: str = ""

    @property
    def plain(self) -> int | float | None:
        """The value as JSON has numbers: without a fraction where none was written."""
        if self.value is None:
            return None
        exponent = self.value.as_tuple().exponent
        whole = isinstance(exponent, int) and exponent >= 0
        return int(self.value) if whole else float(self.value)


def number_in(text: str, mark: str | None = None, group: str | None = None) -> SeenNumber | None:
    """The first number of a text.

    Where that is unclear, `mark` is the decimal mark; `group` divides thousands, and says nothing
    of the other mark.
    """
    found = _DIGITS.search(text)
    if found is None:
        return None
    digits = _digits(found["digits"], mark, group)
    if digits is None:
        return SeenNumber(value=None, reason="the mark could divide thousands or decimals")
    negative = bool(
        (found["open"] and found["close"])
        or (found["sign"] or found["inner"] or "").strip("+")
        or found["after"]
    )
    value = Decimal(digits)
    return SeenNumber(value=-value if negative else value)


def currency_in(text: str, dollar: str | None = None) -> str | None:
    """The currency that a text names by code or sign; `dollar` says whose a bare `$` is."""
    for found in _CODE.finditer(text):
        if found[1] in _CODES:
            return found[1]
    sign = _SIGN.search(text)
    if sign is not None:
        return _SIGNS[sign[0]]
    return dollar if "$" in text else None


def without_currency(label: str) -> tuple[str, str]:
    """A label in plain letters without the currency that it ends in, and that currency or nothing.

    `amount usd` says of its value what it is in, as a column's header does.
    """
    rest, _, last = label.rpartition(" ")
    code = last.upper()
    return (rest.removesuffix(" in"), code) if rest and code in _CODES else (label, "")


def dollar_in(text: str) -> str | None:
    """Whose dollars a document means, by the codes that it names; None where it names several."""
    codes = {found[1] for found in _CODE.finditer(text) if found[1] in _DOLLARS}
    return codes.pop() if len(codes) == 1 else None


def mark_in(text: str) -> str | None:
    """The decimal mark that the unmistakable numbers of a text share."""
    marks: Counter[str] = Counter()
    for found in _DIGITS.finditer(text):
        digits = found["digits"]
        seen = [char for char in digits if char in ".,"]
        if len(set(seen)) == 2:  # noqa: PLR2004 - both marks, the last one is decimal
            marks[seen[-1]] += 1
        elif len(seen) == 1 and len(digits) - digits.index(seen[0]) - 1 != _GROUP:
            marks[seen[0]] += 1
        elif len(seen) > 1:
            marks["," if seen[0] == "." else "."] += 1
    return next(iter(marks)) if len(marks) == 1 else None


def _digits(written: str, mark: str | None, group: str | None) -> str | None:
    """The number in Python's notation; None where it is unclear."""
    plain = written.translate(_BLANKS)
    marks = [char for char in plain if char in ".,"]
    if not marks:
        return plain
    last = marks[-1]
    head, _, tail = plain.rpartition(last)
    if len(set(marks)) == 2:  # noqa: PLR2004 - as above
        other = "," if last == "." else "."
        return None if marks.count(last) > 1 else f"{head.replace(other, '')}.{tail}"
    if len(marks) > 1:
        return plain.replace(last, "") if len(tail) == _GROUP else None
    if len(tail) != _GROUP or head in {"", "0"} or len(head) > _GROUP or plain != written:
        return f"{head}.{tail}"
    if last == group or mark not in {last, None}:
        return head + tail
    return f"{head}.{tail}" if mark == last else None

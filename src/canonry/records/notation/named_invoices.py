"""The numbers of invoices that a sentence or the purpose of a payment names."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from canonry.records.notation.numbers import MONEY, WORDS
from canonry.records.notation.settling import PAYERS, REFERENCE
from canonry.values.calendar_dates import DayOrder, dates_in

WHOLE_NUMBER: Final = (
    r"((?<![\w/-])(?:[A-Z0-9][\w/.-]{0,40}\d[\w/-]{0,40}|\d[\w/-]{0,40}))"
    rf"(?![\w/-]|[.,]\d|\s\d|\s?(?-i:{MONEY}))"
)
"""A whole number of a paper, and no amount."""

NO_NUMBER: Final = re.compile(r"(?:\d\d?[/.-])?(?:19|20)\d\d|\d+\.\d\d")
"""A year, a month, or an amount."""

_SIGN: Final = r"(?:(?:no|nr|num|number|numero|nummer)\b\.?|n\.?[\xba\xb0o]?\.?|#)"
_PREFIX: Final = r"(?-i:INV|RE|RG|FAC|FV)"
_INVOICE_NUMBER: Final = rf"(?:{_PREFIX} )?{WHOLE_NUMBER}"
INVOICES: Final = re.compile(
    rf"(?:\b(?:{WORDS['invoice']})[ :.-]{{0,3}}(?:{_SIGN}\s*:?\s*)?"
    rf"|(?<![\w/-])(?={_PREFIX}[-/ ]?\d))"
    rf"((?:{_INVOICE_NUMBER}(?:\s*(?:,|&|and|und|et|y|e)\s+)?)+)",
    re.IGNORECASE,
)
"""A word for an invoice, and the numbers behind it."""

_EACH: Final = re.compile(_INVOICE_NUMBER, re.IGNORECASE)
_DAY_MAX: Final = 14
"""The most characters of a date behind its day, as in `invoice 12 May 2024`."""

_STATED: Final = frozenset({REFERENCE, "invoice_number", "invoice_numbers", "invoice_no"})


def invoices_in(text: str) -> Iterator[str]:
    """Yield the numbers of invoices that a sentence or a purpose names."""
    for match in INVOICES.finditer(text):
        day = is_date(text[match.start(1) : match.end(1) + _DAY_MAX]) if match[1][2:] == "" else 0
        numbers = (each[0] for each in _EACH.finditer(match[1]))
        yield from (e for e in numbers if not (day or NO_NUMBER.fullmatch(e) or is_date(e)))


def is_date(text: str) -> bool:
    """Tell whether a text has a date."""
    return any(dates_in(text, DayOrder.DAY))


def with_named_invoices(entity_type: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a line of a bank with the invoices that its description names."""
    purpose = fields.get("description") if entity_type == PAYERS[0] else None
    if not isinstance(purpose, str) or _STATED & fields.keys():
        return fields
    numbers = [*dict.fromkeys(invoices_in(purpose))]
    return {**fields, REFERENCE: numbers} if numbers else fields

"""What a document as a whole says about its own notations: order of dates, marks, money, day."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from canonry.records.notation.labels import LabelledLine
from canonry.records.notation.numbers import (
    SeenNumber,
    currency_in,
    dollar_in,
    mark_in,
    number_in,
)
from canonry.values.calendar_dates import DayOrder, SeenDate, date_in, order_in
from canonry.values.languages import languages, written_in

CONTENT_MAX: Final = 100_000
"""The most characters of a document's own text that its entity holds."""

LOOKED_AT: Final = 200_000
"""How many characters of a document are looked at for labels: what it says of itself is there."""

_DATED: Final = ("issued", "date", "signed", "effective")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContext:
    """Evidence of the whole document, for what a single value leaves open."""

    order: DayOrder | None = None
    mark: str | None = None
    group: str | None = None
    dollar: str | None = None
    currency: str | None = None
    dated: date | None = None
    language: str = ""

    def date(self, text: str) -> SeenDate | None:
        """The first date of a text."""
        return date_in(text, self.order, self.dated)

    def number(self, text: str) -> SeenNumber | None:
        """The first number of a text."""
        return number_in(text, self.mark, self.group)

    def currency_of(self, text: str) -> str | None:
        """The currency that a text names, else the one that the whole document names."""
        return currency_in(text, self.dollar) or self.currency


def context_of(lines: list[LabelledLine]) -> DocumentContext:
    """What the lines say together.

    Where the numbers themselves are unclear, the language of the labels says what divides
    thousands, and the order of dates in languages that have but one; English has two.
    """
    text = "\n".join(line.text for line in lines)
    spoken = [line.language for line in lines if line.language]
    code = written_in(text) or (max(sorted(set(spoken)), key=spoken.count) if spoken else "")
    language = languages().get(code)
    day_first = language is not None and language.day_first
    order = order_in(text) or (DayOrder.DAY if day_first else None)
    dollar = dollar_in(text) or ("USD" if "$" in text else None)
    mark = mark_in(text)
    currencies = {
        found for line in lines if (found := currency_in(line.text, dollar) or line.currency)
    }
    return DocumentContext(
        order=order,
        mark=mark,
        group=None if mark or language is None else language.thousands,
        dollar=dollar,
        currency=currencies.pop() if len(currencies) == 1 else None,
        dated=_dated(lines, order),
        language=code,
    )


def _dated(lines: list[LabelledLine], order: DayOrder | None) -> date | None:
    for notion in _DATED:
        for line in lines:
            if line.notion == notion and (seen := date_in(line.value, order)) and seen.value:
                return date.fromisoformat(seen.value[:10])
    return None


def shortened(text: str) -> str:
    """As much of a text as an entity holds; the source has all of it."""
    return text[:CONTENT_MAX].strip()


def tidy(value: Any) -> Any:
    """A text without blanks at its ends; anything else as it is."""
    return " ".join(value.split()) if isinstance(value, str) else value

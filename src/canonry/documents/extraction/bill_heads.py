"""Heads of bills: who wrote one and when, where no label says so."""

from collections.abc import Sequence
from typing import Final

from canonry.documents.extraction.context import DocumentContext, tidy
from canonry.documents.extraction.kinds import heads_a_document
from canonry.records.notation.labels import LabelledLine
from canonry.records.notation.parties import is_company
from canonry.values.calendar_dates import dates_in

_HEAD: Final = 5
_NAME_MAX: Final = 60
_ADDRESS: Final = 3
"""So many lines below a name one is looked for that may be of its address."""


def sender_in(lines: Sequence[LabelledLine], taken: object) -> str | None:
    """Whose letterhead a document bears: a company's name, or a name above an address.

    `taken` is the name of who gets it.
    """
    first = [line for line in lines[:_HEAD] if not line.value and line.text != taken]
    for line in first:
        if is_company(line.text):
            whole = is_company(line.text.split(",")[-1])
            return str(tidy(line.text if whole else line.text.split(",")[0]))
    if first and first[0] is lines[0] and _above_address(lines):
        return str(tidy(first[0].text))
    return None


def _above_address(lines: Sequence[LabelledLine]) -> bool:
    """Whether the first line is a name, and an address stands right below it."""
    name = lines[0]
    if name.notion or len(name.text) > _NAME_MAX or any(char.isdigit() for char in name.text):
        return False
    below = [line for line in lines[1 : 1 + _ADDRESS] if not line.notion]
    numbered = [line for line in below if _has_both(line.text)]
    return not heads_a_document(name.text) and len(numbered) > 1


def _has_both(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def only_date_in(lines: Sequence[LabelledLine], context: DocumentContext) -> str | None:
    """The day of a document that names but one."""
    seen = [each for line in lines for each in dates_in(line.text, context.order, context.dated)]
    days = {each.value[:10] if each.value else None for each in seen}
    return days.pop() if len(days) == 1 else None

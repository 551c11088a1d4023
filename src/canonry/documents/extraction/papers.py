"""Papers that are no bills, such as credit notes and quotes: their types and their own numbers.

Their heading decides. The number of an invoice that they name is a reference and never their own.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from canonry.documents.extraction.kinds import (
    HEADING_LINES,
    TABLES,
    Kind,
    heading_of,
    is_called_bill,
    kind_of_text,
    named,
)
from canonry.records.notation.labels import LabelledLine, plain
from canonry.records.notation.named_invoices import (
    INVOICES,
    NO_NUMBER,
    WHOLE_NUMBER,
    invoices_in,
    is_date,
)
from canonry.values.languages import languages

_GOODS: Final = ("delivery_note", "return_note")
PAPERS: Final = ("credit_note", "quote", "order", "reminder", *_GOODS, "payslip")
_SUMS: Final = frozenset({"amount_due", "total", "amount", "subtotal", "tax"})
_WEIGHT: Final = 6
_LEADING: Final = re.compile(rf"\W*{WHOLE_NUMBER}", re.IGNORECASE)
_GROUP: Final = re.compile(r"[\w/-]+")
_EACH: Final = re.compile(WHOLE_NUMBER, re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n")
_PAID: Final = re.compile(
    rf"\b(?:{'|'.join(map(str.strip, TABLES['paid']['said'].splitlines()))})\b".replace("||", "|")
)
_DOUBT: Final = re.compile(rf"\b(?:{'|'.join(TABLES['paid']['doubt'].split())})\b")

_GENERAL: Final = frozenset(TABLES["general"].split())
"""Words that begin headings of several types."""

_OWN: Final = re.compile(r"(?:s? ?(?:no|nr|num|number|nummer|numero|n|id|ref|reference|#))*")
_LETTERHEAD: Final = 4
"""The most lines of a sender above a heading."""

_SIGNS: Final = re.compile("no|nr|n|o|number|num|numero|nummer|numer|#")
_BEFORE: Final = re.compile(r"(?:no|nr|numero|n)(?: (?:de|d|di|da|del|della))?")


def type_of(lines: Sequence[LabelledLine]) -> Kind | None:
    """Return the type of a document: a paper by its heading if it has a sum or a number."""
    (kind, heading), other = heading_of(lines), kind_of_text(lines)
    booked = other is not None and other.entity_type == "event"
    counted = any(line.notion in _SUMS and any(map(str.isdigit, line.value)) for line in lines)
    # The receipt of a payment is not the invoice whose number it names.
    billed = other is not None and other.entity_type == "invoice" and not is_called_bill(heading)
    paid = kind == "paid" and bool(invoices_named(lines, ""))
    if counted and (paid or (kind == "receipt" and billed)):
        return Kind(entity_type="receipt", reasons=(f'heading "{heading[:60]}"',), weight=_WEIGHT)
    if kind in PAPERS and not booked and (counted or own_number(kind, lines)):
        return Kind(entity_type=kind, reasons=(f'heading "{heading[:60]}"',), weight=_WEIGHT)
    return other


def own_number(kind: str, lines: Sequence[LabelledLine]) -> str:
    """Return the number of a paper itself: in its heading, at its own label, or at any number."""
    for line in lines[:HEADING_LINES]:
        found = None if line.value else _EACH.search(line.text)
        if found and not is_date(line.text):
            rest, told = line.text[found.end() :], _owned(kind, plain(line.text[: found.start()]))
            whole = not _EACH.search(rest) or INVOICES.search(rest)
            if whole and (told or (told is not None and not NO_NUMBER.fullmatch(found[1]))):
                return found[1]
    words = plain(heading_of(lines)[1]).split()
    labelled = [
        line
        for line in lines
        if line.value and (_owned(kind, plain(line.label)) or _names(line, words))
    ]
    for line in (*labelled, *(line for line in lines if line.notion == "number")):
        if (number := _number_in(line)) and not is_date(line.value):
            return number
    return ""


def _names(line: LabelledLine, heading: Sequence[str]) -> bool:
    """Tell whether a label is a number of what the heading says, or of its initials."""
    own = {each for each in plain(line.label).split() if not _SIGNS.fullmatch(each)}
    initials = "".join(each[0] for each in heading)
    return not line.notion and bool(own) and (own <= {*heading} or own == {initials})


def _number_in(line: LabelledLine) -> str:
    """Return the number at the beginning of a labelled value, or in all of its groups."""
    if found := _LEADING.match(line.value):
        return found[1]
    groups = line.value.split()
    counted = all(any(map(str.isdigit, each)) for each in groups[1:])
    whole = counted and groups[1:] and all(map(_GROUP.fullmatch, groups))
    return " ".join(groups) if whole else ""


def invoices_named(lines: Sequence[LabelledLine], own: str) -> Any:
    """Return the number of the invoice that a paper names, a list of several, or None."""
    said: dict[str, None] = {}
    for line in lines:
        if line.notion == "invoice_number" and (number := _number_in(line)):
            said[number] = None
        said |= dict.fromkeys(invoices_in(line.text))
    numbers = [each for each in said if each != own and not is_date(each)]
    return numbers if len(numbers) > 1 else next(iter(numbers), None)


def invoices_paid(text: str) -> Sequence[str]:
    """Return the invoices that a mail says to be paid: in that sentence, or the only one named.

    A sentence with a negation or a condition says nothing.
    """
    said = [each for each in _SENTENCE.split(text) if _PAID.search(plain(each))]
    if not said or any(_DOUBT.search(plain(each)) for each in said):
        return ()
    own, named = ({*invoices_in(each)} for each in ("\n".join(said), text))
    return sorted(own or (named if len(named) == 1 else ()))


def _owned(kind: str, label: str) -> str | None:
    """Return the words for a number beside the type of a paper; None if there are other words."""
    for stem in _stems(kind):
        before, found, behind = (each.strip() for each in label.partition(stem))
        first = not before or _BEFORE.fullmatch(before) is not None
        if found and first and _OWN.fullmatch(behind):
            return behind or before
    return None


@lru_cache(maxsize=len(PAPERS))
def _stems(kind: str) -> tuple[str, ...]:
    """Return the phrases of a type, the longest first, and the words that begin them."""
    phrases = {
        phrase.removeprefix("*")
        for each in languages().values()
        for phrase, meant in each.headings.items()
        if meant == kind
    }
    phrases |= {each.removesuffix("bestatigung") for each in phrases}
    phrases |= {each.split()[0] for each in phrases} - _GENERAL
    return tuple(sorted(phrases, key=lambda each: (-len(each), each)))


def documents_in(lines: Sequence[LabelledLine]) -> Sequence[Sequence[LabelledLine]]:
    """Divide a file at the headings of documents, each of which has a number of its own.

    A part without a number, or with the number of the part before, continues that part.
    """
    starts: list[int] = []
    for place, line in enumerate(lines):
        if place and not line.value and not line.listed and named(plain(line.text), whole=True):
            first = place  # the letterhead above belongs to the document
            least = max((starts or [0])[-1] + 1, place - _LETTERHEAD)
            while first > least and not lines[first - 1].label:
                first -= 1
            starts.append(first)
    parts: list[Sequence[LabelledLine]] = []
    last = ("", "")
    for begin, end in pairwise([0, *starts, len(lines)]):
        told = _told(lines[begin:end])
        if parts and (not told[1] or not last[1] or told == last):
            parts[-1] = [*parts[-1], *lines[begin:end]]
            last = last if last[1] else told
        else:
            parts.append(lines[begin:end])
            last = told
    return parts


def _told(lines: Sequence[LabelledLine]) -> tuple[str, str]:
    """Return the type and the own number of a part of a file."""
    kind = type_of(lines)
    if kind is None:
        return "", ""
    if kind.entity_type in PAPERS:
        return kind.entity_type, own_number(kind.entity_type, lines)
    notion = f"{kind.entity_type}_number"
    numbers = (line.value for line in lines if line.notion == notion and _EACH.search(line.value))
    return kind.entity_type, next(numbers, "")

"""The type of a document, and its identifiers, items, forms and numbers."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, Final

import phonenumbers
from stdnum import iban
from stdnum.ch import uid
from stdnum.util import clean, get_cc_module

from canonry.canon.ports.files import Cell, Table
from canonry.documents.extraction.agreements import BETWEEN, DocumentContext, parties_between
from canonry.records.notation.labels import LabelledLine, plain_label
from canonry.records.notation.numbers import is_no_sum, number_in, unit_in
from canonry.records.notation.settlements import (
    INVOICES,
    NO_NUMBER,
    WHOLE_NUMBER,
    invoices_in,
    is_date,
)
from canonry.values.data_files import read_toml
from canonry.values.languages import detect_language, known_languages, meaning_of

TABLES: Final = read_toml(__package__, "documents.toml")
"""The labels that tell the type of a document, its fields, and the columns of items."""

_COLUMN_OF: Final = {word: name for name, w in TABLES["items"].items() for word in w.split()}
_UNIT: Final = "unit einheit me unidad unite unita eenheid jednostka jm unidade uom"
_UNITS: Final = frozenset(_UNIT.split())
MEANINGS: Final = {name: frozenset(words.split()) for name, words in TABLES["notions"].items()}
_SUMS: Final = MEANINGS["sums"]
_LISTED: Final = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)])\s++(.[^:\u2013\t]*+)[:\u2013\t](.*)")
_ITEMS_MAX: Final = 1_000  # bounds the time for a document of lists
_ROWS_MAX: Final = 2_000  # bounds the time for a table that is searched for labels


def items_of(
    lines: Sequence[LabelledLine], tables: Sequence[Table], context: DocumentContext
) -> list[dict[str, Any]]:
    """Return the items in order, without sums and taxes."""
    for table in tables:
        found = _items_of_table(table, context)
        if found:
            return found
    for line in lines:
        if line.meaning == "items" and line.block:
            return _items_of_list(line.block, context)
    return []


def _items_of_list(block: Sequence[str], context: DocumentContext) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for text in block[:_ITEMS_MAX]:
        match = _LISTED.fullmatch(text)
        if match is None or meaning_of(plain_label(match[1]))[0] in _SUMS:
            continue
        seen = context.find_number(match[2].strip())
        if seen is not None and seen.value is not None and not is_no_sum(match[2]):
            found.append({"description": match[1].strip(), "amount": seen.json_number})
    return found


def _items_of_table(table: Table, context: DocumentContext) -> list[dict[str, Any]]:
    """Return the rows below the titles of items, up to the first sum."""
    rows = iter(table.rows[:_ROWS_MAX])
    columns: list[str] = []
    for row in rows:
        columns = [_column_meaning(cell) for cell in row]
        if "description" in columns and {"amount", "unit_price"} & set(columns):
            break
    else:
        return []
    found: list[dict[str, Any]] = []
    for row in rows:
        if found and any(meaning_of(plain_label(str(cell or "")))[0] in _SUMS for cell in row):
            break
        item = _make_item(_by_column(columns, row), context)
        if "description" in item and len(item) > 1:
            found.append(item)
    return found[:_ITEMS_MAX]


def _by_column(columns: Sequence[str], row: Sequence[Cell]) -> dict[str, Cell]:
    """Return the cells by meaning; of two columns of one meaning the first that is not empty."""
    cells: dict[str, Cell] = {}
    for name, cell in zip(columns, row, strict=False):
        if cell not in {None, ""}:
            cells.setdefault(name, cell)
    return cells


def _make_item(cells: Mapping[str, Any], context: DocumentContext) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for name, cell in cells.items():
        text = str(cell).strip()
        if not name:
            continue
        if name == "description":
            if meaning_of(plain_label(text))[0] in _SUMS:
                return {}
            item[name] = text
        elif name == "unit" and number_in(text) is None:
            item[name] = text
        elif (number := _read_number(name, cell, context)) is not None:
            # The title "unit" may also mean the price of a unit.
            item["unit_price" if name == "unit" else name] = number
            if name == "quantity" and (unit := unit_in(text)):
                item.setdefault("unit", unit)
    return item


def _read_number(name: str, cell: Cell, context: DocumentContext) -> int | float | None:
    """Return the number of a cell; an amount must not have a unit except a currency."""
    if isinstance(cell, int | float):
        return cell
    text = str(cell)
    seen = None if name != "quantity" and is_no_sum(text) else context.find_number(text)
    return None if seen is None else seen.json_number


def _column_meaning(cell: Any) -> str:
    words = plain_label(str(cell or "")).split()
    if len(words) == 1 and words[0] in _UNITS:
        return "unit"
    if "unit" in words or "einzelpreis" in words or "unitario" in words:
        return "unit_price"
    return next((_COLUMN_OF[word] for word in words if word in _COLUMN_OF), "")


# Forms: lists of labels and values that describe the document.
#
# Lists of items look similar. The line above a list and its known labels decide.

_FORMS_SUMS: Final = _SUMS | {""}  # notions of lines in a list of items; `""` is no known label

_GOODS: Final = frozenset({"items", "actions", "agenda", "points", "attendees"})
_KNOWN_IN_A_FORM: Final = 2


def forms_in(lines: Sequence[LabelledLine]) -> frozenset[int]:
    """Return the indexes of lines in forms.

    A list is a form if most of its lines are pairs with several known labels, and if the line
    above does not announce items, tasks or people.
    """
    found: set[int] = set()
    for indexes, above in _find_lists(lines):
        if above in _GOODS:
            continue
        pairs = [index for index in indexes if lines[index].label and lines[index].value]
        known = sum(1 for index in pairs if lines[index].meaning not in _FORMS_SUMS)
        if len(pairs) * 2 > len(indexes) and known >= _KNOWN_IN_A_FORM:
            found.update(pairs)
    return frozenset(found)


def without_item_labels(lines: Sequence[LabelledLine]) -> Sequence[LabelledLine]:
    """Remove the notions of lines in lists of items, except those of sums."""
    goods = {index for indexes, above in _find_lists(lines) if above in _GOODS for index in indexes}
    return [
        replace(line, meaning="") if index in goods and line.meaning not in _FORMS_SUMS else line
        for index, line in enumerate(lines)
    ]


def _find_lists(lines: Sequence[LabelledLine]) -> Iterator[tuple[Sequence[int], str]]:
    """Yield the indexes of the lines of each list, and the notion of the line above it."""
    for listed, group in groupby(range(len(lines)), lambda index: lines[index].listed):
        if listed:
            indexes = list(group)
            yield indexes, lines[indexes[0] - 1].meaning if indexes[0] else ""


# The type of a document follows from its heading and its labels, with reasons.
#
# One word is not enough, because a note may mention an invoice. A label counts only with a fitting
# value, and a heading only with such a label.

_EVIDENCE: Final = {
    kind: {notion: int(weight) for weight, notions in by.items() for notion in notions.split()}
    for kind, by in TABLES["evidence"].items()
}
_NUMERIC: Final = frozenset(TABLES["words"]["numeric"].split())
"""Notions whose value has a digit: numbers, dates and amounts."""

_OTHERS: Final = frozenset(TABLES["words"]["others"].split())
"""The types of headings such as payslips and quotes, which resemble bills."""

_HEADING_WEIGHT: Final = 3
_HEADING_WORDS: Final = 8
HEADING_LINES: Final = 8
"""The first lines of a document, which may be its heading."""

_HEADINGS_MAX: Final = 3  # later short lines are text and no heading
_WHOLE_WORDS: Final = 3
"""The most words, without numbers, of a heading that begins another document in a file."""

_ENOUGH: Final = 4
_REASONS_MIN: Final = 2
_SHOWN: Final = 60  # a reason only has to be recognised
_NUMBER: Final = re.compile(r"\d")
_TICKET: Final = "event"
"""The type of a booking, whose heading may call it an order too."""

_DASH: Final = re.compile(r" [-\u2013\u2014|] ")
_ENDING: Final = re.compile(r"\.[a-z]{2,4}$")
"""The extension of a heading that is a file name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of document, and the reasons for its choice."""

    entity_type: str
    reasons: tuple[str, ...]
    weight: int


def kind_of_text(lines: Sequence[LabelledLine]) -> Kind | None:
    """Return the type with the most evidence; None if there is too little or a tie."""
    weights: Counter[str] = Counter()
    reasons: dict[str, list[str]] = {}
    text = "\n".join(line.text for line in lines)
    language = detect_language(text)
    labels = dict(_labels_by_meaning(lines))
    headings = _headings_by_type(lines, language)
    others = _OTHERS.intersection(headings)
    if others and _TICKET not in headings:
        return None
    for kind, heading in headings.items():
        weights[kind] += _HEADING_WEIGHT
        reasons.setdefault(kind, []).append(f'heading "{heading[:_SHOWN]}"')
        if (
            kind == "contract"
            and "parties" not in labels
            and (names := parties_between(text, language))
        ):
            labels["parties"] = BETWEEN.join(names)
    for kind, evidence in _EVIDENCE.items():
        for meaning in sorted(labels.keys() & evidence.keys()):
            weights[kind] += evidence[meaning]
            reasons.setdefault(kind, []).append(f'label "{labels[meaning][:_SHOWN]}" ({meaning})')
    ranked = weights.most_common(2)
    if not ranked or ranked[0][1] < _ENOUGH:
        return None
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None
    kind, weight = ranked[0]
    if len(reasons[kind]) < _REASONS_MIN or (others and kind != _TICKET):
        return None
    if kind == "invoice" and "invoice_number" not in labels and not names_bill(text, language):
        return None
    return Kind(entity_type=kind, reasons=tuple(reasons[kind]), weight=weight)


def names_bill(text: str, language: str = "") -> bool:
    """Return whether a text has a word for an invoice, as any invoice must."""
    known = (known_languages()[language],) if language else known_languages().values()
    bills = [p for each in known for p, kind in each.headings.items() if kind == "invoice"]
    ends = tuple(each.removeprefix("*") for each in bills if each[0] == "*")
    words = set(plain_label(text).split())
    return not words.isdisjoint(bills) or any(word.endswith(ends or " ") for word in words)


def is_document_heading(text: str) -> bool:
    """Return whether a line is the heading of a type of document."""
    return bool(named_types(plain_label(text)))


def heading_of(lines: Sequence[LabelledLine]) -> tuple[str, str]:
    """Return the type that the first heading names, and the heading; empty if there is none."""
    language = detect_language("\n".join(line.text for line in lines))
    return next(iter(_headings_by_type(lines, language).items()), ("", ""))


def named_types(text: str, *, whole: bool = False) -> frozenset[str]:
    """Return the types that a heading in plain letters names; `whole`: by all of its words."""
    words = len([word for word in text.split() if not _NUMBER.search(word)])
    if not text or (whole and words > _WHOLE_WORDS):
        return frozenset()
    return frozenset(_types_in_heading(text, ""))


def _labels_by_meaning(lines: Sequence[LabelledLine]) -> Mapping[str, str]:
    """Return the labels of the document by notion, without those of list items."""
    forms = forms_in(lines)
    found: dict[str, str] = {}
    for index, line in enumerate(lines):
        if not line.meaning or (line.listed and index not in forms):
            continue
        value = line.value or "\n".join(line.block)
        if value and (line.meaning not in _NUMERIC or _NUMBER.search(value)):
            found.setdefault(line.meaning, line.label)
    return found


def _headings_by_type(lines: Sequence[LabelledLine], language: str) -> Mapping[str, str]:
    """Return the types that the first headings name, with the heading."""
    searched = 0
    for line, below in pairwise((*lines[: HEADING_LINES + 1], *lines[-1:])):
        text = plain_label(_ENDING.sub("", line.text))
        listed = line.listed and below.listed  # "2. Mahnung" is no list
        if listed or line.value or not 0 < len(text.split()) <= _HEADING_WORDS:
            continue
        searched += 1
        parts = map(plain_label, _DASH.split(_ENDING.sub("", line.text)))
        if found := {k: line.text for part in parts for k in _types_in_heading(part, language)}:
            return found
        if searched == _HEADINGS_MAX:
            break
    return {}


@lru_cache(maxsize=4_096)  # each part asks for the headings above it
def _types_in_heading(text: str, language: str) -> Sequence[str]:
    """Return the type that a heading names at its beginning or end by the longest phrase.

    Phrases of the document's language are tried first.
    """
    every = known_languages()
    own = {language: every[language]} if language else {}
    for known in (own, every):
        named = {word: kind for each in known.values() for word, kind in each.headings.items()}
        if fitting := [phrase for phrase in named if _matches_edge(phrase, text)]:
            return (named[max(fitting, key=len)],)
    return ()


def _matches_edge(phrase: str, text: str) -> bool:
    if phrase.startswith("*"):
        words = text.split()
        return any(word.endswith(phrase[1:]) for word in (words[0], words[-1]))
    return f"{text} ".startswith(f"{phrase} ") or f" {text}".endswith(f" {phrase}")


_IBAN: Final = re.compile(r"\b(?=([A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,8})\b)")
_TAX: Final = re.compile(r"\b(?=([A-Z]{2}[ -]?[A-Z0-9](?:[ .-]?[A-Z0-9]){6,15})\b)")
_EIN: Final = re.compile(r"\b(?:EIN|Tax ID|TIN)\b[^\d\n]{0,12}(\d{2}-\d{7})\b", re.IGNORECASE)
_MAIL: Final = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}")
_PHONE: Final = re.compile(r"(?<![\w+])(\+\d{1,3}[ .()/\d-]{6,20}\d)(?!\w)")
_TAXED_IN: Final = frozenset(TABLES["words"]["taxed_in"].split())


def ibans_in(text: str) -> tuple[str, ...]:
    """Return the IBANs with the length of their country and valid check digits, without blanks."""
    return _numbers_in(text, _IBAN, lambda each: iban.is_valid(each, check_country=False))


def tax_ids_in(text: str) -> tuple[str, ...]:
    """Return tax numbers of companies with valid check digits, of Europe and the United States."""
    return _numbers_in(text, _TAX, _is_tax_id) + tuple(
        dict.fromkeys(match[1] for match in _EIN.finditer(text))
    )


def _numbers_in(
    text: str, pattern: re.Pattern[str], is_valid: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return the valid numbers at the beginnings of matches, which may go on with other words."""
    found: dict[str, str] = {}
    for match in pattern.finditer(text):
        number = match[1]
        while number and not is_valid(number):
            number = number.rpartition(" ")[0]
        if number:
            found.setdefault(clean(number, " .-"), number.replace(" ", ""))
    return tuple(found.values())


def _is_tax_id(text: str) -> bool:
    country = text[:2]
    if country not in _TAXED_IN:
        return False
    if country == "CH":
        return bool(uid.is_valid(text))
    vat = get_cc_module("gr" if country == "EL" else country.lower(), "vat")
    return vat is not None and any(map(vat.is_valid, (text, text[2:])))


def mails_in(text: str) -> tuple[str, ...]:
    """Return e-mail addresses in lower case."""
    return tuple(dict.fromkeys(match[0].lower() for match in _MAIL.finditer(text)))


def phones_in(text: str) -> tuple[str, ...]:
    """Return phone numbers with the code of a country and a length that it has."""
    found = (match[1].strip() for match in _PHONE.finditer(text))
    return tuple(dict.fromkeys(each for each in found if _is_phone(each)))


def _is_phone(text: str) -> bool:
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(text))
    except phonenumbers.NumberParseException:
        return False


# Papers that are no bills, such as credit notes and quotes: their types and their own numbers.
#
# Their heading decides. The number of an invoice that they name is a reference and never their own.

_PAPER_GOODS: Final = ("delivery_note", "return_note")
PAPERS: Final = ("credit_note", "quote", "order", "reminder", *_PAPER_GOODS, "payslip")
_PAPER_SUMS: Final = frozenset({"amount_due", "total", "amount", "subtotal", "tax"})
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
_LETTERHEAD: Final = 4  # the most lines of a sender above a heading

_SIGNS: Final = re.compile("no|nr|n|o|number|num|numero|nummer|numer|#")
_BEFORE: Final = re.compile(r"(?:no|nr|numero|n)(?: (?:de|d|di|da|del|della))?")


def type_of(lines: Sequence[LabelledLine]) -> Kind | None:
    """Return the type of a document: a paper by its heading if it has a sum or a number."""
    (kind, heading), other = heading_of(lines), kind_of_text(lines)
    booked = other is not None and other.entity_type == "event"
    counted = any(e.meaning in _PAPER_SUMS and any(map(str.isdigit, e.value)) for e in lines)
    # The receipt of a payment is not the invoice whose number it names.
    billed = other is not None and other.entity_type == "invoice" and not names_bill(heading)
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
            rest, reported = (
                line.text[found.end() :],
                _owned(kind, plain_label(line.text[: found.start()])),
            )
            whole = not _EACH.search(rest) or INVOICES.search(rest)
            if whole and (reported or (reported is not None and not NO_NUMBER.fullmatch(found[1]))):
                return found[1]
    words = plain_label(heading_of(lines)[1]).split()
    labelled = [
        line
        for line in lines
        if line.value and (_owned(kind, plain_label(line.label)) or _names(line, words))
    ]
    for line in (*labelled, *(line for line in lines if line.meaning == "number")):
        if (number := _number_in(line)) and not is_date(line.value):
            return number
    return ""


def _names(line: LabelledLine, heading: Sequence[str]) -> bool:
    """Return whether a label is a number of what the heading says, or of its initials."""
    own = {each for each in plain_label(line.label).split() if not _SIGNS.fullmatch(each)}
    initials = "".join(each[0] for each in heading)
    return not line.meaning and bool(own) and (own <= {*heading} or own == {initials})


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
        if line.meaning == "invoice_number" and (number := _number_in(line)):
            said[number] = None
        said |= dict.fromkeys(invoices_in(line.text))
    numbers = [each for each in said if each != own and not is_date(each)]
    return numbers if len(numbers) > 1 else next(iter(numbers), None)


def invoices_paid(text: str) -> Sequence[str]:
    """Return the invoices that a mail says to be paid: in that sentence, or the only one named.

    A sentence with a negation or a condition says nothing.
    """
    said = [each for each in _SENTENCE.split(text) if _PAID.search(plain_label(each))]
    if not said or any(_DOUBT.search(plain_label(each)) for each in said):
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


@lru_cache(maxsize=len(PAPERS))  # built from a table once a type
def _stems(kind: str) -> tuple[str, ...]:
    """Return the phrases of a type, the longest first, and the words that begin them."""
    phrases = {
        phrase.removeprefix("*")
        for each in known_languages().values()
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
    for index, line in enumerate(lines):
        if (
            index
            and not line.value
            and not line.listed
            and named_types(plain_label(line.text), whole=True)
        ):
            first = index  # the letterhead above belongs to the document
            least = max((starts or [0])[-1] + 1, index - _LETTERHEAD)
            while first > least and not lines[first - 1].label:
                first -= 1
            starts.append(first)
    parts: list[Sequence[LabelledLine]] = []
    last = ("", "")
    for begin, end in pairwise([0, *starts, len(lines)]):
        reported = _type_and_number(lines[begin:end])
        if parts and (not reported[1] or not last[1] or reported == last):
            parts[-1] = [*parts[-1], *lines[begin:end]]
            last = last if last[1] else reported
        else:
            parts.append(lines[begin:end])
            last = reported
    return parts


def _type_and_number(lines: Sequence[LabelledLine]) -> tuple[str, str]:
    """Return the type and the own number of a part of a file."""
    kind = type_of(lines)
    if kind is None:
        return "", ""
    if kind.entity_type in PAPERS:
        return kind.entity_type, own_number(kind.entity_type, lines)
    notion = f"{kind.entity_type}_number"
    numbers = (line.value for line in lines if line.meaning == notion and _EACH.search(line.value))
    return kind.entity_type, next(numbers, "")

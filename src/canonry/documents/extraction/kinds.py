"""The kind of a document, and the identifiers that it states."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.documents.extraction.items import forms_in
from canonry.documents.extraction.writings import BETWEEN, between
from canonry.records.notation.labels import LabelledLine, plain
from canonry.values.languages import languages, written_in

# Which type of document a text is: by its heading and its labels together, with the reasons.
#
# One word is no evidence: a label counts only where its value is of the kind that it promises, and
# a heading only beside such a label, so that a note which mentions an invoice stays a note.

_EVIDENCE: Final[Mapping[str, Mapping[str, int]]] = {
    "invoice": {
        "invoice_number": 4,
        "due": 2,
        "customer": 2,
        "amount_due": 2,
        "vendor": 1,
        "subtotal": 1,
        "tax": 1,
        "total": 1,
        "issued": 1,
    },
    "receipt": {
        "receipt_number": 4,
        "merchant": 2,
        "payment_method": 2,
        "total": 1,
        "tax": 1,
        "items": 1,
    },
    "contract": {
        "contract_number": 4,
        "parties": 3,
        "party": 2,
        "rent": 1,
        "effective": 2,
        "expiration": 2,
        "signed": 2,
    },
    "event": {"starts": 3, "booking": 2, "place": 2},
    "note": {
        "attendees": 3,
        "agenda": 2,
        "actions": 2,
        "points": 2,
        "tags": 2,
        "next_meeting": 2,
        "author": 1,
    },
}
_NUMERIC: Final = frozenset(
    {
        *("invoice_number", "receipt_number", "contract_number", "due", "issued", "effective"),
        *("expiration", "signed", "starts", "amount_due", "subtotal", "tax", "total", "rent"),
        *("next_meeting", "booking"),
    }
)
"""Notions whose value holds a digit: a number, a day, an amount."""

_OTHER: Final = "other"
"""What headings of payslips, quotes and the like name: none of the types, however alike inside."""

_HEADING_WEIGHT: Final = 3
_HEADING_WORDS: Final = 8
_HEADING_WITHIN: Final = 8
_HEADINGS_MAX: Final = 3
_ENOUGH: Final = 4
_REASONS_MIN: Final = 2
_SHOWN: Final = 60
_NUMBER: Final = re.compile(r"\d")
_ENDING: Final = re.compile(r"\.[a-z]{2,4}$")
"""Of a heading that is the name of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of document and why it was taken."""

    entity_type: str
    reasons: tuple[str, ...]
    weight: int


def kind_of_text(lines: Sequence[LabelledLine]) -> Kind | None:
    """The type with the most evidence, None where no type has enough or two have the same."""
    weights: Counter[str] = Counter()
    reasons: dict[str, list[str]] = {}
    text = "\n".join(line.text for line in lines)
    language = written_in(text)
    said = dict(_notions(lines))
    headings = _headed(lines, language)
    if _OTHER in headings:
        return None
    for kind, heading in headings.items():
        weights[kind] += _HEADING_WEIGHT
        reasons.setdefault(kind, []).append(f'heading "{heading[:_SHOWN]}"')
        if kind == "contract" and "parties" not in said and (names := between(text, language)):
            said["parties"] = BETWEEN.join(names)
    for kind, evidence in _EVIDENCE.items():
        for notion in sorted(said.keys() & evidence.keys()):
            weights[kind] += evidence[notion]
            reasons.setdefault(kind, []).append(f'label "{said[notion][:_SHOWN]}" ({notion})')
    ranked = weights.most_common(2)
    if not ranked or ranked[0][1] < _ENOUGH:
        return None
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None
    kind, weight = ranked[0]
    if len(reasons[kind]) < _REASONS_MIN:
        return None
    return Kind(entity_type=kind, reasons=tuple(reasons[kind]), weight=weight)


def heads_a_document(text: str) -> bool:
    """Whether a line says what kind of document it stands above."""
    return any(_named(plain(text), "")) if plain(text) else False


def _notions(lines: Sequence[LabelledLine]) -> Mapping[str, str]:
    """What the document labels, by the label; items of a list say nothing of the document."""
    forms = forms_in(lines)
    found: dict[str, str] = {}
    for place, line in enumerate(lines):
        if not line.notion or (line.listed and place not in forms):
            continue
        said = line.value or "\n".join(line.block)
        if said and (line.notion not in _NUMERIC or _NUMBER.search(said)):
            found.setdefault(line.notion, line.label)
    return found


def _headed(lines: Sequence[LabelledLine], language: str) -> Mapping[str, str]:
    """The types that the first lines which are headings name, and how."""
    looked = 0
    for line in lines[:_HEADING_WITHIN]:
        text = plain(_ENDING.sub("", line.text))
        if line.listed or line.value or not 0 < len(text.split()) <= _HEADING_WORDS:
            continue
        looked += 1
        if found := dict.fromkeys(_named(text, language), line.text):
            return found
        if looked == _HEADINGS_MAX:
            break
    return {}


def _named(text: str, language: str) -> Iterator[str]:
    """The type of document that a heading names at its beginning or its end; the longest word.

    What it is written in goes first: forms have few words of a sentence that tell the language.
    """
    every = languages()
    own = {language: every[language]} if language else {}
    for known in (own, every):
        named = {word: kind for each in known.values() for word, kind in each.headings.items()}
        if fitting := [phrase for phrase in named if _fits(phrase, text)]:
            yield named[max(fitting, key=len)]
            return


def _fits(phrase: str, text: str) -> bool:
    if phrase.startswith("*"):
        words = text.split()
        return any(word.endswith(phrase[1:]) for word in (words[0], words[-1]))
    return f"{text} ".startswith(f"{phrase} ") or f" {text}".endswith(f" {phrase}")


_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?\b")
_TAX: Final = re.compile(
    r"\b(?:ATU\d{8}|BE ?[01]\d{9}|DE ?\d{9}|ES ?[A-Z0-9]\d{7}[A-Z0-9]|FR ?[A-Z0-9]{2} ?\d{9}"
    r"|GB ?\d{9}|IT ?\d{11}|NL ?\d{9}B\d{2}|PL ?\d{10}|PT ?\d{9}|CHE-?\d{3}\.?\d{3}\.?\d{3})\b"
)
_EIN: Final = re.compile(r"\b(?:EIN|Tax ID|TIN)\b[^\d\n]{0,12}(\d{2}-\d{7})\b", re.IGNORECASE)
_MAIL: Final = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}")
_PHONE: Final = re.compile(r"(?<![\w+])(\+\d{1,3}[ .()/\d-]{6,20}\d)(?!\w)")
_REMAINDER: Final = 97


def ibans_in(text: str) -> tuple[str, ...]:
    """The international account numbers whose check digits hold, without blanks."""
    found = (match[0].replace(" ", "") for match in _IBAN.finditer(text))
    return tuple(dict.fromkeys(each for each in found if _checks(each)))


def tax_ids_in(text: str) -> tuple[str, ...]:
    """Tax numbers of companies, as European states and the United States write them."""
    found = [match[0].replace(" ", "") for match in _TAX.finditer(text)]
    found += [match[1] for match in _EIN.finditer(text)]
    return tuple(dict.fromkeys(found))


def mails_in(text: str) -> tuple[str, ...]:
    """Addresses of electronic mail, in lower case."""
    return tuple(dict.fromkeys(match[0].lower() for match in _MAIL.finditer(text)))


def phones_in(text: str) -> tuple[str, ...]:
    """Telephone numbers with their country's code."""
    return tuple(dict.fromkeys(match[1].strip() for match in _PHONE.finditer(text)))


def _checks(iban: str) -> bool:
    turned = iban[4:] + iban[:4]
    digits = "".join(str(int(char, 36)) for char in turned)
    return len(iban) >= 15 and int(digits) % _REMAINDER == 1  # noqa: PLR2004 - the shortest

"""Which type of document a text is: by its heading and its labels together, with the reasons.

One word is no evidence: a label counts only where its value is of the kind that it promises, and a
heading only beside such a label, so that a note which mentions an invoice stays a note.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.documents.extraction.forms import forms_in
from canonry.documents.extraction.writings.agreements import BETWEEN, between
from canonry.records.notation.labels import LabelledLine, plain
from canonry.values.languages import languages, written_in

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

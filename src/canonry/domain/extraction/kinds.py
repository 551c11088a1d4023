"""Which type of document a text is: by its heading and by the labels that it has, with reasons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.domain.extraction.labels import LabelledLine, plain

_HEADINGS: Final = {
    "invoice": "invoice bill rechnung factura facture fattura fatura credit-note gutschrift",
    "receipt": "receipt kassenbon quittung beleg bon recibo ticket recu scontrino kassenzettel",
    "contract": "contract agreement vertrag contrato contrat lease nda arbeitsvertrag mietvertrag "
    "dienstleistungsvertrag kaufvertrag acuerdo",
    "note": "notes minutes memo note protokoll besprechung notizen acta notas nota journal diary "
    "besprechungsprotokoll",
}
_TYPE_OF: Final = {word: kind for kind, words in _HEADINGS.items() for word in words.split()}
_EVIDENCE: Final = {
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
        "effective": 2,
        "expiration": 2,
        "signed": 2,
    },
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
_HEADING_WEIGHT: Final = 4
_HEADING_WORDS: Final = 6
_HEADING_LINES: Final = 4
_ENOUGH: Final = 4


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
    for kind in sorted(_headed(lines)):
        weights[kind] += _HEADING_WEIGHT
        reasons.setdefault(kind, []).append("heading")
    notions = {line.notion for line in lines if line.notion}
    for kind, evidence in _EVIDENCE.items():
        for notion in sorted(notions & evidence.keys()):
            weights[kind] += evidence[notion]
            reasons.setdefault(kind, []).append(f"label:{notion}")
    ranked = weights.most_common(2)
    if not ranked or ranked[0][1] < _ENOUGH:
        return None
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None
    kind, weight = ranked[0]
    return Kind(entity_type=kind, reasons=tuple(reasons[kind]), weight=weight)


def _headed(lines: Sequence[LabelledLine]) -> set[str]:
    """The types that the first short line with such a word names."""
    for line in lines[:_HEADING_LINES]:
        words = plain(line.text if not line.value else line.label).split()
        if 0 < len(words) <= _HEADING_WORDS:
            found = {_TYPE_OF[word] for word in words if word in _TYPE_OF}
            if found:
                return found
    return set()

"""Companions: which fields of a record name another entity, and of which type that is."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from canonry.domain.extraction.parties import is_company
from canonry.domain.normal_forms import company_name, words_only

COMPANIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "invoice": {"vendor_name": "company", "customer_name": "company"},
    "receipt": {"merchant_name": "company"},
    "transaction": {"merchant_name": "company"},
    "contract": {"parties": "party", "companies": "company"},
    "task": {"assignee": "person"},
    "contact": {"organization": "company"},
    "person": {"organization": "company"},
}
"""Entity type -> field -> the type of whom it names; a party is a company or a person."""

_NAMES_MAX: Final = 50
_WORDS_OF_A_PERSON: Final = range(2, 5)


def companions_of(entity_type: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(field, type, name) of everybody whom the fields of a record name."""
    for field, kind in COMPANIONS.get(entity_type, {}).items():
        value = fields.get(field)
        names = value if isinstance(value, list | tuple) else (value,)
        for name in names[:_NAMES_MAX]:
            if isinstance(name, str) and name.strip() and "@" not in name:
                yield field, _party(name) if kind == "party" else kind, name.strip()


def _party(name: str) -> str:
    """A party that says so is a company; two to four words of letters alone are a person."""
    words = words_only(name).split()
    if is_company(name) or company_name(name) != " ".join(words):
        return "company"
    alone = all(word.isalpha() for word in words)
    return "person" if alone and len(words) in _WORDS_OF_A_PERSON else "company"

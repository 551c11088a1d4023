"""Identifiers: under which texts an entity is found, and which texts a question means."""

from collections.abc import Iterator
from typing import Any, Final

from canonry.domain.merge.kit import PROPERTY
from canonry.domain.normal_forms import (
    company_name,
    email_address,
    folded,
    person_name,
    phone_number,
    plain_text,
    web_domain,
)
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.entities import Entity
from canonry.domain.vocabularies.narrative_fields import policy_of

_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
KEY_MAX: Final = 200
_NAMES: Final = frozenset({"name", "legal_name", "full_name", "canonical_name", "title", "aliases"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OTHERS: Final = _words(
    """
    contact_id domain email external_id iban id isbn linkedin_url phone session_id sku
    slug tax_id transaction_id tx_hash url uuid vat_id website
    """
)
_NUMBER: Final = "_number"


def identifiers_of(entity: Entity) -> frozenset[str]:
    """The normal forms of the texts under which an entity is found; none where it is no canon."""
    if entity.level not in _STANDING:
        return frozenset()
    name = entity.name
    found = set(_forms(entity.entity_type, "name", name)) if name else set()
    own_id = f"{entity.entity_type}_id"
    for place, elements in entity.snapshot.items():
        field = place.removeprefix(PROPERTY)
        known = field in _NAMES or field in _OTHERS or field == own_id or field.endswith(_NUMBER)
        if known and place.startswith(PROPERTY):
            value = policy_of(place).show(elements)
            for one in value if isinstance(value, list | tuple) else (value,):
                found.update(_forms(entity.entity_type, field, one))
    return frozenset(key[:KEY_MAX] for key in found)


def meant_by(text: str) -> tuple[str, ...]:
    """The normal forms that a question may mean, the most literal first, each once."""
    forms = (
        folded(text),
        email_address(text),
        phone_number(text),
        web_domain(text),
        company_name(text),
        person_name(text),
    )
    return tuple(dict.fromkeys(form[:KEY_MAX] for form in forms if form))


def _forms(entity_type: str, field: str, value: Any) -> Iterator[str]:
    text = plain_text(value)
    if text is None:
        return
    yield text
    given = str(value)
    match field:
        case "email":
            special = email_address(given)
        case "phone":
            special = phone_number(given)
        case "website" | "domain" | "url":
            special = web_domain(given)
        case _ if field not in _NAMES:
            special = None
        case _ if entity_type in {"person", "contact", "character"}:
            special = person_name(given)
        case _:
            special = company_name(given) if entity_type in _FIRMS else None
    if special:
        yield special


_FIRMS: Final = frozenset({"company", "organization"})

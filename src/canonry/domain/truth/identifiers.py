"""Identifiers: under which texts an entity is found, and which texts a question means.

An entity is found under everything that it was ever called: nothing that an observation said of
it is taken back by a later one, and what a merge brings together is not lost by it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from canonry.domain.ids import EntityId, SpaceId
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
from canonry.domain.observations import Observation
from canonry.domain.provenance import CanonLevel
from canonry.domain.texts.look_alikes import skeleton, without_sightless
from canonry.domain.things.entities import LABEL_MAX, Entity, says
from canonry.domain.time import Instant
from canonry.domain.truth.identity_keys import (
    BETWEEN,
    KEY_MAX,
    KeyReader,
    bounded,
    name_form,
    rule_of,
)
from canonry.domain.vocabularies.narrative_fields import NAME

_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
KEY_MARK: Final = "\x1e"
"""Before an identity key: no text that somebody looks for begins so."""

LOOK_MARK: Final = "\x1d"
"""Before what a name looks like."""

_CALLED: Final = ("name", "legal_name", "full_name", "canonical_name")
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


class IdentifierRow(NamedTuple):
    """That an entity is found under a text; `root` answers for it today."""

    space: SpaceId
    key: str
    id: EntityId
    entity_type: str
    born: Instant
    root: EntityId


def rows_of(entity: Entity) -> Iterator[IdentifierRow]:
    """Under which texts an entity is found, each once; none where it is no canon.

    An entity that was merged away leads to the one that answers for it.
    """
    if entity.level not in _STANDING:
        return
    root = entity.merged_into or entity.id
    for key in sorted(set(map(_row_key, entity.borne))):
        yield IdentifierRow(
            entity.space, key, entity.id, entity.entity_type, entity.created_at, root
        )


def borne_by(
    entity_type: str,
    observation: Observation,
    keys: KeyReader | None,
    standing: Mapping[str, Any],
) -> frozenset[str]:
    """Everything under which an observation names its entity.

    Keys of several fields may need those that are `standing` beside what is said.

    These are the normal forms of names, numbers and addresses, the keys by the rules of the schema
    that read it, and what names look like.
    """
    said = _said_of(observation, keys)
    found: set[str] = set()
    if keys is not None:
        found = {KEY_MARK + bounded(each.key) for each in keys.identities({**standing, **said})}
    known = {name: said[name] for name in said if _is_known(entity_type, name)}
    covered = set(map(_row_key, found))
    for name, value in known.items():
        found |= _texts(entity_type, name, value) - covered
    if keys is not None:
        label = _label(keys, said, known)
        found |= set() if label is None else _texts(entity_type, NAME, label) - covered
    return frozenset(found)


def keys_of(entity: Entity) -> dict[str, set[str]]:
    """All identity keys that the entity itself ever bore, by their rules."""
    found: dict[str, set[str]] = {}
    for text in entity.borne:
        if text.startswith(KEY_MARK):
            key = text.removeprefix(KEY_MARK)
            found.setdefault(rule_of(key), set()).add(key)
    return found


def look_of(entity_type: str, name: str) -> str:
    """What a name looks like, whatever letters it is written in."""
    return skeleton(name_form(entity_type, without_sightless(name)))


def looks_of(entity: Entity) -> set[str]:
    """What all names that the entity itself ever bore look like."""
    marked = (text for text in entity.borne if text.startswith(LOOK_MARK))
    return {text.removeprefix(LOOK_MARK) for text in marked}


def looks_in(entity_type: str, fields: Mapping[str, Any]) -> frozenset[str]:
    """What the names that a record gives look like, as `looks_of` tells it."""
    said = [fields[name] for name in _CALLED if name in fields]
    looks = {look_of(entity_type, each)[:KEY_MAX] for each in said if isinstance(each, str)}
    return frozenset(looks - {""})


def key_text(key: str) -> str:
    """The text under which the bearers of an identity key are found."""
    return _row_key(KEY_MARK + bounded(key))


def look_text(look: str) -> str:
    """The text under which those are found whose name looks so."""
    return LOOK_MARK + look[:KEY_MAX]


def _said_of(observation: Observation, keys: KeyReader | None) -> dict[str, Any]:
    """The values by the fields' own names; also those that the schema had no place for."""
    said = {} if keys is None else {n: each.value for n, each in observation.fragments.items()}
    for place, value in observation.fields.items():
        if place.startswith(PROPERTY):
            said[place.removeprefix(PROPERTY)] = value
    if keys is None and NAME in observation.fields:
        said.setdefault(NAME, observation.fields[NAME])
    return said


def _is_known(entity_type: str, field: str) -> bool:
    return (
        field in _NAMES
        or field in _OTHERS
        or field.endswith(_NUMBER)
        or field == f"{entity_type}_id"
    )


def _label(keys: KeyReader, said: Mapping[str, Any], known: Mapping[str, Any]) -> str | None:
    """What the observation calls the entity by fields that are no identifiers otherwise."""
    for group in keys.schema.names:
        words = [str(said[name]) for name in group if says(said.get(name))]
        if words:
            return " ".join(words)[:LABEL_MAX] if known.keys().isdisjoint(group) else None
    return None


def _texts(entity_type: str, field: str, value: Any) -> set[str]:
    found: set[str] = set()
    for one in value if isinstance(value, list | tuple) else (value,):
        found.update(form[:KEY_MAX] for form in _forms(entity_type, field, one))
        if field in _CALLED and isinstance(one, str) and (look := look_of(entity_type, one)):
            found.add(look_text(look))
    return found


def _row_key(borne: str) -> str:
    """A key of one field is found under its value, as people write it; others are not typed in."""
    if borne.startswith(KEY_MARK) and BETWEEN not in borne:
        return borne.partition(":")[2] or borne
    return borne


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

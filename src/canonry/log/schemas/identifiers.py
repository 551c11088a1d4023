"""Identifiers: under which texts an entity is found, and which texts a question means.

An entity is found under everything that it was ever called: nothing that an observation said of
it is taken back by a later one, and what a merge brings together is not lost by it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from canonry.language.texts.look_alikes import skeleton, unaccented, without_sightless
from canonry.language.texts.written_names import name_parts
from canonry.log.items.entities import LABEL_MAX, Entity, says
from canonry.log.items.veils import homed
from canonry.log.schemas.identity_keys import (
    BETWEEN,
    KEY_MAX,
    KeyReader,
    bounded,
    name_form,
    rule_of,
)
from canonry.log.schemas.narrative_fields import NAME
from canonry.log.schemas.narrative_types import EntityType
from canonry.values.ids import EntityId, SpaceId
from canonry.values.merge.kit import PROPERTY
from canonry.values.normal_forms import (
    company_name,
    email_address,
    folded,
    person_name,
    phone_number,
    plain_text,
    web_domain,
)
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant

_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
KEY_MARK: Final = "\x1e"
"""Before an identity key: no text that somebody looks for begins so."""

LOOK_MARK: Final = "\x1d"
"""Before what a name looks like."""

PART_MARK: Final = "\x1c"
"""Before a word of somebody's name."""

_CALLED: Final = ("name", "legal_name", "full_name", "canonical_name", "aliases")
_NAMES: Final = frozenset({"name", "legal_name", "full_name", "canonical_name", "title", "aliases"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OTHERS: Final = _words(
    """
    contact_id domain email emails external_id iban id isbn linkedin_url phone phones session_id
    sku slug tax_id transaction_id tx_hash url uuid vat_id website
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearer:
    """Who bears a text, as far as it takes to tell whether a record can be about it."""

    id: EntityId
    entity_type: str
    members: tuple[EntityId, ...] = ()
    borne: tuple[str, ...] = ()


def rows_of(entity: Entity) -> Iterator[IdentifierRow]:
    """Under which texts an entity is found, each once; none where it is no canon.

    An entity that was merged away leads to the one that answers for it.
    """
    if entity.level not in _STANDING:
        return
    root, space = entity.merged_into or entity.id, homed(entity).space
    for key in sorted(set(map(found_under, entity.borne))):
        yield IdentifierRow(space, key, entity.id, entity.entity_type, entity.created_at, root)


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
    return texts_in(entity_type, fields_said(observation, keys), keys, standing)


def texts_in(
    entity_type: str,
    fields: Mapping[str, Any],
    keys: KeyReader | None,
    standing: Mapping[str, Any] | None = None,
) -> frozenset[str]:
    """Everything under which an entity of a type is named by the values of its fields."""
    known = {name: value for name, value in fields.items() if _is_known(entity_type, name)}
    found: set[str] = set()
    for name, value in known.items():
        found |= _texts(entity_type, name, value)
    if keys is not None:
        label = _label(keys, fields, known)
        if label is not None:
            found |= _texts(entity_type, NAME, label)
        everything = {**standing, **fields} if standing else fields
        borne = [key_mark(each) for each in keys.keys(everything)]
        found.difference_update(map(found_under, borne))
        found.update(borne)
    return frozenset(found)


def keys_of(borne: Iterable[str]) -> dict[str, set[str]]:
    """The identity keys among all that an entity ever bore, by their rules."""
    found: dict[str, set[str]] = {}
    for text in borne:
        if text.startswith(KEY_MARK):
            found.setdefault(rule_of(text.removeprefix(KEY_MARK)), set()).add(text)
    return found


def bears_any(borne: Iterable[str], rule: str) -> bool:
    """Whether there is a key by the rule among all that an entity ever bore."""
    begins = KEY_MARK + rule.partition("+")[0]
    return any(each.startswith(begins) and rule_of(each[1:]) == rule for each in borne)


def look_mark(entity_type: str, name: str) -> str:
    """What a name looks like, whatever letters and accents it has, as its entity bears it."""
    look = unaccented(skeleton(name_form(entity_type, without_sightless(name))))
    return LOOK_MARK + look[:KEY_MAX]


def looks_of(borne: Iterable[str]) -> set[str]:
    """What all names that an entity ever bore look like."""
    return {text for text in borne if text.startswith(LOOK_MARK)}


def looks_in(entity_type: str, fields: Mapping[str, Any]) -> frozenset[str]:
    """What the names that a record gives look like, as `looks_of` tells it."""
    given = [fields[name] for name in _CALLED if name in fields]
    if not given:
        return _NOTHING
    names = [one for each in given for one in (each if isinstance(each, list) else (each,))]
    looks = [look_mark(entity_type, each) for each in names if isinstance(each, str)]
    return frozenset([look for look in looks if look != LOOK_MARK])


def part_mark(form: str) -> str:
    """A part of a name as its entity bears it: the last of its words."""
    return PART_MARK + form.rpartition(" ")[2][:KEY_MAX]


def parts_in(entity_type: str, name: str) -> frozenset[str]:
    """The words of a name by which a character is meant, as their entity bears them."""
    if entity_type != EntityType.CHARACTER:
        return _NOTHING
    return frozenset(map(part_mark, name_parts(name)))


_NOTHING: Final = frozenset[str]()


def key_mark(key: str) -> str:
    """An identity key as its entity bears it."""
    return KEY_MARK + bounded(key)


def fields_said(observation: Observation, keys: KeyReader | None) -> dict[str, Any]:
    """The values by the fields' own names; also those that the schema had no place for."""
    fields = {} if keys is None else {n: each.value for n, each in observation.fragments.items()}
    start = len(PROPERTY)
    fields |= {n[start:]: v for n, v in observation.fields.items() if n.startswith(PROPERTY)}
    if keys is None and NAME in observation.fields:
        fields.setdefault(NAME, observation.fields[NAME])
    return fields


@lru_cache(maxsize=4096)
def _is_known(entity_type: str, field: str) -> bool:
    return (
        field in _NAMES
        or field in _OTHERS
        or field.endswith(_NUMBER)
        or field == f"{entity_type}_id"
    )


def _label(keys: KeyReader, fields: Mapping[str, Any], known: Mapping[str, Any]) -> str | None:
    """What the observation calls the entity by fields that are no identifiers otherwise."""
    for group in keys.schema.names:
        words = [str(fields[name]) for name in group if says(fields.get(name))]
        if words:
            return " ".join(words)[:LABEL_MAX] if known.keys().isdisjoint(group) else None
    return None


def _texts(entity_type: str, field: str, value: Any) -> frozenset[str]:
    if isinstance(value, str):
        return _texts_of(entity_type, field, value)
    found: set[str] = set()
    for one in value if isinstance(value, list | tuple) else (value,):
        if isinstance(one, str):
            found |= _texts_of(entity_type, field, one)
        elif (text := plain_text(one)) is not None:
            special = _special_form(entity_type, field, str(one))
            found |= {each[:KEY_MAX] for each in (text, special) if each}
    return frozenset(found)


@lru_cache(maxsize=4096)
def _texts_of(entity_type: str, field: str, one: str) -> frozenset[str]:
    """Asked for the same when a record is read, when it is matched and when it is folded."""
    text = plain_text(one)
    if text is None:
        return _NOTHING
    special = _special_form(entity_type, field, one)
    called = field in _CALLED
    looks = looks_in(entity_type, {field: one}) if called else _NOTHING
    parts = parts_in(entity_type, one) if called else _NOTHING
    return frozenset((text[:KEY_MAX], *([special[:KEY_MAX]] if special else ()), *looks, *parts))


def found_under(borne: str) -> str:
    """The text under which those are found who bear what `borne` says.

    A key of one field is found under its value, as people write it; others are not typed in.
    """
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


def other_form(entity_type: str, name: str) -> str | None:
    """The form of a name without titles or legal form, where its type has one."""
    return _special_form(entity_type, NAME, name)


def _special_form(entity_type: str, field: str, given: str) -> str | None:
    """The normal form of a kind of address, or of the names of a type, if there is one."""
    if field not in _NAMES:
        address = _ADDRESS_FORMS.get(field)
        return None if address is None else address(given)
    if entity_type in _PEOPLE:
        return person_name(given)
    return company_name(given) if entity_type in _FIRMS else None


_ADDRESS_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    **dict.fromkeys(("email", "emails"), email_address),
    **dict.fromkeys(("phone", "phones"), phone_number),
    **dict.fromkeys(("website", "domain", "url"), web_domain),
}
_FIRMS: Final = frozenset({"company", "organization"})
_PEOPLE: Final = frozenset({"person", "contact", "character"})

"""Identity keys and identifiers: by what records are found to be one."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple, TypeAlias

from canonry.language.texts.stems import name_parts
from canonry.language.texts.visible import skeleton, unaccented, without_sightless
from canonry.log.items.entities import LABEL_MAX, Entity, says
from canonry.log.items.veils import homed
from canonry.log.schemas.narrative import NAME, EntityType
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.values.calendar_dates import read_date
from canonry.values.ids import EntityId, SpaceId
from canonry.values.json_values import (
    amount,
    company_name,
    email_address,
    encode_json,
    folded,
    person_name,
    phone_number,
    plain_text,
    web_domain,
    words_only,
)
from canonry.values.merge import PROPERTY
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

# Identity keys: what makes two records one entity, by the explicit rules of their schema.
#
# A key is never a guess: where no rule fits, the record's whole content is its identity, so that
# two different records stay two entities.

CONTENT: Final = "content"
"""The rule of a record that no other rule fits."""

_FIELD_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "email": email_address,
    "phone": phone_number,
    "website": web_domain,
    "domain": web_domain,
    **dict.fromkeys(
        ("vendor_name", "customer_name", "merchant_name", "organization", "legal_name"),
        company_name,
    ),
}
_NAME_FORMS: Final[Mapping[str, Callable[[str], str]]] = {
    "company": company_name,
    "organization": company_name,
    "person": person_name,
    "contact": person_name,
}
_PLAIN: Final = (int, float, str)
KEY_MAX: Final = 200
_HASH_BYTES: Final = 12
BETWEEN: Final = "\x1f"
_Form: TypeAlias = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The key of a record under one rule, in normal form.

    `apart` are the details that tell it from another with the same key, by their names.
    """

    rule: str
    key: str
    apart: tuple[tuple[str, str], ...] = ()

    @property
    def full_key(self) -> str:
        """The key of a second entity under the same key."""
        return f"{self.key}{BETWEEN}{_joined(self.apart)}" if self.apart else self.key

    def differs_from(self, other: "Identity") -> bool:
        """Whether both say something of a detail, and not the same; what one leaves out is none."""
        theirs = dict(other.apart)
        return any(theirs.get(name, value) != value for name, value in self.apart)


def identities_of(schema: EntitySchema, fields: Mapping[str, Any]) -> tuple[Identity, ...]:
    """The identities by all rules that fit, the strongest first."""
    return KeyReader(schema).identities(fields)


_Part: TypeAlias = tuple[str, str]
"""The name in keys of a field, and its value in normal form."""

_Asked: TypeAlias = tuple[str, ...]
"""What a rule asks for, each a field or several, see `IdentityRule`."""

_Parts: TypeAlias = dict[str, tuple[_Part, ...]]
"""What is said of each: one value, or for `a&b` every one."""


def label_of(asked: str) -> str:
    """The name in keys of what a rule asks for: that of the first of several fields."""
    return fields_asked(asked)[0]


def fields_asked(asked: str) -> list[str]:
    """The fields that a rule's `a|b` or `a&b` names."""
    return asked.replace("&", "|").split("|")


@dataclass(slots=True)
class KeyReader:
    """Reads the keys of records by one schema; made once for many records."""

    schema: EntitySchema
    _forms: dict[str, tuple[str, tuple[tuple[str, _Form], ...], bool]] = field(init=False)
    """What rules ask for -> its name in keys, the fields with their normal forms, whether all."""

    _rules: tuple[tuple[_Asked, _Asked, _Asked], ...] = field(init=False)
    """Of each rule what it needs, what it takes beside that, and what tells its entities apart."""

    def __post_init__(self) -> None:
        """Look at the schema once."""
        self._rules = tuple((r.fields, r.optional, r.told_apart_by) for r in self.schema.identity)
        asked = dict.fromkeys(names for rule in self._rules for part in rule for names in part)
        self._forms = {names: self._forms_of(names) for names in asked}

    def identities(self, fields: Mapping[str, Any]) -> tuple[Identity, ...]:
        """The identities by all rules that fit, the strongest first."""
        parts = self._parts(fields)
        return tuple(
            [
                Identity(
                    rule="+".join([name for name, _ in used]),
                    key=_joined(used),
                    apart=tuple([parts[names][0] for names in apart if names in parts]),
                )
                for used, apart in self._fitting(parts)
            ]
        )

    def keys(self, fields: Mapping[str, Any]) -> list[str]:
        """The keys of the identities alone."""
        return [_joined(used) for used, _ in self._fitting(self._parts(fields))]

    def _parts(self, fields: Mapping[str, Any]) -> _Parts:
        """What is said of what the rules ask for."""
        parts: _Parts = {}
        for names, (label, forms, every) in self._forms.items():
            for name, form in forms:
                given = fields.get(name)
                if given is None:
                    continue
                if every:
                    several = given if isinstance(given, list | tuple) else (given,)
                    said = [(label, value) for one in several if (value := form(one))]
                    parts[names] = tuple(dict.fromkeys((*parts.get(names, ()), *said)))
                elif value := form(given):
                    parts[names] = ((label, value),)
                    break
        return parts

    def _fitting(self, parts: _Parts) -> Iterator[tuple[list[_Part], _Asked]]:
        """Of each rule that fits what its keys are made of, and what tells its entities apart."""
        for needed, optional, apart in self._rules:
            used = [parts[names][0] for names in needed if parts.get(names)]
            if len(used) == len(needed):
                used += [parts[names][0] for names in optional if names in parts]
                yield used, apart
                if len(used) == 1:
                    for part in parts[needed[0]][1:]:
                        yield [part], apart

    def _forms_of(self, names: str) -> tuple[str, tuple[tuple[str, _Form], ...], bool]:
        alternatives = fields_asked(names)
        first = alternatives[0]
        forms = tuple((name, self._form(name, first)) for name in alternatives)
        return first, forms, "&" in names

    def _form(self, name: str, like: str) -> _Form:
        """The normal form of a field that stands for `like`: a shop is a shop in either."""
        spec, entity_type = self.schema.field(name), self.schema.entity_type
        field_type = None if spec is None else spec.type
        if field_type is FieldType.NUMBER:
            return amount
        plain = _form_of(entity_type, like) is None and field_type is not FieldType.DATE

        def normal(given: Any) -> str | None:
            if plain and type(given) is str:  # the commonest case
                return folded(given) or None
            return normal_value(entity_type, like, given, field_type)

        return normal


def content_identity(fields: Mapping[str, Any]) -> Identity:
    """The identity of a record that has no key."""
    content = {name: _canonical(value) for name, value in fields.items() if value is not None}
    return Identity(rule=CONTENT, key=f"{CONTENT}:{sha256(encode_json(content)).hexdigest()}")


def bounded(key: str) -> str:
    """The key as entities bear it: what a very long one says is hashed, part by part."""
    if len(key) <= KEY_MAX:
        return key
    parts = (part.partition(":") for part in key.split(BETWEEN))
    return BETWEEN.join(f"{name}:{_hashed(value)}" for name, _, value in parts)


def _hashed(text: str) -> str:
    return blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()


def rule_of(key: str) -> str:
    """The rule that gave a key."""
    if BETWEEN not in key:
        return key.partition(":")[0]
    return "+".join(part.partition(":")[0] for part in key.split(BETWEEN))


def _joined(parts: Iterable[tuple[str, str]]) -> str:
    return BETWEEN.join([f"{name}:{value}" for name, value in parts])


def normal_value(
    entity_type: str, name: str, value: Any, field_type: FieldType | None = None
) -> str | None:
    """The normal form of a field's value, as keys and comparisons use it; None: no use."""
    if value is None or isinstance(value, bool):
        return None
    if field_type is FieldType.NUMBER:
        return amount(value)
    if field_type is FieldType.DATE and isinstance(value, (str, int)):
        read = read_date(value)
        return None if read is None else str(read.instant)
    if isinstance(value, list | tuple):
        parts = sorted(p for p in (normal_value(entity_type, name, one) for one in value) if p)
        return ", ".join(parts) or None
    form = _form_of(entity_type, name)
    if form is None:
        return plain_text(value)
    return form(str(value)) if isinstance(value, _PLAIN) and str(value).strip() else None


def _form_of(entity_type: str, name: str) -> Callable[[str], str | None] | None:
    return _NAME_FORMS.get(entity_type) if name == "name" else _FIELD_FORMS.get(name)


def _canonical(value: Any) -> Any:
    """The value without differences that mean nothing: order of keys, case, forms of letters."""
    match value:
        case str():
            return folded(value)
        case dict():
            return {folded(str(k)): _canonical(v) for k, v in value.items() if v is not None}
        case list() | tuple():
            return [_canonical(each) for each in value]
        case _:
            return value


# Identifiers: under which texts an entity is found, and which texts a question means.
#
# An entity is found under everything that it was ever called: nothing that an observation said of
# it is taken back by a later one, and what a merge brings together is not lost by it.

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
    form = _NAME_FORMS.get(entity_type, words_only)
    look = unaccented(skeleton(form(without_sightless(name))))
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
    is_character = called and entity_type == EntityType.CHARACTER
    parts = frozenset(map(part_mark, name_parts(one))) if is_character else _NOTHING
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

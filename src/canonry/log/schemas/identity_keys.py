"""Identity keys and identifiers, by which records are recognised as one entity."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple, TypeAlias

from canonry.language.texts.stems import name_parts
from canonry.language.texts.visible import confusable_form, strip_accents, without_invisible
from canonry.log.items.entities import LABEL_MAX, Entity, is_nameable
from canonry.log.items.secret_parts import in_compartment
from canonry.log.schemas.contradictions import values_contradict
from canonry.log.schemas.narrative import NAME, EntityType
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.values.calendar_dates import read_date
from canonry.values.ids import EntityId, SpaceId
from canonry.values.json_values import (
    bare_number,
    company_name,
    document_number,
    email_address,
    encode_json,
    fold_text,
    person_name,
    phone_number,
    plain_amount,
    plain_text,
    reference_number,
    web_domain,
    words_only,
)
from canonry.values.merge_policies import PROPERTY
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

# Identity keys make two records one entity, by the explicit rules of their schema.
#
# A key is never a guess. If no rule fits, the record's whole content is its identity, so that two
# different records stay two entities.

CONTENT: Final = "content"
"""The rule of a record that no other rule fits."""

_FIELD_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "email": email_address,
    "phone": phone_number,
    "website": web_domain,
    "domain": web_domain,
    "tax_id": bare_number,
    **dict.fromkeys(("invoice_number", "receipt_number", "contract_number"), document_number),
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
KEY_MAX: Final = 200  # databases limit the keys of an index; stored: never change it
_HASH_BYTES: Final = 12  # stored: never change it; 96 bits do not collide by chance
BETWEEN: Final = "\x1f"
_Form: TypeAlias = Callable[[Any], str | None]


class Detail(NamedTuple):
    """A field that distinguishes records with one key: its value in normal form, and as given."""

    name: str
    value: str
    given: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The key of a record under one rule, in normal form.

    `apart` are the values that distinguish records with the same key.
    """

    rule: str
    key: str
    apart: tuple[Detail, ...] = ()

    @property
    def full_key(self) -> str:
        """The key of a second entity with the same key."""
        if not self.apart:
            return self.key
        return f"{self.key}{BETWEEN}{_join_parts(each[:2] for each in self.apart)}"

    def contradicts(self, other: "Identity", entity_type: str, agreed: Container[str] = ()) -> bool:
        """Return whether both have a distinguishing field that differs; `agreed` are other keys."""
        theirs = {each.name: each for each in other.apart}
        return any(
            values_contradict(
                entity_type,
                ours.name,
                ours[1:],
                theirs[ours.name][1:],
                in_key=ours.name == self.rule or ours.name in agreed,
            )
            for ours in self.apart
            if ours.name in theirs
        )


def identities_of(schema: EntitySchema, fields: Mapping[str, Any]) -> tuple[Identity, ...]:
    """Return the identities under all rules that fit, the strongest first."""
    return KeyReader(schema).read_identities(fields)


_Part: TypeAlias = tuple[str, str]
"""The name of a field in keys, and its value in normal form."""

_Asked: TypeAlias = tuple[str, ...]
"""The inputs of a rule, each one or several fields; see `IdentityRule`."""

_Parts: TypeAlias = dict[str, tuple[_Part, ...]]
"""The values of each input: one value, or every one for `a&b`."""


def label_of(asked: str) -> str:
    """Return the name of an input in keys: that of the first of several fields."""
    return fields_of_rule(asked)[0]


def fields_of_rule(asked: str) -> list[str]:
    """Return the fields in a rule's `a|b` or `a&b`."""
    return asked.replace("&", "|").split("|")


class KeyReader:
    """Reads the keys of many records by one schema."""

    def __init__(self, schema: EntitySchema) -> None:
        """Prepare the schema's rules."""
        self.schema = schema
        self._rules = tuple((r.fields, r.optional, r.told_apart_by) for r in schema.identity)
        """Each rule's required inputs, optional inputs and distinguishing fields."""
        asked = dict.fromkeys(n for rule in self._rules for part in rule[:2] for n in part)
        self._forms = {names: self._forms_of(names) for names in asked}
        """Input -> its name in keys, the fields with their normal forms, whether all count."""
        apart = dict.fromkeys(names for rule in self._rules for names in rule[2])
        self._told_apart = {names: self._forms_of(names)[1] for names in apart}
        """Distinguishing input -> the fields with their normal forms."""

    def read_identities(self, fields: Mapping[str, Any]) -> tuple[Identity, ...]:
        """Return the identities under all rules that fit, the strongest first."""
        parts = self._read_parts(fields)
        return tuple(
            [
                Identity(
                    rule="+".join([name for name, _ in used]),
                    key=_join_parts(used),
                    apart=tuple([e for names in apart for e in self._read_detail(fields, names)]),
                )
                for used, apart in self._fitting_rules(parts)
            ]
        )

    def _read_detail(self, fields: Mapping[str, Any], names: str) -> Iterator[Detail]:
        """Yield the first value of a distinguishing input, if it has one."""
        for name, form in self._told_apart[names]:
            if (given := fields.get(name)) is not None and (value := form(given)):
                yield Detail(label_of(names), value, given)
                return

    def read_keys(self, fields: Mapping[str, Any]) -> list[str]:
        """Return only the keys of the identities."""
        return [_join_parts(used) for used, _ in self._fitting_rules(self._read_parts(fields))]

    def _read_parts(self, fields: Mapping[str, Any]) -> _Parts:
        """Return the values of the rules' inputs."""
        parts: _Parts = {}
        for names, (label, forms, every) in self._forms.items():
            for name, form in forms:
                given = fields.get(name)
                if given is None:
                    continue
                if every:
                    several = given if isinstance(given, list | tuple) else (given,)
                    values = [(label, value) for one in several if (value := form(one))]
                    parts[names] = tuple(dict.fromkeys((*parts.get(names, ()), *values)))
                elif value := form(given):
                    parts[names] = ((label, value),)
                    break
        return parts

    def _fitting_rules(self, parts: _Parts) -> Iterator[tuple[list[_Part], _Asked]]:
        """Return the parts of the keys and the distinguishing fields of each rule that fits."""
        for needed, optional, apart in self._rules:
            used = [parts[names][0] for names in needed if parts.get(names)]
            if len(used) == len(needed):
                used += [parts[names][0] for names in optional if names in parts]
                yield used, apart
                if len(used) == 1:
                    yield from (([part], apart) for part in parts[needed[0]][1:])

    def _forms_of(self, names: str) -> tuple[str, tuple[tuple[str, _Form], ...], bool]:
        alternatives = fields_of_rule(names)
        first = alternatives[0]
        forms = tuple((name, self._normal_form(name, first)) for name in alternatives)
        return first, forms, "&" in names

    def _normal_form(self, name: str, like: str) -> _Form:
        """Return the normal form of a field that replaces `like`: a shop in either."""
        spec, entity_type = self.schema.find_field(name), self.schema.entity_type
        field_type = None if spec is None else spec.type
        if field_type is FieldType.NUMBER:
            return plain_amount
        plain = _form_of(entity_type, like) is None and field_type is not FieldType.DATE

        def normalise(given: Any) -> str | None:
            if plain and type(given) is str:  # the most frequent case
                return fold_text(given) or None
            return normal_value(entity_type, like, given, field_type)

        return normalise


def content_identity(fields: Mapping[str, Any]) -> Identity:
    """Return the identity of a record without a key."""
    content = {name: _canonical_value(value) for name, value in fields.items() if value is not None}
    return Identity(rule=CONTENT, key=f"{CONTENT}:{sha256(encode_json(content)).hexdigest()}")


def bound_key(key: str) -> str:
    """Return the key as entities store it; the parts of a very long one are hashed."""
    if len(key) <= KEY_MAX:
        return key
    parts = (part.partition(":") for part in key.split(BETWEEN))
    hashed = ((name, blake2b(text.encode(), digest_size=_HASH_BYTES)) for name, _, text in parts)
    return BETWEEN.join(f"{name}:{digest.hexdigest()}" for name, digest in hashed)


def rule_of(key: str) -> str:
    """Return the rule of a key."""
    if BETWEEN not in key:
        return key.partition(":")[0]
    return "+".join(part.partition(":")[0] for part in key.split(BETWEEN))


def _join_parts(parts: Iterable[tuple[str, str]]) -> str:
    return BETWEEN.join([f"{name}:{value}" for name, value in parts])


def normal_value(
    entity_type: str, name: str, value: Any, field_type: FieldType | None = None
) -> str | None:
    """Return a field's value in the normal form of keys and comparisons; None: unusable."""
    if value is None or isinstance(value, bool):
        return None
    if field_type is FieldType.NUMBER:
        return plain_amount(value)
    if field_type is FieldType.DATE and isinstance(value, (str, int)):
        read = read_date(value)
        return None if read is None else str(read.instant)
    if isinstance(value, list | tuple):
        parts = sorted(p for p in (normal_value(entity_type, name, one) for one in value) if p)
        return ", ".join(parts) or None
    form = _form_of(entity_type, name)
    if form is None:
        return plain_text(value)
    return form(str(value)) if isinstance(value, (int, float, str)) and str(value).strip() else None


def _form_of(entity_type: str, name: str) -> Callable[[str], str | None] | None:
    return _NAME_FORMS.get(entity_type) if name == "name" else _FIELD_FORMS.get(name)


def _canonical_value(value: Any) -> Any:
    """Return the value without meaningless differences: order of keys, case, forms of letters."""
    match value:
        case str():
            return fold_text(value)
        case dict():
            return {
                fold_text(str(k)): _canonical_value(v) for k, v in value.items() if v is not None
            }
        case list() | tuple():
            return [_canonical_value(each) for each in value]
        case _:
            return value


# Identifiers: the texts that find an entity, and the texts that a question may mean.
#
# An entity is found under everything that it was ever called. Neither a later observation nor a
# merge removes an identifier.

_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
KEY_MARK: Final = "\x1e"
"""Starts an identity key. No searched text starts with it."""

CONFUSABLE_MARK: Final = "\x1d"
"""Starts the confusable form of a name."""

PART_MARK: Final = "\x1c"
"""Starts a word of a person's name."""

CALLED: Final = ("name", "legal_name", "full_name", "canonical_name", "aliases")
_NAMES: Final = frozenset({"name", "legal_name", "full_name", "canonical_name", "title", "aliases"})


_OTHERS = """
contact_id domain email emails external_id iban id invoice_reference isbn linkedin_url
payment_reference phone phones session_id
sku slug tax_id transaction_id tx_hash url uuid vat_id website
"""
IDENTIFIERS: Final = frozenset(_OTHERS.split())


class IdentifierRow(NamedTuple):
    """One text that finds an entity; `root` is the entity's survivor today."""

    space: SpaceId
    key: str
    id: EntityId
    entity_type: str
    born: Instant
    root: EntityId


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifierOwner:
    """An owner of a text, with the data that decides whether a record can be about it."""

    id: EntityId
    entity_type: str
    members: tuple[EntityId, ...] = ()
    borne: tuple[str, ...] = ()


def rows_of(entity: Entity) -> Iterator[IdentifierRow]:
    """Return the texts that find an entity, each once; none if it is not canon.

    A merged entity leads to its survivor.
    """
    if entity.level not in _STANDING:
        return
    root, space = entity.merged_into or entity.id, in_compartment(entity).space
    for key in sorted(set(map(searchable_text, entity.borne))):
        yield IdentifierRow(space, key, entity.id, entity.entity_type, entity.created_at, root)


def identifiers_from(
    entity_type: str, observation: Observation, keys: KeyReader | None, standing: Mapping[str, Any]
) -> frozenset[str]:
    """Return all identifiers that an observation gives its entity.

    Keys of several fields may need the `standing` values besides the observed ones.

    The identifiers are the normal forms of names, numbers and addresses, the keys by the schema
    that read the observation, and the confusable forms of names.
    """
    return texts_in(entity_type, observed_fields(observation, keys), keys, standing)


def texts_in(
    entity_type: str,
    fields: Mapping[str, Any],
    keys: KeyReader | None,
    standing: Mapping[str, Any] | None = None,
) -> frozenset[str]:
    """Return all identifiers in the values of an entity's fields."""
    known = {name: value for name, value in fields.items() if _is_known(entity_type, name)}
    found: set[str] = set()
    for name, value in known.items():
        found |= _value_texts(entity_type, name, value)
    if keys is not None:
        label = _display_label(keys, fields, known)
        if label is not None:
            found |= _value_texts(entity_type, NAME, label)
        everything = {**standing, **fields} if standing else fields
        marks = [key_mark(each) for each in keys.read_keys(everything)]
        found.difference_update(map(searchable_text, marks))
        found.update(marks)
    return frozenset(found)


def keys_of(identifiers: Iterable[str]) -> dict[str, set[str]]:
    """Return the identity keys among an entity's identifiers, by rule."""
    found: dict[str, set[str]] = {}
    for text in identifiers:
        if text.startswith(KEY_MARK):
            found.setdefault(rule_of(text.removeprefix(KEY_MARK)), set()).add(text)
    return found


def has_key_of(identifiers: Iterable[str], rule: str) -> bool:
    """Return whether an entity's identifiers have a key by the rule."""
    begins = KEY_MARK + rule.partition("+")[0]
    return any(each.startswith(begins) and rule_of(each[1:]) == rule for each in identifiers)


def confusable_key(entity_type: str, name: str) -> str:
    """Return the confusable form of a name as an identifier: names that look the same share it."""
    form = _NAME_FORMS.get(entity_type, words_only)
    bare_form = strip_accents(confusable_form(form(without_invisible(name))))
    return CONFUSABLE_MARK + bare_form[:KEY_MAX]


def confusable_keys_of(identifiers: Iterable[str]) -> set[str]:
    """Return the confusable forms of all names among an entity's identifiers."""
    return {text for text in identifiers if text.startswith(CONFUSABLE_MARK)}


def confusable_keys_in(entity_type: str, fields: Mapping[str, Any]) -> frozenset[str]:
    """Return the confusable forms of the names in a record, as `confusable_keys_of` does."""
    given = [fields[name] for name in CALLED if name in fields]
    if not given:
        return _NOTHING
    names = [one for each in given for one in (each if isinstance(each, list) else (each,))]
    marks = [confusable_key(entity_type, each) for each in names if isinstance(each, str)]
    return frozenset([mark for mark in marks if mark != CONFUSABLE_MARK])


def part_mark(form: str) -> str:
    """Return a part of a name, its last word, as an identifier."""
    return PART_MARK + form.rpartition(" ")[2][:KEY_MAX]


_NOTHING: Final = frozenset[str]()


def key_mark(key: str) -> str:
    """Return an identity key as an identifier."""
    return KEY_MARK + bound_key(key)


def observed_fields(observation: Observation, keys: KeyReader | None) -> dict[str, Any]:
    """Return the values by the schema's field names, including those without a field."""
    fields = {} if keys is None else {n: each.value for n, each in observation.fragments.items()}
    start = len(PROPERTY)
    fields |= {n[start:]: v for n, v in observation.fields.items() if n.startswith(PROPERTY)}
    if keys is None and NAME in observation.fields:
        fields.setdefault(NAME, observation.fields[NAME])
    return fields


@lru_cache(maxsize=4096)  # asked for each field of a record: bench compare, bulk
def _is_known(entity_type: str, field: str) -> bool:
    return (
        field in _NAMES
        or field in IDENTIFIERS
        or field.endswith("_number")
        or field == f"{entity_type}_id"
    )


def _display_label(
    keys: KeyReader, fields: Mapping[str, Any], known: Mapping[str, Any]
) -> str | None:
    """Return the display name of the observation if it comes from fields that are not names."""
    for group in keys.schema.names:
        words = [str(fields[name]) for name in group if is_nameable(fields.get(name))]
        if words:
            return " ".join(words)[:LABEL_MAX] if known.keys().isdisjoint(group) else None
    return None


def _value_texts(entity_type: str, field: str, value: Any) -> frozenset[str]:
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


def _texts_of(entity_type: str, field: str, one: str) -> frozenset[str]:
    """Return the identifiers in one value."""
    text = plain_text(one)
    if text is None:
        return _NOTHING
    special = _special_form(entity_type, field, one)
    called = field in CALLED
    marks = confusable_keys_in(entity_type, {field: one}) if called else _NOTHING
    is_character = called and entity_type == EntityType.CHARACTER
    parts = frozenset(map(part_mark, name_parts(one))) if is_character else _NOTHING
    return frozenset((text[:KEY_MAX], *([special[:KEY_MAX]] if special else ()), *marks, *parts))


def searchable_text(identifier: str) -> str:
    """Return the searchable text of an identifier.

    A key of one field is found under its value as people write it. Other keys are not typed in.
    """
    if identifier.startswith(KEY_MARK) and BETWEEN not in identifier:
        return identifier.partition(":")[2] or identifier
    return identifier


def possible_forms(text: str) -> tuple[str, ...]:
    """Return the normal forms that a question may mean, the most literal first, each once."""
    forms = (
        fold_text(text),
        email_address(text),
        phone_number(text),
        web_domain(text),
        company_name(text),
        person_name(text),
        document_number(text),
        bare_number(text),
    )
    return tuple(dict.fromkeys(form[:KEY_MAX] for form in forms if form))


def plain_form(entity_type: str, name: str) -> str | None:
    """Return the name without titles or legal form, if its type has such a form."""
    return _special_form(entity_type, NAME, name)


def _special_form(entity_type: str, field: str, given: str) -> str | None:
    """Return the normal form of an address or of a typed name, if there is one."""
    if field not in _NAMES:
        address = _ADDRESS_FORMS.get(field)
        return None if address is None else address(given)
    if entity_type in {"person", "contact", "character"}:
        return person_name(given)
    return company_name(given) if entity_type in {"company", "organization"} else None


_ADDRESS_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    **dict.fromkeys(("email", "emails"), email_address),
    **dict.fromkeys(("phone", "phones"), phone_number),
    **dict.fromkeys(("website", "domain", "url"), web_domain),
    **dict.fromkeys(("invoice_reference", "payment_reference"), reference_number),
    **dict.fromkeys(("tax_id", "vat_id", "iban"), bare_number),
}

"""Identity keys: what makes two records one entity, by the explicit rules of their schema.

A key is never a guess: where no rule fits, the record's whole content is its identity, so that two
different records stay two entities.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Any, Final, TypeAlias

from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.values.calendar_dates import read_date
from canonry.values.json_values import encode_json
from canonry.values.normal_forms import (
    amount,
    company_name,
    email_address,
    folded,
    person_name,
    phone_number,
    plain_text,
    web_domain,
    words_only,
)

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


def name_form(entity_type: str, text: str) -> str:
    """The normal form of a name of somebody or something of a type."""
    return _NAME_FORMS.get(entity_type, words_only)(text)


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

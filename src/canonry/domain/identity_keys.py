"""Identity keys: what makes two records one entity, by the explicit rules of their schema.

A key is never a guess: where no rule fits, the record's whole content is its identity, so that two
different records stay two entities.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from canonry.domain.calendar_dates import read_date
from canonry.domain.encoding import encode_json
from canonry.domain.normal_forms import (
    amount,
    company_name,
    email_address,
    folded,
    person_name,
    phone_number,
    plain_text,
    web_domain,
)
from canonry.domain.schemas import EntitySchema, FieldType, IdentityRule

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
_NAME_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "company": company_name,
    "organization": company_name,
    "person": person_name,
    "contact": person_name,
}
_BETWEEN: Final = "\x1f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The key of a record under one rule, in normal form.

    `apart` is what tells it from another with the same key (None: nothing is said of that).
    """

    rule: str
    key: str
    apart: str | None = None

    @property
    def full_key(self) -> str:
        """The key of a second entity under the same key."""
        return self.key if self.apart is None else f"{self.key}{_BETWEEN}{self.apart}"


def identity_of(schema: EntitySchema, fields: Mapping[str, Any]) -> Identity:
    """The identity by the first rule that fits; without one, by content."""
    found = identities_of(schema, fields)
    return found[0] if found else content_identity(fields)


def identities_of(schema: EntitySchema, fields: Mapping[str, Any]) -> tuple[Identity, ...]:
    """The identities by all rules that fit, the strongest first."""
    parts: dict[str, tuple[str, str] | None] = {}

    def normal(names: str) -> tuple[str, str] | None:
        if names not in parts:  # several rules ask for the same fields
            parts[names] = _part(schema, fields, names)
        return parts[names]

    found = (_by(rule, normal) for rule in schema.identity)
    return tuple(each for each in found if each is not None)


def content_identity(fields: Mapping[str, Any]) -> Identity:
    """The identity of a record that has no key."""
    said = {name: _canonical(value) for name, value in fields.items() if value is not None}
    return Identity(rule=CONTENT, key=f"{CONTENT}:{sha256(encode_json(said)).hexdigest()}")


def _by(rule: IdentityRule, normal: Callable[[str], tuple[str, str] | None]) -> Identity | None:
    said: list[tuple[str, str]] = []
    for names in rule.fields:
        part = normal(names)
        if part is None:
            return None
        said.append(part)
    said += [part for part in map(normal, rule.optional) if part is not None]
    apart = [part for part in map(normal, rule.told_apart_by) if part is not None]
    return Identity(
        rule="+".join(name for name, _ in said),
        key=_joined(said),
        apart=_joined(apart) if apart else None,
    )


def _joined(parts: Iterable[tuple[str, str]]) -> str:
    return _BETWEEN.join(f"{name}:{value}" for name, value in parts)


def _part(schema: EntitySchema, fields: Mapping[str, Any], names: str) -> tuple[str, str] | None:
    """The name and the normal form of the first of `a|b` that says something."""
    alternatives = names.split("|")
    for name in alternatives:
        given = fields.get(name)
        if given is not None:
            spec = schema.field(name)
            field_type = None if spec is None else spec.type
            value = normal_value(schema.entity_type, name, given, field_type)
            if value:
                return alternatives[0], value
    return None


def normal_value(
    entity_type: str, name: str, value: Any, field_type: FieldType | None = None
) -> str | None:
    """The normal form of a field's value, as keys and comparisons use it; None: no use."""
    if value is None or isinstance(value, bool):
        return None
    if field_type is FieldType.NUMBER:
        return amount(value)
    if field_type is FieldType.DATE and isinstance(value, str | int):
        read = read_date(value)
        return None if read is None else str(read.instant)
    if isinstance(value, list | tuple):
        parts = sorted(p for p in (normal_value(entity_type, name, one) for one in value) if p)
        return ", ".join(parts) or None
    form = _NAME_FORMS.get(entity_type) if name == "name" else _FIELD_FORMS.get(name)
    if form is None:
        return plain_text(value)
    return form(str(value)) if isinstance(value, int | float | str) and str(value).strip() else None


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

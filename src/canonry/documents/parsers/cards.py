"""Contact cards: each as a record with plain names; a broken one costs no other."""

import re
from typing import Any, Final

import vobject  # type: ignore[import-untyped]

from canonry.documents.parsers.findings import Fault, Findings

_MEMBERS: Final = {
    "fn": "name",
    "email": "email",
    "tel": "phone",
    "org": "organization",
    "title": "title",
    "role": "role",
    "adr": "address",
    "url": "website",
    "note": "notes",
    "uid": "uid",
    "bday": "birthday",
}
_MANY: Final = frozenset({"email", "phone"})
_CARD: Final = re.compile(
    r"^BEGIN:VCARD[ \t]*\n.*?(?:^END:VCARD[ \t]*(?:\n|\Z)|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a file of cards."""
    del kind
    cards = _CARD.findall(data.decode("utf-8-sig").replace("\r\n", "\n"))
    broken = 0
    for number, text in enumerate(cards, 1):
        try:
            fields = _fields(vobject.readOne(text, ignoreUnreadable=True))
        except (vobject.base.VObjectError, ValueError, LookupError, AttributeError):
            broken += 1
            found.note(f"card {number} is broken and was skipped")
            continue
        if fields:
            found.record("vcard", fields)
            found.text("\n".join(f"{key}: {_shown(value)}" for key, value in fields.items()))
    if broken == len(cards):
        raise Fault("damaged")


def _fields(card: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for line in card.lines():
        name = _MEMBERS.get(line.name.lower())
        if name is None:
            continue
        if name == "organization":
            if not fields.keys() & {"organization", "department"}:
                _take_organization(fields, line.value)
        elif not (value := _value(line)):
            continue
        elif name in _MANY:
            fields.setdefault(name, []).append(value)
        else:
            fields.setdefault(name, value)
    return fields


def _take_organization(fields: dict[str, Any], value: Any) -> None:
    """The company, and apart from it the units within it, from the largest to the smallest."""
    parts = value if isinstance(value, list) else [value]
    company, *units = [str(each).strip() for each in parts]
    if company:
        fields["organization"] = company
    if department := ", ".join(filter(None, units)):
        fields["department"] = department


def _value(line: Any) -> str:
    text = str(line.value)
    if line.name.upper() == "ADR":
        parts = (" ".join(each.split()) for each in text.split("\n"))
        text = ", ".join(part for part in parts if part.strip(", "))
    if line.name.upper() == "BDAY" and text.startswith(_omitted_year(line)):
        text = f"--{text[4:].lstrip('-')}"
    return text.strip()


def _omitted_year(line: Any) -> tuple[str, ...]:
    """The year that stands for none, where a program writes birthdays without one as a whole day.

    So written, the day is kept as the format itself writes it, and nobody is 400 years old.
    """
    return tuple(line.params.get("X-APPLE-OMIT-YEAR", ()))


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

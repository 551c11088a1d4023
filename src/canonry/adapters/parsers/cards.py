"""Contact cards and calendars: each card, event and task as a record with plain names."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, Final

import vobject  # type: ignore[import-untyped]

from canonry.adapters.parsers.findings import Fault, Findings

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
    "summary": "title",
    "description": "description",
    "location": "location",
    "dtstart": "start",
    "dtend": "end",
    "due": "due_date",
    "completed": "completed_date",
    "created": "created_date",
    "status": "status",
    "priority": "priority",
    "organizer": "organizer",
    "attendee": "attendees",
    "categories": "tags",
    "rrule": "recurrence",
}
_MANY: Final = frozenset({"email", "phone", "attendees", "tags"})


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a file of cards or a calendar."""
    del kind
    text = data.decode("utf-8-sig")
    for component in vobject.readComponents(text, ignoreUnreadable=True):
        for each in _leaves(component):
            fields = _fields(each)
            if fields:
                found.record(each.name.lower(), fields)
                found.text("\n".join(f"{key}: {_shown(value)}" for key, value in fields.items()))


def _leaves(component: Any) -> Iterator[Any]:
    name = component.name.upper()
    if name in {"VCARD", "VEVENT", "VTODO", "VJOURNAL"}:
        yield component
    elif name == "VCALENDAR":
        for each in component.components():
            yield from _leaves(each)


def _fields(component: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for line in component.lines():
        name = _MEMBERS.get(line.name.lower())
        value = None if name is None else _value(line)
        if name is None or value in {None, ""}:
            continue
        if name in _MANY:
            fields.setdefault(name, []).append(value)
        else:
            fields.setdefault(name, value)
    return fields


def _value(line: Any) -> str | None:
    value = line.value
    if isinstance(value, list):
        return "; ".join(str(each).strip() for each in value if str(each).strip())
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if line.name.upper() in {"DTSTART", "DTEND", "DUE", "COMPLETED", "CREATED"}:
        raise Fault("damaged")
    text = str(value).replace("\n", ", ") if line.name.upper() == "ADR" else str(value)
    return text.strip().removeprefix("mailto:").removeprefix("MAILTO:")


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

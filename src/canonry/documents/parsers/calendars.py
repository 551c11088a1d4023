"""Parsers of calendars and contact cards: each event, task and card becomes a record.

Entries are read one by one, and broken ones are skipped. Instants are in UTC.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from canonry.documents.parsers.findings import Fault, Findings

_TEXTS: Final = {
    "SUMMARY": "title",
    "DESCRIPTION": "description",
    "LOCATION": "location",
    "UID": "uid",
    "STATUS": "status",
    "PRIORITY": "priority",
    "ORGANIZER": "organizer",
}
_TIMES: Final = {
    "DTSTART": "start",
    "DTEND": "end",
    "DUE": "due_date",
    "COMPLETED": "completed_date",
    "CREATED": "created_date",
    "RECURRENCE-ID": "recurrence_id",
}
_ENTRY: Final = re.compile(
    r"^BEGIN:(VEVENT|VTODO|VJOURNAL)[ \t]*\n.*?(?:^END:\1[ \t]*(?:\n|\Z)|(?=^BEGIN:\1)|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_MAILTO: Final = re.compile("^mailto:", re.IGNORECASE)
_TITLE: Final = re.compile(r"^SUMMARY[^:\n]*:(.{1,80})", re.MULTILINE | re.IGNORECASE)


def read_ics(data: bytes, found: Findings) -> None:
    """Read a calendar."""
    from icalendar import Component  # noqa: PLC0415 - needed for calendars only

    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    entries = list(_ENTRY.finditer(text))
    # This registers the calendar's time zones in the library.
    Component.from_ical(_ENTRY.sub("", text))
    broken = 0
    for number, entry in enumerate(entries, 1):
        try:
            read: Any = Component.from_ical(entry[0])
            fields = _fields(read)
        except (ValueError, TypeError, AttributeError, LookupError, OverflowError):
            broken += 1
            title = _TITLE.search(entry[0])
            named = f' "{title[1].strip()}"' if title else ""
            found.note(f"Entry {number}{named} is broken and was skipped.")
            continue
        if entry[1].upper() == "VEVENT" and not {"start", "unread"} & fields.keys():
            found.note(f"Entry {number} has no start and was kept without a time.")
        if read.errors:
            found.note(f"A line of entry {number} could not be read.")
        found.record(entry[1].lower(), fields)
        shown = ((key, _shown(value)) for key, value in fields.items() if key != "unread")
        found.text("\n".join(f"{key}: {value}" for key, value in shown))
    if broken and broken == len(entries):
        raise Fault("damaged")


def _fields(entry: Any) -> dict[str, Any]:
    """Return the fields of an entry by plain names.

    Raises:
        ValueError: a value is malformed.
    """
    fields: dict[str, Any] = {}
    for name, value in _values(entry):
        if name in _TEXTS:
            fields.setdefault(_TEXTS[name], _MAILTO.sub("", str(value).strip()))
        elif name in _TIMES:
            _take_time(fields, _TIMES[name], value)
        elif name == "ATTENDEE":
            fields.setdefault("attendees", []).append(_MAILTO.sub("", str(value)))
        elif name == "CATEGORIES":
            fields.setdefault("tags", []).extend(map(str, value.cats))
        elif name == "RRULE":
            fields.setdefault("recurrence", value.to_ical().decode())
        elif name == "EXDATE":
            fields.setdefault("excluded", []).extend(_instant(each.dt) for each in value.dts)
        elif name == "DURATION":
            fields.setdefault("duration", value.td)
    return _with_end({name: value for name, value in fields.items() if value not in ("", [])})


def _values(entry: Any) -> Iterator[tuple[str, Any]]:
    for name, value in entry.items():
        for each in value if isinstance(value, list) else [value]:
            yield name.upper(), each


def _take_time(fields: dict[str, Any], name: str, value: Any) -> None:
    """Add an instant in UTC; with an unknown time zone it stays unread."""
    moment, zone = value.dt, str(value.params.get("TZID", ""))
    if zone and isinstance(moment, datetime) and moment.tzinfo is None:
        reason = f"the time zone {zone} is not known"
        fields.setdefault("unread", {})[name] = [f"{moment.isoformat()} {zone}", reason]
    else:
        fields.setdefault(name, _instant(moment))


def _instant(moment: date | datetime) -> str:
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if not isinstance(moment, date):
        raise TypeError(moment)
    return moment.isoformat()


def _with_end(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace a duration by the end of the entry."""
    lasts = fields.pop("duration", None)
    if isinstance(lasts, timedelta) and "start" in fields and "end" not in fields:
        start = datetime.fromisoformat(fields["start"])
        fields["end"] = (start + lasts).isoformat().replace("+00:00", "Z")
    return fields


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


def read_vcf(data: bytes, found: Findings) -> None:
    """Read a file of cards."""
    import vobject  # type: ignore[import-untyped]  # noqa: PLC0415 - needed for cards only

    cards = _CARD.findall(data.decode("utf-8-sig").replace("\r\n", "\n"))
    broken = 0
    for number, text in enumerate(cards, 1):
        try:
            fields = _card_fields(vobject.readOne(text, ignoreUnreadable=True))
        except (vobject.base.VObjectError, ValueError, LookupError, AttributeError):
            broken += 1
            found.note(f"Card {number} is broken and was skipped.")
            continue
        if fields:
            found.record("vcard", fields)
            found.text("\n".join(f"{key}: {_shown(value)}" for key, value in fields.items()))
    if broken == len(cards):
        raise Fault("damaged")


def _card_fields(card: Any) -> dict[str, Any]:
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
    """Add the company, and its units as the department, from the largest to the smallest."""
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
    # Some programs write a birthday without a year with a placeholder year. It is removed here, in
    # the notation of vCard.
    omitted = tuple(line.params.get("X-APPLE-OMIT-YEAR", ()))
    if line.name.upper() == "BDAY" and text.startswith(omitted):
        text = f"--{text[4:].lstrip('-')}"
    return text.strip()


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

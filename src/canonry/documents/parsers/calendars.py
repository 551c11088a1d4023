"""Calendars: each event and task as a record with plain names, with instants in UTC.

Every entry is read by itself, so that a broken one costs no other.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from icalendar import Component

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


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a calendar."""
    del kind
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    entries = list(_ENTRY.finditer(text))
    # The zones that it defines are known to the library from then on.
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
            found.note(f"entry {number}{named} is broken and was skipped")
            continue
        if entry[1].upper() == "VEVENT" and not {"start", "unread"} & fields.keys():
            found.note(f"entry {number} has no beginning; it was kept without a time")
        if read.errors:
            found.note(f"a line of entry {number} could not be read")
        found.record(entry[1].lower(), fields)
        shown = ((key, _shown(value)) for key, value in fields.items() if key != "unread")
        found.text("\n".join(f"{key}: {value}" for key, value in shown))
    if broken and broken == len(entries):
        raise Fault("damaged")


def _fields(entry: Any) -> dict[str, Any]:
    """The plain names and values of an entry.

    Raises:
        ValueError: a value is none of its kind.
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
    """An instant in UTC; of a zone that nobody knows the time stays unread."""
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
    """An entry with a duration ends so long after its start."""
    lasts = fields.pop("duration", None)
    if isinstance(lasts, timedelta) and "start" in fields and "end" not in fields:
        start = datetime.fromisoformat(fields["start"])
        fields["end"] = (start + lasts).isoformat().replace("+00:00", "Z")
    return fields


def _shown(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(map(str, value))

"""Parser of calendars: each event and task becomes a record.

Entries are read one by one, and broken ones are skipped. Instants are in UTC.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from canonry.documents.parsers.findings import NAMES, Fault, Findings, add_with_text, keep_rest

_TEXTS: Final[dict[str, str]] = NAMES["texts_of_entries"]
_TIMES: Final[dict[str, str]] = NAMES["times_of_entries"]
_FRAME: Final = frozenset(NAMES["parameters"]["frame"].split())
_REVISED: Final = ("LAST-MODIFIED", "DTSTAMP", "SEQUENCE")
_CANCELLED: Final = "CANCELLED"
_ENTRY: Final = re.compile(
    r"^BEGIN:(VEVENT|VTODO|VJOURNAL)[ \t]*\n.*?(?:^END:\1[ \t]*(?:\n|\Z)|(?=^BEGIN:\1)|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_MAILTO: Final = re.compile("^mailto:", re.IGNORECASE)
_CANCELS: Final = re.compile(r"^METHOD[^:\n]*:[ \t]*CANCEL\b", re.MULTILINE | re.IGNORECASE)
_CALLED: Final = re.compile(r"^X-WR-CAL(NAME|DESC)[^:\n]*:(.+)", re.MULTILINE)
_SEQUENCE_MAX: Final = 1_000_000  # counts as microseconds below one second
_LISTS: Final[Mapping[str, tuple[str, Callable[[Any], Iterable[str]]]]] = {
    "ATTENDEE": ("attendees", lambda value: [_MAILTO.sub("", str(value))]),
    "CATEGORIES": ("tags", lambda value: map(str, value.cats)),
    "EXDATE": ("excluded", lambda value: [_format_time(each.dt) for each in value.dts]),
}
_TITLE: Final = re.compile(r"^SUMMARY[^:\n]*:(.{1,80})", re.MULTILINE | re.IGNORECASE)


def read_ics(data: bytes, found: Findings) -> None:
    """Read a calendar."""
    from icalendar import Component  # noqa: PLC0415 - needed for calendars only

    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    entries = list(_ENTRY.finditer(text))
    # This registers the calendar's time zones in the library.
    Component.from_ical(_ENTRY.sub("", text))
    outside = _ENTRY.sub("", text)
    cancels = _CANCELS.search(outside) is not None
    if "BEGIN:VFREEBUSY" in outside:
        found.add_note("Times without a title, at which somebody is busy, were not read.")
    broken = 0
    for number, entry in enumerate(entries, 1):
        try:
            read: Any = Component.from_ical(entry[0])
            fields = _entry_fields(read, {"status": _CANCELLED} if cancels else {})
            for name, text in _CALLED.findall(outside):
                keep_rest(fields, f"calendar_{name}", text)
        except (ValueError, TypeError, AttributeError, LookupError, OverflowError):
            broken += 1
            title = _TITLE.search(entry[0])
            named = f' "{title[1].strip()}"' if title else ""
            found.add_note(f"Entry {number}{named} is broken and was skipped.")
            continue
        if entry[1].upper() == "VEVENT" and not {"start", "unread"} & fields.keys():
            found.add_note(f"Entry {number} has no start and was kept without a time.")
        if read.subcomponents:
            found.add_note("Alarms of entries were not read.")
        if read.errors:
            found.add_note(f"A line of entry {number} could not be read.")
        add_with_text(found, entry[1].lower(), fields)
    if broken and broken == len(entries):
        raise Fault("damaged")


def _entry_fields(entry: Any, known: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of an entry by plain names; others are kept by the names of the format.

    `seen_at` is the time of the entry's revision. The fields in `known` are kept.

    Raises:
        ValueError: a value is malformed.
    """
    fields: dict[str, Any] = {**_revision_time(entry), **known}
    for name, value in _entry_values(entry):
        for key, parameter in getattr(value, "params", {}).items():
            if key not in _FRAME:
                keep_rest(fields, f"{name}_{'name' if key == 'CN' else key}", str(parameter))
        if name in _TEXTS:
            fields.setdefault(_TEXTS[name], _MAILTO.sub("", str(value).strip()))
        elif name in _TIMES:
            _take_time(fields, _TIMES[name], value)
        elif name in _LISTS:
            field, several = _LISTS[name]
            fields.setdefault(field, []).extend(several(value))
        elif name == "RRULE":
            fields.setdefault("recurrence", value.to_ical().decode())
        elif name == "DURATION":
            fields.setdefault("duration", value.td)
        elif name not in _REVISED:
            keep_rest(fields, name, str(getattr(value, "dt", value)))
    return _with_end({name: value for name, value in fields.items() if value not in ("", [])})


def _revision_time(entry: Any) -> dict[str, Any]:
    """Return the time of the newest revision; of two at one time, the later sequence is newer."""
    times = [
        stamp.astimezone(UTC)
        for name in _REVISED[:2]
        if isinstance(stamp := getattr(entry.get(name), "dt", None), datetime) and stamp.tzinfo
    ]
    if not times:
        return {}
    sequence = min(max(int(entry.get("SEQUENCE", 0)), 0), _SEQUENCE_MAX)
    return {"seen_at": _format_time(times[0] + timedelta(microseconds=sequence))}


def _entry_values(entry: Any) -> Iterator[tuple[str, Any]]:
    for name, value in entry.items():
        for each in value if isinstance(value, list) else [value]:
            yield name.upper(), each


def _take_time(fields: dict[str, Any], name: str, value: Any) -> None:
    """Add an instant in UTC; with an unknown time zone it stays unread."""
    time, zone = value.dt, str(value.params.get("TZID", ""))
    if zone and isinstance(time, datetime) and time.tzinfo is None:
        reason = f"the time zone {zone} is not known"
        fields.setdefault("unread", {})[name] = [f"{time.isoformat()} {zone}", reason]
    else:
        fields.setdefault(name, _format_time(time))


def _format_time(time: date | datetime) -> str:
    if isinstance(time, datetime) and time.tzinfo is not None:
        return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if not isinstance(time, date):
        raise TypeError(time)
    return time.isoformat()


def _with_end(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace a duration by the end of the entry."""
    lasts = fields.pop("duration", None)
    if isinstance(lasts, timedelta) and "start" in fields and "end" not in fields:
        start = datetime.fromisoformat(fields["start"])
        fields["end"] = (start + lasts).isoformat().replace("+00:00", "Z")
    return fields

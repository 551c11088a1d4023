"""Cards, calendar entries and messages: records whose meaning the format itself defines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.canon.ports.files import Record
from canonry.documents.extraction.context import shortened
from canonry.log.schemas.truth_types.people import PLURALS
from canonry.records.domain.interpretations import Found, Unread

KINDS: Final = frozenset({"vcard", "vevent", "vtodo", "vjournal", "message"})
_CARD: Final = (
    "name",
    "organization",
    "department",
    "title",
    "role",
    "address",
    "website",
    "notes",
    "birthday",
)
_TASK: Final = ("title", "description", "due_date", "completed_date", "created_date", "priority")
_EVENT: Final = (
    *("title", "description", "location", "organizer", "status", "recurrence", "excluded"),
    "attendees",
)
_TIMES: Final = {"start": "start_date", "end": "end_date", "recurrence_id": "recurrence_id"}
_ROLES: Final = ("from", "to", "cc")
_HEAD: Final = ("sent_at", "message_id", "in_reply_to", "thread_id", "attachments")
_QUOTED_BELOW: Final = re.compile(r"^[ \t]*(?:-{2,}[^\n-]{3,60}-{2,}|_{20,})[ \t]*$", re.MULTILINE)
"""The line that programs for mail put above the message that is answered."""

_STATUS: Final = {
    "needs-action": "pending",
    "in-process": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
}


def of_cards(records: Sequence[Record]) -> Iterator[Found]:
    """Contacts, events and tasks, one a record."""
    for number, record in enumerate(records, 1):
        match record.kind:
            case "vcard":
                yield _contact(record.fields, number)
            case "vtodo":
                yield _task(record.fields, number)
            case "vevent" | "vjournal":
                yield _event(record.fields, number)
            case _:
                continue


def of_messages(records: Sequence[Record]) -> Iterator[Found]:
    """Each message, and everybody whose address is in a head, once.

    A message refers to those people, and to the message that it answers.
    """
    messages = [record for record in records if record.kind == "message"]
    people: dict[str, str] = {}
    for record in messages:
        for each in _people_of(record):
            people[each["email"]] = people.get(each["email"]) or each["name"]
    place_of = {mail: len(messages) + place for place, mail in enumerate(people)}
    answered = {record.fields.get("message_id"): place for place, record in enumerate(messages)}
    for number, record in enumerate(messages, 1):
        places = [place_of[each["email"]] for each in _people_of(record)]
        before = answered.get(record.fields.get("in_reply_to") or "-")
        places += [] if before is None else [before]
        yield Found(
            entity_type="message",
            fields=_message(record.fields),
            row=number,
            refers_to=tuple(dict.fromkeys(places)),
            reasons=("message",),
        )
    for mail, name in people.items():
        fields = {"name": name, "email": mail} if name else {"email": mail}
        yield Found(entity_type="contact", fields=fields, reasons=("message head",))


def said_anew(text: str) -> str:
    """What a message says itself: without the lines that it quotes, and what it was answered to."""
    own = text[: cut.start()] if (cut := _QUOTED_BELOW.search(text)) else text
    return "\n".join(line for line in own.split("\n") if not line.lstrip().startswith(">"))


def _people_of(record: Record) -> Iterator[Mapping[str, str]]:
    for role in _ROLES:
        yield from record.fields.get(role, ())


def _message(head: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = {
        "title": head.get("subject") or "(no subject)",
        "content": shortened(head.get("text", "")),
        **{role: _addresses(head[role]) for role in _ROLES if head.get(role)},
        **{name: head[name] for name in _HEAD if head.get(name)},
        "external_id": head.get("message_id"),
    }
    return {name: value for name, value in fields.items() if value}


def _contact(card: Mapping[str, Any], number: int) -> Found:
    fields = {name: card[name] for name in _CARD if card.get(name)}
    for name in ("email", "phone"):
        values = card.get(name) or ()
        if values:
            fields[name] = values[0]
        if len(values) > 1:
            fields[PLURALS[name]] = list(values[1:])
    if card.get("uid"):
        fields["external_id"] = card["uid"]
    return Found(entity_type="contact", fields=fields, row=number, reasons=("vcard",))


def _task(entry: Mapping[str, Any], number: int) -> Found:
    fields = {name: entry[name] for name in _TASK if entry.get(name)}
    status = str(entry.get("status", "")).lower()
    fields["status"] = _STATUS.get(status, status) or "pending"
    if entry.get("tags"):
        fields["tags"] = ", ".join(entry["tags"])
    return _entry(entry, fields, number, "task")


def _event(entry: Mapping[str, Any], number: int) -> Found:
    fields = {name: entry[name] for name in _EVENT if entry.get(name)}
    return _entry(entry, fields, number, "event")


def _entry(
    entry: Mapping[str, Any], fields: dict[str, Any], number: int, entity_type: str
) -> Found:
    """An entry of a calendar; one that departs from its series is another than the series."""
    fields |= {field: entry[name] for name, field in _TIMES.items() if entry.get(name)}
    unread = {
        _TIMES.get(name, name): Unread(value=value, reason=reason)
        for name, (value, reason) in entry.get("unread", {}).items()
    }
    if uid := entry.get("uid"):
        fields["external_id"] = uid
        if moved := entry.get("recurrence_id") or unread.get("recurrence_id"):
            moved = moved if isinstance(moved, str) else moved.value
            fields |= {"external_id": f"{uid} {moved}", "series_id": uid}
    reason = "vtodo" if entity_type == "task" else "vevent"
    return Found(
        entity_type=entity_type, fields=fields, unread=unread, row=number, reasons=(reason,)
    )


def _addresses(people: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(
        f"{each['name']} <{each['email']}>" if each["name"] else each["email"] for each in people
    )

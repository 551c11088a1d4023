"""Cards, calendar entries and messages: records whose meaning the format itself defines."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.domain.extraction.context import shortened
from canonry.domain.truth.files import Reading, Record
from canonry.domain.truth.interpretations import Found

KINDS: Final = frozenset({"vcard", "vevent", "vtodo", "vjournal", "message"})
_CARD: Final = ("name", "organization", "title", "role", "address", "website", "notes", "birthday")
_TASK: Final = ("title", "description", "due_date", "completed_date", "created_date", "priority")
_EVENT: Final = ("title", "description", "location", "organizer", "status", "recurrence")
_STATUS: Final = {
    "needs-action": "pending",
    "in-process": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
}
_DAY: Final = 10


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


def of_message(record: Record, reading: Reading) -> tuple[Found, ...]:
    """The message, and everybody whose address is in its head."""
    head = record.fields
    people: dict[str, str] = {}
    for role in ("from", "to", "cc"):
        for each in head.get(role, ()):
            people[each["email"]] = people.get(each["email"]) or each["name"]
    fields: dict[str, Any] = {
        "title": head.get("subject") or "(no subject)",
        "content": shortened(reading.text),
        **{role: _addresses(head.get(role, ())) for role in ("from", "to", "cc") if head.get(role)},
        **{
            name: head[name]
            for name in ("sent_at", "message_id", "in_reply_to", "attachments")
            if head.get(name)
        },
    }
    contacts = tuple(
        Found(
            entity_type="contact",
            fields={"name": name, "email": mail} if name else {"email": mail},
            reasons=("message head",),
        )
        for mail, name in people.items()
    )
    main = Found(
        entity_type="message",
        fields={name: value for name, value in fields.items() if value},
        refers_to=tuple(range(1, len(contacts) + 1)),
        reasons=("message",),
    )
    return (main, *contacts)


def _contact(card: Mapping[str, Any], number: int) -> Found:
    fields = {name: card[name] for name in _CARD if card.get(name)}
    for name in ("email", "phone"):
        values = card.get(name) or ()
        if values:
            fields[name] = values[0]
        if len(values) > 1:
            fields[f"other_{name}s"] = list(values[1:])
    if card.get("uid"):
        fields["external_id"] = card["uid"]
    return Found(entity_type="contact", fields=fields, row=number, reasons=("vcard",))


def _task(entry: Mapping[str, Any], number: int) -> Found:
    fields = {name: entry[name] for name in _TASK if entry.get(name)}
    status = str(entry.get("status", "")).lower()
    fields["status"] = _STATUS.get(status, status) or "pending"
    if entry.get("uid"):
        fields["external_id"] = entry["uid"]
    if entry.get("tags"):
        fields["tags"] = ", ".join(entry["tags"])
    return Found(entity_type="task", fields=fields, row=number, reasons=("vtodo",))


def _event(entry: Mapping[str, Any], number: int) -> Found:
    fields = {name: entry[name] for name in _EVENT if entry.get(name)}
    for name, field in (("start", "start_date"), ("end", "end_date")):
        if entry.get(name):
            fields[field] = entry[name]
    if entry.get("attendees"):
        fields["attendees"] = list(entry["attendees"])
    if entry.get("uid"):
        fields["external_id"] = entry["uid"]
    return Found(entity_type="event", fields=fields, row=number, reasons=("vevent",))


def _addresses(people: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(
        f"{each['name']} <{each['email']}>" if each["name"] else each["email"] for each in people
    )

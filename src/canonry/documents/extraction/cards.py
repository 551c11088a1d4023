"""Contacts, events, tasks and messages from cards, calendars, mail and address books."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.canon.ports.files import Cell, Record, Table
from canonry.documents.extraction.agreements import shorten_text
from canonry.documents.extraction.kinds import TABLES
from canonry.log.schemas.truth_types import PLURALS
from canonry.records.domain.interpretations import FoundEntity, UnreadValue
from canonry.records.notation.labels import plain_label
from canonry.values.calendar_dates import first_date
from canonry.values.languages import known_languages

KINDS: Final = frozenset({"vcard", "vevent", "vtodo", "vjournal", "message"})
_CARD: Final = TABLES["entries"]["card"].split()
_TASK: Final = TABLES["entries"]["task"].split()
_EVENT: Final = TABLES["entries"]["event"].split()
_TIMES: Final = {"start": "start_date", "end": "end_date", "recurrence_id": "recurrence_id"}
_ROLES: Final = ("from", "to", "cc", "bcc", "reply_to")
_HEAD: Final = ("sent_at", "message_id", "in_reply_to", "thread_id", "attachments")
_QUOTED_BELOW: Final = re.compile(r"^[ \t]*(?:-{2,}[^\n-]{3,60}-{2,}|_{20,})[ \t]*$", re.MULTILINE)
"""The line that mail programs put above a quoted message."""

_STATUS: Final = TABLES["status_of_tasks"]


def with_rest(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record together with its values without a field."""
    return {**fields.get("rest", {}), **{n: v for n, v in fields.items() if n != "rest"}}


def extract_cards(records: Sequence[Record]) -> Iterator[FoundEntity]:
    """Yield a contact, an event or a task for each record."""
    for number, record in enumerate(records, 1):
        match record.kind:
            case "vcard":
                yield _read_contact(record.fields, number)
            case "vtodo":
                yield _read_task(record.fields, number)
            case "vevent" | "vjournal":
                fields = {name: record.fields[name] for name in _EVENT if record.fields.get(name)}
                if record.fields.get("tags"):
                    fields["tags"] = record.fields["tags"]
                yield _make_entry(record.fields, fields, number, "event")
            case _:
                continue


def extract_messages(records: Sequence[Record]) -> Iterator[FoundEntity]:
    """Yield each message, and a contact for each address in their heads.

    A message refers to its contacts and to the message that it answers.
    """
    messages = [record for record in records if record.kind == "message"]
    people: dict[str, str] = {}
    last: dict[str, str] = {}
    for record in messages:
        for each in _people_of(record):
            people[each["email"]] = people.get(each["email"]) or each["name"]
            last[each["email"]] = max(last.get(each["email"], ""), record.fields.get("sent_at", ""))
    index_of = {mail: len(messages) + index for index, mail in enumerate(people)}
    answered = {record.fields.get("message_id"): index for index, record in enumerate(messages)}
    for number, record in enumerate(messages, 1):
        indexes = [index_of[each["email"]] for each in _people_of(record)]
        before = answered.get(record.fields.get("in_reply_to") or "-")
        indexes += [] if before is None else [before]
        yield FoundEntity(
            entity_type="message",
            fields=_message_fields(record.fields),
            row=number,
            refers_to=tuple(dict.fromkeys(indexes)),
            reasons=("message",),
            unread=_unread_values(record.fields),
            seen_at=record.fields.get("sent_at"),
        )
    for mail, name in people.items():
        fields = {"name": name, "email": mail} if name else {"email": mail}
        yield FoundEntity(
            entity_type="contact",
            fields=fields,
            reasons=("message head",),
            seen_at=last[mail] or None,
        )


def unquoted_text(text: str) -> str:
    """Return the text of a message without quoted lines and the message below."""
    own = text[: cut.start()] if (cut := _QUOTED_BELOW.search(text)) else text
    return "\n".join(line for line in own.split("\n") if not line.lstrip().startswith(">"))


def _people_of(record: Record) -> Iterator[Mapping[str, str]]:
    for role in _ROLES:
        yield from record.fields.get(role, ())


def _message_fields(head: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = {
        "title": head.get("subject") or "(no subject)",
        "content": shorten_text(head.get("text", "")),
        **{role: _format_addresses(head[role]) for role in _ROLES if head.get(role)},
        **{name: head[name] for name in _HEAD if head.get(name)},
        "external_id": head.get("message_id"),
    }
    return {**head.get("rest", {}), **{name: value for name, value in fields.items() if value}}


def _read_contact(card: Mapping[str, Any], number: int) -> FoundEntity:
    fields = {name: card[name] for name in _CARD if card.get(name)}
    for name in ("email", "phone"):
        values = card.get(name) or ()
        if values:
            fields[name] = values[0]
        if len(values) > 1:
            fields[PLURALS[name]] = list(values[1:])
    if card.get("uid"):
        fields["external_id"] = card["uid"]
    return FoundEntity(
        entity_type="contact",
        fields={**card.get("rest", {}), **fields},
        row=number,
        reasons=("vcard",),
        seen_at=card.get("seen_at"),
    )


def _read_task(entry: Mapping[str, Any], number: int) -> FoundEntity:
    fields = {name: entry[name] for name in _TASK if entry.get(name)}
    status = str(entry.get("status", "")).lower()
    fields["status"] = _STATUS.get(status, status) or "pending"
    if entry.get("tags"):
        fields["tags"] = ", ".join(entry["tags"])
    return _make_entry(entry, fields, number, "task")


def _make_entry(
    entry: Mapping[str, Any], fields: dict[str, Any], number: int, entity_type: str
) -> FoundEntity:
    """Return a calendar entry; an exception of a series has an id of its own."""
    fields |= {field: entry[name] for name, field in _TIMES.items() if entry.get(name)}
    unread = _unread_values(entry)
    if uid := entry.get("uid"):
        fields["external_id"] = uid
        if moved := entry.get("recurrence_id") or unread.get("recurrence_id"):
            moved = moved if isinstance(moved, str) else moved.value
            fields |= {"external_id": f"{uid} {moved}", "series_id": uid}
    reason = "vtodo" if entity_type == "task" else "vevent"
    return FoundEntity(
        entity_type=entity_type,
        fields={**entry.get("rest", {}), **fields},
        unread=unread,
        row=number,
        reasons=(reason,),
        seen_at=entry.get("seen_at"),
    )


def _unread_values(fields: Mapping[str, Any]) -> dict[str, UnreadValue]:
    """Return the unclear values that a parser found, by field."""
    return {
        _TIMES.get(name, name): UnreadValue(value=value, reason=reason)
        for name, (value, reason) in fields.get("unread", {}).items()
    }


def _format_addresses(people: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(
        f"{each['name']} <{each['email']}>" if each["name"] else each["email"] for each in people
    )


# Address books: tables of contacts from any service.
#
# Columns are recognized by their titles in any known language. If several columns hold one field,
# such as e-mail, the first value is the main one and the others are kept in a list.

_HEADER_WITHIN: Final = 8  # exports begin with a few lines of titles
_COLUMNS_MIN: Final = 6
"""The fewest columns of an export. Smaller tables are made by hand."""

_ABOUT: Final = frozenset(TABLES["words"]["about"].split())
"""Words of columns that describe another column."""

_DISTINGUISHING: Final = frozenset(TABLES["words"]["beside"].split())
"""Words that tell several columns of one field apart."""

_PLAIN: Final = ("organization", "title", "department", "website", "notes")
_ADDRESS_PARTS: Final = ("street", "postal", "city", "country")
_NUMBER: Final = re.compile(r"\b\d\b")
_LINKEDIN: Final = re.compile(r"https?://(?:[a-z]{2,3}\.)?linkedin\.com/", re.IGNORECASE)


def extract_address_book(table: Table) -> Iterator[FoundEntity]:
    """Yield a contact for each row; nothing if the table is no address book."""
    header = _find_header(table)
    if header is None:
        return
    columns = _field_columns(table.rows[header])
    for number, row in enumerate(table.rows[header + 1 :], 1):
        cells = {
            index: str(cell).strip()
            for index, cell in enumerate(row)
            if cell is not None and str(cell).strip()
        }
        found = _address_book_contact(columns, cells)
        if found is not None:
            fields, unread = found
            yield FoundEntity(
                entity_type="contact",
                fields=fields,
                unread=unread,
                row=number,
                reasons=("columns of an address book",),
            )


def _find_header(table: Table) -> int | None:
    """Find the row of titles: both parts of a name, and an e-mail, phone or organization."""
    for index, row in enumerate(table.rows[:_HEADER_WITHIN]):
        meant = set(_field_columns(row))
        if len(row) < _COLUMNS_MIN:
            continue
        if {"given", "family"} <= meant and meant & {"email", "phone", "organization"}:
            return index
    return None


def _field_columns(header: Sequence[Cell]) -> Mapping[str, Sequence[int]]:
    """Return the indexes of the columns of each field, in order."""
    found: dict[str, list[int]] = {}
    for index, cell in enumerate(header):
        if (meant := _column_field(str(cell or ""))) is not None:
            found.setdefault(meant, []).append(index)
    return found


def _column_field(name: str) -> str | None:
    """Return the field of a column by its title; None if it is unknown."""
    words = _NUMBER.sub(" ", plain_label(name)).split()
    if not words or _ABOUT & set(words):
        return None
    bare = [word for word in words if word not in _DISTINGUISHING]
    tries = (" ".join(words), " ".join(bare), *((words[0],) if len(words) > 1 else ()))
    for text in tries:
        for language in known_languages().values():
            if text in language.contacts:
                return language.contacts[text]
    mail = " ".join(words).startswith(("e mail", "email"))
    if mail:
        return "email"
    phone = any(
        each.contacts.get(word) == "phone" for each in known_languages().values() for word in words
    )
    return "phone" if phone else None


def _address_book_contact(
    columns: Mapping[str, Sequence[int]], cells: Mapping[int, str]
) -> tuple[dict[str, Any], dict[str, UnreadValue]] | None:
    """Read the fields of a row; None if it has no name, e-mail, phone or organization."""
    values_by_field = {
        meant: [cells[address] for address in indexes if address in cells]
        for meant, indexes in columns.items()
    }
    first = {meant: values[0] for meant, values in values_by_field.items() if values}
    parts = (first.get(each) for each in ("given", "middle", "family"))
    name = " ".join(part for part in parts if part) or first.get("name", "")
    fields: dict[str, Any] = {"name": name} if name else {}
    unread: dict[str, UnreadValue] = {}
    for meant in ("email", "phone"):
        values = list(
            dict.fromkeys(v for e in values_by_field.get(meant, ()) for v in e.split(" ::: "))
        )
        fields |= {meant: values[0]} if values else {}
        fields |= {PLURALS[meant]: values[1:]} if len(values) > 1 else {}
    fields |= {meant: first[meant] for meant in _PLAIN if meant in first}
    if _LINKEDIN.match(fields.get("website", "")):
        fields["linkedin_url"] = fields.pop("website")
    for meant in ("birthday", "connected_on"):
        if meant in first and (seen := first_date(first[meant])) is not None:
            if seen.value is None:
                unread[meant] = UnreadValue(value=first[meant], reason=seen.reason)
            else:
                fields[meant] = seen.value
    address = first.get("address") or ", ".join(first[e] for e in _ADDRESS_PARTS if e in first)
    fields |= {"address": address} if address else {}
    return (fields, unread) if fields.keys() & {"name", "email", "phone", "organization"} else None

"""Address books: tables whose columns say that each row is somebody, whichever service wrote them.

A column is known by what it is called in any of the languages; where several hold one thing, such
as addresses of mail, the first that says something counts and the others are kept beside it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.canon.ports.files import Cell, Table
from canonry.log.schemas.truth_types.people import PLURALS
from canonry.records.domain.interpretations import Found, Unread
from canonry.records.notation.labels import plain
from canonry.values.calendar_dates import date_in
from canonry.values.languages import languages

_HEADER_WITHIN: Final = 8
_COLUMNS_MIN: Final = 6
"""A smaller table of people is one that somebody made, and not an export."""

_ABOUT: Final = frozenset({"label", "type", "phonetic", "yomi", "typ", "tipo"})
"""Words of columns that say something of another column."""

_BESIDE: Final = frozenset(
    {
        *("value", "work", "home", "other", "mobile", "address", "adresse", "direccion"),
        *("business", "privat", "geschaftlich", "primary", "main", "personal", "name"),
    }
)
"""Words that say which one of several a column holds."""

_MANY: Final = ("email", "phone")
_DATES: Final = ("birthday", "connected_on")
_PLAIN: Final = ("organization", "title", "department", "website", "notes")
_PLACE: Final = ("street", "postal", "city", "country")
_NUMBER: Final = re.compile(r"\b\d\b")
_LINKEDIN: Final = re.compile(r"https?://(?:[a-z]{2,3}\.)?linkedin\.com/", re.IGNORECASE)
_SEVERAL: Final = " ::: "
"""What stands between several values in one cell of an export of Google's."""


def of_address_book(table: Table) -> Iterator[Found]:
    """A contact for each row; nothing where the table is no address book."""
    header = _header(table)
    if header is None:
        return
    columns = _columns(table.rows[header])
    for number, row in enumerate(table.rows[header + 1 :], 1):
        cells = {
            place: str(cell).strip()
            for place, cell in enumerate(row)
            if cell is not None and str(cell).strip()
        }
        found = _contact(columns, cells)
        if found is not None:
            fields, unread = found
            yield Found(
                entity_type="contact",
                fields=fields,
                unread=unread,
                row=number,
                reasons=("columns of an address book",),
            )


def _header(table: Table) -> int | None:
    """The row that names both parts of a name, and how somebody is reached or where they work."""
    for place, row in enumerate(table.rows[:_HEADER_WITHIN]):
        meant = set(_columns(row))
        if len(row) < _COLUMNS_MIN:
            continue
        if {"given", "family"} <= meant and meant & {"email", "phone", "organization"}:
            return place
    return None


def _columns(header: Sequence[Cell]) -> Mapping[str, Sequence[int]]:
    """What the columns hold, each with its places in order."""
    found: dict[str, list[int]] = {}
    for place, cell in enumerate(header):
        if (meant := _meaning(str(cell or ""))) is not None:
            found.setdefault(meant, []).append(place)
    return found


def _meaning(name: str) -> str | None:
    """What a column of this name holds, None where nobody knows."""
    words = _NUMBER.sub(" ", plain(name)).split()
    if not words or _ABOUT & set(words):
        return None
    bare = [word for word in words if word not in _BESIDE]
    tries = (" ".join(words), " ".join(bare), *((words[0],) if len(words) > 1 else ()))
    for text in tries:
        for language in languages().values():
            if text in language.contacts:
                return language.contacts[text]
    mail = " ".join(words).startswith(("e mail", "email"))
    return "email" if mail else _reached(words)


def _reached(words: Sequence[str]) -> str | None:
    known = {
        word for each in languages().values() for word, m in each.contacts.items() if m == "phone"
    }
    return "phone" if known & set(words) else None


def _contact(
    columns: Mapping[str, Sequence[int]], cells: Mapping[int, str]
) -> tuple[dict[str, Any], dict[str, Unread]] | None:
    """The fields of a row; None of one that names nobody and nothing to reach them by."""
    said = {
        meant: [cells[place] for place in places if place in cells]
        for meant, places in columns.items()
    }
    first = {meant: values[0] for meant, values in said.items() if values}
    parts = (first.get(each) for each in ("given", "middle", "family"))
    name = " ".join(part for part in parts if part) or first.get("name", "")
    fields: dict[str, Any] = {"name": name} if name else {}
    unread: dict[str, Unread] = {}
    for meant in _MANY:
        values = list(
            dict.fromkeys(v for each in said.get(meant, ()) for v in each.split(_SEVERAL))
        )
        fields |= {meant: values[0]} if values else {}
        fields |= {PLURALS[meant]: values[1:]} if len(values) > 1 else {}
    fields |= {meant: first[meant] for meant in _PLAIN if meant in first}
    if _LINKEDIN.match(fields.get("website", "")):
        fields["linkedin_url"] = fields.pop("website")
    for meant in _DATES:
        if meant in first and (seen := date_in(first[meant])) is not None:
            if seen.value is None:
                unread[meant] = Unread(value=first[meant], reason=seen.reason)
            else:
                fields[meant] = seen.value
    place = first.get("address") or ", ".join(first[each] for each in _PLACE if each in first)
    fields |= {"address": place} if place else {}
    return (fields, unread) if fields.keys() & {"name", "email", "phone", "organization"} else None

"""Findings of a parser, and the limits of its process."""

import json
import logging
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from canonry.values.data_files import read_toml
from canonry.values.file_texts import TextsByPath, note_unread, unused_texts, utc_text_of

NAMES: Final = read_toml(__package__, "names.toml")
"""The names that formats have for fields, by format."""

_MEMBERS_MAX: Final = 100  # the most inner files of a file that are read

PATH: Final = "/"
"""The first sign of the title of a column whose values have no meaning in every format."""

ParsedCell = str | int | float | bool | None
Line = tuple[Mapping[str, ParsedCell], TextsByPath]
"""The cells of a line of a statement by their titles, and all of its texts."""

_NUL: Final = str.maketrans({"\0": None, "\r": "\n"})


class Fault(Exception):  # noqa: N818 - it is stated, and is no error of the parser
    """A fault of the file, by its code."""

    def __init__(self, name: str) -> None:
        """Store the code."""
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits of a file."""

    characters: int
    cells: int
    inflated: int


class Findings:
    """Text, tables and records in reading order."""

    def __init__(self, bounds: Bounds) -> None:
        """Start without findings."""
        self.bounds = bounds
        self._characters = bounds.characters
        self._cells = bounds.cells
        self._parts: list[tuple[int | None, str | None, str]] = []
        self._tables: list[tuple[str | None, list[list[ParsedCell]]]] = []
        self._records: list[tuple[str, Mapping[str, Any]]] = []
        self._notes: list[str] = []
        self._members: list[tuple[str, str, str, int | None]] = []
        self._inflated = bounds.inflated
        self._made_at: str | None = None
        self._unread: list[str] = []

    def add_text(self, text: str, *, page: int | None = None, section: str | None = None) -> None:
        """Add text, unless it is blank."""
        clean = clean_text(text).strip("\n")
        self._spend_characters(len(clean))
        if clean.strip():
            self._parts.append((page, section, clean))

    def add_table(self, rows: Sequence[Sequence[ParsedCell]], *, name: str | None = None) -> None:
        """Add a table without blank rows at its end."""
        kept: list[list[ParsedCell]] = []
        for row in rows:
            self._cells -= 1 + sum(cell is not None for cell in row)
            if self._cells < 0:
                raise Fault("cells")
            cells = [clean_text(cell) if isinstance(cell, str) else cell for cell in row]
            self._spend_characters(sum(len(cell) for cell in cells if isinstance(cell, str)))
            kept.append(cells)
        while kept and not any(cell not in {None, ""} for cell in kept[-1]):
            kept.pop()
        if kept:
            self._tables.append((name, kept))

    def add_lines(self, lines: Sequence[Line]) -> None:
        """Add the table of these lines, if there are any."""
        if lines:
            self.add_table(rows_of(lines))

    def note_unread(self, texts: TextsByPath, kept: Iterable[Any] = ()) -> None:
        """Note the texts that belong to no line or record, except those that are kept."""
        self._unread += (f"{path}: {text}" for path, text in unused_texts(texts, kept))

    def add_record(self, kind: str, fields: Mapping[str, Any]) -> int:
        """Add a record of named values and return its index."""
        self._cells -= len(fields) + 1
        self._spend_characters(sum(len(v) for v in fields.values() if isinstance(v, str)))
        if self._cells < 0:
            raise Fault("cells")
        self._records.append((kind, fields))
        return len(self._records) - 1

    def add_member(self, name: str, media: str, data: bytes, record: int | None = None) -> None:
        """Add an inner file, which is read separately; after too many, only note it."""
        if len(self._members) == _MEMBERS_MAX:
            self.add_note(f"Only the first {_MEMBERS_MAX} files within this file were read.")
        if len(self._members) >= _MEMBERS_MAX:
            return
        self._inflated -= len(data)
        if self._inflated < 0:
            raise Fault("bomb")
        self._members.append(
            (clean_text(name), clean_text(media), b64encode(data).decode(), record)
        )

    def add_note(self, note: str) -> None:
        """Add a note for the user once."""
        if note not in self._notes:
            self._notes.append(note)

    def note_time(self, *times: str | None) -> None:
        """Take the first of these times as that of the file, unless it is known already."""
        known = (self._made_at, *(utc_text_of(each or "") for each in times))
        self._made_at = next(filter(None, known), None)

    def to_json(self) -> dict[str, Any]:
        """Return all findings as JSON values."""
        return {
            "made_at": self._made_at,
            "parts": self._parts,
            "tables": self._tables,
            "records": self._records,
            "notes": [*self._notes, *note_unread(self._unread)],
            "members": self._members,
        }

    def _spend_characters(self, characters: int) -> None:
        self._characters -= characters
        if self._characters < 0:
            raise Fault("characters")


STRUCK: Final = "Struck-out text was left out."
"""The note on text that its author struck out."""

APART: Final = frozenset({"unread", "seen_at", "rest"})
"""Members of a record that are no fields: unclear values, its own time, values without a field."""


def rows_of(lines: Iterable[Line]) -> list[list[ParsedCell]]:
    """Return titles and rows; texts of a line that are in no cell get columns of their own."""
    rows: list[dict[str, ParsedCell]] = []
    for cells, texts in lines:
        rows.append(dict(cells))
        for path, text in unused_texts(texts, cells.values()):
            before = rows[-1].get(PATH + path)
            rows[-1][PATH + path] = f"{before}; {text}" if before else text
    titles = dict.fromkeys(title for row in rows for title in row)
    return [[*titles], *([*map(row.get, titles)] for row in rows)]


_SIGNS: Final = re.compile("[-/]")


def keep_rest(fields: dict[str, Any], name: str, value: str) -> None:
    """Keep a value without a field under its name; several of one name become a list."""
    rest, key = fields.setdefault("rest", {}), _SIGNS.sub("_", name.lower())
    before = rest.get(key)
    several = before if isinstance(before, list) else [before]
    if value.strip():
        rest[key] = value if before is None else [*several, value]


def add_with_text(found: Findings, kind: str, fields: Mapping[str, Any]) -> None:
    """Add a record, and its values as text."""
    found.add_record(kind, fields)
    values = {**fields, **fields.get("rest", {})}
    texts = {k: v if isinstance(v, list) else [v] for k, v in values.items() if k not in APART}
    found.add_text("\n".join(f"{key}: {', '.join(map(str, v))}" for key, v in texts.items()))


def clean_text(text: str) -> str:
    """Remove NUL and lone surrogates, and use line feeds as line ends."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return whole.replace("\r\n", "\n").translate(_NUL)


_MEMORY: Final = 1 << 30  # a hostile file ends its own process and not the server


def run_parser(
    parse: Callable[[bytes], Mapping[str, Any]], *, seconds: int, memory: int = _MEMORY
) -> None:
    """Parse standard input and print the result of `parse`, or its fault, as JSON."""
    logging.disable(logging.CRITICAL)
    data = sys.stdin.buffer.read()
    wire, sys.stdout = sys.stdout, sys.stderr  # a library may print
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - absent on Windows

        for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
            with suppress(ValueError, OSError):  # an outer limit may be lower
                resource.setrlimit(limit, (most, most))
    reply: Mapping[str, Any]
    try:
        reply = parse(data)
    except Fault as fault:
        reply = {"fault": fault.name}
    except Exception:  # noqa: BLE001 - whatever a parser meets in a damaged file
        reply = {"fault": "damaged"}
    wire.buffer.write(json.dumps(reply).encode())

"""Files of a catalog that are read: one JSON object of arrays, or one CSV file an array.

What a file says is either understood as it stands or refused: nothing that is said twice, cut off
or in the wrong place is guessed at.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO, cast

from canonry.cli.csv_cells import unsheltered
from canonry.log.schemas.catalog_tables import TABLES, CatalogTable, Column, Form
from canonry.readmodels.catalog import ID
from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid

LIST_MARK: Final = ";"
"""Between the ids of a list in a cell."""

CELL_MAX: Final = 1_000_000
ZIPPED: Final = ".gz"
TOO_MANY: Final = "(more cells than the header)"
TOO_FEW: Final = "(fewer cells than the header)"
_NAMED: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFiles:
    """The arrays of all files together; `starts` says which row of an array begins which file."""

    arrays: dict[str, list[Any]] = field(default_factory=dict)
    starts: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, name: str, rows: list[Any], file: Path) -> None:
        """Put the rows of a file behind those that are there."""
        known = self.arrays.setdefault(name, [])
        self.starts.setdefault(name, []).append((len(known), file.name))
        known.extend(rows)

    def divisions(self) -> Iterator[str]:
        """For each array that several files make up: where in it the rows of each begin."""
        for name, starts in self.starts.items():
            if len(starts) > 1:
                places = ", ".join(f"from {name}[{first}] on {file}" for first, file in starts)
                yield f"{name} come from {len(starts)} files: {places}"


def read_files(files: Sequence[Path]) -> CatalogFiles:
    """All arrays of `files`; a CSV file is called by its array, as `entities.csv`.

    Raises:
        InvalidInput: `catalog.unreadable` or `catalog.malformed`, with the file.
    """
    found = CatalogFiles()
    for file in files:
        try:
            arrays = (
                _csv_arrays(file)
                if _unpacked(file).suffix.lower() == ".csv"
                else _json_arrays(file)
            )
        except UnicodeDecodeError as error:
            raise _unreadable(file, "is not UTF-8; save it as that") from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _unreadable(file, "is damaged, or was not packed by gzip") from error
        for name, rows in arrays.items():
            if not isinstance(rows, list):
                message = f"{file.name}: {name[:_NAMED]!a} is an array of objects"
                raise InvalidInput("catalog.malformed", message, path=str(file))
            found.add(name, rows, file)
    return found


def _unpacked(file: Path) -> Path:
    """What the file is called when it is not packed."""
    return file.with_suffix("") if file.suffix.lower() == ZIPPED else file


def _open(file: Path) -> TextIO:
    if file.suffix.lower() == ZIPPED:
        return cast("TextIO", gzip.open(file, "rt", encoding="utf-8-sig", newline=""))
    return file.open(encoding="utf-8-sig", newline="")


def _json_arrays(file: Path) -> Mapping[str, Any]:
    def row_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) != len(pairs):
            raise _said_twice(file, pairs)
        return row

    def no_number(word: str) -> NoReturn:
        raise _unreadable(file, f"is no JSON: {word} is no number")

    with _open(file) as text:
        content = text.read()
    try:
        found = json.loads(content, object_pairs_hook=row_of, parse_constant=no_number)
    except json.JSONDecodeError as error:
        spot = f"line {error.lineno}, column {error.colno}"
        raise _unreadable(file, f"is no JSON: {spot}: {error.msg}") from error
    except RecursionError as error:
        raise _unreadable(file, "is nested too deep to be a catalog") from error
    except ValueError as error:
        raise _unreadable(file, "holds a number of too many digits") from error
    if not isinstance(found, dict):
        message = f"{file.name} holds no object with the arrays {', '.join(TABLES)}"
        raise InvalidInput("catalog.malformed", message, path=str(file))
    return found


def _said_twice(file: Path, pairs: Sequence[tuple[str, Any]]) -> InvalidInput:
    names = [name for name, _ in pairs]
    twice = next(name for name in names if names.count(name) > 1)
    own = dict(pairs).get(ID)
    which = (
        f"the object with the id {own}" if isinstance(own, str) and is_uuid(own) else "an object"
    )
    return _unreadable(file, f"is ambiguous: {which} has {twice[:_NAMED]!a} twice")


def _csv_arrays(file: Path) -> Mapping[str, Any]:
    table = TABLES.get(_unpacked(file).stem)
    if table is None:
        message = f"{file.name} is called by no array; call it one of {', '.join(TABLES)}"
        raise InvalidInput("catalog.malformed", message, path=str(file))
    csv.field_size_limit(CELL_MAX)
    with _open(file) as text:
        lines = csv.reader(text, strict=True)
        try:
            return {table.array: list(_csv_rows(table, lines, file))}
        except csv.Error as error:
            raise _unreadable(file, f"is no CSV: line {lines.line_num}: {error}") from error


def _csv_rows(
    table: CatalogTable, lines: Iterator[list[str]], file: Path
) -> Iterator[dict[str, Any]]:
    header = next(lines, [])
    columns = [_column(table, name, file) for name in header]
    if len({column.name for column in columns}) < len(columns):
        twice = next(name for name in header if header.count(name) > 1)
        raise _unreadable(file, f"has the column {twice} twice")
    if missing := [c.name for c in table.columns if c.required and c not in columns]:
        raise _unreadable(file, f"has no column {', '.join(missing)}; its first line names them")
    for cells in filter(None, lines):
        row = {
            column.name: _value(column, unsheltered(cell))
            for column, cell in zip(columns, cells, strict=False)
        }
        if len(cells) != len(columns):
            row[TOO_MANY if len(cells) > len(columns) else TOO_FEW] = None
        yield row


def _column(table: CatalogTable, name: str, file: Path) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    known = ", ".join(column.name for column in table.columns)
    raise _unreadable(file, f"has an unknown column {name[:_NAMED]!a}; known are {known}")


def _value(column: Column, cell: str) -> Any:
    """What a cell says: an empty one is null, where the field may be."""
    if not cell:
        return "" if column.required and column.empty and column.form is Form.TEXT else None
    if column.form is Form.UUIDS:
        return [part.strip() for part in cell.split(LIST_MARK)]
    if column.form is Form.COUNT and cell.isascii() and cell.isdigit():
        return int(cell)
    return cell


def _unreadable(file: Path, what: str) -> InvalidInput:
    return InvalidInput("catalog.unreadable", f"{file.name} {what}", path=str(file))

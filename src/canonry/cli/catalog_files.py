"""Files of a catalog: one JSON object of arrays, or one CSV file an array, read and written."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from canonry.domain.errors import InvalidInput
from canonry.domain.vocabularies.catalog_tables import TABLES, Column, Form, Table

LIST_MARK: Final = ";"
"""Between the ids of a list in a cell."""

CELL_MAX: Final = 1_000_000


def read_arrays(files: Sequence[Path]) -> dict[str, list[Any]]:
    """The arrays of all files together; a CSV file is called by its array, as `entities.csv`.

    Raises:
        InvalidInput: `catalog.unreadable` or `catalog.malformed`, with the file.
    """
    arrays: dict[str, list[Any]] = {}
    for file in files:
        try:
            found = _csv_arrays(file) if file.suffix.lower() == ".csv" else _json_arrays(file)
        except UnicodeDecodeError as error:
            message = f"{file.name} is not UTF-8; save it as that"
            raise InvalidInput("catalog.unreadable", message, path=str(file)) from error
        for name, rows in found.items():
            if not isinstance(rows, list):
                message = f"{file.name}: {name} is an array of objects"
                raise InvalidInput("catalog.malformed", message, path=f"/{name}"[:80])
            arrays.setdefault(name, []).extend(rows)
    return arrays


def write_json(rows: Iterable[tuple[str, Mapping[str, Any]]], out: TextIO) -> None:
    """All arrays as one object, a row a line, so that two exports can be compared line by line."""
    by_array: dict[str, list[Mapping[str, Any]]] = {name: [] for name in TABLES}
    for array, row in rows:
        by_array[array].append(row)
    for number, (array, found) in enumerate(by_array.items()):
        out.write(f'{"," if number else "{"}\n"{array}": [')
        for index, row in enumerate(found):
            out.write(",\n" if index else "\n")
            out.write(json.dumps(row, ensure_ascii=False))
        out.write("\n]" if found else "]")
    out.write("\n}\n")


def write_csv(rows: Iterable[tuple[str, Mapping[str, Any]]], folder: Path) -> None:
    """Each array as a file of its own in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    opened: dict[str, TextIO] = {}
    try:
        writers = {}
        for name, table in TABLES.items():
            opened[name] = (folder / f"{name}.csv").open("w", encoding="utf-8", newline="")
            writers[name] = csv.writer(opened[name])
            writers[name].writerow(column.name for column in table.columns)
        for array, row in rows:
            columns = TABLES[array].columns
            writers[array].writerow([_cell(row[column.name]) for column in columns])
    finally:
        for file in opened.values():
            file.close()


def _json_arrays(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        message = f"{file.name} is no JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise InvalidInput("catalog.unreadable", message, path=str(file)) from error
    except RecursionError as error:
        message = f"{file.name} is nested too deep to be a catalog"
        raise InvalidInput("catalog.unreadable", message, path=str(file)) from error
    if not isinstance(found, dict):
        message = f"{file.name} holds no object with the arrays {', '.join(TABLES)}"
        raise InvalidInput("catalog.malformed", message, path=str(file))
    return found


def _csv_arrays(file: Path) -> Mapping[str, Any]:
    table = TABLES.get(file.stem)
    if table is None:
        message = f"{file.name} is called by no array; call it one of {', '.join(TABLES)}"
        raise InvalidInput("catalog.malformed", message, path=str(file))
    csv.field_size_limit(CELL_MAX)
    with file.open(encoding="utf-8-sig", newline="") as lines:
        try:
            return {table.array: list(_csv_rows(table, lines))}
        except csv.Error as error:
            message = f"{file.name} is no CSV: {error}"
            raise InvalidInput("catalog.unreadable", message, path=str(file)) from error


def _csv_rows(table: Table, lines: TextIO) -> Iterator[dict[str, Any]]:
    columns = {column.name: column for column in table.columns}
    for cells in csv.DictReader(lines, restkey="(more cells than the header)"):
        yield {
            name: _value(columns[name], cell) if name in columns else cell
            for name, cell in cells.items()
        }


def _value(column: Column, cell: str | None) -> Any:
    """What a cell says: an empty one is null, where the field may be."""
    if not cell:
        return "" if column.required and column.empty and column.form is Form.TEXT else None
    if column.form is Form.UUIDS:
        return [part.strip() for part in cell.split(LIST_MARK)]
    if column.form is Form.COUNT and cell.isascii() and cell.isdigit():
        return int(cell)
    return cell


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return LIST_MARK.join(value)
    return "" if value is None else value

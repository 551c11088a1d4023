"""`canonry catalog import` and `canonry catalog export`: read and write files of a catalog."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO, TypeAlias, cast

import click

from canonry.app.stores import open_kept_store, open_store_to_try
from canonry.catalog.usecases.exchange import CatalogImported, export_catalog, import_catalog
from canonry.cli.entry import print_errors
from canonry.cli.options import command_from, operator_caller, settings_from, show_progress
from canonry.cli.terminal import data_output, print_line
from canonry.language.texts.visible import escape_hidden
from canonry.log.schemas.catalog_tables import TABLES, CatalogTable, Column, Form
from canonry.readmodels.catalog import ID
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId, is_uuid

# Cells of a CSV file: a quote precedes each text that a spreadsheet would run as a formula.
#
# Without the quote, opening the file could run a formula from stored text. Reading removes the
# quote, which restores the stored text exactly.

_QUOTE: Final = "'"
_CALCULATED: Final = re.compile(r"[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]|[ ']*[\t\r\n]")


def quote_cell(text: str) -> str:
    """Return the cell for a text, quoted if a spreadsheet would calculate it."""
    return _QUOTE + text if _CALCULATED.match(text) else text


def unquote_cell(cell: str) -> str:
    """Return the text of a cell; the inverse of `quote_cell`."""
    return cell[1:] if cell.startswith(_QUOTE) and _CALCULATED.match(cell, 1) else cell


# Input files of a catalog: one JSON object of arrays, or one CSV file for each array.
#
# Duplicate, cut off or misplaced content is refused; nothing is guessed.

LIST_MARK: Final = ";"
"""Separator of the ids in a cell."""

CELL_MAX: Final = 1_000_000  # the csv module stops at 131,072, less than a long description
ZIPPED: Final = ".gz"
TOO_MANY: Final = "(more cells than the header)"
TOO_FEW: Final = "(fewer cells than the header)"
_NAMED: Final = 60  # an error does not repeat a pasted text


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFiles:
    """The arrays of all files; `starts` has the first row of each file in an array."""

    arrays: dict[str, list[Any]] = field(default_factory=dict)
    starts: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def division_lines(self) -> Iterator[str]:
        """Yield a line about each array of several files, with the first row of each file."""
        for name, starts in self.starts.items():
            if len(starts) > 1:
                parts = ", ".join(f"from {name}[{first}] on {file}" for first, file in starts)
                yield f"{name} come from {len(starts)} files: {parts}."


def read_files(files: Sequence[Path]) -> CatalogFiles:
    """Return all arrays of `files`; a CSV file has the name of its array, such as `entities.csv`.

    Raises:
        InvalidInput: `catalog.unreadable` or `catalog.malformed`, with the file.
    """
    found = CatalogFiles()
    for file in files:
        try:
            arrays = (
                _csv_arrays(file)
                if _without_gz(file).suffix.lower() == ".csv"
                else _json_arrays(file)
            )
        except UnicodeDecodeError as error:
            raise _unreadable_file(file, "is not UTF-8. Save it as UTF-8.") from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _unreadable_file(file, "is damaged, or is no gzip file.") from error
        for name, rows in arrays.items():
            if not isinstance(rows, list):
                message = f"{file.name}: {name[:_NAMED]!a} must be an array of objects."
                raise InvalidInput("catalog.malformed", message, path=str(file))
            known = found.arrays.setdefault(name, [])
            found.starts.setdefault(name, []).append((len(known), file.name))
            known.extend(rows)
    return found


def _without_gz(file: Path) -> Path:
    """Return the name of the file without `.gz`."""
    return file.with_suffix("") if file.suffix.lower() == ZIPPED else file


def _open_text(file: Path) -> TextIO:
    if file.suffix.lower() == ZIPPED:
        return cast("TextIO", gzip.open(file, "rt", encoding="utf-8-sig", newline=""))
    return file.open(encoding="utf-8-sig", newline="")


def _json_arrays(file: Path) -> Mapping[str, Any]:
    def row_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) != len(pairs):
            raise _duplicate_name(file, pairs)
        return row

    def no_number(word: str) -> NoReturn:
        raise _unreadable_file(file, f"is no JSON: {word} is no number")

    with _open_text(file) as text:
        content = text.read()
    try:
        found = json.loads(content, object_pairs_hook=row_of, parse_constant=no_number)
    except json.JSONDecodeError as error:
        spot = f"line {error.lineno}, column {error.colno}"
        raise _unreadable_file(file, f"is no JSON: {spot}: {error.msg}.") from error
    except RecursionError as error:
        raise _unreadable_file(file, "is nested too deeply for a catalog.") from error
    except ValueError as error:
        raise _unreadable_file(file, "has a number with too many digits.") from error
    if not isinstance(found, dict):
        message = f"{file.name} must be an object with some of the arrays {', '.join(TABLES)}."
        raise InvalidInput("catalog.malformed", message, path=str(file))
    return found


def _duplicate_name(file: Path, pairs: Sequence[tuple[str, Any]]) -> InvalidInput:
    names = [name for name, _ in pairs]
    twice = next(name for name in names if names.count(name) > 1)
    own = dict(pairs).get(ID)
    which = (
        f"the object with the id {own}" if isinstance(own, str) and is_uuid(own) else "an object"
    )
    return _unreadable_file(file, f"is ambiguous: {which} has {twice[:_NAMED]!a} twice.")


def _csv_arrays(file: Path) -> Mapping[str, Any]:
    table = TABLES.get(_without_gz(file).stem)
    if table is None:
        message = f"{file.name} must have the name of an array: {', '.join(TABLES)}."
        raise InvalidInput("catalog.malformed", message, path=str(file))
    csv.field_size_limit(CELL_MAX)
    with _open_text(file) as text:
        lines = csv.reader(text, strict=True)
        try:
            return {table.array: list(_csv_rows(table, lines, file))}
        except csv.Error as error:
            raise _unreadable_file(file, f"is no CSV: line {lines.line_num}: {error}") from error


def _csv_rows(
    table: CatalogTable, lines: Iterator[list[str]], file: Path
) -> Iterator[dict[str, Any]]:
    header = next(lines, [])
    columns = [_find_column(table, name, file) for name in header]
    if len({column.name for column in columns}) < len(columns):
        twice = next(name for name in header if header.count(name) > 1)
        raise _unreadable_file(file, f"has the column {twice} twice")
    if missing := [c.name for c in table.columns if c.required and c not in columns]:
        raise _unreadable_file(
            file, f"has no column {', '.join(missing)}; its first line names them"
        )
    for cells in filter(None, lines):
        row = {
            column.name: _read_cell(column, unquote_cell(cell))
            for column, cell in zip(columns, cells, strict=False)
        }
        if len(cells) != len(columns):
            row[TOO_MANY if len(cells) > len(columns) else TOO_FEW] = None
        yield row


def _find_column(table: CatalogTable, name: str, file: Path) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    known = ", ".join(column.name for column in table.columns)
    raise _unreadable_file(file, f"has an unknown column {name[:_NAMED]!a}. Columns: {known}.")


def _read_cell(column: Column, cell: str) -> Any:
    """Return the value of a cell; an empty cell is null if the field allows it."""
    if not cell:
        return "" if column.required and column.empty and column.form is Form.TEXT else None
    if column.form is Form.UUIDS:
        return [part.strip() for part in cell.split(LIST_MARK)]
    return int(cell) if column.form is Form.COUNT and cell.isascii() and cell.isdigit() else cell


def _unreadable_file(file: Path, what: str) -> InvalidInput:
    return InvalidInput("catalog.unreadable", f"{file.name} {what}", path=str(file))


SHOWN: Final = 20  # a wrong column breaks every row; the first problems name it

TableRows: TypeAlias = AsyncIterator[tuple[str, Mapping[str, Any]]]
"""(array, row), array by array in the order of the tables."""


@click.group()
def catalog() -> None:
    """Import or export a catalog."""


@command_from("catalog-import", catalog)
async def import_(
    *, files: tuple[Path, ...], lenient: bool, dry_run: bool, as_json: bool, **given: Any
) -> None:
    """Store the rows of FILES, each under its id. A second run adds nothing.

    All rows are checked first. Without --lenient, one invalid row refuses the whole import.
    """
    settings = settings_from(given)
    found = read_files(files)
    how = {"lenient": lenient, "dry_run": dry_run}
    try:
        opening = open_store_to_try(settings) if dry_run else open_kept_store(settings)
        async with await opening as store:
            with show_progress("importing rows") as on_progress:
                caller = operator_caller("canonry catalog import")
                report = await import_catalog(store.canon, caller, found.arrays, on_progress, **how)
    except InvalidInput as error:
        # Print all faults, if the error has several.
        problems = error.details.get("problems", ())
        if len(problems) > 1:
            for problem in problems[:SHOWN]:
                print_errors(str(problem))
        if problems:
            for line in found.division_lines():
                print_errors(line)
        raise
    if as_json:
        parts = {"created": report.made, "changed": report.changed, "unchanged": report.unchanged}
        done: dict[str, Any] = {name: dict(counts) for name, counts in parts.items()}
        done |= {"dry_run": report.dry_run, "refused": [asdict(e) for e in report.problems]}
        click.echo(json.dumps(done, sort_keys=True))
    else:
        _print_report(report, found)


@command_from("catalog-export", catalog)
async def export(
    *, file: Path | None, folder: Path | None, projects: tuple[str, ...], **given: Any
) -> None:
    """Write the catalog to FILE or to standard output, for `canonry catalog import`.

    Equal catalogs give equal bytes.
    """
    if file is not None and folder is not None:
        raise click.UsageError("Give FILE or --csv, not both.")
    if not all(map(is_uuid, projects)):
        raise click.UsageError("--project takes the UUID of a project.")
    spaces = frozenset(SpaceId(each.lower()) for each in projects) if projects else None
    async with await open_kept_store(settings_from(given), existing=True) as store:
        with show_progress("exporting rows") as on_progress:
            rows = export_catalog(store.canon, spaces, on_progress)
            if folder is not None:
                # Write each array to its own file in `folder`.
                with ExitStack() as files:
                    writers = _begin_files(folder, files)
                    async for array, row in rows:
                        writers[array].writerow(
                            [_format_cell(row[c.name]) for c in TABLES[array].columns]
                        )
                return
            with data_output(file) as out:
                await _write_json(rows, out)


async def _write_json(rows: TableRows, out: TextIO) -> None:
    """Write all arrays as one object, one row a line, for comparison by line."""
    names = list(TABLES)
    current, between = names.pop(0), "\n"
    out.write(f'{{\n"{current}": [')
    async for array, row in rows:
        while current != array:
            current, between = _next_array(out, names, between)
        out.write(between + escape_hidden(json.dumps(row, ensure_ascii=False)))
        between = ",\n"
    while names:
        _, between = _next_array(out, names, between)
    out.write("]\n}\n" if between == "\n" else "\n]\n}\n")


def _next_array(out: TextIO, names: list[str], between: str) -> tuple[str, str]:
    name = names.pop(0)
    end = "]" if between == "\n" else "\n]"
    out.write(f'{end},\n"{name}": [')
    return name, "\n"


def _begin_files(folder: Path, files: ExitStack) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    writers = {}
    for name, table in TABLES.items():
        out = files.enter_context(data_output(folder / f"{name}.csv", newline=""))
        writers[name] = csv.writer(out)
        writers[name].writerow(column.name for column in table.columns)
    return writers


def _format_cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return LIST_MARK.join(value)
    return quote_cell(value) if isinstance(value, str) else "" if value is None else value


def _print_report(report: CatalogImported, found: CatalogFiles) -> None:
    verb = "would be" if report.dry_run else "are"
    for array in TABLES:
        numbers = (report.made[array], report.changed[array], report.unchanged[array])
        if any(numbers):
            created, changed, unchanged = numbers
            click.echo(f"{array:20} {created} {verb} new, {changed} changed, {unchanged} the same")
    for problem in report.problems:
        print_line(f"refused: {problem}")
    if report.problems:
        for line in found.division_lines():
            print_line(line)
        click.echo(f"{report.refused} rows were refused")
    elif not any(found.arrays.values()):
        click.echo("the files have no rows")

"""`canonry catalog import` and `canonry catalog export`: how a catalog's data get in and out."""

import csv
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

import click

from canonry.app.stores import open_kept_store, open_store_to_try
from canonry.catalog.usecases.export_catalog import export_catalog
from canonry.catalog.usecases.import_catalog import (
    CatalogImported,
    CatalogImportRequest,
    import_catalog,
)
from canonry.cli.catalog_files import LIST_MARK, CatalogFiles, read_files
from canonry.cli.csv_cells import sheltered
from canonry.cli.entry import complain
from canonry.cli.operator import operator
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.cli.screen import data_output, tell_line
from canonry.language.texts.visible import visible
from canonry.log.schemas.catalog_tables import TABLES
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId, is_uuid

FILES: Final = click.Path(path_type=Path, exists=True, dir_okay=False)
SHOWN: Final = 20

TableRows: TypeAlias = AsyncIterator[tuple[str, Mapping[str, Any]]]
"""(array, row), array by array in the order of the tables."""

IMPORT_EPILOG: Final = """\
\b
Examples:
  canonry catalog import catalog.json
  canonry catalog import projects.csv entities.csv relations.csv
  canonry catalog import catalog.json --dry-run
  canonry catalog import catalog.json --lenient --json

\b
A JSON file is one object with any of the arrays projects, entities, sourceItems,
distributionEvents, videos and relations. A CSV file is called by its array.
Either may be packed by gzip, as catalog.json.gz.
"""


@click.group()
def catalog() -> None:
    """Bring a catalog in, or write it out."""


@catalog.command("import", epilog=IMPORT_EPILOG)
@click.argument("files", type=FILES, nargs=-1, required=True)
@click.option("--lenient", is_flag=True, help="Store what is right, and tell every refused row.")
@click.option("--dry-run", is_flag=True, help="Check everything and store nothing.")
@click.option("--json", "as_json", is_flag=True, help="Tell the outcome as JSON.")
@store_options
@awaited
async def import_(
    *, files: tuple[Path, ...], lenient: bool, dry_run: bool, as_json: bool, **given: Any
) -> None:
    """Store the rows of FILES, each under its id; a second run adds nothing.

    Everything is checked first. One row that is wrong refuses the whole import, unless --lenient.
    """
    settings = settings_from(given)
    found = read_files(files)
    request = CatalogImportRequest(arrays=found.arrays, lenient=lenient, dry_run=dry_run)
    try:
        opening = open_store_to_try(settings) if dry_run else open_kept_store(settings)
        async with await opening as store:
            with progress("importing rows") as told:
                caller = operator("canonry catalog import")
                report = await import_catalog(store.canon, caller, request, told)
    except InvalidInput as error:
        _complain(error, found)
        raise
    if as_json:
        click.echo(json.dumps(_as_data(report), sort_keys=True))
    else:
        _print(report, found)


@catalog.command(
    epilog="""\
\b
Examples:
  canonry catalog export catalog.json
  canonry catalog export | gzip > catalog.json.gz
  canonry catalog export --csv tables --project 00000000-0000-4000-a000-000000000001
"""
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option(
    "--csv",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a CSV file for each array into this folder instead.",
)
@click.option("--project", "projects", multiple=True, metavar="UUID", help="Only these projects.")
@store_options
@awaited
async def export(
    *, file: Path | None, folder: Path | None, projects: tuple[str, ...], **given: Any
) -> None:
    """Write the catalog to FILE, or to standard output, as `canonry catalog import` reads it.

    Equal catalogs give equal bytes, in whatever order their rows came.
    """
    if file is not None and folder is not None:
        raise click.UsageError("name a file or --csv, not both")
    if not all(map(is_uuid, projects)):
        raise click.UsageError("--project takes the UUID of a project")
    spaces = frozenset(SpaceId(each.lower()) for each in projects) if projects else None
    async with await open_kept_store(settings_from(given), existing=True) as store:
        with progress("exporting rows") as told:
            rows = export_catalog(store.canon, spaces, told)
            if folder is not None:
                await _write_csv(rows, folder)
                return
            with data_output(file) as out:
                await _write_json(rows, out)


async def _write_json(rows: TableRows, out: TextIO) -> None:
    """All arrays as one object, a row a line, so that two exports can be compared line by line."""
    names = list(TABLES)
    current, between = names.pop(0), "\n"
    out.write(f'{{\n"{current}": [')
    async for array, row in rows:
        while current != array:
            current, between = _next_array(out, names, between)
        out.write(between + visible(json.dumps(row, ensure_ascii=False)))
        between = ",\n"
    while names:
        _, between = _next_array(out, names, between)
    out.write("]\n}\n" if between == "\n" else "\n]\n}\n")


def _next_array(out: TextIO, names: list[str], between: str) -> tuple[str, str]:
    name = names.pop(0)
    end = "]" if between == "\n" else "\n]"
    out.write(f'{end},\n"{name}": [')
    return name, "\n"


async def _write_csv(rows: TableRows, folder: Path) -> None:
    """Each array as a file of its own in `folder`, which is made if it is missing."""
    with ExitStack() as files:
        writers = _begun(folder, files)
        async for array, row in rows:
            writers[array].writerow([_cell(row[c.name]) for c in TABLES[array].columns])


def _begun(folder: Path, files: ExitStack) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    writers = {}
    for name, table in TABLES.items():
        out = files.enter_context(data_output(folder / f"{name}.csv", newline=""))
        writers[name] = csv.writer(out)
        writers[name].writerow(column.name for column in table.columns)
    return writers


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return LIST_MARK.join(value)
    return sheltered(value) if isinstance(value, str) else "" if value is None else value


def _complain(error: InvalidInput, found: CatalogFiles) -> None:
    """Tell the faults that the error's own line has no room for."""
    problems = error.details.get("problems", ())
    if len(problems) > 1:
        for problem in problems[:SHOWN]:
            complain(str(problem))
    if problems:
        for line in found.divisions():
            complain(line)


def _as_data(report: CatalogImported) -> Mapping[str, Any]:
    return {
        "dry_run": report.dry_run,
        "created": dict(report.made),
        "changed": dict(report.changed),
        "unchanged": dict(report.unchanged),
        "refused": [asdict(each) for each in report.problems],
    }


def _print(report: CatalogImported, found: CatalogFiles) -> None:
    verb = "would be" if report.dry_run else "are"
    for array in TABLES:
        numbers = (report.made[array], report.changed[array], report.unchanged[array])
        if any(numbers):
            created, changed, unchanged = numbers
            click.echo(f"{array:20} {created} {verb} new, {changed} changed, {unchanged} the same")
    for problem in report.problems:
        tell_line(f"refused: {problem}")
    if report.problems:
        for line in found.divisions():
            tell_line(line)
        click.echo(f"{report.refused} rows were refused")
    elif not any(found.arrays.values()):
        click.echo("there are no rows in what was given")

"""`canonry import log`: an exported log and the files that it names, exactly as they were."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from canonry.bootstrap.filing import files_beside
from canonry.bootstrap.settings import Settings
from canonry.bootstrap.stores import open_kept_store
from canonry.cli.options import settings_from, store_options
from canonry.cli.progress import progress
from canonry.domain.time import Instant, parse_instant
from canonry.usecases.store.carry_files import CarriedFiles, import_files, require_whole
from canonry.usecases.store.import_log import ImportedLog, import_log

EPILOG = """\
\b
Examples:
  canonry import log world.jsonl --data ./copy
  canonry import log world.jsonl        again: skips what is there
  canonry import log world.jsonl --files world-files
  canonry import log world.jsonl --before 2026-03-01T12:00:00Z --data ./sound
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--files",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Where `canonry export --files` copied the users' files.",
)
@click.option(
    "--before",
    metavar="INSTANT",
    help="Leave out what was recorded at this instant or later, like 2026-03-01T12:00:00Z.",
)
@store_options
def log(*, file: Path, files: Path | None, before: str | None, **given: Any) -> None:
    """Append the commits of FILE, which `canonry export` wrote, exactly as they were.

    The file is verified first, and those of --files as well: a damaged one is refused, and nothing
    is written. An interrupted import goes on when it is run again. Files that no source of the log
    names, as theirs was erased, are left where they are; exit code 1 when named ones are missing.
    """
    until = None if before is None else parse_instant(before, path="--before")
    done, carried = asyncio.run(_import(settings_from(given), file, files, until))
    click.echo(
        f"imported {done.commits - done.known - done.late} commits of {done.spaces} spaces; "
        f"{done.known} were there already"
    )
    if until is not None:
        click.echo(f"left out {done.late} commits that were recorded later")
    if carried is None:
        return
    click.echo(f"imported {carried.files} files; {carried.known} were there already")
    if carried.unnamed:
        click.echo(f"left out {carried.unnamed} files that no source names")
    if carried.missing:
        click.echo(f"{carried.missing} files are missing in {files}", err=True)
        raise click.exceptions.Exit(1)


async def _import(
    settings: Settings, file: Path, files: Path | None, before: Instant | None
) -> tuple[ImportedLog, CarriedFiles | None]:
    beside = None if files is None else files_beside(files)
    if beside is not None:
        await require_whole(beside)
    async with await open_kept_store(settings) as store:
        with progress("importing commits") as told:
            done = await import_log(store.canon.ledger, lambda: _lines(file), told, before=before)
        if beside is None:
            return done, None
        with progress("importing files") as told:
            return done, await import_files(store.canon, beside, told)


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as lines:
        yield from lines

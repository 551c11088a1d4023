"""`canonry export`: the whole log as JSON Lines, and beside it the files that it names."""

from pathlib import Path
from typing import Any

import click

from canonry.bootstrap.filing import files_beside
from canonry.bootstrap.stores import open_store_to_look
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.cli.screen import data_output
from canonry.usecases.store.carry_files import export_files
from canonry.usecases.store.export_log import export_log

EPILOG = """\
\b
Examples:
  canonry export world.jsonl
  canonry export | gzip > world.jsonl.gz
  canonry export world.jsonl --files world-files
  canonry import log world.jsonl --files world-files --data ./copy
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option(
    "--files",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Copy the users' files there too; a new or empty folder.",
)
@store_options
@awaited
async def export(*, file: Path | None, files: Path | None, **given: Any) -> None:
    """Write every commit of every universe to FILE, or to standard output.

    The same log gives the same bytes. The last line is a manifest of all heads; keep it
    elsewhere, and `canonry verify --against` shows a log that was cut off or replaced.
    A log names files and does not hold them; --files brings along those that are not erased.
    """
    settings = settings_from(given)
    if files is not None:
        _begin(files)
    async with await open_store_to_look(settings) as store:
        with data_output(file) as out, progress("exporting commits") as told:
            async for line in export_log(store.canon.ledger, told):
                out.write(line.decode())
        if files is not None:  # after the log, so that nothing that it names is left out
            with progress("exporting files") as told:
                carried = await export_files(store.canon, files_beside(files), told)
            click.echo(f"copied {carried.files} files to {files}", err=True)
            if carried.missing:
                click.echo(f"{carried.missing} files are missing; see `canonry verify`", err=True)


def _begin(files: Path) -> None:
    files.mkdir(parents=True, exist_ok=True)
    if any(files.iterdir()):
        raise click.UsageError(f"{files} is not empty; name another folder with --files")

"""`canonry export`: the log, or one account in plain JSON, and beside it the files it names."""

from pathlib import Path
from typing import Any

import click

from canonry.app.filing import files_beside
from canonry.app.stores import open_store_to_look
from canonry.canon.session.account import account_of
from canonry.canon.session.caller import Caller
from canonry.canon.upkeep.logs import export_log
from canonry.cli.options import awaited, progress, settings_from, store_options
from canonry.cli.screen import data_output
from canonry.records.usecases.asking import export_account
from canonry.records.usecases.files import export_files
from canonry.values.provenance import Actor

EPILOG = """\
\b
Examples:
  canonry export world.jsonl
  canonry export - | gzip > world.jsonl.gz
  canonry export world.jsonl --files world-files
  canonry import log world.jsonl --files world-files --data ./copy
  canonry export mine.jsonl --account me --files my-files
  canonry export ada.jsonl --account auth0|ada
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option(
    "--files",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Copy the users' files there too; a new or empty folder.",
)
@click.option(
    "--account",
    metavar="USER",
    help="Only the records of this user, in plain JSON that needs no Canonry to be read; me: of "
    "the one local user.",
)
@store_options
@awaited
async def export(
    *, file: Path | None, files: Path | None, account: str | None, **given: Any
) -> None:
    """Write every commit of every universe to FILE; to standard output if it is - or missing.

    The same log gives the same bytes. The last line is a manifest of all heads; keep it
    elsewhere, and `canonry verify --against` shows a log that was cut off or replaced.
    A log names files and does not hold them; --files brings along those that are not erased.
    With --account it is what one user has told and what became of it: sources, records with their
    observations, and relationships.
    """
    settings = settings_from(given)
    owner = None if account is None else _owner(account)
    if files is not None:
        _begin(files)
    async with await open_store_to_look(settings) as store:
        with data_output(file) as out, progress("exporting commits") as told:
            lines = export_log(store.canon.ledger, told)
            if owner is not None:
                lines = export_account(store.canon, owner)
            async for line in lines:
                out.write(line.decode())
        if files is not None:  # after the log, so that nothing that it names is left out
            with progress("exporting files") as told:
                whose = None if owner is None else account_of(owner).user_id
                beside = files_beside(files)
                carried = await export_files(store.canon, beside, told, user_id=whose)
            click.echo(f"copied {carried.files} files to {files}", err=True)
            if carried.missing:
                click.echo(f"{carried.missing} files are missing; see `canonry verify`", err=True)


def _owner(user: str) -> Caller:
    own = None if user == "me" else user
    actor = Actor(user=own, agent_id="operator", agent_type="Operator")
    return Caller(actor=actor, tool="export")


def _begin(files: Path) -> None:
    files.mkdir(parents=True, exist_ok=True)
    if any(files.iterdir()):
        raise click.UsageError(f"{files} is not empty; name another folder with --files")

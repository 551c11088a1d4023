"""`canonry export`, `move` and `move-space`: how a log, an account or a space gets elsewhere."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from canonry.app.examination import move_store
from canonry.app.filing import files_beside
from canonry.app.setting_table import Settings
from canonry.app.stores import KeptStore, open_kept_store, open_store_to_look
from canonry.canon.session.caller import Caller
from canonry.canon.session.lookup import account_of
from canonry.canon.upkeep.logs import export_log
from canonry.cli.options import (
    OUT_FILE,
    OUT_FOLDER,
    awaited,
    examples,
    progress,
    settings_from,
    store_options,
)
from canonry.cli.screen import data_output, tell_line
from canonry.records.usecases.asking import export_account
from canonry.records.usecases.files import export_files
from canonry.values.errors import BrokenInvariant, InvalidInput, NotFound, NotSupported
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.json_values import folded
from canonry.values.provenance import Actor

if TYPE_CHECKING:
    from canonry.app.backends.postgres import PlacedSpace


EPILOG = examples(
    "canonry export world.jsonl",
    "canonry export - | gzip > world.jsonl.gz",
    "canonry export world.jsonl --files world-files",
    "canonry import log world.jsonl --files world-files --data ./copy",
    "canonry export mine.jsonl --account me --files my-files",
    "canonry export ada.jsonl --account auth0|ada",
)


@click.command(epilog=EPILOG)
@click.argument("file", type=OUT_FILE, required=False)
@click.option(
    "--files",
    type=OUT_FOLDER,
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


SERVERS = {"postgres": "postgres_url", "polyglot": "mongodb_url"}
KINDS = click.Choice(["embedded", *SERVERS])


@click.command(
    epilog=examples(
        "canonry move --from embedded --to postgres --data ./world \\",
        "  --postgres-url postgresql://canonry@db.example/canonry",
        "canonry move --from postgres --to embedded --data ./world \\",
        "  --postgres-url postgresql://canonry@db.example/canonry",
        "canonry move --from embedded --to polyglot --data ./world \\",
        "  --mongodb-url mongodb://canonry@db.example",
    )
)
@click.option("--from", "source", type=KINDS, required=True, help="Where the store is now.")
@click.option("--to", "target", type=KINDS, required=True, help="Where it is to be.")
@store_options
@awaited
async def move(*, source: str, target: str, **given: Any) -> None:
    """Copy a whole store, with its files, from one kind of store into another.

    embedded is the data folder, postgres the database of --postgres-url, polyglot that of
    --mongodb-url. One of the two is embedded. Stop the servers first.
    Nothing of the source is changed. An interrupted move goes on when it is run again; in the end
    the exports of both are compared byte for byte, and the views against the records.
    """
    settings = settings_from(given)
    if source == target:
        raise click.UsageError("--from and --to are the same kind of store")
    kind = target if source == "embedded" else source
    if "embedded" not in {source, target}:
        raise click.UsageError("move to embedded first, and from there")
    if getattr(settings, SERVERS[kind]) is None:
        key = SERVERS[kind].replace("_", ".")
        message = f"name the database with --{key.replace('.', '-')}"
        raise InvalidInput("settings.incomplete", message, path=key)
    async with (
        await _opened(settings, source, existing=True) as here,
        await _opened(settings, target) as there,
    ):
        with progress("moving") as told:
            moved = await move_store(here.canon, there.canon, told)
        with progress("verifying") as told:
            seen = await there.upkeep.verify(told)
    if seen.findings:
        finding = seen.findings[0]
        message = f"what arrived is not whole ({finding.where}: {finding.what}); move again"
        raise BrokenInvariant("move.damaged", message)
    log, files = moved.log, moved.files
    click.echo(
        f"moved {log.commits - log.known} commits of {log.spaces} spaces and {files.files} files; "
        f"{log.known} commits and {files.known} files were there already"
    )
    click.echo(f"both export the same bytes: SHA-256 {moved.digest}")
    if files.missing:
        click.echo(f"{files.missing} files are missing in the source", err=True)
        raise click.exceptions.Exit(1)


async def _opened(settings: Settings, kind: str, *, existing: bool = False) -> KeptStore:
    if kind == "embedded":
        settings = replace(settings, postgres_url=None, mongodb_url=None, files_url=None)
    return await open_kept_store(replace(settings, recall_embedder="none"), existing=existing)


STORE_EPILOG = """\
\b
Examples:
  canonry move-space                                 lists the spaces and where they live
  canonry move-space Saltmere --to db2.example:5432/canonry

\b
The servers are those of records.shards, in the settings of every process. Nobody has to stop:
who reads goes on, who writes to the space waits about a second at the end. What is
interrupted goes on when it is run again, and until then the space lives where it did.
"""


@click.command("move-space", epilog=STORE_EPILOG)
@click.argument("space", required=False, metavar="[SPACE]")
@click.option("--to", "target", metavar="SERVER", help="Where it is to live: HOST:PORT/DATABASE.")
@store_options
@awaited
async def move_space(*, space: str | None, target: str | None, **given: Any) -> None:
    """Move a space to another server while it is written to, or list where spaces live."""
    if (space is None) != (target is None):
        raise click.UsageError("name the space and the server with --to, or neither for a list")
    async with await open_kept_store(settings_from(given), existing=True) as store:
        if store.mover is None:
            message = "this store is on one server: name several in records.shards"
            raise NotSupported("shards.one", message)
        placed = await store.mover.placed()
        if space is None or target is None:
            for each in placed:
                tell_line(f"{each.id}  {each.server}  {each.kind} {each.name}".rstrip())
            return
        found = _found(placed, space)
        with progress("moving") as told:
            moved = await store.mover.move(found, target, told)
    if moved is None:
        click.echo(f"the space lives on {target} already")
        return
    click.echo(f"moved {moved.commits} commits from {moved.source} to {moved.target}")
    click.echo(f"{moved.gathered} were copied by this run; nobody wrote for {moved.paused:.1f} s")
    click.echo(f"both export the same {moved.size} bytes: SHA-256 {moved.digest}")


def _found(placed: "Sequence[PlacedSpace]", named: str) -> SpaceId:
    """The space of that id or name."""
    if is_uuid(named):
        return SpaceId(named.lower())
    found = [each.id for each in placed if folded(each.name) == folded(named)]
    if not found:
        message = "no space is called so; canonry move-space lists them"
        raise NotFound("space.unknown", message, path="SPACE")
    if len(found) > 1:
        message = f"{len(found)} spaces are called so: name one by its id, {' or '.join(found)}"
        raise InvalidInput("name.ambiguous", message, path="SPACE")
    return found[0]

"""`canonry move`: a store of one kind becomes the same store of another kind."""

from dataclasses import replace
from typing import Any

import click

from canonry.app.moving import move_store
from canonry.app.settings import Settings
from canonry.app.stores import KeptStore, open_kept_store
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.values.errors import BrokenInvariant, InvalidInput

SERVERS = {"postgres": "postgres_url", "polyglot": "mongodb_url"}
KINDS = click.Choice(["embedded", *SERVERS])


@click.command(
    epilog="""\
\b
Examples:
  canonry move --from embedded --to postgres --data ./world \\
    --postgres-url postgresql://canonry@db.example/canonry
  canonry move --from postgres --to embedded --data ./world \\
    --postgres-url postgresql://canonry@db.example/canonry
  canonry move --from embedded --to polyglot --data ./world \\
    --mongodb-url mongodb://canonry@db.example
"""
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

"""`canonry rebuild`, `backup` and `restore`: what an operator does to a whole store."""

from pathlib import Path
from typing import Any

import click

from canonry.app.indexing import mend_index, rebuild_index
from canonry.app.recalling import recall_folder
from canonry.app.restoring import restore_backup
from canonry.app.settings import Settings
from canonry.app.stores import open_kept_store, open_store_to_look
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.recall.usecases.recall import RecallServices
from canonry.records.usecases.check_files import collect_files
from canonry.values.errors import InvalidInput


@click.command(
    epilog="""\
\b
Examples:
  canonry rebuild
  canonry rebuild --only vectors
  canonry verify && echo "nothing to rebuild"
"""
)
@click.option(
    "--only",
    type=click.Choice(["views", "vectors"]),
    default=None,
    help="views: what the records say; vectors: the index that finds passages by meaning, whole.",
)
@store_options
@awaited
async def rebuild(*, only: str | None, **given: Any) -> None:
    """Fold all views from the records again, and forget a damaged index of vectors.

    Records are not touched; bytes that none of them names, and that are older than a day, are
    deleted. Safe while servers run, and when it is interrupted. A server makes
    the vectors that are missing; `--only vectors` makes all of them anew, here and now.
    """
    settings = settings_from(given)
    if only == "vectors":
        vectors = await _rebuild_vectors(settings)
        click.echo(f"made {vectors} vectors anew")
        return
    async with await open_kept_store(settings, existing=True) as store:
        with progress("rebuilding views") as told:
            commits = await store.upkeep.rebuild(told)
        recall = store.canon.service(RecallServices).recall
        shared = store.vectors is not None
        known = only is None and (shared or recall_folder(settings).is_dir())
        dropped = known and recall is not None and await mend_index(recall)
        orphans = await store.upkeep.collect_orphans() + await collect_files(store.canon)
    click.echo(f"rebuilt all views from {commits} commits")
    if orphans:
        click.echo(f"deleted {orphans} files that nothing names")
    if dropped:
        click.echo("dropped the damaged index of vectors; a server makes it anew")


async def _rebuild_vectors(settings: Settings) -> int:
    async with await open_kept_store(settings, existing=True) as store:
        recall = store.canon.service(RecallServices).recall
        if recall is None:
            message = "no passages are found by meaning here: set recall.embedder"
            raise InvalidInput("settings.incomplete", message, path="recall.embedder")
        with progress("making vectors") as told:
            return await rebuild_index(recall, recall_folder(settings), told)


@click.command(
    epilog="""\
\b
Examples:
  canonry backup ./backup-monday
  canonry verify --against ./backup-monday/manifest.json
  canonry restore ./backup-monday --data ./copy
"""
)
@click.argument("target", type=click.Path(path_type=Path, file_okay=False))
@store_options
@awaited
async def backup(*, target: Path, **given: Any) -> None:
    """Copy the store into the new folder TARGET while servers go on.

    The copy holds a manifest of all heads, which proves later what the backup contains.
    Exit code 1 when the copy is made and a quick look shows views that lack what they should hold:
    it counts rows and reads no record; `canonry verify` looks at everything.
    """
    async with await open_store_to_look(settings_from(given)) as store:
        with progress("backing up") as told:
            heads = await store.upkeep.backup(target, told)
        findings = await store.upkeep.glance()
    commits = sum(position for position, _ in heads.values())
    click.echo(f"backed up {commits} commits of {len(heads)} spaces into {target}")
    if findings:
        for finding in findings:
            click.echo(f"WRONG  {finding.where}: {finding.what}")
        click.echo(
            "\nThe records are copied whole, and these views with them: run `canonry rebuild`, "
            "then back up again."
        )
        raise click.exceptions.Exit(1)


@click.command(
    epilog="""\
\b
Example:
  canonry restore ./backup-monday --data ./world
"""
)
@click.argument("source", type=click.Path(path_type=Path, exists=True, file_okay=False))
@store_options
@awaited
async def restore(*, source: Path, **given: Any) -> None:
    """Put the backup in SOURCE into an empty data folder.

    It is verified against its manifest first; a damaged backup is refused and nothing is left.
    """
    settings = settings_from(given)
    with progress("restoring") as told:
        verification = await restore_backup(settings, source, told)
    click.echo(
        f"restored {verification.commits} commits of {len(verification.heads)} spaces into "
        f"{settings.data}"
    )

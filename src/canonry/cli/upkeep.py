"""`canonry rebuild`, `backup` and `restore`: what an operator does to a whole store."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from canonry.bootstrap.restoring import restore_backup
from canonry.bootstrap.settings import Settings
from canonry.bootstrap.stores import open_kept_store
from canonry.cli.options import settings_from, store_options
from canonry.cli.progress import progress
from canonry.domain.ids import SpaceId


@click.command(
    epilog="""\
\b
Examples:
  canonry rebuild
  canonry verify && echo "nothing to rebuild"
"""
)
@store_options
def rebuild(**given: Any) -> None:
    """Fold all views from the records again.

    Records are not touched. Safe while servers run, and when it is interrupted.
    """
    commits = asyncio.run(_rebuild(settings_from(given)))
    click.echo(f"rebuilt all views from {commits} commits")


async def _rebuild(settings: Settings) -> int:
    store = await open_kept_store(settings, existing=True)
    try:
        with progress("rebuilding views") as told:
            return await store.upkeep.rebuild(told)
    finally:
        await store.close()


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
def backup(*, target: Path, **given: Any) -> None:
    """Copy the store into the new folder TARGET while servers go on.

    The copy holds a manifest of all heads, which proves later what the backup contains.
    """
    heads = asyncio.run(_backup(settings_from(given), target))
    commits = sum(position for position, _ in heads.values())
    click.echo(f"backed up {commits} commits of {len(heads)} spaces into {target}")


async def _backup(settings: Settings, target: Path) -> Mapping[SpaceId, tuple[int, str]]:
    store = await open_kept_store(settings, existing=True)
    try:
        with progress("backing up") as told:
            return await store.upkeep.backup(target, told)
    finally:
        await store.close()


@click.command(
    epilog="""\
\b
Example:
  canonry restore ./backup-monday --data ./world
"""
)
@click.argument("source", type=click.Path(path_type=Path, exists=True, file_okay=False))
@store_options
def restore(*, source: Path, **given: Any) -> None:
    """Put the backup in SOURCE into an empty data folder.

    It is verified against its manifest first; a damaged backup is refused and nothing is left.
    """
    settings = settings_from(given)
    with progress("restoring") as told:
        verification = asyncio.run(restore_backup(settings, source, told))
    click.echo(
        f"restored {verification.commits} commits of {len(verification.heads)} spaces into "
        f"{settings.data}"
    )

"""The commands `reread` and `upgrade`, which bring the facts of an older store up to date."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from canonry.app.stores import open_kept_store
from canonry.canon.upkeep.reread import Reread, reread_facts
from canonry.cli.options import command, operator, progress, settings_from
from canonry.cli.screen import tell_line
from canonry.narrative.toolset.canonizing import says

LISTED_MAX = 50


@command("reread")
async def reread(*, yes: bool, **given: Any) -> None:
    """Record the statements in the words of facts that an older version accepted.

    New claims are then compared with these facts, and items that they end no longer hold.
    """
    async with await open_kept_store(settings_from(given), existing=True) as store:
        found = await reread_facts(store.canon, operator("canonry reread"), dry=not yes)
    _print(found)
    if found and not yes:
        click.echo("Nothing was changed. Add --yes to record the statements.")


@command("upgrade")
async def upgrade(*, target: Path, yes: bool, **given: Any) -> None:
    """Back up the store into the new folder TARGET, then reread the facts of older versions.

    The command lists the answers that will change, and asks before it changes them.
    """
    caller = operator("canonry upgrade")
    async with await open_kept_store(settings_from(given), existing=True) as store:
        found = await reread_facts(store.canon, caller, dry=True)
        _print(found)
        if not found:
            return
        with progress("backing up") as told:
            await store.upkeep.backup(target, told)
        click.echo(f"backed up the store into {target}")
        if yes or click.confirm("Record the statements now?"):
            done = await reread_facts(store.canon, caller, dry=False)
            click.echo(f"reread {sum(len(each.facts) for each in done)} facts")
        else:
            click.echo("Nothing was changed.")


def _print(found: Sequence[Reread]) -> None:
    if not found:
        click.echo("No fact waits: all of them carry their statements.")
    for each in found:
        click.echo(f"{each.space.name}: {len(each.facts)} facts wait, {len(each.ends)} items end")
        for old, heir in each.ends[:LISTED_MAX]:
            tell_line(f'  "{says(old)}" ends where "{says(heir)}" begins')
        if len(each.ends) > LISTED_MAX:
            click.echo(f"  and {len(each.ends) - LISTED_MAX} more")

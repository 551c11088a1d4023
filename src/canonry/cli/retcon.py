"""`canonry retcon`: take back all that a scene made canon, with what rests on it listed first."""

from collections.abc import Sequence
from typing import Any, Final

import click

from canonry.app.stores import open_kept_store
from canonry.canon.commands.dependents import Retconnable
from canonry.canon.commands.retcon_scene import SceneRetcon, list_resting_on_scene, retcon_scene
from canonry.cli.operator import operator
from canonry.cli.options import awaited, settings_from, store_options
from canonry.log.entries import THING_KINDS
from canonry.narrative.toolset.upkeep import says
from canonry.values.ids import is_uuid

EPILOG: Final = """\
\b
Examples:
  canonry retcon --scene 01890a5d-ac96-774b-bcce-b302099a8057        shows what would fall
  canonry retcon --scene 01890a5d-ac96-774b-bcce-b302099a8057 --yes  says that it never was

\b
What falls is still in the log, and what it had ended holds again. What only may rest on the scene
is listed and stays.
"""


@click.command(epilog=EPILOG)
@click.option("--scene", "scene_id", metavar="ID", required=True, help="The scene to take back.")
@click.option("--reason", default="retconned by the operator", help="Kept in the log.")
@click.option("--yes", is_flag=True, help="Do it; without this, only the list is shown.")
@store_options
@awaited
async def retcon(*, scene_id: str, reason: str, yes: bool, **given: Any) -> None:
    """Say that nothing of what a scene made canon ever was, nor what rests on that for sure."""
    if not is_uuid(scene_id.lower()):
        raise click.UsageError("--scene takes an id, which is a UUID")
    caller, done = operator("canonry retcon"), None
    async with await open_kept_store(settings_from(given), existing=True) as store:
        listed = await list_resting_on_scene(store.canon, caller, scene_id.lower())
        if yes:
            done = await retcon_scene(store.canon, caller, scene_id.lower(), reason=reason)
    _print(listed, done)


def _print(listed: SceneRetcon, done: SceneRetcon | None) -> None:
    certain = [each.thing for each in listed.dependents if each.certain]
    possible = [each.thing for each in listed.dependents if not each.certain]
    _list("made by the scene", listed.made)
    _list("rests on it", certain)
    _list("may rest on it, and stays", possible)
    if listed.more:
        click.echo("not all that rests on it could be listed")
    if done is None:
        click.echo("nothing was changed; add --yes to take it back")
    else:
        click.echo(f"retconned: {len(done.fallen)}; holding again: {len(done.resumed)}")


def _list(title: str, things: Sequence[Retconnable]) -> None:
    click.echo(f"{title}: {len(things)}")
    for each in things:
        click.echo(f"  {THING_KINDS[type(each)]:9} {each.id}  {says(each)}")

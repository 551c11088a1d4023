"""`canonry move-space`: a space of a divided store goes to another server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from canonry.app.stores import open_kept_store
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.cli.screen import tell_line
from canonry.values.errors import InvalidInput, NotFound, NotSupported
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.normal_forms import folded

if TYPE_CHECKING:
    from canonry.app.backends.postgres import PlacedSpace

EPILOG = """\
\b
Examples:
  canonry move-space                                 lists the spaces and where they live
  canonry move-space Saltmere --to db2.example:5432/canonry

\b
The servers are those of records.shards, in the settings of every process. Nobody has to stop:
who reads goes on, who writes to the space waits about a second at the end. What is
interrupted goes on when it is run again, and until then the space lives where it did.
"""


@click.command("move-space", epilog=EPILOG)
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

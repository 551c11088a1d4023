"""`canonry erase`: a person's right to be forgotten, as an operator's deliberate action."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import click

from canonry.app.recalling import forget_erased
from canonry.app.settings import Settings
from canonry.app.stores import open_kept_store
from canonry.assistant.changing import says
from canonry.canon.upkeep.erase import ERASABLE, MENTIONING, Erasure, ErasurePlan, plan_erasure
from canonry.canon.upkeep.erase import erase as erase_things
from canonry.canon.upkeep.find_erasable import find_erasable
from canonry.canon.upkeep.find_mentions import Mention
from canonry.cli.operator import operator
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.screen import tell_line
from canonry.log.entries import THING_KINDS
from canonry.values.errors import NotFound
from canonry.values.ids import is_uuid

SHOWN_MAX: Final = 100
"""How many mentions are named; all are counted."""

EPILOG = """\
\b
Examples:
  canonry erase --find "Mara Voss"                                   lists what says the name
  canonry erase --entity 01890a5d-ac96-774b-bcce-b302099a8057        shows what would go
  canonry erase --entity 01890a5d-ac96-774b-bcce-b302099a8057 --yes  erases it

\b
What others said and what mentions the name stays, and is listed. --mentions erase takes the
turns, memories, proposals, facts, events and snippets among it along.

\b
Erasing cannot be undone. Backups and exports that were made before still hold the content.
Scenes, stories and universes hold what others said, and are not erased.
"""


_WITH: Final = {
    "entity": ", with all that tells of it",
    "source": ", with what only it told of",
    "schema": " in all versions, with all that is of its type",
}
"""What goes along, in the words of the help."""


def _kinds(command: Any) -> Any:
    for kind in reversed(tuple(ERASABLE)):
        text = f"The {kind} to erase{_WITH.get(kind, '')}."
        command = click.option(f"--{kind}", kind, metavar="ID", default=None, help=text)(command)
    return command


@click.command(epilog=EPILOG)
@click.option("--find", metavar="NAME", help="List what says it, with the ids to erase.")
@_kinds
@click.option(
    "--also-called",
    multiple=True,
    metavar="NAME",
    help="Another name that others may mention it by; may be given several times.",
)
@click.option(
    "--mentions",
    type=click.Choice(("keep", "erase")),
    default="keep",
    show_default=True,
    help="Whether texts of others that mention the name go too.",
)
@click.option("--reason", default="erased by the operator", help="Kept in the tombstone.")
@click.option("--yes", is_flag=True, help="Do it; without this, only the plan is shown.")
@store_options
@awaited
async def erase(
    *,
    find: str | None,
    also_called: tuple[str, ...],
    mentions: str,
    reason: str,
    yes: bool,
    **given: Any,
) -> None:
    """Erase a thing for good: its content goes from records and views, a tombstone stays."""
    named = {kind: given.pop(kind) for kind in ERASABLE}
    if find is not None:
        if yes or any(named.values()):
            raise click.UsageError("--find only lists; erase by one of the ids that it tells")
        await _find(settings_from(given), find)
        return
    chosen = [(kind, value.lower()) for kind, value in named.items() if value is not None]
    if len(chosen) != 1:
        options = ", ".join(f"--{kind}" for kind in ERASABLE)
        raise click.UsageError(f"name exactly one thing to erase, with one of {options}")
    ((kind, thing_id),) = chosen
    if not is_uuid(thing_id):
        raise click.UsageError(f"--{kind} takes an id, which is a UUID")
    settings, done = settings_from(given), None
    async with await open_kept_store(settings, existing=True) as store:
        plan = await plan_erasure(
            store.canon,
            kind=kind,
            thing_id=thing_id,
            also_called=also_called,
            with_mentions=mentions == "erase",
        )
        if yes:
            caller = operator("canonry erase")
            done = await erase_things(store.canon, store.upkeep, caller, plan, reason=reason)
            await forget_erased(settings, store.canon, plan.space, plan.targets, store.vectors)
    _print(plan, done)


async def _find(settings: Settings, name: str) -> None:
    async with await open_kept_store(settings, existing=True) as store:
        found = await find_erasable(store.canon, name)
    if not found:
        message = "nothing in this store says that name in whole words; try another form of it"
        raise NotFound("name.unknown", message, path="--find")
    for thing in found[:SHOWN_MAX]:
        tell_line(f"--{THING_KINDS[type(thing)]} {thing.id}  {says(thing, {})}")
    if len(found) > SHOWN_MAX:
        click.echo(f"and {len(found) - SHOWN_MAX} more")


def _print(plan: ErasurePlan, done: Erasure | None) -> None:
    verb = "would go" if done is None else "erased"
    for kind, count in sorted(plan.counts.items()):
        click.echo(f"{count:6} {kind:12} {verb}")
    if plan.mentions:
        _print_mentions(plan.mentions)
    if done is None:
        click.echo("\nnothing was changed; add --yes to erase")
    else:
        click.echo(
            f"\nerased: {done.entries} entries lost their content, the tombstone is at position "
            f"{done.position}; `canonry verify` shows that the log still holds"
        )


def _print_mentions(mentions: Sequence[Mention]) -> None:
    counts = Counter(each.kind for each in mentions)
    listed = ", ".join(f"{kind}: {count}" for kind, count in sorted(counts.items()))
    click.echo(f"\nmentioned also in what stays ({listed}):")
    for each in mentions[:SHOWN_MAX]:
        named = f"--{each.kind} {each.id}" if each.kind in ERASABLE else f"{each.kind} {each.id}"
        click.echo(f"  {named}")
    if len(mentions) > SHOWN_MAX:
        click.echo(f"  and {len(mentions) - SHOWN_MAX} more")
    if not MENTIONING.isdisjoint(counts):
        click.echo("add --mentions erase to erase the texts among them as well")

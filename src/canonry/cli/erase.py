"""`canonry erase`, `undo`, `retain` and `retcon`: how content goes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import click

from canonry.app.recalling import forget_erased
from canonry.app.setting_table import Settings
from canonry.app.stores import open_kept_store
from canonry.assistant.explaining import says
from canonry.canon.commands.retcon_things import (
    Retconnable,
    SceneRetcon,
    list_resting_on_scene,
    retcon_scene,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import account_of, within_account
from canonry.canon.session.paging import every_item
from canonry.canon.upkeep.erase import (
    ERASABLE,
    MENTIONING,
    Erasure,
    ErasurePlan,
    Mention,
    find_erasable,
    plan_erasure,
)
from canonry.canon.upkeep.erase import erase as erase_things
from canonry.cli.options import awaited, operator, settings_from, store_options
from canonry.cli.screen import tell_line
from canonry.log.entries import THING_KINDS
from canonry.log.items.sources import Source
from canonry.narrative.toolset.canonizing import says as says_of_upkeep
from canonry.records.usecases.withdrawing import Withdrawal, list_due, withdraw_source
from canonry.records.usecases.withdrawing import retain as keep_to
from canonry.values.errors import NotFound
from canonry.values.ids import is_uuid
from canonry.values.moments import render_instant
from canonry.values.policy import Retention
from canonry.values.provenance import Actor

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


LISTED_MAX: Final = 20

UNDO: Final = """\
\b
Examples:
  canonry undo                                                        lists what was brought last
  canonry undo --source 01890a5d-ac96-774b-bcce-b302099a8057          shows what would be undone
  canonry undo --source 01890a5d-ac96-774b-bcce-b302099a8057 --yes    undoes it

\b
What others said stands. What is undone is still in the log: bring it again to have it back, or
take it from there for good with canonry erase.
"""

RETAIN: Final = """\
\b
Examples:
  canonry retain                                                      shows what the settings ask
  canonry retain --brought-days 3650 --withdrawn-days 30 --yes        keeps to these rules

\b
The rules stand in the settings as policy.truth.retention.brought_days and .withdrawn_days. What is
erased cannot be had back; backups that were made before still hold it.
"""

_user = click.option("--user", metavar="ID", help="Whose account; that of the one local user.")
_yes = click.option("--yes", is_flag=True, help="Do it; without this, it is only shown.")


@click.command(epilog=UNDO)
@click.option("--source", metavar="ID", help="What was brought, by the id that bringing it told.")
@_user
@click.option("--reason", default="withdrawn by the operator", help="Kept in the log.")
@_yes
@store_options
@awaited
async def undo(
    *, source: str | None, user: str | None, reason: str, yes: bool, **given: Any
) -> None:
    """Take back one file, import or correction, as if it had never been brought."""
    if source is not None and not is_uuid(source.lower()):
        raise click.UsageError("--source takes an id, which is a UUID")
    caller = _of(user, "canonry undo")
    async with await open_kept_store(settings_from(given), existing=True) as store:
        if source is None:
            await _list(store.canon, caller)
            return
        where = (within_account(caller), account_of(caller))
        asked = partial(withdraw_source, store.canon, *where, source.lower())
        told = await asked(reason=reason, dry_run=not yes)
    _tell(told, done=yes)


@click.command(epilog=RETAIN)
@click.option("--brought-days", type=click.IntRange(0), help="Withdraw what was brought before.")
@click.option("--withdrawn-days", type=click.IntRange(0), help="Erase what was withdrawn before.")
@_user
@_yes
@store_options
@awaited
async def retain(
    *,
    brought_days: int | None,
    withdrawn_days: int | None,
    user: str | None,
    yes: bool,
    **given: Any,
) -> None:
    """Withdraw what was brought long ago, and erase what was withdrawn long ago."""
    settings = settings_from(given)
    rules = settings.policy.truth.retention
    told = Retention(brought_days=brought_days, withdrawn_days=withdrawn_days)
    rules = rules if told == Retention() else told
    if rules == Retention():
        click.echo("no rule says how long anything is kept; see canonry retain --help")
        return
    caller, only = operator("canonry retain"), None
    if user is not None:
        only = account_of(_of(user, "canonry retain")).space
    async with await open_kept_store(settings, existing=True) as store:
        due = await list_due(store.canon, rules, only=only)
        for each in due:
            what = f"{len(each.sources)} sources to withdraw, {len(each.withdrawn)} things to erase"
            click.echo(f"account {each.space}: {what}")
            if yes:
                lost = await keep_to(store.canon, store.upkeep, caller, each, rules)
                await forget_erased(settings, store.canon, each.space, each.withdrawn)
                click.echo(f"  done; {lost} entries of the log lost their content")
    if not due:
        click.echo("nothing is due")
    elif not yes:
        click.echo("nothing was changed; add --yes to keep to the rules")


def _of(user: str | None, tool: str) -> Caller:
    actor = Actor(user=user, agent_id="command-line", agent_type="Operator")
    return replace(operator(tool), actor=actor)


async def _list(canon: Canon, caller: Caller) -> None:
    every = every_item(partial(canon.state.sources, account_of(caller).space))
    newest = sorted([s async for s in every], key=lambda s: (s.created_at, s.position))
    for each in newest[: -LISTED_MAX - 1 : -1]:
        tell_line(f"--source {each.id}  {render_instant(each.created_at)}  {_called(each)}")
    if not newest:
        click.echo("nothing was brought into this account")


def _called(source: Source) -> str:
    return f"{source.source_type} {source.file_name or source.title}".strip()


def _tell(told: Withdrawal, *, done: bool) -> None:
    verb = "withdrawn" if done else "would be withdrawn"
    click.echo(f"{len(told.sources):6} sources       {verb}")
    click.echo(f"{told.observations:6} observations  {verb}")
    click.echo(f"{told.relations:6} relations     {verb}")
    click.echo(f"{len(told.gone):6} entities      of which nobody else says anything")
    click.echo(f"{len(told.changed):6} entities      of which others do, and stay")
    if not done:
        click.echo("\nnothing was changed; add --yes to undo it")


RETCON_EPILOG: Final = """\
\b
Examples:
  canonry retcon --scene 01890a5d-ac96-774b-bcce-b302099a8057        shows what would fall
  canonry retcon --scene 01890a5d-ac96-774b-bcce-b302099a8057 --yes  says that it never was

\b
What falls is still in the log, and what it had ended holds again. What only may rest on the scene
is listed and stays.
"""


@click.command(epilog=RETCON_EPILOG)
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
    _retcon_print(listed, done)


def _retcon_print(listed: SceneRetcon, done: SceneRetcon | None) -> None:
    certain = [each.thing for each in listed.dependents if each.certain]
    possible = [each.thing for each in listed.dependents if not each.certain]
    _retcon_list("made by the scene", listed.made)
    _retcon_list("rests on it", certain)
    _retcon_list("may rest on it, and stays", possible)
    if listed.more:
        click.echo("not all that rests on it could be listed")
    if done is None:
        click.echo("nothing was changed; add --yes to take it back")
    else:
        click.echo(f"retconned: {len(done.fallen)}; holding again: {len(done.resumed)}")


def _retcon_list(title: str, things: Sequence[Retconnable]) -> None:
    click.echo(f"{title}: {len(things)}")
    for each in things:
        click.echo(f"  {THING_KINDS[type(each)]:9} {each.id}  {says_of_upkeep(each)}")

"""`canonry undo` and `canonry retain`: what was brought is taken back, by one word or by a rule."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

import click

from canonry.app.recalling import forget_erased
from canonry.app.stores import open_kept_store
from canonry.canon.session.account import account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item
from canonry.cli.operator import operator
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.screen import tell_line
from canonry.log.items.sources import Source
from canonry.records.usecases.retain import list_due
from canonry.records.usecases.retain import retain as keep_to
from canonry.records.usecases.withdrawing.withdraw_source import Withdrawal, withdraw_source
from canonry.values.ids import is_uuid
from canonry.values.policy import Retention
from canonry.values.provenance import Actor
from canonry.values.time import render_instant

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
        asked = partial(withdraw_source, store.canon, caller, None, source.lower())
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

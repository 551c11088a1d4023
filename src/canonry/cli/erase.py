"""`canonry erase`, `undo`, `retain` and `retcon`: remove content or take it back."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import click

from canonry.app.recall_models import forget_erased
from canonry.app.settings import Settings
from canonry.app.stores import open_kept_store
from canonry.assistant.explaining import short_text
from canonry.canon.commands.retcon_items import Retconnable, list_resting_on_scene, retcon_scene
from canonry.canon.maintenance.erase import (
    ERASABLE,
    MENTIONING,
    Erasure,
    ErasurePlan,
    Mention,
    find_erasable,
    plan_erasure,
)
from canonry.canon.maintenance.erase import erase_items as erase_things
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import account_of, within_account
from canonry.canon.session.paging import every_item
from canonry.cli.options import command_from, operator_caller, settings_from
from canonry.cli.terminal import print_line
from canonry.log.entries import KIND_NAMES
from canonry.narrative.toolset.scenes import says as says_of_upkeep
from canonry.records.usecases.withdrawing import apply_retention as keep_to
from canonry.records.usecases.withdrawing import list_due, withdraw_source
from canonry.values.errors import NotFound
from canonry.values.ids import is_uuid
from canonry.values.moments import render_instant
from canonry.values.policy import Retention
from canonry.values.provenance import Actor

SHOWN_MAX: Final = 100
"""The most mentions that are listed. All are counted."""


@command_from("erase")
async def erase(
    *,
    find: str | None,
    also_called: tuple[str, ...],
    mentions: str,
    reason: str,
    yes: bool,
    **given: Any,
) -> None:
    """Erase an item permanently from records and views. A tombstone remains in the log."""
    named = {kind: given.pop(kind) for kind in ERASABLE}
    if find is not None:
        if yes or any(named.values()):
            raise click.UsageError("--find only lists ids. Leave out --yes and other ids.")
        await _print_matches(settings_from(given), find)
        return
    chosen = [(kind, value.lower()) for kind, value in named.items() if value is not None]
    if len(chosen) != 1:
        options = ", ".join(f"--{kind}" for kind in ERASABLE)
        raise click.UsageError(f"Give exactly one item to erase, with one of {options}.")
    ((kind, item_id),) = chosen
    if not is_uuid(item_id):
        raise click.UsageError(f"--{kind} takes a UUID. Find it with `canonry erase --find NAME`.")
    settings, done = settings_from(given), None
    async with await open_kept_store(settings, existing=True) as store:
        plan = await plan_erasure(
            store.canon,
            kind=kind,
            item_id=item_id,
            also_called=also_called,
            with_mentions=mentions == "erase",
        )
        if yes:
            caller = operator_caller("canonry erase")
            done = await erase_things(store.canon, store.maintenance, caller, plan, reason=reason)
            await forget_erased(settings, store.canon, plan.space, plan.targets, store.vectors)
    _print_plan(plan, done)


async def _print_matches(settings: Settings, name: str) -> None:
    async with await open_kept_store(settings, existing=True) as store:
        found = await find_erasable(store.canon, name)
    if not found:
        message = "No text in this store contains that name as whole words. Try another form of it."
        raise NotFound("name.unknown", message, path="--find")
    for item in found[:SHOWN_MAX]:
        print_line(f"--{KIND_NAMES[type(item)]} {item.id}  {short_text(item, {})}")
    if len(found) > SHOWN_MAX:
        click.echo(f"and {len(found) - SHOWN_MAX} more")


def _print_plan(plan: ErasurePlan, done: Erasure | None) -> None:
    verb = "would be erased" if done is None else "erased"
    for kind, count in sorted(plan.counts.items()):
        click.echo(f"{count:6} {kind:12} {verb}")
    if plan.mentions:
        _print_mentions(plan.mentions)
    if done is None:
        click.echo("\nNothing was changed. Add --yes to erase.")
    else:
        click.echo(
            f"\nErased the content of {done.entries} log entries. The tombstone is at position "
            f"{done.position}. Run `canonry verify` to check that the log is intact."
        )


def _print_mentions(mentions: Sequence[Mention]) -> None:
    counts = Counter(each.kind for each in mentions)
    listed = ", ".join(f"{kind}: {count}" for kind, count in sorted(counts.items()))
    click.echo(f"\nOther texts that mention it, and stay ({listed}):")
    for each in mentions[:SHOWN_MAX]:
        named = f"--{each.kind} {each.id}" if each.kind in ERASABLE else f"{each.kind} {each.id}"
        click.echo(f"  {named}")
    if len(mentions) > SHOWN_MAX:
        click.echo(f"  and {len(mentions) - SHOWN_MAX} more")
    if not MENTIONING.isdisjoint(counts):
        click.echo("Add --mentions erase to erase these texts too.")


LISTED_MAX: Final = 20  # one screen


@command_from("undo")
async def undo(
    *, source: str | None, user: str | None, reason: str, yes: bool, **given: Any
) -> None:
    """Withdraw one file, import or correction, as if it had never been added."""
    if source is not None and not is_uuid(source.lower()):
        raise click.UsageError("--source takes a UUID. Run `canonry undo` to list sources.")
    caller = _caller_for(user, "canonry undo")
    async with await open_kept_store(settings_from(given), existing=True) as store:
        if source is None:
            await _list_sources(store.canon, caller)
            return
        where = (within_account(caller), account_of(caller))
        asked = partial(withdraw_source, store.canon, *where, source.lower())
        withdrawn = await asked(reason=reason, dry_run=not yes)
    verb = "withdrawn" if yes else "would be withdrawn"
    click.echo(f"{len(withdrawn.sources):6} sources       {verb}")
    click.echo(f"{withdrawn.observations:6} observations  {verb}")
    click.echo(f"{withdrawn.relations:6} relations     {verb}")
    click.echo(f"{len(withdrawn.gone):6} entities      that no other source describes")
    click.echo(f"{len(withdrawn.changed):6} entities      that other sources describe; they stay")
    if not yes:
        click.echo("\nNothing was changed. Add --yes to withdraw it.")


@command_from("retain")
async def retain(
    *,
    brought_days: int | None,
    withdrawn_days: int | None,
    user: str | None,
    yes: bool,
    **given: Any,
) -> None:
    """Withdraw sources that are too old, and erase those withdrawn long ago."""
    settings = settings_from(given)
    rules = settings.policy.truth.retention
    given_rules = Retention(brought_days=brought_days, withdrawn_days=withdrawn_days)
    rules = rules if given_rules == Retention() else given_rules
    if rules == Retention():
        click.echo("No retention rule is set. Give --brought-days or --withdrawn-days.")
        return
    caller, only = operator_caller("canonry retain"), None
    if user is not None:
        only = account_of(_caller_for(user, "canonry retain")).space
    async with await open_kept_store(settings, existing=True) as store:
        due = await list_due(store.canon, rules, only=only)
        for each in due:
            what = f"{len(each.sources)} sources to withdraw, {len(each.withdrawn)} items to erase"
            click.echo(f"account {each.space}: {what}")
            if yes:
                lost = await keep_to(store.canon, store.maintenance, caller, each, rules)
                await forget_erased(settings, store.canon, each.space, each.withdrawn)
                click.echo(f"  done; erased the content of {lost} log entries")
    if not due:
        click.echo("Nothing is due.")
    elif not yes:
        click.echo("Nothing was changed. Add --yes to withdraw and erase.")


def _caller_for(user: str | None, tool: str) -> Caller:
    actor = Actor(user=user, agent_id="command-line", agent_type="Operator")
    return replace(operator_caller(tool), actor=actor)


async def _list_sources(canon: Canon, caller: Caller) -> None:
    every = every_item(partial(canon.state.sources, account_of(caller).space))
    newest = sorted([s async for s in every], key=lambda s: (s.created_at, s.position))
    for each in newest[: -LISTED_MAX - 1 : -1]:
        called = f"{each.source_type} {each.file_name or each.title}".strip()
        print_line(f"--source {each.id}  {render_instant(each.created_at)}  {called}")
    if not newest:
        click.echo("This account has no sources.")


@command_from("retcon")
async def retcon(*, scene_id: str, reason: str, yes: bool, **given: Any) -> None:
    """Retcon everything that a scene made canon, and everything that certainly depends on it."""
    if not is_uuid(scene_id.lower()):
        raise click.UsageError("--scene takes a UUID. Run `canonry find TITLE` to find it.")
    caller, done = operator_caller("canonry retcon"), None
    async with await open_kept_store(settings_from(given), existing=True) as store:
        listed = await list_resting_on_scene(store.canon, caller, scene_id.lower())
        if yes:
            done = await retcon_scene(store.canon, caller, scene_id.lower(), reason=reason)
    certain = [each.thing for each in listed.dependents if each.certain]
    possible = [each.thing for each in listed.dependents if not each.certain]
    _retcon_list("made by the scene", listed.made)
    _retcon_list("depends on it", certain)
    _retcon_list("possibly depends on it, and stays", possible)
    if listed.more:
        click.echo("The list of dependents is incomplete.")
    if done is None:
        click.echo("Nothing was changed. Add --yes to retcon.")
    else:
        click.echo(f"retconned: {len(done.fallen)}; holding again: {len(done.resumed)}")


def _retcon_list(title: str, items: Sequence[Retconnable]) -> None:
    click.echo(f"{title}: {len(items)}")
    for each in items:
        click.echo(f"  {KIND_NAMES[type(each)]:9} {each.id}  {says_of_upkeep(each)}")

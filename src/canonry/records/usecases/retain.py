"""Retain: what was brought long ago is withdrawn, and what was withdrawn long ago is erased.

Both are rules of the operator, in days; without one nothing is done. Looking tells what is due.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from canonry.canon.session.account import Account, require_told
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item
from canonry.canon.upkeep.erase import ErasurePlan, erase
from canonry.canon.upkeep.what_goes import withdrawals
from canonry.log.items.sources import Source
from canonry.readmodels.ports.upkeep import Upkeep
from canonry.records.usecases.withdrawing.withdraw_source import withdraw
from canonry.values.ids import SourceId, SpaceId
from canonry.values.policy import Retention
from canonry.values.spaces import SpaceKind
from canonry.values.time import DAY, Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What the rules ask of an account: sources to withdraw, and what is to be erased."""

    space: SpaceId
    sources: Sequence[SourceId]
    withdrawn: Sequence[str]

    @property
    def nothing(self) -> bool:
        """Whether all is as the rules want it."""
        return not self.sources and not self.withdrawn


async def list_due(canon: Canon, rules: Retention, *, only: SpaceId | None = None) -> Sequence[Due]:
    """The accounts of which something is due, or one of them; nothing is changed.

    Raises:
        NotFound: `account.unknown`, nothing was ever told in the one.
    """
    if only is not None:
        await require_told(canon, only)
    found: list[Due] = []
    accounts = partial(canon.state.spaces, kind=SpaceKind.ACCOUNT, parent=None)
    async for account in every_item(accounts):
        if only not in {None, account.id}:
            continue
        due = Due(
            space=account.id,
            sources=[each async for each in _brought_long_ago(canon, account.id, rules)],
            withdrawn=[each async for each in _withdrawn_long_ago(canon, account.id, rules)],
        )
        found += [] if due.nothing else [due]
    return found


async def retain(canon: Canon, upkeep: Upkeep, caller: Caller, due: Due, rules: Retention) -> int:
    """Do what is due in an account; how many entries of its log lost their content.

    Raises:
        CanonryError: as withdrawing and erasing say; what was done before stays, and the rest is
            done by asking again.
    """
    inner = replace(caller, spaces=frozenset((due.space,)))
    reason = f"brought more than {rules.brought_days} days ago"
    # Whose account it is follows from nothing that is stored, and is not needed here.
    account = Account(user_id="", space=due.space)
    for source_id in due.sources:
        if isinstance(await canon.within(due.space).thing(source_id), Source):
            await withdraw(canon, inner, account, source_id, reason=reason)
    if not due.withdrawn:
        return 0
    plan = ErasurePlan(space=due.space, targets=tuple(due.withdrawn), counts={})
    reason = f"withdrawn more than {rules.withdrawn_days} days ago"
    return (await erase(canon, upkeep, caller, plan, reason=reason)).entries


async def _brought_long_ago(
    canon: Canon, space: SpaceId, rules: Retention
) -> AsyncIterator[SourceId]:
    before = _before(canon, rules.brought_days)
    async for source in every_item(partial(canon.state.sources, space)):
        if before is not None and source.created_at < before:
            yield source.id


async def _withdrawn_long_ago(canon: Canon, space: SpaceId, rules: Retention) -> AsyncIterator[str]:
    """What is gone since it was withdrawn; what has been brought again meanwhile is not."""
    before = _before(canon, rules.withdrawn_days)
    if before is None:
        return
    async for commit, gone in withdrawals(canon, space):
        for each in gone if commit.recorded_at < before else ():
            yield each.id


def _before(canon: Canon, days: int | None) -> Instant | None:
    return None if days is None else Instant(canon.clock.now() - days * DAY)

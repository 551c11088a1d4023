"""The interpretation quota: how many runs a user may have in thirty days; none unless set."""

from typing import Final

from canonry.domain.errors import Unavailable
from canonry.domain.time import DAY, SECOND
from canonry.domain.truth.runs import InterpretationRun, RunStatus
from canonry.ports.views.pages import PAGE_MAX
from canonry.usecases.kernel.account import Account
from canonry.usecases.kernel.canon import Canon

_WINDOW: Final = 30 * DAY
TOLD: Final = frozenset({"records", "properties"})
"""What comes as values needs no interpreter and is never charged."""


async def require_quota(canon: Canon, account: Account) -> None:
    """Refuse a further run of an interpreter where the user has used up the quota.

    Raises:
        Unavailable: `interpretation.quota`, with the limit and when there is room again.
    """
    limit = canon.policy.truth.interpretations
    if limit is None:
        return
    now, charged = canon.clock.now(), await _charged(canon, account, limit)
    if len(charged) < limit:
        return
    oldest = charged[-1].created_at if charged else now
    message = f"the quota of {limit} interpretations in 30 days is used up; the file is kept"
    wait = max(1, (oldest + _WINDOW - now) // SECOND)
    raise Unavailable("interpretation.quota", message, limit=limit, retry_after=wait)


async def _charged(canon: Canon, account: Account, limit: int) -> list[InterpretationRun]:
    """The newest runs that count, at most as many as the quota has."""
    since, offset = canon.clock.now() - _WINDOW, 0
    found: list[InterpretationRun] = []
    while len(found) < limit:
        spaces = frozenset((account.space,))
        page = await canon.state.runs_newest(spaces, limit=PAGE_MAX, offset=offset)
        recent = [run for run in page.items if run.created_at > since]
        found += [run for run in recent if _counts(run)]
        offset += PAGE_MAX
        if len(recent) < PAGE_MAX:
            break
    return found[:limit]


def _counts(run: InterpretationRun) -> bool:
    return run.status is RunStatus.COMPLETED and run.config.get("provider") not in TOLD

"""Join a ledger and views of any engines to one canon that keeps the promises of each port."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Generic, TypeVar, cast

from canonry.log.ports.ledger import Ledger
from canonry.readmodels.ports.engine import Engine
from canonry.stores.following.joined_ledger import JoinedLedger
from canonry.stores.following.projector import Projector

P = TypeVar("P")


C = TypeVar("C", bound=Engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(Generic[C]):
    """The canon, and the projector that a process may also run in the background.

    Await `finish` before you close the engines: it waits for calls that have begun.
    """

    canon: C
    projector: Projector
    finish: Callable[[], Awaitable[None]]


def join(canon: C, *, foresees: bool = True, copied: Ledger | None = None) -> Joined[C]:
    """A canon over the same ports that waits for views which the ledger does not write itself.

    A ledger that folds drafts by itself, because it has views beside these, needs nobody who
    `foresees` what they touch. `copied` is the log of the store in which views are that follow.
    """
    others = (canon.documents, canon.text, canon.catalog, canon.places)
    projector = Projector(ledger=canon.ledger, state=canon.state, others=others, copied=copied)
    ledger = JoinedLedger(projector, foresees=foresees)
    joined = replace(
        cast("Any", canon),
        ledger=ledger,
        state=_settled(canon.state, ledger),
        documents=_settled(canon.documents, ledger),
        text=_settled(canon.text, ledger),
        catalog=_settled(canon.catalog, ledger),
        places=_settled(canon.places, ledger),
    )
    return Joined(canon=joined, projector=projector, finish=ledger.finish)


class _Settled:
    """A view whose questions wait until it shows what this process wrote."""

    def __init__(self, view: Any, ledger: JoinedLedger) -> None:
        self._view = view
        self._ledger = ledger

    def __getattr__(self, name: str) -> Callable[..., Any]:
        ask = getattr(self._view, name)

        @wraps(ask)
        async def settled(*args: Any, **kwargs: Any) -> Any:
            await self._ledger.settle(self._view)
            return await ask(*args, **kwargs)

        return settled


def _settled(view: P, ledger: JoinedLedger) -> P:
    return cast("P", _Settled(view, ledger))

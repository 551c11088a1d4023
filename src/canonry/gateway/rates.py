"""Rates of calls, and seats that callers share fairly."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

from canonry.gateway.limits import PublishedRate
from canonry.gateway.offers import Catalogue, Offer
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool, Toolset
from canonry.values.errors import Unavailable

_CALLERS: Final = 10_000  # against a client that changes its name to fill the memory


class Rate:
    """A sliding window over the last calls of each principal."""

    def __init__(self, published: PublishedRate, clock: Callable[[], float]) -> None:
        """Take a `clock` of monotonic seconds."""
        self._most = published.calls
        self._seconds = published.seconds
        self._clock = clock
        self._calls: dict[Hashable, deque[float]] = {}

    def require_room(self, principal: Hashable) -> None:
        """Require that a call of `principal` is within the rate.

        Raises:
            Unavailable: `limits.rate`, with `retry_after` in seconds.
        """
        wait = round(self.wait_of(principal), 3)
        if wait > 0:
            message = (
                f"The limit is {self._most} calls in {self._seconds:g} s. Wait {wait} s and retry."
            )
            raise Unavailable("limits.rate", message, retry_after=wait)

    def wait_of(self, principal: Hashable) -> float:
        """Return the seconds until a call of `principal` is within the rate; 0 if it is."""
        calls = self._calls.get(principal)
        if calls is None or len(calls) < self._most:
            return 0.0
        return max(0.0, self._seconds - (self._clock() - calls[0]))

    def count_call(self, principal: Hashable) -> None:
        """Count a call of `principal`."""
        now = self._clock()
        calls = self._calls.get(principal)
        if calls is None:
            if len(self._calls) >= _CALLERS:
                idle = [name for name, c in self._calls.items() if now - c[-1] >= self._seconds]
                for name in idle or [next(iter(self._calls))]:
                    del self._calls[name]
            calls = self._calls[principal] = deque(maxlen=self._most)
        calls.append(now)


class Rates:
    """The rates of all offers.

    A call's `_meta` has no influence: the operator's rate counts by agent, and a published rate by
    user, as the connection has proved them.
    """

    def __init__(
        self,
        offered: Catalogue,
        clock: Callable[[], float],
        *,
        per_minute: int | None,
        published: bool,
    ) -> None:
        """Take the operator's `per_minute`; rates of contracts apply only if enabled."""
        self._rates: dict[tuple[str, str], list[tuple[Rate, _Whose]]] = {}
        whole = None if per_minute is None else Rate(PublishedRate(calls=per_minute), clock)
        shared = {
            toolset.name: [Rate(each, clock) for each in toolset.rates if published]
            for toolset in offered.toolsets
        }
        self._shared = shared
        for offer in offered.all_offers:
            rates: list[tuple[Rate, _Whose]]
            rates = [(rate, _user_of) for rate in shared[offer.toolset.name]]
            if whole is not None:
                rates.append((whole, lambda principal: (principal.user, principal.agent_id)))
            own = offer.item.per_minute if published and isinstance(offer.item, Tool) else None
            if own is not None:
                rates.append((Rate(PublishedRate(calls=own), clock), _user_of))
            if rates:
                self._rates[offer.kind, offer.item.name] = rates

    def seconds_until(self, toolsets: Iterable[Toolset], principal: Principal) -> float:
        """Return the seconds until one of the toolsets would serve a call within its rates."""
        waits = [
            max(
                (rate.wait_of(_user_of(principal)) for rate in self._shared[each.name]), default=0.0
            )
            for each in toolsets
        ]
        return min(waits, default=0.0)

    def admit_call(self, offer: Offer[Any], principal: Principal) -> None:
        """Count a call, unless one of its rates is used up.

        Raises:
            Unavailable: `limits.rate`, with `retry_after` in seconds.
        """
        rates = self._rates.get((offer.kind, offer.item.name), ())
        for rate, whose in rates:
            rate.require_room(whose(principal))
        for rate, whose in rates:
            rate.count_call(whose(principal))


def _user_of(principal: Principal) -> Hashable:
    return principal.user or principal.agent_id


_Whose = Callable[[Principal], Hashable]


Owner = TypeVar("Owner", bound=Hashable)
Holder = TypeVar("Holder", bound=Hashable)

KEPT: Final = -1
"""The rank of a busy holder, which keeps its seat."""


class Full(Exception):  # noqa: N818 - a state, no error
    """All seats are taken, and no holder can give one back."""


class Seats(Generic[Owner, Holder]):
    """The holders of seats, their owners, and the order in which they give seats back.

    Holders of rank 0 go first, then those of rank 1, and so on; holders of rank `KEPT` never go.
    Within a rank, the first to reach it goes first. Time does not grow with the number of
    holders, except for the search for the owner with the most seats.
    """

    def __init__(self, *, total: int, each: int, ranks: int) -> None:
        """Offer at most `total` seats, and at most `each` per owner."""
        self._total = total
        self._each = each
        self._ranks = ranks
        self._accounts: dict[Owner, _Account[Holder]] = {}
        self._taken = 0

    def __len__(self) -> int:
        """Return the number of taken seats."""
        return self._taken

    def __iter__(self) -> Iterator[Holder]:
        """Yield every holder."""
        for account in self._accounts.values():
            yield from account.ranks

    def find_leaver(self, owner: Owner) -> tuple[Owner, Holder] | None:
        """Return the owner and holder that must leave before `owner` gets one more seat.

        Raises:
            Full: if a holder would have to leave, and all of them are busy.
        """
        account = self._accounts.get(owner)
        if account is not None and len(account.ranks) >= self._each:
            return owner, account.first_holder()
        if self._taken < self._total:
            return None
        most = max(self._accounts, key=lambda each: len(self._accounts[each].ranks), default=None)
        if most is not None and self._accounts[most].can_yield():
            return most, self._accounts[most].first_holder()
        yielding = (item for item in self._accounts.items() if item[1].can_yield())
        other, theirs = max(yielding, key=lambda item: len(item[1].ranks), default=(None, None))
        if other is None or theirs is None:
            raise Full
        return other, theirs.first_holder()

    def seat_holder(self, owner: Owner, holder: Holder, rank: int = KEPT) -> None:
        """Give `holder` a seat, or move it to the end of another rank."""
        account = self._accounts.get(owner)
        if account is None:
            account = self._accounts[owner] = _Account(self._ranks)
        if account.move_holder(holder, rank):
            self._taken += 1

    def release_seat(self, owner: Owner, holder: Holder) -> None:
        """Take the seat of `holder` back, if it has one."""
        account = self._accounts.get(owner)
        if account is not None and account.drop_holder(holder):
            self._taken -= 1
            if not account.ranks:
                del self._accounts[owner]


class _Account(Generic[Holder]):
    """The seats of one owner."""

    __slots__ = ("_queues", "ranks")

    def __init__(self, ranks: int) -> None:
        self.ranks: dict[Holder, int] = {}
        self._queues: tuple[dict[Holder, None], ...] = tuple({} for _ in range(ranks + 1))

    def move_holder(self, holder: Holder, rank: int) -> bool:
        """Move a holder to a rank; return whether it is new."""
        former = self.ranks.get(holder)
        if former is not None:
            del self._queues[former][holder]
        self.ranks[holder] = rank
        self._queues[rank][holder] = None  # the last rank is `KEPT`
        return former is None

    def drop_holder(self, holder: Holder) -> bool:
        former = self.ranks.pop(holder, None)
        if former is None:
            return False
        del self._queues[former][holder]
        return True

    def can_yield(self) -> bool:
        return any(self._queues[:KEPT])

    def first_holder(self) -> Holder:
        for queue in self._queues[:KEPT]:
            for holder in queue:
                return holder
        raise Full

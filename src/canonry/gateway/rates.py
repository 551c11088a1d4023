"""Rates: how many calls there may be in a while, counted for whom the connection has proved."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from canonry.gateway.catalogue import Catalogue, Offer
from canonry.gateway.limits import PublishedRate
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool, Toolset
from canonry.values.errors import Unavailable

_CALLERS: Final = 10_000


class Rate:
    """A sliding window over the last calls of each principal."""

    def __init__(self, published: PublishedRate, clock: Callable[[], float]) -> None:
        """`clock` gives seconds that never go back."""
        self._most = published.calls
        self._seconds = published.seconds
        self._clock = clock
        self._calls: dict[Hashable, deque[float]] = {}

    def require(self, principal: Hashable) -> None:
        """See that a call of `principal` is within the rate.

        Raises:
            Unavailable: `limits.rate`, with `retry_after` in seconds.
        """
        wait = round(self.wait_of(principal), 3)
        if wait > 0:
            message = (
                f"more than {self._most} calls in {self._seconds:g} s: wait {wait} s and retry"
            )
            raise Unavailable("limits.rate", message, retry_after=wait)

    def wait_of(self, principal: Hashable) -> float:
        """How many seconds until a call of `principal` is within the rate; 0: it is."""
        calls = self._calls.get(principal)
        if calls is None or len(calls) < self._most:
            return 0.0
        return max(0.0, self._seconds - (self._clock() - calls[0]))

    def count(self, principal: Hashable) -> None:
        """Count a call of `principal`."""
        now = self._clock()
        calls = self._calls.get(principal)
        if calls is None:
            self._forget(now)
            calls = self._calls[principal] = deque(maxlen=self._most)
        calls.append(now)

    def _forget(self, now: float) -> None:
        if len(self._calls) >= _CALLERS:
            idle = [name for name, c in self._calls.items() if now - c[-1] >= self._seconds]
            for name in idle or [next(iter(self._calls))]:
                del self._calls[name]


class Rates:
    """The rates of everything that is offered.

    What a call says of itself in `_meta` counts for nothing here: an operator's rate is that of
    each agent, and a published one that of each user, as the connection has proved them.
    """

    def __init__(
        self,
        offered: Catalogue,
        clock: Callable[[], float],
        *,
        per_minute: int | None,
        published: bool,
    ) -> None:
        """`per_minute` is the operator's; those of the contracts hold if they are asked for."""
        self._rates: dict[tuple[str, str], list[tuple[Rate, _Whose]]] = {}
        whole = None if per_minute is None else Rate(PublishedRate(calls=per_minute), clock)
        shared = {
            toolset.name: [Rate(each, clock) for each in toolset.rates if published]
            for toolset in offered.toolsets
        }
        self._shared = shared
        for offer in offered.offers:
            rates: list[tuple[Rate, _Whose]]
            rates = [(rate, _user) for rate in shared[offer.toolset.name]]
            if whole is not None:
                rates.append((whole, _agent))
            own = offer.thing.per_minute if published and isinstance(offer.thing, Tool) else None
            if own is not None:
                rates.append((Rate(PublishedRate(calls=own), clock), _user))
            if rates:
                self._rates[offer.kind, offer.thing.name] = rates

    def seconds_until(self, toolsets: Iterable[Toolset], principal: Principal) -> float:
        """How long until any of these toolsets would serve a call within its published rates."""
        waits = [
            max((rate.wait_of(_user(principal)) for rate in self._shared[each.name]), default=0.0)
            for each in toolsets
        ]
        return min(waits, default=0.0)

    def admit(self, offer: Offer[Any], principal: Principal) -> None:
        """Count a call, unless one of its rates is used up.

        Raises:
            Unavailable: `limits.rate`, with `retry_after` in seconds.
        """
        rates = self._rates.get((offer.kind, offer.thing.name), ())
        for rate, whose in rates:
            rate.require(whose(principal))
        for rate, whose in rates:
            rate.count(whose(principal))


def _agent(principal: Principal) -> Hashable:
    return principal.user, principal.agent_id


def _user(principal: Principal) -> Hashable:
    return principal.user or principal.agent_id


_Whose = Callable[[Principal], Hashable]

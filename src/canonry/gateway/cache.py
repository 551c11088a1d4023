"""Replies that may be given again, until their time is over or a key they rest on is touched."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from canonry.canon.session.caller import Caller
from canonry.gateway.catalogue import Offer
from canonry.gateway.replies import Result
from canonry.gateway.tool import Cached
from canonry.log.folding import ANY, key_hash
from canonry.log.ports.ledger import Ledger

_TOUCHED_LIMIT: Final = 1000
_EVERYTHING: Final = key_hash(ANY)

Name = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    result: Result
    until: float
    keys: frozenset[int]


@dataclass(slots=True, eq=False)
class Filling:
    """A reply on its way into the cache; it collects what is touched while it is being made."""

    name: Name
    touched: set[int] = field(default_factory=set)
    stale: bool = False


class ReplyCache:
    """The replies of read-only tools, by tool, role, user, viewer, world, spaces, arguments.

    Before every lookup it asks the ledger what any process has touched since the last time, so
    that no reply outlives the commit that changes it. A reply whose keys are touched between the
    start of its making and its arrival is not kept.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Callable[[], float],
        *,
        entries: int = 4096,
        characters: int = 32_000_000,
    ) -> None:
        """`clock` gives seconds that never go back; the oldest replies go beyond the bounds."""
        self._ledger = ledger
        self._clock = clock
        self._most_entries = entries
        self._most_characters = characters
        self._entries: OrderedDict[Name, _Entry] = OrderedDict()
        self._names: dict[int, set[Name]] = {}
        self._fillings: set[Filling] = set()
        self._characters = 0
        self._cursor = 0

    async def find(self, name: Name) -> Result | Filling:
        """The kept reply, or a filling to be ended by `keep` or `abandon`."""
        await self.refresh()
        entry = self._entries.get(name)
        if entry is not None:
            if entry.until > self._clock():
                self._entries.move_to_end(name)
                return entry.result
            self._drop(name)
        filling = Filling(name)
        self._fillings.add(filling)
        return filling

    def keep(
        self, filling: Filling, policy: Cached, arguments: Mapping[str, Any], result: Result
    ) -> None:
        """Keep the reply that `filling` waited for, unless it is already out of date."""
        self._fillings.discard(filling)
        seconds = policy.seconds(arguments, result.body)
        size = len(result.text)
        if filling.stale or seconds <= 0 or size > self._most_characters // 8:
            return
        keys = frozenset(map(key_hash, policy.depends_on(arguments, result.body)))
        if not keys.isdisjoint(filling.touched):
            return
        self._drop(filling.name)
        self._entries[filling.name] = _Entry(result, self._clock() + seconds, keys)
        self._characters += size
        for key in keys:
            self._names.setdefault(key, set()).add(filling.name)
        while len(self._entries) > self._most_entries or self._characters > self._most_characters:
            self._drop(next(iter(self._entries)))

    def abandon(self, filling: Filling) -> None:
        """Give up on a reply that did not come."""
        self._fillings.discard(filling)

    async def refresh(self) -> None:
        """Drop whatever rests on a key that was touched since the last time."""
        touched = await self._ledger.touched_since(self._cursor, limit=_TOUCHED_LIMIT)
        self._cursor = touched.cursor
        if touched.keys is None or _EVERYTHING in touched.keys:
            for filling in self._fillings:
                filling.stale = True
            self._entries.clear()
            self._names.clear()
            self._characters = 0
            return
        if not touched.keys:
            return
        for filling in self._fillings:
            filling.touched |= touched.keys
        for key in touched.keys:
            for name in tuple(self._names.get(key, ())):
                self._drop(name)

    def _drop(self, name: Name) -> None:
        entry = self._entries.pop(name, None)
        if entry is None:
            return
        self._characters -= len(entry.result.text)
        for key in entry.keys:
            names = self._names[key]
            names.discard(name)
            if not names:
                del self._names[key]


def reply_name(offer: Offer[Any], caller: Caller, arguments: Mapping[str, Any]) -> Name:
    """The name of a reply: everything that it may depend on, apart from the canon itself."""
    return (
        offer.toolset.name,
        offer.thing.name,
        caller.actor.agent_type,
        caller.actor.user,
        caller.world,
        caller.spaces,
        caller.viewer,
        orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS),
    )

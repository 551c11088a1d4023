"""Cached replies: reused until they expire or a commit touches one of their keys."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from canonry.canon.session.caller import Caller
from canonry.gateway.offers import Offer
from canonry.gateway.replies import Result
from canonry.gateway.tool import Cached
from canonry.log.folding import ANY, key_hash
from canonry.log.ports.ledger import Ledger

_TOUCHED_LIMIT: Final = 1000  # after more keys, all replies are dropped instead of compared
_EVERYTHING: Final = key_hash(ANY)

Name = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    result: Result
    until: float
    keys: frozenset[int]


@dataclass(slots=True, eq=False)
class Filling:
    """A reply on its way into the cache; it collects the keys that are touched meanwhile."""

    name: Name
    touched: set[int] = field(default_factory=set)
    stale: bool = False


class ReplyCache:
    """The replies of read-only tools, by tool, role, user, viewer, world, spaces, arguments.

    Before every lookup it asks the ledger for the keys that any process has touched since the last
    lookup: no reply outlives the commit that changes it. A reply is not kept if one of its keys
    is touched while it is being made.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Callable[[], float],
        *,
        entries: int = 4096,
        characters: int = 32_000_000,
    ) -> None:
        """Take a `clock` of monotonic seconds; beyond the bounds the oldest replies are dropped."""
        self._ledger = ledger
        self._clock = clock
        self._most_entries = entries
        self._most_characters = characters
        self._entries: OrderedDict[Name, _Entry] = OrderedDict()
        self._names: dict[int, set[Name]] = {}
        self._fillings: set[Filling] = set()
        self._characters = 0
        self._cursor = 0

    async def find_reply(self, name: Name) -> Result | Filling:
        """Return the cached reply, or a filling that `keep_reply` or `abandon_filling` ends."""
        await self.drop_stale()
        entry = self._entries.get(name)
        if entry is not None:
            if entry.until > self._clock():
                self._entries.move_to_end(name)
                return entry.result
            self._drop_reply(name)
        filling = Filling(name)
        self._fillings.add(filling)
        return filling

    def keep_reply(
        self, filling: Filling, policy: Cached, arguments: Mapping[str, Any], result: Result
    ) -> None:
        """Keep the reply of `filling`, unless it is already out of date."""
        self._fillings.discard(filling)
        seconds = policy.seconds(arguments, result.body)
        size = len(result.text)
        if filling.stale or seconds <= 0 or size > self._most_characters // 8:
            return
        keys = frozenset(map(key_hash, policy.depends_on(arguments, result.body)))
        if not keys.isdisjoint(filling.touched):
            return
        self._drop_reply(filling.name)
        self._entries[filling.name] = _Entry(result, self._clock() + seconds, keys)
        self._characters += size
        for key in keys:
            self._names.setdefault(key, set()).add(filling.name)
        while len(self._entries) > self._most_entries or self._characters > self._most_characters:
            self._drop_reply(next(iter(self._entries)))

    def abandon_filling(self, filling: Filling) -> None:
        """Drop a filling whose reply failed."""
        self._fillings.discard(filling)

    async def drop_stale(self) -> None:
        """Drop the replies that depend on a key touched since the last call."""
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
                self._drop_reply(name)

    def _drop_reply(self, name: Name) -> None:
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
    """Return the cache key of a reply: everything that it may depend on, apart from the canon."""
    return (
        offer.toolset.name,
        offer.item.name,
        caller.actor.agent_type,
        caller.actor.user,
        caller.world,
        caller.spaces,
        caller.viewer,
        orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS),
    )

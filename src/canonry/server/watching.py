"""Subscriptions: whoever watches a resource is told when what *they* would read has changed.

A change is found by reading again after a commit and comparing, as the watcher and by the path of
every call: nobody learns from a notification that something changed which they may not see.
"""

import asyncio
import contextlib
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import mcp_types as types
from mcp import MCPError
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)

from canonry.gateway.replies import INVALID_PARAMS
from canonry.log.ports.ledger import Ledger
from canonry.values.errors import CanonryError

WATCHED_EACH: Final = 100
"""The most resources that one client watches."""
WATCHED_MOST: Final = 2_000
_BETWEEN_LOOKS: Final = 0.5

WHOLE_LIST: Final = ""
"""Stands for the list of resources where a URI names one of them."""

Look = Callable[[], Awaitable[str | None]]
"""What the watcher would read now; None where they may not."""

Tell = Callable[[Any], Awaitable[None]]
"""Tells the watcher, who is handed in: whoever watches is not kept alive by it."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Watched:
    who: "weakref.ref[Any]"
    look: Look
    tell: Tell
    seen: bytes = b""


@dataclass(slots=True)
class Watching:
    """What is watched, by everybody; it looks only while somebody does, and after a commit."""

    ledger: Ledger
    _watched: dict[tuple[int, str], _Watched] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    async def add(self, who: object, name: str, look: Look, tell: Tell) -> None:
        """Watch `name` for `who`, from now on.

        Raises:
            MCPError: too much is watched.
        """
        self._forget()
        mine = sum(key[0] == id(who) for key in self._watched)
        if mine >= WATCHED_EACH or len(self._watched) >= WATCHED_MOST:
            message = f"one client watches at most {WATCHED_EACH} resources: end a subscription"
            raise MCPError(INVALID_PARAMS, message, {"error": "limits.watched"})
        seen = _digest(await look())
        who_then = weakref.ref(who)
        self._watched[id(who), name] = _Watched(who=who_then, look=look, tell=tell, seen=seen)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def has(self, who: object, name: str) -> bool:
        """Whether `who` watches `name`."""
        found = self._watched.get((id(who), name))
        return found is not None and found.who() is who

    def drop(self, who: object, name: str | None = None) -> None:
        """Watch `name`, or everything, for `who` no longer."""
        for key in [key for key in self._watched if key[0] == id(who) and name in {None, key[1]}]:
            del self._watched[key]

    def _forget(self) -> None:
        """Those who are gone watch no longer."""
        for key in [key for key, each in self._watched.items() if each.who() is None]:
            del self._watched[key]

    async def listen(
        self, ctx: Any, params: types.SubscriptionsListenRequestParams, looks: "dict[str, Look]"
    ) -> types.SubscriptionsListenResult:
        """Serve one stream of the revision of 2026-07-28: `looks` are by URI."""
        bus = InMemorySubscriptionBus()

        def telling(event: ServerEvent) -> Tell:
            return lambda bus: bus.publish(event)

        try:
            for uri, look in looks.items():
                event = ResourcesListChanged() if uri == WHOLE_LIST else ResourceUpdated(uri=uri)
                await self.add(bus, uri, look, telling(event))
            return await ListenHandler(bus)(ctx, params)
        finally:
            self.drop(bus)

    async def _run(self) -> None:
        cursor = 0
        while self._watched:
            self._forget()
            touched = None
            with contextlib.suppress(CanonryError):
                touched = await self.ledger.touched_since(cursor, limit=1)
            # A cursor may stand still while somebody else's work is under way.
            if touched is not None and (touched.cursor != cursor or touched.keys != frozenset()):
                cursor = touched.cursor
                for key, each in list(self._watched.items()):
                    await self._look(key, each)
            await self.ledger.await_news(_BETWEEN_LOOKS)
        self._task = None

    async def _look(self, key: tuple[int, str], each: _Watched) -> None:
        now = _digest(await each.look())
        who = each.who()
        if now == each.seen or who is None:
            return
        each.seen = now
        try:
            await each.tell(who)
        except Exception:  # noqa: BLE001 - whoever has gone watches no longer
            self._watched.pop(key, None)


def _digest(text: str | None) -> bytes:
    return b"" if text is None else blake2b(text.encode(), digest_size=16).digest()

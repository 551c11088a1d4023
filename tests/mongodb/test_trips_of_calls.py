"""A whole call of a tool sends few commands to MongoDB, and waits for few of them in sequence.

A copy of the log answers the rest. Commands that are under way together count as one wait. Three
would be enough for every call; `COMMANDS` and `WAITS` name the played calls that send or wait for
more, and their limits. If you lower a figure, correct the table; nobody may add to it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest
from pymongo import AsyncMongoClient
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)
from typing_extensions import override

from canonry.canon.session.canon import Canon
from canonry.stores.mongodb import MongoDatabase, database
from tests.conformance.mongodb_store import require_server
from tests.postgres.test_trips_of_calls import fits_waits, most_of, require_waits
from tests.toolsets.test_on_mongodb import make_composer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
ASIDE = frozenset(("hello", "endSessions"))
"""The clock is asked twice a minute at most, and nobody waits for the end of a session."""

FAR = 0.02
"""So many seconds further away is the server, so that what goes out together is seen to."""

ROUNDS = 3
"""On a busy machine commands that go out together can go out one after the other, which adds waits
and never takes one away: the least of so many rounds counts."""

COMMANDS = {
    "canon open": 4,
    "canon tell": 5,
    "catalog list_projects": 5,
    "narrative neo4j_create_universe": 4,
    "truth ingest": 4,
    "world advance-clock": 5,
    "world move": 5,
}
WAITS = {
    "canon tell": 4,
    "world advance-clock": 4,
    "world move": 4,
}
"""The first call of a process learns which spaces there are, which is two or three more."""


class Commands(CommandListener):
    """Counts what a client sends."""

    def __init__(self) -> None:
        self.count = 0
        self.named = Counter[str]()

    @override
    def started(self, event: CommandStartedEvent) -> None:
        if event.command_name not in ASIDE:
            self.named[event.command_name] += 1
            self.count += 1

    @override
    def succeeded(self, event: CommandSucceededEvent) -> None:
        """It was counted when it was sent."""

    @override
    def failed(self, event: CommandFailedEvent) -> None:
        """It was counted when it was sent."""


class Waits:
    """Counts when a client begins to ask while it waits for nothing else: what goes out beside that
    is waited for once.

    For what is done later, such as the move of a cursor, no call waits.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = self.under_way = 0
        ask, now = AsyncMongoClient._retry_internal, MongoDatabase.server_time
        aside = ContextVar("aside", default=False)

        async def asked(*what: Any, **more: Any) -> Any:
            task = asyncio.current_task()
            waited = not aside.get() and task is not None and task.get_name() != "later"
            self.count += waited and not self.under_way
            self.under_way += waited
            try:
                await asyncio.sleep(FAR if waited else 0)
                return await ask(*what, **more)
            finally:
                self.under_way -= waited

        async def read_position(one: MongoDatabase) -> int:
            token = aside.set(True)
            try:
                return await now(one)
            finally:
                aside.reset(token)

        patch.setattr(AsyncMongoClient, "_retry_internal", asked)
        patch.setattr(MongoDatabase, "server_time", read_position)


@pytest.fixture
async def compose() -> AsyncIterator[Callable[..., Canon]]:
    require_server()
    async with AsyncExitStack() as closing:
        yield make_composer(closing)


async def test_no_call_sends_more_commands_than_documented(
    compose: Callable[..., Canon], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_waits(await most_of(compose, monkeypatch, heard_by(Commands(), monkeypatch)), COMMANDS)


async def test_no_call_waits_more_often_than_documented(
    compose: Callable[..., Canon], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, played = Waits(monkeypatch), list[Mapping[str, int]]()
    while len(played) < ROUNDS and not (played and fits_waits(least_of(played), WAITS)):
        played.append(await most_of(compose, monkeypatch, waits))
    require_waits(least_of(played), WAITS)


def least_of(played: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    return {name: min(each[name] for each in played) for name in played[0]}


def heard_by(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Let it hear of what every client sends from now on."""
    heard = partial(AsyncMongoClient, event_listeners=[commands])
    monkeypatch.setattr(database, "AsyncMongoClient", heard)
    return commands

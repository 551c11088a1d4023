"""How many commands whole calls of tools send to MongoDB; a copy of the log answers the rest.

What goes out together is waited for once, so that a call waits no more often than that. Three would
be enough for every call; `COMMANDS` says which of those that are played here send more, and how
many at most. Whoever brings one down corrects the table; nobody may add to it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial

import pytest
from pymongo import AsyncMongoClient
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)
from typing_extensions import override

from canonry.adapters.mongodb import database
from canonry.usecases.kernel.canon import Canon
from tests.conformance.mongodb_store import require_server
from tests.postgres.test_trips_of_calls import most_of, require
from tests.toolsets.test_on_mongodb import copied

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
ASIDE = frozenset(("hello", "endSessions"))
"""The clock is asked twice a minute at most, and nobody waits for the end of a session."""

COMMANDS = {
    "canon open": 11,
    "canon propose": 36,
    "canon tell": 22,
    "catalog list_projects": 5,
    "narrative neo4j_create_entity": 7,
    "narrative neo4j_create_fact": 7,
    "narrative neo4j_create_source": 7,
    "narrative neo4j_create_universe": 11,
    "narrative neo4j_retcon_fact": 8,
    "truth ingest": 11,
    "world advance-clock": 10,
    "world move": 8,
}


class Commands(CommandListener):
    """Counts what a client sends."""

    def __init__(self) -> None:
        self.count = 0

    @override
    def started(self, event: CommandStartedEvent) -> None:
        self.count += event.command_name not in ASIDE

    @override
    def succeeded(self, event: CommandSucceededEvent) -> None:
        """It was counted when it was sent."""

    @override
    def failed(self, event: CommandFailedEvent) -> None:
        """It was counted when it was sent."""


@pytest.fixture
async def compose() -> AsyncIterator[Callable[..., Canon]]:
    require_server()
    async with AsyncExitStack() as closing:
        yield copied(closing)


async def test_no_call_sends_more_commands_than_is_said(
    compose: Callable[..., Canon], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands()
    heard = partial(AsyncMongoClient, event_listeners=[commands])
    monkeypatch.setattr(database, "AsyncMongoClient", heard)

    require(await most_of(compose, monkeypatch, commands), COMMANDS)

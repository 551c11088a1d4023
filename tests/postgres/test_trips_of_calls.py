"""A whole call of a tool waits for the server only a few times, one wait after the other.

Three would be enough for every call; `WAITS` names the played calls that wait more often, and their
limits. If you lower a figure, correct the table; nobody may add to it.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from itertools import islice
from typing import Any, Protocol

import psycopg
import pytest

from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.replies import Result
from tests.conformance.postgres_store import URL
from tests.toolsets.test_mixed_engines import KITS, calls_of
from tests.toolsets.test_on_postgres import make_composer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
ENOUGH = 3
PLAYED = {
    "narrative.test_facts": 3,
    "world.test_movement": 2,
    "catalog.test_answers": 2,
    "truth.test_examples": 2,
    "canon.test_reading": 2,
}
"""The first tests of these modules, so many of each."""

WAITS = {
    "canon tell": 5,  # one less each, unless the log was looked at in between
}
"""One wait tells what is new, and each commit is one more."""


class Waits:
    """Counts what a client waits for: an answer, also where several come together."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        execute, fetch = psycopg.AsyncCursor.execute, psycopg.AsyncCursor.fetchall
        end = psycopg.AsyncPipeline.__aexit__

        async def executed(cursor: Any, query: Any, *more: Any, **named: Any) -> Any:
            alone = not cursor.connection.pgconn.pipeline_status
            # Nobody waits until others have been told, or for connections that a pool makes ready.
            aside = "pg_notify" in str(query) or "set_config" in str(query)
            self.count += alone and not aside
            return await execute(cursor, query, *more, **named)

        async def fetched(cursor: Any) -> Any:
            self.count += cursor.pgresult is None
            return await fetch(cursor)

        async def ended(pipeline: Any, *raised: Any) -> Any:
            self.count += 1
            return await end(pipeline, *raised)

        patch.setattr(psycopg.AsyncCursor, "execute", executed)
        patch.setattr(psycopg.AsyncCursor, "fetchall", fetched)
        patch.setattr(psycopg.AsyncPipeline, "__aexit__", ended)


@pytest.fixture
async def compose() -> AsyncIterator[Callable[..., Canon]]:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    async with AsyncExitStack() as closing:
        yield make_composer(closing)


async def test_no_call_waits_more_often_than_documented(
    compose: Callable[..., Canon], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_waits(await most_of(compose, monkeypatch, Waits(monkeypatch)), WAITS)


class Counted(Protocol):
    """A counter of waits."""

    count: int


async def most_of(
    compose: Callable[..., Canon], monkeypatch: pytest.MonkeyPatch, waits: Counted
) -> Mapping[str, int]:
    """Return the most waits of each tool that is played."""
    most = defaultdict[str, int](int)
    serve = Gateway._serve

    async def counted(gateway: Gateway, offer: Any, *more: Any) -> Result:
        before = waits.count
        result = await serve(gateway, offer, *more)
        if result.error is None:
            name = f"{offer.toolset.name} {offer.item.name}"
            most[name] = max(most[name], waits.count - before)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(Gateway, "_serve", counted)
        for kit in (*KITS, "canon.kit"):
            patch.setattr(import_module(f"tests.toolsets.{kit}"), "compose_memory", compose)
        for module, tests in PLAYED.items():
            for call in islice(calls_of(f"toolsets.{module}").values(), tests):
                await call()
    return most


def count_often(most: Mapping[str, int]) -> Mapping[str, int]:
    return {name: count for name, count in most.items() if count > ENOUGH}


def fits_waits(most: Mapping[str, int], waits: Mapping[str, int]) -> bool:
    return all(count <= waits.get(name, 0) for name, count in count_often(most).items())


def require_waits(most: Mapping[str, int], waits: Mapping[str, int]) -> None:
    assert count_often(most).keys() == waits.keys()
    assert {name: count for name, count in count_often(most).items() if count > waits[name]} == {}

"""The server is killed while a view is written: it comes back, and shows what the log says."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from canonry.log.commits import Position
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.stores.opensearch import open_text
from canonry.stores.projections.projector import Projector
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import HERE, MIDDLE_EARTH, a_turn
from canonry.values.errors import Unavailable
from tests.conformance.opensearch_text import URL
from tests.conformance.test_memory import open_memory
from tests.servers.processes import PORT
from tests.servers.search import Search

pytestmark = pytest.mark.anyio
COMMITS, KILLS = 60, 2


@pytest.fixture
def server() -> Iterator[Search]:
    if not URL:
        pytest.skip("no OpenSearch server: `make servers` starts one")
    own = Search(name="opensearch-killed", port=PORT + 64)
    own.start()
    yield own
    own.stop(signal.SIGKILL)


async def project_commits(projector: Projector, reached: asyncio.Queue[int]) -> None:
    """Bring the view up commit by commit, also while the server is away."""
    for n in range(1, COMMITS + 1):
        while True:
            try:
                await projector.advance_to(MIDDLE_EARTH, Position(n))
            except Unavailable:
                await asyncio.sleep(0.1)
            else:
                break
        reached.put_nowait(n)


async def kill_server(server: Search, reached: asyncio.Queue[int]) -> None:
    for _ in range(KILLS):
        for _ in range(COMMITS // 4):
            await reached.get()
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await asyncio.to_thread(server.start)


async def test_a_killed_server_shows_everything_once(server: Search) -> None:
    memory, text = await open_memory(), open_text(server.url, deadline=5.0)
    await text.drop_index()
    canon = memory.canon
    scribe = Scribe(canon)
    for n in range(COMMITS):
        await scribe.make_items(a_turn(f"turn {n}", text=f"fire {n % 7}"))
    projector = Projector(ledger=canon.ledger, state=canon.state, others=(text,))
    reached: asyncio.Queue[int] = asyncio.Queue()

    await asyncio.gather(kill_server(server, reached), project_commits(projector, reached))

    assert await text.cursor(MIDDLE_EARTH) == COMMITS
    for asked in ("fire", "fire 3", "5"):
        query = TextQuery(collection=Collection.SCENES, text=asked, spaces=HERE, limit=100)
        assert await text.search(query) == await canon.text.search(query)
    await text.close()

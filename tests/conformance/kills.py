"""The steps that a store goes through while its servers are killed, and its state afterwards."""

import asyncio
from collections.abc import Awaitable, Callable

from canonry.app.doctor import report_nothing
from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Appended
from canonry.readmodels.ports.view import Maintenance
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries
from canonry.values.errors import Unavailable

WRITERS, EACH = 4, 25


async def written_while(canon: Canon, harmed: Callable[[], Awaitable[None]]) -> set[str]:
    """The commits of some writers who go on whatever happens; twice something does."""
    acknowledged: set[str] = set()
    news: asyncio.Queue[str] = asyncio.Queue()

    async def write(writer: int) -> None:
        for n in range(EACH):
            scribe = Scribe(canon, f"{writer}/{n}")
            draft = scribe.next_append(creation_entries(a_fact(f"fact {writer}/{n}")))
            while True:
                try:
                    (outcome,) = await scribe.append_batch([draft])
                except Unavailable:
                    await asyncio.sleep(0.05)
                else:
                    break
            assert isinstance(outcome, Appended)
            acknowledged.add(draft.draft.id)
            news.put_nowait(draft.draft.id)

    async def harm() -> None:
        for _ in range(2):
            for _ in range(EACH):
                await news.get()
            await harmed()

    await asyncio.gather(harm(), *(write(each) for each in range(WRITERS)))
    assert len(acknowledged) == WRITERS * EACH
    return acknowledged


async def require_whole(canon: Canon, maintenance: Maintenance, acknowledged: set[str]) -> None:
    """Every acknowledged commit is there once, and records and views agree."""
    page = await canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=10_000)
    log = [commit.id for commit in page]
    assert len(log) == len(set(log))
    assert acknowledged <= set(log)
    assert (await maintenance.verify(report_nothing)).findings == ()

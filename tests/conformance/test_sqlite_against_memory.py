"""Any history: the embedded store and the executable specification answer alike."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from canonry.log.commits import Appended, Outcome
from canonry.log.entries import Erased
from canonry.testing.clocks import an_append
from canonry.testing.conformance import Backend
from canonry.testing.conformance.kit import require_part, view_answers
from canonry.testing.conformance.ledger import whole_log
from canonry.testing.conformance.maintenance import check_progress
from canonry.testing.example_items import MIDDLE_EARTH
from tests.conformance.histories import HistoryStep, contended_histories, draw_history
from tests.conformance.sqlite_store import Folders
from tests.conformance.test_memory import open_memory

unhurried = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


async def append_steps(backend: Backend, steps: list[HistoryStep]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for number, step in enumerate(steps):
        head = await backend.canon.ledger.head_position(MIDDLE_EARTH)
        judged_at = max(0, head - step.lag)
        append = an_append(str(number), step.entries, judged_at=judged_at, reads=step.reads)
        batch = [append, append] if step.again else [append]
        outcomes += await backend.canon.ledger.append_drafts(batch)
        backend.clock.move_by(number * 500)
    return outcomes


async def compare_stores(steps: list[HistoryStep], root: Path) -> None:
    async with AsyncExitStack() as closing:
        real, model = await Folders(root=root, closing=closing).fresh(), await open_memory()

        assert await append_steps(real, steps) == await append_steps(model, steps)

        # Salts are random, and so are the hashes over them; all else is the same.
        chains = [
            [(s.id, s.position, s.recorded_at) for s in await whole_log(backend)]
            for backend in (real, model)
        ]
        assert chains[0] == chains[1]
        reported, expected = await view_answers(real.canon), await view_answers(model.canon)
        for question, answer in expected.items():
            assert reported[question] == answer, question


@unhurried
@given(steps=draw_history())
def test_every_history_gives_the_same_answers(steps: list[HistoryStep]) -> None:
    with tempfile.TemporaryDirectory() as root:
        asyncio.run(compare_stores(steps, Path(root)))


@unhurried
@given(steps=contended_histories())
def test_every_contention_is_decided_alike(steps: list[HistoryStep]) -> None:
    with tempfile.TemporaryDirectory() as root:
        asyncio.run(compare_stores(steps, Path(root)))


@unhurried
@given(steps=draw_history())
def test_every_history_is_verified_and_rebuilt_alike(steps: list[HistoryStep]) -> None:
    async def check(root: Path) -> None:
        async with AsyncExitStack() as closing:
            backend = await Folders(root=root, closing=closing).fresh()
            await append_steps(backend, steps)
            maintenance = require_part(backend.maintenance)
            assert (await maintenance.verify(check_progress)).findings == ()
            for step in steps:
                for entry in step.entries:
                    if isinstance(entry, Erased):
                        await maintenance.purge(MIDDLE_EARTH, entry.targets)
            assert (await maintenance.verify(check_progress)).findings == ()
            answer = await view_answers(backend.canon)
            await maintenance.rebuild(check_progress)
            assert await view_answers(backend.canon) == answer
            assert (await maintenance.verify(check_progress)).findings == ()

    with tempfile.TemporaryDirectory() as root:
        asyncio.run(check(Path(root)))


@unhurried
@given(steps=draw_history())
def test_a_reopened_history_is_the_same(steps: list[HistoryStep]) -> None:
    async def check(root: Path) -> None:
        async with AsyncExitStack() as closing:
            backend = await Folders(root=root, closing=closing).fresh()
            outcomes = await append_steps(backend, steps)
            assert all(isinstance(outcome, Appended) for outcome in outcomes)
            reported, log = await view_answers(backend.canon), await whole_log(backend)
            again = await require_part(backend.reopen)()
            assert await whole_log(again) == log
            assert await view_answers(again.canon) == reported

    with tempfile.TemporaryDirectory() as root:
        asyncio.run(check(Path(root)))

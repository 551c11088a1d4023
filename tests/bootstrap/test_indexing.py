"""Indexing in the background: who fails notices when the cause is taken away; work is shared."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from canonry.app import doctor
from canonry.app import recall_models as indexing
from canonry.app.doctor import Diagnosis, examine_recall
from canonry.app.recall_models import MANY_VECTORS, RECALL_FILE, BackgroundIndexing
from canonry.recall.vectors import FolderVectors
from canonry.testing.example_items import uuid_of
from tests.server.recall_world import becomes
from tests.usecases.recall_scenario import Noting, a_scenario, index_all

pytestmark = pytest.mark.anyio


async def test_a_dropped_damaged_index_is_recreated_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_WAITS", (3_600.0,))
    faults: list[str] = []

    async def fault() -> str | None:
        return faults[0] if faults else None

    async with a_scenario(tmp_path) as world:
        await world.say_turns("The dragon sleeps on gold.")
        world.folder.mkdir(exist_ok=True)
        damaged = world.folder / RECALL_FILE
        damaged.write_bytes(b"no database" * 1_000)
        recall = world.open_recall()
        recall.asked.set()
        background = BackgroundIndexing(world.stage.canon, recall, world.folder, faults.append)
        background.start_indexing()
        assert "The vector index is damaged" in await becomes(fault, "a fault that is told")

        damaged.unlink()

        async def made() -> tuple[str, ...] | None:
            return tuple(world.embedders[384].texts) or None

        assert "The dragon sleeps on gold." in "".join(await becomes(made, "a vector"))
        await background.stop_indexing()


async def test_too_many_vectors_for_a_folder_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (indexing, doctor):
        monkeypatch.setattr(module, "SEARCHED_WELL", 1)
    found: list[str] = []

    async def first() -> str | None:
        return found[0] if found else None

    async with a_scenario(tmp_path) as world:
        await world.say_turns("The dragon sleeps on gold.", "We sail at dawn.")
        recall = world.open_recall()
        recall.asked.set()
        background = BackgroundIndexing(world.stage.canon, recall, world.folder, found.append)
        background.start_indexing()
        said = await becomes(first, "what is told")
        await background.stop_indexing()
        diagnosis = Diagnosis()
        await examine_recall(diagnosis, recall, world.folder, "here")

    count = diagnosis.store["recall_vectors"]
    assert said == f"each search compares {count} vectors: {MANY_VECTORS}"
    assert MANY_VECTORS in [hint.help for hint in diagnosis.hints]
    assert found == [said]


async def test_the_doctor_notices_damaged_vectors_before_any_search(tmp_path: Path) -> None:
    async with a_scenario(tmp_path) as world:
        await world.say_turns("The dragon sleeps on gold.")
        recall = world.open_recall()
        await index_all(recall)
        await (await recall.open_engines()).vectors.close()
        with closing(apsw.Connection(str(world.folder / RECALL_FILE))) as db:
            db.execute("UPDATE vectors SET vector = x'00'")
        diagnosis = Diagnosis()
        await examine_recall(diagnosis, recall, world.folder, "here")

    assert [wrong.help for wrong in diagnosis.wrong] == [
        "Search uses words alone. Run: canonry rebuild --only vectors"
    ]


async def test_two_machines_share_the_work_on_one_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(work: Callable[..., object], *given: object, **named: object) -> object:
        return work(*given, **named)

    monkeypatch.setattr(indexing, "POLL_SECONDS", 0.001)
    # The index answers at once, so that the order of threads decides nothing.
    monkeypatch.setattr(asyncio, "to_thread", at_once)
    faults: list[str] = []
    async with a_scenario(tmp_path) as world:
        lines = [f"The {n}th ship leaves the harbour" for n in range(600)]
        for start in range(0, len(lines), 10):
            await world.say_turns(*lines[start : start + 10], start=start + 1)
        vectors = FolderVectors(tmp_path / "shared")
        machines: list[BackgroundIndexing] = []
        for name in ("one", "two"):
            recall = world.open_recall(vectors=vectors)
            recall.asked.set()
            folder = tmp_path / name
            folder.mkdir()
            machine = BackgroundIndexing(world.stage.canon, recall, folder, faults.append)
            machines.append(machine)
            machine.start_indexing()

        async def done() -> bool | None:
            known = await vectors.vector_digests(Noting().model, list(map(uuid_of, lines)))
            return len(known) == len(lines) or None

        await becomes(done, "every passage is indexed")
        for machine in machines:
            await machine.stop_indexing()

    assert faults == []
    assert len(world.embedders[384].texts) < 1.5 * len(lines)

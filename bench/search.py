"""Searching passages as spaces and stores grow, without the embedding of the question.

Everything goes through the use case on the embedded store. One space holds almost all passages; a
small one lies beside it, and once more alone in another folder. Questions are stretches of speech
of 5 to 40 words; of each the best of five rounds counts. The large number comes from
`CANONRY_BENCH_PASSAGES` (default 10^5); its budget is stated for 4*10^5. Where vectors take part
they are drawn, and NumPy searches all of them exactly.
"""

import asyncio
import json
import math
import os
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bench.recall.conversations import CRD3, EPISODES, written
from bench.report import Row, median, percentile
from bench.worlds import STAMPS, Scribe
from canonry.adapters.sqlite import Durability
from canonry.bootstrap.embedded import open_embedded
from canonry.domain.entries import Made
from canonry.domain.ids import SceneId, SpaceId, StoryId, TurnId
from canonry.domain.passages import Collection
from canonry.domain.scenes import (
    Scene,
    SceneStatus,
    Speaker,
    Story,
    StoryStatus,
    StoryType,
    Turn,
)
from canonry.domain.spaces import Space, SpaceKind
from canonry.domain.time import Instant
from canonry.ports.views.text import TextQuery
from canonry.usecases.canon import Canon
from canonry.usecases.find_passages import find_passages

SECTION = "search"
SMALL, TURNS_A_SCENE, RARE_WORDS, RARE_SHARE = 10_000, 500, 50_000, 0.03
QUESTIONS, ROUNDS, LIMIT, DIMENSIONS = 60, 5, 10, 384
LARGE_MAX, SMALL_MAX, SPACE_RATIO_MAX = 30.0, 8.0, 1.5


def run() -> list[Row]:
    """Fill both stores, then ask."""
    count = int(os.environ.get("CANONRY_BENCH_PASSAGES", "100000"))
    return asyncio.run(_measured(count))


class _Speech:
    """Stretches of what was really said, with rare words among them."""

    def __init__(self) -> None:
        self._random = random.Random(5)  # noqa: S311 - benches repeat, they need not be secret
        self._words = _said().split()

    def stretch(self, shortest: int, longest: int, rare: float) -> str:
        start = self._random.randrange(len(self._words) - longest)
        words = self._words[start : start + self._random.randint(shortest, longest)]
        for n, _ in enumerate(words):
            if self._random.random() < rare:
                words[n] = f"name{self._random.randrange(RARE_WORDS)}"
        return " ".join(words)


class _Exact:
    """Recall by meaning with the vectors of one space in memory, searched one by one."""

    behind = 0

    def __init__(self, ids: Sequence[str]) -> None:
        rng = np.random.default_rng(5)
        drawn = rng.standard_normal((len(ids), DIMENSIONS), dtype=np.float32)
        self._vectors: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        self._ids = ids
        self.took: list[float] = []

    async def search(self, text: str, query: TextQuery) -> Sequence[tuple[str, float]]:
        began = time.perf_counter()
        likeness = self._vectors @ self._vectors[crc32(text.encode()) % len(self._ids)]
        nearest = np.argpartition(-likeness, query.limit)[: query.limit]
        found = [(self._ids[n], float(likeness[n])) for n in nearest]
        self.took.append(time.perf_counter() - began)
        return found


async def _measured(count: int) -> list[Row]:
    speech = _Speech()
    questions = [speech.stretch(5, 40, 0.0) for _ in range(QUESTIONS)]
    async with AsyncExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        stores = []
        for name in ("large", "alone"):
            store = await open_embedded(folder / name, durability=Durability.NORMAL)
            closing.push_async_callback(store.close)
            stores.append(store.canon)
        large, alone = stores
        began = time.perf_counter()
        whole, _ = await _fill(large, _Speech(), count)
        filled = time.perf_counter() - began
        inside, outside = _Speech(), _Speech()
        within, ids = await _fill(large, inside, SMALL)
        without, _ = await _fill(alone, outside, SMALL)
        exact = _Exact(ids)
        meant = replace(large, recall=_as_recall(exact))
        asked = {
            "large": (large, whole),
            "inside": (large, within),
            "alone": (alone, without),
            "meaning": (meant, within),
        }
        times = {name: [math.inf] * QUESTIONS for name in asked}
        for _ in range(ROUNDS):
            for n, text in enumerate(questions):  # by turns: all meet the same busy moments
                for name, (canon, space) in asked.items():
                    times[name][n] = min(times[name][n], await _ask(canon, space, text))
    middle = {name: 1e3 * median(each) for name, each in times.items()}
    size = f"{count:,} passages"
    return [
        _row("words, median", middle["large"], "ms", LARGE_MAX, size),
        _row("words, 95 of 100", 1e3 * percentile(times["large"], 0.95), "ms", None, size),
        _row("words in a small space, median", middle["alone"], "ms", SMALL_MAX, f"{SMALL:,}"),
        _row("the same inside the large store", middle["inside"], "ms", None, f"{SMALL:,}"),
        _row("inside against alone", middle["inside"] / middle["alone"], "x", SPACE_RATIO_MAX),
        _row("words and exact vectors", middle["meaning"], "ms", SMALL_MAX, f"{SMALL:,}"),
        _row("of it, the vectors", 1e3 * median(exact.took), "ms", None, "NumPy, exact"),
        _row("writing and indexing", count / filled, "/s", None, size),
    ]


def _row(what: str, value: float, unit: str, budget: float | None, note: str = "") -> Row:
    return Row(section=SECTION, what=what, value=value, unit=unit, budget=budget, note=note)


def _as_recall(exact: _Exact) -> Any:
    return exact


async def _ask(canon: Canon, space: SpaceId, text: str) -> float:
    query = TextQuery(
        collection=Collection.SCENES, text=text, spaces=frozenset((space,)), limit=LIMIT
    )
    began = time.perf_counter()
    await find_passages(canon, query)
    return time.perf_counter() - began


async def _fill(canon: Canon, speech: _Speech, count: int) -> tuple[SpaceId, Sequence[str]]:
    """A universe with so many turns; their ids."""
    fresh = canon.identities.fresh
    space, story = SpaceId(fresh()), StoryId(fresh())
    scribe = Scribe(canon, space)
    await scribe.add(
        Made(
            thing=Space(
                id=space,
                kind=SpaceKind.UNIVERSE,
                name="Bench",
                description="",
                parent=None,
                **STAMPS,
            )
        ),
        Made(
            thing=Story(
                id=story,
                space=space,
                title="Bench",
                story_type=StoryType.CAMPAIGN,
                theme=None,
                premise=None,
                parent_id=None,
                start_time_ref=None,
                status=StoryStatus.PLANNED,
                **STAMPS,
            )
        ),
    )
    ids: list[str] = []
    scene = SceneId("")
    for number in range(count):
        if number % TURNS_A_SCENE == 0:
            scene = SceneId(fresh())
            await scribe.add(Made(thing=_scene(space, story, scene, number)))
        turn = _turn(space, scene, TurnId(fresh()), speech.stretch(5, 30, RARE_SHARE))
        ids.append(turn.id)
        await scribe.add(Made(thing=turn))
    await scribe.flush()
    return space, ids


def _scene(space: SpaceId, story: StoryId, scene: SceneId, number: int) -> Scene:
    return Scene(
        id=scene,
        space=space,
        story_id=story,
        title=f"Scene {number}",
        purpose=None,
        order=number + 1,
        location_ref=None,
        participants=(),
        status=SceneStatus.ACTIVE,
        updated_at=Instant(0),
        **STAMPS,
    )


def _turn(space: SpaceId, scene: SceneId, turn: TurnId, text: str) -> Turn:
    return Turn(
        id=turn,
        space=space,
        scene_id=scene,
        index=0,
        speaker=Speaker.GM,
        entity_id=None,
        text=text,
        resolution_ref=None,
        timestamp=Instant(0),
        position=0,
        changed_at=0,
    )


def _said() -> str:
    """Everything that was said in the episodes; in our own dialogue where they are absent."""
    if not CRD3.is_dir():
        return " ".join(turn.text for turn in written("heldout").turns)
    told: list[str] = []
    for episode in EPISODES:
        turns: Any = json.loads((CRD3 / f"{episode}.json").read_text("utf-8"))["TURNS"]
        told += [" ".join(turn["UTTERANCES"]) for turn in turns]
    return " ".join(told)

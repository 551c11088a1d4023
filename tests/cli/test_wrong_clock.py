"""A store that was written while the clock was ahead: it is reported, and there is a way back."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.testing.clocks import HandClock, Scribe
from canonry.testing.example_items import a_fact, a_space
from canonry.values.errors import Unavailable
from canonry.values.moments import DAY, SECOND, Instant, render_instant
from tests.cli.run import run_canonry


def read_clock() -> Instant:
    return Instant(time.time_ns() // 1000)


async def write_facts(data: Path, clock: HandClock, jump: int) -> None:
    """A fact by the right time, one while the clock is ahead by `jump`, and none after."""
    store = await open_embedded(data, clock=clock)
    try:
        scribe = Scribe(store.canon)
        await scribe.make_items(a_space(), a_fact("before"))
        clock.move_by(jump)
        await scribe.make_items(a_fact("meanwhile"))
        clock.move_by(-jump)
        if jump > DAY:
            with pytest.raises(Unavailable, match="Mend a wrong clock"):
                await scribe.make_items(a_fact("after"))
    finally:
        await store.close()


def run_doctor(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_canonry("doctor", "--json", "--data", str(data)).stdout)
    return found


def test_writing_continues_in_a_sound_store_after_a_clock_jump(tmp_path: Path) -> None:
    clock, data, sound = HandClock(read_clock()), tmp_path / "data", tmp_path / "sound"
    asyncio.run(write_facts(data, clock, 400 * DAY))
    (reported,) = (each for each in run_doctor(data)["wrong"] if "newest commit" in each["what"])
    assert "--before" in reported["help"]

    log = str(tmp_path / "all.jsonl")
    assert run_canonry("export", log, "--data", str(data)).returncode == 0
    until = render_instant(Instant(clock.now() + DAY))
    done = run_canonry("import", "log", log, "--before", until, "--data", str(sound))
    assert done.returncode == 0, done.stderr
    assert "left out 1 commits" in done.stdout

    assert run_canonry("verify", "--data", str(sound)).returncode == 0
    assert not [each for each in run_doctor(sound)["wrong"] if "newest commit" in each["what"]]
    clock.move_by(SECOND)
    asyncio.run(goes_on(sound, clock))


async def goes_on(data: Path, clock: HandClock) -> None:
    store = await open_embedded(data, clock=clock)
    try:
        await Scribe(store.canon, "later").make_items(a_fact("after"))
        (space,) = await store.canon.ledger.list_heads(limit=9)
        assert space.position == 2
        (last,) = await store.canon.ledger.read_commits(
            space.space,
            after=space.position - 1,  # type: ignore[arg-type]
            limit=1,
        )
        assert last.recorded_at == clock.now()
    finally:
        await store.close()


def test_a_small_clock_lead_is_a_hint(tmp_path: Path) -> None:
    asyncio.run(write_facts(tmp_path, HandClock(read_clock()), 3600 * SECOND))
    found = run_doctor(tmp_path)

    assert not [each for each in found["wrong"] if "newest commit" in each["what"]]
    assert [each for each in found["hints"] if "a microsecond apart" in each["what"]]

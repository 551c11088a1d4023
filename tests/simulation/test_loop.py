"""The simulation itself: it repeats, it interleaves, and it says when nobody can go on."""

import asyncio

import pytest

from tests.simulation.loops import Simulation, run_simulated


def trace_run(seed: int) -> tuple[str, ...]:
    steps: list[str] = []

    async def main(simulation: Simulation) -> None:
        async def worker(name: str) -> None:
            for step in range(3):
                await asyncio.sleep(simulation.lots.random())
                steps.append(f"{name}{step}")

        await asyncio.gather(*(worker(name) for name in "abc"))
        simulation.assert_interleaved()

    run_simulated(main, seed=seed)
    return tuple(steps)


def test_the_same_seed_gives_the_same_schedule() -> None:
    assert [trace_run(seed) for seed in range(10)] == [trace_run(seed) for seed in range(10)]


def test_different_seeds_give_different_schedules() -> None:
    assert len({trace_run(seed) for seed in range(20)}) > 15


def test_callbacks_ready_together_run_in_any_order() -> None:
    async def main(simulation: Simulation) -> str:
        steps: list[str] = []

        async def worker(name: str) -> None:
            for _ in range(2):
                await asyncio.sleep(0)
                steps.append(name)

        await asyncio.gather(*(worker(name) for name in "abc"))
        return "".join(steps)

    assert len({run_simulated(main, seed=seed) for seed in range(30)}) > 10


def test_simulated_hours_pass_at_once() -> None:
    async def main(simulation: Simulation) -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3_600):
                await asyncio.sleep(86_400)
        return simulation.loop.time()

    assert run_simulated(main, seed=1) == 3_600


def test_a_deadlock_is_found_and_names_its_seed() -> None:
    async def main(simulation: Simulation) -> None:
        await asyncio.Event().wait()

    with pytest.raises(AssertionError, match="deadlock") as caught:
        run_simulated(main, seed=42)

    assert caught.value.__notes__ == ["replay with seed=42"]


def test_a_failure_names_its_seed() -> None:
    async def main(simulation: Simulation) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        run_simulated(main, seed=7)

    assert caught.value.__notes__ == ["replay with seed=7"]

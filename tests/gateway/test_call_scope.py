"""A call remembers the answers that it received until it ends."""

import asyncio

import pytest

from canonry.gateway.limits import run_within
from canonry.log.ports.world import call_answers, current_scope

pytestmark = pytest.mark.anyio


async def test_a_call_remembers_answers_only_for_itself() -> None:
    async def ask_twice() -> int:
        call_answers()["question"] = len(call_answers())
        await asyncio.sleep(0)
        return len(call_answers())

    assert await run_within(1, ask_twice()) == 1
    assert await run_within(1, ask_twice()) == 1
    assert await ask_twice() == 0
    assert current_scope() is None


async def test_a_part_of_a_call_shares_its_answers_and_its_end() -> None:
    async def part() -> float:
        assert call_answers().pop("question") == 1
        found = current_scope()
        assert found is not None
        return found.ends

    async def whole() -> None:
        call_answers()["question"] = 1
        found = current_scope()
        assert found is not None
        assert await run_within(600, part()) == found.ends
        assert call_answers() == {}

    await run_within(5, whole())


async def test_a_background_task_of_a_call_remembers_nothing() -> None:
    over = asyncio.Event()

    async def later() -> bool:
        await over.wait()
        return current_scope() is None and call_answers() == {}

    async def call() -> "asyncio.Task[bool]":
        call_answers()["question"] = 1
        return asyncio.create_task(later())

    left = await run_within(1, call())
    over.set()

    assert await left

"""A call remembers what it was told, for as long as it lasts."""

import asyncio

import pytest

from canonry.gateway.limits import within
from canonry.log.ports.world import answers, scope

pytestmark = pytest.mark.anyio


async def test_a_call_remembers_and_nobody_else_does() -> None:
    async def told() -> int:
        answers()["question"] = len(answers())
        await asyncio.sleep(0)
        return len(answers())

    assert await within(1, told()) == 1
    assert await within(1, told()) == 1
    assert await told() == 0
    assert scope() is None


async def test_a_part_of_a_call_shares_what_the_whole_was_told_and_its_end() -> None:
    async def part() -> float:
        assert answers().pop("question") == 1
        found = scope()
        assert found is not None
        return found.ends

    async def whole() -> None:
        answers()["question"] = 1
        found = scope()
        assert found is not None
        assert await within(600, part()) == found.ends
        assert answers() == {}

    await within(5, whole())


async def test_what_a_call_leaves_behind_remembers_nothing() -> None:
    over = asyncio.Event()

    async def later() -> bool:
        await over.wait()
        return scope() is None and answers() == {}

    async def call() -> "asyncio.Task[bool]":
        answers()["question"] = 1
        return asyncio.create_task(later())

    left = await within(1, call())
    over.set()

    assert await left

"""Determinism: the same calls on two equal stores are answered with the same bytes."""

import asyncio

import pytest

from canonry.gateway.tool import Tool
from canonry.narrative.toolset import NARRATIVE
from tests.toolsets.narrative.filled_world import a_furnished_world, a_role_for, fitting_arguments

EVERY_TOOL = pytest.mark.parametrize("tool", NARRATIVE.tools, ids=lambda tool: tool.name)


async def answer_of(tool: Tool) -> str:
    world, known = await a_furnished_world()
    arguments = fitting_arguments(tool, known)
    outcome = await world.outcome(tool.name, arguments, agent=a_role_for(tool))
    return outcome.text


@EVERY_TOOL
def test_two_equal_stores_give_the_same_bytes(tool: Tool) -> None:
    assert asyncio.run(answer_of(tool)) == asyncio.run(answer_of(tool))

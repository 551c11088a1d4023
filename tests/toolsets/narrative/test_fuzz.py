"""Each tool replies to any input, or refuses it with one of six codes, and goes on."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from canonry.gateway.tool import Tool
from canonry.narrative.toolset import NARRATIVE
from tests.toolsets.narrative.filled_world import a_furnished_world, a_role_for
from tests.toolsets.narrative.hostile import arguments_for
from tests.toolsets.narrative.kit import SIX_CODES, World, a_world

EXAMPLES = 50
EVERY_TOOL = pytest.mark.parametrize("tool", NARRATIVE.tools, ids=lambda tool: tool.name)


async def call_safely(world: World, tool: Tool, arguments: dict[str, Any]) -> None:
    role = a_role_for(tool)
    before = await world.heads()

    outcome = await world.outcome(tool.name, arguments, agent=role)

    if outcome.error is not None:
        assert outcome.error.code in SIX_CODES, (outcome.text, world.gateway.audit)
        assert await world.heads() == before, "a refused call has written something"
    elif tool.read_only:
        assert await world.heads() == before, "a read-only tool has written something"


@EVERY_TOOL
def test_hostile_arguments_are_answered_or_refused(tool: Tool) -> None:
    with asyncio.Runner() as runner:
        world, known = runner.run(a_furnished_world())

        @settings(
            max_examples=EXAMPLES,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(arguments=arguments_for(tool.input_schema, known))
        def holds(arguments: dict[str, Any]) -> None:
            runner.run(call_safely(world, tool, arguments))

        holds()
        assert runner.run(world.entity("Still here"))


@EVERY_TOOL
def test_ten_million_characters_are_refused(tool: Tool) -> None:
    with asyncio.Runner() as runner:
        world = runner.run(a_world())
        arguments = {"name": "x" * 10_000_000, "nested": {"text": "y" * 10_000_000}}
        role = a_role_for(tool)

        data = runner.run(world.refused(tool.name, role, code=-32003, **arguments))

        assert data["code"] == "limits.size"

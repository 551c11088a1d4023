"""Isolation: what lies in a space that a caller may not see is exactly as if it did not exist."""

import asyncio
import json
from typing import Any

import pytest

from canonry.gateway.tool import Tool
from canonry.narrative.toolset import NARRATIVE
from canonry.values.ids import SpaceId
from tests.toolsets.narrative.filled_world import a_furnished_world, a_role_for, fitting_arguments
from tests.toolsets.narrative.kit import World

EVERY_TOOL = pytest.mark.parametrize("tool", NARRATIVE.tools, ids=lambda tool: tool.name)


def unknown_ids(value: Any, ids: set[str]) -> Any:
    """The same value with each id of something that exists turned into one of nothing."""
    text = json.dumps(value)
    for each in ids:
        text = text.replace(each, "eeeeeeee" + each[8:])
    return json.loads(text)


async def verdicts_on(world: World, tool: Tool, arguments: dict[str, Any]) -> list[Any]:
    outcome = await world.outcome(tool.name, arguments, agent=a_role_for(tool))
    if outcome.error is None:
        return [0, outcome.text]
    return [outcome.error.code, outcome.error.data["code"]]


async def compare_worlds(tool: Tool) -> None:
    world, known = await a_furnished_world()
    everything = json.dumps(known)
    ids = {word for word in everything.replace(":", '"').split('"') if word.count("-") == 4}
    elsewhere = await world.another_universe("Third")
    world.spaces = frozenset((SpaceId(elsewhere.universe_id),))
    hidden = fitting_arguments(tool, known)
    before = await world.heads()

    reply = await verdicts_on(world, tool, hidden)

    missing = await verdicts_on(world, tool, unknown_ids(hidden, ids))
    assert unknown_ids(reply, ids) == missing
    assert not any(each in reply[1] for each in ids - set(json.dumps(hidden).split('"')))
    assert await world.heads() == before


@EVERY_TOOL
def test_a_hidden_item_is_indistinguishable_from_a_missing_one(tool: Tool) -> None:
    asyncio.run(compare_worlds(tool))

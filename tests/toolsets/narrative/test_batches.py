"""The batch tool: order is kept, each item stands alone, and authority holds for each."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE, a_world

pytestmark = pytest.mark.anyio


def get_call(entity_id: str) -> dict[str, Any]:
    return {"name": "neo4j_get_entity", "arguments": {"entity_id": entity_id}}


async def test_results_are_in_order_each_a_reply_or_an_error() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")

    calls = [
        get_call(ben),
        get_call(NOWHERE),
        get_call(ann),
        {"name": "no_such_tool"},
        get_call("Ann"),
    ]
    results = (await world.call("batch_call", "Narrator", calls=calls))["results"]

    assert [result.get("name") for result in results] == ["Ben", None, "Ann", None, None]
    codes = [result["error"]["code"] for result in results if "error" in result]
    assert codes == [-32002, -32602, -32003]


async def test_each_item_is_authorized_separately() -> None:
    world = await a_world()
    create = {"name": "neo4j_create_universe", "arguments": {"name": "Arda"}}

    (made,) = (await world.call("batch_call", calls=[create]))["results"]
    (denied,) = (await world.call("batch_call", "Narrator", calls=[create]))["results"]

    assert "universe_id" in made
    assert denied["error"]["code"] == -32001
    assert denied["error"]["data"]["tool"] == "neo4j_create_universe"


async def test_a_batch_cannot_hold_a_batch() -> None:
    world = await a_world()
    inner = {"name": "batch_call", "arguments": {"calls": [get_call(NOWHERE)]}}

    (result,) = (await world.call("batch_call", calls=[inner]))["results"]

    assert result["error"]["code"] == -32003


@pytest.mark.parametrize("count", [0, 51])
async def test_a_batch_holds_one_to_fifty_calls(count: int) -> None:
    world = await a_world()

    data = await world.refused("batch_call", code=-32003, calls=[get_call(NOWHERE)] * count)

    assert data["path"] == "/calls"


async def test_a_retried_batch_of_creations_creates_nothing_twice() -> None:
    world = await a_world()
    create = {"name": "neo4j_create_universe", "arguments": {"name": "Arda"}}

    first = await world.call("batch_call", key="k", calls=[create, create])
    again = await world.call("batch_call", key="k", calls=[create, create])

    assert first == again
    assert first["results"][0]["universe_id"] != first["results"][1]["universe_id"]

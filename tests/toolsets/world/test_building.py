"""Building: what world builders make holds together, and what would break the world is refused."""

import asyncio
from typing import Any

import pytest

from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio


async def test_a_location_is_created_with_exits_and_ways_back() -> None:
    isle = await a_world()

    made = await isle.call(
        "create-location",
        name="Mill",
        description="It turns.",
        key="mill",
        terrain="riverbank",
        realmIds=["town"],
        exits=[{"direction": "south", "toLocationId": "tower", "travelDurationMs": 7_000}],
    )

    assert made == {"id": isle.id("mill")}
    (way,) = (await isle.call("list-exits", locationId="mill"))["exits"]
    assert (way["direction"], way["toLocationId"]) == ("south", isle.id("tower"))
    back = (await isle.call("list-exits", locationId="tower"))["exits"]
    assert [(e["direction"], e["toLocationId"]) for e in back] == [
        ("north", isle.id("mill")),
        ("west", isle.id("road")),
    ]
    assert (await isle.call("get-location", locationId="mill"))["terrain"] == "riverbank"


async def test_an_item_without_a_key_is_identified_by_its_id() -> None:
    isle = await a_world()
    made = await isle.call("create-character", name="Ed", locationId="inn")
    context = await isle.call("get-location-context")
    assert {"id": made["id"], "name": "Ed"} in context["nearbyCharacters"]


async def test_there_is_one_exit_in_each_direction() -> None:
    isle = await a_world()
    north = {"fromLocationId": "yard", "direction": "north", "toLocationId": "tower"}
    details = await isle.refused("create-exit", "CONFLICT", "exit.direction-taken", **north)
    assert details["conflicts"]


async def test_a_taken_way_back_blocks_a_new_exit() -> None:
    isle = await a_world()
    way = {"fromLocationId": "tower", "direction": "north", "toLocationId": "road"}
    await isle.refused("create-exit", "CONFLICT", "exit.way-back-taken", **way)
    await isle.call("create-exit", **way, oneWay=True)
    exits = (await isle.call("list-exits", locationId="road"))["exits"]
    assert ("south", isle.id("yard")) in [(e["direction"], e["toLocationId"]) for e in exits]


async def test_an_exit_does_not_lead_to_its_own_location() -> None:
    isle = await a_world()
    loop = {"fromLocationId": "inn", "direction": "up", "toLocationId": "inn"}
    await isle.refused("create-exit", "CONFLICT", "exit.to-itself", **loop)


async def test_a_removed_exit_takes_its_way_back_with_it() -> None:
    isle = await a_world()
    await isle.call("remove-exit", fromLocationId="inn", direction="out")
    for place in ("inn", "yard"):
        exits = (await isle.call("list-exits", locationId=place))["exits"]
        assert {"in", "out"}.isdisjoint(each["direction"] for each in exits)
    again = {"fromLocationId": "inn", "direction": "out"}
    await isle.refused("remove-exit", "CONFLICT", "exit.unknown", **again)


async def test_the_past_keeps_a_removed_exit() -> None:
    isle = await a_world()
    before = await isle.call("get-location-context", tick=40_000_000)
    await isle.call("advance-clock", durationMs=1_000)
    await isle.call("remove-exit", fromLocationId="inn", direction="out")
    assert await isle.call("get-location-context", tick=40_000_000) == before


async def test_a_realm_does_not_contain_itself() -> None:
    isle = await a_world()
    part = {"name": "Ring", "realmType": "FOREST", "scope": "LOCAL", "key": "ring"}
    await isle.refused("create-realm", "CONFLICT", "realm.cycle", **part, withinIds=["ring"])
    await isle.call("create-realm", **part, withinIds=["town", "mist"])


async def test_a_key_that_is_taken_is_refused() -> None:
    isle = await a_world()
    item = {"name": "Key", "itemType": "key", "holderId": "inn", "key": "ann"}
    await isle.refused("create-item", "CONFLICT", "world.key-taken", **item)


async def test_parts_named_by_a_part_must_exist() -> None:
    isle = await a_world()
    await isle.refused(
        "create-player", "NOT_FOUND", "location.unknown", name="X", locationId="nowhere"
    )
    await isle.refused(
        "create-layer",
        "NOT_FOUND",
        "location.unknown",
        scopeId="ann",
        layerType="weather",
        value="sun",
        fromTick=0,
    )
    way = {"fromLocationId": "inn", "direction": "up", "toLocationId": "tower"}
    await isle.refused("create-exit", "NOT_FOUND", "item.unknown", **way, requiresItem="wand")


async def test_a_layer_does_not_end_before_it_begins() -> None:
    isle = await a_world()
    layer = {"scopeId": "inn", "layerType": "weather", "value": "sun", "fromTick": 5, "toTick": 4}
    await isle.refused("create-layer", "INVALID_ARGUMENT", "layer.ends-before-start", **layer)


async def test_the_last_written_layer_is_shown() -> None:
    isle = await a_world()
    layer = {"scopeId": "inn", "layerType": "ambient", "fromTick": 0}
    await isle.call("create-layer", **layer, value="a quarrel", toTick=60_000_000)
    assert (await isle.call("get-atmosphere"))["ambient"]["value"] == "a quarrel"
    await isle.call("create-layer", **layer, value="a reconciliation")
    assert (await isle.call("get-atmosphere"))["ambient"]["value"] == "a reconciliation"


async def test_an_event_is_dated_and_listed() -> None:
    isle = await a_world()
    await isle.call(
        "record-event",
        eventType="Town.Bell",
        description="Twice.",
        locationId="inn",
        participantIds=["ann"],
        actorKind="npc",
    )
    (event, *_) = await isle.call("get-recent-events", scope="player", scopeId="ann")
    assert (event["eventType"], event["description"], event["actorKind"]) == (
        "Town.Bell",
        "Twice.",
        "npc",
    )


async def test_a_retry_with_the_same_key_creates_once() -> None:
    isle = await a_world()
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("create-player", {"name": "Zed", "locationId": "inn"}),
        ("record-event", {"eventType": "Town.Bell", "locationId": "inn"}),
        ("move", {"moverId": "ann", "direction": "out"}),
        ("transfer-item", {"itemId": "cup", "toHolderId": "yard"}),
        ("advance-clock", {"durationMs": 7}),
        ("advance-clock", {"durationMs": 7, "playerId": "ann"}),
        ("record-lore", {"factId": "x", "type": "creature", "fields": {"name": "X"}}),
    )
    for number, (tool, arguments) in enumerate(calls):
        first = await isle.call(tool, retry=f"call-{number}", **arguments)
        again = await isle.call(tool, retry=f"call-{number}", **arguments)
        assert again == first, tool


async def test_one_of_two_builders_gets_the_direction() -> None:
    """Both at once, many times: never two exits, and never one without its way back."""
    isle = await a_world()

    async def build(target: str) -> bool:
        way = {"fromLocationId": "cellar", "direction": "in", "toLocationId": target}
        outcome = await isle.outcome("create-exit", way, "WorldBuilder")
        return outcome.error is None

    assert sorted(await asyncio.gather(build("tower"), build("yard"))) == [False, True]
    exits = (await isle.call("list-exits", locationId="cellar"))["exits"]
    inwards = [each for each in exits if each["direction"] == "in"]
    assert len(inwards) == 1

"""Odd calls: what is dated wrongly, too large, empty or null has an answer that says so."""

from dataclasses import replace

import pytest

from canonry.domain.errors import InvalidInput
from tests.toolsets.world.kit import TICK, a_world, an_isle

pytestmark = pytest.mark.anyio


async def test_numbers_beyond_all_bounds_are_refused_and_nothing_breaks() -> None:
    isle = await a_world()
    for far in ("1" + "0" * 400, "9" * 5_000, "1e999"):
        for tool, name in (("get-spatial-context", "depth"), ("get-atmosphere", "tick")):
            details = await isle.refused(
                tool, "INVALID_ARGUMENT", "number.malformed", **{name: far}
            )
            assert details["path"] == f"/{name}"
    large = await isle.call("get-spatial-context", depth=str(10**30))
    assert (large["depth"], large["requestedDepth"]) == (5, 1e30)


async def test_null_counts_as_missing_where_an_argument_may_be_missing() -> None:
    isle = await a_world()
    for tool in ("get-location-context", "get-atmosphere"):
        told = await isle.call(tool, "Narrative", locationId=None, tick=None)
        assert told == await isle.call(tool, "Narrative")
    assert (await isle.call("get-spatial-context", locationId=None, depth=None))["depth"] == 2
    assert len(await isle.call("search-lore", query="mages", k=None)) == 1
    assert len(await isle.call("search-lore", query="mages", k="3")) == 1
    await isle.refused("search-lore", "INVALID_ARGUMENT", "input.invalid", query=None)


async def test_lore_that_shows_nothing_is_found_without_a_text() -> None:
    isle = await a_world()
    for key, fields in (("dragon", {"hidden": "the king"}), ("drake", {"traits": {}})):
        await isle.call("record-lore", factId=key, type="creature", fields=fields)
        (hit,) = await isle.call("search-lore", query=key)
        assert (hit["factId"], hit["snippet"]) == (key, "")


async def test_weather_that_is_written_down_later_shows_at_its_time() -> None:
    isle = await a_world()
    layer = {"scopeId": "tower", "layerType": "weather", "value": "snow"}
    await isle.call("create-layer", **layer, fromTick=1_000, toTick=2_000)
    shown = [
        (await isle.call("get-atmosphere", locationId="tower", tick=tick))["weather"]["value"]
        for tick in (999, 1_000, 2_000, 2_001, TICK)
    ]
    assert shown == ["clear", "snow", "snow", "clear", "clear"]


async def test_nothing_happens_after_now() -> None:
    isle = await a_world()
    event = {"eventType": "Town.Bell", "locationId": "inn"}
    await isle.refused("record-event", "CONFLICT", "tick.future", **event, tick=TICK + 1)
    await isle.call("record-event", **event, tick=TICK)


async def test_what_comes_into_being_later_has_no_part_in_the_past() -> None:
    isle = await a_world()
    await isle.call("advance-clock", durationMs=10)
    await isle.call("create-location", name="Mill", description="New.", key="mill")
    await isle.call("create-player", name="Zed", locationId="inn", key="zed")
    back = {"moverId": "cook", "teleportTo": "mill"}
    await isle.refused("move", "NOT_FOUND", "location.unknown", **back, tick=TICK + 9)
    given = {"itemId": "key", "toHolderId": "zed", "anywhere": True}
    await isle.refused("transfer-item", "NOT_FOUND", "player.unknown", **given, tick=TICK + 9)
    await isle.call("move", **back, tick=TICK + 10)


async def test_those_who_were_apart_then_could_not_hand_things_on_then() -> None:
    isle = await a_world()
    await isle.call("advance-clock", durationMs=10)
    await isle.call("move", moverId="ann", direction="out")
    given = {"itemId": "cup", "toHolderId": "bob"}
    await isle.refused("transfer-item", "CONFLICT", "item.elsewhere", **given, tick=TICK)
    await isle.call("transfer-item", **given)


async def test_no_world_is_brought_in_whose_clock_stands_before_its_beginning() -> None:
    with pytest.raises(InvalidInput) as refused:
        await a_world(replace(an_isle(), tick=-1, events=()))
    assert "tick.negative" in str(refused.value.details["problems"])

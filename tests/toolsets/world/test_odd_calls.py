"""Odd calls: what is dated wrongly, too large, empty or null has an answer that says so."""

from dataclasses import replace
from typing import Any

import pytest

from canonry.values.errors import InvalidInput
from canonry.world.domain.atlas import item_id_of
from canonry.world.usecases.exchange import export_world
from canonry.world.usecases.worlds import find_world
from tests.toolsets.world.kit import TICK, a_world, an_isle, brought_in

pytestmark = pytest.mark.anyio


async def test_huge_numbers_are_refused_and_nothing_breaks() -> None:
    isle = await a_world()
    for far in ("1" + "0" * 400, "9" * 5_000, "1e999"):
        for tool, name in (("get-spatial-context", "depth"), ("get-atmosphere", "tick")):
            details = await isle.refused(
                tool, "INVALID_ARGUMENT", "number.malformed", **{name: far}
            )
            assert details["path"] == f"/{name}"
    large = await isle.call("get-spatial-context", depth=str(10**30))
    assert (large["depth"], large["requestedDepth"]) == (5, 1e30)


async def test_null_counts_as_a_missing_optional_argument() -> None:
    isle = await a_world()
    for tool in ("get-location-context", "get-atmosphere"):
        reply = await isle.call(tool, "Narrative", locationId=None, tick=None)
        assert reply == await isle.call(tool, "Narrative")
    assert (await isle.call("get-spatial-context", locationId=None, depth=None))["depth"] == 2
    assert len(await isle.call("search-lore", query="mages", k=None)) == 1
    assert len(await isle.call("search-lore", query="mages", k="3")) == 1
    await isle.refused("search-lore", "INVALID_ARGUMENT", "input.invalid", query=None)


async def test_lore_without_visible_text_is_found_without_a_snippet() -> None:
    isle = await a_world()
    for key, fields in (("dragon", {"hidden": "the king"}), ("drake", {"traits": {}})):
        await isle.call("record-lore", factId=key, type="creature", fields=fields)
        (hit,) = await isle.call("search-lore", query=key)
        assert (hit["factId"], hit["snippet"]) == (key, "")


async def test_weather_recorded_later_applies_at_its_time() -> None:
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


async def test_later_created_items_have_no_part_in_the_past() -> None:
    isle = await a_world()
    await isle.call("advance-clock", durationMs=10)
    await isle.call("create-location", name="Mill", description="New.", key="mill")
    await isle.call("create-player", name="Zed", locationId="inn", key="zed")
    back = {"moverId": "cook", "teleportTo": "mill"}
    await isle.refused("move", "NOT_FOUND", "location.unknown", **back, tick=TICK + 9)
    given = {"itemId": "key", "toHolderId": "zed", "anywhere": True}
    await isle.refused("transfer-item", "NOT_FOUND", "player.unknown", **given, tick=TICK + 9)
    await isle.call("move", **back, tick=TICK + 10)


async def test_people_apart_at_a_tick_could_not_hand_items_over_then() -> None:
    isle = await a_world()
    await isle.call("advance-clock", durationMs=10)
    await isle.call("move", moverId="ann", direction="out")
    given = {"itemId": "cup", "toHolderId": "bob"}
    await isle.refused("transfer-item", "CONFLICT", "item.elsewhere", **given, tick=TICK)
    await isle.call("transfer-item", **given)


async def test_a_world_with_a_clock_before_its_beginning_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        await a_world(replace(an_isle(), tick=-1, events=()))
    assert "tick.negative" in str(refused.value.details["problems"])


async def test_unnamed_people_and_items_are_not_found() -> None:
    """As in the contract's original, which looked for the player before it looked at the tick."""
    isle = await a_world()
    for name in (None, "", 5, True, ["ann"], {"id": "ann"}, "nobody", "x" * 100_000):
        assert await isle.call("get-player-context", playerId=name) is None
        assert await isle.call("get-player-context", playerId=name, tick="soon") is None
        assert await isle.call("get-canonical-fact", factId=name) is None
    assert await isle.call("get-player-context", "Narrative") is None
    assert await isle.call("get-canonical-fact", "Narrative") is None


async def test_a_player_context_at_an_invalid_tick_is_refused() -> None:
    isle = await a_world()
    ticks: tuple[Any, ...] = ("soon", True, [1], {}, "NaN")
    for tick in ticks:
        arguments = {"playerId": "ann", "tick": tick}
        details = await isle.refused(
            "get-player-context", "INVALID_ARGUMENT", "number.malformed", **arguments
        )
        assert details["path"] == "/tick"
    misspelt = {"playerid": "ann"}
    for tool in ("get-player-context", "get-canonical-fact"):
        await isle.refused(tool, "INVALID_ARGUMENT", "input.unknown-property", **misspelt)


@pytest.mark.parametrize("key", [" ", "#world", " inn", "inn\n", "a\u2028b", "a\x1bb"])
async def test_a_key_that_no_file_could_hold_is_refused(key: str) -> None:
    isle = await a_world()
    parts: tuple[tuple[str, dict[str, Any]], ...] = (
        ("create-location", {"name": "X", "description": ""}),
        ("create-item", {"name": "X", "itemType": "x", "holderId": "inn"}),
        ("create-layer", {"scopeId": "inn", "layerType": "base", "value": "x", "fromTick": 0}),
    )
    for tool, reported in parts:
        details = await isle.refused(tool, "INVALID_ARGUMENT", "key.malformed", **reported, key=key)
        assert details["path"] == "/key"
    fact = {"factId": key, "type": "faction", "fields": {"name": "X"}}
    await isle.refused("record-lore", "INVALID_ARGUMENT", "key.malformed", **fact)


@pytest.mark.parametrize("key", ["Ünïcode 🐉", "می‌خواهم", "a/b", "null", "0", "'; DROP"])
async def test_a_world_made_by_builders_can_be_imported_again(key: str) -> None:
    isle = await a_world()
    await isle.call("create-location", name="X", description="", key=key)
    await isle.call("create-layer", scopeId=key, layerType="base", value="", fromTick=0, key=key)
    await isle.call("create-route", routeName=key, stopIds=[key, "inn"])
    await isle.call("record-lore", factId=key, type="faction", fields={"name": "X"})
    world = await find_world(isle.canon, isle.world)
    assert world is not None
    out = await export_world(isle.canon, world)
    assert not any((await brought_in(isle.canon, out, "again")).changed.values())
    assert (await a_world(out)).world == isle.world


async def test_unknown_parts_are_reported_only_by_id() -> None:
    """Neither the id of the space nor that of another world's player names anything here."""
    isle = await a_world()
    there = await brought_in(isle.canon, replace(an_isle(), name="Elsewhere"))
    for strange in (isle.world, there.world_id, item_id_of(there.world_id, "ann")):
        await isle.refused("move", "NOT_FOUND", "player.unknown", moverId=strange, teleportTo="inn")
        away = {"moverId": "ann", "teleportTo": strange}
        await isle.refused("move", "NOT_FOUND", "location.unknown", **away)
        new = {"name": "X", "locationId": "inn", "key": strange}
        await isle.refused("create-player", "CONFLICT", "world.id-taken", **new)


async def test_names_are_not_empty() -> None:
    isle = await a_world()
    for tool, name, reported in (
        ("create-character", "name", {"locationId": "inn"}),
        ("record-event", "eventType", {}),
        ("create-route", "routeName", {"stopIds": ["inn", "yard"]}),
    ):
        await isle.refused(tool, "INVALID_ARGUMENT", "input.invalid", **reported, **{name: " \t"})


async def test_the_newest_of_very_many_layers_shows() -> None:
    """Builders who only ever say what the weather is now leave all former weather open."""
    isle = await a_world()
    for number in range(120):
        await isle.call("advance-clock", durationMs=1)
        layer = {"scopeId": "tower", "layerType": "weather", "fromTick": TICK + number + 1}
        await isle.call("create-layer", **layer, value=f"sky {number}")
    now = await isle.call("get-atmosphere", locationId="tower")
    then = await isle.call("get-atmosphere", locationId="tower", tick=TICK + 60)
    assert (now["weather"]["value"], then["weather"]["value"]) == ("sky 119", "sky 59")

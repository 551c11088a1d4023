"""Contexts: golden replies of every read tool, and what becomes of odd arguments."""

from dataclasses import replace
from typing import Any

import pytest

from tests.toolsets.world.kit import TICK, a_world, an_isle

pytestmark = pytest.mark.anyio
NO_LAYER = {"present": False, "layerType": "ambient"}


def exits_of(reply: Any) -> list[tuple[str, str]]:
    return [(each["direction"], each["toLocationId"]) for each in reply["exits"]]


async def test_health_is_reported() -> None:
    isle = await a_world()
    assert await isle.call("health") == {"ok": True, "service": "world-context"}
    assert await isle.call("world-context-health") == {"ok": True, "service": "world-context"}


async def test_a_location_context_is_complete() -> None:
    isle = await a_world()

    reply = await isle.call("get-location-context", "Narrative")

    song = reply["ambient"].pop("valuePreview")
    authored = reply["ambient"].pop("authoredAt")
    assert song.startswith("a song")
    assert len(song) == 240
    assert authored.startswith("2025-01-15T00:00:00")
    assert reply["layers"][0]["layerType"] == "ambient"
    assert reply["layers"][1]["valuePreview"] == "rain"
    assert {name: value for name, value in reply.items() if name != "layers"} == {
        "tick": TICK,
        "location": {
            "id": isle.id("inn"),
            "name": "Inn",
            "description": "A low room.",
            "tags": ["warm"],
            "version": 1,
        },
        "exits": [
            {
                "direction": "down",
                "toLocationId": isle.id("cellar"),
                "name": "Cellar",
                "travelDurationMs": 30_000,
                "hidden": True,
            },
            {
                "direction": "out",
                "toLocationId": isle.id("yard"),
                "name": "Yard",
                "travelDurationMs": 5_000,
            },
        ],
        "routes": [],
        "memberships": [],
        "realms": {
            "geographic": [
                {
                    "id": isle.id("isle"),
                    "name": "The Isle",
                    "realmType": "CONTINENT",
                    "scope": "GLOBAL",
                    "description": "",
                    "narrativeTags": ["salt", "old"],
                }
            ],
            "political": [
                {
                    "id": isle.id("town"),
                    "name": "Town",
                    "realmType": "CITY",
                    "scope": "LOCAL",
                    "description": "",
                    "narrativeTags": ["ale", "old"],
                }
            ],
            "weather": [],
            "functional": [],
        },
        "narrativeTags": ["ale", "old", "salt"],
        "ambient": {
            "present": True,
            "layerType": "ambient",
            "scopeId": isle.id("inn"),
            "effectiveFromTick": 0,
            "effectiveToTick": None,
            "valueLength": 700,
        },
        "nearbyPlayers": [{"id": isle.id("ann")}],
        "nearbyCharacters": [{"id": isle.id("cook"), "name": "The Cook"}],
        "recentEvents": await isle.call("get-recent-events", scope="location", scopeId="inn"),
    }


async def test_events_are_reported_newest_first() -> None:
    isle = await a_world()

    events = await isle.call("get-recent-events", scope="player", scopeId=isle.id("ann"))

    assert [(e["eventType"], e["tick"], e["actorKind"], e["status"]) for e in events] == [
        ("Player.Fight", 30_000_000, "player", "processed"),
        ("Town.Bell", 100, "system", "processed"),
    ]
    assert events[1]["description"] == "It rang."
    assert events[0]["occurredUtc"].startswith("2025-01-15T00:00:00")


async def test_a_player_context_is_complete_and_shows_nothing_else() -> None:
    isle = await a_world()

    reply = await isle.call("get-player-context", "Narrative", playerId="ann")

    for stamp in ("createdUtc", "updatedUtc"):
        assert reply["player"].pop(stamp).startswith("2025-01-15T00:00:00")
    assert reply["player"] == {
        "id": isle.id("ann"),
        "name": "Ann",
        "currentLocationId": isle.id("inn"),
        "attributes": {"health": 9},
    }
    assert reply["location"]["name"] == "Inn"
    assert reply["inventory"] == [
        {"id": isle.id("cup"), "name": "Cup", "itemType": "thing", "quantity": 2}
    ]
    assert reply["warnings"] == []


async def test_an_atmosphere_combines_the_nearest_layers_and_defaults() -> None:
    isle = await a_world()

    yard = await isle.call("get-atmosphere", locationId="yard", tick=15_000_000)
    inn = await isle.call("get-atmosphere", locationId="inn", tick=15_000_000)

    assert (yard["weather"]["value"], yard["weather"]["scopeId"]) == ("fog", isle.id("mist"))
    assert inn["weather"]["value"] == "rain"
    assert yard["ambient"] == {
        "present": False,
        "layerType": "ambient",
        "defaulted": True,
        "value": "calm",
        "valuePreview": "calm",
        "valueLength": 4,
        "valueTruncated": False,
    }
    assert (yard["lighting"]["value"], yard["timeOfDay"]) == ("daylight", "night")
    assert inn["ambient"]["valueTruncated"]
    assert "value" not in inn["ambient"]


@pytest.mark.parametrize(
    ("tick", "weather"),
    [(9_999_999, "rain"), (10_000_000, "fog"), (20_000_000, "fog"), (20_000_001, "rain")],
)
async def test_a_layer_applies_from_its_first_to_its_last_tick(tick: int, weather: str) -> None:
    isle = await a_world()
    reply = await isle.call("get-atmosphere", locationId="road", tick=tick)
    assert reply["weather"]["value"] == weather


@pytest.mark.parametrize(
    ("hour", "name"),
    [(0, "night"), (5, "dawn"), (8, "morning"), (12, "afternoon"), (17, "dusk"), (20, "night")],
)
async def test_the_time_of_day_follows_the_tick(hour: int, name: str) -> None:
    isle = await a_world()
    reply = await isle.call("get-atmosphere", tick=hour * 3_600_000)
    assert reply["timeOfDay"] == name


async def test_neighbours_have_the_first_step_and_the_whole_path() -> None:
    isle = await a_world()

    reply = await isle.call("get-spatial-context", "Narrative")

    found = [(n["name"], n["depth"], n["direction"], n["path"]) for n in reply["neighbors"]]
    assert found == [
        ("Cellar", 1, "down", ["down"]),
        ("Yard", 1, "out", ["out"]),
        ("Road", 2, "down", ["down", "west"]),
    ]
    assert (reply["locationId"], reply["depth"]) == (isle.id("inn"), 2)
    assert "requestedDepth" not in reply


@pytest.mark.parametrize(
    ("asked", "depth", "arguments"),
    [
        (10, 5, {"requestedDepth": 10, "warnings": ["depth clamped to maximum of 5"]}),
        ("0", 1, {"requestedDepth": 0, "warnings": ["depth clamped to minimum of 1"]}),
        (2.5, 2, {"requestedDepth": 2.5}),
        (" 3 ", 3, {}),
        ("0x2", 2, {}),
        ("", 2, {}),
    ],
)
async def test_a_clamped_depth_is_reported(
    asked: object, depth: int, arguments: dict[str, Any]
) -> None:
    isle = await a_world()
    reply = await isle.call("get-spatial-context", depth=asked)
    assert reply["depth"] == depth
    assert {k: v for k, v in reply.items() if k in {"requestedDepth", "warnings"}} == arguments


async def test_missing_items_give_null_or_nothing() -> None:
    isle = await a_world()
    assert await isle.call("get-location-context", locationId="nowhere") is None
    assert await isle.call("get-location-context", locationId=isle.id("ann")) is None
    assert await isle.call("get-player-context", playerId="cook") is None
    assert await isle.call("get-player-context", playerId="", tick="abc") is None
    assert await isle.call("get-spatial-context", locationId="nowhere") is None
    assert await isle.call("get-location", locationId="nowhere") is None
    assert await isle.call("get-canonical-fact", factId="nothing") is None
    assert await isle.call("list-exits", locationId="nowhere") == {"exits": []}
    assert await isle.call("get-recent-events", scope="player", scopeId="inn") == []
    nowhere = await isle.call("get-atmosphere", locationId="nowhere")
    assert nowhere["weather"]["defaulted"]
    assert nowhere["warnings"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"scope": "location"},
        {"scope": "Location", "scopeId": "inn"},
        {"scope": "global", "scopeId": "inn"},
        {"scope": 3, "scopeId": "inn"},
        {"scope": "location", "scopeId": 7},
        {"scope": "location", "scopeId": "inn", "limit": "many"},
        {"scope": "location", "scopeId": "inn", "limit": True},
    ],
)
async def test_unknown_but_valid_subjects_have_no_recent_events(
    arguments: dict[str, Any],
) -> None:
    isle = await a_world()
    assert await isle.call("get-recent-events", **arguments) == []


async def test_the_limit_of_events_is_clamped() -> None:
    isle = await a_world()
    for limit, count in ((1, 1), ("1.9", 1), (0, 1), (-4, 1), (1_000, 2)):
        asked = {"scope": "location", "scopeId": "inn", "limit": limit}
        assert len(await isle.call("get-recent-events", **asked)) == count, limit


async def test_invalid_numbers_are_refused_under_their_own_name() -> None:
    isle = await a_world()
    details = await isle.refused(
        "get-location-context", "INVALID_ARGUMENT", "number.malformed", tick="abc"
    )
    assert details["path"] == "/tick"
    for depth in ("abc", "nan", "1_0", "Infinity"):
        details = await isle.refused(
            "get-spatial-context", "INVALID_ARGUMENT", "number.malformed", depth=depth
        )
        assert details["path"] == "/depth"
    wrong: Any
    for wrong in (True, [], {}):
        await isle.refused("get-atmosphere", "INVALID_ARGUMENT", "input.invalid", tick=wrong)
    far = "1e300"
    await isle.refused("get-atmosphere", "INVALID_ARGUMENT", "tick.out-of-range", tick=far)


async def test_the_older_tools_still_answer() -> None:
    isle = await a_world()

    location = await isle.call("get-location", locationId="road")
    exits = await isle.call("list-exits", locationId="road")

    assert location["exits"] == [
        {
            "direction": "south",
            "to": isle.id("yard"),
            "name": "Yard",
            "travelDurationMs": 60_000,
        },
        {
            "direction": "east",
            "to": isle.id("tower"),
            "name": "Tower",
            "travelDurationMs": 60_000,
            "lockState": "locked",
        },
        {
            "direction": "west",
            "to": isle.id("cellar"),
            "name": "Cellar",
            "travelDurationMs": 60_000,
            "lockState": "locked",
        },
    ]
    assert exits_of(exits) == [
        ("south", isle.id("yard")),
        ("east", isle.id("tower")),
        ("west", isle.id("cellar")),
    ]
    assert exits["exits"][2]["blocked"] == "A fallen oak."
    assert exits["exits"][1]["requiresItem"] == isle.id("key")


async def test_before_the_clock_is_set_it_is_noon() -> None:
    isle = await a_world(replace(an_isle(), tick=None, lore=(), events=()))
    assert (await isle.call("get-atmosphere"))["timeOfDay"] == "noon"
    assert (await isle.call("get-atmosphere", tick=0))["timeOfDay"] == "night"
    await isle.call("advance-clock", durationMs=6 * 3_600_000)
    assert (await isle.call("get-atmosphere"))["timeOfDay"] == "dawn"

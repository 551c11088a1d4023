"""Views: a character's context, a player's eyes, the surroundings then, routes, changes, events."""

import pytest

from canonry.readmodels.edges import Direction
from tests.toolsets.world.kit import TICK
from tests.toolsets.world.proposals.adversarial import FIGHT, GO, MOOD, but, envelope
from tests.toolsets.world.proposals.kit import fresh, propose, the_isle

pytestmark = pytest.mark.anyio


async def test_a_character_has_a_context_of_their_own() -> None:
    isle = await the_isle()
    told = await isle.call("get-character-context", "Narrative", characterId="cook")

    assert told["character"]["kind"] == "character"
    assert told["location"]["name"] == "Inn"
    assert [each["name"] for each in told["inventory"]] == ["Key"]
    assert told["status"] == {
        "alive": True,
        "present": True,
        "conditions": [],
        "resources": {"health": 5},
    }
    ann = await isle.call("get-character-context", "Narrative", characterId="ann")
    assert ann["status"]["conditions"] == [{"condition": "cold", "untilTick": None}]
    ghost = await isle.call("get-character-context", "Narrative", characterId="ghost")
    assert not ghost["status"]["alive"]
    assert await isle.call("get-character-context", "Narrative", characterId="cup") is None


async def test_how_somebody_was_is_kept() -> None:
    isle = await the_isle()
    await isle.call("advance-clock", durationMs=1_000)
    hit = {"targetId": "cook", "kind": "damage", "amount": 5}
    await propose(isle, fresh(envelope(but(FIGHT, effects=[hit]))))

    now = await isle.call("get-character-context", "World", characterId="cook")
    then = await isle.call("get-character-context", "World", characterId="cook", tick=TICK)

    assert (now["status"]["alive"], now["status"]["resources"]) == (False, {"health": 0})
    assert (then["status"]["alive"], then["status"]["resources"]) == (True, {"health": 5})
    assert now["recentEvents"][0]["eventType"] == "Combat.Resolved"


async def test_a_player_sees_nothing_hidden_and_nobody_absent() -> None:
    isle = await the_isle()

    narrator = await isle.call("get-location-context", "Narrative", locationId="inn")
    player = await isle.call("get-player-view", "Narrative", playerId="ann")

    assert {each["direction"] for each in narrator["exits"]} == {"out", "down"}
    assert {each["direction"] for each in player["exits"]} == {"out"}
    names = {each["name"] for each in player["nearbyCharacters"]}
    assert names == {"The Cook", "Old Tom"}
    assert await isle.call("get-player-view", "Narrative", playerId="cook") is None


async def test_the_surroundings_are_those_of_the_tick() -> None:
    isle = await the_isle()
    await isle.call("advance-clock", durationMs=1_000)
    await isle.call("remove-exit", fromLocationId="inn", direction="out")

    now = await isle.call("get-surroundings", "World", locationId="inn", depth=1)
    then = await isle.call("get-surroundings", "World", locationId="inn", depth=1, tick=TICK)

    assert {each["name"] for each in now["neighbors"]} == {"Cellar"}
    assert {each["name"] for each in then["neighbors"]} == {"Cellar", "Yard"}
    assert await isle.call("get-surroundings", "World", locationId="moon") is None


async def test_the_quickest_way_is_found_and_told_with_its_time() -> None:
    isle = await the_isle()
    ends = {"fromLocationId": "inn", "toLocationId": "road"}

    quick = await isle.call("find-route", "World", **ends)
    seen = await isle.call("find-route", "World", onlySeen=True, **ends)

    assert [each["direction"] for each in quick["steps"]] == [Direction.OUT, Direction.NORTH]
    assert quick["totalDurationMs"] == 65_000
    assert seen == quick
    here = await isle.call("find-route", "World", fromLocationId="inn", toLocationId="inn")
    assert (here["steps"], here["totalDurationMs"]) == ([], 0)


async def test_a_route_of_a_mover_needs_what_its_ways_require() -> None:
    isle = await the_isle()
    ends = {"fromLocationId": "road", "toLocationId": "tower"}

    anybody = await isle.call("find-route", "World", **ends)
    ann = await isle.call("find-route", "World", moverId="ann", **ends)
    cook = await isle.call("find-route", "World", moverId="cook", **ends)

    assert [each["direction"] for each in anybody["steps"]] == ["east"]
    assert [each["direction"] for each in ann["steps"]] == ["south", "up"]
    assert cook == anybody
    for missing in ({"moverId": "nobody", **ends}, {**ends, "toLocationId": "moon"}):
        assert await isle.call("find-route", "World", **missing) is None


async def test_where_no_way_leads_none_is_made_up() -> None:
    isle = await the_isle()
    await isle.call("remove-exit", fromLocationId="inn", direction="down")

    told = await isle.call(
        "find-route", "World", fromLocationId="inn", toLocationId="cellar", onlySeen=True
    )

    assert told["steps"] is None
    assert told["totalDurationMs"] is None
    assert told["complete"]


async def test_what_changed_between_two_ticks_is_told() -> None:
    isle = await the_isle()
    await isle.call("advance-clock", durationMs=1_000)
    await propose(isle, fresh(envelope(GO)))
    await isle.call("remove-exit", fromLocationId="inn", direction="down")
    await isle.call(
        "create-layer",
        scopeId="inn",
        layerType="lighting",
        value="One lamp.",
        fromTick=TICK + 1_000,
    )

    told = await isle.call("get-changes", "Narrative", locationId="inn", fromTick=TICK)

    assert told["toTick"] == TICK + 1_000
    assert told["left"] == [isle.id("ann")]
    assert told["arrived"] == []
    assert [each["direction"] for each in told["exitsClosed"]] == ["down"]
    assert told["exitsOpened"] == []
    assert told["layersChanged"] == [
        {"layerType": "lighting", "before": None, "after": "One lamp."}
    ]
    assert [each["eventType"] for each in told["events"]] == ["Player.Move"]
    back = await isle.outcome("get-changes", {"fromTick": 2, "toTick": 1}, "Narrative")
    assert back.body["error"]["details"]["reason"] == "changes.backwards"
    nowhere = {"fromTick": TICK, "locationId": "moon"}
    assert await isle.call("get-changes", "Narrative", **nowhere) is None


async def test_events_are_found_by_word_kind_thing_and_time() -> None:
    isle = await the_isle()
    await propose(isle, fresh(envelope(MOOD)))

    async def kinds(**wanted: object) -> list[str]:
        found = await isle.call("search-events", "Planner", **wanted)
        assert found["complete"]
        return [each["eventType"] for each in found["events"]]

    assert await kinds() == ["World.Ambience.Requested", "Player.Fight", "Town.Bell"]
    assert await kinds(query="rang") == ["Town.Bell"]
    assert await kinds(query="rang silently") == []
    assert await kinds(eventType="Player.Fight") == ["Player.Fight"]
    assert await kinds(involvedId="bob") == ["Player.Fight"]
    assert await kinds(fromTick=101, toTick=40_000_000) == ["Player.Fight"]
    assert await kinds(limit=1) == ["World.Ambience.Requested"]

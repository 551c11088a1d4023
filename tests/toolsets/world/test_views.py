"""Views: a character's context, a player's eyes, the surroundings then, routes, changes, events."""

import pytest

from canonry.readmodels.edges import Direction
from tests.toolsets.world.kit import TICK
from tests.toolsets.world.proposals.adversarial import (
    FIGHT,
    GO,
    MOOD,
    change_parameters,
    make_envelope,
)
from tests.toolsets.world.proposals.kit import send_proposal, the_isle, with_new_ids

pytestmark = pytest.mark.anyio


async def test_a_character_has_its_own_context() -> None:
    isle = await the_isle()
    reply = await isle.call("get-character-context", "Narrative", characterId="cook")

    assert reply["character"]["kind"] == "character"
    assert reply["location"]["name"] == "Inn"
    assert [each["name"] for each in reply["inventory"]] == ["Key"]
    assert reply["status"] == {
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


async def test_earlier_status_is_kept() -> None:
    isle = await the_isle()
    await isle.call("advance-clock", durationMs=1_000)
    hit = {"targetId": "cook", "kind": "damage", "amount": 5}
    await send_proposal(isle, with_new_ids(make_envelope(change_parameters(FIGHT, effects=[hit]))))

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


async def test_the_quickest_way_is_found_with_its_time() -> None:
    isle = await the_isle()
    ends = {"fromLocationId": "inn", "toLocationId": "road"}

    quick = await isle.call("find-route", "World", **ends)
    seen = await isle.call("find-route", "World", onlySeen=True, **ends)

    assert [each["direction"] for each in quick["steps"]] == [Direction.OUT, Direction.NORTH]
    assert quick["totalDurationMs"] == 65_000
    assert seen == quick
    here = await isle.call("find-route", "World", fromLocationId="inn", toLocationId="inn")
    assert (here["steps"], here["totalDurationMs"]) == ([], 0)


async def test_a_movers_route_respects_requirements_of_its_exits() -> None:
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


async def test_no_route_is_invented_if_no_way_exists() -> None:
    isle = await the_isle()
    await isle.call("remove-exit", fromLocationId="inn", direction="down")

    reply = await isle.call(
        "find-route", "World", fromLocationId="inn", toLocationId="cellar", onlySeen=True
    )

    assert reply["steps"] is None
    assert reply["totalDurationMs"] is None
    assert reply["complete"]


async def test_changes_between_two_ticks_are_listed() -> None:
    isle = await the_isle()
    await isle.call("advance-clock", durationMs=1_000)
    await send_proposal(isle, with_new_ids(make_envelope(GO)))
    await isle.call("remove-exit", fromLocationId="inn", direction="down")
    await isle.call(
        "create-layer",
        scopeId="inn",
        layerType="lighting",
        value="One lamp.",
        fromTick=TICK + 1_000,
    )

    reply = await isle.call("get-changes", "Narrative", locationId="inn", fromTick=TICK)

    assert reply["toTick"] == TICK + 1_000
    assert reply["left"] == [isle.id("ann")]
    assert reply["arrived"] == []
    assert [each["direction"] for each in reply["exitsClosed"]] == ["down"]
    assert reply["exitsOpened"] == []
    assert reply["layersChanged"] == [
        {"layerType": "lighting", "before": None, "after": "One lamp."}
    ]
    assert [each["eventType"] for each in reply["events"]] == ["Player.Move"]
    back = await isle.outcome("get-changes", {"fromTick": 2, "toTick": 1}, "Narrative")
    assert back.body["error"]["details"]["reason"] == "changes.backwards"
    nowhere = {"fromTick": TICK, "locationId": "moon"}
    assert await isle.call("get-changes", "Narrative", **nowhere) is None


async def test_events_are_found_by_word_kind_item_and_time() -> None:
    isle = await the_isle()
    await send_proposal(isle, with_new_ids(make_envelope(MOOD)))

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

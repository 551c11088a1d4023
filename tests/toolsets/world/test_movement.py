"""Movement: nobody is in two places, nothing is lost, and no clock goes back."""

import pytest

from tests.toolsets.world.kit import TICK, Isle, a_world

pytestmark = pytest.mark.anyio


async def place_of(isle: Isle, player: str, **more: int) -> str | None:
    reply = await isle.call("get-player-context", playerId=player, **more)
    return None if reply["location"] is None else str(reply["location"]["name"])


async def test_a_player_uses_an_exit_and_the_clock_advances() -> None:
    isle = await a_world()

    moved = await isle.call("move", moverId="ann", direction="out")

    assert moved == {
        "moverId": isle.id("ann"),
        "fromLocationId": isle.id("inn"),
        "toLocationId": isle.id("yard"),
        "tick": TICK,
        "travelDurationMs": 5_000,
        "clockTick": TICK + 5_000,
    }
    assert await place_of(isle, "ann") == "Yard"
    inn = await isle.call("get-location-context")
    assert inn["nearbyPlayers"] == []
    assert inn["recentEvents"][0]["eventType"] == "Player.Move"
    assert isle.id("inn") in [at["id"] for at in inn["recentEvents"][0]["places"]]
    yard = await isle.call("get-location-context", locationId="yard")
    assert {each["id"] for each in yard["nearbyPlayers"]} == {isle.id("ann"), isle.id("bob")}


async def test_the_past_shows_earlier_locations() -> None:
    isle = await a_world()
    await isle.call("advance-clock", durationMs=1_000)
    await isle.call("move", moverId="ann", direction="out")
    await isle.call("advance-clock", durationMs=1_000)
    await isle.call("move", moverId="ann", direction="north")

    places = [await place_of(isle, "ann", tick=TICK + t) for t in (0, 999, 1_000, 1_999, 2_000)]

    assert places == ["Inn", "Inn", "Yard", "Yard", "Road"]
    inn = await isle.call("get-location-context", tick=TICK + 999)
    assert inn["nearbyPlayers"] == [{"id": isle.id("ann")}]


async def test_nobody_moves_without_an_exit() -> None:
    isle = await a_world()
    await isle.refused("move", "CONFLICT", "exit.unknown", moverId="ann", direction="north")
    await isle.refused("move", "INVALID_ARGUMENT", "move.no-way", moverId="ann")
    both = {"direction": "out", "teleportTo": "tower"}
    await isle.refused("move", "INVALID_ARGUMENT", "move.no-way", moverId="ann", **both)
    await isle.refused("move", "NOT_FOUND", "player.unknown", moverId="cup", direction="out")


async def test_blocked_exits_let_nobody_pass() -> None:
    isle = await a_world()
    await isle.call("move", moverId="bob", direction="north")
    await isle.refused("move", "CONFLICT", "exit.blocked", moverId="bob", direction="west")


async def test_an_exit_that_needs_an_item_lets_its_holder_pass() -> None:
    isle = await a_world()
    await isle.call("move", moverId="bob", direction="north")
    await isle.refused("move", "CONFLICT", "exit.needs-item", moverId="bob", direction="east")
    await isle.call("transfer-item", itemId="key", toHolderId="bob", anywhere=True)
    await isle.call("move", moverId="bob", direction="east")
    assert await place_of(isle, "bob") == "Tower"


async def test_only_permitted_callers_teleport_past_exits() -> None:
    isle = await a_world()
    moved = await isle.call("move", moverId="ann", teleportTo="tower", reason="A dream.")
    assert moved["travelDurationMs"] == 0
    assert await place_of(isle, "ann") == "Tower"
    outcome = await isle.outcome("move", {"moverId": "ann", "teleportTo": "inn"}, "World")
    assert outcome.body["error"]["code"] == "UNAUTHORIZED"
    await isle.refused("move", "CONFLICT", "move.stays", moverId="ann", teleportTo="tower")


async def test_moves_are_dated_between_the_arrival_and_now() -> None:
    isle = await a_world()
    late = {"moverId": "ann", "direction": "out", "tick": TICK + 1}
    await isle.refused("move", "CONFLICT", "tick.future", **late)
    await isle.call("move", moverId="ann", direction="out")
    early = {"moverId": "ann", "direction": "north", "tick": TICK - 1}
    await isle.refused("move", "CONFLICT", "move.before-arrival", **early)


async def test_the_last_of_several_moves_at_one_tick_counts() -> None:
    isle = await a_world()
    for direction in ("out", "north", "south"):
        await isle.call("move", moverId="ann", direction=direction)
    assert await place_of(isle, "ann") == "Yard"
    road = await isle.call("get-location-context", locationId="road")
    assert road["nearbyPlayers"] == []


async def test_items_are_handed_over_at_one_place() -> None:
    isle = await a_world()

    await isle.call("transfer-item", itemId="cup", toHolderId="cook", fromHolderId="ann")
    gone = {"itemId": "cup", "toHolderId": "inn"}
    wrong = {**gone, "fromHolderId": "ann"}
    await isle.refused("transfer-item", "CONFLICT", "item.held-otherwise", **wrong)
    far = {"itemId": "cup", "toHolderId": "bob"}
    await isle.refused("transfer-item", "CONFLICT", "item.elsewhere", **far)
    await isle.call("transfer-item", **gone)

    assert (await isle.call("get-player-context", playerId="ann"))["inventory"] == []
    await isle.call("transfer-item", itemId="cup", toHolderId="ann")
    (cup,) = (await isle.call("get-player-context", playerId="ann"))["inventory"]
    assert cup["quantity"] == 2


async def test_clocks_only_go_forward() -> None:
    isle = await a_world()
    for duration in (0, -1):
        await isle.refused(
            "advance-clock", "INVALID_ARGUMENT", "clock.not-forward", durationMs=duration
        )
    assert await isle.call("advance-clock", durationMs=500, playerId="ann") == {"tick": 500}
    assert await isle.call("advance-clock", durationMs=500) == {"tick": TICK + 500}
    assert (await isle.call("get-location-context"))["tick"] == TICK + 500


async def test_single_items_with_one_name_stay_separate() -> None:
    isle = await a_world()
    for key, holder in (("left-glove", "ann"), ("right-glove", "inn")):
        await isle.call("create-item", name="Glove", key=key, holderId=holder, itemType="clothes")

    await isle.call("transfer-item", itemId="right-glove", toHolderId="ann")

    reply = await isle.call("get-player-context", playerId="ann")
    assert [each["name"] for each in reply["inventory"]].count("Glove") == 2


async def test_the_dead_and_the_absent_do_not_walk_but_can_be_carried() -> None:
    isle = await a_world()
    await isle.call("set-status", moverId="cook", alive=False)
    await isle.call("set-status", moverId="bob", present=False)

    await isle.refused("move", "CONFLICT", "person.dead", moverId="cook", direction="out")
    await isle.refused("move", "CONFLICT", "person.absent", moverId="bob", direction="north")
    await isle.call("move", moverId="cook", teleportTo="yard", reason="They carry him out.")
    await isle.call("set-status", moverId="bob", present=True)
    await isle.call("move", moverId="bob", direction="north")

    assert await place_of(isle, "bob") == "Road"

"""Time travel: what a context says of a tick is what the world said when its clock stood there."""

import random
from typing import Any

import pytest

from canonry.log.schemas.world_types import Tie
from tests.domain.world.generated import an_atlas
from tests.toolsets.world.kit import Isle, a_world

pytestmark = pytest.mark.anyio
STEPS = 40


async def read_contexts(isle: Isle, places: list[str], **when: int) -> list[Any]:
    """All contexts of some places and all players, without what the log alone knows."""
    found = [await isle.call("get-location-context", locationId=p, **when) for p in places]
    found += [await isle.call("get-atmosphere", locationId=p, **when) for p in places]
    for number in range(3):
        player = await isle.call("get-player-context", playerId=f"player-{number}", **when)
        found.append(player)
    return [without_dates(each) for each in found]


def without_dates(value: Any) -> Any:
    """The value without instants of recording and without the player's own clock."""
    hidden = {"authoredAt", "occurredUtc", "createdUtc", "updatedUtc"}
    match value:
        case dict():
            return {k: without_dates(v) for k, v in value.items() if k not in hidden}
        case list():
            return [without_dates(each) for each in value]
        case _:
            return value


@pytest.mark.parametrize("seed", range(4))
async def test_the_past_is_returned_as_it_was(seed: int) -> None:
    isle = await a_world(an_atlas(seed, locations=12, players=3, items=3))
    lots = random.Random(seed)
    places = [f"place-{n}" for n in range(12)]
    seen: dict[int, list[Any]] = {}
    for _ in range(STEPS):
        now = (await isle.call("advance-clock", durationMs=lots.randrange(1, 5_000)))["tick"]
        await change_world(isle, lots, places)
        seen[now] = await read_contexts(isle, places)

    for tick, reported in seen.items():
        assert await read_contexts(isle, places, tick=tick) == reported, (seed, tick)


async def change_world(isle: Isle, lots: random.Random, places: list[str]) -> None:
    """Something happens; what the world does not allow does not."""
    player, place, other = f"player-{lots.randrange(3)}", lots.choice(places), lots.choice(places)
    direction = lots.choice(("north", "south", "east", "west", "up"))
    way = {"fromLocationId": place, "direction": direction, "toLocationId": other}
    layer = {"scopeId": place, "layerType": "weather", "value": f"weather {lots.random()}"}
    tie = {"fromId": "realm-0", "tie": lots.choice(list(Tie)), "toRealmId": "realm-all"}
    road = {"routeName": f"Road {lots.randrange(2)}", "stopIds": [place, other]}
    now = (await isle.call("get-atmosphere"))["tick"]
    steps: list[tuple[str, dict[str, Any]]] = [
        ("move", {"moverId": player, "direction": direction}),
        ("move", {"moverId": player, "teleportTo": place}),
        ("create-exit", {**way, "oneWay": lots.random() < 0.5}),
        ("remove-exit", {"fromLocationId": place, "direction": direction}),
        ("create-layer", {**layer, "fromTick": now, "toTick": now + lots.randrange(20_000)}),
        ("record-event", {"eventType": "Town.Bell", "locationId": place}),
        ("create-character", {"name": "X", "locationId": place}),
        ("create-tie", tie),
        ("remove-tie", tie),
        ("create-route", road),
        ("remove-route", road),
        ("transfer-item", {"itemId": "item-0", "toHolderId": player, "anywhere": True}),
    ]
    tool, arguments = lots.choice(steps)
    outcome = await isle.outcome(tool, arguments, "WorldBuilder")
    assert outcome.error is None or outcome.body["error"]["code"] == "CONFLICT", outcome.text


async def test_a_place_does_not_exist_before_it_was_made() -> None:
    isle = await a_world()
    before = (await isle.call("advance-clock", durationMs=10))["tick"]
    await isle.call("advance-clock", durationMs=10)
    await isle.call("create-location", name="Mill", description="New.", key="mill")
    assert await isle.call("get-location-context", locationId="mill", tick=before) is None
    assert await isle.call("get-location-context", locationId="mill") is not None

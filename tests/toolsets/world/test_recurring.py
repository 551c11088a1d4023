"""Layers that recur: tides, hours of opening and nights come again by rule, also in the past."""

from dataclasses import replace

import pytest

from canonry.log.schemas.world_types import LayerType
from canonry.readmodels.edges import Direction
from canonry.testing.clocks import a_caller
from canonry.world.domain.atlas import Exit, Layer
from canonry.world.domain.checks import find_problems
from canonry.world.usecases.exchange import export_world
from canonry.world.usecases.worlds import require_world
from tests.toolsets.world.kit import TICK, Isle, a_world, an_isle
from tests.toolsets.world.proposals.adversarial import make_act, make_envelope
from tests.toolsets.world.proposals.kit import send_proposal, with_new_ids

HOUR = 3_600_000
TIDE = {"scopeId": "inn", "layerType": "ambient", "value": "The tide is in.", "fromTick": HOUR}


async def heard_at(isle: Isle, tick: int) -> str:
    reply = await isle.call("get-atmosphere", "Narrative", locationId="inn", tick=tick)
    value: str = reply["ambient"]["valuePreview"]
    return value


@pytest.mark.anyio
async def test_a_recurring_layer_applies_at_its_hours() -> None:
    isle = await a_world(an_isle())
    before = await heard_at(isle, 2 * HOUR)
    await isle.call("create-layer", everyTicks=4 * HOUR, lastingTicks=HOUR, **TIDE)

    assert await heard_at(isle, HOUR - 1) == before
    for time in (0, 1, 2):
        start = HOUR + time * 4 * HOUR
        if start + HOUR < TICK:
            assert (
                await heard_at(isle, start)
                == await heard_at(isle, start + HOUR - 1)
                == TIDE["value"]
            )
            assert await heard_at(isle, start + HOUR) == before


@pytest.mark.anyio
@pytest.mark.parametrize(
    "rhythm",
    [{"everyTicks": HOUR}, {"lastingTicks": HOUR}, {"everyTicks": HOUR, "lastingTicks": HOUR}],
)
async def test_a_rhythm_must_be_complete(rhythm: dict[str, int]) -> None:
    isle = await a_world(an_isle())
    await isle.refused("create-layer", "INVALID_ARGUMENT", "layer.rhythm", **TIDE, **rhythm)


@pytest.mark.anyio
async def test_recurring_parts_survive_export_and_import() -> None:
    tide = Layer(
        key="tide", scope="inn", layer_type=LayerType.AMBIENT, value="High tide.",
        from_tick=0, every=2 * HOUR, lasting=HOUR,
    )  # fmt: skip
    isle = await a_world(replace(an_isle(), layers=(tide,)))
    world = await require_world(isle.canon, a_caller(), isle.world)

    assert (await export_world(isle.canon, world)).layers == (tide,)


@pytest.mark.anyio
async def test_a_proposal_may_replace_a_recurring_layer() -> None:
    isle = await a_world(an_isle())
    tide = {**TIDE, "scopeId": "cellar", "layerType": "dynamic", "fromTick": 0}
    await isle.call("create-layer", everyTicks=4 * HOUR, lastingTicks=4 * HOUR - 1, **tide)
    params = {"locationId": "cellar", "layerType": "dynamic", "layerContent": "Oars creak."}
    reply = await send_proposal(
        isle, with_new_ids(make_envelope(make_act("Layer.Add", "loc:cellar", **params)))
    )

    assert reply["outcome"] == "accepted", reply


def test_a_file_with_an_incomplete_rhythm_is_wrong() -> None:
    half = Layer(
        key="tide", scope="inn", layer_type=LayerType.AMBIENT, value="x", from_tick=0, every=HOUR
    )
    found = find_problems(replace(an_isle(), layers=(half,)))
    assert "layer.rhythm" in {each.code for each in found if each.fatal}


CAUSEWAY = {
    "fromLocationId": "inn",
    "direction": "west",
    "toLocationId": "yard",
    "oneWay": True,
    "opensAtTick": HOUR,
    "everyTicks": 4 * HOUR,
    "lastingTicks": HOUR,
}


async def ways(isle: Isle, tick: int) -> dict[str, str | None]:
    reply = await isle.call("get-location-context", "Narrative", locationId="inn", tick=tick)
    return {each["direction"]: each.get("blocked") for each in reply["exits"]}


async def place_of_ann(isle: Isle) -> str:
    reply = await isle.call("get-player-context", "Narrative", playerId="ann")
    place: str = reply["location"]["id"]
    return place


@pytest.mark.anyio
async def test_a_recurring_exit_is_open_at_its_hours_and_closed_between() -> None:
    isle = await a_world(an_isle())
    await isle.call("create-exit", **CAUSEWAY)
    now = await isle.call("get-location-context", "Narrative", locationId="inn")
    begin = now["tick"]
    round_ = 4 * HOUR
    opening = begin + (HOUR - begin) % round_
    await isle.call("advance-clock", durationMs=opening - begin + 1, reason="until low tide")

    assert (await ways(isle, opening))["west"] is None
    await isle.call("move", moverId="ann", direction="west")
    assert await place_of_ann(isle) == isle.id("yard")
    await isle.call("move", moverId="ann", teleportTo="inn")
    await isle.call("advance-clock", durationMs=HOUR, reason="the tide comes in")

    shut = (await ways(isle, opening + HOUR + 1))["west"]
    assert shut == f"It is shut until tick {opening + round_}."
    await isle.refused("move", "CONFLICT", "exit.blocked", moverId="ann", direction="west")
    going = make_act(
        "Mover.Move", f"player:{isle.id('ann')}", moverId=isle.id("ann"), direction="west"
    )
    reply = await send_proposal(isle, with_new_ids(make_envelope(going)))
    assert reply["rejection"]["rule"] == "exit.blocked"
    changed = await isle.call(
        "get-changes", "Narrative", locationId="inn", fromTick=opening, toTick=opening + HOUR + 1
    )
    assert "west" in str(changed)


@pytest.mark.anyio
async def test_a_recurring_exit_survives_a_file() -> None:
    isle = await a_world(an_isle())
    await isle.call("create-exit", **CAUSEWAY)
    world = await require_world(isle.canon, a_caller("Operator", "world export"), isle.world)
    atlas = await export_world(isle.canon, world)
    inn = next(each for each in atlas.locations if each.key == "inn")
    [way] = [each for each in inn.exits if each.direction == "west"]
    assert (way.opens, way.every, way.lasting) == (HOUR, 4 * HOUR, HOUR)
    assert not [each for each in find_problems(atlas) if each.fatal]
    never = replace(way, lasting=4 * HOUR)
    wrong = replace(inn, exits=(*(e for e in inn.exits if e is not way), never))
    places = tuple(wrong if each.key == "inn" else each for each in atlas.locations)
    found = find_problems(replace(atlas, locations=places))
    assert "exit.rhythm" in {each.code for each in found if each.fatal}


@pytest.mark.anyio
async def test_a_recurring_exit_without_an_end_of_hours_is_refused() -> None:
    isle = await a_world(an_isle())
    arguments = {**CAUSEWAY, "lastingTicks": 4 * HOUR}
    await isle.refused("create-exit", "INVALID_ARGUMENT", "exit.rhythm", **arguments)


@pytest.mark.anyio
async def test_the_way_back_of_an_exit_in_a_file_keeps_its_hours() -> None:
    atlas = an_isle()
    inn = next(each for each in atlas.locations if each.key == "inn")
    way = Exit(direction=Direction.WEST, to="yard", opens=HOUR, every=4 * HOUR, lasting=HOUR)
    tidal = replace(inn, exits=(*inn.exits, way))
    places = tuple(tidal if each.key == "inn" else each for each in atlas.locations)
    isle = await a_world(replace(atlas, locations=places))

    begin = (await isle.call("get-location-context", "Narrative"))["tick"]
    opening = begin - (begin - HOUR) % (4 * HOUR)
    for tick, shut in ((opening, False), (opening + HOUR, True)):
        for place, direction in (("inn", "west"), ("yard", "east")):
            reply = await isle.call(
                "get-location-context", "Narrative", locationId=place, tick=tick
            )
            [found] = [each for each in reply["exits"] if each["direction"] == direction]
            assert bool(found.get("blocked")) is shut, (place, tick)

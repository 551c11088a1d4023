"""Builders state the status of a character; it has a past, and world files carry it."""

from dataclasses import replace

import pytest

from canonry.world.domain.atlas import Mover
from canonry.world.usecases.exchange import export_world
from canonry.world.usecases.worlds import find_world
from tests.toolsets.world.kit import a_world, brought_in
from tests.toolsets.world.proposals.adversarial import (
    GIVE,
    PAY,
    change_parameters,
    make_envelope,
    the_besieged_isle,
)
from tests.toolsets.world.proposals.kit import send_proposal, the_isle, with_new_ids

pytestmark = pytest.mark.anyio


async def test_a_builder_sets_a_status_and_the_past_stays() -> None:
    isle = await a_world()
    await isle.call(
        "create-player",
        name="Zed",
        key="zed",
        locationId="inn",
        resources=[{"resource": "gold", "amount": 3}],
        conditions=[{"condition": "cold", "untilTick": 60_000_000}],
    )
    await isle.call("advance-clock", durationMs=1_000)
    await isle.call(
        "set-status", moverId="zed", alive=False, resources=[{"resource": "gold", "amount": 0}]
    )

    now = await isle.call("get-player-context", playerId="zed")
    then = await isle.call("get-player-context", playerId="zed", tick=50_000_000)

    assert now["player"]["status"] == {
        "alive": False,
        "present": True,
        "conditions": [{"condition": "cold", "untilTick": 60_000_000}],
        "resources": {"gold": 0},
    }
    assert then["player"]["status"]["alive"]
    assert then["player"]["status"]["resources"] == {"gold": 3}
    await isle.refused("set-status", "NOT_FOUND", "player.unknown", moverId="cup", alive=True)
    outcome = await isle.outcome(
        "set-status",
        {"moverId": "zed", "resources": [{"resource": "gold", "amount": -1}]},
        "WorldBuilder",
    )
    assert outcome.error is not None


async def test_a_file_imported_again_resets_nobody() -> None:
    isle = await the_isle()
    await send_proposal(
        isle,
        with_new_ids(
            make_envelope(
                change_parameters(PAY, amount=10),
                change_parameters(GIVE, itemId="coins", quantity=4),
            )
        ),
    )

    await brought_in(isle.canon, the_besieged_isle())

    ann = await isle.call("get-character-context", characterId="ann")
    assert ann["status"]["resources"] == {"gold": 0, "health": 9}
    assert {each["name"]: each["quantity"] for each in ann["inventory"]} == {"Coins": 6, "Cup": 2}


async def test_status_and_forbidden_parts_are_exported_and_imported() -> None:
    isle = await the_isle()
    await isle.call("set-status", moverId="bob", present=False)
    world = await find_world(isle.canon, isle.world)
    assert world is not None

    answer = await export_world(isle.canon, world)

    movers = {each.key: each for each in (*answer.players, *answer.characters)}
    assert movers["ann"].resources == {"gold": 10, "health": 9}
    assert movers["ann"].conditions == {"cold": None}
    assert not movers["ghost"].alive
    assert not movers["bob"].present
    assert movers["cook"] == replace(movers["cook"], alive=True, present=True)
    cellar = next(each for each in answer.locations if each.key == "cellar")
    assert dict(cellar.forbidden) == {"east": "The wall holds back the sea."}
    assert isinstance(movers["cook"], Mover)

"""Stacks: items of one kind with one holder are one stack, however they came there."""

import pytest

from canonry.world.usecases.exchange import export_world
from canonry.world.usecases.worlds import find_world
from tests.toolsets.world.kit import Isle, brought_in
from tests.toolsets.world.proposals.adversarial import (
    GIVE,
    change_parameters,
    make_envelope,
    the_besieged_isle,
)
from tests.toolsets.world.proposals.kit import send_proposal, the_isle, with_new_ids

pytestmark = pytest.mark.anyio


async def give_items(isle: Isle, *counts: int, item: str = "coins") -> None:
    """Ann gives so many of an item to the cook, each with an action of one proposal."""
    acts = [change_parameters(GIVE, itemId=item, quantity=each) for each in counts]
    answer = await send_proposal(isle, with_new_ids(make_envelope(*acts)))
    assert answer["outcome"] == "accepted", answer


async def quantities_of(isle: Isle, who: str) -> dict[str, list[int]]:
    """The quantities of what somebody has, by name."""
    reply = await isle.call("get-character-context", characterId=who)
    found: dict[str, list[int]] = {}
    for each in reply["inventory"]:
        found.setdefault(each["name"], []).append(each["quantity"])
    return found


async def give_back(isle: Isle) -> None:
    """The cook hands all coins back to Ann."""
    reply = await isle.call("get-character-context", characterId="cook")
    for each in reply["inventory"]:
        if each["name"] == "Coins":
            await isle.call("transfer-item", itemId=each["id"], toHolderId="ann")


async def test_parts_of_a_stack_join_into_one() -> None:
    isle = await the_isle()
    before = await quantities_of(isle, "ann")

    await give_items(isle, 2)
    await give_items(isle, 1, 3)
    given = await quantities_of(isle, "cook")
    await give_back(isle)
    after = await quantities_of(isle, "ann")
    await give_items(isle, 9)

    assert (given["Coins"], after) == ([6], before)
    assert (
        (await quantities_of(isle, "cook"))["Coins"],
        (await quantities_of(isle, "ann"))["Coins"],
    ) == ([9], [1])


async def test_a_single_coin_joins_its_original_stack() -> None:
    isle = await the_isle()
    await give_items(isle, 9)
    await give_items(isle, 1)  # the whole rest: the last coin itself goes
    assert (await quantities_of(isle, "cook"))["Coins"] == [10]

    await give_back(isle)

    assert (await quantities_of(isle, "ann"))["Coins"] == [10]


async def test_stacks_survive_export_and_reimport() -> None:
    isle = await the_isle()
    await give_items(isle, 4)
    await give_back(isle)

    await brought_in(isle.canon, the_besieged_isle())
    world = await find_world(isle.canon, isle.world)
    assert world is not None
    answer = await export_world(isle.canon, world)

    assert (await quantities_of(isle, "ann"))["Coins"] == [10]
    assert [each.quantity for each in answer.items if each.name == "Coins"] == [10]

"""A world whose places were erased: who was there is nowhere, which is told, and nothing breaks."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Noted
from canonry.readmodels.edges import Tick
from canonry.testing.clocks import a_caller
from canonry.values.errors import Conflict
from canonry.world.domain.atlas import Item, item_id_of, layer_id_of, lore_id_of
from canonry.world.toolset import EXACT
from canonry.world.usecases.building import declare_part
from canonry.world.usecases.lore import declare_version
from canonry.world.usecases.movement import Move, Transfer, move_mover, transfer_item
from canonry.world.usecases.worlds import INVENTORY_MAX, BoundWorld, WorldDraft, find_world
from tests.toolsets.world.kit import TICK, an_isle, brought_in

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(tmp_path)
    yield opened
    await opened.close()


async def erase_world(store: Embedded, world: BoundWorld, *keys: str) -> None:
    for key in keys:
        plan = await plan_erasure(store.canon, "entity", item_id_of(world.space, key))
        await erase_items(
            store.canon, store.maintenance, a_caller("Operator"), plan, reason="asked for"
        )


async def context_of(canon: Canon, player: str) -> Any:
    (tool,) = [each for each in EXACT if each.name == "get-player-context"]
    found = await tool.run(canon, a_caller(), {"playerId": player})
    assert isinstance(found, Noted)
    return found.reply


async def the_isle(store: Embedded, *more: Item) -> BoundWorld:
    isle = an_isle()
    done = await brought_in(store.canon, replace(isle, items=(*isle.items, *more)))
    world = await find_world(store.canon, done.world_id)
    assert world is not None
    return world


async def test_people_at_the_last_erased_place_are_nowhere_and_reported(store: Embedded) -> None:
    canon = store.canon
    world = await the_isle(store, Item(key="oar", name="Oar", holder="inn", item_type="thing"))

    await erase_world(store, world, "yard", "road", "cellar", "tower", "inn")

    answer = await context_of(canon, "ann")
    assert answer["location"] is None
    assert "the player's location is not known" in answer["warnings"]
    assert [item["name"] for item in answer["inventory"]] == ["Cup"], "she still has what she had"
    with pytest.raises(Conflict) as stuck:
        await move_mover(canon, a_caller(), world, Move(mover="ann", teleport_to="ann"))
    with pytest.raises(Conflict) as lost:
        await transfer_item(canon, a_caller(), world, Transfer(item="oar", holder="ann"))
    with pytest.raises(Conflict) as apart:
        await transfer_item(canon, a_caller(), world, Transfer(item="cup", holder="bob"))
    refused = {error.value.code for error in (stuck, lost, apart)}
    assert refused == {"move.nowhere", "item.nowhere"}
    assert (await store.maintenance.verify(lambda *_: None)).findings == ()


async def test_a_bottomless_bag_shows_its_first_items_and_says_so(store: Embedded) -> None:
    coins = [
        Item(key=f"coin {n}", name=f"Coin {n}", holder="bob", item_type="coin")
        for n in range(INVENTORY_MAX + 1)
    ]
    await the_isle(store, *coins)

    answer = await context_of(store.canon, "bob")

    assert len(answer["inventory"]) == INVENTORY_MAX
    assert answer["warnings"] == [f"the first {INVENTORY_MAX} items of the inventory are shown"]


async def test_an_item_is_not_handed_over_before_it_arrived(store: Embedded) -> None:
    canon = store.canon
    world = await the_isle(store)
    await transfer_item(canon, a_caller(), world, Transfer(item="key", holder="ann"))

    past = Transfer(item="key", holder="cook", tick=Tick(TICK - 1))

    with pytest.raises(Conflict) as refused:
        await transfer_item(canon, a_caller(), world, past)

    assert refused.value.code == "item.before-arrival"


async def test_parts_erased_during_an_import_are_not_added_again(store: Embedded) -> None:
    """The file was looked through before the erasure; each part looks once more for itself."""
    world = await the_isle(store)
    isle = an_isle()
    realm, yard, cook, cup = isle.realms[2], isle.locations[1], isle.characters[0], isle.items[1]
    fact, layer = isle.lore[0], isle.layers[0]
    await erase_world(store, world, realm.key, yard.key, cook.key, cup.key)
    for gone in (lore_id_of(world.space, fact.key), layer_id_of(world.space, layer.key)):
        plan = await plan_erasure(store.canon, "entity", gone)
        await erase_items(
            store.canon, store.maintenance, a_caller("Operator"), plan, reason="asked for"
        )
    draft = WorldDraft(
        canon=store.canon, space=world.space, at=world.instant, new_id=lambda label: label
    )

    said = [
        await declare_part(draft, realm),
        await declare_part(draft, yard),
        await declare_part(draft, cook),
        await declare_part(draft, cup),
        await declare_part(draft, layer),
        await declare_version(draft, fact, 1),
    ]

    assert said == [False] * 6
    assert draft.entries == []

"""Transfers: quantities are given and taken, and nothing is made or lost by it."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE, World, a_world
from tests.toolsets.narrative.test_canonization import a_scene, propose_content

pytestmark = pytest.mark.anyio

TRANSFER = "neo4j_transfer_quantity"


async def a_purse(amount: float = 10, **more: Any) -> tuple[World, str, str, str]:
    """Ana has so many coins, Bo none."""
    world = await a_world()
    ana, bo = await world.entity("Ana"), await world.entity("Bo")
    coins = await world.entity("Coins", entity_type="object")
    await world.relation(ana, "OWNS", coins, properties={"quantity": amount}, **more)
    return world, ana, bo, coins


def give_coins(
    world: World, ana: str, bo: str, coins: str, n: float, **more: Any
) -> dict[str, Any]:
    return {
        "from_entity_id": ana,
        "to_entity_id": bo,
        "thing_entity_id": coins,
        "quantity": n,
        "authority": "gm",
        "evidence_refs": world.evidence,
        **more,
    }


async def amounts_of(world: World, coins: str) -> dict[str, float]:
    """Return the amount of each owner."""
    found = await world.call(
        "neo4j_query_relationships", entity_id=coins, rel_type="OWNS", current_only=True
    )
    reported = found["relationships"]
    amounts = {each["from_entity_id"]: each["properties"]["quantity"] for each in reported}
    assert len(amounts) == len(reported)
    return amounts


async def test_a_transfer_gives_the_amount_to_the_receiver() -> None:
    world, ana, bo, coins = await a_purse()

    reply = await world.call(TRANSFER, **give_coins(world, ana, bo, coins, 4))
    assert (reply["from_quantity"], reply["to_quantity"]) == (6, 4)
    await world.call(TRANSFER, **give_coins(world, ana, bo, coins, 6))
    await world.call(TRANSFER, **give_coins(world, bo, ana, coins, 3))

    assert await amounts_of(world, coins) == {ana: 3, bo: 7}


async def test_an_owner_who_gives_everything_has_nothing_left() -> None:
    world, ana, bo, coins = await a_purse()

    reply = await world.call(TRANSFER, **give_coins(world, ana, bo, coins, 10))

    assert (reply["from_quantity"], reply["from_relationship_id"]) == (0, None)
    assert await amounts_of(world, coins) == {bo: 10}


async def test_a_transfer_of_more_than_owned_is_refused() -> None:
    world, ana, bo, coins = await a_purse()

    data = await world.refused(TRANSFER, code=-32004, **give_coins(world, ana, bo, coins, 11))
    nobody = await world.refused(TRANSFER, code=-32004, **give_coins(world, bo, ana, coins, 1))

    assert (data["code"], data["has"]) == ("quantity.not-enough", 10)
    assert (nobody["code"], nobody["has"]) == ("quantity.not-enough", 0)


async def test_a_lower_authority_does_not_transfer_a_higher_ones_amount() -> None:
    world, ana, bo, coins = await a_purse(authority="gm")

    result = give_coins(world, ana, bo, coins, 1, authority="player")
    data = await world.refused(TRANSFER, code=-32004, **result)

    assert data["code"] == "quantity.outranked"


async def test_tenths_add_up() -> None:
    world, ana, bo, coins = await a_purse(0.3)

    for _ in range(3):
        await world.call(TRANSFER, **give_coins(world, ana, bo, coins, 0.1))

    assert await amounts_of(world, coins) == {bo: 0.3}


async def test_the_past_still_shows_the_earlier_amounts() -> None:
    world, ana, bo, coins = await a_purse(since="1400-01-01T00:00:00Z")
    at = "1410-01-01T00:00:00Z"
    await world.call(TRANSFER, **give_coins(world, ana, bo, coins, 4, at=at))

    found = await world.call("neo4j_query_relationships", entity_id=coins, rel_type="OWNS")

    listed = {
        (each["from_entity_id"], each["properties"]["quantity"]): (each["since"], each["until"])
        for each in found["relationships"]
    }
    assert listed == {
        (ana, 10): ("1400-01-01T00:00:00Z", at),
        (ana, 6): (at, None),
        (bo, 4): (at, None),
    }


async def test_a_transfer_before_recorded_ones_is_refused() -> None:
    world, ana, bo, coins = await a_purse(since="1400-01-01T00:00:00Z")
    result = give_coins(world, ana, bo, coins, 4, at="1410-01-01T00:00:00Z")
    await world.call(TRANSFER, **result)

    for at in ("1390-01-01T00:00:00Z", "1405-01-01T00:00:00Z"):
        data = await world.refused(TRANSFER, code=-32004, **{**result, "at": at})
        assert data["code"] == "quantity.told-later"


async def test_a_retracted_transfer_restores_both_amounts() -> None:
    world, ana, bo, coins = await a_purse()
    await world.call(TRANSFER, **give_coins(world, ana, bo, coins, 1))
    made = await world.call(TRANSFER, **give_coins(world, ana, bo, coins, 4))
    gained = made["to_relationship_id"]

    reply = await world.call("neo4j_retcon_thing", id=gained, reason="a dream", along=True)

    assert set(reply["retconned"]) == {gained, made["from_relationship_id"]}
    assert await amounts_of(world, coins) == {ana: 9, bo: 1}


async def test_an_amount_may_be_shared_and_a_single_item_has_one_owner() -> None:
    world, ana, bo, coins = await a_purse()
    await world.relation(bo, "OWNS", coins, properties={"quantity": 5})
    assert await amounts_of(world, coins) == {ana: 10, bo: 5}
    scene = await a_scene(world, participating_entities=[ana, bo])
    cid = await world.entity("Cid")
    part = {"from_entity_id": cid, "to_entity_id": coins, "rel_type": "OWNS"}
    content = {**part, "properties": {"quantity": 2}}
    evidence = [{"type": "source", "ref_id": world.source_id}]
    await propose_content(world, scene, "relationship", content, evidence=evidence)

    reply = await world.call("composite_canonize_scene", scene_id=scene)

    assert reply["rejected_proposals"] == reply["pending_proposals"] == []
    assert await amounts_of(world, coins) == {ana: 10, bo: 5, cid: 2}


async def test_uncounted_items_are_not_given_in_parts() -> None:
    world, ana, bo, coins = await a_purse()
    crown = await world.entity("Crown", entity_type="object")
    await world.relation(ana, "OWNS", crown)

    whole = await world.refused(TRANSFER, code=-32004, **give_coins(world, ana, bo, crown, 1))
    assert whole["code"] == "quantity.uncounted"
    for amount in (0, -3):
        data = await world.refused(
            TRANSFER, code=-32003, **give_coins(world, ana, bo, coins, amount)
        )
        assert data["code"] == "quantity.not-positive"
    itself = await world.refused(TRANSFER, code=-32004, **give_coins(world, ana, ana, coins, 1))
    assert itself["code"] == "relation.to-itself"
    await world.refused(TRANSFER, code=-32002, **give_coins(world, ana, NOWHERE, coins, 1))


async def test_a_repeated_transfer_with_its_key_is_made_once() -> None:
    world, ana, bo, coins = await a_purse()

    for _ in range(2):
        asked = give_coins(world, ana, bo, coins, 4)
        reply = await world.call(TRANSFER, key="once", **asked)
        assert (reply["from_quantity"], reply["to_quantity"]) == (6, 4)

    assert await amounts_of(world, coins) == {ana: 6, bo: 4}

"""Canonizing proposals that belong to no scene, as agents call it."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE, World, a_world
from tests.toolsets.narrative.test_canonization import a_scene, propose_content

pytestmark = pytest.mark.anyio
TOOL = "composite_canonize_proposals"


async def brought_up(world: World, kind: str, content: dict[str, Any], **more: Any) -> str:
    """A proposal of a document, by default with a source's word."""
    arguments: dict[str, Any] = {
        "evidence": [{"type": "source", "ref_id": world.source_id}],
        "confidence": 1.0,
        "authority": "source",
        **more,
    }
    reply = await world.call(
        "mongodb_propose_change",
        agent="CanonKeeper",
        universe_id=world.universe_id,
        type=kind,
        content=content,
        **arguments,
    )
    return str(reply["proposal_id"])


async def test_passing_proposals_become_canon_and_others_name_their_rule() -> None:
    world = await a_world()
    hero = {"name": "Boromir", "entity_type": "character", "ref": "$boromir"}
    said = {"statement": "Boromir has a horn", "entity_ids": ["$boromir"]}
    fact = await brought_up(world, "fact", said)
    entity = await brought_up(world, "entity", hero)
    weak = await brought_up(world, "fact", {"statement": "It rains"}, confidence=0.3)

    reply = await world.call(TOOL, proposal_ids=[fact, entity, weak])

    assert reply["accepted_proposals"] == [fact, entity]
    assert reply["rejected_proposals"] == [weak]
    assert len(reply["canonical_fact_ids"]) == len(reply["canonical_entity_ids"]) == 1
    verdicts = {each["proposal_id"]: each for each in reply["verdicts"]}
    assert verdicts[weak]["rule"] == "gate:score-reaches-threshold"
    explained = await world.call("neo4j_explain", id=verdicts[fact]["canonical_id"])
    assert explained["proposal"]["decision"]["decided_by"] == "canonkeeper-001"
    assert explained["evidence"][0]["source_title"] == "The First Book"


async def test_source_authority_counts_only_with_a_cited_canon_source() -> None:
    world = await a_world()
    reply = await world.call(
        "neo4j_create_source",
        universe_id=world.universe_id,
        doc_id="rumours",
        title="Rumours",
        source_type="lore",
        canon_level="proposed",
    )
    rumour = [{"type": "source", "ref_id": reply["source_id"]}]
    backed = await brought_up(world, "fact", {"statement": "It is cold"}, confidence=0.9)
    said = {"statement": "It is hot"}
    unbacked = await brought_up(world, "fact", said, evidence=rumour, confidence=0.9)

    reply = await world.call(TOOL, proposal_ids=[backed, unbacked])

    assert reply["accepted_proposals"] == [backed]
    assert reply["rejected_proposals"] == [unbacked]


async def test_a_repeated_call_returns_the_same_and_writes_nothing() -> None:
    world = await a_world()
    ids = [await brought_up(world, "fact", {"statement": f"Fact {n}"}) for n in range(3)]
    first = await world.call(TOOL, proposal_ids=ids)
    heads = await world.heads()

    again = await world.call(TOOL, proposal_ids=ids)

    assert again == first
    assert await world.heads() == heads


async def test_a_proposal_of_a_scene_is_left_to_its_scene() -> None:
    world = await a_world()
    scene = await a_scene(world)
    mine = await brought_up(world, "fact", {"statement": "It snows"})
    theirs = await propose_content(world, scene, "fact", {"statement": "It rains"})

    data = await world.refused(TOOL, code=-32004, proposal_ids=[mine, theirs])

    assert (data["code"], data["conflicts"]) == ("proposal.of-a-scene", [scene])


async def test_unknown_and_foreign_proposals_are_not_found() -> None:
    world = await a_world()
    other = await world.another_universe()
    theirs = await brought_up(other, "fact", {"statement": "It rains"})
    world.spaces = frozenset({world.universe_id})  # type: ignore[arg-type]

    for wanted in (NOWHERE, theirs):
        data = await world.refused(TOOL, code=-32002, proposal_ids=[wanted])
        assert data["code"] == "proposal.unknown"
    await world.refused(TOOL, code=-32003, proposal_ids=[])


async def test_only_the_canon_keeper_may_judge() -> None:
    world = await a_world()
    mine = await brought_up(world, "fact", {"statement": "It snows"})

    await world.refused(TOOL, agent="Orchestrator", code=-32001, proposal_ids=[mine])


async def test_proposals_of_several_universes_are_judged_separately() -> None:
    world = await a_world()
    other = await world.another_universe()
    here = await brought_up(world, "fact", {"statement": "It snows"})
    there = await brought_up(other, "fact", {"statement": "It does not snow"})

    reply = await world.call(TOOL, proposal_ids=[here, there])

    assert reply["accepted_proposals"] == [here, there]
    assert len(reply["canonical_fact_ids"]) == 2

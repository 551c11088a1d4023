"""Searching canon: entities, facts and lore by what they say, as they are now and nowhere else."""

from dataclasses import replace
from typing import Any

import pytest

from canonry.log.entries import EntityRetconned, Erased, FactSuperseded
from canonry.testing.example_items import an_observation, creation_entries
from canonry.values.ids import EntityId, FactId, SpaceId
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio

TOOL = "qdrant_search_canon"


async def search_canon(stage: Stage, text: str, **more: Any) -> list[dict[str, Any]]:
    reply = await stage.world.call(TOOL, "Narrator", query_text=text, **more)
    assert reply["degraded"] == ["vectors"]
    return list(reply["results"])


async def found_names(stage: Stage, text: str, **more: Any) -> list[str]:
    return [hit["id"] for hit in await search_canon(stage, text, **more)]


async def an_axiom(stage: Stage, statement: str) -> str:
    backed = stage.world.backed(entities=(), statement=statement, domain="magic")
    del backed["involved_entity_ids"]
    return str((await stage.world.call("neo4j_create_axiom", **backed))["axiom_id"])


async def rename_entity(stage: Stage, entity_id: str, name: str) -> None:
    space = SpaceId(stage.world.universe_id)
    said = an_observation("", f"now {name}", space=space, fields={"name": name})
    await stage.write(*creation_entries(replace(said, entity_id=EntityId(entity_id))))


async def test_an_entity_is_found_by_names_description_and_fields() -> None:
    stage = await a_stage()
    strider = await stage.world.entity(
        "Aragorn",
        description="A ranger of the north.",
        properties={"aliases": ["Strider"], "blade": "Anduril"},
        state_tags=["weary"],
    )
    for text in ("aragorn", "strider", "rangers", "anduril"):
        (hit,) = await search_canon(stage, text, detail=True)
        assert (hit["id"], hit["why"]["by"]) == (strider, "keywords")
    payload = {k: v for k, v in hit["payload"].items() if k != "timestamp"}
    assert payload == {
        "type": "entity",
        "universe_id": stage.world.universe_id,
        "entity_id": strider,
        "name": "Aragorn",
        "entity_class": "EntityInstance",
        "entity_type": "character",
        "state_tags": ["weary"],
        "authority": "gm",
        "confidence": 1.0,
        "canon_level": "canon",
    }


async def test_facts_events_and_axioms_name_their_kind() -> None:
    stage = await a_stage()
    early = "3018-09-23T00:00:00Z"
    fact = await stage.world.fact("The beacon is lit", stage.sam, time_ref=early, duration=60)
    event = await stage.world.event("The beacon falls", stage.sam)
    law = await an_axiom(stage, "A beacon answers a beacon")
    hits = {hit["id"]: hit for hit in await search_canon(stage, "beacon")}
    assert {i: hit["payload"]["type"] for i, hit in hits.items()} == {
        fact: "fact",
        event: "event",
        law: "axiom",
    }
    reported = hits[fact]["payload"]
    assert (reported["fact_id"], reported["involved_entity_ids"]) == (fact, [stage.sam])
    assert (reported["time_ref"], reported["until"]) == (early, "3018-09-23T00:01:00Z")
    assert reported["superseded"] is False
    assert hits[event]["payload"]["title"] == "The beacon falls"
    assert hits[law]["payload"]["domain"] == "magic"
    assert {i: hit["evidence_ref"] for i, hit in hits.items()} == {
        fact: None,
        event: None,
        law: f"rule:{law}",
    }


async def test_kinds_and_universe_narrow_a_search() -> None:
    stage = await a_stage()
    entity, fact = (
        await stage.world.entity("Beacon"),
        await stage.world.fact("A beacon is lit", stage.sam),
    )
    law = await an_axiom(stage, "A beacon answers")
    other = await stage.world.another_universe()
    far = await other.fact("A beacon elsewhere", await other.entity("Zed"))
    for kinds, ids in ((["entity"], {entity}), (["fact"], {fact, far}), (["lore"], {law})):
        assert set(await found_names(stage, "beacon", kinds=kinds)) == ids
    here = stage.world.universe_id
    assert set(await found_names(stage, "beacon", universe_id=here)) == {entity, fact, law}
    assert await found_names(stage, "beacon", universe_id=other.universe_id) == [far]
    stage.world.spaces = frozenset((SpaceId(other.universe_id),))
    assert await found_names(stage, "beacon") == [far]


async def test_a_retconned_fact_or_entity_is_gone_at_the_next_search() -> None:
    stage = await a_stage()
    fact = await stage.world.fact("A beacon is lit", stage.sam)
    entity = await stage.world.entity("Beacon")
    assert set(await found_names(stage, "beacon")) == {fact, entity}
    await stage.world.call("neo4j_retcon_fact", fact_id=fact, reason="a slip")
    assert await found_names(stage, "beacon") == [entity]
    gone = EntityRetconned(entity_id=EntityId(entity), replaced_by=None, reason="never was")
    await stage.write(gone)
    assert await found_names(stage, "beacon") == []


async def test_a_superseded_fact_is_marked() -> None:
    stage = await a_stage()
    old = await stage.world.fact("A beacon is lit", stage.sam)
    new = await stage.world.fact("A beacon is dark", stage.sam)
    ended = FactSuperseded(fact_id=FactId(old), until=None, superseded_by=FactId(new))
    await stage.write(ended)
    listed = {
        hit["id"]: hit["payload"]["superseded"] for hit in await search_canon(stage, "beacon")
    }
    assert list(listed.items()) == [(new, False), (old, True)]


async def test_a_merged_entity_is_found_by_both_names_as_its_survivor() -> None:
    stage = await a_stage()
    double = await stage.world.entity("Underhill", description="A guest of the inn.")
    await stage.world.call(
        "neo4j_merge_entities", kept_entity_id=stage.frodo, merged_entity_id=double, reason="same"
    )
    assert await found_names(stage, "underhill") == [stage.frodo]
    assert await found_names(stage, "frodo") == [stage.frodo]
    (hit,) = await search_canon(stage, "underhill frodo", limit=1)
    assert (hit["id"], hit["payload"]["entity_id"]) == (stage.frodo, stage.frodo)


async def test_a_renamed_entity_is_found_and_an_erased_one_is_not() -> None:
    stage = await a_stage()
    entity = await stage.world.entity("Gandalf the Grey", description="A wizard.")
    await rename_entity(stage, entity, "Mithrandir")
    assert await found_names(stage, "gandalf") == []
    assert await found_names(stage, "mithrandir") == [entity]
    await stage.write(Erased(targets=(entity,), reason="a right"))
    assert await found_names(stage, "mithrandir wizard") == []


async def test_a_smaller_limit_gives_a_prefix_over_all_kinds() -> None:
    stage = await a_stage()
    for n in range(4):
        await stage.world.entity(f"Beacon {n}")
        await stage.world.fact(f"Beacon number {n} is lit tonight", stage.sam)
        await an_axiom(stage, f"A beacon {n} burns")
    whole = await search_canon(stage, "beacon lit", limit=50)
    assert len(whole) == 12
    scores = [hit["score"] for hit in whole]
    assert scores == sorted(scores, reverse=True)
    for limit in (1, 3, 7):
        assert await search_canon(stage, "beacon lit", limit=limit) == whole[:limit]


async def test_an_invalid_search_is_refused_with_its_path() -> None:
    stage = await a_stage()
    for wrong, code, path in (
        ({"query_text": " "}, -32003, "/query_text"),
        ({"kinds": ["turn"]}, -32003, "/kinds/0"),
        ({"limit": 101}, -32003, "/limit"),
        ({"universe_id": NOWHERE}, -32002, None),
    ):
        arguments: dict[str, Any] = {"query_text": "x", **wrong}
        data = await stage.world.refused(TOOL, code=code, **arguments)
        assert data.get("path") == path


async def test_a_relation_is_found_by_its_verb_and_the_names_of_its_ends() -> None:
    stage = await a_stage()
    sting = await stage.world.entity(
        "Sting", entity_type="object", properties={"aliases": ["the blade"]}
    )
    ends = {"from_entity_id": stage.frodo, "to_entity_id": sting}
    await stage.world.call("neo4j_create_relationship", rel_type="WIELDS", **ends)

    (hit,) = await search_canon(stage, "who wields the blade?", kinds=["relation"])

    assert hit["text"] == "Frodo wields Sting"
    assert hit["payload"]["type"] == "relation"
    assert hit["payload"]["from_entity_id"] == stage.frodo
    assert await search_canon(stage, "who wields a lantern of nobody?", kinds=["relation"]) == []

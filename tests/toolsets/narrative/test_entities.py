"""Entities: created, read, changed and found, through the gateway."""

from typing import Any

import pytest

from canonry.canon.session import paging
from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio


async def tags_of(world: World, entity_id: str) -> list[str]:
    tags: list[str] = (await world.call("neo4j_get_entity", entity_id=entity_id))["state_tags"]
    return tags


async def test_an_entity_reads_as_it_was_created() -> None:
    world = await a_world()

    gandalf = await world.entity(
        "Gandalf", state_tags=["traveling", "alive"], properties={"role": "NPC", "age": 2019}
    )

    got = await world.call("neo4j_get_entity", "Narrator", entity_id=gandalf)
    assert got["name"] == "Gandalf"
    assert got["entity_class"] == "EntityInstance"
    assert got["properties"] == {"role": "NPC", "age": 2019}
    assert got["state_tags"] == ["alive", "traveling"]
    assert got["canon_level"] == "canon"
    assert got["evidence_refs"] == world.evidence
    assert set(got["provenance"]) == {
        "name",
        "description",
        "properties.role",
        "properties.age",
        "state_tags.alive",
        "state_tags.traveling",
    }


@pytest.mark.parametrize(
    ("given", "emitted"),
    [
        ("EntityAxiomatica", "EntityArchetype"),
        ("EntityConcreta", "EntityInstance"),
        ("EntityArchetype", "EntityArchetype"),
        ("EntityInstance", "EntityInstance"),
    ],
)
async def test_both_entity_vocabularies_are_accepted_and_one_is_returned(
    given: str, emitted: str
) -> None:
    world = await a_world()

    made = await world.entity("Wizard", entity_class=given)

    got = await world.call("neo4j_get_entity", entity_id=made)
    assert got["entity_class"] == emitted
    found = await world.call(
        "neo4j_query_entities", universe_id=world.universe_id, entity_class=given
    )
    assert found["total"] == 1


async def test_an_archetype_has_no_state() -> None:
    world = await a_world()
    archetype = creation_arguments(world, name="Elf", entity_class="EntityArchetype")

    data = await world.refused("neo4j_create_entity", code=-32003, **archetype, state_tags=["a"])
    assert data["path"] == "/state_tags"
    data = await world.refused(
        "neo4j_create_entity", code=-32003, **archetype, derives_from=NOWHERE
    )
    assert data["path"] == "/derives_from"
    elf = (await world.call("neo4j_create_entity", **archetype))["entity_id"]
    data = await world.refused(
        "neo4j_update_entity_state",
        code=-32003,
        entity_id=elf,
        state_tag_changes={"add": ["alive"]},
        authority="gm",
        evidence_refs=world.evidence,
    )
    assert data["code"] == "entity.archetype-has-no-state"


async def test_an_instance_derives_from_a_matching_archetype() -> None:
    world = await a_world()
    other = await world.another_universe()
    elf = await world.entity("Elf", entity_class="EntityArchetype")
    city = await world.entity("City", entity_class="EntityArchetype", entity_type="location")
    foreign = await other.entity("Elf", entity_class="EntityArchetype")
    legolas = await world.entity("Legolas", derives_from=elf)

    for archetype in (city, foreign, legolas, NOWHERE):
        arguments = creation_arguments(world, name="Elrond", derives_from=archetype)
        code = -32002 if archetype == NOWHERE else -32004
        await world.refused("neo4j_create_entity", code=code, **arguments)
    got = await world.call("neo4j_get_entity", entity_id=legolas)
    assert got["derives_from"] == elf


def creation_arguments(world: World, **more: Any) -> dict[str, Any]:
    return {
        "entity_class": "EntityInstance",
        "universe_id": world.universe_id,
        "name": "Somebody",
        "entity_type": "character",
        "description": "Somebody.",
        "properties": {},
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": world.evidence,
        **more,
    }


@pytest.mark.parametrize(
    ("spoiled", "code", "path"),
    [
        ({"evidence_refs": []}, -32003, "/evidence_refs"),
        ({"evidence_refs": ["source"]}, -32003, "/evidence_refs/0"),
        ({"evidence_refs": [f"rumour:{NOWHERE}"]}, -32003, "/evidence_refs/0"),
        ({"evidence_refs": [f"source:{NOWHERE}"]}, -32002, None),
        ({"evidence_refs": [f"turn:{NOWHERE}"]}, -32002, None),
        ({"universe_id": NOWHERE}, -32002, None),
        ({"universe_id": "the-universe"}, -32003, "/universe_id"),
        ({"name": " "}, -32003, "/name"),
        ({"name": "x" * 201}, -32003, "/name"),
        ({"description": "x" * 2001}, -32003, "/description"),
        ({"state_tags": ["alive", ""]}, -32003, "/state_tags/1"),
        ({"confidence": 1.1}, -32003, "/confidence"),
        ({"authority": "king"}, -32003, "/authority"),
        ({"entity_type": "dragon"}, -32003, "/entity_type"),
        ({"colour": "grey"}, -32003, "/colour"),
    ],
)
async def test_a_wrong_argument_is_named_and_nothing_is_written(
    spoiled: dict[str, Any], code: int, path: str | None
) -> None:
    world = await a_world()

    data = await world.refused(
        "neo4j_create_entity", code=code, **creation_arguments(world, **spoiled)
    )

    assert data.get("path") == path


async def test_evidence_of_another_universe_is_refused() -> None:
    world = await a_world()
    other = await world.another_universe()

    arguments = creation_arguments(world, evidence_refs=other.evidence)
    data = await world.refused("neo4j_create_entity", code=-32004, **arguments)

    assert data["conflicts"] == [other.source_id]


async def test_evidence_of_another_kind_than_stated_is_not_found() -> None:
    world = await a_world()
    arguments = creation_arguments(world, evidence_refs=[f"turn:{world.source_id}"])

    await world.refused("neo4j_create_entity", code=-32002, **arguments)


@pytest.mark.parametrize("twin", ["Fr\u043ed\u043e", "Frod\u043e", "Frodó"])
async def test_a_look_alike_name_is_allowed_and_reported(twin: str) -> None:
    world = await a_world()
    first = await world.entity("Frodo")
    made = await world.call("neo4j_create_entity", **creation_arguments(world, name="Sam"))
    assert made["warnings"] == []
    made = await world.call("neo4j_create_entity", **creation_arguments(world, name=twin))
    assert len(made["warnings"]) == 1
    assert first in made["warnings"][0]
    assert "look the same" in made["warnings"][0]


async def test_a_namesake_is_allowed_and_reported() -> None:
    world = await a_world()
    first = await world.entity("Bob the Miller")

    made = await world.call(
        "neo4j_create_entity", **creation_arguments(world, name=" bob  the MILLER")
    )

    assert len(made["warnings"]) == 1
    assert first in made["warnings"][0]
    elsewhere = creation_arguments(world, name="Bob the Miller", entity_type="location")
    assert (await world.call("neo4j_create_entity", **elsewhere))["warnings"] == []


async def test_a_retry_with_the_same_key_creates_nothing() -> None:
    world = await a_world()

    first = await world.call("neo4j_create_entity", key="k", **creation_arguments(world))
    again = await world.call("neo4j_create_entity", key="k", **creation_arguments(world))

    assert again == first
    assert (await world.call("neo4j_query_entities"))["total"] == 1


async def test_each_effective_change_of_state_is_a_fact() -> None:
    world = await a_world()
    bob = await world.entity("Bob", state_tags=["alive", "resting"])

    reply = await world.call(
        "neo4j_update_entity_state",
        entity_id=bob,
        state_tag_changes={"add": ["alive", "wounded"], "remove": ["resting", "hidden"]},
        authority="gm",
        evidence_refs=world.evidence,
    )

    assert reply["new_state_tags"] == ["alive", "wounded"]
    assert len(reply["fact_ids"]) == 2
    full = await world.call("neo4j_get_entity", entity_id=bob, include_state_history=True)
    assert {fact["statement"] for fact in full["state_history"]} == {
        "Bob is wounded",
        "Bob is no longer resting",
    }
    assert {fact["fact_id"] for fact in full["state_history"]} == set(reply["fact_ids"])
    assert full["state_history_truncated"] is False
    assert all(fact["evidence_refs"] == world.evidence for fact in full["state_history"])


async def test_a_change_without_effect_writes_nothing() -> None:
    world = await a_world()
    bob = await world.entity("Bob", state_tags=["alive"])
    before = await world.heads()

    reply = await world.call(
        "neo4j_update_entity_state",
        entity_id=bob,
        state_tag_changes={"add": ["alive"], "remove": ["dead"]},
        authority="system",
        evidence_refs=world.evidence,
    )

    assert reply == {"entity_id": bob, "new_state_tags": ["alive"], "fact_ids": []}
    assert await world.heads() == before


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({}, "state.empty-change", "/state_tag_changes"),
        ({"add": [], "remove": []}, "state.empty-change", "/state_tag_changes"),
        ({"add": ["a", "b"], "remove": ["b"]}, "state.overlap", "/state_tag_changes"),
        ({"add": ["a", " "]}, "text.empty", "/state_tag_changes/add/1"),
        ({"remove": ["x" * 201]}, "text.too-long", "/state_tag_changes/remove/0"),
        ({"set": ["a"]}, "input.unknown-property", "/state_tag_changes/set"),
    ],
)
async def test_an_empty_or_contradictory_change_is_refused(
    changes: dict[str, Any], code: str, path: str
) -> None:
    world = await a_world()
    bob = await world.entity("Bob")

    data = await world.refused(
        "neo4j_update_entity_state",
        code=-32003,
        entity_id=bob,
        state_tag_changes=changes,
        authority="gm",
        evidence_refs=world.evidence,
    )

    assert (data["code"], data["path"]) == (code, path)


async def test_a_change_of_state_never_has_source_authority() -> None:
    world = await a_world()
    bob = await world.entity("Bob")

    data = await world.refused(
        "neo4j_update_entity_state",
        code=-32003,
        entity_id=bob,
        state_tag_changes={"add": ["a"]},
        authority="source",
        evidence_refs=world.evidence,
    )

    assert data["path"] == "/authority"


async def test_an_entity_lists_its_relations_with_the_other_ends() -> None:
    world = await a_world()
    bob = await world.entity("Bob")
    mill = await world.entity("Mill", entity_type="location")
    await world.relation(bob, "LOCATED_IN", mill)

    full = await world.call("neo4j_get_entity", entity_id=mill, include_relationships=True)

    assert full["relationship_total"] == 1
    (relation,) = full["relationships"]
    assert (relation["rel_type"], relation["name"], relation["entity_id"]) == (
        "LOCATED_IN",
        "Bob",
        bob,
    )
    assert "state_history" not in full


async def test_a_cached_reply_ends_with_every_change_it_rests_on() -> None:
    world = await a_world()
    bob, mill = await world.entity("Bob"), await world.entity("Mill", entity_type="location")

    async def relations() -> int:
        got = await world.call("neo4j_get_entity", entity_id=bob, include_relationships=True)
        total: int = got["relationship_total"]
        return total

    assert await tags_of(world, bob) == []
    assert await relations() == 0
    assert await relations() == 0
    await world.relation(bob, "LOCATED_IN", mill)
    assert await relations() == 1
    await world.call(
        "neo4j_update_entity_state",
        entity_id=bob,
        state_tag_changes={"add": ["lost"]},
        authority="gm",
        evidence_refs=world.evidence,
    )
    assert await tags_of(world, bob) == ["lost"]
    listed = await world.call("neo4j_query_entities", universe_id=world.universe_id)
    await world.entity("Carol")
    longer = await world.call("neo4j_query_entities", universe_id=world.universe_id)
    assert longer["total"] == listed["total"] + 1
    assert world.gateway.audit.metrics.cache_hits == 1


async def test_an_unknown_entity_is_not_found() -> None:
    world = await a_world()

    for agent in ("CanonKeeper", "Narrator"):
        data = await world.refused("neo4j_get_entity", agent, entity_id=NOWHERE, code=-32002)
        assert data["code"] == "entity.unknown"
    await world.refused("neo4j_get_entity", entity_id=world.source_id, code=-32002)


async def test_ids_are_read_in_either_case() -> None:
    world = await a_world()
    bob = await world.entity("Bob")

    assert (await world.call("neo4j_get_entity", entity_id=bob.upper()))["entity_id"] == bob


async def test_an_incomplete_history_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "PAGE_MAX", 1)
    world = await a_world()
    bob = await world.entity("Bob")
    for number in range(11):
        await world.call(
            "neo4j_update_entity_state",
            entity_id=bob,
            state_tag_changes={"add": [f"counted to {number}"]},
            authority="gm",
            evidence_refs=world.evidence,
        )

    got = await world.call("neo4j_get_entity", entity_id=bob, include_state_history=True)

    assert len(got["state_history"]) == 10
    assert got["state_history_truncated"] is True


async def test_the_example_of_the_contract_is_answered_as_published() -> None:
    world = await a_world()
    arguments: dict[str, Any] = {
        "entity_class": "EntityConcreta",
        "universe_id": world.universe_id,
        "name": "Gandalf the Grey",
        "entity_type": "character",
        "description": "Istari wizard sent to Middle-earth",
        "properties": {"role": "NPC", "archetype": "wizard"},
        "state_tags": ["alive", "traveling"],
        "confidence": 1.0,
        "authority": "source",
        "evidence_refs": world.evidence,
    }

    reply = await world.call("neo4j_create_entity", **arguments)

    assert reply == {
        "entity_id": reply["entity_id"],
        "canon_level": "canon",
        "created_at": "2025-01-15T00:00:00.000002Z",
        "warnings": [],
    }

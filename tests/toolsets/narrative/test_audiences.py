"""Audiences: who may know a statement, how evidence keeps it, and how it is revealed."""

from collections.abc import Mapping
from typing import Any

import pytest

from canonry.gateway.principal import AGENT_META, Principal
from canonry.values.provenance import Authority
from tests.toolsets.narrative.kit import World, a_world

pytestmark = pytest.mark.anyio

FEW = frozenset(Authority) - {Authority.GM}
PIP = "9f8fad5b-d9cb-469f-a165-708677289500"


async def facts_for(
    world: World, who: Principal, meta: Mapping[str, Any] | None = None
) -> set[str]:
    """The statements that somebody is shown."""
    reply = await world.gateway.call("neo4j_query_facts", {}, who, meta)
    assert reply.error is None, reply.text
    found = {fact["statement"] for fact in reply.body["facts"]}
    assert reply.body["total"] == len(found)
    return found


def a_player(*characters: str, user: str | None = None) -> Principal:
    return Principal(
        agent_id="player-1",
        agent_type="Narrator",
        user=user,
        authorities=FEW,
        characters=frozenset(characters),
    )


async def propose_content(world: World, kind: str, content: Mapping[str, Any], **more: Any) -> str:
    arguments = {
        "universe_id": world.universe_id,
        "type": kind,
        "content": content,
        "evidence": [{"type": "source", "ref_id": world.source_id}],
        "confidence": 1.0,
        "authority": "gm",
        **more,
    }
    return str((await world.call("mongodb_propose_change", **arguments))["proposal_id"])


async def canonize_all(world: World, *proposals: str) -> list[dict[str, Any]]:
    reply = await world.call("composite_canonize_proposals", proposal_ids=list(proposals))
    return list(reply["verdicts"])


async def a_secret_source(world: World, *audience: str) -> str:
    source = await world.call(
        "neo4j_create_source",
        universe_id=world.universe_id,
        doc_id=f"notes-{len(audience)}-{'-'.join(audience)}",
        title="Notes",
        source_type="session",
        canon_level="canon",
        audience=list(audience),
    )
    return str(source["source_id"])


async def hidden_ann(world: World) -> str:
    return await world.entity("Ann", state_tags=["alive"])


async def test_a_fact_for_named_readers_is_shown_only_to_them() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    await world.fact("The door is open", ann)
    await world.fact("Ann knows the word", ann, audience=[f"character:{ann}"])
    await world.fact("Pip is lucky", ann, audience=[f"player:{PIP}", f"character:{ben}"])
    await world.fact("All will end", ann, audience=["gm"])

    assert await facts_for(world, a_player()) == {"The door is open"}
    assert await facts_for(world, a_player(ann)) == {"The door is open", "Ann knows the word"}
    assert await facts_for(world, a_player(ben)) == {"The door is open", "Pip is lucky"}
    assert await facts_for(world, a_player(user=PIP)) == {"The door is open", "Pip is lucky"}
    both = await facts_for(world, a_player(ann, user=PIP))
    assert both == {"The door is open", "Ann knows the word", "Pip is lucky"}
    keeper = Principal(agent_type="CanonKeeper", authorities=frozenset(Authority))
    assert len(await facts_for(world, keeper)) == 4


async def test_only_a_game_master_may_ask_from_a_characters_viewpoint() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await world.fact("Ann knows the word", ann, audience=[f"character:{ann}"])
    await world.fact("All will end", ann, audience=["gm"])
    keeper = Principal(agent_type="CanonKeeper", authorities=frozenset(Authority))
    as_ann = {AGENT_META: {"for_entity": ann}}

    assert await facts_for(world, keeper, as_ann) == {"Ann knows the word"}
    assert await facts_for(world, a_player(ann), as_ann) == {"Ann knows the word"}
    refused = await world.gateway.call("neo4j_query_facts", {}, a_player(), as_ann)
    assert refused.error is not None
    assert refused.error.data["code"] == "identity.untrusted"


async def test_canon_has_the_readers_of_its_evidence_by_default() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    mine, ours = f"character:{ann}", f"character:{ben}"
    notes, shared = await a_secret_source(world, mine), await a_secret_source(world, mine, ours)
    cited = [{"type": "source", "ref_id": one} for one in (notes, shared)]
    arguments = {"involved_entity_ids": [ann]}
    proposals = [
        await propose_content(world, "fact", {"statement": "one", **arguments}, evidence=cited[:1]),
        await propose_content(world, "fact", {"statement": "both", **arguments}, evidence=cited),
        await propose_content(
            world, "fact", {"statement": "shared", **arguments}, evidence=cited[1:]
        ),
        await propose_content(
            world,
            "fact",
            {"statement": "said aloud", **arguments, "audience": "everyone"},
            evidence=cited[:1],
        ),
    ]
    await world.fact("direct", ann, evidence_refs=[f"source:{notes}"])
    verdicts = await canonize_all(world, *proposals)

    assert [verdict["status"] for verdict in verdicts] == ["accepted"] * 4
    assert await facts_for(world, a_player()) == {"said aloud"}
    assert await facts_for(world, a_player(ben)) == {"said aloud", "shared"}
    everything = {"one", "both", "shared", "said aloud", "direct"}
    assert await facts_for(world, a_player(ann)) == everything
    public = await world.gateway.call("neo4j_query_facts", {"detail": True}, a_player())
    assert public.body["facts"][0]["evidence_refs"] == []


async def test_canon_with_incompatible_evidence_is_for_game_masters() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    sources = [await a_secret_source(world, f"character:{one}") for one in (ann, ben)]
    await world.fact("pieced together", ann, evidence_refs=[f"source:{one}" for one in sources])

    assert await facts_for(world, a_player(ann, ben)) == set()
    keeper = Principal(agent_type="CanonKeeper", authorities=frozenset(Authority))
    assert await facts_for(world, keeper) == {"pieced together"}


async def test_items_about_a_hidden_entity_are_hidden_with_it() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    spy = await world.entity("Spy", audience=["gm"])
    await world.fact("The spy watches Ann", ann, spy)
    await world.relation(ann, "KNOWS", spy)

    assert await facts_for(world, a_player()) == set()
    seen = await world.gateway.call("neo4j_query_relationships", {}, a_player())
    assert seen.body["total"] == 0


async def test_a_claim_contradicted_only_by_a_secret_is_accepted() -> None:
    world = await a_world()
    ann = await hidden_ann(world)
    secret = {"entity_id": ann, "add": ["dead"], "remove": ["alive"], "audience": "gm"}
    await canonize_all(world, await propose_content(world, "state_change", secret))
    action = {"title": "Ann dances", "actor_ids": [ann], "involved_entity_ids": [ann]}
    proposal = await propose_content(world, "event", action, authority="player")
    player = Principal(agent_type="CanonKeeper", authorities=FEW)
    asked = {"proposal_ids": [proposal]}

    judged = await world.gateway.call("composite_canonize_proposals", asked, player)
    (verdict,) = judged.body["verdicts"]
    (known,) = (await world.call("composite_get_verdicts", proposal_ids=[proposal]))["verdicts"]

    assert verdict["status"] == "accepted"
    assert verdict["conflicts"] == verdict["conflict_details"] == []
    assert "dead" not in judged.text
    (reported,) = known["conflict_details"]
    assert (reported["grade"], "dead" in reported["reason"]) == ("possible", True)
    predicted = await world.gateway.call("composite_get_verdicts", asked, player)
    assert "dead" not in predicted.text


async def test_a_restricted_statement_becomes_public_when_stated_publicly() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    arguments = {"statement": "Ann is a queen", "involved_entity_ids": [ann]}
    await canonize_all(world, await propose_content(world, "fact", {**arguments, "audience": "gm"}))

    (verdict,) = await canonize_all(world, await propose_content(world, "fact", arguments))

    assert "already canon" not in verdict["rationale"]
    assert await facts_for(world, a_player()) == {"Ann is a queen"}


async def test_a_secret_move_leaves_others_with_the_public_location() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    inn = await world.entity("Inn", entity_type="location")
    cave = await world.entity("Cave", entity_type="location")
    await world.relation(ann, "LOCATED_IN", inn)
    move = {"from_entity_id": ann, "to_entity_id": cave, "rel_type": "LOCATED_IN"}
    await canonize_all(
        world, await propose_content(world, "relationship", {**move, "audience": "gm"})
    )
    asked: dict[str, Any] = {"entity_id": ann, "current_only": True}

    seen = await world.gateway.call("neo4j_query_relationships", asked, a_player())
    kept = await world.call("neo4j_query_relationships", **asked)

    assert [one["to_entity_id"] for one in seen.body["relationships"]] == [inn]
    assert [one["to_entity_id"] for one in kept["relationships"]] == [cave]
    assert (seen.body["total"], kept["total"]) == (1, 1)

    moved = kept["relationships"][0]["relationship_id"]
    await world.call("neo4j_set_audience", id=moved, audience=["everyone"], reason="she is seen")
    seen = await world.gateway.call("neo4j_query_relationships", asked, a_player())
    assert [one["to_entity_id"] for one in seen.body["relationships"]] == [cave]


async def test_a_secret_state_is_revealed_with_its_fact() -> None:
    world = await a_world()
    ann = await hidden_ann(world)
    poison = {"entity_id": ann, "add": ["poisoned"], "audience": "gm"}
    (verdict,) = await canonize_all(world, await propose_content(world, "state_change", poison))

    async def tags(who: Principal) -> list[str]:
        found = await world.gateway.call("neo4j_get_entity", {"entity_id": ann}, who)
        return list(found.body["state_tags"])

    keeper = Principal(agent_type="CanonKeeper", authorities=frozenset(Authority))
    assert (await tags(a_player()), await tags(keeper)) == (["alive"], ["alive", "poisoned"])

    reply = await world.call(
        "neo4j_set_audience",
        id=verdict["canonical_id"],
        audience=["everyone"],
        reason="she faints",
        evidence_refs=world.evidence,
    )
    assert reply["audience"] == ["everyone"]
    assert verdict["canonical_id"] in reply["ids"]
    assert await tags(a_player()) == await tags(keeper) == ["alive", "poisoned"]
    assert await facts_for(world, a_player()) == {"Ann is poisoned"}


async def test_a_public_item_can_be_hidden_with_its_dependents() -> None:
    world = await a_world()
    ann, spy = await world.entity("Ann"), await world.entity("Spy")
    await world.fact("The spy watches Ann", ann, spy)
    await world.fact("Ann is tall", ann)
    await world.call("neo4j_set_audience", id=spy, audience=["gm"], reason="too early")

    assert await facts_for(world, a_player()) == {"Ann is tall"}
    unknown = await world.gateway.call("neo4j_get_entity", {"entity_id": spy}, a_player())
    assert unknown.error is not None
    assert unknown.error.data["code"] == "entity.unknown"

    await world.call("neo4j_set_audience", id=spy, audience=["everyone"], reason="unmasked")
    found = await world.gateway.call("neo4j_get_entity", {"entity_id": spy}, a_player())
    assert found.body["name"] == "Spy"


async def test_only_a_game_master_names_readers() -> None:
    world = await a_world()
    fact = await world.fact("Ann is tall", await world.entity("Ann"))
    player = Principal(agent_type="CanonKeeper", authorities=FEW)
    asked = {"id": fact, "audience": ["gm"], "reason": "mine"}

    refused = await world.gateway.call("neo4j_set_audience", asked, player)

    assert refused.error is not None
    assert refused.error.data["code"] == "audience.denied"


async def test_an_item_naming_a_secret_is_not_revealed_before_it() -> None:
    world = await a_world()
    spy = await world.entity("Spy", audience=["gm"])
    fact = await world.fact("The spy watches", spy)

    refused = await world.refused(
        "neo4j_set_audience", code=-32004, id=fact, audience=["everyone"], reason="now"
    )

    assert refused["code"] == "audience.names-secrets"
    assert refused["conflicts"] == [spy]


async def test_a_change_of_a_publicly_known_state_is_not_hidden() -> None:
    world = await a_world()
    ann = await hidden_ann(world)
    wet = {"entity_id": ann, "add": ["wet"]}
    (verdict,) = await canonize_all(world, await propose_content(world, "state_change", wet))

    refused = await world.refused(
        "neo4j_set_audience",
        code=-32004,
        id=verdict["canonical_id"],
        audience=["gm"],
        reason="never mind",
    )

    assert refused["code"] == "audience.told"


@pytest.mark.parametrize("audience", [[], ["nobody"], ["character:"], ["player:"], ["gm\n"]])
async def test_an_empty_audience_is_refused(audience: list[str]) -> None:
    world = await a_world()
    fact = await world.fact("Ann is tall", await world.entity("Ann"))

    refused = await world.refused(
        "neo4j_set_audience", code=-32003, id=fact, audience=audience, reason="r"
    )

    assert refused["code"] in {"audience.malformed", "text.control"}

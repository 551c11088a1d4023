"""Secret lines: to each viewer a line is the fold of what they may see, and of nothing else."""

from typing import Any

import pytest

from canonry.gateway.principal import KEY_META, Principal
from tests.toolsets.narrative.kit import World, a_world
from tests.toolsets.narrative.test_audiences import (
    FEW,
    PIP,
    a_player,
    a_secret_source,
    canonize_all,
    propose_content,
)

pytestmark = pytest.mark.anyio

FOR_PIP = {"audience": [f"player:{PIP}"]}
STRANGER, KNOWING = a_player(), a_player(user=PIP)


async def places_seen(
    world: World, ann: str, who: Principal | None = None
) -> list[tuple[str, bool]]:
    """Return the places where a viewer sees her, each with whether she is still there."""
    asked: dict[str, Any] = {"entity_id": ann, "rel_type": "LOCATED_IN", "current_only": False}
    if who is None:
        body: Any = await world.call("neo4j_query_relationships", **asked)
    else:
        body = (await world.gateway.call("neo4j_query_relationships", asked, who)).body
    found = sorted(body["relationships"], key=lambda one: one["since"] or "")
    return [(one["to_entity_id"], one["current"]) for one in found if one["canon_level"] == "canon"]


async def state_seen(world: World, ann: str, who: Principal) -> tuple[list[str], set[str]]:
    """Her tags, and the facts of her state that hold."""
    asked = {"entity_id": ann, "include_state_history": True}
    shown = (await world.gateway.call("neo4j_get_entity", asked, who)).body
    found = {
        fact["statement"]
        for fact in shown["state_history"]
        if fact["canon_level"] == "canon" and fact["superseded_by"] is None
    }
    return shown["state_tags"], {one for one in found if "no longer" not in one}


async def propose_move(world: World, ann: str, place: str, year: int, **more: Any) -> str:
    """Propose and accept that she was somewhere from a year on."""
    content = {"from": ann, "type": "LOCATED_IN", "to": place, "since": f"{year}-01-01T00:00:00Z"}
    (verdict,) = await canonize_all(
        world, await propose_content(world, "relationship", {**content, **more})
    )
    assert verdict["status"] == "accepted", verdict
    return str(verdict["canonical_id"])


async def propose_tag(world: World, ann: str, tag: str, **more: Any) -> dict[str, Any]:
    content = {"entity_id": ann, "add": [tag], **more}
    (verdict,) = await canonize_all(world, await propose_content(world, "state_change", content))
    return verdict


async def ann_and_three_places(world: World) -> tuple[str, list[str]]:
    names = ("Inn", "Mill", "Keep")
    there = [await world.entity(name, entity_type="location") for name in names]
    return await world.entity("Ann"), there


async def test_a_late_public_statement_ends_at_a_secret_for_its_readers() -> None:
    world = await a_world()
    ann, (inn, mill, keep) = await ann_and_three_places(world)
    await propose_move(world, ann, inn, 1400)
    await propose_move(world, ann, keep, 1402, **FOR_PIP)

    await propose_move(world, ann, mill, 1401)

    assert await places_seen(world, ann, STRANGER) == [(inn, False), (mill, True)]
    knows = [(inn, False), (mill, False), (keep, True)]
    assert await places_seen(world, ann, KNOWING) == knows
    assert await places_seen(world, ann) == knows


async def test_readers_of_different_secrets_see_own_timelines_and_masters_both() -> None:
    world = await a_world()
    ann, (inn, mill, keep) = await ann_and_three_places(world)
    await propose_move(world, ann, inn, 1400)
    await propose_move(world, ann, mill, 1402, **FOR_PIP)
    second = {"from": ann, "type": "LOCATED_IN", "to": keep, "since": "1401-01-01T00:00:00Z"}
    other = {"audience": [f"character:{ann}"]}
    (verdict,) = await canonize_all(
        world, await propose_content(world, "relationship", {**second, **other})
    )

    assert verdict["status"] == "accepted"
    assert await places_seen(world, ann, KNOWING) == [(inn, False), (mill, True)]
    assert await places_seen(world, ann, a_player(ann)) == [(inn, False), (keep, True)]
    assert await places_seen(world, ann) == [(inn, False), (keep, False), (mill, True)]


async def test_a_public_end_of_a_secretly_true_tag_reveals_nothing() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await propose_tag(world, ann, "cursed", **FOR_PIP)
    over = {"entity_id": ann, "remove": ["cursed"]}

    (verdict,) = await canonize_all(world, await propose_content(world, "state_change", over))

    assert verdict["status"] == "accepted"
    assert await state_seen(world, ann, STRANGER) == ([], set())


async def test_a_tag_stated_secretly_then_publicly_ends_for_all_at_once() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await propose_tag(world, ann, "cursed", **FOR_PIP)
    await propose_tag(world, ann, "cursed")

    (verdict,) = await canonize_all(
        world,
        await propose_content(world, "state_change", {"entity_id": ann, "remove": ["cursed"]}),
    )

    assert verdict["status"] == "accepted"
    assert await state_seen(world, ann, STRANGER) == ([], set())
    assert await state_seen(world, ann, KNOWING) == ([], set())


async def test_a_public_tag_ends_a_secret_opposite_for_its_readers() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await propose_tag(world, ann, "wounded", **FOR_PIP)

    written = await world.call(
        "neo4j_update_entity_state",
        entity_id=ann,
        state_tag_changes={"add": ["healthy"]},
        authority="gm",
        evidence_refs=world.evidence,
    )

    assert written["new_state_tags"] == ["healthy"]
    healthy = (["healthy"], {"Ann is healthy"})
    assert await state_seen(world, ann, STRANGER) == healthy
    assert await state_seen(world, ann, KNOWING) == healthy


async def test_a_retcon_restores_items_ended_only_for_some_readers() -> None:
    world = await a_world()
    ann, (inn, mill, keep) = await ann_and_three_places(world)
    await propose_move(world, ann, inn, 1400)
    await propose_move(world, ann, mill, 1401, **FOR_PIP)
    last = await world.relation(
        ann, "LOCATED_IN", keep, since="1402-01-01T00:00:00Z", authority="gm"
    )
    await propose_tag(world, ann, "wounded", **FOR_PIP)
    well = await world.call(
        "neo4j_update_entity_state",
        entity_id=ann,
        state_tag_changes={"add": ["healthy"]},
        authority="gm",
        evidence_refs=world.evidence,
    )
    (fact,) = well["fact_ids"]

    for item in (last, fact):
        await world.call("neo4j_retcon_thing", id=item, reason="it never was")

    assert await places_seen(world, ann, STRANGER) == [(inn, True)]
    assert await places_seen(world, ann, KNOWING) == [(inn, False), (mill, True)]
    assert await state_seen(world, ann, STRANGER) == ([], set())
    assert await state_seen(world, ann, KNOWING) == (["wounded"], {"Ann is wounded"})


async def test_revealing_an_event_that_undid_a_death_reveals_its_fact() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await propose_tag(world, ann, "dead", time_ref="1400-01-01T00:00:00Z")
    dance = {"title": "Ann dances", "actor_ids": [ann], "involved": [ann]}
    when = {"time_ref": "1401-01-01T00:00:00Z"}
    (verdict,) = await canonize_all(
        world, await propose_content(world, "event", {**dance, **when, **FOR_PIP})
    )
    assert verdict["status"] == "accepted"
    assert await state_seen(world, ann, STRANGER) == (["dead"], {"Ann is dead"})
    assert await state_seen(world, ann, KNOWING) == ([], set())

    event = verdict["canonical_id"]
    await world.call("neo4j_set_audience", id=event, audience=["everyone"], reason="all saw her")

    assert await state_seen(world, ann, STRANGER) == ([], set())


async def test_a_relation_stated_to_two_audiences_ends_for_both() -> None:
    world = await a_world()
    ann, (inn, _mill, _keep) = await ann_and_three_places(world)
    await propose_move(world, ann, inn, 1402, **FOR_PIP)
    shown = await propose_move(world, ann, inn, 1400)
    assert await places_seen(world, ann, KNOWING) == [(inn, False), (inn, True)]

    await world.call("neo4j_end_relationship", relationship_id=shown, reason="she left")

    assert await places_seen(world, ann, STRANGER) == [(inn, False)]
    assert await places_seen(world, ann, KNOWING) == [(inn, False), (inn, False)]


async def test_a_secretly_ended_relation_ends_publicly_by_a_master() -> None:
    world = await a_world()
    ann, (inn, mill, _keep) = await ann_and_three_places(world)
    shown = await propose_move(world, ann, inn, 1400)
    await propose_move(world, ann, mill, 1401, **FOR_PIP)

    await world.call("neo4j_end_relationship", relationship_id=shown, reason="all saw her leave")

    assert await places_seen(world, ann, STRANGER) == [(inn, False)]
    assert await places_seen(world, ann, KNOWING) == [(inn, False), (mill, True)]


async def test_a_restricted_tag_ends_for_each_of_its_readers() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await propose_tag(world, ann, "cursed", **FOR_PIP)
    await propose_tag(world, ann, "cursed", audience=[f"character:{ann}"])

    await world.call(
        "neo4j_update_entity_state",
        entity_id=ann,
        state_tag_changes={"remove": ["cursed"]},
        authority="gm",
        evidence_refs=world.evidence,
    )

    for who in (KNOWING, a_player(ann), STRANGER):
        assert await state_seen(world, ann, who) == ([], set())
    reply = await world.gateway.call("neo4j_query_facts", {"entity_id": ann}, STRANGER)
    assert reply.body["total"] == 0


@pytest.mark.parametrize("key", [None, "the very same request"])
async def test_a_reply_hides_items_that_ended_for_others(key: str | None) -> None:
    world = await a_world()
    ann, (inn, mill, _keep) = await ann_and_three_places(world)
    secret = await propose_move(world, ann, inn, 1400, **FOR_PIP)
    who = Principal(agent_type="CanonKeeper", authorities=FEW)
    asked = {"from_entity_id": ann, "rel_type": "LOCATED_IN", "to_entity_id": mill}
    meta = None if key is None else {KEY_META: key}

    replies = [
        await world.gateway.call("neo4j_create_relationship", asked, who, meta) for _ in range(2)
    ]

    for reply in replies:
        assert reply.error is None, reply.text
        assert secret not in reply.text
    seen = await places_seen(world, ann, KNOWING)
    assert (inn, False) in seen
    assert (mill, True) in seen


async def test_an_item_that_retracted_another_is_not_hidden() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    old = await world.fact("Ann plays the lute", ann)
    content = {"statement": "Ann bakes bread", "involved": [ann], "replaces": old}
    (verdict,) = await canonize_all(world, await propose_content(world, "fact", content))

    refused = await world.refused(
        "neo4j_set_audience",
        code=-32004,
        id=verdict["canonical_id"],
        audience=["gm"],
        reason="better not known",
    )

    assert refused["code"] == "audience.told"


async def test_a_secret_statement_of_the_keeper_has_the_readers_of_its_evidence() -> None:
    world = await a_world()
    ann = await world.entity("Ann", state_tags=["alive"])
    letters = await a_secret_source(world, f"player:{PIP}")

    await world.call(
        "neo4j_update_entity_state",
        entity_id=ann,
        state_tag_changes={"add": ["dead"]},
        authority="gm",
        evidence_refs=[f"source:{letters}"],
    )

    assert (await state_seen(world, ann, STRANGER))[0] == ["alive"]
    assert await state_seen(world, ann, KNOWING) == (["dead"], {"Ann is dead"})


async def test_entities_with_different_readers_are_not_merged() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    queen = await world.entity("The Queen", audience=["gm"])

    for kept, merged in ((ann, queen), (queen, ann)):
        refused = await world.refused(
            "neo4j_merge_entities",
            code=-32004,
            kept_entity_id=kept,
            merged_entity_id=merged,
            reason="it was her",
        )
        assert refused["code"] == "entity.other-audience"

    await world.call("neo4j_set_audience", id=queen, audience=["everyone"], reason="she says so")
    await world.call(
        "neo4j_merge_entities", kept_entity_id=ann, merged_entity_id=queen, reason="it was her"
    )


async def test_a_merge_settles_the_state_for_readers_of_its_secrets() -> None:
    world = await a_world()
    ann, queen = await world.entity("Ann"), await world.entity("The Queen")
    await propose_tag(world, queen, "wounded", **FOR_PIP)
    await propose_tag(world, ann, "healthy")

    merge = {"kept_entity_id": ann, "merged_entity_id": queen}
    await world.call("neo4j_merge_entities", **merge, reason="it was her")

    assert (await state_seen(world, ann, STRANGER))[0] == ["healthy"]
    assert (await state_seen(world, ann, KNOWING))[0] == ["healthy"]


async def test_an_explanation_shows_audiences_only_to_game_masters() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    verdict = await propose_tag(world, ann, "wounded", **FOR_PIP)
    fact = verdict["canonical_id"]

    secret = await world.call("neo4j_explain", id=fact)
    veiled = await world.call("neo4j_explain", id=ann)
    to_pip = await world.gateway.call("neo4j_explain", {"id": fact}, KNOWING)
    to_all = await world.gateway.call("neo4j_explain", {"id": ann}, STRANGER)

    assert (secret["audience"], "more_known_to" in secret) == (FOR_PIP["audience"], False)
    assert ("audience" in veiled, veiled["more_known_to"]) == (False, [FOR_PIP["audience"]])
    assert to_pip.error is None
    for shown in (to_pip.body, to_all.body):
        assert {"audience", "more_known_to"}.isdisjoint(shown)

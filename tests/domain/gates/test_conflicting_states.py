"""The gates that ask whether canon stands against a proposal, and what falls if it is outranked."""

from typing import Any

import pytest

from canonry.canon.session.viewpoint import entities_then
from canonry.canon.session.what_holds import moment_at
from canonry.log.entries import EntitiesMerged
from canonry.log.items.proposals import ProposalStatus
from canonry.log.schemas.narrative import EntityType
from canonry.testing.example_items import uuid_of
from canonry.values.ids import EntityId
from canonry.values.policy import Policy
from canonry.values.provenance import Authority, CanonLevel
from tests.usecases.stage import (
    ACCEPTED,
    PENDING,
    REJECTED,
    a_peopled_stage,
    a_relation_of,
    a_stage,
    day_text,
    id_of,
    verdict_on,
    world_day,
)

pytestmark = pytest.mark.anyio
PLACE = EntityType.LOCATION


async def test_a_later_state_replaces_the_one_it_excludes() -> None:
    stage = await a_peopled_stage()
    await stage.tag("Frodo", "healthy", at=world_day(1))
    (healthy,) = await stage.canon.state.facts_stating(
        (await stage.find_item(id_of("Frodo"))).space, {"Frodo is healthy"}
    )

    verdict = await stage.verdict(
        "state_change",
        {"entity_id": id_of("Frodo"), "add": ["wounded"], "time_ref": day_text(2)},
        authority=Authority.GM,
    )

    assert (verdict.status, verdict.rule) == (ACCEPTED, "gate:state-tags-exclusive")
    assert (await stage.find_item(id_of("Frodo"))).state_tags == ("wounded",)
    assert (await stage.find_item(healthy.id)).until == world_day(2)


@pytest.mark.parametrize(
    ("authority", "status"),
    [(Authority.SYSTEM, REJECTED), (Authority.PLAYER, REJECTED), (Authority.GM, ACCEPTED)],
)
async def test_simultaneous_states_contradict_and_yield_to_higher_authority(
    authority: Authority, status: ProposalStatus
) -> None:
    stage = await a_peopled_stage()
    await stage.tag("Frodo", "healthy", at=world_day(3), authority=Authority.PLAYER)
    facts = await stage.canon.state.facts_stating(
        (await stage.find_item(id_of("Frodo"))).space, {"Frodo is healthy"}
    )

    verdict = await stage.verdict(
        "state_change",
        {"entity_id": id_of("Frodo"), "add": ["wounded"], "time_ref": day_text(3)},
        authority=authority,
        confidence=1.0,
    )

    assert (verdict.status, verdict.rule) == (status, "gate:state-tags-exclusive")
    assert verdict.conflicts == (facts[0].id,)
    retracted = await stage.find_item(facts[0].id)
    if status is ACCEPTED:
        assert retracted.level is CanonLevel.RETCONNED
        assert retracted.replaced_by == verdict.canonical_id
        assert (await stage.find_item(id_of("Frodo"))).state_tags == ("wounded",)
    else:
        assert retracted.level is CanonLevel.CANON
        assert (await stage.find_item(id_of("Frodo"))).state_tags == ("healthy",)


@pytest.mark.parametrize("authority", [Authority.SYSTEM, Authority.PLAYER, Authority.GM])
async def test_a_backstory_holds_until_a_later_beginning(authority: Authority) -> None:
    stage = await a_peopled_stage()
    await stage.tag("Frodo", "wounded", at=world_day(3), authority=Authority.PLAYER)

    verdict = await stage.verdict(
        "state_change",
        {"entity_id": id_of("Frodo"), "add": ["healthy"], "time_ref": day_text(2)},
        authority=authority,
        confidence=1.0,
    )

    assert verdict.status is ACCEPTED
    frodo = await stage.find_item(id_of("Frodo"))
    assert frodo.state_tags == ("wounded",)
    (healthy,) = await stage.canon.state.facts_stating(frodo.space, {"Frodo is healthy"})
    (wounded,) = await stage.canon.state.facts_stating(frodo.space, {"Frodo is wounded"})
    assert (healthy.until, healthy.superseded_by) == (world_day(3), wounded.id)
    assert (wounded.until, wounded.level) == (None, CanonLevel.CANON)
    then = await entities_then(stage.canon, (frodo,), moment_at(world_day(2)))
    assert then[frodo.id].state_tags == ("healthy",)


async def test_a_player_does_not_revive_an_entity_killed_by_the_game_master() -> None:
    stage = await a_peopled_stage()
    await stage.tag("Frodo", "dead", authority=Authority.GM)

    verdict = await stage.verdict(
        "state_change", {"entity_id": id_of("Frodo"), "add": ["alive"]}, confidence=1.0
    )

    assert (verdict.status, verdict.rule) == (PENDING, "gate:state-tags-exclusive")
    assert "needs review" in verdict.rationale
    assert len(verdict.conflicts) == 1
    assert (await stage.find_item(id_of("Frodo"))).state_tags == ("dead",)


@pytest.mark.parametrize(
    ("authority", "status"), [(Authority.PLAYER, PENDING), (Authority.GM, ACCEPTED)]
)
async def test_a_player_does_not_remove_a_state_given_by_the_game_master(
    authority: Authority, status: ProposalStatus
) -> None:
    stage = await a_peopled_stage()
    await stage.tag("Frodo", "cursed", authority=Authority.GM)

    verdict = await stage.verdict(
        "state_change",
        {"entity_id": id_of("Frodo"), "remove": ["cursed"]},
        authority=authority,
        confidence=1.0,
    )

    assert verdict.status is status
    held = (await stage.find_item(id_of("Frodo"))).state_tags
    assert held == (("cursed",) if status is PENDING else ())


async def test_a_policy_adds_groups_of_exclusive_tags() -> None:
    stage = await a_stage(Policy(tags_exclusive=(("king", "beggar"),)))
    frodo = await stage.entity("Frodo", EntityType.CHARACTER, "king")

    verdict = await stage.verdict("state_change", {"entity_id": frodo, "add": ["beggar", "king"]})

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:state-tags-exclusive")


async def test_a_moved_entity_is_no_longer_at_the_old_place() -> None:
    stage = await a_peopled_stage()
    old = a_relation_of("old", "LOCATED_IN", "Frodo", "Shire", since=world_day(1))
    await stage.make(old)

    verdict = await stage.verdict(
        "relationship",
        {"from": id_of("Frodo"), "to": id_of("Mordor"), "type": "LOCATED_IN", "since": day_text(2)},
        authority=Authority.GM,
    )

    assert (verdict.status, verdict.rule) == (ACCEPTED, "gate:functional-relation")
    left = await stage.find_item(old.id)
    assert (left.ended, left.until, left.level) == (True, world_day(2), CanonLevel.CANON)


async def test_no_entity_is_at_two_places_at_once() -> None:
    stage = await a_peopled_stage()
    await stage.make(a_relation_of("old", "LOCATED_IN", "Frodo", "Shire", since=world_day(2)))
    there = {
        "from": id_of("Frodo"),
        "to": id_of("Mordor"),
        "type": "LOCATED_IN",
        "since": day_text(2),
    }

    verdict = await stage.verdict("relationship", there)

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:functional-relation")
    assert verdict.conflicts == (uuid_of("old"),)


async def test_an_entity_formerly_elsewhere_is_now_where_it_went() -> None:
    stage = await a_peopled_stage()
    await stage.make(
        a_relation_of(
            "old", "LOCATED_IN", "Frodo", "Shire", authority=Authority.PLAYER, since=world_day(2)
        )
    )
    there = {
        "from": id_of("Frodo"),
        "to": id_of("Mordor"),
        "type": "LOCATED_IN",
        "since": day_text(1),
    }

    verdict = await stage.verdict("relationship", there, authority=Authority.GM)

    assert verdict.status is ACCEPTED
    before, now = await stage.find_item(verdict.canonical_id), await stage.find_item(uuid_of("old"))
    assert (before.ended, before.until, before.level) == (True, world_day(2), CanonLevel.CANON)
    assert (now.ended, now.level) == (False, CanonLevel.CANON)


async def test_a_player_does_not_take_items_given_by_the_game_master() -> None:
    stage = await a_peopled_stage()
    await stage.entity("Crown", EntityType.OBJECT)
    await stage.make(a_relation_of("gift", "OWNS", "Gollum", "Crown", authority=Authority.GM))
    mine = {"from": id_of("Frodo"), "to": id_of("Crown"), "type": "OWNS"}

    verdict = await stage.verdict("relationship", mine, confidence=1.0)

    assert (verdict.status, verdict.rule) == (PENDING, "gate:functional-relation")
    assert verdict.conflicts == (uuid_of("gift"),)
    assert not (await stage.find_item(uuid_of("gift"))).ended


async def test_an_item_has_one_owner_and_the_game_master_may_correct_it() -> None:
    stage = await a_peopled_stage()
    await stage.entity("Ring", EntityType.OBJECT)
    await stage.make(a_relation_of("old", "OWNS", "Gollum", "Ring", since=world_day(5)))

    verdict = await stage.verdict(
        "relationship",
        {"from": id_of("Frodo"), "to": id_of("Ring"), "type": "OWNS", "since": day_text(5)},
        authority=Authority.GM,
    )

    assert (verdict.status, verdict.rule) == (ACCEPTED, "gate:functional-relation")
    retracted = await stage.find_item(uuid_of("old"))
    assert (retracted.level, retracted.replaced_by) == (CanonLevel.RETCONNED, verdict.canonical_id)


@pytest.mark.parametrize("since", [None, day_text(2)])
async def test_a_change_of_heart_ends_a_feeling_and_keeps_its_past(since: str | None) -> None:
    stage = await a_peopled_stage()
    await stage.make(a_relation_of("pact", "ALLY_OF", "Gollum", "Frodo", since=world_day(1)))
    hostile: dict[str, Any] = {"from": id_of("Frodo"), "to": id_of("Gollum"), "type": "ENEMY_OF"}
    reported = hostile if since is None else {**hostile, "since": since}

    lower = await stage.verdict("relationship", reported)
    await stage.scene("scene 2", order=2)
    later = await stage.verdict("relationship", reported, authority=Authority.GM, scene="scene 2")

    assert (lower.status, lower.rule) == (PENDING, "gate:opposed-relation")
    assert lower.conflicts == (uuid_of("pact"),)
    assert (later.status, later.rule) == (ACCEPTED, "gate:opposed-relation")
    pact = await stage.find_item(uuid_of("pact"))
    assert (pact.ended, pact.level) == (True, CanonLevel.CANON)


async def test_the_dead_do_not_act_but_may_be_involved() -> None:
    stage = await a_peopled_stage()
    await stage.tag("Gollum", "dead", at=world_day(2))
    gollum = id_of("Gollum")
    acting = await stage.propose("event", {"title": "He steals", "actor": gollum})
    before = await stage.propose(
        "event", {"title": "He fishes", "actor": gollum, "time_ref": day_text(1)}
    )
    mourned = await stage.propose(
        "event", {"title": "They mourn", "involved": [gollum], "time_ref": day_text(4)}
    )

    report = await stage.canonize()

    refused = verdict_on(report, acting)
    assert (refused.status, refused.rule) == (REJECTED, "gate:actor-alive")
    assert len(refused.conflicts) == 1
    assert verdict_on(report, before).status is ACCEPTED
    result = verdict_on(report, mourned)
    assert result.status is ACCEPTED
    assert "is involved in it but is dead then" in result.rationale


@pytest.mark.parametrize(
    ("statement", "day_stated", "is_asked"),
    [
        ("Gollum steals the ring", 4, True),
        ("Gollum stole the ring", 4, True),
        ("Gollum steals the ring", 1, False),
        ("Gollum stole the ring", None, False),
        ("Gollum lies in the mountain", 4, False),
        ("Gollum is mourned", 4, False),
        ("Gollum does not steal the ring", 4, False),
        ("The ring of Gollum shines", 4, False),
    ],
)
async def test_words_that_let_the_dead_act_are_questioned(
    statement: str,
    day_stated: int | None,
    is_asked: bool,
) -> None:
    stage = await a_peopled_stage()
    await stage.tag("Gollum", "dead", at=world_day(2))
    content = {"statement": statement, "entity_ids": [id_of("Gollum")]}
    dated = {} if day_stated is None else {"time_ref": day_text(day_stated)}

    verdict = await stage.verdict("fact", content | dated)

    assert verdict.status is ACCEPTED
    assert ("Gollum acts in it but is dead then" in verdict.rationale) is is_asked


async def test_the_game_master_can_let_the_dead_act_as_never_dead() -> None:
    stage = await a_peopled_stage()
    await stage.tag("Gollum", "dead")

    verdict = await stage.verdict(
        "event", {"title": "He steals", "actor": id_of("Gollum")}, authority=Authority.GM
    )

    assert (verdict.status, verdict.rule) == (ACCEPTED, "gate:actor-alive")
    assert (await stage.find_item(verdict.conflicts[0])).level is CanonLevel.RETCONNED
    assert (await stage.find_item(id_of("Gollum"))).state_tags == ()


async def test_a_death_stated_three_times_in_one_scene_is_accepted_three_times() -> None:
    stage = await a_peopled_stage()
    gollum = id_of("Gollum")
    await stage.propose("fact", {"statement": "Gollum is dead", "entity_ids": [gollum]})
    await stage.propose("state_change", {"entity_id": gollum, "tag": "dead", "action": "add"})
    await stage.propose("event", {"title": "Gollum falls", "actor": gollum})

    report = await stage.canonize()

    assert len(report.with_status(ACCEPTED)) == 3


async def test_an_entity_acting_at_a_place_is_not_elsewhere() -> None:
    stage = await a_peopled_stage()
    await stage.entity("Hobbiton", PLACE)
    await stage.make(
        a_relation_of("home", "LOCATED_IN", "Frodo", "Hobbiton"),
        a_relation_of("part", "LOCATED_IN", "Hobbiton", "Shire"),
    )
    frodo = id_of("Frodo")
    away = await stage.propose("event", {"title": "x", "actor": frodo, "location": id_of("Mordor")})
    near = await stage.propose("event", {"title": "y", "actor": frodo, "location": id_of("Shire")})
    present = await stage.propose(
        "event", {"title": "z", "involved": [frodo], "location": id_of("Mordor")}
    )

    report = await stage.canonize()

    refused = verdict_on(report, away)
    assert (refused.status, refused.rule) == (REJECTED, "gate:actor-present")
    assert refused.conflicts == (uuid_of("home"),)
    assert verdict_on(report, near).status is ACCEPTED
    assert verdict_on(report, present).status is ACCEPTED


async def test_a_participant_is_at_the_location_of_the_scene() -> None:
    stage = await a_peopled_stage()
    await stage.make(a_relation_of("home", "LOCATED_IN", "Frodo", "Shire"))
    await stage.scene(
        "trip",
        order=2,
        location_ref=EntityId(id_of("Mordor")),
        participants=(EntityId(id_of("Frodo")),),
    )

    verdict = await stage.verdict(
        "event",
        {"title": "x", "actor": id_of("Frodo"), "location": id_of("Mordor")},
        scene="trip",
    )

    assert verdict.status is ACCEPTED


async def test_a_merged_entity_is_where_its_parts_were() -> None:
    stage = await a_peopled_stage()
    strider = await stage.entity("Strider")
    aragorn = await stage.entity("Aragorn")
    await stage.make(a_relation_of("old", "LOCATED_IN", "Strider", "Shire"))
    merged = EntitiesMerged(
        kept=EntityId(aragorn), merged=EntityId(strider), members=(), reason="one man"
    )
    await stage.scribe.write_entries(merged)

    verdict = await stage.verdict(
        "relationship",
        {"from": strider, "to": id_of("Mordor"), "type": "LOCATED_IN"},
        authority=Authority.GM,
    )

    assert (verdict.status, verdict.rule) == (ACCEPTED, "gate:functional-relation")
    assert (await stage.find_item(verdict.canonical_id)).from_id == aragorn
    assert (await stage.find_item(uuid_of("old"))).ended

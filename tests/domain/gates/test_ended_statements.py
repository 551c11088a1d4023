"""An ended statement conflicts only with claims of its own time."""

from dataclasses import replace
from itertools import pairwise

import pytest

from canonry.log.entries import RelationEnded
from canonry.log.items.proposals import ProposalStatus
from canonry.log.schemas.narrative import EntityType
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import a_source, a_space, an_event, uuid_of
from canonry.values.ids import RelationId
from canonry.values.provenance import Authority, Evidence, EvidenceKind
from tests.usecases.stage import (
    ACCEPTED,
    PENDING,
    REJECTED,
    Stage,
    a_peopled_stage,
    a_relation_of,
    day_text,
    id_of,
    verdict_on,
    world_day,
)

pytestmark = pytest.mark.anyio


async def add_ended_relation(stage: Stage, name: str, rel_type: str, start: str, end: str) -> None:
    """A relation that held from the first day to the fifth."""
    await stage.make(a_relation_of(name, rel_type, start, end, since=world_day(1)))
    over = RelationEnded(
        relation_id=RelationId(uuid_of(name)), until=world_day(5), superseded_by=None, reason="over"
    )
    await stage.scribe.write_entries(over)


WHEN = pytest.mark.parametrize(
    ("stated", "status"), [(day_text(3), REJECTED), (day_text(6), ACCEPTED), (None, ACCEPTED)]
)


@WHEN
async def test_a_former_occupant_was_there_at_the_time(
    stated: str | None, status: ProposalStatus
) -> None:
    stage = await a_peopled_stage()
    await add_ended_relation(stage, "stay", "LOCATED_IN", "Frodo", "Shire")
    content = {"title": "x", "actor": id_of("Frodo"), "location": id_of("Mordor")}

    verdict = await stage.verdict("event", {**content, **({"time_ref": stated} if stated else {})})

    assert verdict.status is status
    assert verdict.conflicts == ((uuid_of("stay"),) if status is REJECTED else ())


CUT_SHORT = pytest.mark.parametrize(
    ("stated", "status"), [(day_text(3), PENDING), (day_text(6), ACCEPTED), (None, ACCEPTED)]
)
"""A player's word does not end earlier what the game master said."""


@CUT_SHORT
async def test_a_former_owner_owned_the_item_alone(
    stated: str | None, status: ProposalStatus
) -> None:
    stage = await a_peopled_stage()
    await stage.entity("Ring", EntityType.OBJECT)
    await add_ended_relation(stage, "hoard", "OWNS", "Gollum", "Ring")
    content = {"from": id_of("Frodo"), "to": id_of("Ring"), "type": "OWNS"}

    verdict = await stage.verdict(
        "relationship", {**content, **({"since": stated} if stated else {})}
    )

    assert verdict.status is status
    assert verdict.conflicts == ((uuid_of("hoard"),) if status is PENDING else ())


@CUT_SHORT
async def test_former_allies_were_no_enemies_at_the_time(
    stated: str | None, status: ProposalStatus
) -> None:
    stage = await a_peopled_stage()
    await add_ended_relation(stage, "pact", "ALLY_OF", "Gollum", "Frodo")
    content = {"from": id_of("Frodo"), "to": id_of("Gollum"), "type": "ENEMY_OF"}

    verdict = await stage.verdict(
        "relationship", {**content, **({"since": stated} if stated else {})}
    )

    assert verdict.status is status
    assert verdict.conflicts == ((uuid_of("pact"),) if status is PENDING else ())


async def test_allies_of_others_are_not_enemies_for_that() -> None:
    stage = await a_peopled_stage()
    await stage.entity("Sam")
    await stage.make(a_relation_of("pact", "ALLY_OF", "Sam", "Frodo", since=world_day(1)))

    verdict = await stage.verdict(
        "relationship", {"from": id_of("Frodo"), "to": id_of("Gollum"), "type": "ENEMY_OF"}
    )

    assert verdict.status is ACCEPTED


async def test_circularly_nested_places_are_visited_once() -> None:
    """Canon that was written directly may hold such a ring; an event at a third place is judged."""
    stage = await a_peopled_stage()
    await stage.entity("Hobbiton", EntityType.LOCATION)
    await stage.make(
        a_relation_of("home", "LOCATED_IN", "Frodo", "Hobbiton"),
        a_relation_of("part", "LOCATED_IN", "Hobbiton", "Shire"),
        a_relation_of("back", "LOCATED_IN", "Shire", "Hobbiton"),
    )

    verdict = await stage.verdict(
        "event", {"title": "x", "actor": id_of("Frodo"), "location": id_of("Mordor")}
    )

    assert (verdict.status, verdict.conflicts) == (REJECTED, (uuid_of("home"),))


async def test_items_of_another_universe_are_neither_named_nor_cited() -> None:
    stage = await a_peopled_stage()
    elsewhere = Scribe(stage.canon, "elsewhere", a_space("elsewhere").id)
    await elsewhere.open_spaces("elsewhere")
    stranger = replace(a_source("their book"), space=a_space("elsewhere").id)
    await elsewhere.make_items(stranger)
    cited = (Evidence(kind=EvidenceKind.SOURCE, ref=stranger.id),)

    verdict = await stage.verdict(
        "fact", {"statement": "It rains", "entity_ids": [id_of("Frodo")]}, cited=cited
    )

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:evidence-resolves")
    assert "another universe" in verdict.rationale


@pytest.mark.parametrize("effects", [499, 500, 501])
async def test_a_walk_over_very_many_effects_stops_with_a_reason(effects: int) -> None:
    stage = await a_peopled_stage()
    chain = [an_event(f"event {n}") for n in range(effects)]
    linked = [replace(one, causes=(other.id,)) for one, other in pairwise(chain)]
    cause = an_event("the cause")
    await stage.make(cause, *linked, chain[-1])

    verdict = await stage.verdict(
        "event",
        {"title": "x", "caused_by": [cause.id], "causes": [chain[0].id]},
        authority=Authority.GM,
    )

    assert (verdict.status is REJECTED) == (effects > 500)
    assert ("name closer effects" in verdict.rationale) == (effects > 500)


async def test_an_effect_reached_twice_is_no_cycle() -> None:
    stage = await a_peopled_stage()
    last, cause = an_event("last"), an_event("cause")
    one = replace(an_event("one"), causes=(last.id,))
    other = replace(an_event("other"), causes=(last.id,))
    await stage.make(last, cause, one, other)

    verdict = await stage.verdict(
        "event",
        {"title": "x", "caused_by": [cause.id], "causes": [one.id, other.id]},
        authority=Authority.GM,
    )

    assert verdict.status is ACCEPTED


async def test_a_pending_proposal_is_no_valid_basis() -> None:
    stage = await a_peopled_stage()
    await stage.scene("scene 2", order=2)
    ground = await stage.propose(
        "entity", {"name": "Tower", "entity_type": "location"}, scene="scene 2"
    )
    reply = await stage.propose(
        "relationship",
        {"from": id_of("Frodo"), "to": f"proposal:{ground}", "type": "LOCATED_IN"},
    )

    report = await stage.canonize()

    verdict = verdict_on(report, reply)
    assert (verdict.status, verdict.rule) == (REJECTED, "gate:dependency-accepted")


async def test_a_proposal_on_a_missing_basis_names_it() -> None:
    stage = await a_peopled_stage()
    nowhere = uuid_of("never proposed")

    verdict = await stage.verdict(
        "relationship",
        {"from": id_of("Frodo"), "to": f"proposal:{nowhere}", "type": "LOCATED_IN"},
    )

    assert verdict.status is REJECTED
    assert nowhere in verdict.rationale

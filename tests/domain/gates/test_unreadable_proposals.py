"""The gates that turn a proposal away before anybody asks whether canon stands against it."""

from dataclasses import replace

import pytest

from canonry.log.entries import EntityRetconned
from canonry.log.items.entities import EntityClass
from canonry.log.items.facts import AxiomDomain, Constraint
from canonry.log.items.proposals import ProposalStatus, ProposalType
from canonry.log.schemas.narrative import EntityType
from canonry.testing.example_items import (
    a_proposal,
    a_snippet,
    a_source,
    an_axiom,
    some_evidence,
    uuid_of,
)
from canonry.values.ids import EntityId
from canonry.values.policy import Policy, Scoring
from canonry.values.provenance import Authority, CanonLevel, EvidenceKind
from tests.usecases.stage import ACCEPTED, REJECTED, a_stage, id_of, verdict_on

pytestmark = pytest.mark.anyio
NOBODY = uuid_of("nobody")


async def test_content_that_says_nothing_of_its_type_is_rejected() -> None:
    stage = await a_stage()
    await stage.make(replace(a_proposal("bad"), type=ProposalType.EVENT, content={}))

    report = await stage.canonize()

    verdict = verdict_on(report, uuid_of("bad"))
    assert (verdict.status, verdict.rule) == (REJECTED, "gate:content-readable")
    assert "/content/title is missing" in verdict.rationale


async def test_dependents_of_a_rejected_proposal_are_rejected_and_name_it() -> None:
    stage = await a_stage()
    weak = await stage.propose(
        "entity",
        {"name": "Sam", "entity_type": "character", "ref": "$sam"},
        authority=Authority.SYSTEM,
    )
    by_name = await stage.propose("fact", {"statement": "Sam cooks", "entity_ids": ["$sam"]})
    by_id = await stage.propose(
        "fact", {"statement": "Sam sings", "entity_ids": [f"proposal:{weak}"]}
    )

    report = await stage.canonize()

    for dependent in (by_name, by_id):
        verdict = verdict_on(report, dependent)
        assert (verdict.status, verdict.rule) == (REJECTED, "gate:dependency-accepted")
        assert verdict.conflicts == (weak,)
        assert weak in verdict.rationale


async def test_circularly_dependent_proposals_are_rejected() -> None:
    stage = await a_stage()
    hen, egg = uuid_of("hen"), uuid_of("egg")
    for name, other in (("hen", egg), ("egg", hen)):
        await stage.propose("event", {"title": name, "caused_by": [f"proposal:{other}"]}, name=name)

    report = await stage.canonize()

    assert {one.rule for one in report.verdicts} == {"gate:dependency-accepted"}


@pytest.mark.parametrize("reference", [NOBODY, "$nobody"])
async def test_references_to_nonexistent_items_are_rejected(reference: str) -> None:
    stage = await a_stage()

    verdict = await stage.verdict("fact", {"statement": "x", "entity_ids": [reference]})

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:references-exist")
    assert reference in verdict.rationale


async def test_an_argument_takes_only_items_of_its_kind() -> None:
    stage = await a_stage()
    frodo = await stage.entity("Frodo")
    race = await stage.entity("Hobbit", EntityType.CHARACTER, entity_class=EntityClass.ARCHETYPE)
    wrong = [
        await stage.propose("state_change", {"entity_id": race, "add": ["asleep"]}),
        await stage.propose("event", {"title": "x", "location": frodo}),
        await stage.propose("fact", {"statement": "x", "entity_ids": [uuid_of("scene")]}),
        await stage.propose(
            "entity", {"name": "Ring", "entity_type": "object", "derives_from": race}
        ),
        await stage.propose(
            "entity", {"name": "Sam", "entity_type": "character", "derives_from": frodo}
        ),
    ]
    right = await stage.propose(
        "entity", {"name": "Pippin", "entity_type": "character", "derives_from": race}
    )

    report = await stage.canonize()

    assert {verdict_on(report, one).rule for one in wrong} == {"gate:references-fit"}
    assert verdict_on(report, right).status is ACCEPTED


async def test_nothing_is_built_on_retconned_items() -> None:
    stage = await a_stage()
    await stage.entity("Tom")
    tom = EntityId(id_of("Tom"))
    await stage.scribe.write_entries(EntityRetconned(entity_id=tom, replaced_by=None, reason="cut"))

    verdict = await stage.verdict(
        "event", {"title": "Tom sings", "actor_id": tom}, authority=Authority.GM
    )

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:target-not-retconned")
    assert verdict.conflicts == (tom,)


async def test_unresolvable_evidence_does_not_count() -> None:
    stage = await a_stage()

    verdict = await stage.verdict("fact", {"statement": "x"}, cited=some_evidence("nowhere"))

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:evidence-resolves")


@pytest.mark.parametrize(
    ("authority", "confidence", "cited", "status"),
    [
        (Authority.PLAYER, 0.72, True, ACCEPTED),
        (Authority.PLAYER, 0.71, True, REJECTED),
        (Authority.PLAYER, 1.0, False, REJECTED),
        (Authority.SYSTEM, 1.0, True, ACCEPTED),
        (Authority.SYSTEM, 0.99, True, REJECTED),
        (Authority.GM, 0.01, True, ACCEPTED),
        (Authority.GM, 0.0, True, ProposalStatus.PENDING),
        (Authority.GM, 0.01, False, ProposalStatus.PENDING),
        (Authority.SOURCE, 0.6, True, REJECTED),
    ],
)
async def test_a_score_or_the_game_masters_evidence_decides(
    authority: Authority, confidence: float, cited: bool, status: ProposalStatus
) -> None:
    stage = await a_stage()

    verdict = await stage.verdict(
        "fact",
        {"statement": "x"},
        authority=authority,
        confidence=confidence,
        cited=None if cited else (),
    )

    assert (verdict.status, verdict.rule) == (status, "gate:score-reaches-threshold")


async def test_a_source_counts_only_if_a_canon_source_is_cited() -> None:
    stage = await a_stage()
    await stage.make(a_source("draft", level=CanonLevel.PROPOSED), a_snippet())
    kinds = {"source": EvidenceKind.SOURCE, "snippet": EvidenceKind.SNIPPET}
    passing = [
        await stage.propose(
            "fact",
            {"statement": f"x {name}"},
            authority=Authority.SOURCE,
            confidence=0.6,
            cited=some_evidence(name, kind),
        )
        for name, kind in kinds.items()
    ]
    failing = await stage.propose(
        "fact",
        {"statement": "y"},
        authority=Authority.SOURCE,
        confidence=0.6,
        cited=some_evidence("draft", EvidenceKind.SOURCE),
    )

    report = await stage.canonize()

    for one in passing:
        verdict = verdict_on(report, one)
        assert (verdict.status, verdict.score) == (ACCEPTED, 0.6)
        assert (await stage.find_item(verdict.canonical_id)).authority is Authority.SOURCE
    assert verdict_on(report, failing).status is REJECTED
    assert "cites no source that is canon" in verdict_on(report, failing).rationale


async def test_a_low_score_waits_if_the_policy_defers() -> None:
    stage = await a_stage(Policy(scoring=Scoring(below="defer")))
    weak = await stage.propose(
        "entity",
        {"name": "Sam", "entity_type": "character", "ref": "$sam"},
        authority=Authority.SYSTEM,
    )
    dependent = await stage.propose("fact", {"statement": "Sam cooks", "entity_ids": ["$sam"]})

    report = await stage.canonize()

    assert set(report.with_status(ProposalStatus.PENDING)) == {weak, dependent}
    assert verdict_on(report, weak).rule == "gate:score-reaches-threshold"
    waiting = verdict_on(report, dependent)
    assert (waiting.rule, waiting.conflicts) == ("gate:dependency-accepted", (weak,))


@pytest.mark.parametrize(
    ("constraint", "broken"),
    [
        (Constraint(kind="forbidden_tag", values=("undead",)), True),
        (Constraint(kind="forbidden_tag", values=("undead",), entity_type="object"), False),
        (Constraint(kind="exclusive_tags", values=("undead", "blessed")), True),
        (Constraint(kind="exclusive_tags", values=("undead", "cursed")), False),
    ],
)
async def test_a_law_with_a_constraint_binds_even_the_game_master(
    constraint: Constraint, broken: bool
) -> None:
    stage = await a_stage()
    law = an_axiom("law", domain=AxiomDomain.MAGIC, constraint=constraint)
    await stage.make(law)
    boromir = await stage.entity("Boromir", EntityType.CHARACTER, "blessed")

    verdict = await stage.verdict(
        "state_change", {"entity_id": boromir, "add": ["undead"]}, authority=Authority.GM
    )

    if broken:
        assert (verdict.status, verdict.rule) == (REJECTED, "gate:axiom-holds")
        assert verdict.conflicts == (law.id,)
    else:
        assert verdict.status is ACCEPTED


async def test_a_law_may_forbid_a_relation() -> None:
    stage = await a_stage()
    forbidden = Constraint(kind="forbidden_relation", values=("OWNS",), entity_type="concept")
    await stage.make(an_axiom("law", constraint=forbidden))
    frodo = await stage.entity("Frodo")
    hope = await stage.entity("Hope", EntityType.CONCEPT)
    ring = await stage.entity("Ring", EntityType.OBJECT)
    owning_hope = await stage.propose(
        "relationship", {"from": frodo, "to": hope, "rel_type": "OWNS"}
    )
    owning_ring = await stage.propose(
        "relationship", {"from": frodo, "to": ring, "rel_type": "OWNS"}
    )

    report = await stage.canonize()

    assert verdict_on(report, owning_hope).rule == "gate:axiom-holds"
    assert verdict_on(report, owning_ring).status is ACCEPTED

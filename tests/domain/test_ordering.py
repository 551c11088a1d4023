"""Ordering: what is needed comes first, whatever order the proposals were made in."""

from dataclasses import replace
from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.judging.candidates import (
    TYPE_ORDER,
    Candidate,
    declared_names,
    dependencies_of,
    order_candidates,
    read_candidate,
)
from canonry.log.items.proposals import NARRATED, Proposal, ProposalType
from canonry.testing.example_items import a_proposal, a_scene, uuid_of
from canonry.values.ids import ProposalId
from canonry.values.moments import Instant
from tests.usecases.stage import day_text, world_day


def make_proposal(name: str, kind: str, content: dict[str, Any], **changes: Any) -> Proposal:
    made = replace(a_proposal(name), type=ProposalType(kind), content=content)
    return replace(made, **changes)


def order_proposals(*proposals: Proposal) -> list[str]:
    names = declared_names(proposals)
    scene = a_scene()
    found = order_candidates(read_candidate(one, scene, names) for one in proposals)
    return [candidate.proposal.id for candidate in found]


def test_types_come_in_order_and_references_before_referrers() -> None:
    hero = make_proposal("hero", "entity", {"name": "x", "entity_type": "character", "ref": "$x"})
    fact = make_proposal("fact", "fact", {"statement": "x", "entity_ids": ["$x"]})
    effect = make_proposal(
        "effect", "event", {"title": "b", "caused_by": [f"proposal:{uuid_of('cause')}"]}
    )
    cause = make_proposal("cause", "event", {"title": "a"}, created_at=Instant(9))
    change = make_proposal("change", "state_change", {"entity_id": "$x", "add": ["a"]})
    expected = [uuid_of(name) for name in ("hero", "change", "fact", "cause", "effect")]

    for some_order in permutations((hero, fact, effect, cause, change)):
        assert order_proposals(*some_order) == expected


def test_world_time_outranks_the_turn_and_the_turn_the_clock() -> None:
    def event(name: str, when: int | None, turn: int | None, created: int) -> Proposal:
        content = {"title": name, **({} if when is None else {"time_ref": day_text(when)})}
        return make_proposal(name, "event", content, turn_index=turn, created_at=Instant(created))

    proposals = [
        event("day two", 2, 0, 0),
        event("day one", 1, 5, 0),
        event("whole scene", None, None, 0),
        event("late turn", None, 2, 0),
        event("early turn", None, 1, 9),
        event("early turn, earlier", None, 1, 8),
    ]

    assert order_proposals(*proposals) == [
        uuid_of(name)
        for name in (
            "early turn, earlier",
            "early turn",
            "late turn",
            "whole scene",
            "day one",
            "day two",
        )
    ]


def test_the_older_of_two_with_one_name_has_it() -> None:
    content = {"name": "x", "entity_type": "character", "ref": "$x"}
    old = make_proposal("old", "entity", content, created_at=Instant(1))
    new = make_proposal("new", "entity", content, created_at=Instant(2))

    assert declared_names([new, old]) == {"$x": uuid_of("old")}


def test_a_scene_dates_items_without_a_time() -> None:
    scene = a_scene(time_ref=world_day(4))

    candidate = read_candidate(make_proposal("x", "fact", {"statement": "x"}), scene, {})

    assert candidate.moment.at == world_day(4)
    assert not candidate.moment.position.dated


@given(st.lists(st.tuples(st.sampled_from(NARRATED), st.sets(st.integers(0, 7))), max_size=8))
def test_everything_is_judged_once_and_after_its_dependencies(
    drawn: list[tuple[ProposalType, set[int]]],
) -> None:
    """Dependencies that point at earlier numbers only cannot form a ring."""
    proposals = []
    for number, (_kind, needs) in enumerate(drawn):
        causes = [f"proposal:{uuid_of(str(n))}" for n in needs if n < number]
        content = {"title": "x", "caused_by": causes}
        proposals.append(make_proposal(str(number), "event", content))
    candidates = [read_candidate(one, None, {}) for one in reversed(proposals)]

    result = list(order_candidates(candidates))

    place = {candidate.proposal.id: index for index, candidate in enumerate(result)}
    assert len(result) == len(drawn) == len(place)
    for candidate in result:
        assert all(place[n] < place[candidate.proposal.id] for n in needs_of(candidate))
    assert set(TYPE_ORDER) == set(NARRATED)


def needs_of(candidate: Candidate) -> frozenset[ProposalId]:
    return dependencies_of(candidate)

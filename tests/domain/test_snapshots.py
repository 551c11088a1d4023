"""Snapshots are a semilattice: order, repetition and grouping of observations do not matter."""

from dataclasses import replace
from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.domain.ids import ObservationId
from canonry.domain.merge import LATEST, TAG_SET, MergePolicy, accumulate
from canonry.domain.observations import Observation
from canonry.domain.snapshots import Accumulator, Elements, join, join_all
from canonry.domain.vocabularies.narrative_fields import policy_of
from canonry.testing.strategies import fields
from canonry.testing.things import an_observation, ident


@st.composite
def observed(draw: st.DrawFn) -> Observation:
    """An observation at any position; its id goes with its content, as in a log."""
    number, position = draw(st.integers(0, 30)), draw(st.integers(1, 4))
    said = draw(fields())
    return replace(
        an_observation("frodo", "said"),
        id=ObservationId(ident(f"{number} {position} {said}")),
        position=position,
        fields=said,
        correction=draw(st.booleans()),
    )


def told(observation: Observation) -> Accumulator:
    return accumulate(observation, policy_of)


accumulators = st.lists(observed(), max_size=4).map(lambda all_: join_all(map(told, all_)))


@settings(max_examples=60)
@given(left=accumulators, right=accumulators)
def test_joining_is_commutative(left: Accumulator, right: Accumulator) -> None:
    assert join(left, right) == join(right, left)


@settings(max_examples=60)
@given(one=accumulators, two=accumulators, three=accumulators)
def test_joining_is_associative(one: Accumulator, two: Accumulator, three: Accumulator) -> None:
    assert join(join(one, two), three) == join(one, join(two, three))


@settings(max_examples=60)
@given(one=accumulators, other=accumulators)
def test_joining_again_changes_nothing(one: Accumulator, other: Accumulator) -> None:
    whole = join(one, other)

    assert join(one, one) == one
    assert join(whole, one) == whole
    assert join({}, one) == join(one, {}) == one


@settings(max_examples=60)
@given(data=st.data(), all_=st.lists(observed(), max_size=6))
def test_observations_may_come_in_any_order(data: st.DataObject, all_: list[Observation]) -> None:
    shuffled = data.draw(st.permutations(all_))

    forward = join_all(map(told, all_))
    nothing: Accumulator = {}
    other = reduce(join, map(told, [*shuffled, *shuffled]), nothing)

    assert other == forward
    assert list(other) == sorted(other), "equal snapshots are stored as equal bytes"


@settings(max_examples=60)
@given(all_=st.lists(observed(), min_size=1, max_size=6))
def test_every_value_is_that_of_the_observation_it_names(all_: list[Observation]) -> None:
    by_id = {observation.id: observation for observation in all_}

    for field, elements in join_all(map(told, all_)).items():
        for element, held in elements.items():
            said = by_id[held.observation].fields[field]
            assert held.value == (said[element] if element else said)


@settings(max_examples=60)
@given(all_=st.lists(observed(), min_size=1, max_size=6))
def test_the_latest_stands_but_for_corrections(all_: list[Observation]) -> None:
    named = [o for o in all_ if "name" in o.fields]
    whole = join_all(map(told, all_))

    if named:
        best = max(named, key=lambda o: (o.correction, o.position, o.id))
        assert LATEST.show(whole["name"]) == best.fields["name"]


@settings(max_examples=60)
@given(said=st.dictionaries(st.text(max_size=3), st.booleans()))
def test_a_policy_shows_what_it_split(said: dict[str, bool]) -> None:
    for policy, value, shown in (
        (TAG_SET, said, tuple(sorted(tag for tag, holds in said.items() if holds))),
        (LATEST, said, said),
    ):
        assert policy.show(elements_of(policy, value)) == shown


def elements_of(policy: MergePolicy, value: object) -> Elements:
    observation = an_observation("frodo", "said", fields={"field": value})
    return accumulate(observation, lambda _: policy)["field"]

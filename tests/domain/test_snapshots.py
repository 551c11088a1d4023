"""Snapshots are a semilattice: order, repetition and grouping of observations do not matter."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.log.items.entities import all_names
from canonry.log.observations import with_observations
from canonry.log.schemas.narrative import policy_of
from canonry.testing.example_items import an_entity, an_observation, uuid_of
from canonry.values import merge_policies
from canonry.values.ids import ObservationId
from canonry.values.merge_policies import (
    CHOICES,
    LAST_WRITE,
    LATEST,
    MERGE_ARRAY,
    NAMES,
    TAG_SET,
    MergePolicy,
    accumulator_of,
)
from canonry.values.moments import Instant
from canonry.values.observations import ITEM, Accumulator, Elements, Observation
from tests.strategies import fields


@st.composite
def draw_weights(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the weights of policies from few values, so that observations meet in each."""
    correction = draw(st.integers(0, 3)) == 0
    return {
        "correction": correction,
        "priority": 1000 if correction else draw(st.sampled_from((0, 100))),
        "specificity": draw(st.sampled_from((0.5, 1.0))),
        "observed_at": draw(st.none() | st.integers(0, 2).map(Instant)),
        "schema_version": draw(st.sampled_from((None, "1.0"))),
    }


@st.composite
def draw_observation(draw: st.DrawFn) -> Observation:
    """An observation at any position; its id goes with its content, as in a log."""
    number, position = draw(st.integers(0, 30)), draw(st.integers(1, 4))
    said, weighed = draw(fields()), draw(draw_weights())
    return replace(
        an_observation("frodo", "said"),
        id=ObservationId(uuid_of(f"{number} {position} {said} {weighed}")),
        position=position,
        fields=said,
        **weighed,
    )


def accumulate_one(observation: Observation) -> Accumulator:
    return accumulator_of(observation, policy_of)


def join_accumulators(left: Accumulator, right: Accumulator) -> Accumulator:
    return merge_policies.join_accumulators(left, right, policy_of)


def join_all(parts: Iterable[Accumulator]) -> Accumulator:
    return merge_policies.join_all(parts, policy_of)


accumulators = st.lists(draw_observation(), max_size=4).map(
    lambda all_: join_all(map(accumulate_one, all_))
)


@settings(max_examples=60)
@given(left=accumulators, right=accumulators)
def test_joining_is_commutative(left: Accumulator, right: Accumulator) -> None:
    assert join_accumulators(left, right) == join_accumulators(right, left)


@settings(max_examples=60)
@given(one=accumulators, two=accumulators, three=accumulators)
def test_joining_is_associative(one: Accumulator, two: Accumulator, three: Accumulator) -> None:
    assert join_accumulators(join_accumulators(one, two), three) == join_accumulators(
        one, join_accumulators(two, three)
    )


@settings(max_examples=60)
@given(one=accumulators, other=accumulators)
def test_joining_again_changes_nothing(one: Accumulator, other: Accumulator) -> None:
    whole = join_accumulators(one, other)

    assert join_accumulators(one, one) == one
    assert join_accumulators(whole, one) == whole
    assert join_accumulators({}, one) == join_accumulators(one, {}) == one


@settings(max_examples=60)
@given(data=st.data(), all_=st.lists(draw_observation(), max_size=6))
def test_observations_may_come_in_any_order(data: st.DataObject, all_: list[Observation]) -> None:
    shuffled = data.draw(st.permutations(all_))

    forward = join_all(map(accumulate_one, all_))
    nothing: Accumulator = {}
    other = reduce(join_accumulators, map(accumulate_one, [*shuffled, *shuffled]), nothing)

    assert other == forward
    assert list(other) == sorted(other), "equal snapshots are stored as equal bytes"


@settings(max_examples=60)
@given(all_=st.lists(draw_observation(), min_size=1, max_size=6))
def test_every_value_is_that_of_the_observation_it_names(all_: list[Observation]) -> None:
    by_id = {observation.id: observation for observation in all_}

    for field, elements in join_all(map(accumulate_one, all_)).items():
        for element, held in elements.items():
            said = by_id[held.observation].fields[field]
            if element.startswith(ITEM):
                assert held.value in said
            else:
                tag = element.rpartition("@")[0]
                assert held.value == (said[tag] if field == "state_tags" else said)


@settings(max_examples=60)
@given(all_=st.lists(draw_observation(), min_size=1, max_size=6))
def test_the_latest_value_wins_except_over_corrections(all_: list[Observation]) -> None:
    named = [o for o in all_ if "name" in o.fields]
    whole = join_all(map(accumulate_one, all_))

    if named:
        best = max(named, key=lambda o: (o.correction, o.position, o.id))
        assert NAMES.show(whole["name"]) == best.fields["name"]
        assert set(all_names(whole["name"])) == {o.fields["name"] for o in named}


@settings(max_examples=60)
@given(said=st.dictionaries(st.text(max_size=3), st.booleans()))
def test_a_policy_reports_its_disagreement(said: dict[str, bool]) -> None:
    for policy, value, shown in (
        (TAG_SET, said, tuple(sorted(tag for tag, holds in said.items() if holds))),
        (LATEST, said, said),
        *((policy, said, said) for policy in CHOICES.values()),
    ):
        assert policy.show(elements_of(policy, value)) == shown


def elements_of(policy: MergePolicy, value: object) -> Elements:
    observation = an_observation("frodo", "said", fields={"field": value})
    return accumulator_of(observation, lambda _: policy)["field"]


ORDERS: dict[str, Callable[[Observation], Any]] = {
    "last_write": lambda o: (o.seen_at, o.position, o.id),
    "highest_priority": lambda o: (o.priority, o.seen_at, o.position, o.id),
    "most_specific": lambda o: (o.specificity, o.priority, o.seen_at, o.position, o.id),
}


@settings(max_examples=100)
@given(all_=st.lists(draw_observation(), min_size=1, max_size=7))
def test_one_accumulator_serves_every_policy(all_: list[Observation]) -> None:
    aged = [o for o in all_ if "properties.age" in o.fields]
    elements = join_all(map(accumulate_one, all_)).get("properties.age")

    if aged and elements is not None:
        for name, order in ORDERS.items():
            top = [o for o in aged if o.correction] or aged
            best = max(top, key=order)
            assert CHOICES[name].show(elements) == best.fields["properties.age"]
            assert CHOICES[name].credit(elements) == {"": (best.id,)}


@settings(max_examples=100)
@given(all_=st.lists(draw_observation(), min_size=1, max_size=7), lists=st.data())
def test_arrays_are_united_within_the_highest_priority(
    all_: list[Observation], lists: st.DataObject
) -> None:
    items = st.lists(st.sampled_from(("a", "b", 1, ("c", 2))), max_size=3)
    said = [
        replace(
            o, id=ObservationId(uuid_of(f"{n}")), fields={"properties.files": lists.draw(items)}
        )
        for n, o in enumerate(all_)
    ]
    elements = join_all(map(accumulate_one, said))["properties.files"]
    corrections = [o for o in said if o.correction]

    shown = MERGE_ARRAY.show(elements)

    if corrections:
        newest = max(corrections, key=lambda o: (o.seen_at, o.position, o.id))
        assert shown == newest.fields["properties.files"]
    else:
        top = max(o.priority for o in said)
        union = {item for o in said if o.priority == top for item in o.fields["properties.files"]}
        assert len(shown) == len(union)
        assert set(shown) == union
    by_id = {o.id: o for o in said}
    credited = MERGE_ARRAY.credit(elements)[""]
    assert {i for c in credited for i in by_id[c].fields["properties.files"]} >= set(shown)


def test_narrative_observations_count_by_log_and_others_by_their_time() -> None:
    early, late = Instant(1), Instant(9)
    first = an_observation(
        "frodo", "one", fields={"properties.age": 1}, position=1, recorded_at=Instant(5)
    )
    second = replace(first, id=ObservationId(uuid_of("two")), position=2, recorded_at=Instant(6))
    second = replace(second, fields={"properties.age": 2}, observed_at=early)

    def age(*all_: Observation) -> Any:
        return LAST_WRITE.show(join_all(map(accumulate_one, all_))["properties.age"])

    assert age(first, second) == 2
    by_schema = replace(second, schema_version="1.0")
    assert age(first, by_schema) == 1
    assert age(first, replace(by_schema, observed_at=late)) == 2


@settings(max_examples=100)
@given(all_=st.lists(draw_observation(), max_size=8), cut=st.integers(0, 8))
def test_folding_at_once_equals_folding_one_by_one(all_: list[Observation], cut: int) -> None:
    whole = with_observations(an_entity(), all_)

    assert whole.own == join_all(map(accumulate_one, all_))
    assert whole.sightings.count == len(all_)
    assert with_observations(with_observations(an_entity(), all_[:cut]), all_[cut:]) == whole

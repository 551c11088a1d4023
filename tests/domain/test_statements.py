"""Moments, tags and summaries: the small rules that the gates and the closing rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.language.texts.sentences import WeightedStatement, digest_statements
from canonry.values.attributes.table import builtin_attributes, exclusive_words
from canonry.values.moments import (
    NOW,
    Instant,
    Moment,
    StoryPosition,
    are_simultaneous,
    comes_after,
    intervals_overlap,
    moment_of,
    sort_by_story,
)
from canonry.values.state_tags import excluded_by

GROUPS = exclusive_words(builtin_attributes())


def moment_in_scene(
    at: int | None, *, order: int = 1, turn: int = 0, stated: int = 0, dated: bool = True
) -> Moment:
    """Told in the scene of that order, at that place in the log."""
    place = StoryPosition(story=1, order=order, scene=order, turn=turn, told=stated, dated=dated)
    return Moment(at=None if at is None else Instant(at), position=place)


def moment_beside(at: int | None, recorded: int) -> Moment:
    """Written directly."""
    return moment_of(None if at is None else Instant(at), None, recorded)


def test_turns_decide_within_a_scene_and_then_the_order_of_proposing() -> None:
    assert comes_after(moment_in_scene(None, turn=2), moment_in_scene(None, turn=1))
    assert not comes_after(moment_in_scene(None, turn=1), moment_in_scene(None, turn=2))


def test_world_time_decides_before_the_order_of_scenes() -> None:
    assert comes_after(moment_in_scene(2, order=1), moment_in_scene(1, order=2))
    assert not comes_after(moment_in_scene(1, order=2), moment_in_scene(2, order=1))


def test_the_order_of_scenes_decides_if_a_time_is_missing() -> None:
    assert not comes_after(moment_in_scene(None, order=1), moment_in_scene(9, order=2))
    assert comes_after(moment_in_scene(None, order=2), moment_in_scene(9, order=1))
    assert comes_after(moment_in_scene(5, dated=False, order=2), moment_in_scene(5, order=1))


def test_repetitions_with_one_time_have_no_order() -> None:
    assert are_simultaneous(moment_in_scene(5, order=1), moment_in_scene(5, order=2))
    assert not are_simultaneous(
        moment_in_scene(5, order=1), moment_in_scene(5, order=2, dated=False)
    )
    assert not are_simultaneous(moment_in_scene(None, stated=1), moment_in_scene(None, stated=2))


def test_proposals_made_together_have_no_order() -> None:
    assert are_simultaneous(moment_in_scene(None, stated=1), moment_in_scene(None, stated=1))
    assert not are_simultaneous(moment_in_scene(None, turn=1), moment_in_scene(None, turn=2))


def test_direct_writes_come_after_everything_recorded_by_then() -> None:
    assert comes_after(moment_beside(None, recorded=7), moment_in_scene(None, order=6, stated=6))
    assert not comes_after(
        moment_beside(None, recorded=7), moment_in_scene(None, order=6, stated=8)
    )
    assert comes_after(NOW, moment_in_scene(None, order=6, stated=10**9))


def test_undated_items_happen_in_the_present_of_their_scene() -> None:
    """A backstory that is told later does not go before it."""
    tavern = moment_in_scene(1400, order=1)
    murder = moment_in_scene(None, order=2)
    childhood = moment_in_scene(1380, order=3)

    assert sort_by_story([murder, childhood, tavern], lambda one: one) == [
        childhood,
        tavern,
        murder,
    ]


@given(st.lists(st.tuples(st.none() | st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_the_order_does_not_depend_on_the_order_of_arrival(
    stated: list[tuple[int | None, int]],
) -> None:
    """No two items are stated at one place of the log."""
    moments = [
        moment_beside(at, recorded=place)
        if order == 0
        else moment_in_scene(at, order=order, stated=place)
        for place, (at, order) in enumerate(stated)
    ]

    assert sort_by_story(reversed(moments), lambda one: one) == sort_by_story(
        moments, lambda one: one
    )


BOUND = st.none() | st.integers(0, 5).map(Instant)


@given(BOUND, BOUND, BOUND, BOUND)
def test_overlap_is_mutual(
    a: Instant | None, b: Instant | None, c: Instant | None, d: Instant | None
) -> None:
    assert intervals_overlap(a, b, c, d) == intervals_overlap(c, d, a, b)


@pytest.mark.parametrize("group", GROUPS)
def test_each_tag_of_a_group_excludes_the_others(group: tuple[str, ...]) -> None:
    for tag in group:
        assert set(group) - {tag} <= set(excluded_by(tag.upper(), GROUPS, group))


def test_no_entity_has_two_locations() -> None:
    held = ("at_home", "alive", "attentive")

    assert excluded_by("at_sea", GROUPS, held) == ["at_home"]
    assert excluded_by("alive", GROUPS, held) == []


said = st.lists(
    st.builds(WeightedStatement, st.text(alphabet="ab .!?\n", max_size=30), st.integers(0, 10))
)


@given(said, st.integers(1, 40))
def test_a_summary_consists_of_statements_and_keeps_its_limit(
    stated: list[WeightedStatement], limit: int
) -> None:
    summary = digest_statements(stated, limit=limit)

    assert len(summary) <= limit
    assert summary == digest_statements(stated, limit=limit)


def test_a_summary_keeps_the_most_important_in_story_order() -> None:
    found = [
        WeightedStatement("Ana is queen", 5),
        WeightedStatement("They dine", 1),
        WeightedStatement("Bo rides", 5),
        WeightedStatement("Ana dies!", 9),
    ]

    assert digest_statements(found, limit=200) == "Ana is queen. They dine. Bo rides. Ana dies!"
    assert digest_statements(found, limit=20) == "Bo rides. Ana dies!"
    assert digest_statements(found[:1] * 2, limit=200) == "Ana is queen."
    assert digest_statements([WeightedStatement(" ", 5)], limit=200) == ""

"""Statements, moments and summaries: the small rules that the gates and the closing rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.domain.ids import SceneId, StoryId
from canonry.domain.judging.statements import opposites_of
from canonry.domain.moments import Moment, comes_after, is_dated_after, overlaps
from canonry.domain.texts.summaries import extract
from canonry.domain.time import Instant
from canonry.domain.vocabularies.state_tags import EXCLUSIVE_GROUPS, excluded_by


@pytest.mark.parametrize(
    ("statement", "opposite"),
    [
        ("The gate is open", "the gate is not open"),
        ("The gate is open", "the gate isn't open"),
        ("Frodo has the ring", "frodo has never the ring"),
        ("The gate is not open", "the gate is open"),
        ("The gate wasn't open", "the gate was open"),
    ],
)
def test_the_opposite_of_a_statement_has_a_denial_more_or_less(
    statement: str, opposite: str
) -> None:
    assert opposite in opposites_of(statement)


def test_a_statement_without_a_verb_of_the_list_has_no_opposite() -> None:
    assert opposites_of("Frodo carries the ring") == ()


@given(st.sampled_from(["the gate {} open", "sam {} far from home", "they {} friends"]),
       st.sampled_from(["is", "are", "was", "were", "has", "can"]))  # fmt: skip
def test_denying_is_mutual(form: str, verb: str) -> None:
    statement = form.format(verb)

    assert all(statement in opposites_of(opposite) for opposite in opposites_of(statement))


def moment(at: int | None, *, dated: bool = True, scene: str = "s", order: int = 1) -> Moment:
    return Moment(
        at=None if at is None else Instant(at),
        dated=dated,
        scene_id=SceneId(scene),
        story_id=StoryId("story"),
        order=order,
    )


def test_the_order_of_application_within_a_scene_is_the_order_of_time() -> None:
    assert comes_after(moment(1), moment(2))


def test_the_worlds_time_decides_before_the_order_of_scenes() -> None:
    assert comes_after(moment(2, scene="a", order=1), moment(1, scene="b", order=2))
    assert not comes_after(moment(1, scene="a", order=2), moment(1, scene="b", order=1))


def test_where_a_time_is_missing_the_order_of_scenes_decides() -> None:
    assert not comes_after(moment(None, scene="a", order=1), moment(9, scene="b", order=2))
    assert comes_after(moment(None, scene="a", order=2), moment(9, scene="b", order=1))
    assert comes_after(moment(5, dated=False, scene="a", order=2), moment(5, scene="b", order=1))


def test_a_date_is_later_only_than_a_date() -> None:
    assert is_dated_after(moment(2), moment(1))
    assert not is_dated_after(moment(2), moment(None))
    assert not is_dated_after(moment(1), moment(1))


BOUND = st.none() | st.integers(0, 5).map(Instant)


@given(BOUND, BOUND, BOUND, BOUND)
def test_overlap_is_mutual(
    a: Instant | None, b: Instant | None, c: Instant | None, d: Instant | None
) -> None:
    assert overlaps(a, b, c, d) == overlaps(c, d, a, b)


@pytest.mark.parametrize("group", EXCLUSIVE_GROUPS)
def test_each_tag_of_a_group_excludes_the_others(group: tuple[str, ...]) -> None:
    for tag in group:
        assert set(group) - {tag} <= set(excluded_by(tag.upper(), EXCLUSIVE_GROUPS, group))


def test_nobody_bears_two_places() -> None:
    held = ("at_home", "alive", "attentive")

    assert excluded_by("at_sea", EXCLUSIVE_GROUPS, held) == ["at_home"]
    assert excluded_by("alive", EXCLUSIVE_GROUPS, held) == []


@given(st.lists(st.text(alphabet="ab .!?\n", max_size=30), max_size=6), st.integers(1, 40))
def test_a_summary_is_made_of_sentences_that_were_told(texts: list[str], limit: int) -> None:
    summary = extract(texts, limit=limit)

    assert len(summary) <= limit
    assert summary == extract(texts, limit=limit)
    assert bool(summary) == any(text.strip(" .!?\n") for text in texts)

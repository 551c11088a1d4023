"""Scoring: the numbers of the policy, and nothing else, make a score."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.judging.slices import Slice, SliceView, effective_authority, score_of
from canonry.testing.example_items import MIDDLE_EARTH, a_proposal, some_evidence
from canonry.values.policy import Policy, Scoring
from canonry.values.provenance import Authority

SHARES = st.floats(0, 1)


def test_a_score_is_confidence_times_weight_and_half_without_evidence() -> None:
    proposal = a_proposal(confidence=0.8)

    assert score_of(proposal, Authority.PLAYER, Scoring()).value == 0.56
    bare = replace(proposal, evidence=())
    assert score_of(bare, Authority.PLAYER, Scoring()).value == 0.28


@given(low=SHARES, high=SHARES, authority=st.sampled_from(Authority))
def test_more_confidence_never_lowers_the_score(
    low: float, high: float, authority: Authority
) -> None:
    low, high = sorted((low, high))

    scores = [
        score_of(a_proposal(confidence=confidence), authority, Scoring())
        for confidence in (low, high)
    ]

    assert scores[0].value <= scores[1].value
    assert scores[0].passes <= scores[1].passes


@given(confidence=st.floats(0, 1, exclude_min=True), threshold=SHARES)
def test_the_game_master_passes_every_threshold_with_evidence(
    confidence: float, threshold: float
) -> None:
    scoring = Scoring(threshold=threshold)

    assert score_of(a_proposal(confidence=confidence), Authority.GM, scoring).passes


@given(authority=st.sampled_from(Authority), threshold=SHARES)
def test_nothing_passes_without_confidence(authority: Authority, threshold: float) -> None:
    scoring = Scoring(threshold=threshold)

    assert not score_of(a_proposal(confidence=0.0), authority, scoring).passes


def test_without_evidence_the_game_masters_rank_is_not_enough() -> None:
    bare = a_proposal(confidence=1.0, evidence=())

    assert not score_of(bare, Authority.GM, Scoring()).passes
    assert score_of(bare, Authority.GM, Scoring(threshold=0.45)).passes


def test_a_claimed_source_without_one_counts_as_system() -> None:
    view = SliceView(Slice(space=MIDDLE_EARTH), Policy())
    claimed = a_proposal(authority=Authority.SOURCE, evidence=some_evidence())

    assert effective_authority(claimed, view) is Authority.SYSTEM
    assert (
        effective_authority(replace(claimed, authority=Authority.PLAYER), view) is Authority.PLAYER
    )

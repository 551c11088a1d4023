"""Ranking: the order of found passages obeys laws that any reader may rely on."""

from hypothesis import given
from hypothesis import strategies as st

from canonry.readmodels.ranking import (
    Asked,
    PassageCandidate,
    name_match,
    query_breadth,
    rank_passages,
)
from canonry.values.policy import RankingWeights

WEIGHTS = RankingWeights()
TERMS = ("tower", "mine", "bear", "ale")

shares = st.floats(0, 1)


@st.composite
def draw_candidates(draw: st.DrawFn) -> list[PassageCandidate]:
    names = draw(st.lists(st.sampled_from("abcdefghijkl"), max_size=8, unique=True))
    return [
        PassageCandidate(
            id=name,
            thread=draw(st.sampled_from((None, "one", "two"))),
            position=draw(st.integers(0, 9)),
            terms=draw(st.dictionaries(st.sampled_from(TERMS), st.floats(0, 5), max_size=3)),
            similarity=draw(st.none() | st.floats(-1, 1)),
            named=draw(st.sampled_from((0.0, 1.0))),
        )
        for name in names
    ]


questions = st.integers(1, 30).map(
    lambda n: Asked(terms={f"term {i}": 6.0 for i in range(n)}, strongest=9.0)
)


def score_candidates(asked: Asked, candidates: list[PassageCandidate]) -> dict[str, float]:
    return {each.id: each.score for each in rank_passages(asked, candidates, WEIGHTS)}


@given(questions, draw_candidates())
def test_each_passage_appears_once_strongest_first_ties_by_id(
    asked: Asked, candidates: list[PassageCandidate]
) -> None:
    ranked = rank_passages(asked, candidates + candidates, WEIGHTS)
    order = [(-each.score, each.id) for each in ranked]
    assert order == sorted(set(order))
    assert {each.id for each in ranked} == {candidate.id for candidate in candidates}


@given(questions, draw_candidates())
def test_the_order_does_not_depend_on_the_order_of_arrival(
    asked: Asked, candidates: list[PassageCandidate]
) -> None:
    ranked = rank_passages(asked, candidates, WEIGHTS)
    assert rank_passages(asked, candidates[::-1], WEIGHTS) == ranked


@given(questions, draw_candidates(), st.integers(0, 9))
def test_a_limit_takes_a_prefix(
    asked: Asked, candidates: list[PassageCandidate], limit: int
) -> None:
    everything = rank_passages(asked, candidates, WEIGHTS)
    assert rank_passages(asked, candidates, WEIGHTS, limit=limit) == everything[:limit]


@given(questions, draw_candidates())
def test_separate_threads_do_not_affect_each_other(
    asked: Asked, candidates: list[PassageCandidate]
) -> None:
    candidates = [each._replace(similarity=each.similarity or 0.0) for each in candidates]
    together = score_candidates(asked, candidates)
    for thread in {candidate.thread for candidate in candidates}:
        alone = [candidate for candidate in candidates if candidate.thread == thread]
        assert score_candidates(asked, alone) == {c.id: together[c.id] for c in alone}


@given(questions, draw_candidates(), st.data())
def test_a_growing_signal_never_lowers_a_score(
    asked: Asked, candidates: list[PassageCandidate], data: st.DataObject
) -> None:
    if not candidates:
        return
    which = data.draw(st.integers(0, len(candidates) - 1))
    one, more = candidates[which], data.draw(shares)
    grown = data.draw(
        st.sampled_from(
            (
                one._replace(similarity=None if (s := one.similarity) is None else s + more),
                one._replace(named=one.named + more),
                one._replace(terms={**one.terms, "ale": one.terms.get("ale", 0.0) + more}),
            )
        )
    )
    before = score_candidates(asked, candidates)
    after = score_candidates(asked, [*candidates[:which], grown, *candidates[which + 1 :]])
    assert all(after[each] >= before[each] - 1e-12 for each in before)


@given(questions, draw_candidates())
def test_the_parts_of_the_reason_add_up_to_the_strength(
    asked: Asked, candidates: list[PassageCandidate]
) -> None:
    for each in rank_passages(asked, candidates, WEIGHTS):
        why = each.why
        assert 0 <= each.score < 1
        assert why.nearby >= -1e-9
        assert abs(each.score - why.strength / (1 + why.strength)) < 1e-12
        assert abs(sum(value for _, value in why.terms) - why.keywords) < 1e-9


def test_a_passage_without_signals_scores_zero() -> None:
    assert score_candidates(
        Asked(terms={}, strongest=0.0), [PassageCandidate(id="a", thread="one")]
    ) == {"a": 0.0}


def test_a_turn_between_two_matches_ranks_before_a_distant_one() -> None:
    asked = Asked(terms={"tower": 6.0}, strongest=4.0)
    before = PassageCandidate(id="a", thread="one", position=1, terms={"tower": 3.0})
    between = PassageCandidate(id="b", thread="one", position=2)
    after = PassageCandidate(id="c", thread="one", position=3, terms={"tower": 3.0})
    distant = PassageCandidate(id="d", thread="one", position=40)
    ranked = rank_passages(asked, (before, between, after, distant), WEIGHTS)
    assert [each.id for each in ranked] == ["a", "c", "b", "d"]


def test_a_word_repeated_by_neighbours_counts_once() -> None:
    asked = Asked(terms={"bear": 6.0, "ale": 6.0}, strongest=4.0)
    same = [
        PassageCandidate(id="a", thread="one", position=1, terms={"bear": 3.0}),
        PassageCandidate(id="b", thread="one", position=2, terms={"bear": 3.0}),
    ]
    other = [
        PassageCandidate(id="c", thread="two", position=1, terms={"bear": 3.0}),
        PassageCandidate(id="d", thread="two", position=2, terms={"ale": 3.0}),
    ]
    ranked = score_candidates(asked, same + other)
    assert ranked["c"] == ranked["d"] > ranked["a"] == ranked["b"]


def test_a_question_with_rare_words_is_ordered_by_meaning() -> None:
    asked = Asked(terms={"wich": 20.0, "animl": 20.0, "the": 1.0}, strongest=0.5)
    by_word = PassageCandidate(id="a", terms={"the": 0.5}, similarity=0.25)
    by_meaning = PassageCandidate(id="b", similarity=0.5)
    assert [each.id for each in rank_passages(asked, (by_word, by_meaning), WEIGHTS)] == ["b", "a"]


@given(st.integers(0, 60), st.integers(0, 60))
def test_more_terms_make_a_query_broader(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert 0 <= query_breadth(low, WEIGHTS) <= query_breadth(high, WEIGHTS) <= 1


def test_an_unknown_similarity_counts_as_the_mean() -> None:
    asked = Asked(terms={"ale": 4.0}, strongest=4.0)
    unknown, near, far = (
        PassageCandidate(id="unknown", terms={"ale": 4.0}, similarity=None),
        PassageCandidate(id="near", similarity=0.9),
        PassageCandidate(id="far", similarity=0.3),
    )

    found = score_candidates(asked, [unknown, near, far])

    assert (
        found["unknown"]
        == score_candidates(asked, [unknown._replace(similarity=0.6), near, far])["unknown"]
    )
    assert found["unknown"] > found["near"]


def test_any_word_of_a_name_asks_for_it() -> None:
    asked = frozenset(("what", "did", "solveig", "say", "of", "it"))
    assert name_match(asked, ("Solveig of Bergen",)) == 1.0
    assert name_match(asked, ("Queen of Spades", "Ines")) == 0.0
    assert name_match(asked, ()) == 0.0

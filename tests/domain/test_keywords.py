"""Keywords: what words are worth, for every text and every query."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.readmodels.ranking import (
    DOUBTED_MAX,
    MEANT_MAX,
    SOUGHT_MAX,
    START_LENGTH,
    WEIGHED_MAX,
    Figures,
    Measure,
    Sought,
    beginnings_alike,
    begins_alike,
    doubted_stems,
    make_measure,
    most_frequent,
    parse_query,
    words_alike,
)

WORDS = st.lists(st.sampled_from(["dragon", "gold", "fire", "key", "silver", "road"]), min_size=1)
CORPUS = (("dragon", "gold"), ("dragon", "sleep"), ("silver", "key"), ("key", "silver"))


def figures_of(passages: Sequence[Sequence[str]]) -> Figures:
    """The figures of these passages."""
    return Figures(
        passages=len(passages),
        length=sum(map(len, passages)) / len(passages),
        found_in=Counter(stem for stems in passages for stem in set(stems)),
    )


def measure_of(sought: Sought, passages: Sequence[Sequence[str]] = CORPUS) -> Measure:
    """Return the weights of words among these passages."""
    return make_measure(sought, figures_of(passages), corrected={}, begun={})


def test_a_query_is_split_into_words_prefixes_and_phrases() -> None:
    sought = parse_query('who found the "silver key" of kragh*?')

    assert set(sought.stems) == {"found", "silver", "key"}
    assert sought.begun == ("kragh",)
    assert sought.phrases == (("silver", "key"),)


def test_a_long_query_is_shortened() -> None:
    assert len(parse_query(" ".join(f"word{n}" for n in range(2_000))).stems) == SOUGHT_MAX


def test_the_weightiest_words_of_a_long_query_count() -> None:
    often = [f"word{n}" for n in range(WEIGHED_MAX + 40)]
    corpus = (often, often, [*often, "dragon"])

    scores = measure_of(Sought(stems=(*often, "nowhere", "dragon")), corpus)

    assert len(scores.most) == WEIGHED_MAX
    assert "dragon" in scores.most
    assert "nowhere" not in scores.most


def test_rarer_words_score_higher() -> None:
    figures = figures_of(CORPUS)

    assert (
        figures.word_worth(0)
        > figures.word_worth(1)
        > figures.word_worth(2)
        > figures.word_worth(4)
        > 0
    )


@given(WORDS, WORDS)
def test_no_term_exceeds_its_maximum_score(asked: list[str], stated: list[str]) -> None:
    scores = measure_of(Sought(stems=tuple(dict.fromkeys(asked))), (*CORPUS, stated))

    shares = scores.term_shares(stated)

    assert shares.keys() == set(asked) & set(stated)
    assert all(0 < share <= scores.most[term] for term, share in shares.items())


@given(WORDS)
def test_repeating_a_word_at_equal_length_never_lowers_the_score(stated: list[str]) -> None:
    scores = measure_of(Sought(stems=("dragon",)))

    once = scores.term_shares([*stated, "dragon", "road"]).get("dragon", 0.0)

    assert scores.term_shares([*stated, "dragon", "dragon"])["dragon"] >= once


@given(st.permutations(["silver", "key", "and", "gold", "of", "old"]))
def test_a_phrase_match_ranks_before_a_word_match(stated: list[str]) -> None:
    scores = measure_of(Sought(stems=("silver", "key"), phrases=(("silver", "key"),)))
    joined = ("silver", "key") in pairwise(stated)

    best_apart = sum(measure_of(Sought(stems=("silver", "key"))).most.values())

    assert ('"silver key"' in scores.term_shares(stated)) is joined
    if joined:
        assert sum(scores.term_shares(stated).values()) > best_apart


def test_an_unknown_word_stands_for_similar_ones() -> None:
    sought = Sought(stems=("draogn", "road"))
    figures = figures_of(CORPUS)
    unknown = doubted_stems(sought, figures.found_in)
    corrected = {s: dict(words_alike(s, figures.found_in.items())) for s in unknown}

    scores = make_measure(sought, figures, corrected=corrected, begun={})

    assert unknown == ("draogn", "road")
    assert corrected == {"draogn": {"dragon": 2}, "road": {}}
    assert 0 < scores.term_shares(CORPUS[0])["draogn"] < scores.most["draogn"]


@pytest.mark.parametrize("slip", ["gragholm", "ragholm", "rkagholm", "akragholm", "gragolm"])
def test_a_first_letter_may_be_wrong_missing_swapped_or_extra(slip: str) -> None:
    words = (("kragholm", 3), ("fragment", 2), ("krag", 1))

    assert dict(words_alike(slip, words)) == {}
    assert dict(words_alike(slip, words, at_start=True)) == {"kragholm": 3}


def test_short_words_are_not_misspelled_at_their_beginning() -> None:
    assert not dict(words_alike("wire", (("fire", 1), ("wires", 1)), at_start=True))


@given(st.text("abc", min_size=1, max_size=8), st.text("abc", min_size=1, max_size=8))
def test_prefixes_looked_up_belong_to_similar_words(stem: str, other: str) -> None:
    starts = tuple(beginnings_alike(stem, "abc"))

    if len(stem) >= START_LENGTH:
        assert other.startswith(starts) or not begins_alike(stem, other)
    else:
        assert starts == ()


def test_a_prefix_stands_for_every_word_that_begins_with_it() -> None:
    scores = make_measure(
        Sought(stems=(), begun=("si",)), figures_of(CORPUS), corrected={}, begun={"si": ["silver"]}
    )

    assert [set(scores.term_shares(stems)) for stems in CORPUS] == [set(), set(), {"si*"}, {"si*"}]


def test_few_words_are_corrected_to_few_candidates() -> None:
    many = tuple(f"unheard{n}" for n in range(50))

    assert len(doubted_stems(Sought(stems=("abc", *many)), {})) == DOUBTED_MAX
    assert list(most_frequent((f"w{n}", n) for n in range(50)))[:2] == ["w49", "w48"]
    assert len(most_frequent((f"w{n}", n) for n in range(50))) == MEANT_MAX


def test_a_result_names_the_query_terms_with_the_strongest_score() -> None:
    scores = measure_of(Sought(stems=("dragon", "zebra")))

    asked = scores.analyse_query(scores.term_shares(CORPUS[0]))

    assert set(asked.terms) == {"dragon", "zebra"}
    assert asked.strongest == scores.term_shares(CORPUS[0])["dragon"]
    assert scores.analyse_query({}).strongest == 0

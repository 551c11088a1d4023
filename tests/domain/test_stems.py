"""Stems: forms of a word meet, in several languages, and slips of the pen are forgiven."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.language.texts.stems import (
    STOP_WORDS,
    is_near,
    languages_of,
    near_lengths,
    phrases_in,
    prefixes_in,
    query_stems,
    stems_of,
    terms_of,
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where did they sleep when the van broke down?", "english"),
        ("Wer hat den Schlüssel in die Truhe gelegt?", "german"),
        ("Qui est dans la tour avec le roi ?", "french"),
        ("¿Quién fue el primero en la torre?", "spanish"),
        ("Wie heeft het zwaard van de koning?", "dutch"),
    ],
)
def test_a_language_is_detected_by_its_stop_words(text: str, language: str) -> None:
    assert language in languages_of(terms_of(text))


def test_without_evidence_a_text_counts_as_english() -> None:
    assert languages_of(terms_of("Kraghammer")) == ("english",)


def test_forms_of_a_word_share_a_stem() -> None:
    assert set(query_stems("climbing towers")) <= set(stems_of("She climbed the tower."))
    assert set(query_stems("die Türme")) & set(stems_of("Er sah den Turm und die Türme nicht"))


def test_a_query_omits_stop_words_unless_it_has_no_others() -> None:
    assert query_stems("what did the bear do") == ("bear",)
    assert query_stems("to be or not to be") != ()


def test_stop_words_are_split_like_texts() -> None:
    for words in STOP_WORDS.values():
        assert all(terms_of(word) == (word,) for word in words)


@given(st.text(max_size=60))
def test_any_text_has_stems_and_they_hold_no_underscore(text: str) -> None:
    assert len(stems_of(text)) == len(terms_of(text))
    assert not any("_" in stem or not stem for stem in (*stems_of(text), *query_stems(text)))


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("okafor", "okafur", True),
        ("priya", "pryia", True),
        ("archimedes", "archimedis", True),
        ("documentari", "documentri", True),
        ("bear", "beard", True),
        ("ale", "all", False),
        ("tower", "torch", False),
    ],
)
def test_one_slip_is_forgiven_and_two_in_a_long_word(one: str, other: str, near: bool) -> None:
    assert is_near(one, other) is near


def test_quoted_words_follow_each_other_in_the_text() -> None:
    (phrase,) = phrases_in('who founded "the Second Light" and the "bakery"?')
    text = stems_of("She called it The Second Light.")
    assert any(text[n : n + len(phrase)] == phrase for n in range(len(text)))


def test_an_asterisk_asks_for_words_with_this_prefix() -> None:
    assert prefixes_in("where is Kragh* and a* and * ?") == ("kragh",)


words = st.text("abcde", max_size=10)


@given(words, words)
def test_nearness_is_mutual(one: str, other: str) -> None:
    assert is_near(one, other) == is_near(other, one)


@given(words, words)
def test_words_near_to_a_word_have_one_of_the_given_lengths(one: str, other: str) -> None:
    fewest, most = near_lengths(len(one))
    assert not is_near(one, other) or fewest <= len(other) <= most

"""Sentences and tokens: one rule of where a text may be cut, and of how long it is."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.language.texts.sentences import (
    first_sentence,
    is_ended,
    last_between,
    paragraph_starts,
    sentence_starts,
    token_starts,
    tokens_in,
)

ANY = st.text(alphabet="ab .\n!)\u3002\u9f8d-1", max_size=200)


def split_text(text: str) -> list[str]:
    starts = [0, *sentence_starts(text), len(text)]
    cut = [text[low:high] for low, high in pairwise(starts)]
    return [piece.strip() for piece in cut if piece.strip()]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('He said "no." (Twice.) Then left.', ['He said "no."', "(Twice.)", "Then left."]),
        (
            "\u9f8d\u3002\u300c\u706b\u300d\uff01\u6c34",
            ["\u9f8d\u3002", "\u300c\u706b\u300d\uff01", "\u6c34"],
        ),
        ("A line\nthat goes on", ["A line\nthat goes on"]),
        ("A list:\n- one\n- two\n3. three", ["A list:", "- one", "- two", "3. three"]),
        ("A title\n\nA text", ["A title", "A text"]),
        ("Ask Dr. No, e.g. at 3.5 p.m.", ["Ask Dr. No, e.g. at 3.5 p.m."]),
        ("So it goes \u2026 Then not.", ["So it goes \u2026", "Then not."]),
    ],
)
def test_sentences_end_at_visible_ends(text: str, sentences: list[str]) -> None:
    assert split_text(text) == sentences
    assert first_sentence(text) == sentences[0]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a few words, told", 5),
        ("extraordinary", 3),
        ("\u9f8d\u306f\u5bdd\u308b", 4),
        ("{\u201cid\u201d: 12}", 7),
    ],
)
def test_a_token_is_a_word_piece_a_character_or_a_sign(text: str, tokens: int) -> None:
    assert tokens_in(text) == tokens == len(token_starts(text))


@given(ANY)
def test_positions_are_ordered_and_within_the_text(text: str) -> None:
    for places in (token_starts(text), sentence_starts(text), paragraph_starts(text)):
        assert list(places) == sorted(set(places))
        assert all(0 <= place <= len(text) for place in places)
    assert set(paragraph_starts(text)) <= set(sentence_starts(text)) | {len(text)}


@given(ANY, ANY)
def test_two_texts_have_as_many_tokens_as_each_of_them(one: str, other: str) -> None:
    assert tokens_in(f"{one} {other}") == tokens_in(one) + tokens_in(other)


def test_a_text_ends_with_its_end_mark_and_closing_marks() -> None:
    assert is_ended('He said: "It is." ')
    assert is_ended("Thus:")
    assert not is_ended("He said, and")


def test_the_last_position_between_two_is_found_with_both() -> None:
    assert last_between([1, 4, 9], 4, 8) == 4
    assert last_between([1, 4, 9], 0, 9) == 9
    assert last_between([1, 4, 9], 5, 8) is None

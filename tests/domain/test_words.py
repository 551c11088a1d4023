"""Words: folded alike, whatever a text holds."""

import pytest
from hypothesis import example, given

from canonry.language.texts.stems import terms_of
from tests.strategies import texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("  --  \n", ()),
        ("The RING", ("the", "ring")),
        ("d'Arc's", ("d", "arc", "s")),
        ("snake_case_7", ("snake", "case", "7")),
        ("\u00c9owyn e\u0301owyn", ("eowyn", "eowyn")),
        ("Stra\u00dfe \ufb01re", ("strasse", "fire")),
        ("\U0001f409 dragon", ("dragon",)),
        ('"a" AND b*', ("a", "and", "b")),
    ],
)
def test_a_text_is_split_into_words(text: str, words: tuple[str, ...]) -> None:
    assert terms_of(text) == words


@example(text="\u2120")
@given(text=texts(200))
def test_words_are_stable(text: str) -> None:
    words = terms_of(text)

    assert all(words)
    assert not any(c.isspace() or c in "\"'*_" for word in words for c in word)
    assert terms_of(" ".join(words)) == words

"""Chunks: every word of a long text is in one, few are too long, and sentences stay whole."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from canonry.language.texts.sentences import OVERLAP, SIZE, chunks_of
from canonry.language.texts.stems import terms_of

SENTENCE = "The quick fox runs over the hill and far away today. "


def test_a_short_text_is_one_chunk() -> None:
    assert chunks_of("") == ("",)
    assert chunks_of("Hello, world.") == ("Hello, world.",)


def test_a_long_text_is_cut_at_sentence_ends() -> None:
    parts = chunks_of(SENTENCE * 200)

    assert len(parts) > 4
    assert all(part.endswith("today.") for part in parts)
    assert all(part.startswith("The quick") for part in parts)


def test_chunks_overlap_and_have_the_stated_size() -> None:
    words = [f"w{n}" for n in range(3 * SIZE)]
    parts = [part.split() for part in chunks_of(" ".join(words))]

    assert all(len(part) <= SIZE for part in parts)
    for before, after in pairwise(parts):
        assert before[-OVERLAP:] == after[:OVERLAP]
    assert parts[-1][-1] == words[-1]


def test_a_script_without_spaces_is_cut_too() -> None:
    parts = chunks_of("山高水長。" * 300)

    assert len(parts) > 2
    assert all(len(part) <= SIZE for part in parts)


@given(st.text(alphabet=st.sampled_from("ab .\n!山"), max_size=400), st.integers(5, 40))
def test_nothing_is_lost_and_no_chunk_is_too_long(text: str, size: int) -> None:
    parts = chunks_of(text, size=size, overlap=2)
    assert all(part in text for part in parts)

    words = {word for part in parts for word in terms_of(part)}
    assert {word for word in terms_of(text) if "山" not in word} <= words

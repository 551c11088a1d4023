"""Long questions: the sentences that weigh most stay, wherever in the text they stand."""

from hypothesis import given
from hypothesis import strategies as st

from canonry.recall.domain.questions import WORDS_MAX, significant_stems, weightiest_sentences

DULL = "It went on like that for a while. " * 600
WORTH = {"dragon": 5.0, "sleeps": 3.0, "silver": 5.0, "key": 4.0}


def test_the_weightiest_sentences_stay_in_order() -> None:
    text = f"Listen. {DULL}The dragon sleeps. {DULL}A silver key opens it. {DULL}Who knows?"

    short = weightiest_sentences(text, WORTH, 120)

    assert short.startswith("Listen. ")
    assert "The dragon sleeps. A silver key opens it." in short
    assert short.endswith(" Who knows?")
    assert len(short) <= 120


def test_a_repeated_sentence_stays_once() -> None:
    text = "The dragon sleeps. " * 500

    assert weightiest_sentences(text, WORTH, 120) == "The dragon sleeps."


def test_a_short_text_stays_unchanged() -> None:
    assert weightiest_sentences("Who knows?", {}, 60) == "Who knows?"


def test_gaps_are_not_searched_for() -> None:
    assert not weightiest_sentences(" \n" * 9_000, {}, 60)
    assert weightiest_sentences(f"Who knows?{' ' * 9_000}", {}, 60) == "Who knows?"


def test_a_text_without_sentences_is_cut_at_both_ends() -> None:
    short = weightiest_sentences("word " * 1_000, {}, 100)

    assert len(short) <= 100
    assert set(short.split()) <= {"word", "wor", "wo", "w", "ord", "rd", "d"}


def test_meaningful_words_are_listed_with_stems_most_frequent_first() -> None:
    text = f"{'The dragons are sleeping. ' * 400}One silver key, and dragons."

    assert list(significant_stems(text).items())[:2] == [
        ("dragons", "dragon"),
        ("sleeping", "sleep"),
    ]
    assert significant_stems(text)["key"] == "key"
    assert "the" not in significant_stems(text)


def test_repeated_words_of_a_long_text_are_weighed() -> None:
    text = " ".join(f"dragon word{n}" for n in range(70_000))

    stems = significant_stems(text)

    assert next(iter(stems)) == "dragon"
    assert len(stems) <= WORDS_MAX


@given(st.text(max_size=9_000), st.integers(min_value=4, max_value=2_000))
def test_no_text_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(weightiest_sentences(text, {}, limit)) <= limit

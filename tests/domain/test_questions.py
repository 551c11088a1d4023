"""Questions: compared by meaning without names, and answered first by what denies as they do."""

import pytest

from canonry.recall.domain.questions import denied_stems, has_denial, without_names


def test_a_name_is_removed_with_its_possessive_in_any_case() -> None:
    asked = "What did Gina's brother tell GINA about boats?"

    assert without_names(asked, frozenset({"gina"})) == "What did brother tell about boats?"


def test_a_question_that_is_mostly_a_name_stays_unchanged() -> None:
    assert without_names("What does Gina bake?", frozenset({"gina"})) == "What does Gina bake?"


def test_a_question_without_names_stays_unchanged() -> None:
    assert without_names("Who  is it?", frozenset({"gina"})) == "Who  is it?"


def test_denied_words_are_answered_by_sentences_that_deny_them() -> None:
    denied = denied_stems("Who is not a puppy any more?")

    assert has_denial("She grew. She is not a puppy any more!", denied)
    assert not has_denial("What a puppy. I am not hungry.", denied)
    assert not denied_stems("Who is a puppy?")
    assert denied_stems("Who never came to the castle?") >= {"came", "castl"}


@pytest.mark.parametrize(
    ("question", "denial", "other"),
    [
        ("Who can't swim?", "Orlo can't swim.", "Orlo can swim."),
        ("Who shouldn\u2019t swim?", "You shouldn\u2019t swim here.", "You should swim here."),
        ("Who is neither elf nor dwarf?", "She is no elf.", "She is an elf."),
        ("Who dont trust the mayor?", "I dont trust the mayor", "I trust the mayor"),
        ("Wer hat keinem Dorf geholfen?", "Er half keinem Dorf.", "Er half dem Dorf."),
        ("Wer tr\u00e4gt das Schwert nicht?", "Das Schwert hat er nicht.", "Er hat das Schwert."),
        ("Chi non \u00e8 un lupo?", "Mara non \u00e8 un lupo.", "Mara \u00e8 un lupo."),
        ("Qui n'est plus un loup ?", "Mara n'est plus un loup.", "Mara est un loup."),
        ("\u00bfQui\u00e9n nunca vio el lobo?", "Ella nunca vio el lobo.", "Ella vio el lobo."),
        ("Wie is geen wolf?", "Mara is geen wolf.", "Mara is een wolf."),
    ],
)
def test_each_language_has_its_own_denial_words(question: str, denial: str, other: str) -> None:
    denied = denied_stems(question)

    assert has_denial(denial, denied)
    assert not has_denial(other, denied)


@pytest.mark.parametrize(
    "question",
    [
        "Whose sin killed the old priest?",
        "Quem estava no templo antigo?",
        "Chi era nel tempio con il lupo?",
        "Who drank the tea in the tent?",
        "Why not?",
    ],
)
def test_a_denial_word_of_another_language_denies_nothing(question: str) -> None:
    assert not denied_stems(question)


def test_words_that_accompany_a_denial_are_not_denied() -> None:
    assert denied_stems("Who no longer has the sword?") == {"sword"}

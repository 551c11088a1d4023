"""Questions: compared by meaning without names, and answered first by what denies as they do."""

from canonry.domain.recall.questions import denied_in, denies, without_names


def test_a_name_goes_with_its_possessive_and_whatever_its_case() -> None:
    asked = "What did Gina's brother tell GINA about boats?"

    assert without_names(asked, frozenset({"gina"})) == "What did brother tell about boats?"


def test_a_question_that_is_little_but_a_name_stays_as_it_is() -> None:
    assert without_names("What does Gina bake?", frozenset({"gina"})) == "What does Gina bake?"


def test_a_question_that_names_nobody_stays_as_it_is() -> None:
    assert without_names("Who  is it?", frozenset({"gina"})) == "Who  is it?"


def test_the_words_after_a_denial_are_denied_by_a_sentence_that_denies_one_of_them() -> None:
    denied = denied_in("Who is not a puppy any more?")

    assert denies("She grew. She is not a puppy any more!", denied)
    assert not denies("What a puppy. I am not hungry.", denied)
    assert not denied_in("Who is a puppy?")
    assert denied_in("Who never came to the castle?") >= {"came", "castl"}

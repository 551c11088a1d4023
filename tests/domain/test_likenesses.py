"""Likenesses: what no rule knows of, offered for review because both speak of the same."""

from functools import partial

import pytest

from canonry.canon.judging.comparing.conflicts import Stated, conflict
from canonry.canon.judging.comparing.findings import When
from canonry.language.clauses.keys import frame_keys, stems_in
from canonry.log.items.proposals import Grade


def of_ana(statement: str, *others: str) -> Stated:
    """What is stated of Ana, and of others."""
    return Stated(statement=statement, entities=frozenset(("ana", *others)))


@pytest.mark.parametrize(
    ("held", "said", "reason"),
    [
        (
            "Ana keeps her gold in a cellar of the inn",
            "The cellar of the inn was walled up by Ana",
            "both are about cellar but differ",
        ),
        (
            "Ana is a vegetarian",
            "Ana had the steak, as she does on feasts",
            "vegetarian and steak may exclude each other",
        ),
        (
            "Everybody who met Ana at the ford drowned",
            "Bo crossed the ford with Ana",
            "both are about ford but differ",
        ),
        (
            "All roads are safe",
            "The roads are mud",
            "one allows nothing else on their common subject",
        ),
    ],
)
def test_d4_what_no_rule_knows_of_is_offered_with_what_both_share(
    held: str, said: str, reason: str
) -> None:
    found = conflict(of_ana(held), of_ana(said))

    assert found is not None
    assert (found.grade, found.reason) == (Grade.POSSIBLE, reason)


def test_who_only_share_the_entity_they_speak_of_are_not_offered() -> None:
    assert conflict(of_ana("Ana rides a grey mare"), of_ana("Ana is a widow")) is None


def test_the_words_by_which_an_entity_is_called_are_nothing_that_two_share() -> None:
    held = of_ana("The black barge lies at the quay since the flood")
    said = of_ana("Three sailors rowed the black barge away from Velm")
    called = held._replace(called=partial(stems_in, "Black Barge"))

    assert conflict(held, said) is not None
    assert conflict(called, said) is None


def test_what_only_says_more_of_the_same_is_not_offered() -> None:
    held = of_ana("The colour of the door of Ana is red")

    assert conflict(held, of_ana("The door of Ana is red")) is None
    assert conflict(held, of_ana("The door of Ana is not red")) is not None


@pytest.mark.parametrize("when", [When.LATER, When.EARLIER])
def test_what_is_told_of_another_time_is_not_offered(when: When) -> None:
    held, said = "Ana keeps her gold in a cellar", "The cellar of Ana is full of rats"

    assert conflict(of_ana(held), of_ana(said)) is not None
    assert conflict(of_ana(held), of_ana(said), when=when) is None


def test_what_somebody_only_says_is_not_offered() -> None:
    held = of_ana("Bo claims that Ana keeps her gold in a cellar", "bo")

    assert conflict(held, of_ana("The cellar of Ana is full of rats")) is None


def test_other_entities_are_not_offered_whatever_the_words() -> None:
    held = of_ana("The cellar holds gold and silk")
    said = Stated(statement="The cellar holds gold and flour", entities=frozenset(("bo",)))

    assert conflict(held, said) is None


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Ana ist die Herrin von Velm.", "Ana ist nicht die Herrin von Velm."),
        ("Ana hat in der Stadt drei Schwestern.", "Ana hat in der Stadt zwei Schwestern."),
        ("Ana es la reina de la ciudad.", "Ana no es la reina de la ciudad."),
        ("Ana est la reine de la ville.", "Ana n'est pas la reine de la ville."),
    ],
)
def test_in_a_language_without_frames_what_is_denied_or_changed_is_offered(
    held: str, said: str
) -> None:
    found = conflict(of_ana(held), of_ana(said))

    assert found is not None
    assert found.grade is Grade.POSSIBLE
    assert set(frame_keys(held, ["ana"])) & set(frame_keys(said, ["ana"]))


def test_in_a_language_without_frames_other_statements_are_not_offered() -> None:
    held, said = "Ana ist die Herrin von Velm.", "Ana hat auch einen Bruder in der Stadt."

    assert conflict(of_ana(held), of_ana(said)) is None
    assert conflict(of_ana(held), of_ana(held)) is None


def test_statements_that_meet_in_a_word_or_a_topic_meet_in_a_key() -> None:
    steak = frame_keys("Ana had the steak", ["ana"])

    assert set(frame_keys("Ana is a vegetarian", ["ana"])) & set(steak)
    assert not set(frame_keys("Ana is a widow", ["ana"])) & set(steak)
    assert not set(frame_keys("Bo is a vegetarian", ["bo"])) & set(steak)


def test_values_of_one_property_meet_in_a_key_whatever_the_words() -> None:
    seen = frame_keys("Ana was seen", ["ana"], ["height"])
    told = frame_keys("The healer knows her", ["ana"], ["height", "age"])

    assert set(seen) & set(told) == {"frame:@ana|=height"}


def test_a_statement_has_a_bounded_number_of_keys_and_each_of_its_entities_has_them() -> None:
    long = "The " + " ".join(f"king of land{n} and the wall of town{n}," for n in range(99))
    everybody = [f"e{n}" for n in range(9)]
    keys = frame_keys(long, everybody)

    assert len(keys) < 300
    linked = [key.partition("@")[2] for key in keys if "@" in key]
    assert {key[:2] for key in linked} == set(everybody)

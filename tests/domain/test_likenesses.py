"""Statements that only look alike: shared words alone are no conflict, and no key finds them."""

from collections.abc import Mapping

import pytest

from canonry.canon.judging.conflicts import Order, find_clash
from canonry.canon.judging.standing_statements import statements_of_properties
from canonry.language.reading.reading import read_statements
from canonry.log.items.proposals import Grade, ProposalStatus
from canonry.testing.example_items import a_fact, an_entity
from canonry.values.ids import EntityId
from canonry.values.provenance import Authority
from canonry.values.statements import Statement
from tests.usecases.stage import ACCEPTED, REJECTED, a_stage, id_of

NAMES = {"Ana": "ana-1", "Bo": "bo-1"}


def parse_statements(text: str, names: Mapping[str, str] = NAMES) -> tuple[Statement, ...]:
    """Return the statements of a text."""
    return read_statements(text, names)


def grades_of(
    held: str, said: str, order: Order = Order.ONE, names: Mapping[str, str] = NAMES
) -> set[Grade]:
    """The grades of what two texts say; a change is no conflict."""
    clashes = (
        find_clash(one, two, order=order)
        for one in parse_statements(held, names)
        for two in parse_statements(said, names)
    )
    return {each.grade for each in clashes if each is not None and not each.ends_earlier}


def keys_of(text: str) -> set[str]:
    """The keys under which what a text says is found."""
    return {key for each in parse_statements(text) for key in each.index_keys}


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Ana keeps her gold in a cellar of the inn", "The cellar of the inn was walled up by Ana"),
        ("Ana is a vegetarian", "Ana had the steak, as she does on feasts"),
        ("Everybody who met Ana at the ford drowned", "Bo crossed the ford with Ana"),
        ("All roads are safe", "The roads are mud"),
        ("Ana rides a grey mare", "Ana is a widow"),
        ("Ana lives in Velm", "Bo lives in Velm"),
        ("Ana has the eyes of her mother", "Ana is a spy of her mother"),
        ("Ana keeps her gold in a cellar", "The cellar of Ana is full of rats"),
        ("Ana gave the lamp to Bo", "Ana found the lamp in the well"),
        ("Bo painted the tower", "The tower of Bo has three doors"),
    ],
)
def test_statements_that_only_share_words_are_not_offered(held: str, said: str) -> None:
    assert grades_of(held, said) == set()
    assert grades_of(said, held) == set()


def test_the_words_of_a_name_are_not_about_its_entity() -> None:
    names = {"Black Barge": "barge-1"}

    assert grades_of("The Black Barge is old", "The black barge is white", names=names) == set()
    assert {
        each.attribute for each in parse_statements("The Black Barge is old", names)
    }.isdisjoint({"colour", "quality:black"})


def test_a_statement_that_only_adds_detail_is_not_offered() -> None:
    held = "The door of Ana is red"

    assert grades_of("The colour of the door of Ana is red", held) == set()
    assert grades_of("The door of Ana is red and old", held) == set()
    assert grades_of(held, "The door of Ana is not red") == {Grade.CONTRADICTION}


@pytest.mark.parametrize("order", [Order.LATER, Order.EARLIER])
def test_statements_about_another_time_are_not_offered(order: Order) -> None:
    held, said = "The cellar of Ana is full", "The cellar of Ana is empty"

    assert grades_of(held, said)
    assert grades_of(held, said, order) == set()


def test_reported_speech_is_not_offered() -> None:
    said = "The cellar of Ana is empty"

    assert grades_of("The cellar of Ana is full", said)
    assert grades_of("Bo claims that the cellar of Ana is full", said) == set()


def test_other_subjects_are_not_offered_whatever_the_words() -> None:
    held = "The cellar of Ana is full"

    assert grades_of(held, "The cellar of Ana is empty")
    assert grades_of(held, "The cellar of Bo is empty") == set()


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "status"), [("Bo", ACCEPTED), ("Ana", REJECTED)])
async def test_other_entities_are_not_offered_whatever_the_words(
    name: str, status: ProposalStatus
) -> None:
    stage = await a_stage()
    for each in ("Ana", "Bo"):
        await stage.entity(each)
    fact = a_fact("The cellar is full", involved=(EntityId(id_of("Ana")),), authority=Authority.GM)
    await stage.make(fact)

    content = {"statement": "The cellar is not full", "entity_ids": [id_of(name)]}
    verdict = await stage.verdict("fact", content)

    assert verdict.status is status
    assert verdict.conflicts == (() if status is ACCEPTED else (fact.id,))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Ana is the lady of Velm.", "Ana is not the lady of Velm."),
        ("Ana has three sisters in the town.", "Ana has two sisters in the town."),
        ("Ana is the queen of the town.", "Ana isn't the queen of the town."),
    ],
)
def test_denied_or_different_values_contradict_and_share_a_key(held: str, said: str) -> None:
    assert grades_of(held, said) == {Grade.CONTRADICTION}
    assert keys_of(held) & keys_of(said)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Ana ist die Herrin von Velm.", "Ana hat auch einen Bruder in der Stadt."),
        ("Ana es la reina de la ciudad.", "Ana tiene un hermano en la ciudad."),
        ("Ana est la reine de la ville.", "Ana a aussi un frère dans la ville."),
    ],
)
def test_other_statements_in_other_languages_are_not_offered(held: str, said: str) -> None:
    assert grades_of(held, said) == set()
    assert grades_of(held, held) == set()


def test_only_statements_of_one_subject_and_attribute_share_a_key() -> None:
    diet = keys_of("Ana is a vegetarian")

    assert diet & keys_of("Ana is not a vegetarian")
    assert not diet & keys_of("Ana had the steak")
    assert not diet & keys_of("Ana is a widow")
    assert not keys_of("Ana is alive") & keys_of("Bo is dead")


def test_values_of_one_property_share_a_key_whatever_the_words() -> None:
    ana = an_entity("Ana")
    seen, reported = (
        {key for each in statements_of_properties(properties, [ana]) for key in each.index_keys}
        for properties in ({"height": "1.8 m"}, {"height": "190 cm", "age": 40})
    )

    assert seen & reported == {f"timeline:{ana.id}:measure:height"}


def test_a_statement_and_its_entities_have_a_bounded_number_of_keys() -> None:
    names = {f"Ana{n}": f"e{n}" for n in range(9)}
    everybody = " and ".join(names)
    long = f"{everybody} own " + ", ".join(f"the wall of town{n}" for n in range(99))

    keys = {key for each in read_statements(long, names) for key in each.index_keys}
    assert len(keys) < 300
    short = read_statements(f"{everybody} own the wall", names)
    assert {each.subject for each in short} >= set(names.values())

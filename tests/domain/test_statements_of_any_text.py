"""Any text is read without an error and in linear time, whatever words and signs it has."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.language.reading.reading import read_quantity, read_statements
from canonry.values.statements import Quantity, Statement

_WORDS = (
    "Ana Bo Key the a an of in on at to from with by for and or but if when because who which "
    "that is are was were be been being has have had do does did not no never nobody everybody "
    "only all some every than more less most least about over under until since before after "
    "1 2 3 7.5 1402 180 cm kg km % two three hundred thousand dozen half no longer still already "
    "red tall dead alive king queen mother father sister brothers horses eyes hair house north "
    "killed died left joined married divorced moved gave sold owns lives likes wants dreams says "
    "day days year years May March Monday morning January will would can may must used , . ; : - "
    "( ) ? ! ' \" 's his her their it they he she there here own called named born"
)
WORDS = _WORDS.split()
NAMES = {"Ana": "a", "Bo": "b", "Key": "k", "May": "m", "Will": "w", "Bo Day": "d"}

texts = st.lists(st.sampled_from(WORDS), min_size=0, max_size=14).map(" ".join)


def test_a_time_with_parts_of_a_second_is_read_without_an_error() -> None:
    known = read_statements("The bell rang for the 23:59.999999 guests.", {})

    assert all(isinstance(one, Statement) for one in known)


@settings(max_examples=1500, deadline=None)
@given(text=texts)
def test_every_row_of_words_is_read_without_an_error(text: str) -> None:
    for one in read_statements(text, NAMES):
        assert Statement.from_json(one.to_json()) == one
    read_quantity(text)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=80))
def test_every_text_is_read_without_an_error(text: str) -> None:
    read_statements(text, NAMES)
    read_quantity(text)


def test_reading_a_long_text_takes_linear_time() -> None:
    def spent(count: int) -> float:
        text = "Ana, who lives in the house of Bo, gave two red horses to the queen of " * count
        start = time.process_time()
        read_statements(text, NAMES)
        return time.process_time() - start

    spent(1)
    assert spent(4_000) < 40 * max(spent(200), 0.01)


@pytest.mark.parametrize(
    "text",
    [
        "Ana's phone number is 0664 123",
        "Call Bo at 01 23 45",
        "The wall of Bo is 1 500 m long",
        "Room 007 belongs to Ana",
        "Ana's account is 1234 5678",
    ],
)
def test_groups_of_digits_and_leading_zeros_are_no_amount(text: str) -> None:
    found = read_statements(text, NAMES)

    assert [one for one in found if isinstance(one.value, Quantity)] == []


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("The Key has a crew of 40", 40),
        ("The Key has a crew of 40 men", 40),
        ("The Key has a population of 300", 300),
        ("The Key does not have a length of 7 cm", 7),
        ("The Key has a staff of about 12", 12),
    ],
)
def test_a_measured_figure_has_its_quantity(text: str, figure: int) -> None:
    (found,) = read_statements(text, NAMES)

    assert isinstance(found.value, Quantity)
    assert found.attribute.startswith("measure:")
    assert found.holds is ("not" not in text)
    assert found.value.low / (figure / (100 if "cm" in text else 1)) == pytest.approx(1, abs=0.1)


def test_denying_a_bag_of_ten_coins_denies_no_other_bag() -> None:
    assert read_statements("Ana does not have a bag of 10 coins", NAMES) == ()
    (found,) = read_statements("Ana has a staff of oak", NAMES)
    assert found.attribute == "has:staff"

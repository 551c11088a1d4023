"""Normal forms: what people write differently and mean alike, and what only looks alike."""

import unicodedata
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.log.items.entities import normalised_name
from canonry.values import json_values as forms

SAME_COMPANY = [
    ("Acme", "Acme Corp"),
    ("acme corp.", "ACME  INC"),
    ("Acme, Inc.", "ACME Corp, Inc."),
    ("M\u00fcller GmbH & Co. KG", "m\u00fcller"),
    ("O'Reilly Media", "O\u2019Reilly Media"),
    ("Stra\u00dfe AG", "STRASSE AG"),
    ("Caf\u00e9", "Cafe\u0301"),
    ("Acme S.A.", "Acme SA"),
]
OTHER_COMPANY = [("Acme", "Acm\u00e9"), ("C++", "C#"), ("!!!", "???"), ("Corp", "Inc"), ("A", "B")]
names = st.text(max_size=30)


@pytest.mark.parametrize(("one", "other"), SAME_COMPANY)
def test_a_company_is_the_same_whatever_its_legal_form(one: str, other: str) -> None:
    assert forms.company_name(one) == forms.company_name(other)


@pytest.mark.parametrize(("one", "other"), OTHER_COMPANY)
def test_names_that_differ_stay_different(one: str, other: str) -> None:
    assert forms.company_name(one) != forms.company_name(other)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("Dr. Ada Lovelace", "ada lovelace"),
        ("Lovelace, Ada", "ada lovelace"),
        ("Lovelace, Dr. Ada", "ada lovelace"),
        ("Prof. Dr. Lovelace", "lovelace"),
        ("Ada Lovelace, PhD", "ada lovelace"),
        ("John Smith Jr.", "john smith jr"),
        ("Smith, Jr.", "smith jr"),
        ("Dr", "dr"),
    ],
)
def test_a_person_has_no_title_and_the_first_name_first(written: str, form: str) -> None:
    assert forms.person_name(written) == form


def test_father_and_son_stay_two_people() -> None:
    assert forms.person_name("John Smith Sr.") != forms.person_name("John Smith Jr.")


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("+1-555-0100", "+15550100"),
        ("0049 (0)30 1234567", "+49301234567"),
        ("+49 30 1234567", "+49301234567"),
        ("tel:+1 555 0100 ext. 12", "+15550100"),
        ("(555) 010-0100", "5550100100"),
        ("call me", None),
        ("12", None),
        ("", None),
    ],
)
def test_a_phone_number_is_its_digits(written: str, form: str | None) -> None:
    assert forms.phone_number(written) == form


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("Ada <ADA@Lovelace.org>", "ada@lovelace.org"),
        ("mailto:a@b.co", "a@b.co"),
        ("a@b", None),
        ("a@b.co, c@d.co", None),
        ("nobody", None),
    ],
)
def test_an_email_address_has_one_form_or_none(written: str, form: str | None) -> None:
    assert forms.email_address(written) == form


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("https://www.Acme.com/about", "acme.com"),
        ("acme.com", "acme.com"),
        ("acme", None),
        ("two words.com", None),
        ("a@b.co", None),
        ("http://[", None),
    ],
)
def test_a_domain_is_reduced_to_its_host(written: str, form: str | None) -> None:
    assert forms.web_domain(written) == form


@pytest.mark.parametrize(
    ("one", "other"), [("1500.50", 1500.5), (100, "100.00"), ("1e3", 1000), (0, "0.0")]
)
def test_equal_amounts_are_equal_texts(one: object, other: object) -> None:
    assert forms.plain_amount(one) == forms.plain_amount(other)


@pytest.mark.parametrize("value", [True, None, "much", "nan", [], float("inf")])
def test_text_that_is_no_amount_has_no_form(value: object) -> None:
    assert forms.plain_amount(value) is None


@given(name=names)
def test_every_form_is_its_own_form(name: str) -> None:
    for form in (forms.fold_text, forms.words_only, forms.company_name):
        once = form(name)
        assert form(once) == once


@given(name=names)
def test_unicode_normalization_does_not_matter(name: str) -> None:
    for form in (forms.fold_text, forms.company_name, forms.person_name):
        composed, apart = (form(unicodedata.normalize(how, name)) for how in ("NFC", "NFD"))
        assert composed == apart


@given(name=names)
def test_no_nonempty_value_becomes_empty(name: str) -> None:
    for form in (forms.words_only, forms.company_name, forms.person_name):
        assert bool(form(name)) == bool(forms.fold_text(name))


UNSEEN = "\u00ad\u034f\u200b\u200c\u200d\u200e\u202e\u2060\u2066\ufeff\ufe0f\U000e0041"
FORMS = (forms.fold_text, forms.words_only, forms.company_name, forms.person_name, normalised_name)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unseen", UNSEEN)
def test_invisible_characters_make_no_other_name(form: Any, unseen: str) -> None:
    assert form(f"{unseen}Zo\u00eb {unseen}L\u00f6{unseen}we{unseen}") == form("Zo\u00eb L\u00f6we")
    assert form(f"Ada Love{unseen}lace") == form("Ada Lovelace")
    assert form(f"cafe{unseen}\u0301") == form("caf\u00e9")
    assert form(unseen) == unseen  # nothing else is in it


@given(st.text(), st.sampled_from(UNSEEN), st.integers(0, 20))
def test_the_position_of_an_invisible_character_does_not_matter(
    text: str, unseen: str, place: int
) -> None:
    arguments = "Ann " + text
    assert forms.fold_text(arguments[:place] + unseen + arguments[place:]) == forms.fold_text(
        arguments
    )
    assert forms.fold_text(forms.fold_text(arguments)) == forms.fold_text(arguments)


@given(value=st.floats(allow_nan=True, allow_infinity=True))
def test_a_float_has_the_amount_of_its_exact_text(value: float) -> None:
    assert forms.plain_amount(value) == forms.plain_amount(Decimal(repr(value)))


@given(text=st.text(st.characters(max_codepoint=127), max_size=40).filter(str.strip))
def test_neighbouring_letters_do_not_change_words(text: str) -> None:
    beside = forms.words_only(f"x {text} x \u00e9")

    assert beside == f"{forms.words_only(f'x {text} x')} \u00e9"

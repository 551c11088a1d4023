"""Confusable texts in other letters have one form, and texts that look different have several."""

import importlib

import pytest

from canonry.language.texts.visible import confusable_form, strip_accents, without_invisible


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0410nna", "Anna"),
        ("\u0440\u0430\u0443\u0440\u0430l", "paypal"),
        ("An\u200bna", "Anna"),
        ("\u202eAnna", "Anna"),
        ("An\u00adna", "Anna"),
        ("An\ufe0fna", "Anna"),
        ("rnary", "mary"),
        ("\U0001d5a0nna", "Anna"),
    ],
)
def test_confusable_texts_have_one_form(one: str, other: str) -> None:
    assert confusable_form(one) == confusable_form(other)


@pytest.mark.parametrize(("one", "other"), [("Anna", "Anne"), ("café", "cafe"), ("李", "王")])
def test_visibly_different_texts_have_different_forms(one: str, other: str) -> None:
    assert confusable_form(one) != confusable_form(other)


def test_ascii_forms_match_the_table() -> None:
    table = importlib.import_module("canonry.language.texts.visible")._confusables()
    for code in range(128):
        assert confusable_form(chr(code)) == table.get(code, chr(code))


def test_nothing_visible_is_removed() -> None:
    assert without_invisible("na\u00efve \u0646\u0627\u0645") == "na\u00efve \u0646\u0627\u0645"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jonés", "Jones"),
        ("Mu\u0308ller", "Muller"),
        ("Müller", "Muller"),
        ("Søren", "Soren"),
        ("Łukasz", "Lukasz"),
        ("Đorđe", "Dorde"),
        ("Ἀλέξης", "Αλεξης"),
        ("J\u043enés", "Jones"),
    ],
)
def test_texts_differing_only_in_accents_match_without_them(one: str, other: str) -> None:
    assert strip_accents(confusable_form(one)) == strip_accents(confusable_form(other))


@pytest.mark.parametrize(("one", "other"), [("\u304c", "\u304b"), ("\u0915\u0940", "\u0915")])
def test_marks_that_are_letters_of_their_script_are_no_accents(one: str, other: str) -> None:
    assert strip_accents(confusable_form(one)) != strip_accents(confusable_form(other))

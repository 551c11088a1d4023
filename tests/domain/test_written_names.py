"""Written names: what in a text may name somebody, and one form for all signs of a kind."""

import pytest

from canonry.language.reading.reading import read_statements
from canonry.language.texts.sentences import plain_statement
from canonry.language.texts.stems import find_names, is_part_of, name_parts, terms_of
from canonry.log.schemas.identity_keys import confusable_key, part_mark, texts_in
from canonry.readmodels.catalog import normalise_text
from canonry.values.json_values import fold_text, plain_signs


def possible_parts(text: str) -> list[str]:
    """Return the words of a text that may be parts of a name."""
    return [each.form for each in find_names(text) if each.part]


APOSTROPHES = "'`\u00b4\u02b9\u02bb\u02bc\u02bd\u02c8\u055a\u05f3\u2018\u2019\u201b\u2032\uff07"
HYPHENS = "-\u02d7\u058a\u05be\u2010\u2011\u2012\u2013\u2043\u2212\ufe63\uff0d"


@pytest.mark.parametrize("sign", APOSTROPHES)
def test_every_apostrophe_is_one_sign_in_name_comparisons(sign: str) -> None:
    name = f"Maeve O{sign}Brien"

    assert fold_text(name) == "maeve o'brien"
    assert plain_signs(name) == "Maeve O'Brien"
    assert terms_of(name) == ("maeve", "o", "brien")
    assert plain_statement(f"{name} is dead") == "maeve o'brien is dead"
    said = read_statements("Maeve O'Brien is dead", {"Maeve O'Brien": "maeve-1"})
    assert read_statements(f"{name} is dead", {"Maeve O'Brien": "maeve-1"}) == said
    assert read_statements("Maeve O'Brien is dead", {name: "maeve-1"}) == said
    assert {each.subject for each in said} == {"maeve-1"}
    assert fold_text(fold_text(name)) == fold_text(name)


@pytest.mark.parametrize("sign", HYPHENS)
def test_every_hyphen_within_a_word_is_one_sign(sign: str) -> None:
    assert fold_text(f"Anne{sign}Sophie") == "anne-sophie"
    assert normalise_text(f"\u00c9va{sign}Lu") == normalise_text("E\u0301va-lu")


def test_a_dash_between_words_is_no_hyphen() -> None:
    assert fold_text("Graz \u2013 Linz") == "graz \u2013 linz"
    assert fold_text("Anna\u2014Berg") == "anna\u2014berg"


@pytest.mark.parametrize("sign", ["\u00ad", "\u200b", "\u2060", "\ufeff"])
def test_invisible_characters_do_not_split_words(sign: str) -> None:
    assert terms_of(f"An{sign}na") == ("anna",)
    assert fold_text(f"An{sign}na") == "anna"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna has red hair", ["anna"]),
        ("When Anna left, Ben wept", ["anna", "ben"]),
        ("Anna Huber has red hair", ["anna huber"]),
        ("Anna von Huber sings", ["anna von huber"]),
        ("Anna's Uncle sails", ["anna"]),
        ("Anna, Ben and Mia", ["anna", "ben", "mia"]),
        ("Mia Berg sings", ["mia berg"]),
        ("Mia was born in May", ["mia", "may"]),
        ("Als Anna ging, war es kalt", ["anna"]),
        ("Dr. Berg and Mrs. Novak", ["berg", "novak"]),
        ("Maeve O\u2019Brien\u2019s hat", ["maeve obrien"]),
        ("Old bridges creak", []),
        ("The key is lost", []),
        ("I am here", []),
        ("it rains", []),
        ("", []),
    ],
)
def test_a_part_of_a_name_is_a_whole_run_of_capitals(text: str, expected: list[str]) -> None:
    assert possible_parts(text) == expected


def test_a_name_has_the_parts_by_which_people_are_called() -> None:
    assert name_parts("Captain Maeve von O\u2019Brien") == {"maeve", "obrien"}
    assert name_parts("Anna") == frozenset()
    assert name_parts("The Old King") == frozenset()
    assert is_part_of("anna maria", "Dr. Anna Maria Berg")
    assert not is_part_of("anna berg", "Anna Maria Berg")
    assert not is_part_of("ann", "Anna Berg")


def test_only_characters_are_found_by_parts_of_their_names() -> None:
    anna = {part_mark("anna"), part_mark("berg")}

    assert anna < texts_in("character", {"name": "Anna Berg"}, None)
    assert anna.isdisjoint(texts_in("location", {"name": "Anna Berg"}, None))
    assert confusable_key("character", "Anna Berg") in texts_in(
        "character", {"name": "Anna Berg"}, None
    )


def test_long_texts_without_spaces_cost_little() -> None:
    assert len(find_names("\u5b89" * 5_000)) < 2_000
    assert len(find_names("Anna " * 5_000)) < 400


@pytest.mark.parametrize(
    "text", ["'", "\u0301", "...", "\ufe0f", "\u0e33\u0e33", "\u2019s", "A\u0301"]
)
def test_texts_of_signs_alone_are_read(text: str) -> None:
    assert all(each.form for each in find_names(text))

"""Names in a text stand for their entities: where they are found, and where they are not."""

import pytest

from canonry.language.reading.tokens import sentences_of, word_table
from canonry.values.statements import Quantity, Statement


def ids_in(text: str, *names: str, code: str = "en") -> list[str]:
    known = {name: f"id {name}" for name in names}
    tokens = [each for one in sentences_of(text, known, word_table(code)) for each in one]
    return [each.name for each in tokens if each.name.startswith("id ")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mill burns.", "Mill"),
        ("they saw the mill burn.", "Mill"),
        ("the MILL burns.", "Mill"),
        ("they met Dr. Bree there.", "Dr. Bree"),
        ("they met jean-luc there.", "Jean-Luc"),
        ("they met \u00e9lodie there.", "\u00c9lodie"),
        ("they saw Mill's door.", "Mill"),
        ("they saw 7 Oaks burn.", "7 Oaks"),
    ],
)
def test_a_name_is_found(text: str, name: str) -> None:
    assert ids_in(text, name) == [f"id {name}"]


@pytest.mark.parametrize("text", ["they mill about.", "Milla burns.", "Windmill burns.", "mill_a"])
def test_another_word_is_no_name(text: str) -> None:
    assert ids_in(text, "Mill") == []


def test_the_longest_name_counts() -> None:
    assert ids_in("Anna Berg met Anna.", "Anna", "Anna Berg") == ["id Anna Berg", "id Anna"]


def test_a_german_genitive_is_separate_from_its_name() -> None:
    text = "Jules Schwester lebt in Velm."
    [tokens] = sentences_of(text, {"Jule": "id Jule"}, word_table("de"))

    assert [tokens[0].name, tokens[1].text] == ["id Jule", "'s"]


def test_a_statement_with_members_of_a_later_version_is_read() -> None:
    tall = Statement(subject="e1", attribute="height", value=Quantity(low=2, high=2, step=1))
    stored = tall.to_json()
    stored["value"]["spread"] = stored["tone"] = "calm"

    assert Statement.from_json(stored) == tall

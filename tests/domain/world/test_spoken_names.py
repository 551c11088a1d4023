"""Spoken names: people and places are meant in whatever signs a player writes them."""

import pytest

from canonry.world.domain.utterances.lexicon import Nameable
from canonry.world.domain.utterances.names import find_named, phrase_of, words_in


def named_character(said: str, *names: str) -> str | None:
    """Return the character that a text names, if it names exactly one."""
    known = [Nameable(id=each, kind="character", name=each) for each in names]
    found = find_named(phrase_of(words_in(said)), known)
    return None if found is None else found.id


@pytest.mark.parametrize("expected", ["Maeve O'Brien", "Maeve O\u2019Brien", "Maeve O\u02bcBrien"])
@pytest.mark.parametrize(
    "said", ["O'Brien", "maeve o\u2019brien", "O\u02bcBrien", "O\u00b4Brien", "O\u2018Brien's"]
)
def test_a_name_matches_under_any_apostrophe(expected: str, said: str) -> None:
    assert named_character(said, expected, "Ben Lorn") == expected


@pytest.mark.parametrize("said", ["Zo\u00eb", "Zoe\u0308", "zoe"])
def test_composed_and_decomposed_letters_match(said: str) -> None:
    assert named_character(said, "Zo\u00eb", "Ben Lorn") == "Zo\u00eb"


def test_a_first_name_means_its_only_owner_and_none_of_two() -> None:
    assert named_character("Maeve", "Maeve O'Brien", "Ben Lorn") == "Maeve O'Brien"
    assert named_character("Anna", "Anna Berg", "Anna Huber") is None

"""Texts: what pages say, as data in the languages that there are; English where one is missing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch"}
"""By code, each by its own name."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language."""

    language: str

    def say(self, key: str, /, **values: Any) -> str:
        """The text of a key, with values where it has room for them.

        Raises:
            KeyError: there is no such text.
        """
        text = catalogue_of(self.language).get(key) or catalogue_of("en")[key]
        return text.format_map(values) if values else text

    def word(self, group: str, name: str) -> str:
        """What a word of a vocabulary is called; the word itself where nobody has said."""
        key = f"{group}.{name}"
        return catalogue_of(self.language).get(key) or catalogue_of("en").get(key, name)


@cache
def catalogue_of(language: str) -> Mapping[str, str]:
    """Key to text; flat, so that whoever translates sees one list."""
    path = files("canonry.inspector").joinpath("catalogue", f"{language}.json")
    found: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def language_of(chosen: str | None, accepted: str) -> str:
    """The language that somebody chose, else the first that their browser accepts."""
    if chosen is not None and chosen in LANGUAGES:
        return chosen
    for each in accepted.split(",")[:20]:
        code = each.strip().partition(";")[0].partition("-")[0].lower()
        if code in LANGUAGES:
            return code
    return "en"

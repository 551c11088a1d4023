"""Every text of the pages exists in every language, and every text is used."""

import re
from string import Formatter

import pytest

from canonry.inspector.rendering import LANGUAGES, Texts, catalogue_of, language_of
from tests.meta.tree import PACKAGE

TEMPLATES = PACKAGE / "inspector" / "templates"
WORDS = ("kind", "space", "type", "status", "level", "authority", "how", "mark", "tie", "proposal",
         "speaker", "source", "reading", "pair",
         "member", "wording")  # fmt: skip
MADE = (*(f"{group}." for group in WORDS), "claim.", "propose.", "review.",
        "done.", "times.", "row.", "door.",
        "difference.side", "verdict.", "app.")  # fmt: skip


def placeholders_of(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_language_has_every_text_with_the_same_placeholders() -> None:
    english = catalogue_of("en")
    for language in LANGUAGES:
        other = catalogue_of(language)
        assert other.keys() == english.keys()
        assert [
            key for key in english if placeholders_of(other[key]) != placeholders_of(english[key])
        ] == []
        assert [key for key, text in other.items() if not text.strip()] == []


def test_every_template_key_has_a_text_and_every_text_is_used() -> None:
    said: set[str] = set()
    for path in TEMPLATES.glob("*.html"):
        said |= set(re.findall(r"""\bt\(\s*["']([\w.]+)["']""", path.read_text(encoding="utf-8")))
    known = catalogue_of("en").keys()
    whole = {key for key in said if not key.endswith((".", ".side"))}

    assert whole - known == set()
    assert [key for key in known - whole if not key.startswith(MADE)] == []


def test_an_untranslated_word_stands_for_itself() -> None:
    assert Texts("de").label_of("type", "sea monster") == "sea monster"
    assert Texts("de").label_of("type", "location") == "Ort"
    with pytest.raises(KeyError):
        Texts("de").text_of("no.such.text")


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "fr, de-CH;q=0.8, en;q=0.5", "de"),
        ("de", "en", "de"),
        ("xx", "DE", "de"),
        (None, "," * 10_000, "en"),
    ],
)
def test_the_language_is_the_chosen_or_first_accepted_one(
    chosen: str | None, accepted: str, language: str
) -> None:
    assert language_of(chosen, accepted) == language

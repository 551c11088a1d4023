"""Look-alikes: a text as the eye takes it, so that twins in other letters have one skeleton.

A skeleton follows UTS #39; it is compared and never shown. The table of confusable characters comes
from a package and is only read once a text needs more than ASCII.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

_ASCII: Final = str.maketrans(
    {"0": "O", "1": "l", "I": "l", "|": "l", "`": "'", '"': "''", "m": "rn", "%": "º/₀"}
)
"""What the table says of ASCII, so that most names need no table; a test compares the two."""

_SIGHTLESS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U000e0000-\U000e0fff]"
)
"""Code points that are ignored where they are not known, beside those of the category Cf."""

_ACCENTS: Final = re.compile("[\u0300-\u036f]")
"""Accents of Latin, Greek and Cyrillic letters, and the strokes of `ł` and `ø` in skeletons."""


@lru_cache(maxsize=4096)
def skeleton(text: str) -> str:
    """The skeleton: texts that are easily taken for each other have the same."""
    if text.isascii():
        return text.translate(_ASCII)
    seen = without_sightless(unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFD", seen.translate(_table()))


def without_sightless(text: str) -> str:
    """The text without what nobody sees: zero-width characters, marks of direction, fillers."""
    if text.isascii():
        return text
    return "".join(c for c in _SIGHTLESS.sub("", text) if unicodedata.category(c) != "Cf")


def unaccented(text: str) -> str:
    """A skeleton without the accents and strokes that people leave out where a keyboard has none.

    Marks of other scripts stay, as they tell vowels and consonants apart.
    """
    return text if text.isascii() else _ACCENTS.sub("", text)


@lru_cache(maxsize=1)
def _table() -> Mapping[int, str]:
    """From each character that looks like others to the one that stands for all of them.

    The package lists who looks like whom, both ways round. Whoever looks like several stands for
    them; of two alone it is a sequence of characters, or the lesser one.
    """
    data = files("confusable_homoglyphs").joinpath("confusables.json").read_text("utf-8")
    alike: Mapping[str, list[Any]] = json.loads(data)
    found: dict[int, str] = {}
    for character, others in alike.items():
        if len(character) > 1 or len(others) > 1:
            continue
        other: str = others[0]["c"]
        if len(other) > 1 or len(alike[other]) > 1 or other < character:
            found[ord(character)] = other
    return found

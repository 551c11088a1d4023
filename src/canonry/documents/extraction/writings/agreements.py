"""Agreements: between whom they are made, and from when to when, as their sentences say it."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from canonry.documents.extraction.context import DocumentContext
from canonry.records.notation.labels import LabelledLine
from canonry.records.notation.parties import is_name, named_in, parties_in
from canonry.values.languages import languages

BETWEEN: Final = "; "
"""Divides the names of parties where they are one text; names themselves have commas."""

_OPENINGS_MAX: Final = 50
"""So many sentences that may name the parties of a contract are looked at."""

_PARTIES_MAX: Final = 600
_ENDED: Final = re.compile(
    r"(?<!\b[A-Z])(?<!\bInc)(?<!\bLtd)(?<!\bLda)(?<!\bCor)(?<!\bo)\.(?=\s+[A-Z\xa7\d]|\s*$)"
    r"|\n\s*\n|(?:,\s|\s)(?:effective|dated|geschlossen|wird|se celebra)\b",
)
"""Where the sentence that names the parties ends."""

_CALLED: Final = re.compile(
    r"\bas of ([^()\n]{6,40})\(the [\"\u201c]?Effective Date", re.IGNORECASE
)
_PHRASES: Final = {
    name: re.compile(
        rf"\b(?:{words})[^.;\n]{{0,40}}?(?=[\d]|\b[A-Z][a-z]{{1,20}} \d)", re.IGNORECASE
    )
    for name, words in {
        "effective_date": r"effective|commenc\w++|with effect|begin\w*+|g\xfcltig ab|a partir del?",
        "expiration_date": r"expir\w++|terminat\w++|valid until|ends?|g\xfcltig bis|hasta el",
        "signed_date": "signed|entered into|unterzeichnet|firmado",
    }.items()
}


def parties_of(lines: Sequence[LabelledLine], text: str, context: DocumentContext) -> Sequence[str]:
    """Between whom it is: landlord and tenant by their labels, or the names of a sentence."""
    said = [line.value for line in lines if line.notion == "party" and line.value]
    if len(said) > 1:
        named = (name for each in said for name in named_in(each, context.language)[:1])
        return tuple(dict.fromkeys(named))
    return between(text, context.language)


def days_of(text: str) -> Iterator[tuple[str, str]]:
    """What stands behind the words of a sentence that say which day it is about."""
    if (called := _CALLED.search(text)) is not None:
        yield "effective_date", called[1]
    for name, pattern in _PHRASES.items():
        found = pattern.search(text)
        if found is not None:
            yield name, text[found.end() : found.end() + 40]


def listed_in(text: str, context: DocumentContext) -> Sequence[str]:
    """The parties that stand behind a label: names, or a sentence that has names."""
    listed = parties_in(text, context.language)
    if all(map(is_name, listed)):
        return listed
    named = named_in(text, context.language)
    return named if len(named) > 1 else ()


def between(text: str, language: str) -> Sequence[str]:
    """The parties that a sentence stands between; a few hundred characters are looked at each."""
    for place in islice(_openings(text, language), _OPENINGS_MAX):
        said = text[place : place + _PARTIES_MAX]
        end = _ENDED.search(said)
        names = named_in(said[: end.start()] if end else said, language)
        if len(names) > 1:
            return names
    return ()


def _openings(text: str, language: str) -> Iterator[int]:
    """Where the parties may be named: behind the words that stand before them."""
    known = [languages()[language]] if language else languages().values()
    lower = text.lower()
    for word in dict.fromkeys(word for each in known for word in each.between):
        place = lower.find(word)
        while place >= 0:
            end = place + len(word)
            alone = (
                not lower[max(0, place - 1) : place].isalnum()
                and not lower[end : end + 1].isalnum()
            )
            if alone:
                yield end
            place = lower.find(word, end)

"""Languages: the vocabulary of documents as data, one file `<code>.toml` a language.

A file's tables `labels` and `money` map notions, such as `due`, to words; both are read as one. The
table `statement` maps columns of bank statements to words, the best first. Words are in plain
letters, as `plain_letters` returns them, separated by bars.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from canonry.values.data_files import read_toml

CODES: Final = ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "sv")
"""The supported languages. If several have a word, the first one is meant."""

_TABLES: Final = ("labels", "money")
_LETTERS: Final = str.maketrans(
    {"\xdf": "ss", "\u0142": "l", "\xf8": "o", "\xe6": "ae", "\u0153": "oe"}
)
_WORD: Final = re.compile("[a-z]+")
_SAMPLED_CHARACTERS: Final = 20_000  # a language shows early: bench compare, ingest
_ENOUGH: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The vocabulary of one language's documents.

    `common` are frequent words of every text, `letters` the letters besides the plain ones.
    `labels` has the notion of each label, `headings` the document type for each heading (`other`:
    none of the types), and `contacts` the columns of address books. Parties follow a word of
    `between` and are divided by one of `joined`; a due day follows one of `by`, and a letter starts
    with one of `salutation`. `day_first` is set if numeric dates start with the day, `thousands` if
    a single mark divides thousands. `columns` has the meaning of statement column titles with its
    rank. `times` has the words for parts of times, by table and column.
    """

    code: str
    common: frozenset[str]
    letters: frozenset[str]
    labels: Mapping[str, str]
    headings: Mapping[str, str]
    contacts: Mapping[str, str]
    between: tuple[str, ...]
    joined: tuple[str, ...]
    by: tuple[str, ...]
    salutation: tuple[str, ...]
    months: tuple[tuple[str, ...], ...]
    weekdays: tuple[str, ...]
    day_first: bool
    thousands: str | None
    columns: Mapping[str, Mapping[str, int]]
    times: Mapping[str, Sequence[Sequence[str]]]


@lru_cache(maxsize=1)  # reads a file per language: bench compare, ingest
def known_languages() -> Mapping[str, Language]:
    """Return all languages by code."""
    return {code: _read_language(code) for code in CODES}


@lru_cache(maxsize=65_536)  # documents repeat their labels
def meaning_of(label: str, language: str = "") -> tuple[str, str]:
    """Return the notion of a label and its language; two empty texts if it is unknown.

    `label` is in plain letters. `language` is the document's language and has precedence.
    """
    known = known_languages()
    for code in (language, *CODES) if language else CODES:
        if (meaning := known[code].labels.get(label)) is not None:
            return meaning, code
    return "", ""


@lru_cache(maxsize=4_096)  # exports of one bank repeat their titles
def columns_named(title: str) -> Mapping[str, tuple[int, str]]:
    """Return the possible meanings of a column title: each with its rank and language."""
    found: dict[str, tuple[int, str]] = {}
    for code, language in known_languages().items():
        for meaning, rank in language.columns.get(title, {}).items():
            if meaning not in found or rank < found[meaning][0]:
                found[meaning] = rank, code
    return found


def plain_letters(text: str) -> str:
    """Return the text in lower case without accents, reduced to English letters."""
    spread = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    return "".join(char for char in spread if not unicodedata.combining(char))


def detect_language(text: str) -> str:
    """Return the language with the most common words in a text; empty: a tie or none."""
    words = _WORD.findall(plain_letters(text[:_SAMPLED_CHARACTERS]))
    counts = sorted(
        (
            (sum(word in each.common for word in words), code)
            for code, each in known_languages().items()
        ),
        reverse=True,
    )
    (most, code), (second, _) = counts[:2]
    return code if most >= _ENOUGH and most > second else ""


@lru_cache(maxsize=1)  # built from the tables of all languages
def month_numbers() -> Mapping[str, int]:
    """Return the number of each month by all its names in all languages."""
    return {
        name: number
        for language in known_languages().values()
        for number, names in enumerate(language.months, 1)
        for name in names
    }


def _read_language(code: str) -> Language:
    data = read_toml(__name__, f"{code}.toml")
    sentences = data["sentences"]
    return Language(
        code=code,
        common=frozenset(data["common"].split()),
        letters=frozenset(data["letters"]),
        labels={word: meaning for e in _TABLES for word, meaning in _invert_table(data.get(e, {}))},
        headings=dict(_invert_table(data["headings"])),
        contacts=dict(_invert_table(data["contacts"])),
        between=tuple(_split_words(sentences["between"])),
        joined=tuple(_split_words(sentences["joined"])),
        by=tuple(_split_words(sentences["by"])),
        salutation=tuple(_split_words(sentences["salutation"])),
        months=tuple(tuple(each.split()) for each in _split_words(data["months"])),
        weekdays=tuple(data["weekdays"].split()),
        day_first=data.get("dates") == "day",
        thousands=data.get("thousands"),
        columns=_read_columns(data.get("statement", {})),
        times={
            table: [[word.strip() for word in each.split(",")] for each in _split_words(words)]
            for table, words in data.get("times", {}).items()
        },
    )


def _invert_table(table: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((word, meant) for meant, words in table.items() for word in _split_words(words))


def _read_columns(table: Mapping[str, str]) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for meaning, words in table.items():
        for rank, word in enumerate(_split_words(words)):
            found.setdefault(word, {})[meaning] = rank
    return found


def _split_words(words: str) -> list[str]:
    return [" ".join(word.split()) for word in words.split("|") if word.strip()]

"""Languages: what documents of each call things, as data; one file a language, `<code>.toml`.

A file's tables `labels` and `money` name notions, such as `due`, and the words that stand for each;
both are read as one. Its table `statement` names what columns of bank statements hold, the best
word first. Words are in plain letters, as `plain_letters` gives them, divided by bars.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

CODES: Final = ("en", "de", "es", "fr", "it", "nl", "pl", "pt")
"""The languages that are read; where several have a word, the first of them is meant."""

_TABLES: Final = ("labels", "money")
_LETTERS: Final = str.maketrans(
    {"\xdf": "ss", "\u0142": "l", "\xf8": "o", "\xe6": "ae", "\u0153": "oe"}
)
_WORD: Final = re.compile("[a-z]+")
_LOOKED_AT: Final = 20_000
_ENOUGH: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What one language's documents say.

    `common` are the words that every text has, `letters` those beside the plain ones. `labels` has
    the notion of each label, `headings` the type of document behind what a heading calls it
    (`other`: none of the types), and `contacts` what the columns of address books hold. Parties
    stand behind a word of `between`, one of `joined` divides them; a day by which something is due
    stands behind one of `by`, and a letter begins to speak with one of `salutation`.
    `day_first` is set where dates in numbers begin with the day, `thousands` where one mark alone
    divides them. `columns` has what titles of columns in statements stand for, and how well.
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
    day_first: bool
    thousands: str | None
    columns: Mapping[str, Mapping[str, int]]


@lru_cache(maxsize=1)
def languages() -> Mapping[str, Language]:
    """All of them by their code."""
    return {code: _language(code) for code in CODES}


@lru_cache(maxsize=65_536)
def notion_of(label: str, language: str = "") -> tuple[str, str]:
    """What a label stands for and of which language it is; two empty words where it is unknown.

    `label` is in plain letters. `language` is what the document is written in, and goes first.
    """
    known = languages()
    for code in (language, *CODES) if language else CODES:
        if (notion := known[code].labels.get(label)) is not None:
            return notion, code
    return "", ""


@lru_cache(maxsize=4_096)
def columns_named(title: str) -> Mapping[str, tuple[int, str]]:
    """What a column with a title in plain letters may hold: how well, and in which language."""
    found: dict[str, tuple[int, str]] = {}
    for code, language in languages().items():
        for notion, rank in language.columns.get(title, {}).items():
            if notion not in found or rank < found[notion][0]:
                found[notion] = rank, code
    return found


def plain_letters(text: str) -> str:
    """A text in lower case without accents, with letters alone that the alphabet of English has."""
    spread = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    return "".join(char for char in spread if not unicodedata.combining(char))


def written_in(text: str) -> str:
    """The code of the language whose common words a text has most of; empty where that is open."""
    words = _WORD.findall(plain_letters(text[:_LOOKED_AT]))
    counts = sorted(
        ((sum(word in each.common for word in words), code) for code, each in languages().items()),
        reverse=True,
    )
    (most, code), (second, _) = counts[:2]
    return code if most >= _ENOUGH and most > second else ""


@lru_cache(maxsize=1)
def months() -> Mapping[str, int]:
    """The number of each month by all names that the languages have for it."""
    return {
        name: number
        for language in languages().values()
        for number, names in enumerate(language.months, 1)
        for name in names
    }


def _language(code: str) -> Language:
    data = tomllib.loads(files(__name__).joinpath(f"{code}.toml").read_text("utf-8"))
    sentences = data["sentences"]
    return Language(
        code=code,
        common=frozenset(data["common"].split()),
        letters=frozenset(data["letters"]),
        labels={word: notion for each in _TABLES for word, notion in _turned(data.get(each, {}))},
        headings=dict(_turned(data["headings"])),
        contacts=dict(_turned(data["contacts"])),
        between=tuple(_words(sentences["between"])),
        joined=tuple(_words(sentences["joined"])),
        by=tuple(_words(sentences["by"])),
        salutation=tuple(_words(sentences["salutation"])),
        months=tuple(tuple(each.split()) for each in _words(data["months"])),
        day_first=data.get("dates") == "day",
        thousands=data.get("thousands"),
        columns=_columns(data.get("statement", {})),
    )


def _turned(table: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((word, meant) for meant, words in table.items() for word in _words(words))


def _columns(table: Mapping[str, str]) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for notion, words in table.items():
        for rank, word in enumerate(_words(words)):
            found.setdefault(word, {})[notion] = rank
    return found


def _words(words: str) -> list[str]:
    return [" ".join(word.split()) for word in words.split("|") if word.strip()]

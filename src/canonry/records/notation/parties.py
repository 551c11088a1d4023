"""Parties in documents, and the fields of records that name parties."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from canonry.records.notation.labels import plain
from canonry.records.notation.numbers import WORDS
from canonry.values.data_files import read_toml
from canonry.values.json_values import company_name, words_only
from canonry.values.languages import languages

# Parties: find names in a list or a sentence, and tell companies from persons.
#
# A party's seat, role and legal details are not part of its name.

_TABLES: Final = read_toml(__package__, "parties.toml")
_COMPANY: Final = re.compile(rf"(?:^|[\s,])(?:{_TABLES['company']})\.?(?:$|[\s,)])", re.IGNORECASE)
_FORM: Final = _TABLES["form"]
_SHORTENED: Final = re.compile(
    r"(?:^|[\s,])(?:inc|corp|co|ltd|lda|ltda|jr|sr|(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2})\.$",
    re.IGNORECASE,
)
"""Names that end in an abbreviation, whose point belongs to the name."""

_APART: Final = re.compile(rf"\s\|\s|,(?!\s?(?:{_FORM})\b)", re.IGNORECASE)
_ROLE: Final = re.compile(
    r"(?<![(\u201c\"])[(\u201c\"]++(?:the\s|hereinafter|der\s|die\s|el\s|la\s)?[^)\"\u201d]{0,60}+[)\"\u201d]++"
)
_HONOURED: Final = re.compile(rf"(?:{_TABLES['honoured']})\.?\s+(?=[^\W\d_])", re.IGNORECASE)
_ENDS: Final = re.compile(rf",(?!\s?(?:{_FORM})\b)|\s[-\u2013]\s|\d{{3,}}", re.IGNORECASE)
"""The end of a name in a sentence. The text behind it describes the party."""

_SMALL: Final = frozenset(WORDS["small"].split())
"""Words within names that begin with small letters."""

_BUSINESSES: Final = frozenset(WORDS["businesses"].split())
_ENDS_OF_BUSINESSES: Final = tuple(WORDS["ends_of_businesses"].split())
_ENDS_OF_FIRST: Final = tuple(WORDS["ends_of_first_words"].split())
_WITHIN: Final = frozenset(WORDS["within_businesses"].split())
_BEFORE: Final = frozenset(WORDS["before_businesses"].split())
_JOINED: Final = ("and", "und", "y", "et")
_NAME_MAX: Final = 120
_WORDS_MAX: Final = 10
_WORDS_OF_A_PERSON: Final = range(2, 5)


def is_company(name: str) -> bool:
    """Tell whether a name contains a word or legal form of companies."""
    return bool(_COMPANY.search(name))


def _is_business(name: str) -> bool:
    """Tell whether a name has words that name a business or a body and no person."""
    first, *others = words = plain(name).split() or [""]
    return (
        not _BUSINESSES.isdisjoint(words)
        or any(word.endswith(_ENDS_OF_BUSINESSES) for word in words)
        or (bool(others) and (first in _BEFORE or first.endswith(_ENDS_OF_FIRST)))
        or not _WITHIN.isdisjoint(name.split()[1:])  # in small letters: "An" is a name
    )


def party_type(name: str) -> str:
    """Return `company` or `person`; a single word is a company."""
    bare = _HONOURED.sub("", name.strip(), count=1)
    if bare != name.strip():
        return "person"
    words = words_only(name).split()
    if is_company(name) or _is_business(name) or company_name(name) != " ".join(words):
        return "company"
    capital = all(word[:1].isupper() for word in bare.split() if len(word) > 3)  # noqa: PLR2004
    alone = all(word.isalpha() for word in words)
    count = sum(1 for word in words if word not in _SMALL)
    return "person" if alone and capital and count in _WORDS_OF_A_PERSON else "company"


def parties_in(text: str, language: str = "") -> tuple[str, ...]:
    """Return the names in a list of parties, in order, without roles in brackets."""
    lines = (" ".join(line.split()) for line in _ROLE.sub(" ", text).split("\n"))
    pieces = (piece for line in lines for piece in _APART.split(line))
    parts = (part for piece in pieces for part in _divided(piece, language))
    names = (_tidy(part) for part in parts)
    return tuple(dict.fromkeys(name for name in names if 1 < len(name) <= _NAME_MAX))


def named_in(text: str, language: str = "") -> tuple[str, ...]:
    """Return the names of the parties in a sentence, without descriptions."""
    bare = _ROLE.sub(", ", " ".join(text.split()))
    names: dict[str, None] = {}
    before = ""
    for part in _divided(bare, language):
        # A description may contain joining words. A comma ends it.
        if before.rstrip().endswith(",") or not _ENDS.search(before.strip(" ,")):
            name = _name_of(part)
            names |= {name: None} if is_name(name) else {}
        before = part
    return tuple(names)


def is_name(text: str) -> bool:
    """Tell whether a text is a name: its words begin with capitals."""
    words = text.split()
    if not 1 < len(text) <= _NAME_MAX or len(words) > _WORDS_MAX or not text[0].isalnum():
        return False
    if not any(char.isalpha() for char in text) or words[0].lower() in _articles():
        return False
    return all(
        not word[0].islower() or word.lower().strip(",") in _SMALL or is_company(word)
        for word in words
    )


def _name_of(part: str) -> str:
    """Return the name at the beginning of a text, without articles and titles."""
    words = _ENDS.split(part.strip(" ,;:"))[0].split()
    while words and words[0][0].islower():
        words.pop(0)
    return _HONOURED.sub("", _tidy(" ".join(words)), count=1)


def _tidy(name: str) -> str:
    bare = " ".join(name.split()).strip(" ,:-*;")
    return bare if _SHORTENED.search(bare) else bare.strip(" .")


def _divided(text: str, language: str) -> Iterator[str]:
    """Yield the parts between semicolons and the joining words of the language."""
    own = languages()[language].joined if language else _JOINED
    words: list[str] = []
    given = text.replace(";", " ; ").split()
    for place, word in enumerate(given):
        after = given[place + 1].lower() if place + 1 < len(given) else ""
        joins = word.lower() in own or (word == "&" and not after.startswith("co"))
        if word == ";" or (joins and words):
            yield " ".join(words)
            words = []
        else:
            words.append(word)
    yield " ".join(words)


@lru_cache(maxsize=1)
def _articles() -> frozenset[str]:
    """Return words that begin a phrase and no name."""
    known = languages().values()
    common = frozenset(word for each in known for word in each.common if len(word) > 1)
    return common | {"a", "an", "eine", "ein", "une", "una", "een"}


COMPANIONS: Final[Mapping[str, Mapping[str, str]]] = _TABLES["companions"]
"""Entity type -> field -> type of the party or invoice; `party` is a company or a person."""


NAMED_BY: Final = {"company": "name", "person": "name", "invoice": "invoice_number"}
"""The field by which a record names an entity of each type."""

_PAYMENTS: Final = frozenset(_TABLES["payments"].split())
"""Words for kinds of payments, in the languages of the labels. They are no names."""

_CONNECTING: Final = frozenset(_TABLES["connecting"].split())
"""Words that may accompany them and are no names either."""

_NAMES_MAX: Final = 50


def companions_of(entity_type: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (field, type, name) of all parties that the fields of a record name."""
    for field, kind in COMPANIONS.get(entity_type, {}).items():
        value = fields.get(field)
        names = value if isinstance(value, list | tuple) else (value,)
        for name in names[:_NAMES_MAX]:
            if not isinstance(name, str) or not name.strip() or "@" in name:
                continue
            if entity_type != "transaction" or not names_a_payment(name):
                yield field, party_type(name) if kind == "party" else kind, name.strip()


def names_a_payment(name: str) -> bool:
    """Tell whether a text is only a kind of payment, such as `Rent Payment 05/24`.

    One other word makes it a name.
    """
    words = [word for word in plain(name).split() if not word.isdigit()]
    kinds = [word for word in words if word in _PAYMENTS]
    return bool(kinds) and all(word in _PAYMENTS or word in _CONNECTING for word in words)

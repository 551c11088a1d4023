"""Contradictions: details which show that two records with a common key are two entities."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from canonry.language.texts.visible import strip_accents
from canonry.values.json_values import (
    NAMED,
    company_name,
    fold_text,
    legal_forms,
    person_name,
    phone_extension,
    words_only,
)

_SURNAME_FIRST: Final = "\u3000"
"""Names in the scripts behind this character begin with the family name."""

_DOTTED: Final = re.compile(r"\b([^\W\d_])\.(?=[^\W\d_])")
_INITIALS: Final = re.compile(r"[^\W\d_aeiouy]{2,3}")
_BRANCH_WORDS: Final = frozenset(NAMED["branches"].split())
_LETTERS: Final = str.maketrans(dict(zip(*[iter(NAMED["letters"].split())] * 2, strict=True)))
_ADDRESS, _GENERATIONS = (
    {word: each for each, words in NAMED[table].items() for word in words.split()}
    for table in ("address", "generations")
)


def values_contradict(
    entity_type: str, field: str, one: tuple[str, Any], other: tuple[str, Any], *, in_key: bool
) -> bool:
    """Return whether two values of a field, each in normal form and as given, exclude each other.

    If the field is `in_key`, a common key, only the parts count that the key leaves out.
    """
    rules = _OF_KEYS if in_key else _RULES
    rule = rules.get((entity_type, field)) or rules.get(("", field))
    return not in_key and one[0] != other[0] if rule is None else rule(one[1], other[1])


class _Person(NamedTuple):
    """The words of a name, the family name last, its form of address and its generation."""

    words: list[str]
    address: str
    generation: str


def _people_differ(one: Any, other: Any) -> bool:
    """Return whether the first given names, forms of address or generations of two people differ.

    An initial agrees with every word that it begins, and a given name with any given name of the
    other. A text that is no name contradicts nothing.
    """
    ours, theirs = (_person_of(each).words for each in (one, other))
    if not ours or not theirs or _titles_differ(one, other):
        return bool(ours and theirs)
    if any(map({"&", "and", "und", "et"}.intersection, (ours, theirs))):
        return sorted(ours) != sorted(theirs)
    few, many = sorted((ours, theirs), key=len)
    if all(any(map(partial(_names_agree, word), many)) for word in few):
        return False
    given = [words[:-1] or words for words in (ours, theirs)]
    return not any(
        any(map(partial(_names_agree, a[0]), b)) or _are_initials(a[0], b)
        for a, b in (given, given[::-1])
    )


def _names_agree(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) == 1 and one[0] == other[0])


def _are_initials(word: str, names: Sequence[str]) -> bool:
    initials = "".join(name[0] for name in names)
    return _INITIALS.fullmatch(word) is not None and initials.startswith(word)


def _titles_differ(one: Any, other: Any) -> bool:
    """Return whether two names have different forms of address or generations: Mr and Mrs Berg."""
    ours, theirs = _person_of(one), _person_of(other)
    pairs = zip(ours[1:], theirs[1:], strict=True)
    return any(a and b and a != b for a, b in pairs)


def _person_of(name: Any) -> _Person:
    return _person_named(name if isinstance(name, str) else "")


@lru_cache(maxsize=1024)  # one name is compared with many records
def _person_named(name: str) -> _Person:
    if any(char.isdigit() or char == "@" for char in name):
        return _Person([], "", "")
    plain = fold_text(_DOTTED.sub(r"\1. ", name))
    title, _, rest = plain.partition(" ")
    address = _ADDRESS.get(title.strip("."), "") if rest else ""
    # A single `M.` is also the initial of a given name.
    plain = person_name(rest if address and len(title) > len("m.") else plain).translate(_LETTERS)
    plain = strip_accents(unicodedata.normalize("NFD", plain))
    for written, letter in (("ae", "a"), ("oe", "o"), ("ue", "u")):
        plain = plain.replace(written, letter)
    words = plain.split()
    generation = _GENERATIONS.get(words[-1], "") if len(words) > 1 else ""
    words = words[:-1] if generation else words
    if plain > _SURNAME_FIRST:  # these names are written with and without a blank
        words = ["".join(words)]
    return _Person(words, address, generation)


def forms_differ(one: Any, other: Any) -> bool:
    """Return whether two names of one company state different legal forms."""
    ours, theirs = (legal_forms(str(each)) for each in (one, other))
    return bool(ours and theirs) and ours != theirs


def _firms_differ(one: Any, other: Any) -> bool:
    """Return whether two names at one address are those of two companies, or of a branch."""
    ours, theirs = ({*company_name(str(each)).split()} for each in (one, other))
    if (ours ^ theirs) & _BRANCH_WORDS or not (ours <= theirs or theirs <= ours):
        return True
    return forms_differ(one, other)


def _extensions_differ(one: Any, other: Any) -> bool:
    """Return whether two telephone numbers have different extensions."""
    ours, theirs = (phone_extension(str(each)) for each in (one, other))
    return bool(ours and theirs) and ours != theirs


def _companies_differ(one: Any, other: Any) -> bool:
    return company_name(str(one)) != company_name(str(other)) or forms_differ(one, other)


def _no_common_party(one: Any, other: Any) -> bool:
    """Return whether two lists of parties have no party in common."""
    ours, theirs = (each if isinstance(each, list | tuple) else [each] for each in (one, other))
    return all(_companies_differ(a, b) for a in ours for b in theirs)


def _texts_differ(one: Any, other: Any) -> bool:
    """Return whether two texts are not two versions of one text.

    Versions contain one another, or the shorter one shares half of its lines with the other.
    """
    ours, theirs = words_only(str(one)), words_only(str(other))
    if ours in theirs or theirs in ours:
        return False
    rows = [_text_rows(str(each)) for each in (one, other)]
    return len(rows[0] & rows[1]) * 2 < max(1, min(map(len, rows)))


def _text_rows(text: str) -> frozenset[str]:
    rows = (fold_text(row) for row in text.split("\n"))
    return frozenset(row for row in rows if row and row[0] != "#")


_PEOPLE: Final = ("person", "contact")
_FIRMS: Final = ("company", "organization")
_Rules: TypeAlias = Mapping[tuple[str, str], Callable[[Any, Any], bool]]
_RULES: Final[_Rules] = {
    **{(kind, "name"): _people_differ for kind in _PEOPLE},
    **{(kind, "name"): _firms_differ for kind in _FIRMS},
    **{("", f"{role}_name"): _companies_differ for role in ("vendor", "customer", "merchant")},
    ("", "content"): _texts_differ,
    ("", "parties"): _no_common_party,
}
"""(type, field) -> the rule of a field that is not compared by its normal form alone."""

_OF_KEYS: Final[_Rules] = {
    **{(kind, "name"): _titles_differ for kind in _PEOPLE},
    **{(kind, "name"): forms_differ for kind in _FIRMS},
    ("", "phone"): _extensions_differ,
}
"""The same for a field that is the common key."""

"""Contradictions: details which show that two records with a common key are two entities."""

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from canonry.language.texts.visible import unaccented
from canonry.values.json_values import company_name, folded, legal_forms, person_name, words_only

_GENERATIONS: Final = frozenset({"jr", "sr", "ii", "iii", "iv"})
_SURNAME_FIRST: Final = "\u3000"
"""Names in the scripts behind this character begin with the family name."""

_UMLAUTS: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"))


def contradict(entity_type: str, field: str, one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Tell whether two values of a field, each in normal form and as given, exclude each other."""
    rule = _RULES.get((entity_type, field)) or _RULES.get(("", field))
    return one[0] != other[0] if rule is None else rule(one[1], other[1])


def _people_differ(one: Any, other: Any) -> bool:
    """Tell whether two names share no word besides a family name.

    An initial agrees with every word that it begins. A text that is no name contradicts nothing.
    """
    ours, theirs = _words_of(one), _words_of(other)
    if not ours or not theirs:
        return False
    generations = [_GENERATIONS.intersection(each) for each in (ours, theirs)]
    if all(generations) and generations[0] != generations[1]:
        return True
    ours, theirs = ([w for w in each if w not in _GENERATIONS] for each in (ours, theirs))
    alone = min(len(ours), len(theirs)) == 1
    family_names = (len(ours) - 1, len(theirs) - 1)
    return not any(
        word == word_there or (min(len(word), len(word_there)) == 1 and word[0] == word_there[0])
        for place, word in enumerate(ours)
        for place_there, word_there in enumerate(theirs)
        if alone or (place, place_there) != family_names
    )


def _words_of(name: Any) -> list[str]:
    """Return the words of a name, the family name last."""
    if not isinstance(name, str) or any(char.isdigit() or char == "@" for char in name):
        return []
    plain = unaccented(unicodedata.normalize("NFD", person_name(name)))
    for written, letter in _UMLAUTS:
        plain = plain.replace(written, letter)
    words = plain.split()
    return words[::-1] if plain > _SURNAME_FIRST else words


def _forms_differ(one: Any, other: Any) -> bool:
    """Tell whether two names of one company state different legal forms."""
    ours, theirs = (legal_forms(str(each)) for each in (one, other))
    return bool(ours and theirs) and ours != theirs


def _companies_differ(one: Any, other: Any) -> bool:
    return company_name(str(one)) != company_name(str(other)) or _forms_differ(one, other)


def _none_in_common(one: Any, other: Any) -> bool:
    """Tell whether two lists of parties have no party in common."""
    ours, theirs = (each if isinstance(each, list | tuple) else [each] for each in (one, other))
    return all(_companies_differ(a, b) for a in ours for b in theirs)


def _texts_differ(one: Any, other: Any) -> bool:
    """Tell whether two texts are not two versions of one text.

    Versions contain one another, or the shorter one shares half of its lines with the other.
    """
    ours, theirs = words_only(str(one)), words_only(str(other))
    if ours in theirs or theirs in ours:
        return False
    lines = [_lines_of(str(each)) for each in (one, other)]
    return len(lines[0] & lines[1]) * 2 < max(1, min(map(len, lines)))


def _lines_of(text: str) -> frozenset[str]:
    lines = (folded(line) for line in text.split("\n"))
    return frozenset(line for line in lines if line and line[0] != "#")


_RULES: Final[Mapping[tuple[str, str], Callable[[Any, Any], bool]]] = {
    **{(kind, "name"): _people_differ for kind in ("person", "contact")},
    **{(kind, "name"): _forms_differ for kind in ("company", "organization")},
    **{("", f"{role}_name"): _companies_differ for role in ("vendor", "customer", "merchant")},
    ("", "content"): _texts_differ,
    ("", "parties"): _none_in_common,
}
"""(type, field) -> the rule of a field that is not compared by its normal form alone."""

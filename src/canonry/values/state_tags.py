"""Data of state tags: those that exclude each other, and those that prevent actions."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from canonry.values.attributes.table import attribute_of_word

EXCLUSIVE_PREFIXES: Final = ("at_",)
"""At most one tag with each prefix holds at a time: nobody is in two locations."""

_GONE: Final = frozenset({("life", "dead"), ("condition", "destroyed"), ("condition", "consumed")})
HELPLESS: Final = {"wakefulness:unconscious", "affliction:petrified", "floating:sunk"}
"""The meanings of tags with which somebody can hardly act."""


def is_gone(tag: str) -> bool:
    """Return whether an entity with this tag no longer acts, and is no longer used."""
    return tag_meaning(tag) in _GONE


@lru_cache(maxsize=4096)  # each verdict asks for the same few tags
def normal_tag(tag: str) -> str:
    """Return the tag's normal form: case is ignored and spaces become one."""
    return " ".join(tag.split()).casefold()


def normal_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in normal form, each once and sorted."""
    return tuple(sorted(set(map(normal_tag, tags))))


def excluded_by(tag: str, groups: Iterable[tuple[str, ...]], held: Iterable[str]) -> list[str]:
    """Return the tags in `held` that cannot hold together with `tag`, sorted; case is ignored."""
    word = tag.casefold()
    conflicting = _related_words(word, tuple(groups))
    meant = _conflicting_meanings(word)
    prefixes = tuple([prefix for prefix in EXCLUSIVE_PREFIXES if word.startswith(prefix)])
    return sorted(
        [
            other
            for other in held
            if (one := other.casefold()) != word
            and (
                one in conflicting
                or (meant and tag_meaning(one) in meant)
                or (prefixes and one.startswith(prefixes))
            )
        ]
    )


def ended_by(tag: str, groups: Iterable[tuple[str, ...]], held: Iterable[str]) -> list[str]:
    """Return the tags in `held` that end when `tag` begins: excluded ones, and those of a life."""
    cause, names = ":".join(tag_meaning(tag.casefold()) or ()), [*held]
    known = ((one, attribute_of_word(one)) for one in names)
    resting = [one for one, meant in known if meant and cause in meant[0].rests_on]
    return sorted({*excluded_by(tag, groups, names), *resting})


def tag_meaning(tag: str) -> tuple[str, str] | None:
    """Return the attribute and the value that a tag means, for all its synonyms."""
    known = attribute_of_word(tag)
    return None if known is None else (known[0].name, known[1])


def _conflicting_meanings(tag: str) -> frozenset[tuple[str, str]]:
    """Return the meanings that exclude the tag's own."""
    known = attribute_of_word(tag)
    if known is None or known[0].soft:
        return frozenset()
    return frozenset((known[0].name, value) for value in known[0].conflicting_words(known[1]))


@lru_cache(maxsize=4096)  # each verdict asks for the same few words
def _related_words(word: str, groups: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    """Return the words of all groups that a word belongs to."""
    folded = [frozenset(one.casefold() for one in group) for group in groups]
    return frozenset().union(*(group for group in folded if word in group))

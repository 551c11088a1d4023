"""The state tags that exclude each other, and those that keep somebody from acting; as data."""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

EXCLUSIVE_GROUPS: Final[tuple[tuple[str, ...], ...]] = (
    ("alive", "dead"),
    ("dead", "dying"),
    ("dead", "unconscious"),
    ("healthy", "wounded"),
    ("healthy", "injured"),
    ("healthy", "poisoned"),
    ("healthy", "diseased"),
    ("sane", "insane"),
    ("standing", "prone", "flying"),
    ("hostile", "friendly", "neutral"),
    ("allied", "enemy"),
    ("hostile", "allied"),
    ("friendly", "enemy"),
    ("resting", "fighting"),
    ("fighting", "fleeing"),
    ("traveling", "imprisoned"),
    ("open", "closed"),
    ("locked", "unlocked"),
    ("intact", "destroyed"),
)
"""Of the tags of a group at most one holds at a time."""

EXCLUSIVE_PREFIXES: Final = ("at_",)
"""Of all tags that begin so at most one holds at a time: nobody is at two places."""

DEAD: Final = frozenset({"dead", "deceased", "destroyed"})
"""Whoever bears one of these does nothing any more."""


@lru_cache(maxsize=4096)
def normal_tag(tag: str) -> str:
    """The tag as it is written and looked for: case and spaces around or beside spaces are one."""
    return " ".join(tag.split()).casefold()


def normal_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags in normal form, each once and sorted."""
    return tuple(sorted(set(map(normal_tag, tags))))


def excluded_by(tag: str, groups: Iterable[tuple[str, ...]], held: Iterable[str]) -> list[str]:
    """Which of the tags `held` cannot hold together with `tag`, sorted; case does not count."""
    word = tag.casefold()
    rivals = {one.casefold() for group in groups for one in group if word in _folded(group)}
    prefixes = tuple([prefix for prefix in EXCLUSIVE_PREFIXES if word.startswith(prefix)])
    return sorted(
        [
            other
            for other in held
            if (one := other.casefold()) != word
            and (one in rivals or (prefixes and one.startswith(prefixes)))
        ]
    )


@cache
def _folded(group: tuple[str, ...]) -> frozenset[str]:
    return frozenset(one.casefold() for one in group)

"""Data of state tags: those that exclude each other, and those that prevent actions."""

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
"""At most one tag of each group holds at a time."""

EXCLUSIVE_PREFIXES: Final = ("at_",)
"""At most one tag with each prefix holds at a time: nobody is in two locations."""

DEAD: Final = frozenset({"dead", "deceased", "destroyed"})
"""An entity with one of these tags no longer acts."""


@lru_cache(maxsize=4096)
def normal_tag(tag: str) -> str:
    """Return the tag's normal form: case is ignored and spaces become one."""
    return " ".join(tag.split()).casefold()


def normal_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in normal form, each once and sorted."""
    return tuple(sorted(set(map(normal_tag, tags))))


def excluded_by(tag: str, groups: Iterable[tuple[str, ...]], held: Iterable[str]) -> list[str]:
    """Return the tags in `held` that cannot hold together with `tag`, sorted; case is ignored."""
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

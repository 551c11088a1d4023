"""Findings: what comparing two frames says, and the setting in which they are compared."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from canonry.language.clauses.frames import Frame
from canonry.log.items.proposals import Grade


class When(StrEnum):
    """When the claim holds beside what stands."""

    ONE = "one"
    LATER = "later"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict and why it is one, in words.

    `is_change` where it is of what there mostly is one of at a time: said of one moment somebody
    should look, and said of two the later ends the earlier.
    """

    grade: Grade
    reason: str
    is_change: bool = False

    @property
    def ends_the_earlier(self) -> bool:
        """Whether of two that are said of two times the later ends the earlier."""
        return self.is_change or self.grade is Grade.CONTRADICTION

    def graver_than(self, other: "Clash") -> bool:
        """Whether this one outweighs the other."""
        if self.grade is not other.grade:
            return self.grade is Grade.CONTRADICTION
        return self.is_change and not other.is_change

    def only_possible(self) -> "Clash":
        """The same, as something to ask about."""
        return Clash(Grade.POSSIBLE, self.reason)


class Setting(NamedTuple):
    """What is known beside the words: the order in time, and the entities of both sides.

    As `Stated` it is made for each pair that is compared, which a tuple is cheapest for.
    """

    when: When
    standing: frozenset[str]
    claimed: frozenset[str]

    @property
    def one_moment(self) -> bool:
        """Whether both speak of one moment, as far as is known."""
        return self.when is When.ONE


def contradiction(reason: str) -> Clash:
    """A finding that the words exclude each other."""
    return Clash(Grade.CONTRADICTION, reason)


def possible(reason: str, *, is_change: bool = False) -> Clash:
    """A finding that somebody should look."""
    return Clash(Grade.POSSIBLE, reason, is_change)


Rule: TypeAlias = Callable[[Frame, Frame, Setting], Clash | None]
"""What compares two frames: that of what stands, and that of what is claimed."""

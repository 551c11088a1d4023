"""Findings: what comparing two frames says, and the setting in which they are compared."""

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How sure a conflict is."""

    CONTRADICTION = "contradiction"
    POSSIBLE = "possible"


class When(StrEnum):
    """When the claim holds beside what stands."""

    ONE = "one"
    LATER = "later"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class Finding:
    """A conflict and why it is one, in words."""

    grade: Grade
    reason: str

    def graver_than(self, other: "Finding") -> bool:
        """Whether this one outweighs the other."""
        return self.grade is Grade.CONTRADICTION and other.grade is Grade.POSSIBLE

    def only_possible(self) -> "Finding":
        """The same, as something to ask about."""
        return Finding(Grade.POSSIBLE, self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known beside the words: the order in time, and the entities of both sides."""

    when: When
    standing: frozenset[str]
    claimed: frozenset[str]

    @property
    def one_moment(self) -> bool:
        """Whether both speak of one moment, as far as is known."""
        return self.when is When.ONE


def contradiction(reason: str) -> Finding:
    """A finding that the words exclude each other."""
    return Finding(Grade.CONTRADICTION, reason)


def possible(reason: str) -> Finding:
    """A finding that somebody should look."""
    return Finding(Grade.POSSIBLE, reason)

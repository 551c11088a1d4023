"""Frames as values: a clause as subject, verb and what follows, with what changes its sense."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from canonry.language.clauses.quantities import Quantity


class Standing(StrEnum):
    """How a clause is told: of the world, or as what somebody says or knows."""

    TOLD = "told"
    SAID = "said"
    KNOWN = "known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A head with what stands before it, after a preposition or none; all are stems."""

    role: str
    head: str
    extras: frozenset[str] = frozenset()
    article: str = ""
    name: bool = False
    quantity: Quantity | None = None

    @property
    def words(self) -> frozenset[str]:
        """All its stems."""
        return self.extras | {self.head}


def words_of(phrases: Iterable[Phrase]) -> frozenset[str]:
    """All stems of these phrases."""
    return frozenset[str]().union(*(phrase.words for phrase in phrases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What one clause says; `sure` tells whether its verb is known or only the likeliest word."""

    subject: tuple[Phrase, ...]
    verb: str
    phrases: tuple[Phrase, ...]
    sure: bool
    negative: bool = False
    never: bool = False
    ends: bool = False
    hedged: bool = False
    modal: str = ""
    past: bool = False
    perfect: bool = False
    future: bool = False
    quantifier: str = ""
    person: bool = False
    exclusive: bool = False
    marks: frozenset[str] = frozenset()
    when: frozenset[str] = frozenset()
    condition: frozenset[str] = frozenset()
    standing: Standing = Standing.TOLD
    group: bool = False
    words: frozenset[str] = field(default=frozenset())
    passive: bool = False

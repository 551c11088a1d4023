"""Commits: the unit of atomicity, and the only way anything changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NewType, TypeAlias

from canonry.log.entries import Entry, Thing
from canonry.values.ids import CommitId, SpaceId
from canonry.values.provenance import Actor
from canonry.values.time import Instant

Position = NewType("Position", int)
"""Place in a space's log: 1, 2, 3, ... without a gap."""

ORIGIN: Final = Position(0)
"""The position before the first commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody wants to commit; `request` tells the arguments of a call that has a key."""

    id: CommitId
    space: SpaceId
    actor: Actor
    tool: str
    entries: tuple[Entry, ...]
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Draft):
    """A draft at its place in the log; `hash` covers `previous`, both lower-case hex SHA-256."""

    position: Position
    recorded_at: Instant
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """The keys that a draft touches, found by folding it over views that another engine keeps.

    It was folded over what `over` names, as that stood at the position `at`; while nobody touches
    it after that, the draft touches `touched`.
    """

    touched: frozenset[str]
    over: frozenset[str]
    at: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """What folding a draft looks at, from views that show its space up to the position `at`.

    `ids` are all that were looked for, and `things` those that exist. It may be wrong by now: a
    ledger that would rest on it, and not load them itself, makes sure that they are still so.
    """

    ids: frozenset[str]
    things: Mapping[str, Thing]
    at: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """A draft with what its verdict rests on.

    It was judged when the log of its space stood at `judged_at`, on what the keys `reads` guard.
    `foreseen` is for a ledger whose views are kept elsewhere; None: the ledger folds it itself,
    for which `looked_at` may save it a look.
    """

    draft: Draft
    judged_at: Position
    reads: frozenset[str]
    foreseen: Foreseen | None = None
    looked_at: LookedAt | None = None

    @property
    def rests_on(self) -> Position:
        """Where the log stood when the first of what this rests on was read."""
        seen = self.foreseen
        return self.judged_at if seen is None else min(self.judged_at, seen.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The draft is in the log; `replayed` if it already was before this call."""

    position: Position
    recorded_at: Instant
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Nothing was written: somebody touched what the verdict rests on. Look again."""

    head: Position


Outcome: TypeAlias = Appended | Stale

"""Commits: their position, their date, and the draft that becomes one."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, NewType, TypeAlias

from canonry.log.entries import STAMPED, Born, Entry, ThingDraft
from canonry.values.errors import Unavailable
from canonry.values.fields import spread
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import DAY, SECOND, Instant, parse_instant, render_instant
from canonry.values.provenance import Actor

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
class Append:
    """A draft with what its verdict rests on.

    It was judged when the log of its space stood at `judged_at`, on what the keys `reads` guard.
    `foreseen` is for a ledger whose views are kept elsewhere; None: the ledger folds it itself.
    """

    draft: Draft
    judged_at: Position
    reads: frozenset[str]
    foreseen: Foreseen | None = None

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


_INSTANTS: Final = frozenset({"created_at", "updated_at", "recorded_at", "timestamp"})


def stamped(draft: ThingDraft, position: Position, at: Instant, **counted: int) -> Born:
    """The thing that a commit makes of `draft`; `counted` says its number among others."""
    kind = STAMPED[type(draft)]
    dates = dict.fromkeys(_dated(kind), at)
    thing: Born = kind(**spread(draft), **dates, **counted, position=position, changed_at=position)
    return thing


@cache
def _dated(kind: type[Any]) -> frozenset[str]:
    return _INSTANTS.intersection(each.name for each in fields(kind))


# Dating: when a commit counts as recorded; a clock that cannot be right dates nothing.
#
# A date cannot be taken back, and no later commit may bear an earlier one, so that one wrong date
# would falsify all that follow. What is refused is not lost: whoever wrote is told, and writes
# again.

EARLIEST: Final = parse_instant("2020-01-01T00:00:00Z")
"""No store is older; machines whose clock has lost its battery begin in 1970."""

LATEST: Final = parse_instant("2200-01-01T00:00:00Z")
"""Later instants are no exact numbers of JSON before long."""

OFF_MAX: Final = DAY
"""A clock may be off by so much, as one is that takes local time for UTC."""


def is_plausible(now: Instant) -> bool:
    """Whether a clock that says `now` can be right."""
    return EARLIEST <= now < LATEST


@dataclass(slots=True)
class Dating:
    """Dates the commits of one process; `wall` and `steady` are what its clocks said last."""

    wall: Instant
    steady: float

    def next(self, now: Instant, steady: float, newest: Instant | None) -> Instant:
        """When a commit is recorded that follows one of `newest`.

        `now` is what the clock says, `steady` the seconds of one that is never set.

        Raises:
            Unavailable: `clock.implausible`, `clock.jumped` or `clock.behind`; the clock is off by
                more than a day.
        """
        if not is_plausible(now):
            message = "the clock of this machine cannot be right: set it, then write again"
            raise Unavailable("clock.implausible", message)
        passed = now - self.wall - int((steady - self.steady) * SECOND)
        if is_plausible(self.wall) and passed > OFF_MAX:
            message = (
                f"the clock of this machine jumped ahead, to {render_instant(now)}: set it right, "
                "or, if it is right, start the server anew"
            )
            raise Unavailable("clock.jumped", message)
        if newest is not None and newest - now > OFF_MAX:
            message = (
                f"the newest commit is dated {render_instant(newest)}, and the clock of this "
                f"machine says {render_instant(now)}: set the clock right; if the commit is "
                "wrong, see `Mend a wrong clock` in docs/how-to/operate-a-store.md"
            )
            raise Unavailable("clock.behind", message)
        self.wall, self.steady = now, steady
        return now if newest is None else Instant(max(now, newest + 1))

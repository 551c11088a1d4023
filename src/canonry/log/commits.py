"""Commits: drafts, their positions and their dates."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, NewType, TypeAlias

from canonry.log.entries import STAMPED, Born, Entry, ItemDraft
from canonry.values.errors import Unavailable
from canonry.values.fields import field_values
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import DAY, SECOND, Instant, parse_instant, render_instant
from canonry.values.provenance import Actor

Position = NewType("Position", int)
"""A commit's number in its space's log: 1, 2, 3, ... without a gap."""

ORIGIN: Final = Position(0)
"""The position before the first commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A commit that is not in the log yet; `request` is the digest of a call with a key."""

    id: CommitId
    space: SpaceId
    actor: Actor
    tool: str
    entries: tuple[Entry, ...]
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Draft):
    """A draft at its position in the log; `hash` covers `previous`, both lower-case hex SHA-256."""

    position: Position
    recorded_at: Instant
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedKeys:
    """The keys that a draft will touch, predicted by folding it over views in another engine.

    The fold read the keys `over` as of the position `at`. The prediction `touched` holds until a
    later commit touches one of them.
    """

    touched: frozenset[str]
    over: frozenset[str]
    at: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """A draft with the position and keys that its verdict rests on.

    The verdict was given at position `judged_at` and read `reads`. `predicted` is set if another
    engine keeps the views; None: the ledger folds the draft itself.
    """

    draft: Draft
    judged_at: Position
    reads: frozenset[str]
    predicted: PredictedKeys | None = None

    @property
    def rests_on(self) -> Position:
        """The earliest position that the verdict or the prediction was read at."""
        seen = self.predicted
        return self.judged_at if seen is None else min(self.judged_at, seen.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The draft is in the log; `replayed` means that an earlier call had appended it."""

    position: Position
    recorded_at: Instant
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Nothing was written, because a later commit touched a key of the verdict. Judge again."""

    head: Position


Outcome: TypeAlias = Appended | Stale


_INSTANTS: Final = frozenset({"created_at", "updated_at", "recorded_at", "timestamp"})


def stamp_draft(draft: ItemDraft, position: Position, at: Instant, **counted: Any) -> Born:
    """Return the item that a commit makes of `draft`; `counted` adds values like an index."""
    kind = STAMPED[type(draft)]
    dates = dict.fromkeys(_date_fields(kind), at)
    item: Born = kind(
        **field_values(draft), **dates, **counted, position=position, changed_at=position
    )
    return item


@cache  # asked for each entry: bench compare, bulk
def _date_fields(kind: type[Any]) -> frozenset[str]:
    return _INSTANTS.intersection(each.name for each in fields(kind))


# Dates of commits. A clock that cannot be right dates nothing.
#
# Commit dates never decrease, and a date cannot be taken back. One wrong date would falsify all
# later ones. A refused write is not lost: its caller gets the error and can write again.

EARLIEST: Final = parse_instant("2020-01-01T00:00:00Z")
"""No store is older. A machine whose clock battery is empty starts in 1970."""

LATEST: Final = parse_instant("2200-01-01T00:00:00Z")
"""JSON numbers cannot hold the microseconds of much later instants exactly."""

OFF_MAX: Final = DAY
"""The tolerated clock error. A clock that takes local time for UTC stays within it."""


def is_plausible(now: Instant) -> bool:
    """Return whether a clock that says `now` can be right."""
    return EARLIEST <= now < LATEST


@dataclass(slots=True)
class Dating:
    """Dates the commits of one process; `wall` and `steady` are the last readings of its clocks."""

    wall: Instant
    steady: float

    def next_date(self, now: Instant, steady: float, newest: Instant | None) -> Instant:
        """Return the date of a commit that follows one dated `newest`.

        `now` is the system time, `steady` the seconds of a monotonic clock.

        Raises:
            Unavailable: `clock.implausible`, `clock.jumped` or `clock.behind`; the clock is wrong
                by more than a day.
        """
        if not is_plausible(now):
            message = f"The system clock is wrong: {render_instant(now)}. Set it, then write again."
            raise Unavailable("clock.implausible", message)
        passed = now - self.wall - int((steady - self.steady) * SECOND)
        if is_plausible(self.wall) and passed > OFF_MAX:
            message = (
                f"The system clock jumped ahead to {render_instant(now)}. Set it right. If the new "
                "time is right, restart the server."
            )
            raise Unavailable("clock.jumped", message)
        if newest is not None and newest - now > OFF_MAX:
            message = (
                f"The newest commit is dated {render_instant(newest)}, but the system clock says "
                f"{render_instant(now)}. Set the clock. If the commit's date is wrong, read "
                "`Mend a wrong clock` in docs/how-to/operate-a-store.md."
            )
            raise Unavailable("clock.behind", message)
        self.wall, self.steady = now, steady
        return now if newest is None else Instant(max(now, newest + 1))

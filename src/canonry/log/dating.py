"""Dating: when a commit counts as recorded; a clock that cannot be right dates nothing.

A date cannot be taken back, and no later commit may bear an earlier one, so that one wrong date
would falsify all that follow. What is refused is not lost: whoever wrote is told, and writes again.
"""

from dataclasses import dataclass
from typing import Final

from canonry.values.errors import Unavailable
from canonry.values.time import DAY, SECOND, Instant, parse_instant, render_instant

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

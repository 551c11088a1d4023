"""The clock as whoever writes would find it: told before a write is refused, and in the log."""

from typing import Final

import orjson

from canonry.gateway.audit import Audit
from canonry.log.dating import Dating
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId
from canonry.values.time import Instant

_HEADS: Final = 500
_FRESH_SECONDS: Final = 60.0


class ClockWatch:
    """Dates a commit that nobody makes, after the newest that there is."""

    def __init__(self, clock: Clock, ledger: Ledger, audit: Audit) -> None:
        """The clock is believed as it is now, as by whoever opens a store."""
        self._clock = clock
        self._ledger = ledger
        self._audit = audit
        self._dating = Dating(clock.now(), clock.monotonic())
        self._newest: Instant | None = None
        self._until: float | None = None
        self._told: str | None = None

    async def fault(self) -> str | None:
        """The code with which a write would be refused now; a change of it is a line of the log.

        Raises:
            CanonryError: the records do not answer.
        """
        now, steady = self._clock.now(), self._clock.monotonic()
        if self._until is None or steady >= self._until:
            self._newest = await self._newest_commit()
            self._until = steady + _FRESH_SECONDS
        code = None
        try:
            self._dating.next(now, steady, self._newest)
        except Unavailable as error:
            code = error.code
        if code != self._told:
            self._told = code
            line = {"event": "clock", "outcome": code or "ok"}
            self._audit.tell(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        return code

    async def _newest_commit(self) -> Instant | None:
        newest: Instant | None = None
        last: SpaceId | None = None
        while heads := await self._ledger.heads(after=last, limit=_HEADS):
            last = heads[-1].space
            dates = [head.recorded_at for head in heads]
            newest = max(dates) if newest is None else max(newest, *dates)
        return newest

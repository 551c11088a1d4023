"""Sealing the drafts of a process: each is dated, salted, and chained to the commit before it."""

from collections.abc import Sequence

from canonry.log.commits import Draft, Position
from canonry.log.dating import Dating
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import Sealed, seal
from canonry.values.time import Instant


class Sealer:
    """What every ledger makes commits of drafts with."""

    def __init__(self, clock: Clock, identities: Identities) -> None:
        """Date by `clock`."""
        self._clock = clock
        self._identities = identities
        self._dating = Dating(clock.now(), clock.monotonic())

    def sealed(
        self,
        draft: Draft,
        *,
        after: int,
        newest: Instant | None,
        previous: str,
        payloads: Sequence[bytes] | None = None,
    ) -> Sealed:
        """The draft as the commit that follows the one at `after`, which is of `newest`.

        Raises:
            Unavailable: what `canonry.log.dating` says of a clock that is off.
        """
        return seal(
            draft,
            position=Position(after + 1),
            recorded_at=self._dating.next(self._clock.now(), self._clock.monotonic(), newest),
            previous=previous,
            salts=[self._identities.salt() for _ in draft.entries],
            payloads=payloads,
        )

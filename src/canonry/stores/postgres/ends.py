"""Where logs end as this process knows them, and what it appended last.

So an append need not ask for it. It may be wrong at any time, because others write as well: whoever
rests on it has the server make sure, in the same trip as everything else.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.stores.postgres.database import PgRow
from canonry.values.ids import SpaceId

_COMMITS: Final = 64
_SPACES: Final = 100
_THINGS_MAX: Final = 200
_LATELY: Final = 0.2
_PAYS: Final = 2 / 3
"""Resting on what is known saves one trip where it is right, and costs two where it is not."""


@dataclass(frozen=True, slots=True)
class WrittenHere:
    """What a commit of this process touched, as hashes of keys, and what became of things."""

    position: Position
    touched: Sequence[int]
    things: Mapping[str, Thing]


@dataclass(frozen=True, slots=True)
class KnownEnd:
    """`row` is what `records.LOCK` gives; `written` are the last commits before it ended there."""

    row: PgRow
    written: Sequence[WrittenHere] = ()

    @property
    def position(self) -> Position:
        """Where the log ends."""
        return Position(self.row[0])

    @property
    def since(self) -> Position:
        """What happened after this is known."""
        return Position(self.row[0] - len(self.written))


class RememberedEnds:
    """The ends of logs: where this process brought them, and where it saw them since."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._brought: dict[SpaceId, KnownEnd] = {}
        self._seen: dict[SpaceId, KnownEnd] = {}
        self._right: dict[SpaceId, float] = {}

    def of(self, space: SpaceId) -> KnownEnd | None:
        """Where a log ends, if it is known."""
        return self._seen.get(space) or self._brought.get(space)

    def stands(self, space: SpaceId, row: PgRow) -> None:
        """A log was seen to end there, or past it by now."""
        known = self._seen.get(space) or self._brought.get(space)
        if known is None or known.position < row[0]:
            self._make_room()
            self._seen[space] = KnownEnd(row)

    def pays(self, space: SpaceId) -> bool:
        """Whether what was known of a log was right often enough lately to rest on it."""
        return self._right.get(space, 1.0) > _PAYS

    def was(self, space: SpaceId, *, right: bool) -> None:
        """What was known of a log was found to be so, or others had been quicker."""
        before = self._right.get(space, 1.0)
        self._right[space] = before + _LATELY * (right - before)

    def follow(
        self, space: SpaceId, before: PgRow, after: PgRow, written: Iterable[WrittenHere]
    ) -> None:
        """This process appended to a log that ended at `before`, and ends at `after` now."""
        brought, seen = self._brought.get(space), self._seen.get(space)
        made = deque[WrittenHere](maxlen=_COMMITS)
        if brought is not None and brought.row == before:
            made.extend(brought.written)
        for each in written:
            if len(each.things) > _THINGS_MAX:
                made.clear()
            else:
                made.append(each)
        self._make_room()
        self._brought[space] = KnownEnd(after, made)
        if seen is not None and seen.position <= after[0]:
            del self._seen[space]

    def _make_room(self) -> None:
        if max(len(self._brought), len(self._seen)) >= _SPACES:
            for each in (self._brought, self._seen, self._right):
                each.clear()

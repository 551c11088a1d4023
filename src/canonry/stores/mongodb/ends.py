"""The newest commits of logs as this process knows them, so that an append need not ask for them.

All of them are with a majority, so that none is ever taken back: they were read so, or what follows
them was acknowledged so. Whether a log ends there yet the insert of the next place finds out.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from canonry.log.sealing import GENESIS
from canonry.values.ids import SpaceId

_COMMITS: Final = 64
_SPACES: Final = 100
_TOUCHED_MAX: Final = 200
_KEPT: Final = ("position", "recorded_at", "hash", "touched")


StoredCommit: TypeAlias = Mapping[str, Any]
"""Some fields of a commit, as it is stored."""

_EMPTY: Final[StoredCommit] = {"position": 0, "recorded_at": 0, "hash": GENESIS}


class KnownEnds:
    """Of each space the newest commits without a gap; what the first of them touched is unknown."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[SpaceId, deque[StoredCommit]] = {}

    def since(self, space: SpaceId, position: int) -> Sequence[StoredCommit]:
        """The commit at or before `position` and all after it; empty where they are not known."""
        known = self._known.get(space)
        if not known or not known[0]["position"] <= position <= known[-1]["position"]:
            return ()
        return tuple(known)

    def wrote(self, space: SpaceId, position: int) -> bool:
        """Whether this process is known to have appended the commit there."""
        known = self._known.get(space, ())
        return any(each["position"] == position and each["mine"] for each in known)

    def stands(self, space: SpaceId, tip: StoredCommit | None) -> None:
        """A log was seen to end with `tip`, or past it by now; None: it was empty."""
        known = self._known.get(space)
        tip = tip or _EMPTY
        if not known or known[-1]["position"] < tip["position"]:
            self._begin(space, tip, mine=False)

    def follow(self, space: SpaceId, made: Iterable[StoredCommit]) -> None:
        """This process appended these commits, in order."""
        for each in made:
            known = self._known.get(space)
            follows = known and known[-1]["position"] + 1 == each["position"]
            if known and follows and len(each["touched"]) <= _TOUCHED_MAX:
                known.append({**{name: each[name] for name in _KEPT}, "mine": True})
            else:
                self._begin(space, each, mine=True)

    def _begin(self, space: SpaceId, tip: StoredCommit, *, mine: bool) -> None:
        if len(self._known) >= _SPACES:
            self._known.clear()
        first = {**{name: tip[name] for name in _KEPT[:-1]}, "touched": (), "mine": mine}
        self._known[space] = deque((first,), maxlen=_COMMITS)

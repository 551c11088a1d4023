"""The newest commits of logs as this process knows them, so that an append need not ask for them.

Whether a log ends there yet is asked all the same, by two ids, when something is to be appended.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from canonry.adapters.mongodb.database import BsonDocument
from canonry.domain.ids import SpaceId

_COMMITS: Final = 64
_SPACES: Final = 100
_TOUCHED_MAX: Final = 200
_KEPT: Final = ("position", "recorded_at", "hash", "touched")


class KnownEnds:
    """Of each space the newest commits without a gap; what the first of them touched is unknown."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[SpaceId, deque[BsonDocument]] = {}

    def since(self, space: SpaceId, position: int) -> Sequence[BsonDocument]:
        """The commit at or before `position` and all after it; empty where they are not known."""
        known = self._known.get(space)
        if not known or not known[0]["position"] <= position <= known[-1]["position"]:
            return ()
        return tuple(known)

    def stands(self, space: SpaceId, tip: Mapping[str, Any]) -> None:
        """A log was seen to end with `tip`, or past it by now."""
        known = self._known.get(space)
        if not known or known[-1]["position"] < tip["position"]:
            self._begin(space, tip)

    def follow(self, space: SpaceId, made: Iterable[Mapping[str, Any]]) -> None:
        """This process appended these commits, in order."""
        for each in made:
            known = self._known.get(space)
            follows = known and known[-1]["position"] + 1 == each["position"]
            if known and follows and len(each["touched"]) <= _TOUCHED_MAX:
                known.append({name: each[name] for name in _KEPT})
            else:
                self._begin(space, each)

    def _begin(self, space: SpaceId, tip: Mapping[str, Any]) -> None:
        if len(self._known) >= _SPACES:
            self._known.clear()
        first = {**{name: tip[name] for name in _KEPT[:-1]}, "touched": ()}
        self._known[space] = deque((first,), maxlen=_COMMITS)

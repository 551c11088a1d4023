"""Append the drafts of several callers together, and decide the outcome of each."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from canonry.log.commits import ORIGIN, Append, Appended, Outcome, Position, Stale
from canonry.log.folding import ANY, collides, key_hash
from canonry.log.ports.ledger import Sealer
from canonry.log.ports.world import Call
from canonry.log.sealing import GENESIS, Sealed
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant

TOUCHED_MAX: Final = 1000
"""After more commits than this, a verdict counts as stale without comparing keys."""

TOUCHES_ANYTHING: Final = frozenset((ANY,))


@dataclass(frozen=True, slots=True)
class KnownCommit:
    """A commit of a log (or the origin of an empty one) with hashes of the keys that it touches."""

    position: Position
    recorded_at: Instant
    hash: str
    touched: Sequence[int] = ()


EMPTY: Final = KnownCommit(ORIGIN, Instant(0), GENESIS)


class LogEnd:
    """The end of a space's log while it is written."""

    __slots__ = ("hash", "newest", "position")

    def __init__(self, tip: KnownCommit) -> None:
        """Start at the newest commit."""
        self.position, self.hash = tip.position, tip.hash
        self.newest = tip.recorded_at if tip.position else None
        """The date of the newest commit; None: there is none."""

    def follow_commit(self, sealed: Sealed) -> None:
        """Advance to a commit that has been written."""
        self.position, self.newest, self.hash = sealed.position, sealed.recorded_at, sealed.hash


# The ends of logs that this process knows, so that an append need not ask the server first.
#
# They may be outdated at any time, because other processes write as well. The server checks each
# append that relies on them, in the same round trip.

_COMMITS: Final = 64  # older ends are rarely asked for: bench writers
_SPACES: Final = 100  # bounds the memory of a store with many spaces
_KEYS_MAX: Final = 1000  # bounds the memory of a space that imports: bench writers


class KnownEnds:
    """The newest commits of each space without a gap; the first one's keys are unknown."""

    def __init__(self) -> None:
        """Start without any known log."""
        self._known: dict[SpaceId, deque[KnownCommit]] = {}

    def commits_since(self, items: Sequence[Append]) -> Sequence[KnownCommit]:
        """Return the earliest commit that drafts of one space rest on, and all known later ones.

        An unknown log counts as empty for drafts that were judged on an empty log.
        """
        rests_on = [item.judged_at for item in items]
        rests_on += [item.predicted.at for item in items if item.predicted is not None]
        known = self._known.get(items[0].draft.space)
        if not known:
            return () if any(rests_on) else (EMPTY,)
        is_covered = known[0].position <= min(rests_on) and max(rests_on) <= known[-1].position
        return tuple(known) if is_covered else ()

    def note_end(self, space: SpaceId, tip: KnownCommit) -> None:
        """Note that a log ended with `tip`, or continues after it."""
        known = self._known.get(space)
        if not known or known[-1].position < tip.position:
            self._begin_space(space, tip)

    def note_commits(
        self, space: SpaceId, before: KnownCommit, made: Iterable[KnownCommit]
    ) -> None:
        """Note that this process appended these commits to a log that ended with `before`."""
        known = self._known.get(space)
        if not known or known[-1].hash != before.hash:
            known = self._begin_space(space, before)
        for each in made:
            if len(each.touched) > _KEYS_MAX:
                known.clear()
            known.append(each)

    def _begin_space(self, space: SpaceId, tip: KnownCommit) -> deque[KnownCommit]:
        if len(self._known) >= _SPACES:
            self._known.clear()
        self._known[space] = deque((tip,), maxlen=_COMMITS)
        return self._known[space]


@dataclass(slots=True)
class JudgedGroup:
    """The outcomes of each call's drafts, and the commits to write with their keys."""

    outcomes: list[Sequence[Outcome]] = field(default_factory=list)
    made: list[tuple[Sealed, frozenset[str]]] = field(default_factory=list)
    written: list[KnownCommit] = field(default_factory=list)

    @property
    def has_stale(self) -> bool:
        """Return whether a draft was found stale."""
        return any(isinstance(each, Stale) for group in self.outcomes for each in group)


def judge_group(
    calls: Sequence[Call],
    tip: KnownCommit,
    there: Mapping[str, KnownCommit],
    touched: Sequence[KnownCommit],
    sealer: Sealer,
) -> JudgedGroup:
    """Judge and seal the drafts of calls in one space, each after those before it.

    The log ends with `tip`. `there` maps the ids of drafts that are already in a log to their
    commits; `touched` are the commits since the earliest one that a draft rests on. Drafts of one
    call do not make each other stale. If an earlier attempt was written in part, or its answer was
    lost, that part counts as written by the call. Cancelled calls are left out.
    """
    group, end, known, newest = JudgedGroup(), LogEnd(tip), dict(there), list(touched)
    for call in calls:
        own = frozenset(call.tried)
        others = [each for each in newest if each.hash not in own]
        head, stopped, outcomes = end.position, False, list[Outcome]()
        for item in () if call.answer.done() else call.batch:
            if (found := known.get(item.draft.id)) is not None:
                outcomes.append(
                    Appended(
                        position=found.position,
                        recorded_at=found.recorded_at,
                        replayed=found.hash not in own,
                    )
                )
                continue
            stopped = stopped or _is_stale(item, others, head)
            if stopped:
                outcomes.append(Stale(head=head))
                continue
            sealed = sealer.seal_draft(
                item.draft, after=end.position, newest=end.newest, previous=end.hash
            )
            keys = TOUCHES_ANYTHING if item.predicted is None else item.predicted.touched
            end.follow_commit(sealed)
            commit = KnownCommit(
                sealed.position, sealed.recorded_at, sealed.hash, [*map(key_hash, keys)]
            )
            group.made.append((sealed, keys))
            group.written.append(commit)
            known[item.draft.id] = commit
            call.tried.add(sealed.hash)
            outcomes.append(Appended(position=sealed.position, recorded_at=sealed.recorded_at))
        newest = [*touched, *group.written]
        group.outcomes.append(outcomes)
    return group


def _is_stale(item: Append, others: Sequence[KnownCommit], head: Position) -> bool:
    """Return whether a commit of `others` touches a key that a draft rests on."""
    predicted = item.predicted
    return _is_touched(item.reads, item.judged_at, others, head) or (
        predicted is not None and _is_touched(predicted.over, predicted.at, others, head)
    )


def _is_touched(
    reads: frozenset[str], at: Position, others: Sequence[KnownCommit], head: Position
) -> bool:
    if at >= head:
        return False
    if head - at > TOUCHED_MAX:
        return True
    return collides(reads, {key for each in others if each.position > at for key in each.touched})

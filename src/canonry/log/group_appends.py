"""Appending drafts of several callers together: where logs end, and what becomes of each draft."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from canonry.log.commits import ORIGIN, Append, Appended, Outcome, Position, Stale
from canonry.log.folding import ANY, key_hash
from canonry.log.ports.ledger import Sealer
from canonry.log.ports.world import Call
from canonry.log.sealing import GENESIS, Sealed
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant

TOUCHED_MAX: Final = 1000
"""After more commits than this a verdict is stale without a look at what they touched."""

TOUCHES_ANYTHING: Final = frozenset((ANY,))
_ANYTHING: Final = key_hash(ANY)


@dataclass(frozen=True, slots=True)
class KnownCommit:
    """A commit of a log, or where an empty one begins, and hashes of the keys that it touches."""

    position: Position
    recorded_at: Instant
    hash: str
    touched: Sequence[int] = ()


EMPTY: Final = KnownCommit(ORIGIN, Instant(0), GENESIS)


class LogEnd:
    """Where a space's log stands while it is written."""

    __slots__ = ("hash", "newest", "position")

    def __init__(self, tip: KnownCommit) -> None:
        """Take the newest commit."""
        self.position, self.hash = tip.position, tip.hash
        self.newest = tip.recorded_at if tip.position else None
        """When the newest commit was recorded; None: there is none."""

    def follow(self, sealed: Sealed) -> None:
        """Stand at a commit that has been written."""
        self.position, self.newest, self.hash = sealed.position, sealed.recorded_at, sealed.hash


# The ends of logs as this process knows them, so that an append need not ask the server first.
#
# They may be wrong at any time, because others write as well. An append that rests on them has the
# server check them, in the same trip as everything else.

_COMMITS: Final = 64
_SPACES: Final = 100
_KEYS_MAX: Final = 1000


class KnownEnds:
    """Of each space the newest commits without a gap; what the first of them touched is unknown."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[SpaceId, deque[KnownCommit]] = {}

    def under(self, items: Sequence[Append]) -> Sequence[KnownCommit]:
        """The commit on which drafts of one space rest first, and all after it, if that is known.

        A log of which nothing is known counts as empty for drafts that were made while it was.
        """
        rests_on = [item.judged_at for item in items]
        rests_on += [item.foreseen.at for item in items if item.foreseen is not None]
        known = self._known.get(items[0].draft.space)
        if not known:
            return () if any(rests_on) else (EMPTY,)
        is_covered = known[0].position <= min(rests_on) and max(rests_on) <= known[-1].position
        return tuple(known) if is_covered else ()

    def stands(self, space: SpaceId, tip: KnownCommit) -> None:
        """A log was seen to end with `tip`, or past it by now."""
        known = self._known.get(space)
        if not known or known[-1].position < tip.position:
            self._begin(space, tip)

    def follow(self, space: SpaceId, before: KnownCommit, made: Iterable[KnownCommit]) -> None:
        """This process appended these commits to a log that ended with `before`."""
        known = self._known.get(space)
        if not known or known[-1].hash != before.hash:
            known = self._begin(space, before)
        for each in made:
            if len(each.touched) > _KEYS_MAX:
                known.clear()
            known.append(each)

    def _begin(self, space: SpaceId, tip: KnownCommit) -> deque[KnownCommit]:
        if len(self._known) >= _SPACES:
            self._known.clear()
        self._known[space] = deque((tip,), maxlen=_COMMITS)
        return self._known[space]


@dataclass(slots=True)
class JudgedGroup:
    """The outcomes of the drafts of each call, and the commits to write with their keys."""

    outcomes: list[Sequence[Outcome]] = field(default_factory=list)
    made: list[tuple[Sealed, frozenset[str]]] = field(default_factory=list)
    written: list[KnownCommit] = field(default_factory=list)

    @property
    def has_stale(self) -> bool:
        """Whether a draft was found stale."""
        return any(isinstance(each, Stale) for told in self.outcomes for each in told)


def judge_group(
    calls: Sequence[Call],
    tip: KnownCommit,
    there: Mapping[str, KnownCommit],
    touched: Sequence[KnownCommit],
    sealer: Sealer,
) -> JudgedGroup:
    """Judge and seal what calls ask for in one space, each after those before it.

    The log ends with `tip`; `there` are those of the drafts that are in a log already, by their
    ids, and `touched` the commits since the first on which a draft rests. Drafts of one call make
    no other of it stale. Where an earlier attempt was written in part, or its answer lost, that
    part is the call's own. Calls that nobody waits for any more are left out.
    """
    group, end, known, newest = JudgedGroup(), LogEnd(tip), dict(there), list(touched)
    for call in calls:
        own = frozenset(call.tried)
        others = [each for each in newest if each.hash not in own]
        head, stopped, told = end.position, False, list[Outcome]()
        for item in () if call.answer.done() else call.batch:
            if (found := known.get(item.draft.id)) is not None:
                told.append(
                    Appended(
                        position=found.position,
                        recorded_at=found.recorded_at,
                        replayed=found.hash not in own,
                    )
                )
                continue
            stopped = stopped or _is_stale(item, others, head)
            if stopped:
                told.append(Stale(head=head))
                continue
            sealed = sealer.sealed(
                item.draft, after=end.position, newest=end.newest, previous=end.hash
            )
            keys = TOUCHES_ANYTHING if item.foreseen is None else item.foreseen.touched
            end.follow(sealed)
            commit = KnownCommit(
                sealed.position, sealed.recorded_at, sealed.hash, [*map(key_hash, keys)]
            )
            group.made.append((sealed, keys))
            group.written.append(commit)
            known[item.draft.id] = commit
            call.tried.add(sealed.hash)
            told.append(Appended(position=sealed.position, recorded_at=sealed.recorded_at))
        newest = [*touched, *group.written]
        group.outcomes.append(told)
    return group


def _is_stale(item: Append, others: Sequence[KnownCommit], head: Position) -> bool:
    """Whether a commit of `others` touches what a draft rests on."""
    foreseen = item.foreseen
    return _is_touched(item.reads, item.judged_at, others, head) or (
        foreseen is not None and _is_touched(foreseen.over, foreseen.at, others, head)
    )


def _is_touched(
    reads: frozenset[str], at: Position, others: Sequence[KnownCommit], head: Position
) -> bool:
    if at >= head:
        return False
    if head - at > TOUCHED_MAX:
        return True
    return collides(reads, {key for each in others if each.position > at for key in each.touched})


def collides(reads: frozenset[str], touched: AbstractSet[int]) -> bool:
    """Whether a verdict that read `reads` must be given again."""
    if not touched:
        return False
    return ANY in reads or _ANYTHING in touched or not touched.isdisjoint(map(key_hash, reads))

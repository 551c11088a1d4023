"""Commit a change: judge, append under what was read, and look again if that has moved."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias

from typing_extensions import TypeVar

from canonry.domain.errors import BrokenInvariant, Conflict, Unavailable
from canonry.domain.ids import CommitId, NewId, SpaceId, derived_id
from canonry.domain.log.commits import Append, Appended, Commit, Draft, Position
from canonry.domain.log.entries import Entry, Made, ThingDraft
from canonry.domain.time import Instant
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

ATTEMPTS_FREE: Final = 3
"""After so many refusals a call judges while nobody else may write."""

ATTEMPTS_MAX: Final = 5


T = TypeVar("T", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Generic[T]):
    """The entries that a verdict allows, and the keys that the verdict rests on.

    No entries: the store already holds exactly this, and nothing is written. `found` is what
    preparing came upon that the caller wants to know; the receipt brings it back. `judged_at` is
    where the log stood when what the verdict rests on was read, if that was before preparing.
    """

    entries: tuple[Entry, ...]
    reads: frozenset[str]
    warnings: tuple[str, ...] = ()
    found: T = None  # type: ignore[assignment] # the default of T
    judged_at: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Generic[T]):
    """What was committed, by this call or by an earlier one with the same idempotency key.

    `found` is what preparing this found; None where an earlier call wrote it.
    """

    commit_id: CommitId
    position: Position
    recorded_at: Instant
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...] = ()
    replayed: bool = False
    found: T | None = None

    def prepared(self) -> T:
        """What preparing found, for calls without an idempotency key: they always prepare.

        Raises:
            BrokenInvariant: `commit.not-prepared`.
        """
        if self.found is None:
            raise BrokenInvariant("commit.not-prepared", "this call was answered by an earlier one")
        return self.found

    def made(self, *kinds: type[ThingDraft]) -> Sequence[ThingDraft]:
        """The drafts of these kinds that the commit made things of, in order."""
        return [e.thing for e in self.entries if isinstance(e, Made) and isinstance(e.thing, kinds)]


Prepare: TypeAlias = Callable[[NewId], Awaitable[Change[T]]]
"""Reads what it needs, judges, and says what to write; called again when that went stale."""


async def commit_change(
    canon: Canon, caller: Caller, space: SpaceId, prepare: Prepare[T]
) -> Receipt[T]:
    """Write what `prepare` says, exactly once.

    Raises:
        CanonryError: whatever `prepare` objects; nothing was written.
        Conflict: `request.key-reused`, the idempotency key belongs to another space or tool.
        Unavailable: `canon.contended`, others kept changing what the verdict rests on.
    """
    commit_id = caller.commit_id(space, canon.identities.fresh)
    if caller.idempotency_key is not None:
        known = await canon.ledger.find(commit_id)
        if known is not None:
            if (known.space, known.tool) != (space, caller.tool):
                message = "this idempotency key was used for something else; use a new one"
                raise Conflict("request.key-reused", message)
            return _replayed(known)
    for _attempt in range(ATTEMPTS_FREE):
        receipt = await _attempt_once(canon, caller, space, commit_id, prepare)
        if receipt is not None:
            return receipt
    async with canon.ledger.exclusive():
        for _attempt in range(ATTEMPTS_MAX - ATTEMPTS_FREE):
            receipt = await _attempt_once(canon, caller, space, commit_id, prepare)
            if receipt is not None:
                return receipt
    message = "others keep changing what this rests on; send the request again"
    raise Unavailable("canon.contended", message)


async def _attempt_once(
    canon: Canon, caller: Caller, space: SpaceId, commit_id: CommitId, prepare: Prepare[T]
) -> Receipt[T] | None:
    judged_at = await canon.ledger.head(space)
    change = await prepare(lambda label: derived_id(commit_id, label))
    if not change.entries:
        return Receipt(
            commit_id=commit_id,
            position=judged_at,
            recorded_at=canon.clock.now(),
            entries=(),
            warnings=change.warnings,
            replayed=True,
            found=change.found,
        )
    draft = Draft(
        id=commit_id, space=space, actor=caller.actor, tool=caller.tool, entries=change.entries
    )
    rests_at = judged_at if change.judged_at is None else change.judged_at
    append = Append(draft=draft, judged_at=rests_at, reads=change.reads)
    (outcome,) = await canon.ledger.append([append])
    if not isinstance(outcome, Appended):
        return None
    if outcome.replayed:
        # A twin of this request was faster: what it wrote is the answer, not what this one judged.
        known = await canon.ledger.find(commit_id)
        if known is not None:
            return _replayed(known)
    return Receipt(
        commit_id=commit_id,
        position=outcome.position,
        recorded_at=outcome.recorded_at,
        entries=change.entries,
        warnings=change.warnings,
        replayed=outcome.replayed,
        found=change.found,
    )


def _replayed(known: Commit) -> Receipt[T]:
    return Receipt(
        commit_id=known.id,
        position=known.position,
        recorded_at=known.recorded_at,
        entries=known.entries,
        replayed=True,
    )

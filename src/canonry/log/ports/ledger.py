"""The ledger, its blobs, and the sealer of its commits."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Protocol

from canonry.log.commits import Append, Commit, Dating, Draft, Outcome, Position
from canonry.log.entries import CHANGE_KINDS, Erased
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import Sealed, fault_in, seal_commit, unseal
from canonry.values.errors import BrokenInvariant, Conflict, NotFound
from canonry.values.ids import CommitId, SpaceId
from canonry.values.json_values import decode_json
from canonry.values.moments import Instant

_ERASED: Final = CHANGE_KINDS[Erased]


class Blobs(Protocol):
    """Stores bytes under their hash; see `blobs:*` in `canonry.testing.conformance`."""

    @abstractmethod
    async def put_bytes(self, data: bytes) -> str:
        """Store `data` durably; return its lower-case hex SHA-256, which names equal bytes.

        Raises:
            Unavailable: `blobs.full`, nothing was stored.
        """

    @abstractmethod
    async def get_bytes(self, digest: str) -> bytes:
        """Return the bytes under `digest`.

        Raises:
            NotFound: `blobs.unknown`.
            BrokenInvariant: `blobs.altered`, the stored bytes have another hash.
        """

    @abstractmethod
    async def delete_bytes(self, digest: str) -> None:
        """Delete the bytes, if there are any."""

    @abstractmethod
    async def list_digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Return up to `limit` digests after `after`, in order."""


def require_next_commit(
    sealed: Sealed, *, after: Position, previous: str, is_known: bool = False
) -> None:
    """Refuse a commit of an import that does not follow the end of its log.

    The end is the position `after` with the hash `previous`. A commit that `is_known` has an id
    that is already in the log.

    Raises:
        Conflict: `ledger.chain-broken`.
    """
    fault = fault_in(sealed, position=Position(after + 1), previous=previous)
    if fault is None and is_known:
        fault = "a commit with this id is already in the log"
    if fault is not None:
        raise Conflict("ledger.chain-broken", f"The import does not fit the log: {fault}")


def entries_about(
    body: bytes, parts: Sequence[object | None], targets: frozenset[str]
) -> frozenset[int]:
    """Return the entries of a commit that are about the targets and still have a payload.

    The entry that records the erasure keeps its payload, which names the erased ids and the reason.
    """
    return frozenset(
        n
        for n, (kind, _, ids, _) in enumerate(decode_json(body)["entries"])
        if kind != _ERASED and not targets.isdisjoint(ids) and parts[n] is not None
    )


def check_blob(data: bytes | None, digest: str) -> bytes:
    """Return the bytes if they match `digest`; None means that none were found.

    Raises:
        NotFound: `blobs.unknown`.
        BrokenInvariant: `blobs.altered`.
    """
    if data is None:
        raise NotFound("blobs.unknown", "No bytes are stored under this digest.", digest=digest)
    if sha256(data).hexdigest() != digest:
        message = "A stored blob was altered. Run `canonry verify`, then restore a backup."
        raise BrokenInvariant("blobs.altered", message, digest=digest)
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file that was read; `name` is the last part of its path."""

    name: str
    data: bytes = field(repr=False)


class LocalFiles(Protocol):
    """Reads files below the folders that an operator allowed, and no others."""

    @abstractmethod
    async def read_file(self, path: str, *, most: int) -> LocalFile:
        """Return the file at `path`, absolute or relative to the first allowed folder.

        Links are not followed, so that no path leads out of a folder. Files that are outside,
        missing or not regular raise the same error.

        Raises:
            NotFound: `file.unknown`.
            InvalidInput: `file.too-large`, it has more than `most` bytes; `file.path`, not a path.
            Unavailable: `file.unreadable`, the disk cannot read it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The touched keys up to a cursor above 0.

    `keys` are `key_hash` values; None: any key may have been touched. `reached` is the position
    seen in the log of each changed space; None: the ledger did not check.
    """

    cursor: int
    keys: frozenset[int] | None
    reached: Mapping[SpaceId, Position] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The position of a space's newest commit."""

    space: SpaceId
    position: Position
    hash: str
    recorded_at: Instant


class Ledger(Protocol):
    """The event log; see `ledger:*` in `canonry.testing.conformance`."""

    @abstractmethod
    async def head_position(self, space: SpaceId) -> Position:
        """Return the position of the newest commit of `space`, or `ORIGIN`."""

    @abstractmethod
    async def list_heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        """Return the heads of up to `limit` spaces after `after`, ordered by id."""

    @abstractmethod
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        """Append drafts of one space (at least one) in order; they are durable on return.

        A ledger with views in its own transaction folds each draft, and the views show it on
        return. A ledger without views is combined with views that follow it, and needs `foreseen`
        for every draft.

        Each draft becomes one commit, whole or not at all. A draft is `Stale` if a commit after its
        `judged_at` touches one of its `reads`, or a commit after its prediction touches a key of
        `over`; commits of the same batch do not count. That draft and all later ones of the batch
        are then not written. A draft whose id is already in the log returns `Appended` with
        `replayed` and writes nothing. `recorded_at` increases strictly within a space.

        Raises:
            Unavailable: `ledger.busy`, `ledger.closed`, `ledger.full`, or `clock.*` if the system
                clock is wrong; nothing was written.
        """

    def pass_commits_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        """Pass the durable commits of this process to `take` from now on, in order.

        This is only an optimisation: commits that are not passed can still be read.
        """
        del take

    @abstractmethod
    async def find_commit(self, commit_id: CommitId) -> Commit | None:
        """Return the commit of that id in any space; the id may be any text."""

    @abstractmethod
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        """Return the last position of `space` recorded at or before `instant`."""

    async def read_commits(
        self, space: SpaceId, *, after: Position, limit: int
    ) -> Sequence[Commit]:
        """Return up to `limit` commits of `space` after `after`, oldest first."""
        return [unseal(each) for each in await self.read_sealed(space, after=after, limit=limit)]

    @abstractmethod
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        """Return the same commits as stored, for export and verification."""

    @abstractmethod
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        """Append exported commits unchanged, all or none, and fold them into own views.

        They may belong to several spaces, and each must pass `canonry.log.sealing.fault_in`.
        `touched` has the touched keys of each commit, for a ledger without views.

        Raises:
            Conflict: `ledger.chain-broken`, a commit does not follow the head of its space.
        """

    @abstractmethod
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        """Return the keys touched by any process since `cursor`, for caches.

        Cursor 0 returns None as keys, with the current cursor. The call is cheap if nothing
        happened. `keys` is None after more than `limit` commits.
        """

    async def await_news(self, seconds: float) -> None:
        """Wait for `seconds`, or less if another process reports a write.

        Reports can be lost: call `touched_since` in any case.
        """
        await asyncio.sleep(seconds)

    @abstractmethod
    def lock_appends(self) -> AbstractAsyncContextManager[None]:
        """Keep all other tasks and processes from appending until the block ends.

        Use it for a caller whose verdicts were stale repeatedly, with a short block.
        """


class Sealer:
    """Makes commits of drafts for every ledger."""

    def __init__(self, clock: Clock, identities: Identities) -> None:
        """Date commits by `clock` and salt them by `identities`."""
        self._clock = clock
        self._identities = identities
        self._dating = Dating(clock.now(), clock.monotonic())

    def seal_draft(
        self,
        draft: Draft,
        *,
        after: int,
        newest: Instant | None,
        previous: str,
        payloads: Sequence[bytes] | None = None,
    ) -> Sealed:
        """Return the draft as the commit after position `after`, which is dated `newest`.

        Raises:
            Unavailable: `clock.*`, the system clock is wrong.
        """
        return seal_commit(
            draft,
            position=Position(after + 1),
            recorded_at=self._dating.next_date(self._clock.now(), self._clock.monotonic(), newest),
            previous=previous,
            salts=[self._identities.new_salt() for _ in draft.entries],
            payloads=payloads,
        )

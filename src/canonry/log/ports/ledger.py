"""The ledger, the bytes beside it, and the sealer of its commits."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from canonry.log.commits import Append, Commit, Dating, Draft, Outcome, Position
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import Sealed, seal, unseal
from canonry.values.errors import BrokenInvariant, NotFound
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant


class Blobs(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `blobs:*`."""

    @abstractmethod
    async def put(self, data: bytes) -> str:
        """Store `data` durably; its lower-case hex SHA-256, the same for the same bytes.

        Raises:
            Unavailable: `blobs.full`, nothing was stored.
        """

    @abstractmethod
    async def get(self, digest: str) -> bytes:
        """The bytes under `digest`.

        Raises:
            NotFound: `blobs.unknown`.
            BrokenInvariant: `blobs.altered`, the stored bytes have another hash.
        """

    @abstractmethod
    async def delete(self, digest: str) -> None:
        """Forget the bytes; nothing happens where there are none."""

    @abstractmethod
    async def digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Up to `limit` digests past `after`, in order."""


def genuine(data: bytes | None, digest: str) -> bytes:
    """The bytes that were found under `digest`, None where none were.

    Raises:
        NotFound: `blobs.unknown`.
        BrokenInvariant: `blobs.altered`.
    """
    if data is None:
        raise NotFound("blobs.unknown", "there are no bytes under this digest", digest=digest)
    if sha256(data).hexdigest() != digest:
        message = "a stored blob was altered: run `canonry verify` and restore a backup"
        raise BrokenInvariant("blobs.altered", message, digest=digest)
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file that was read; `name` is the last part of its path."""

    name: str
    data: bytes = field(repr=False)


class LocalFiles(Protocol):
    """Reads below the folders that an operator allowed; everything else does not exist."""

    @abstractmethod
    async def read(self, path: str, *, most: int) -> LocalFile:
        """The file at `path`, absolute or below the first allowed folder.

        Links are not followed, so that nothing below the folder leads out of it. What is outside,
        what is missing and what is no regular file are told alike.

        Raises:
            NotFound: `file.unknown`.
            InvalidInput: `file.too-large`, it has more than `most` bytes; `file.path`, it is no
                path.
            Unavailable: `file.unreadable`, the disk does not give it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What was touched, up to a cursor above 0.

    `keys` are `key_hash` values; None: anything may have been touched. `reached` says up to where
    the log of each space was seen that was written to; None: the ledger did not look.
    """

    cursor: int
    keys: frozenset[int] | None
    reached: Mapping[SpaceId, Position] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a space's log stands."""

    space: SpaceId
    position: Position
    hash: str
    recorded_at: Instant


class Ledger(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `ledger:*`."""

    @abstractmethod
    async def head(self, space: SpaceId) -> Position:
        """The position of the newest commit of `space`, `ORIGIN` if there is none."""

    @abstractmethod
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        """The heads of up to `limit` spaces past `after`, in order of their ids."""

    @abstractmethod
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        """Append drafts of one space, at least one, in order; durable on return.

        A ledger that keeps views in its own transaction folds each draft itself, and shows it there
        on return. A ledger without any views is joined to some that follow it, and is always told
        by `foreseen` what a draft touches.

        Each draft is one commit, whole or not at all. A draft is `Stale` where a commit after its
        `judged_at`, and not of this batch, touches one of its `reads`, or one after its
        foreseeing touches what that was `over`; it and all that follow it in the batch are then
        not written. A draft whose id is in the log already is `Appended` there, `replayed`, and
        writes nothing. `recorded_at` grows strictly within a space.

        Raises:
            Unavailable: `ledger.busy`, `ledger.closed` or `ledger.full`, or what
                `canonry.log.commits` says of a clock that is off; nothing was written.
        """

    def hand_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        """Let `take` have what this process appends from now on, in order, once it is durable.

        Nothing rests on it: whatever is not handed over is there to be read.
        """
        del take

    @abstractmethod
    async def find(self, commit_id: CommitId) -> Commit | None:
        """The commit of that id, of any space; any text may be asked for."""

    @abstractmethod
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        """The last position of `space` recorded at or before `instant`."""

    async def read(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Commit]:
        """Up to `limit` commits of `space` past `after`, oldest first."""
        return [unseal(each) for each in await self.read_sealed(space, after=after, limit=limit)]

    @abstractmethod
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        """The same as stored, for export and verification."""

    @abstractmethod
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        """Append commits exactly as they were exported, all or none, and fold them into own views.

        They may be of several spaces, and each must pass `canonry.log.sealing.fault_in`.
        `touched`, one set for each, says what they touch to a ledger without views.

        Raises:
            Conflict: `ledger.chain-broken`, one does not follow the head of its space.
        """

    @abstractmethod
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        """The keys touched by any process since `cursor`, for caches.

        Whoever has no cursor yet asks with 0, and is told None with the cursor of now.
        Cheap where nothing happened. `keys` is None after more than `limit` commits.
        """

    async def await_news(self, seconds: float) -> None:
        """Wait for `seconds`, or less where it is told that some process has written meanwhile.

        Nothing rests on being told: whoever wants to know asks `touched_since` in any case.
        """
        await asyncio.sleep(seconds)

    @abstractmethod
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        """Nobody else appends, in any process, until the block ends; the block's own task may.

        For a caller whose verdicts were stale again and again; the block must be short.
        """


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
            Unavailable: what `canonry.log.commits` says of a clock that is off.
        """
        return seal(
            draft,
            position=Position(after + 1),
            recorded_at=self._dating.next(self._clock.now(), self._clock.monotonic(), newest),
            previous=previous,
            salts=[self._identities.salt() for _ in draft.entries],
            payloads=payloads,
        )

"""The log in SQLite: appends go through the pump, reads through the readers."""

import asyncio
from array import array
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

import apsw
from typing_extensions import override

from canonry.log.commits import Append, Commit, Outcome, Position
from canonry.log.encoding import encode_entry
from canonry.log.entries import Entry
from canonry.log.ports.blobs import Blobs
from canonry.log.ports.ledger import Head, Ledger, Touched
from canonry.log.sealing import Sealed, require_unaltered, unseal
from canonry.stores.sqlite.bodies import pack, unpack, unpack_keys
from canonry.stores.sqlite.ledger import records
from canonry.stores.sqlite.ledger.pump import Pen, Pump
from canonry.stores.sqlite.ledger.records import Stored, is_long
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.readers import Readers
from canonry.values.errors import NotSupported
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

_TOGETHER: Final = 250
"""So many entries are encoded before others have a turn."""

_PER_WEIGHT: Final = 4_000
"""So many bytes weigh as much as an entry: a long text is folded and indexed as well."""

_NEWEST: Final = "SELECT coalesce(max(seq), 0) FROM commits"
_TOUCHED: Final = "SELECT touched FROM commits WHERE seq >= ?"
_TOUCHED_BY: Final = (
    "SELECT position, touched FROM commits WHERE space = ? AND position > ?"
    " ORDER BY position LIMIT ?"
)


class SqliteLedger(Ledger):
    """One log a space in one table, in the order in which the store took the commits."""

    def __init__(self, readers: Readers, writing: tuple[Pump, Pen] | None, blobs: Blobs) -> None:
        """Share the connections with the views; large payloads go to `blobs`.

        Without `writing` the log can only be read.
        """
        self._readers = readers
        self._writing = writing
        self._blobs = blobs
        self._seen: tuple[apsw.Connection, int, int] | None = None

    @override
    async def head(self, space: SpaceId) -> Position:
        return await self._readers.short(lambda db: records.tip_of(db, space).position)

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        return await self._readers.consistent(lambda db: heads_of(db, after, limit))

    @override
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        pump, pen = self._writer()
        payloads = [await _encoded(item.draft.entries) for item in batch]
        kept = [await self._keep(mine) for mine in payloads]
        weight = sum(map(_weight, payloads))
        outcomes = await pump.submit(lambda: pen.append(batch, payloads, kept), weight)
        await self._keep_again(payloads, kept)
        return outcomes

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        stored = await self._readers.short(lambda db: records.by_id(db, commit_id))
        return None if stored is None else unseal(await self._complete(stored))

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        return await self._readers.consistent(lambda db: records.position_at(db, space, instant))

    @override
    async def read(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Commit]:
        return [unseal(s) for s in await self.read_sealed(space, after=after, limit=limit)]

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        page = await self._readers.consistent(
            lambda db: records.by_space(db, space, after=after, limit=limit)
        )
        return [await self._complete(stored) for stored in page]

    @override
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        pump, pen = self._writer()
        payloads = [
            [b"" if part is None else part.payload for part in item.parts] for item in sealed
        ]
        kept = [await self._keep(mine) for mine in payloads]
        weight = sum(map(len, payloads))
        await pump.submit(lambda: pen.restore(sealed, kept, touched), weight)
        await self._keep_again(payloads, kept)

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        return await self._readers.short(lambda db: self._touched(db, cursor, limit))

    async def touched_by(
        self, space: SpaceId, after: Position, limit: int
    ) -> Mapping[Position, frozenset[int]]:
        """What each of up to `limit` commits of `space` past `after` touches, as `key_hash`es."""
        rows = await self._readers.consistent(
            lambda db: list(db.execute(_TOUCHED_BY, (pack(space), after, limit)))
        )
        return {Position(position): frozenset(unpack_keys(keys)) for position, keys in rows}

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        pump, _ = self._writer()
        return pump.exclusive()

    def _writer(self) -> tuple[Pump, Pen]:
        if self._writing is None:
            message = "this store is open for reading only; serve it with a toolset that writes"
            raise NotSupported("store.reading-only", message)
        return self._writing

    def _touched(self, db: apsw.Connection, cursor: int, limit: int) -> Touched:
        version = number(db, "PRAGMA data_version")
        if self._seen == (db, version, cursor):
            return Touched(cursor=cursor, keys=frozenset())
        now = number(db, _NEWEST) + 1
        self._seen = (db, version, now)
        if cursor == 0 or now - cursor > limit:
            return Touched(cursor=now, keys=None)
        keys = array("q")
        for (packed,) in db.execute(_TOUCHED, (cursor,)):
            keys.extend(unpack_keys(packed))
        return Touched(cursor=now, keys=frozenset(keys))

    async def _keep(self, payloads: Sequence[bytes]) -> Mapping[int, str]:
        """Store the payloads that are too long for a row; their digests by entry."""
        return {
            entry: await self._blobs.put(payload)
            for entry, payload in enumerate(payloads)
            if is_long(payload)
        }

    async def _keep_again(
        self, payloads: Sequence[Sequence[bytes]], kept: Sequence[Mapping[int, str]]
    ) -> None:
        """Store them once more, now that they are named: a purge of the same bytes came between."""
        for mine, digests in zip(payloads, kept, strict=True):
            for entry in digests:
                await self._blobs.put(mine[entry])

    async def _complete(self, stored: Stored) -> Sealed:
        blobs = {entry: await self._blobs.get(digest) for entry, digest in stored.blobs.items()}
        return require_unaltered(stored.filled(blobs))


def _weight(payloads: Sequence[bytes]) -> int:
    return len(payloads) + sum(map(len, payloads)) // _PER_WEIGHT


async def _encoded(entries: Sequence[Entry]) -> Sequence[bytes]:
    """The entries as they are stored; of very many others have a turn in between."""
    encoded = [encode_entry(entry) for entry in entries[:_TOGETHER]]
    for start in range(_TOGETHER, len(entries), _TOGETHER):
        await asyncio.sleep(0)
        encoded += [encode_entry(entry) for entry in entries[start : start + _TOGETHER]]
    return encoded


def heads_of(db: apsw.Connection, after: SpaceId | None, limit: int) -> Sequence[Head]:
    """The heads of up to `limit` spaces past `after`."""
    heads: list[Head] = []
    for packed in records.spaces_after(db, None if after is None else pack(after), limit):
        space = SpaceId(unpack(packed))
        tip = records.tip_of(db, space)
        heads.append(
            Head(space=space, position=tip.position, hash=tip.hash, recorded_at=tip.recorded_at)
        )
    return heads

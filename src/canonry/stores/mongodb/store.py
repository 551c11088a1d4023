"""Documents in MongoDB, and the store of log and documents with its repair."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError, PyMongoError
from typing_extensions import override

from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import KIND_NAMES, StoredItem, Tombstone
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, Turn
from canonry.log.items.sources import Snippet
from canonry.log.ports.ledger import entries_about
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import encode_item
from canonry.readmodels.listing import rows_of
from canonry.readmodels.ports.view import Finding, Folded, Projection
from canonry.stores.mongodb.database import (
    CONNECTIONS,
    DEADLINE,
    BsonDocument,
    MongoDatabase,
    is_taken,
)
from canonry.stores.mongodb.ledger import MongoLedger
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json, encode_json

# Scenes, turns, proposals, memories and snippets in MongoDB, in collections that people can read.
#
# A document has the fields of an item, and `thing`, which is the complete encoded item. The
# documents of a commit appear one by one, and the cursor follows when all are written. A reader may
# see them early, but never wrong. An older state never replaces a newer one, however late a
# projector writes.

T = TypeVar("T")

COLLECTIONS: Final[Mapping[str, str]] = {
    KIND_NAMES[Scene]: "scenes",
    KIND_NAMES[Turn]: "turns",
    KIND_NAMES[Proposal]: "proposed_changes",
    KIND_NAMES[Memory]: "character_memories",
    KIND_NAMES[Snippet]: "snippets",
}
_FIELDS: Final = {
    KIND_NAMES[each]: ("kind", "seen_in", "thing", "asks", *(f.name for f in fields(each)))
    for each in (Scene, Turn, Proposal, Memory, Snippet)
}
CURSORS: Final = "view_cursors"
"""The log position of each space that the documents show."""

_BATCH: Final = 500  # bounds a request, because the server refuses more than 48 MB
_NEVER_AGAIN: Final = 2**62  # time of the last change of an erased item: no state is newer

_DEPTH_MAX: Final = 20  # the server refuses 100 levels; deeper values become text
_INTEGER_MAX: Final = 2**63  # the range of BSON integers
_IN_NAMES: Final = str.maketrans({"$": "\uff04", ".": "\uff0e", "\0": "\u2400"})
"""Characters that field names may not contain everywhere, and their replacements."""


class MongoDocuments(Projection):
    """Documents for people. No other part of Canonry reads them or waits for them."""

    def __init__(self, database: MongoDatabase) -> None:
        """Share `database` with the ledger."""
        self._database = database

    @override
    async def cursor(self, space: SpaceId) -> Position:
        async with self._database.timed_work():
            found = await self._database.committed_collection(CURSORS).find_one({"_id": space})
        return ORIGIN if found is None else Position(int(found["position"]))

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if not folded:
            return
        space = folded[0].space
        start = cursor = await self.cursor(space)
        items: dict[str, StoredItem] = {}
        for each in folded:
            if each.position > cursor + 1:
                break
            if each.position > cursor:
                items |= {item.id: item for item in each.items}
                cursor = each.position
        async with self._database.timed_work():
            await self._write_items(items.values())
            if cursor > start:
                behind = {"_id": space, "position": {"$lt": cursor}}
                with suppress(DuplicateKeyError):  # another projector was first
                    await self._database.committed_collection(CURSORS).update_one(
                        behind, {"$set": {"position": cursor}}, upsert=True
                    )
        if cursor < folded[-1].position:
            raise Conflict("view.gap", "Commits are missing. Apply those after the cursor first.")

    async def _write_items(self, items: Iterable[StoredItem]) -> None:
        writes: defaultdict[str, list[UpdateOne]] = defaultdict(list)
        for item in items:
            kind = item.was if isinstance(item, Tombstone) else KIND_NAMES[type(item)]
            if kind in COLLECTIONS:
                writes[COLLECTIONS[kind]].append(_update_for(item, kind))
        await asyncio.gather(*(self._put_documents(name, each) for name, each in writes.items()))

    async def _put_documents(self, name: str, writes: Sequence[UpdateOne]) -> None:
        for start in range(0, len(writes), _BATCH):
            try:
                await self._database.committed_collection(name).bulk_write(
                    writes[start : start + _BATCH], ordered=False
                )
            except PyMongoError as error:
                if not is_taken(error):  # a newer document is there
                    raise


def document_of(item: StoredItem, kind: str) -> BsonDocument:
    """Return the document of an item, without its `_id`."""
    encoded = encode_item(item)
    item_fields: BsonDocument = decode_json(encoded)
    item_fields.pop("id")
    seen_in = sorted({str(row[2]) for row in rows_of(item)} - {""})
    more: BsonDocument = {"kind": kind, "seen_in": seen_in, "thing": encoded.decode()}
    if isinstance(item, Proposal):
        more["asks"] = [str(each) for each in item.asks]
    return {name: _storable_value(each) for name, each in (item_fields | more).items()}


def _update_for(item: StoredItem, kind: str) -> UpdateOne:
    """Return the update that writes an item unless a newer state is stored."""
    if isinstance(item, Tombstone):
        stands = {"space": item.space, "erased_at": item.changed_at, "changed_at": _NEVER_AGAIN}
        gone = {name: "" for name in _FIELDS[kind] if name not in {"id", *stands}}
        return UpdateOne({"_id": item.id}, {"$set": stands, "$unset": gone}, upsert=True)
    older = {"_id": item.id, "changed_at": {"$lte": item.changed_at}}
    return UpdateOne(older, {"$set": document_of(item, kind)}, upsert=True)


def _storable_value(value: Any, depth: int = 0) -> Any:
    """Return a JSON value for people. Values that a document cannot contain become text."""
    match value:
        case dict() | list() if depth >= _DEPTH_MAX:
            return encode_json(value).decode()
        case dict():
            named = {str(name).translate(_IN_NAMES): each for name, each in value.items()}
            return {name: _storable_value(each, depth + 1) for name, each in named.items()}
        case list():
            return [_storable_value(each, depth + 1) for each in value]
        case int() if not -_INTEGER_MAX <= value < _INTEGER_MAX:
            return str(value)
        case _:
            return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MongoStore:
    """An open store. Await `close` once."""

    database: MongoDatabase
    ledger: MongoLedger
    documents: MongoDocuments

    @property
    def maintenance(self) -> "MongoMaintenance":
        """Return the object that checks and erases records and documents."""
        return MongoMaintenance(self.database)

    async def close(self) -> None:
        """Disconnect from the server."""
        await self.database.close()


async def open_store(
    url: str,
    *,
    clock: Clock,
    identities: Identities,
    name: str = "canonry",
    password: str | None = None,
    connections: int = CONNECTIONS,
    deadline: float = DEADLINE,
) -> MongoStore:
    """Open the database `name`, and create missing collections and indexes.

    Raises:
        BrokenInvariant: `store.newer`.
        InvalidInput: `store.bad-url`.
        Unavailable: `store.unreachable`.
    """
    database = MongoDatabase(
        url, name, password=password, connections=connections, deadline=deadline
    )
    try:
        await database.open()
    except BaseException:
        await database.close()
        raise
    return MongoStore(
        database=database,
        ledger=MongoLedger(database, clock, identities),
        documents=MongoDocuments(database),
    )


_PAGE: Final = 200  # bounds the memory of a walk through all items
_ERASING: Final = 3600.0  # an erasure of a large log may take long


class MongoMaintenance:
    """Maintains records and documents. Some methods need an exclusive ledger."""

    def __init__(self, database: MongoDatabase) -> None:
        """Share `database` with the ledger."""
        self._database = database

    async def find_differing(self, items: Mapping[str, StoredItem]) -> Sequence[str]:
        """Return the ids of items whose documents differ from these items."""
        found: list[str] = []
        for kind, name in COLLECTIONS.items():
            mine = {i: item for i, item in items.items() if _kind_of(item) == kind}
            if not mine:
                continue
            async with self._database.timed_work():
                stored = self._database.committed_collection(name).find(
                    {"_id": {"$in": sorted(mine)}}
                )
                there = {each.pop("_id"): each async for each in stored}
            found += [i for i, item in mine.items() if there.get(i) != document_of(item, kind)]
        return found

    async def list_ids(self) -> AsyncIterator[Mapping[str, Sequence[str]]]:
        """Yield pages of the ids of all documents, by collection."""
        for kind, name in COLLECTIONS.items():
            last = ""
            while True:
                asked = {"_id": {"$gt": last}, "kind": kind}
                async with self._database.timed_work():
                    found = self._database.committed_collection(name).find(asked, {"_id": 1})
                    page = [each["_id"] async for each in found.sort("_id", 1).limit(_PAGE)]
                if page:
                    yield {name: page}
                if len(page) < _PAGE:
                    break
                last = page[-1]

    async def overwrite_documents(self, items: Mapping[str, StoredItem]) -> None:
        """Overwrite the documents of these items. The caller holds the exclusive ledger."""
        for kind, name in COLLECTIONS.items():
            for identity, item in items.items():
                if _kind_of(item) == kind:
                    async with self._database.timed_work():
                        await self._database.committed_collection(name).update_one(
                            {"_id": identity}, {"$set": document_of(item, kind)}, upsert=True
                        )

    async def delete_documents(self, name: str, ids: Sequence[str]) -> None:
        """Delete documents of a collection. The caller holds the exclusive ledger."""
        async with self._database.timed_work():
            await self._database.committed_collection(name).delete_many({"_id": {"$in": list(ids)}})

    async def check_rows(self, touched: object) -> Sequence[Finding]:
        """Return no findings, because the log has no derived rows besides documents."""
        del touched
        return ()

    async def erase_entries(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Drop payload and salt of every entry about `targets`; return the number of entries."""
        commits, wanted = self._database.committed_collection("commits"), frozenset(targets)
        dropped = 0
        async with self._database.timed_work(_ERASING):
            async for stored in commits.find({"space": space}):
                body: Any = stored["body"]
                body = body.encode() if isinstance(body, str) else body
                about = entries_about(body, stored["salts"], wanted)
                if about:
                    kept = {
                        name: [None if n in about else each for n, each in enumerate(stored[name])]
                        for name in ("salts", "payloads")
                    }
                    await commits.update_one({"_id": stored["_id"]}, {"$set": kept})
                    dropped += len(about)
        return dropped

    async def store_facts(self) -> Mapping[str, str | int]:
        """Return the version of the server and the number of commits."""
        about = await self._database.server_facts()
        async with self._database.timed_work():
            commits = await self._database.committed_collection("commits").count_documents({})
        return {"engine": f"MongoDB {about['version']}", "recorded commits": commits}


def _kind_of(item: StoredItem) -> str:
    return KIND_NAMES.get(type(item), "")

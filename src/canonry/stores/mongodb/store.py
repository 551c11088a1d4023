"""The store in MongoDB, and its repair."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.log.entries import THING_KINDS, Thing
from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.ports.view import Finding
from canonry.stores.mongodb.database import CONNECTIONS, DEADLINE, BsonDocument, MongoDatabase
from canonry.stores.mongodb.documents import COLLECTIONS, MongoDocuments, document_of
from canonry.stores.mongodb.ledger import MongoLedger
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json


@dataclass(frozen=True, slots=True, kw_only=True)
class MongoStore:
    """An open store; `close` must be awaited once."""

    database: MongoDatabase
    ledger: MongoLedger
    documents: MongoDocuments

    async def close(self) -> None:
        """Let go of the server."""
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
    """Open the database `name`, making what is missing.

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


_PAGE: Final = 200
_ERASING: Final = 3600.0
_ERASED: Final = "space.erased"


class MongoMending:
    """What upkeep does to records and documents; the ledger must be kept alone where it says so."""

    def __init__(self, database: MongoDatabase) -> None:
        """Share `database` with the ledger."""
        self._database = database

    async def differing(self, things: Mapping[str, Thing]) -> Sequence[str]:
        """The ids of those whose documents are not what these things make."""
        found: list[str] = []
        for kind, name in COLLECTIONS.items():
            mine = {i: thing for i, thing in things.items() if _kind_of(thing) == kind}
            if not mine:
                continue
            async with self._database.working():
                stored = self._database.collection(name).find({"_id": {"$in": sorted(mine)}})
                there = {each.pop("_id"): each async for each in stored}
            found += [i for i, thing in mine.items() if there.get(i) != document_of(thing, kind)]
        return found

    async def ids(self) -> AsyncIterator[Mapping[str, Sequence[str]]]:
        """The ids of all documents that show something, by their collection, page by page."""
        for kind, name in COLLECTIONS.items():
            last = ""
            while True:
                asked = {"_id": {"$gt": last}, "kind": kind}
                async with self._database.working():
                    found = self._database.collection(name).find(asked, {"_id": 1})
                    page = [each["_id"] async for each in found.sort("_id", 1).limit(_PAGE)]
                if page:
                    yield {name: page}
                if len(page) < _PAGE:
                    break
                last = page[-1]

    async def put(self, things: Mapping[str, Thing]) -> None:
        """Write the documents of these things whatever stands there; nobody else may append."""
        for kind, name in COLLECTIONS.items():
            for identity, thing in things.items():
                if _kind_of(thing) == kind:
                    async with self._database.working():
                        await self._database.collection(name).update_one(
                            {"_id": identity}, {"$set": document_of(thing, kind)}, upsert=True
                        )

    async def remove(self, name: str, ids: Sequence[str]) -> None:
        """Delete documents of a collection; nobody else may append."""
        async with self._database.working():
            await self._database.collection(name).delete_many({"_id": {"$in": list(ids)}})

    async def check(self, touched: object) -> Sequence[Finding]:
        """Nothing but documents stands beside the commits."""
        del touched
        return ()

    async def erase(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Drop payload and salt of every entry about `targets`; how many entries."""
        commits, wanted, dropped = self._database.collection("commits"), frozenset(targets), 0
        async with self._database.working(_ERASING):
            async for stored in commits.find({"space": space}):
                about = _about(stored, wanted)
                if about:
                    kept = {
                        name: [None if n in about else each for n, each in enumerate(stored[name])]
                        for name in ("salts", "payloads")
                    }
                    await commits.update_one({"_id": stored["_id"]}, {"$set": kept})
                    dropped += len(about)
        return dropped

    async def facts(self) -> Mapping[str, str | int]:
        """The version of the server, and how much it holds."""
        about = await self._database.facts()
        async with self._database.working():
            commits = await self._database.collection("commits").count_documents({})
        return {"engine": f"MongoDB {about['version']}", "recorded commits": commits}


def _kind_of(thing: Thing) -> str:
    return THING_KINDS.get(type(thing), "")


def _about(stored: BsonDocument, targets: frozenset[str]) -> frozenset[int]:
    """Which entries of a commit are about the targets, and hold something yet.

    The entry that records the erasure stays: it tells which ids are gone, and why.
    """
    body: Any = stored["body"]
    entries = decode_json(body.encode() if isinstance(body, str) else body)["entries"]
    return frozenset(
        n
        for n, (kind, _, ids, _) in enumerate(entries)
        if kind != _ERASED and not targets.isdisjoint(ids) and stored["salts"][n] is not None
    )

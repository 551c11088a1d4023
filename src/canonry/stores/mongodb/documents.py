"""Scenes, turns, proposals, memories and snippets in MongoDB, in collections that people can read.

A document has the fields of a thing as they are, and `thing`, which it is read back from. Documents
of one commit appear one after the other, and the cursor follows when all are there: what is seen
before is never wrong, only early. A newer state of a thing is never replaced by an older one,
however late a projector comes.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any, Final, TypeVar

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError, PyMongoError
from typing_extensions import override

from canonry.log.commits import ORIGIN, Position
from canonry.log.encoding import decode_thing, encode_thing
from canonry.log.entries import THING_KINDS, Thing, Tombstone
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.log.ports.world import answers
from canonry.readmodels.listing import rows_of
from canonry.readmodels.ports.documents import Documents, MemoryQuery, ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import Folded, Page
from canonry.stores.mongodb.database import BsonDocument, MongoDatabase, is_taken
from canonry.values.errors import BrokenInvariant, Conflict
from canonry.values.ids import SceneId, SourceId, SpaceId
from canonry.values.json_values import decode_json, encode_json

T = TypeVar("T")

COLLECTIONS: Final[Mapping[str, str]] = {
    THING_KINDS[Scene]: "scenes",
    THING_KINDS[Turn]: "turns",
    THING_KINDS[Proposal]: "proposed_changes",
    THING_KINDS[Memory]: "character_memories",
    THING_KINDS[Snippet]: "snippets",
}
_FIELDS: Final = {
    THING_KINDS[each]: ("kind", "seen_in", "thing", "asks", *(f.name for f in fields(each)))
    for each in (Scene, Turn, Proposal, Memory, Snippet)
}
CURSORS: Final = "view_cursors"
"""How far the documents show the log of each space."""

_SHOWN: Final = "where documents were brought"

_BATCH: Final = 500
_EARLIEST: Final = (("created_at", 1), ("_id", 1))
_READ: Final = {"thing": 1, "kind": 1}
_NEVER_AGAIN: Final = 2**62
"""When an erased thing changed last: no state of it is newer."""

_DEPTH_MAX: Final = 20
_INTEGER_MAX: Final = 2**63
_IN_NAMES: Final = str.maketrans({"$": "\uff04", ".": "\uff0e", "\0": "\u2400"})
"""What names of fields may not hold everywhere, and what stands for it."""


class MongoDocuments(Documents):
    """Reads what a projector applied."""

    def __init__(self, database: MongoDatabase) -> None:
        """Share `database` with the ledger."""
        self._database = database
        self._stood: dict[SpaceId, Position] = {}
        self._moving: dict[SpaceId, Position] = {}

    @override
    async def cursor(self, space: SpaceId) -> Position:
        """Whoever has just shown something in this call is told of that, else of what there is.

        What this process showed is not asked for where it wrote itself what comes next. What others
        wrote they may have shown as well.
        """
        told: Position | None = answers().pop((_SHOWN, space), None)
        if told is not None:
            return told
        stood = self._stood.get(space, ORIGIN)
        if self._database.ends.wrote(space, stood + 1):
            return stood
        async with self._database.working():
            return await self._cursor(space)

    async def _cursor(self, space: SpaceId) -> Position:
        found = await self._database.collection(CURSORS).find_one({"_id": space})
        there = ORIGIN if found is None else Position(int(found["position"]))
        self._stood[space] = max(there, self._stood.get(space, ORIGIN))
        return self._stood[space]

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if not folded:
            return
        space = folded[0].space
        async with self._database.working():
            # A projector has just asked; to show again what is there already changes nothing.
            told = self._stood.get(space)
            if told is None or folded[0].position > told + 1:
                told = await self._cursor(space)
            start = cursor = told
            things: dict[str, Thing] = {}
            missing = False
            for each in folded:
                if each.position <= cursor:
                    continue
                if missing := each.position > cursor + 1:
                    break
                things |= {thing.id: thing for thing in each.things}
                cursor = each.position
            if cursor > start:
                await self._show(things.values())
                self._stood[space] = max(cursor, self._stood.get(space, ORIGIN))
                self._move(space, cursor)
                answers()[_SHOWN, space] = cursor
        if missing:
            raise Conflict("view.gap", "commits are missing: apply those after the cursor first")

    def _move(self, space: SpaceId, cursor: Position) -> None:
        """Let the cursor follow, for which nobody waits: until then others show the same again."""
        is_moving = space in self._moving
        self._moving[space] = max(cursor, self._moving.get(space, ORIGIN))
        if not is_moving:
            self._database.later(partial(self._moved, space))

    async def _moved(self, space: SpaceId) -> None:
        moved = ORIGIN
        try:
            while (cursor := self._moving[space]) > moved:
                behind = {"_id": space, "position": {"$lt": cursor}}
                with suppress(DuplicateKeyError):  # another projector is there already
                    await self._database.collection(CURSORS).update_one(
                        behind, {"$set": {"position": cursor}}, upsert=True
                    )
                moved = cursor
        finally:
            del self._moving[space]

    async def _show(self, things: Iterable[Thing]) -> None:
        writes: defaultdict[str, list[UpdateOne]] = defaultdict(list)
        for thing in things:
            kind = thing.was if isinstance(thing, Tombstone) else THING_KINDS[type(thing)]
            if kind in COLLECTIONS:
                writes[COLLECTIONS[kind]].append(_write(thing, kind))
        await asyncio.gather(*(self._put(name, each) for name, each in writes.items()))

    async def _put(self, name: str, writes: Sequence[UpdateOne]) -> None:
        for start in range(0, len(writes), _BATCH):
            try:
                await self._database.collection(name).bulk_write(
                    writes[start : start + _BATCH], ordered=False
                )
            except PyMongoError as error:
                if not is_taken(error):  # what is newer than this stands there
                    raise

    @override
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        asked = _asked("scene", query.spaces, story_id=query.story_id, status=query.status)
        order = (("order", 1), *_EARLIEST)
        return await self._page("scenes", asked, order, query.limit, query.offset)

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        most = limit if last is None else max(last, 0)
        if most < 1:
            return []
        asked = _asked("turn", None, scene_id=scene_id) | {"index": {"$gt": after}}
        way = 1 if last is None else -1
        found: list[Turn] = await self._found("turns", asked, (("index", way),), most, 0)
        return found if last is None else found[::-1]

    @override
    async def proposals(self, query: ProposalQuery) -> Page[Proposal]:
        asked = _asked("proposal", query.spaces, scene_id=query.scene_id, status=query.status)
        asked["type"] = {"$in": sorted(map(str, query.types))}
        if query.asks is not None:
            asked["asks"] = {"$in": sorted(map(str, query.asks))}
        return await self._page("proposed_changes", asked, _EARLIEST, query.limit, query.offset)

    @override
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        asked = _asked("memory", None, entity_id=query.entity_id)
        asked["importance"] = {"$gte": query.min_importance}
        order = (("importance", -1), ("created_at", -1), ("_id", 1))
        return await self._page("character_memories", asked, order, query.limit, query.offset)

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        asked = _asked("snippet", None, source_id=source_id)
        return await self._page("snippets", asked, (("index", 1), ("_id", 1)), limit, offset)

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        asked = _asked("scene", spaces, status=SceneStatus.FINALIZING)
        return await self._found("scenes", asked, _EARLIEST, limit, 0)

    async def _page(
        self,
        name: str,
        asked: BsonDocument,
        order: Sequence[tuple[str, int]],
        limit: int,
        offset: int,
    ) -> Page[Any]:
        async with self._database.working():
            total, items = await asyncio.gather(
                self._database.collection(name).count_documents(asked),
                self._found(name, asked, order, limit, offset),
            )
        return Page(items=items, total=total)

    async def _found(
        self,
        name: str,
        asked: BsonDocument,
        order: Sequence[tuple[str, int]],
        limit: int,
        offset: int,
    ) -> list[Any]:
        if limit < 1:
            return []
        async with self._database.working():
            found = self._database.collection(name).find(asked, _READ)
            return [
                thing_in(each) async for each in found.sort(list(order)).skip(offset).limit(limit)
            ]


def thing_in(stored: Mapping[str, Any]) -> Any:
    """The thing that a document was made from.

    Raises:
        BrokenInvariant: `store.altered`.
    """
    try:
        return decode_thing(stored["kind"], stored["thing"].encode())
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = "a document is not what was written: `canonry rebuild` makes the views anew"
        raise BrokenInvariant("store.altered", message) from error


def document_of(thing: Thing, kind: str) -> BsonDocument:
    """A thing as a document, without its `_id`."""
    encoded = encode_thing(thing)
    told: BsonDocument = decode_json(encoded)
    told.pop("id")
    seen_in = sorted({str(row[2]) for row in rows_of(thing)} - {""})
    more: BsonDocument = {"kind": kind, "seen_in": seen_in, "thing": encoded.decode()}
    if isinstance(thing, Proposal):
        more["asks"] = [str(each) for each in thing.asks]
    return {name: _storable(each) for name, each in (told | more).items()}


def _write(thing: Thing, kind: str) -> UpdateOne:
    """What puts a thing where no newer state of it stands."""
    if isinstance(thing, Tombstone):
        stands = {"space": thing.space, "erased_at": thing.changed_at, "changed_at": _NEVER_AGAIN}
        gone = {name: "" for name in _FIELDS[kind] if name not in {"id", *stands}}
        return UpdateOne({"_id": thing.id}, {"$set": stands, "$unset": gone}, upsert=True)
    older = {"_id": thing.id, "changed_at": {"$lte": thing.changed_at}}
    return UpdateOne(older, {"$set": document_of(thing, kind)}, upsert=True)


def _asked(kind: str, spaces: Spaces, **wanted: str | None) -> BsonDocument:
    """Documents of a kind with these fields, where they are named."""
    asked: BsonDocument = {"kind": kind}
    asked |= {name: str(each) for name, each in wanted.items() if each is not None}
    if spaces is not None:
        asked["seen_in"] = {"$in": sorted(spaces)}
    return asked


def _storable(value: Any, depth: int = 0) -> Any:
    """A JSON value for people to read; what a document cannot hold stands there as text."""
    match value:
        case dict() | list() if depth >= _DEPTH_MAX:
            return encode_json(value).decode()
        case dict():
            named = {str(name).translate(_IN_NAMES): each for name, each in value.items()}
            return {name: _storable(each, depth + 1) for name, each in named.items()}
        case list():
            return [_storable(each, depth + 1) for each in value]
        case int() if not -_INTEGER_MAX <= value < _INTEGER_MAX:
            return str(value)
        case _:
            return value

"""The graph in Neo4j: its database, and the nodes and edges of a log's items."""

import asyncio
import json
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from neo4j import AsyncDriver, AsyncGraphDatabase, Query, exceptions
from typing_extensions import override

from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import KIND_NAMES, StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, Story, Turn
from canonry.log.items.sources import InterpretationRun, Snippet, Source
from canonry.log.ports.world import RunningWork, closed_store, current_scope
from canonry.log.schemas.catalog_tables import ITEM_KINDS, RELATIONS
from canonry.log.schemas.narrative import RELATION_TYPES, EntityType
from canonry.log.schemas.schemas import RegisteredSchema, TruthRelation
from canonry.log.schemas.world_types import WORLD_RELATIONS, WorldType
from canonry.log.sealing import decode_item, encode_item
from canonry.readmodels.listing import row_difference
from canonry.readmodels.ports.view import Folded, Projection, advance_items
from canonry.values.data_files import read_toml
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable
from canonry.values.ids import Space, SpaceId
from canonry.values.moments import Instant, render_instant
from canonry.values.observations import Observation

_TIMED_OUT: Final = (
    "TransactionTimedOut",
    "TransactionTimedOutClientConfiguration",
    "LockClientStopped",
)
_FULL: Final = ("MemoryPoolOutOfMemoryError", "OutOfMemoryError", "TransactionLogError")
_REFUSED: Final = ("WriteOnReadOnlyAccessDatabase", "ForbiddenDueToTransactionType", "Forbidden")
_UNREACHABLE: Final = (
    "Neo4j does not answer. Check neo4j.url and that the server runs, then try again."
)

DRIVER_FAULTS: Final = (exceptions.Neo4jError, exceptions.DriverError, UnicodeEncodeError, OSError)
"""Exceptions that the driver raises."""


def is_transient(error: Exception) -> bool:
    """Return whether the same request may succeed if it is sent again."""
    match error:
        case exceptions.ConstraintError():
            return True
        case TimeoutError():
            return False
        case exceptions.Neo4jError():
            return error.is_retryable() and _error_title(error) not in (*_TIMED_OUT, *_FULL)
        case exceptions.ServiceUnavailable() | exceptions.SessionExpired():
            return True
        case _:
            return isinstance(error, OSError)


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """Return Canonry's error for an error of the driver."""
    title = _error_title(error)
    match error:
        case TimeoutError():
            return deadline_error()
        case exceptions.AuthError():
            message = "Neo4j refuses the login. Check neo4j.url and CANONRY_NEO4J_PASSWORD."
            return Unavailable("store.refused", message)
        case UnicodeEncodeError():
            return InvalidInput("text.unreadable", "A text contains a lone surrogate. Remove it.")
        case exceptions.Neo4jError() if title in _TIMED_OUT:
            return deadline_error()
        case exceptions.Neo4jError() if title in _FULL:
            message = "The Neo4j server has no memory or disk left. Give it more, then try again."
            return Unavailable("view.full", message)
        case exceptions.Neo4jError() if title in _REFUSED:
            message = "The graph cannot be written. Check the rights of the user in neo4j.url."
            return Unavailable("store.read-only", message)
        case exceptions.ConstraintError():
            return Unavailable("view.busy", "Other calls keep writing first. Try again.")
        case exceptions.Neo4jError() if error.is_retryable():
            return Unavailable("view.busy", "The Neo4j server is busy. Try again.")
        case exceptions.ClientError() if title in {"DatabaseNotFound", "DatabaseUnavailable"}:
            return Unavailable("store.unreachable", "The server lacks the database in neo4j.url.")
        case exceptions.ClientError():
            message = "The Neo4j server refused a statement. Run `canonry doctor`."
            return BrokenInvariant("store.failed", message, kind=title)
        case exceptions.DatabaseError():
            message = "The Neo4j server failed. Check its log, restart it, then try again."
            return Unavailable("store.failing", message, kind=title)
        case _:
            return Unavailable("store.unreachable", _UNREACHABLE)


def deadline_error() -> Unavailable:
    """Return the error for a query that exceeds its time."""
    return Unavailable("store.deadline", "The query took too long. Ask for less.")


def _error_title(error: Exception) -> str:
    """Return the last part of the server's code, such as `DeadlockDetected`."""
    code = getattr(error, "code", None)
    return code.rpartition(".")[2] if isinstance(code, str) else ""


# Preparing a graph: missing constraints and indexes for writing are created.
#
# Labels with a leading underscore hold the state of the view; the others are for people.

AskGraph: TypeAlias = Callable[[str, Mapping[str, Any] | None], Awaitable[list[list[Any]]]]

FORMAT: Final = 2
"""Version of nodes and edges. Version 1 had further nodes, which answered queries."""

_UNIQUE: Final = (("Thing", "store", "id"), ("_Cursor", "store", "space"), ("_Store", "store"))
_FOUND_BY: Final = (
    ("Thing", "store", "space", "kind"),
    ("Entity", "name"),
    ("Fact", "name"),
    ("Event", "name"),
)
_CONSTRAINT: Final = (
    "CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label}) REQUIRE ({fields}) IS UNIQUE"
)
_INDEX: Final = "CREATE INDEX {name} IF NOT EXISTS FOR (n:{label}) ON ({fields})"
_KNOWN: Final = "SHOW INDEXES YIELD name WHERE name STARTS WITH 'canonry_' RETURN name"
_FORMAT: Final = "MERGE (s:_Store {store: $store}) ON CREATE SET s.format = $format RETURN s.format"
_DELETE_FORMER: Final = """
MATCH (n:_Date|_Row|_Run|_Text|_Version) WHERE n.store = $store
WITH n LIMIT 10000 DELETE n RETURN count(n)
"""
_RAISED: Final = "MATCH (s:_Store {store: $store}) SET s.format = $format"
LABELS: Final = tuple(dict.fromkeys(label for label, *_ in _UNIQUE))
"""Every node has one of these labels."""


async def prepare_graph(ask: AskGraph) -> None:
    """Create missing constraints and indexes, and drop those of former versions.

    Raises:
        BrokenInvariant: `store.newer`.
    """
    definitions = [(_CONSTRAINT, each) for each in _UNIQUE] + [(_INDEX, each) for each in _FOUND_BY]
    wanted = dict(map(_create_statement, *zip(*definitions, strict=True)))
    known = {row[0] for row in await ask(_KNOWN, None)}
    missing = [statement for name, statement in wanted.items() if name not in known]
    for statement in missing:
        await ask(statement, None)
    if missing:
        await ask("CALL db.awaitIndexes(60)", None)
    ((found,),) = await ask(_FORMAT, {"format": FORMAT})
    if found > FORMAT:
        message = "A newer version of Canonry has written to this graph. Update Canonry."
        raise BrokenInvariant("store.newer", message)
    if found < FORMAT:
        while await ask(_DELETE_FORMER, None) != [[0]]:
            pass
        await ask(_RAISED, {"format": FORMAT})


def _create_statement(form: str, definition: Sequence[str]) -> tuple[str, str]:
    """Return the name of a constraint or an index, and the statement that creates it."""
    label, *names = definition
    name = "_".join(("canonry", label.strip("_").lower(), *names))
    fields = ", ".join(f"n.{each}" for each in names)
    return name, form.format(name=name, label=label, fields=fields)


# The database: connections to one Neo4j server, and the ways in which they are used.
#
# Neo4j Community has a single database, so stores share it. Each store has a name, which all of its
# nodes have as `store`. The deadline of the call limits every statement, on the server too.

GraphRow: TypeAlias = list[Any]

CONNECTIONS: Final = 16  # calls wait for one another before the server is overloaded
DEADLINE: Final = 30.0
"""Seconds that a statement may take if the call has no earlier deadline."""

WRITING: Final = 600.0
"""Seconds that a large commit may take. A caller may leave, but other calls wait for it too."""

ATTEMPTS_MAX: Final = 12
"""Attempts of a statement after passing failures."""

_PATIENCE: Final = 10.0  # a server that restarts is back by then; callers wait no longer
_GRACE: Final = 0.5  # seconds that the client waits longer than the server

_PAUSE: Final = 0.01  # most locks are released within milliseconds
_LONGEST_PAUSE: Final = 0.5  # waiting calls do not load a server that starts


class Neo4jDatabase:
    """One store in a graph, by a URL like `bolt://neo4j:password@127.0.0.1:7687/neo4j`.

    With `neo4j://` the driver asks the server for its cluster. A final `+s` encrypts.
    """

    def __init__(
        self,
        url: str,
        name: str = "canonry",
        *,
        connections: int = CONNECTIONS,
        deadline: float = DEADLINE,
    ) -> None:
        """Parse the URL without connecting.

        Raises:
            BrokenInvariant: `store.address`, the URL is not the address of a graph.
        """
        self.name: Final = name
        parts = urlsplit(url)
        if parts.hostname is None or not parts.scheme.startswith(("bolt", "neo4j")):
            message = "neo4j.url is not the address of a graph. Write it as bolt://USER@HOST:7687."
            raise BrokenInvariant("store.address", message)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self._address: Final = f"{parts.scheme}://{host}:{parts.port or 7687}"
        self._auth: Final = (unquote(parts.username or "neo4j"), unquote(parts.password or ""))
        self._database: Final = parts.path.strip("/") or "neo4j"
        self._connections = connections
        self._deadline = deadline
        self._driver: AsyncDriver | None = None
        self._work = RunningWork()

    async def open(self) -> None:
        """Connect once, and create missing indexes and constraints.

        Raises:
            Unavailable: `store.unreachable` or `store.refused`.
            BrokenInvariant: `store.newer`.
        """
        self._driver = AsyncGraphDatabase.driver(
            self._address,
            auth=self._auth,
            max_connection_pool_size=self._connections,
            connection_timeout=_PATIENCE,
            connection_acquisition_timeout=_PATIENCE,
            max_transaction_retry_time=0,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
            user_agent="canonry",
        )
        try:
            async with self._driver.session(database=self._database) as probe:
                await probe.run("RETURN 1")  # raises the cause at once, where others retry
            await prepare_graph(self.fetch_rows)
        except BaseException as error:
            await self.close()
            if isinstance(error, DRIVER_FAULTS):
                raise as_canonry(error) from error
            raise

    async def close(self) -> None:
        """Finish pending calls, then disconnect. Closing twice is allowed."""
        driver, self._driver = self._driver, None
        if driver is None:
            return
        await self._work.end_work(self._deadline)
        with suppress(*DRIVER_FAULTS):
            await driver.close()

    async def fetch_rows(
        self,
        statement: str,
        values: Mapping[str, Any] | None = None,
        *,
        seconds: float | None = None,
    ) -> list[GraphRow]:
        """Return the rows of one statement, in one round trip. `$store` is the store's name.

        Raises:
            Unavailable: see `as_canonry`.
        """
        loop = asyncio.get_running_loop()
        call, pause, patience = current_scope(), _PAUSE, loop.time() + _PATIENCE
        ends = loop.time() + (self._deadline if seconds is None else seconds)
        if call is not None and seconds is None:
            ends = call.ends
        parameters = {"store": self.name, **(values or {})}
        driver = self._driver
        if driver is None:
            raise closed_store()
        with self._work.begin_work():
            for left in reversed(range(ATTEMPTS_MAX)):
                time = max(ends - loop.time(), 0.001)
                try:
                    async with (
                        asyncio.timeout(time + _GRACE),
                        driver.session(database=self._database) as session,
                    ):
                        result = await session.run(Query(statement, timeout=time), parameters)
                        return await result.values()
                except DRIVER_FAULTS as error:
                    over = loop.time() + pause > min(ends, patience)
                    if not left or over or self._driver is None or not is_transient(error):
                        raise as_canonry(error) from error
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        raise closed_store()


# Shapes: an item in the graph, as labels, properties and edges.
#
# Canonry reads no answers from them. Words that agents choose freely become properties. Labels and
# types of edges would stay in the graph for ever.

ITEM_LABEL: Final = "Thing"
OTHER_RELATION: Final = "RELATES_TO"
_NAME_MAX: Final = 200  # a caption in the browser of the database
_TYPES: Final = {
    each: "".join(word[:1].upper() + word[1:] for word in str(each).split("_"))
    for each in (*map(str, EntityType), *map(str, WorldType), *ITEM_KINDS)
}
_EDGES: Final = frozenset((*RELATION_TYPES, *map(str, TruthRelation), *WORLD_RELATIONS, *RELATIONS))
_SHOWN: Final = (
    *("level", "authority", "confidence", "entity_class", "entity_type", "description", "status"),
    *("fact_type", "statement", "time_words", "severity", "domain", "rel_type", "ended", "text"),
    *("story_type", "source_type", "doc_id", "edition", "file_name", "retcon_reason", "order"),
    *("summary", "importance", "emotional_valence", "certainty", "page", "section", "premise"),
)
"""Fields that become properties unchanged."""

_INSTANTS: Final = (
    *("created_at", "updated_at", "completed_at", "recorded_at", "observed_at", "time_ref"),
    *("since", "until", "said_at", "timestamp", "started_at", "ended_at"),
)


class ShownEdge(NamedTuple):
    """An edge between any two items, which derives from the item `by`."""

    source: str
    type: str
    target: str
    by: str
    shows: tuple[tuple[str, Any], ...] = ()


def labels_of(item: StoredItem) -> tuple[str, ...]:
    """Return the labels of an item besides the label of all items."""
    kind = KIND_NAMES[type(item)]
    label = {"run": "InterpretationRun"}.get(kind, kind.capitalize())
    match item:
        case Space():
            return (label, item.kind.capitalize())
        case Entity():
            known = _TYPES.get(item.entity_type)
            return (label, str(item.entity_class), *(() if known is None else (known,)))
        case _:
            return (label,)


_LEADING: Final[Mapping[type, tuple[tuple[str, str], ...]]] = {
    Entity: (("DERIVES_FROM", "derives_from"), ("MERGED_INTO", "merged_into")),
    Fact: (("INVOLVES", "involved"),),
    Event: (("INVOLVES", "involved"), ("CAUSES", "causes"), ("HAPPENED_IN", "scene_id")),
    Observation: (("OBSERVES", "entity_id"),),
    Story: (("PART_OF_STORY", "parent_id"),),
    Scene: (("PART_OF_STORY", "story_id"), ("SET_IN", "location_ref")),
    Turn: (("SAID_IN", "scene_id"), ("SAID_BY", "entity_id")),
    Proposal: (("PROPOSED_IN", "scene_id"),),
    Memory: (("REMEMBERED_BY", "entity_id"), ("REMEMBERS", "linked_fact_id")),
    Snippet: (("EXCERPT_OF", "source_id"),),
    InterpretationRun: (("READS", "source_id"),),
}
"""Edges from an item: their type, and the field with the id or ids of their targets."""

_ARRIVING: Final[Mapping[type, tuple[tuple[str, str], ...]]] = {
    Space: (("CONTAINS", "parent"),),
    Scene: (("TAKES_PART_IN", "participants"),),
}
"""Edges to an item: their type, and the field with the id or ids of their sources."""

_REPLACED: Final = (("REPLACES", "replaced_by"), ("SUPERSEDES", "superseded_by"))
"""Edges to an item of any kind that has such a field."""


def _edges_of(item: StoredItem) -> Iterator[ShownEdge]:
    for edge, name in _LEADING.get(type(item), ()):
        yield from (ShownEdge(item.id, edge, target, item.id) for target in _ids_in(item, name))
    if isinstance(item, Relation):
        known = item.rel_type in _EDGES
        shows: dict[str, Any] = {
            "rel_type": item.rel_type,
            "level": str(item.level),
            "current": item.current,
            "since": None if item.since is None else _instant_text(item.since),
            "until": None if item.until is None else _instant_text(item.until),
        }
        yield ShownEdge(
            item.from_id,
            item.rel_type if known else OTHER_RELATION,
            item.to_id,
            item.id,
            tuple((name, value) for name, value in shows.items() if value is not None),
        )
    for evidence in getattr(item, "evidence", ()):
        yield ShownEdge(item.id, "SUPPORTED_BY", str(evidence.ref), item.id)
    for edge, name in (*_ARRIVING.get(type(item), ()), *_REPLACED):
        yield from (ShownEdge(source, edge, item.id, item.id) for source in _ids_in(item, name))


def _ids_in(item: StoredItem, name: str) -> Sequence[str]:
    """Return the ids in a field with one id, with several, or with none."""
    found = getattr(item, name, None) or ()
    return [str(each) for each in ((found,) if isinstance(found, str) else found)]


def _put_property(properties: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, str):
        properties[name] = str(value)
    elif isinstance(value, bool | int | float):
        properties[name] = value


def _instant_text(instant: int) -> str:
    return render_instant(Instant(instant))


_CAPTIONS: Final[Mapping[type, str]] = {
    **dict.fromkeys((Entity, Space), "name"),
    **dict.fromkeys((Fact, Axiom), "statement"),
    **dict.fromkeys((Event, Source, Story, Scene), "title"),
    **dict.fromkeys((Turn, Memory, Snippet), "text"),
    Relation: "rel_type",
    RegisteredSchema: "entity_type",
    Proposal: "type",
}
"""The field of an item that is the caption of its node."""


def _caption_of(item: StoredItem) -> str:
    """Return the caption of a node."""
    if isinstance(item, Observation):
        return ", ".join(item.fields)
    name = _CAPTIONS.get(type(item))
    return KIND_NAMES[type(item)] if name is None else str(getattr(item, name))


# The graph: items become nodes and edges together with the cursor, or not at all.
#
# Applying costs two round trips, however much changes. The first locks the cursor and reads the
# nodes to replace. The second locks the cursor again by writing it, and writes everything unless
# another projector was first. Canonry reads the graph only to verify it.

ITEMS_MAX: Final = 2_000
"""Items after which the applied commits are written. A commit is never split."""

_PAGE: Final = 500  # bounds the memory of a walk through all items
_CYPHER: Final = read_toml(__package__, "statements.toml")


class Neo4jGraph(Projection):
    """The items of a log as a property graph for people.

    Use `database = Neo4jDatabase(url, name)`, `await database.open()`, `Neo4jGraph(database)`, and
    at the end `await database.close()`. A projector updates the graph. Maintenance compares and
    refills it.
    """

    def __init__(self, database: Neo4jDatabase) -> None:
        """Share `database`, which the caller opens and closes."""
        self._database = database

    @override
    async def cursor(self, space: SpaceId) -> Position:
        rows = await self._database.fetch_rows(_CYPHER["cursor"], {"space": space})
        return Position(rows[0][0]) if rows else ORIGIN

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        for portion in _split_portions(folded) if folded else ():
            await self._write_portion(portion)

    async def _write_portion(self, folded: Sequence[Folded]) -> None:
        space_key = {"space": folded[0].space}
        ids = list({item.id for each in folded for item in each.items})
        for _ in range(ATTEMPTS_MAX):
            ((cursor, found),) = await self._database.fetch_rows(
                _CYPHER["turn"], {**space_key, "ids": ids}
            )
            after, position = advance_items(folded, Position(cursor))
            if position == cursor:
                return
            stored_items = (decode_item(kind, body.encode()) for kind, body in found)
            before = {item.id: item for item in stored_items if item.id in after}
            changes = _changes_between(self._database.name, before, after)
            changes |= {**space_key, "start": cursor, "position": position}
            if await self._database.fetch_rows(_CYPHER["apply"], changes, seconds=WRITING):
                return
        raise Unavailable("view.busy", "Other calls keep writing first. Try again.")

    async def find_differing(
        self, items: Mapping[str, StoredItem], ids: Collection[str] | None = None
    ) -> Sequence[str]:
        """Return those of `ids` whose nodes or edges differ from `items`; None: all of `items`.

        An id without an item should have neither.
        """
        asked = list(items if ids is None else ids)
        wanted: dict[str, dict[str, Any]] = defaultdict(dict)
        changes = _changes_between(self._database.name, {}, items)
        for node in changes["things"]:
            labels = sorted((ITEM_LABEL, *node["labels"]))
            wanted[node["bears"]["id"]]["node"] = (node["bears"], labels)
        for each in changes["edges"]:
            wanted[each["by"]].setdefault("edges", []).append(_comparable_edge(each))
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        for identity, bears, labels in await self._database.fetch_rows(
            _CYPHER["nodes"], {"ids": asked}
        ):
            found[identity]["node"] = (bears, sorted(labels))
        sources = {*asked, *(edge["source"] for edge in changes["edges"])}
        values = {"ids": asked, "sources": list(sources)}
        for by, source, kind, target, bears in await self._database.fetch_rows(
            _CYPHER["find_edges"], values
        ):
            edge = {"source": source, "type": kind, "target": target, "bears": bears}
            found[by].setdefault("edges", []).append(_comparable_edge(edge))
        for shown in (*wanted.values(), *found.values()):
            shown.get("edges", []).sort()
        return [each for each in asked if wanted[each] != found[each]]

    async def list_ids(self) -> AsyncIterator[Sequence[str]]:
        """Yield pages of the ids of all items in the graph."""
        last = ""
        while True:
            rows = await self._database.fetch_rows(_CYPHER["ids"], {"last": last, "limit": _PAGE})
            if rows:
                yield [row[0] for row in rows]
                last = rows[-1][0]
            if len(rows) < _PAGE:
                break

    async def delete_nodes(self) -> None:
        """Delete all nodes of this store. Other stores stay.

        The cursors are deleted first: a concurrent projector starts again, and no commit counts as
        shown.
        """
        for label in sorted(LABELS, key=lambda each: each != "_Cursor"):
            await self._database.fetch_rows(_CYPHER["empty"].format(label=label), seconds=WRITING)

    async def graph_facts(self) -> Mapping[str, str | int]:
        """Return the engine of the graph and its number of items."""
        ((engine, item_count),) = await self._database.fetch_rows(_CYPHER["facts"])
        return {"graph": engine, "graph things": item_count}


def _split_portions(folded: Sequence[Folded]) -> list[list[Folded]]:
    """Group commits that are written together."""
    found: list[list[Folded]] = [[]]
    room = ITEMS_MAX
    for each in folded:
        if found[-1] and len(each.items) > room:
            found.append([])
            room = ITEMS_MAX
        found[-1].append(each)
        room -= len(each.items)
    return found


def _changes_between(
    store: str, before: Mapping[str, StoredItem], after: Mapping[str, StoredItem]
) -> dict[str, Any]:
    """Return the changes to write for items that were `before` and are `after`."""
    sides = list(before.values()), list(after.values())
    gone, come = row_difference(lambda thing: dict.fromkeys(_edges_of(thing)), *sides)
    return {
        "things": [_node_of(store, before.get(item.id), item) for item in after.values()],
        "edges_gone": [edge._asdict() for edge in gone],
        "edges": [e._asdict() | {"bears": {"by": e.by, **dict(e.shows)}} for e in come],
    }


def _node_of(store: str, was: StoredItem | None, item: StoredItem) -> dict[str, Any]:
    labels = list(labels_of(item))
    lost = [] if was is None else [each for each in labels_of(was) if each not in labels]
    # The properties of an item's node.
    properties = {
        "store": store,
        "id": item.id,
        "space": item.space,
        "kind": KIND_NAMES[type(item)],
        "position": item.position,
        "changed_at": item.changed_at,
        "body": encode_item(item).decode(),
        "name": _caption_of(item)[:_NAME_MAX],
    }
    for name in _SHOWN:
        _put_property(properties, name, getattr(item, name, None))
    for name in _INSTANTS:
        instant = getattr(item, name, None)
        _put_property(properties, name, None if instant is None else _instant_text(instant))
    if isinstance(item, Entity):
        properties["state_tags"] = list(item.state_tags)
    return {"bears": properties, "labels": labels, "lost": lost}


def _comparable_edge(edge: Mapping[str, Any]) -> str:
    compared = {key: edge[key] for key in ("source", "type", "target", "bears")}
    return json.dumps(compared, sort_keys=True)

"""The graph: what things are becomes nodes and edges, with the cursor, or not at all.

Applying costs two round trips however much changes. The first waits for its turn and looks at what
is replaced; the second takes the turn again by writing the cursor, and writes everything if nobody
was quicker, else nothing. Canonry asks the graph for nothing else than whether it is right.
"""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.log.commits import ORIGIN, Position
from canonry.log.encoding import decode_thing
from canonry.log.entries import Thing
from canonry.readmodels.listing import difference
from canonry.readmodels.ports.view import Folded, View, following
from canonry.stores.neo4j.database import ATTEMPTS_MAX, WRITING, Neo4jDatabase
from canonry.stores.neo4j.preparing import LABELS
from canonry.stores.neo4j.shapes import THING, ShownEdge, edges_of, labels_of, shape_of
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId

THINGS_MAX: Final = 2_000
"""After so many things what was applied is committed; a commit is never divided."""

_PAGE: Final = 500
# Neo4j may show one half of a commit before the other. Writing the same value changes nothing and
# waits for the lock of whoever applies: all that the cursor stands for shows then.
_CURSOR: Final = """
MATCH (c:_Cursor {store: $store, space: $space}) SET c.turn = true
RETURN c.position
"""
# A value that is there already is not written, but its node is locked until the statement ends.
_TURN: Final = """
MERGE (c:_Cursor {store: $store, space: $space}) ON CREATE SET c.position = 0
SET c.turn = true
WITH c
CALL (c) {
  MATCH (t:Thing) WHERE t.store = c.store AND t.id IN $ids AND t.body IS NOT NULL
  RETURN collect([t.kind, t.body]) AS before
}
RETURN c.position, before
"""
_APPLY: Final = """
MATCH (c:_Cursor {store: $store, space: $space}) SET c.turn = true
WITH c WHERE c.position = $start
CALL () {
  UNWIND $things AS t
  MERGE (n:Thing {store: $store, id: t.bears.id})
  REMOVE n:$(t.lost)
  SET n = t.bears
  SET n:$(t.labels)
}
CALL () {
  UNWIND $edges_gone AS e
  MATCH (a:Thing {store: $store, id: e.source})
  WITH a, e MATCH (a)-[r {by: e.by}]->(b {id: e.target}) WHERE type(r) = e.type DELETE r
}
CALL () {
  UNWIND $edges AS e
  MERGE (a:Thing {store: $store, id: e.source})
  MERGE (b:Thing {store: $store, id: e.target})
  CREATE (a)-[r:$(e.type)]->(b) SET r = e.bears
}
SET c.position = $position
RETURN c.space
"""
_NODES: Final = """
MATCH (t:Thing) WHERE t.store = $store AND t.id IN $ids AND t.body IS NOT NULL
RETURN t.id, properties(t), labels(t)
"""
_EDGES: Final = """
MATCH (a:Thing) WHERE a.store = $store AND a.id IN $sources
MATCH (a)-[r]->(b) WHERE r.by IN $ids
RETURN r.by, a.id, type(r), b.id, properties(r)
"""
_IDS: Final = """
MATCH (t:Thing) WHERE t.store = $store AND t.id > $last AND t.body IS NOT NULL
RETURN t.id ORDER BY t.store, t.id LIMIT $limit
"""
_EMPTY: Final = """
MATCH (n:{label}) WHERE n.store = $store
CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 2000 ROWS
"""
_FACTS: Final = """
CALL dbms.components() YIELD name, versions, edition
CALL () { MATCH (t:Thing) WHERE t.store = $store AND t.body IS NOT NULL RETURN count(t) AS things }
RETURN name + ' ' + versions[0] + ' ' + edition, things
"""


class Neo4jGraph(View):
    """The things of a log as a property graph, which people walk through.

    `database = Neo4jDatabase(url, name)`, `await database.open()`, `Neo4jGraph(database)`, and in
    the end `await database.close()`. A projector feeds it; upkeep compares it and fills it anew.
    """

    def __init__(self, database: Neo4jDatabase) -> None:
        """Share `database`, which is opened and closed by whoever made it."""
        self._database = database

    @override
    async def cursor(self, space: SpaceId) -> Position:
        rows = await self._database.rows(_CURSOR, {"space": space})
        return Position(rows[0][0]) if rows else ORIGIN

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        for portion in _portions(folded) if folded else ():
            await self._show(portion)

    async def _show(self, folded: Sequence[Folded]) -> None:
        place = {"space": folded[0].space}
        ids = list({thing.id for each in folded for thing in each.things})
        for _ in range(ATTEMPTS_MAX):
            ((cursor, found),) = await self._database.rows(_TURN, {**place, "ids": ids})
            after, position = _following(folded, cursor)
            if position == cursor:
                return
            things = (decode_thing(kind, body.encode()) for kind, body in found)
            before = {thing.id: thing for thing in things if thing.id in after}
            told = _written(self._database.name, before, after)
            told |= {**place, "start": cursor, "position": position}
            if await self._database.rows(_APPLY, told, seconds=WRITING):
                return
        raise Unavailable("view.busy", "others write the same without a pause; try again")

    async def differing(
        self, things: Mapping[str, Thing], ids: Collection[str] | None = None
    ) -> Sequence[str]:
        """The `ids` whose nodes or edges are not what `things` make; None: those of the things.

        An id that is none of a thing should have neither.
        """
        asked = list(things if ids is None else ids)
        wanted: dict[str, dict[str, Any]] = defaultdict(dict)
        told = _written(self._database.name, {}, things)
        for node in told["things"]:
            labels = sorted((THING, *node["labels"]))
            wanted[node["bears"]["id"]]["node"] = (node["bears"], labels)
        for each in told["edges"]:
            wanted[each["by"]].setdefault("edges", []).append(_comparable(each))
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        for identity, bears, labels in await self._database.rows(_NODES, {"ids": asked}):
            found[identity]["node"] = (bears, sorted(labels))
        sources = {*asked, *(edge["source"] for edge in told["edges"])}
        values = {"ids": asked, "sources": list(sources)}
        for by, source, kind, target, bears in await self._database.rows(_EDGES, values):
            edge = {"source": source, "type": kind, "target": target, "bears": bears}
            found[by].setdefault("edges", []).append(_comparable(edge))
        for shown in (*wanted.values(), *found.values()):
            shown.get("edges", []).sort()
        return [each for each in asked if wanted[each] != found[each]]

    async def ids(self) -> AsyncIterator[Sequence[str]]:
        """The ids of all things that the graph shows, page by page."""
        last = ""
        while True:
            rows = await self._database.rows(_IDS, {"last": last, "limit": _PAGE})
            if rows:
                yield [row[0] for row in rows]
                last = rows[-1][0]
            if len(rows) < _PAGE:
                break

    async def empty(self) -> None:
        """Take everything of the store out of the graph; other stores stay.

        The cursors go first: whoever applies meanwhile begins anew, and nothing is taken for shown.
        """
        for label in sorted(LABELS, key=lambda each: each != "_Cursor"):
            await self._database.rows(_EMPTY.format(label=label), seconds=WRITING)

    async def facts(self) -> Mapping[str, str | int]:
        """What the graph runs on, and how much it shows."""
        ((engine, things),) = await self._database.rows(_FACTS)
        return {"graph": engine, "graph things": things}


def _portions(folded: Sequence[Folded]) -> list[list[Folded]]:
    """Commits as they are written together."""
    found: list[list[Folded]] = [[]]
    room = THINGS_MAX
    for each in folded:
        if found[-1] and len(each.things) > room:
            found.append([])
            room = THINGS_MAX
        found[-1].append(each)
        room -= len(each.things)
    return found


def _following(folded: Sequence[Folded], cursor: int) -> tuple[dict[str, Thing], int]:
    """What the commits past the cursor made of things, and where it stands then.

    Raises:
        Conflict: `view.gap`.
    """
    after = dict[str, Thing]()
    for each in following(folded, Position(cursor)):
        after |= {thing.id: thing for thing in each.things}
        cursor = each.position
    return after, cursor


def _written(store: str, before: Mapping[str, Thing], after: Mapping[str, Thing]) -> dict[str, Any]:
    """What has to be written where things were `before` and are `after`."""
    gone, come = difference(edges_of, list(before.values()), list(after.values()))
    return {
        "things": [_node(store, before.get(thing.id), thing) for thing in after.values()],
        "edges_gone": [edge._asdict() for edge in gone],
        "edges": list(map(_edge, come)),
    }


def _node(store: str, was: Thing | None, thing: Thing) -> dict[str, Any]:
    shape = shape_of(store, thing)
    lost = [] if was is None else [each for each in labels_of(was) if each not in shape.labels]
    return {"bears": shape.bears, "labels": list(shape.labels), "lost": lost}


def _edge(edge: ShownEdge) -> dict[str, Any]:
    return edge._asdict() | {"bears": {"by": edge.by, **dict(edge.shows)}}


def _comparable(edge: Mapping[str, Any]) -> str:
    told = {key: edge[key] for key in ("source", "type", "target", "bears")}
    return json.dumps(told, sort_keys=True)

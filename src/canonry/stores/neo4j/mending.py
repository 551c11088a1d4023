"""Mending: the graph is compared with what things make, and written anew where it differs.

Whoever calls says what is true: another state of the same log, which stands where this one does.
Nobody else may apply meanwhile where something is written.
"""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final

from neo4j import AsyncManagedTransaction

from canonry.log.entries import Thing
from canonry.readmodels.listing import UNCOUNTED
from canonry.stores.neo4j.applying import VERSIONED, WRITE, past_node, written
from canonry.stores.neo4j.database import Neo4jDatabase, fetched
from canonry.stores.neo4j.shapes import THING

LONG: Final = 3600.0
"""So many seconds a look at the whole graph may take."""

_PAGE: Final = 500
_NODES: Final = """
MATCH (t:Thing) WHERE t.store = $store AND t.id IN $ids AND t.body IS NOT NULL
RETURN t.id, properties(t), labels(t)
"""
_EDGES: Final = """
MATCH (a:Thing) WHERE a.store = $store AND a.id IN $sources
MATCH (a)-[r]->(b) WHERE r.by IN $ids
RETURN r.by, a.id, type(r), b.id, properties(r)
"""
_KEPT: Final = (
    "MATCH (n:{label}) WHERE n.by IN $ids AND n.store = $store RETURN n.by, properties(n)"
)
_BESIDE: Final = {"rows": "_Row", "texts": "_Text", "dates": "_Date"}
_PAST: Final = """
UNWIND $past AS p MATCH (v:_Version {store: $store, id: p.id, since: p.since})
RETURN v.id, v.since, v.kind, v.body
"""
_IDS: Final = """
MATCH (t:Thing) WHERE t.store = $store AND t.id > $last AND t.body IS NOT NULL
RETURN t.id ORDER BY t.store, t.id LIMIT $limit
"""
_CLEAR: Final = """
CALL () { MATCH (l:_Row) WHERE l.by IN $ids AND l.store = $store DELETE l }
CALL () { MATCH (i:_Text) WHERE i.by IN $ids AND i.store = $store DELETE i }
CALL () { MATCH (d:_Date) WHERE d.by IN $ids AND d.store = $store DELETE d }
CALL () {
  MATCH (a:Thing) WHERE a.store = $store AND a.id IN $sources
  MATCH (a)-[r]->() WHERE r.by IN $ids DELETE r
}
MATCH (t:Thing) WHERE t.store = $store AND t.id IN $ids
WITH t, [label IN labels(t) WHERE label <> 'Thing'] AS lost
REMOVE t:$(lost) SET t = {store: t.store, id: t.id}
"""
_FORGET: Final = """
CALL () { MATCH (v:_Version) WHERE v.store = $store AND v.id IN $ids AND v.since >= 0 DELETE v }
MATCH (t:Thing) WHERE t.store = $store AND t.id IN $ids DETACH DELETE t
"""
_MISCOUNTED: Final = """
MATCH (l:_Row) WHERE l.store = $store
WITH l.run AS run, count(l) AS n WHERE NOT toInteger(split(run, ' ')[0]) IN $uncounted
OPTIONAL MATCH (u:_Run {run: run})
WITH run, n, u.n AS said WHERE said IS NULL OR said <> n
RETURN run, n
UNION ALL
MATCH (u:_Run) WHERE u.store = $store
AND NOT EXISTS { MATCH (l:_Row) WHERE l.run = u.run AND l.rank IS NOT NULL AND l.later IS NOT NULL
  AND l.id IS NOT NULL }
RETURN u.run AS run, 0 AS n
"""
_RECOUNT: Final = """
CALL () { UNWIND $runs AS b MERGE (u:_Run {run: b.run}) SET u = b }
MATCH (u:_Run) WHERE u.store = $store AND u.n = 0 DELETE u
"""
_FACTS: Final = """
CALL dbms.components() YIELD name, versions, edition
CALL () { MATCH (t:Thing) WHERE t.store = $store AND t.body IS NOT NULL RETURN count(t) AS things }
RETURN name + ' ' + versions[0] + ' ' + edition, things
"""


class Neo4jMending:
    """What upkeep does to a graph. After `put` or `remove`, `recount` makes totals right."""

    def __init__(self, database: Neo4jDatabase) -> None:
        """Share `database` with the view."""
        self._database = database

    async def differing(self, things: Mapping[str, Thing]) -> Sequence[str]:
        """The ids of those whose nodes, edges or rows are not what these things make."""
        store = self._database.name
        wanted: dict[str, dict[str, Any]] = defaultdict(dict)
        told = written(store, {}, things)
        for node in told["things"]:
            labels = sorted((THING, *node["labels"]))
            wanted[node["bears"]["id"]]["node"] = (node["bears"], labels)
        for name in ("edges", *_BESIDE):
            for each in told[name]:
                wanted[each["by"]].setdefault(name, []).append(_comparable(each, name))
        found = await self._stored(things, told["edges"])
        return [i for i in things if _sorted(wanted[i]) != _sorted(found[i])]

    async def _stored(
        self, things: Mapping[str, Thing], edges: Iterable[Mapping[str, Any]]
    ) -> Mapping[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        ids, ask = list(things), self._database.rows
        for identity, bears, labels in await ask(_NODES, {"ids": ids}):
            found[identity]["node"] = (bears, sorted(labels))
        values = {"ids": ids, "sources": _sources(ids, edges)}
        for by, source, kind, target, bears in await ask(_EDGES, values):
            edge = {"source": source, "type": kind, "target": target, "bears": bears}
            found[by].setdefault("edges", []).append(_comparable(edge, "edges"))
        for name, label in _BESIDE.items():
            for by, bears in await ask(_KEPT.format(label=label), {"ids": ids}):
                found[by].setdefault(name, []).append(_comparable(bears, name))
        return found

    async def differing_past(self, past: Iterable[Thing]) -> Sequence[Thing]:
        """Those of these former versions, each as its commit left it, that are not kept so."""
        versions = [each for each in past if isinstance(each, VERSIONED)]
        wanted = [past_node(each) for each in versions]
        rows = await self._database.rows(_PAST, {"past": wanted})
        there = {(row[0], row[1]): (row[2], row[3]) for row in rows}
        return [
            version
            for version, node in zip(versions, wanted, strict=True)
            if there.get((node["id"], node["since"])) != (node["kind"], node["body"])
        ]

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

    async def put(self, things: Mapping[str, Thing], past: Iterable[Thing] = ()) -> None:
        """Let the graph show these things, and keep these former versions, whatever it shows."""
        store = self._database.name
        told = written(store, {}, things) | {"runs": [], "erased": []}
        told |= {"store": store}
        told["past"] = [past_node(each) for each in past if isinstance(each, VERSIONED)]
        ids = list(things)
        values = {"store": store, "ids": ids, "sources": _sources(ids, told["edges"])}

        async def write(db: AsyncManagedTransaction) -> None:
            await fetched(db, _CLEAR, values)
            await fetched(db, WRITE, told)

        await self._database.writing(write)

    async def remove(self, ids: Sequence[str]) -> None:
        """Let the graph forget that there were things under these ids."""
        values = {"store": self._database.name, "ids": list(ids), "sources": list(ids)}

        async def write(db: AsyncManagedTransaction) -> None:
            await fetched(db, _CLEAR, values)
            await fetched(db, _FORGET, values)

        await self._database.writing(write)

    async def miscounted(self) -> Mapping[str, int]:
        """The runs that are said to be longer or shorter than they are, and how long they are."""
        values = {"uncounted": sorted(UNCOUNTED)}
        found = await self._database.rows(_MISCOUNTED, values, seconds=LONG)
        return {str(run): int(n) for run, n in found}

    async def recount(self) -> None:
        """Let every run be said to be as long as it is."""
        store, wrong = self._database.name, await self.miscounted()
        runs = [_run(store, run) | {"n": n} for run, n in wrong.items()]
        for start in range(0, len(runs), _PAGE):
            await self._database.rows(_RECOUNT, {"runs": runs[start : start + _PAGE]}, seconds=LONG)

    async def facts(self) -> Mapping[str, str | int]:
        """What the graph runs on, and how much it shows."""
        ((engine, things),) = await self._database.rows(_FACTS)
        return {"graph": engine, "graph things": things}


def _sources(ids: Iterable[str], edges: Iterable[Mapping[str, Any]]) -> list[str]:
    """Where the edges begin that these things give rise to."""
    return list({*ids, *(edge["source"] for edge in edges)})


def _comparable(told: Mapping[str, Any], name: str) -> str:
    if name == "edges":
        told = {key: told[key] for key in ("source", "type", "target", "bears")}
    return json.dumps(told, sort_keys=True)


def _sorted(told: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: sorted(told[name]) if name != "node" else told[name] for name in told}


def _run(store: str, run: str) -> dict[str, Any]:
    """What the node of a run bears, by its key."""
    listed, _, rest = run.partition(" ")
    owner, end = json.JSONDecoder().raw_decode(rest)
    _, space, facet = json.loads(tail := rest[end + 1 :])
    bears = {"run": run, "tail": tail, "store": store, "list": int(listed)}
    return bears | {"owner": owner, "space": space, "facet": facet}

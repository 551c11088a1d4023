"""Applying: what commits made of things becomes nodes and edges, with the cursor, or not at all.

It costs two round trips however much changes. The first waits for its turn and looks at what is
replaced; the second takes the turn again by writing the cursor, and writes everything if nobody was
quicker, else nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.log.encoding import decode_thing, encode_thing
from canonry.log.entries import THING_KINDS, Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import Story
from canonry.log.items.sources import Source
from canonry.readmodels.listing import difference
from canonry.readmodels.ports.view import Folded
from canonry.stores.neo4j.database import ATTEMPTS_MAX, WRITING, Neo4jDatabase
from canonry.stores.neo4j.rows import (
    RowNode,
    counted,
    date_node,
    dates_of,
    head_of,
    row_node,
    rows_of,
    tail_of,
    text_node,
    texts_of,
)
from canonry.stores.neo4j.shapes import ShownEdge, edges_of, labels_of, shape_of
from canonry.values.errors import Conflict, Unavailable
from canonry.values.ids import Space

VERSIONED: Final = (Entity, Relation, Fact, Event, Axiom, Source, Story, Space)
THINGS_MAX: Final = 2_000
"""After so many things what was applied is committed; a commit is never divided."""

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
WRITE: Final = """
CALL () {
  UNWIND $erased AS id
  MATCH (v:_Version) WHERE v.store = $store AND v.id = id AND v.since IS NOT NULL DELETE v
}
CALL () {
  UNWIND $things AS t
  MERGE (n:Thing {store: $store, id: t.bears.id})
  REMOVE n:$(t.lost)
  SET n = t.bears
  SET n:$(t.labels)
}
CALL () {
  UNWIND $past AS p
  MERGE (v:_Version {store: $store, id: p.id, since: p.since})
  SET v.kind = p.kind, v.space = p.space, v.body = p.body
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
CALL () {
  UNWIND $rows_gone AS g
  MATCH (l:_Row {run: g.run, rank: g.rank, later: g.later, id: g.id}) DELETE l
}
CALL () { UNWIND $rows AS b CREATE (l:_Row) SET l = b }
CALL () {
  UNWIND $runs AS g
  MERGE (u:_Run {run: g.bears.run}) ON CREATE SET u = g.bears, u.n = 0
  SET u.n = u.n + g.n
}
CALL () { UNWIND $runs AS g MATCH (u:_Run {run: g.bears.run}) WHERE u.n <= 0 DELETE u }
CALL () { UNWIND $texts_gone AS key MATCH (i:_Text {key: key}) DELETE i }
CALL () { UNWIND $texts AS b CREATE (i:_Text) SET i = b }
CALL () { UNWIND $dates_gone AS key MATCH (d:_Date {key: key}) DELETE d }
CALL () { UNWIND $dates AS b CREATE (d:_Date) SET d = b }
"""
_APPLY: Final = f"""
MATCH (c:_Cursor {{store: $store, space: $space}}) SET c.turn = true
WITH c WHERE c.position = $start
{WRITE}
SET c.position = $position
RETURN c.space
"""


def portions(folded: Sequence[Folded]) -> list[list[Folded]]:
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


async def show(database: Neo4jDatabase, folded: Sequence[Folded]) -> None:
    """Let the view show what commits of one space made of things, those past the cursor.

    Raises:
        Conflict: `view.gap`.
        Unavailable: `view.busy`, others apply without a pause.
    """
    place = {"space": folded[0].space}
    ids = list({thing.id for each in folded for thing in each.things})
    for _ in range(ATTEMPTS_MAX):
        ((cursor, found),) = await database.rows(_TURN, {**place, "ids": ids})
        things = (decode_thing(kind, body.encode()) for kind, body in found)
        told, position = _following(
            database.name, {thing.id: thing for thing in things}, folded, cursor
        )
        if position == cursor:
            return
        told |= {**place, "start": cursor, "position": position}
        if await database.rows(_APPLY, told, seconds=WRITING):
            return
    raise Unavailable("view.busy", "others write the same without a pause; try again")


def _following(
    store: str, before: Mapping[str, Thing], folded: Sequence[Folded], cursor: int
) -> tuple[dict[str, Any], int]:
    """What has to be written of what follows the cursor, and where it stands then."""
    after, past = dict[str, Thing](), Past()
    for each in folded:
        if each.position <= cursor:
            continue
        if each.position > cursor + 1:
            raise Conflict("view.gap", "commits are missing: apply those after the cursor first")
        for thing in each.things:
            past.keep(after.get(thing.id, before.get(thing.id)), thing)
            after[thing.id] = thing
        cursor = each.position
    told = written(store, {i: thing for i, thing in before.items() if i in after}, after)
    return told | {"past": past.nodes}, cursor


class Past:
    """What things were before they changed."""

    def __init__(self) -> None:
        """Nothing has changed yet."""
        self._nodes: dict[tuple[str, int], dict[str, Any]] = {}

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """What the nodes of the past bear."""
        return list(self._nodes.values())

    def keep(self, was: Thing | None, now: Thing) -> None:
        """Keep what a thing was, from the position on at which it became that."""
        if isinstance(now, Tombstone):
            for key in [key for key in self._nodes if key[0] == now.id]:
                del self._nodes[key]
        elif isinstance(was, VERSIONED) and was.changed_at < now.changed_at:
            self._nodes[was.id, was.changed_at] = past_node(was)


def past_node(was: Thing) -> dict[str, Any]:
    """What the node of a former version bears, from the position on at which it was that."""
    return {
        "id": was.id,
        "since": was.changed_at,
        "kind": THING_KINDS[type(was)],
        "space": was.space,
        "body": encode_thing(was).decode(),
    }


def written(store: str, before: Mapping[str, Thing], after: Mapping[str, Thing]) -> dict[str, Any]:
    """What has to be written where things were `before` and are `after`."""
    gone, come = list(before.values()), list(after.values())
    edges_gone, edges = difference(edges_of, gone, come)
    rows_gone, rows = difference(rows_of, gone, come)
    texts_gone, texts = difference(texts_of, gone, come)
    dates_gone, dates = difference(dates_of, gone, come)
    return {
        "erased": [thing.id for thing in come if isinstance(thing, Tombstone)],
        "things": [_node(store, before.get(thing.id), thing) for thing in come],
        "edges_gone": [edge._asdict() for edge in edges_gone],
        "edges": list(map(_edge, edges)),
        "rows_gone": [row_node(store, row) for row in rows_gone],
        "rows": [row_node(store, row) for row in rows],
        "runs": _runs(store, rows_gone, rows),
        "texts_gone": [text_node(store, row)["key"] for row in texts_gone],
        "texts": [text_node(store, row) for row in texts],
        "dates_gone": [date_node(store, row)["key"] for row in dates_gone],
        "dates": [date_node(store, row) for row in dates],
    }


def run_of(store: str, listed: int, owner: str | int, space: str = "", facet: str = "") -> str:
    """The key of a run."""
    return head_of(listed, owner) + tail_of(store, space, facet)


def _node(store: str, was: Thing | None, thing: Thing) -> dict[str, Any]:
    shape = shape_of(store, thing)
    lost = [] if was is None else [each for each in labels_of(was) if each not in shape.labels]
    return {"bears": shape.bears, "labels": list(shape.labels), "lost": lost}


def _edge(edge: ShownEdge) -> dict[str, Any]:
    return edge._asdict() | {"bears": {"by": edge.by, **dict(edge.shows)}}


def _runs(store: str, gone: Sequence[RowNode], come: Sequence[RowNode]) -> list[dict[str, Any]]:
    """How much longer runs become; in one order, so that no two writers wait for each other."""
    lengths, bears = Counter[str](), dict[str, dict[str, Any]]()
    for rows, change in ((gone, -1), (come, 1)):
        for run, node in counted(store, rows):
            lengths[run] += change
            bears[run] = node
    return [{"bears": bears[run], "n": n} for run, n in sorted(lengths.items()) if n]

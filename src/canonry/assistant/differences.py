"""The differences between two viewpoints of a space."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.assistant.desk import Desk
from canonry.assistant.rows import Row, filled, rows_of
from canonry.canon.queries.explain import ChangeQuery, list_changes
from canonry.canon.queries.listings import query_asserted, query_entities
from canonry.log.canon import ids_of
from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery
from canonry.values.provenance import CanonLevel

MOST: Final = 500
"""The most commits, items of each kind, and differences."""
_CANON: Final = (Entity, Fact, Event, Relation, Axiom, Scene, Turn)
_STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})


async def differences_between(
    one: Desk, other: Desk, *, within: str | None = None
) -> tuple[Sequence[Row], bool]:
    """Return what holds at one viewpoint and not at the other, or differently.

    A row has the kind, the id, and the texts `before` and `after`, with the names of their time.
    `within` selects the items of one scene. The second result says whether the search stopped at
    a limit.
    """
    things, more = await _touched(one, other)
    if one.canon.viewpoint.at != other.canon.viewpoint.at:
        dated, many = await _dated(one)
        things, more = things | {each.id: each for each in dated}, more or many
    if within is not None:
        things = {i: e for i, e in things.items() if getattr(e, "scene_id", "") == within}
    sides = [await _standing(desk, things) for desk in (one, other)]
    moved = [i for i in things if sides[0].get(i) != sides[1].get(i)]
    before, after = [
        await _told(desk, [side[i] for i in moved if i in side])
        for desk, side in zip((one, other), sides, strict=True)
    ]
    rows: list[Row] = []
    for i in moved:
        was, now = before.get(i, ("", "")), after.get(i, ("", ""))
        if was != now:
            row = {"kind": was[0] or now[0], "id": i, "before": was[1], "after": now[1]}
            rows.append(filled(row))
    return rows[:MOST], more or len(rows) > MOST


async def _standing(desk: Desk, things: Mapping[str, Thing]) -> dict[str, Thing]:
    """Return the items that hold at a viewpoint, as they are there."""
    return {
        each.id: each
        for each in await desk.holding(things.values())
        if isinstance(each, _CANON) and getattr(each, "level", CanonLevel.CANON) in _STANDING
    }


async def _told(desk: Desk, things: Sequence[Thing]) -> Mapping[str, tuple[str, str]]:
    """Return the kinds and the texts of items."""
    told: dict[str, tuple[str, str]] = {}
    for row, thing in zip(await rows_of(desk, things, full=True), things, strict=True):
        fields = thing.properties if isinstance(thing, Entity) and thing.description else {}
        tags = ", ".join(row.get("tags", ()))
        said = [row.get("name"), row.get("type"), tags, row.get("says")]
        said += [f"{name}: {value}" for name, value in fields.items()]
        told[thing.id] = row["kind"], " · ".join(str(each) for each in said if each)
    return told


async def _touched(one: Desk, other: Desk) -> tuple[dict[str, Thing], bool]:
    """Return the items written between the two transaction times, in the order of the log."""
    space, canon = one.space.id, one.canon.now or one.canon
    heads = [await desk.canon.ledger.head(space) for desk in (one, other)]
    after, until = Position(min(heads)), Position(max(heads))
    if after == until:
        return {}, False
    query = ChangeQuery(space=space, after=after, limit=min(until - after, MOST))
    found = await list_changes(canon, one.caller, query)
    ids = (i for each in found.written for entry in each.entries for i in ids_of(entry))
    kept = dict.fromkeys(i for i in ids if isinstance(found.things.get(i), _CANON))
    return {i: found.things[i] for i in kept}, until - after > MOST


async def _dated(desk: Desk) -> tuple[list[Thing], bool]:
    """Return the items that may differ between two valid times."""
    if desk.space.opened is None:
        return [], False
    ids: dict[str, Any] = {"universe_id": desk.space.id}
    canon, caller = desk.canon.now or desk.canon, desk.caller
    pages: list[Any] = [
        await query_entities(canon, caller, EntityQuery(limit=MOST), **ids),
        *[
            await query_asserted(canon, caller, kind(limit=MOST), **ids)
            for kind in (FactQuery, EventQuery, RelationQuery)
        ],
    ]
    found = [each for page in pages for each in page.items]
    return found, any(page.total > len(page.items) for page in pages)

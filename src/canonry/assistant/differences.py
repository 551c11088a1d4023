"""The differences between two viewpoints of a space."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.assistant.call_context import CallContext
from canonry.assistant.rows import Row, rows_of, without_empty
from canonry.canon.queries.explain import ChangeQuery, list_changes
from canonry.canon.queries.listings import query_all_asserted, query_entities
from canonry.log.commits import Position
from canonry.log.entries import StoredItem
from canonry.log.fold_commit import ids_of
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
    one: CallContext, other: CallContext, *, within: str | None = None
) -> tuple[Sequence[Row], bool]:
    """Return what holds at one viewpoint and not at the other, or differently.

    A row has the kind, the id, and the texts `before` and `after`, with the names of their time.
    `within` selects the items of one scene. The second result says whether the search stopped at
    a limit.
    """
    items, more = await _items_written(one, other)
    if one.canon.viewpoint.at != other.canon.viewpoint.at:
        dated, many = await _datable_items(one)
        items, more = items | {each.id: each for each in dated}, more or many
    if within is not None:
        items = {i: e for i, e in items.items() if getattr(e, "scene_id", "") == within}
    sides: list[dict[str, StoredItem]] = [
        {
            each.id: each
            for each in await context.items_holding(items.values())
            if isinstance(each, _CANON) and getattr(each, "level", CanonLevel.CANON) in _STANDING
        }
        for context in (one, other)
    ]
    moved = [i for i in items if sides[0].get(i) != sides[1].get(i)]
    before, after = [
        await _item_texts(context, [side[i] for i in moved if i in side])
        for context, side in zip((one, other), sides, strict=True)
    ]
    rows: list[Row] = []
    for i in moved:
        was, now = before.get(i, ("", "")), after.get(i, ("", ""))
        if was != now:
            row = {"kind": was[0] or now[0], "id": i, "before": was[1], "after": now[1]}
            rows.append(without_empty(row))
    return rows[:MOST], more or len(rows) > MOST


async def _item_texts(
    context: CallContext, items: Sequence[StoredItem]
) -> Mapping[str, tuple[str, str]]:
    """Return the kinds and the texts of items."""
    texts: dict[str, tuple[str, str]] = {}
    for row, item in zip(await rows_of(context, items, full=True), items, strict=True):
        fields = item.properties if isinstance(item, Entity) and item.description else {}
        tags = ", ".join(row.get("tags", ()))
        few = f"only for {', '.join(row['for'])}" if "for" in row else ""
        parts = [row.get("name"), row.get("type"), tags, row.get("says"), few]
        parts += [f"{name}: {value}" for name, value in fields.items()]
        texts[item.id] = row["kind"], " · ".join(str(each) for each in parts if each)
    return texts


async def _items_written(
    one: CallContext, other: CallContext
) -> tuple[dict[str, StoredItem], bool]:
    """Return the items written between the two transaction times, in the order of the log."""
    space, canon = one.space.id, one.canon.now or one.canon
    heads = [await context.canon.ledger.head_position(space) for context in (one, other)]
    after, until = Position(min(heads)), Position(max(heads))
    if after == until:
        return {}, False
    query = ChangeQuery(space=space, after=after, limit=min(until - after, MOST))
    found = await list_changes(canon, one.caller, query)
    ids = (i for each in found.written for entry in each.entries for i in ids_of(entry))
    kept = dict.fromkeys(i for i in ids if isinstance(found.items.get(i), _CANON))
    return {i: found.items[i] for i in kept}, until - after > MOST


async def _datable_items(context: CallContext) -> tuple[list[StoredItem], bool]:
    """Return the items that may differ between two valid times."""
    if context.space.opened is None:
        return [], False
    ids: dict[str, Any] = {"universe_id": context.space.id}
    canon, caller = context.canon.now or context.canon, context.caller
    asked = (FactQuery(limit=MOST), EventQuery(limit=MOST), RelationQuery(limit=MOST))
    pages: list[Any] = [
        await query_entities(canon, caller, EntityQuery(limit=MOST), **ids),
        *await query_all_asserted(canon, caller, asked, **ids),
    ]
    found = [each for page in pages for each in page.items]
    return found, any(page.total > len(page.items) for page in pages)

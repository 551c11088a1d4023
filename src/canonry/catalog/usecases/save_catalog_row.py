"""Save one row of a catalog, or withdraw a relation.

What is not given stays as it is, and a new entity is a draft.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.catalog.domain.rows import CatalogRow, read_row
from canonry.catalog.usecases.browse_catalog import require_project
from canonry.catalog.usecases.judge_catalog_relations import (
    ended,
    judge_rows,
    relation_row,
    standing_relations,
)
from canonry.catalog.usecases.judge_catalog_rows import Ahead, RowVerdict
from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.relations import RelationDraft
from canonry.log.keys import thing_key
from canonry.log.schemas.catalog_kinds import ARCHIVED, CONCEPT_KINDS, PUBLISHED
from canonry.log.schemas.catalog_tables import (
    CREATED_AT,
    ENTITIES,
    PROJECTS,
    RELATION_ROWS,
    UPDATED_AT,
    CatalogTable,
)
from canonry.readmodels.catalog import is_project, item_id, item_of, item_row, project_row, stamp
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import NewId, SpaceId
from canonry.values.spaces import Space, SpaceDraft

_NEW_IDS: Final = SpaceId("catalog")
"""Where ids of new rows come from: a retry of a request gives the same one."""

STATUS: Final = "status"
_REACHED: Final = {PUBLISHED: "publishedAt", ARCHIVED: "archivedAt"}
"""Status -> the field that says since when."""

_MISSING: Final = frozenset(("project.unknown", "entity.unknown"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRow:
    """The id of what was saved, and whether nothing (`made`) or exactly this (`same`) was there."""

    id: str
    made: bool
    same: bool


async def save_catalog_row(
    canon: Canon, caller: Caller, table: CatalogTable, given: Mapping[str, Any]
) -> SavedRow:
    """Store the row under its id, or under a new one where it has none.

    Raises:
        InvalidInput: what is wrong with a field, with its path.
        NotFound: `project.unknown` or `entity.unknown`, what the row refers to is not there.
        Conflict: what is there stands against it: another has the slug, the id was erased, ...
    """
    contract_id = str(given.get("id") or caller.commit_id(_NEW_IDS, canon.identities.fresh)).lower()
    project = SpaceId(str(given.get("projectId") or contract_id).lower())
    if table is not PROJECTS or given.get("id"):
        await require_project(canon, caller, project)
    elif caller.spaces is not None:
        raise NotFound("project.unknown", "this caller may not open projects", path="/id")
    now = stamp(canon.clock.now())

    async def read() -> CatalogRow:
        held = await _held(canon, table, project, contract_id, given)
        wanted = {**held, **_implied(table, given, held, now), **given, "id": contract_id}
        wanted[CREATED_AT] = held.get(CREATED_AT)
        if any(column.name == UPDATED_AT for column in table.columns):
            wanted[UPDATED_AT] = None
        return _read(table, wanted)

    async with canon.ledger.exclusive() if table is PROJECTS else nullcontext():
        made, same = await store_row(canon, caller, project, read, now)
    return SavedRow(id=contract_id, made=made, same=same)


async def store_row(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    read: Callable[[], Awaitable[CatalogRow]],
    now: str,
) -> tuple[bool, bool]:
    """Judge the row that `read` gives and commit what it changes: whether it is new, or the same.

    It is read again when others have written meanwhile, so that it may rest on what is stored.

    Raises:
        CanonryError: what `read` objects.
        NotFound, Conflict: the first problem of the row, as the caller can act on it.
    """
    verdict = RowVerdict()

    async def prepare(new_id: NewId) -> Change:
        nonlocal verdict
        verdict = await judge_rows(canon, (await read(),), Ahead(), now)
        for each in verdict.problems:
            kind = NotFound if each.code in _MISSING else Conflict
            raise kind(each.code, f"{each.field}: {each.reason}", path=f"/{each.field}")
        return verdict.change(new_id)

    receipt = await commit_change(canon, caller, space, prepare)
    if verdict.rows:
        return verdict.rows[0].fresh, verdict.rows[0].make is None
    return bool(receipt.made(SpaceDraft, EntityDraft, RelationDraft)), False  # as it was told then


async def _held(
    canon: Canon, table: CatalogTable, project: SpaceId, contract_id: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The row as it is stored; nothing where there is none."""
    if table is RELATION_ROWS:
        return await _held_relation(canon, project, contract_id)
    if table is PROJECTS:
        space = await canon.within(project).thing(project)
        return project_row(space) if isinstance(space, Space) and is_project(space) else {}
    kind = table.kind or str(given.get("entityType", "guide"))
    thing_id = item_id(project, kind, contract_id)
    entity = await canon.within(project).thing(thing_id)
    return item_row(entity) if isinstance(entity, Entity) else {}


async def _held_relation(canon: Canon, project: SpaceId, contract_id: str) -> dict[str, Any]:
    current, _ = (await standing_relations(canon, project, (contract_id,)))[contract_id]
    if current is None:
        return {}
    things = await canon.within(project).things((current.from_id, current.to_id))
    source, target = item_of(things.get(current.from_id)), item_of(things.get(current.to_id))
    ends = {"from": source, "to": target}
    row = {**relation_row(current), "projectId": project, "relationType": current.rel_type}
    for side, item in ends.items():
        if item is not None:
            row |= {f"{side}EntityType": item.kind, f"{side}EntityId": item.id}
    return row


def _implied(
    table: CatalogTable, given: Mapping[str, Any], held: Mapping[str, Any], now: str
) -> dict[str, Any]:
    """What follows from what is given: a plain concept, and when a status was reached."""
    status = given.get(STATUS)
    found = {}
    if status != held.get(STATUS) and status in _REACHED:
        found = {
            name: now for name in (_REACHED[status],) if name in {c.name for c in table.columns}
        }
    if table is ENTITIES and not held and given.get("entityType") == "concept":
        found["conceptKind"] = CONCEPT_KINDS[0]
    return found


def _read(table: CatalogTable, values: Mapping[str, Any]) -> CatalogRow:
    row, problems = read_row(table, 0, values)
    if row is None:
        first = problems[0]
        raise InvalidInput(first.code, f"{first.field}: {first.reason}", path=f"/{first.field}")
    return row


async def withdraw_catalog_relation(
    canon: Canon, caller: Caller, project: SpaceId, contract_id: str, reason: str
) -> None:
    """End the relation that bears this id; the log keeps that it held.

    Raises:
        NotFound: `relation.unknown`.
    """

    async def prepare(new_id: NewId) -> Change:
        del new_id
        current, _ = (await standing_relations(canon, project, (contract_id,)))[contract_id]
        if current is None or not await canon.seen_by(caller).sees(project):
            message = "the project has no relation with this id"
            raise NotFound("relation.unknown", message, path="/relationId")
        entry = ended(current, reason=reason)
        return Change(entries=(entry,), reads=frozenset((thing_key(current.id),)))

    await commit_change(canon, caller, project, prepare)

"""Save one row of a catalog: what is not given stays as it is, and a new entity is a draft."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

from canonry.domain.catalog.catalog import (
    is_project,
    item_id,
    item_of,
    item_row,
    project_row,
    stamp,
)
from canonry.domain.catalog.rows import CatalogRow, RowProblem, read_row
from canonry.domain.errors import Conflict, InvalidInput, NotFound
from canonry.domain.ids import SpaceId
from canonry.domain.spaces import Space
from canonry.domain.things.entities import Entity
from canonry.domain.vocabularies.catalog_kinds import ARCHIVED, CONCEPT_KINDS, PUBLISHED
from canonry.domain.vocabularies.catalog_tables import (
    CREATED_AT,
    ENTITIES,
    PROJECTS,
    RELATION_ROWS,
    UPDATED_AT,
    CatalogTable,
)
from canonry.usecases.catalog.import_catalog import store_row
from canonry.usecases.catalog.judge_catalog_relations import relation_row, standing_relations
from canonry.usecases.catalog.judge_catalog_rows import JudgedRow
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

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
    project = str(given.get("projectId") or contract_id).lower()
    if table is not PROJECTS or given.get("id"):
        _require_sight(caller, project)
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

    judged = await _stored(canon, caller, SpaceId(project), table=table, read=read, now=now)
    if judged is None:
        return SavedRow(id=contract_id, made=False, same=True)
    return SavedRow(id=contract_id, made=judged.fresh, same=judged.make is None)


async def _stored(
    canon: Canon,
    caller: Caller,
    project: SpaceId,
    *,
    table: CatalogTable,
    read: Callable[[], Awaitable[CatalogRow]],
    now: str,
) -> JudgedRow | None:
    """Store one row; a problem is an error of its own kind. No space guards a project's slug."""
    alone = canon.ledger.exclusive() if table is PROJECTS else nullcontext()
    try:
        async with alone:
            return await store_row(canon, caller, project, read, now)
    except InvalidInput as error:
        if error.code != "catalog.invalid":
            raise
        raise _as_told(error) from error


def _require_sight(caller: Caller, project: str) -> None:
    if not caller.sees(SpaceId(project)):
        raise NotFound("project.unknown", "there is no project with this id", path="/projectId")


async def _held(
    canon: Canon, table: CatalogTable, project: str, contract_id: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The row as it is stored; nothing where there is none."""
    if table is RELATION_ROWS:
        return await _held_relation(canon, project, contract_id)
    if table is PROJECTS:
        space = (await canon.state.things((project,))).get(project)
        return project_row(space) if isinstance(space, Space) and is_project(space) else {}
    kind = table.kind or str(given.get("entityType", "guide"))
    thing_id = item_id(project, kind, contract_id)
    entity = (await canon.state.things((thing_id,))).get(thing_id)
    return item_row(entity) if isinstance(entity, Entity) else {}


async def _held_relation(canon: Canon, project: str, contract_id: str) -> dict[str, Any]:
    current, _ = (await standing_relations(canon, project, (contract_id,)))[contract_id]
    if current is None:
        return {}
    things = await canon.state.things((current.from_id, current.to_id))
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
        raise InvalidInput(first.code, _said(first), path=f"/{first.field}")
    return row


def _said(problem: RowProblem) -> str:
    return f"{problem.field}: {problem.reason}"


def _as_told(error: InvalidInput) -> InvalidInput | NotFound | Conflict:
    """The one problem of a row, as the error that a caller can act on."""
    code, spot = str(error.details["problem"]), str(error.details["path"])
    field = spot.rpartition("/")[2]
    message = str(error.details["problems"][0]).partition("].")[2]
    if code in _MISSING:
        return NotFound(code, message, path=f"/{field}")
    return Conflict(code, message, path=f"/{field}")

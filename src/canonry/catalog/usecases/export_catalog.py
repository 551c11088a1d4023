"""Export a catalog as the arrays that an import takes; equal catalogs give equal arrays."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item
from canonry.catalog.usecases.judge_catalog_relations import relation_row
from canonry.log.items.entities import Entity
from canonry.log.items.relations import Relation
from canonry.log.schemas.catalog_kinds import (
    CONTENT_KINDS,
    DISTRIBUTION_EVENT,
    ITEM_KINDS,
    SOURCE_ITEM,
    VIDEO,
)
from canonry.log.schemas.catalog_tables import (
    DISTRIBUTION_EVENTS,
    ENTITIES,
    PROJECTS,
    RELATION_ROWS,
    SOURCE_ITEMS,
    VIDEOS,
)
from canonry.readmodels.catalog import item_of, item_row, project_row
from canonry.readmodels.ports.catalog import PLACE_BEFORE_ALL
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.upkeep import UpkeepProgress
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId
from canonry.values.spaces import Space, SpaceKind

TableRow: TypeAlias = tuple[str, Mapping[str, Any]]
"""The array that a row belongs to, and the row."""

_ARRAYS: Final = {
    ENTITIES.array: CONTENT_KINDS,
    SOURCE_ITEMS.array: (SOURCE_ITEM,),
    DISTRIBUTION_EVENTS.array: (DISTRIBUTION_EVENT,),
    VIDEOS.array: (VIDEO,),
}


async def export_catalog(
    canon: Canon, spaces: Spaces, told: UpkeepProgress
) -> AsyncIterator[TableRow]:
    """(array, row) for every row of these projects, array by array; None: all projects.

    All rows are of one state, or the last of them is followed by an error.

    Raises:
        NotFound: `project.unknown`.
        Unavailable: `catalog.moved`, somebody wrote into a project meanwhile.
    """
    heads = {
        space.id: await canon.ledger.head(space.id) for space in await _projects(canon, spaces)
    }
    projects = await _projects(canon, frozenset(heads))
    done = 0
    for space in projects:
        yield PROJECTS.array, project_row(space)
    for rows in (_item_rows(canon, projects), _relation_rows(canon, projects)):
        async for each in rows:
            yield each
            done += 1
            told(done, None)
    for project, head in heads.items():
        if await canon.ledger.head(project) != head:
            message = (
                "somebody wrote into the catalog while it was written out; run it again, or "
                "write out a backup"
            )
            raise Unavailable("catalog.moved", message)


async def _item_rows(canon: Canon, projects: Sequence[Space]) -> AsyncIterator[TableRow]:
    for array, kinds in _ARRAYS.items():
        for space, kind in product(projects, kinds):
            async for entity in _items(canon, space.id, kind):
                yield array, item_row(entity)


async def _relation_rows(canon: Canon, projects: Sequence[Space]) -> AsyncIterator[TableRow]:
    for space, kind in product(projects, ITEM_KINDS):
        async for entity in _items(canon, space.id, kind):
            async for row in _relations(canon, entity):
                yield RELATION_ROWS.array, row


async def _projects(canon: Canon, spaces: Spaces) -> list[Space]:
    if spaces is not None:
        found = list(await canon.catalog.projects(spaces, limit=len(spaces)))
        for missing in spaces - {space.id for space in found}:
            raise unknown("project", missing)
        return sorted(found, key=lambda space: space.id)
    pages = partial(canon.state.spaces, kind=SpaceKind.PROJECT, parent=None)
    return sorted([each async for each in every_item(pages)], key=lambda space: space.id)


async def _items(canon: Canon, project: SpaceId, kind: str) -> AsyncIterator[Entity]:
    after = PLACE_BEFORE_ALL
    while page := await canon.catalog.items(project, kind, after=after, limit=PAGE_MAX):
        for entity in page:
            yield entity
        last = item_of(page[-1])
        if last is None:
            return
        after = (last.word, last.id)


async def _relations(canon: Canon, source: Entity) -> AsyncIterator[Mapping[str, Any]]:
    after = PLACE_BEFORE_ALL
    while page := await canon.catalog.relations_from(source.id, after=after, limit=PAGE_MAX):
        targets = await canon.within(source.space).things(each.to_id for each in page)
        for relation in page:
            target = item_of(targets.get(relation.to_id))
            if target is not None:
                yield _relation_row(relation, source, target.kind, target.id)
        after = (page[-1].to_id, page[-1].rel_type)


def _relation_row(
    relation: Relation, source: Entity, kind: str, target_id: str
) -> Mapping[str, Any]:
    kept = relation_row(relation)
    values = {
        **kept,
        "projectId": relation.space,
        "fromEntityType": source.entity_type,
        "fromEntityId": source.properties["id"],
        "toEntityType": kind,
        "toEntityId": target_id,
        "relationType": relation.rel_type,
    }
    return {column.name: values[column.name] for column in RELATION_ROWS.columns}

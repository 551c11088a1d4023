"""Browse a catalog: the four questions of an agent; what it may not see is as if it were not."""

from collections.abc import Iterable, Sequence
from typing import Final

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.catalog_tables import CONTENT_KINDS
from canonry.readmodels.catalog import item_id
from canonry.readmodels.ports.documents import (
    CatalogEntry,
    CatalogFound,
    CatalogGraph,
    CatalogQuery,
    GraphQuery,
)
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.errors import NotFound
from canonry.values.ids import Space, SpaceId
from canonry.values.provenance import CanonLevel

PROJECTS_MAX: Final = 100


async def list_projects(canon: Canon, caller: Caller) -> tuple[Sequence[Space], bool]:
    """The first hundred projects that the caller may see, by name, and whether there are more."""
    found = await canon.catalog.projects(caller.spaces, limit=PROJECTS_MAX + 1)
    return found[:PROJECTS_MAX], len(found) > PROJECTS_MAX


async def search_catalog(
    canon: Canon, caller: Caller, project: SpaceId, text: str, *, kinds: Iterable[str], limit: int
) -> CatalogFound:
    """Entities of a project whose text contains `text`; no `kinds` means all.

    Raises:
        NotFound: `project.unknown`.
    """
    await require_project(canon, caller, project)
    query = CatalogQuery(project=project, text=text, kinds=frozenset(kinds), limit=limit)
    return await canon.catalog.search(query)


async def list_items(
    canon: Canon, caller: Caller, pattern: str | None, *, limit: int, offset: int
) -> tuple[Sequence[Entity], int]:
    """Content of the projects that the caller may see, kind by kind, and how much there is.

    With a `pattern`, that whose titles fit it.
    """
    spaces = frozenset(each.id for each in (await list_projects(canon, caller))[0])
    found: list[Entity] = []
    total, skip = 0, offset
    for kind in CONTENT_KINDS if spaces else ():
        left = limit - len(found)
        query = EntityQuery(
            spaces=spaces,
            entity_type=kind,
            level=CanonLevel.CANON,
            name_pattern=pattern,
            limit=max(left, 1),
            offset=skip,
        )
        page = await canon.state.entities(query)
        found += page.items[: max(left, 0)]
        total, skip = total + page.total, max(0, skip - page.total)
    return found, total


async def project_of(canon: Canon, caller: Caller, entity_id: str) -> SpaceId:
    """The project that holds this content, the first by name of those that the caller may see.

    Raises:
        NotFound: `entity.unknown`.
    """
    projects, _ = await list_projects(canon, caller)
    ids = {item_id(each.id, CONTENT_KINDS[0], entity_id): each.id for each in projects}
    known = await canon.seen_by(caller).things(ids)
    for thing_id, project in ids.items():
        if thing_id in known:
            return project
    raise unknown("entity", entity_id)


async def get_catalog_entity(
    canon: Canon, caller: Caller, project: SpaceId, entity_id: str
) -> CatalogEntry:
    """One entity of a project.

    Raises:
        NotFound: `project.unknown` or `entity.unknown`.
    """
    await require_project(canon, caller, project)
    return await canon.catalog.entry(project, entity_id)


async def get_catalog_graph(
    canon: Canon,
    caller: Caller,
    project: SpaceId,
    entity_id: str,
    *,
    depth: int,
    rel_types: Iterable[str],
) -> CatalogGraph:
    """What surrounds an entity of a project; no `rel_types` means all.

    Raises:
        NotFound: `project.unknown` or `entity.unknown`.
    """
    await require_project(canon, caller, project)
    query = GraphQuery(
        project=project, entity_id=entity_id, depth=depth, rel_types=frozenset(rel_types)
    )
    return await canon.catalog.graph(query)


async def require_project(canon: Canon, caller: Caller, project: SpaceId) -> None:
    """Refuse a project that the caller may not see, exactly as if it did not exist.

    Raises:
        NotFound: `project.unknown`.
    """
    if not await canon.seen_by(caller).sees(project):
        raise NotFound("project.unknown", "there is no project with this id", path="/projectId")

"""Browse a catalog: the four questions of an agent; what it may not see is as if it were not."""

from collections.abc import Iterable, Sequence
from typing import Final

from canonry.domain.errors import NotFound
from canonry.domain.ids import SpaceId
from canonry.domain.spaces import Space
from canonry.ports.views.catalog import (
    CatalogEntry,
    CatalogFound,
    CatalogGraph,
    CatalogQuery,
    GraphQuery,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

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

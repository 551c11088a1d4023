"""What a person can browse of catalogs: the projects, and the items in them."""

from collections.abc import Mapping
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.catalog.toolset.answers import get_item
from canonry.catalog.usecases.browse_catalog import list_items, list_projects, project_of
from canonry.gateway.browsing import beginning
from canonry.gateway.tool import ANYONE, Reply, Resource, Shelf, Shelved, Variables
from canonry.readmodels.catalog import item_row, project_row
from canonry.values.errors import NotFound
from canonry.values.json_values import encode_json


async def _project(canon: Canon, caller: Caller, variables: Variables) -> str:
    wanted = variables["project_id"].lower()
    for each in (await list_projects(canon, caller))[0]:
        if each.id == wanted:
            return _json(project_row(each))
    raise NotFound("project.unknown", "there is no project with this id", path="/project_id")


async def _item(canon: Canon, caller: Caller, variables: Variables) -> str:
    wanted = variables["item_id"].lower()
    project = await project_of(canon, caller, wanted)
    return _json(await get_item(canon, caller, {"projectId": project, "entityId": wanted}))


def _json(value: Reply) -> str:
    return encode_json(value).decode()


async def _projects(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    projects, _ = await list_projects(canon, caller)
    return beginning([(each.id, each.name) for each in projects], word, offset, limit)


async def _items(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    pattern = f"{word}*" if word else None
    found, total = await list_items(canon, caller, pattern, limit=limit, offset=offset)
    return [(item_row(e)["id"], f"{e.name} ({e.entity_type})") for e in found], total


SHELVES: Final[Mapping[str, Shelf]] = {
    "project_id": Shelf(find=_projects),
    "item_id": Shelf(find=_items),
}
RESOURCES: Final = (
    Resource(
        uri_template="catalog://project/{project_id}",
        name="project",
        title="Project",
        description="A project of the catalog.",
        mime_type="application/json",
        roles=ANYONE,
        read=_project,
    ),
    Resource(
        uri_template="catalog://item/{item_id}",
        name="item",
        title="Item",
        description="A guide, concept, news or other item of a project, in full.",
        mime_type="application/json",
        roles=ANYONE,
        read=_item,
    ),
)

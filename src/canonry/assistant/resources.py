"""What a person can browse: the spaces, and the entities in them, each as `get` tells it."""

from collections.abc import Mapping
from typing import Final

from canonry.assistant import finding, spaces
from canonry.assistant.desk import EVERYBODY
from canonry.canon.queries.listings import choose_space, list_spaces
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.browsing import beginning
from canonry.gateway.tool import Resource, Shelf, Shelved
from canonry.readmodels.ports.state import EntityQuery
from canonry.records.usecases.records import list_entities
from canonry.values.json_values import encode_json


async def _thing(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    arguments = {"of": variables["thing_id"], "full": True}
    return encode_json(await finding.get(canon, caller, arguments)).decode()


async def _space(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    return encode_json(
        spaces.row_of(await choose_space(canon, caller, variables["space_id"]))
    ).decode()


async def _spaces(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    spaces = ((each.id, each.name) for each in await list_spaces(canon, caller))
    return beginning(spaces, word, offset, limit)


async def _entities(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    query = EntityQuery(name_pattern=f"{word}*" if word else None, limit=limit, offset=offset)
    page = await list_entities(canon, caller, None, query)
    return [(each.id, f"{each.name} ({each.entity_type})") for each in page.items], page.total


SHELVES: Final[Mapping[str, Shelf]] = {
    "space_id": Shelf(find=_spaces),
    "thing_id": Shelf(find=_entities),
}

THING: Final = Resource(
    uri_template="canon://thing/{thing_id}",
    name="thing",
    title="Thing",
    description="An entity, fact, event, scene, document or proposal, in full.",
    mime_type="application/json",
    roles=EVERYBODY,
    read=_thing,
)
RESOURCES: Final = (
    Resource(
        uri_template="canon://space/{space_id}",
        name="space",
        title="Space",
        description="A space, and what it holds.",
        mime_type="application/json",
        roles=EVERYBODY,
        read=_space,
    ),
    THING,
)

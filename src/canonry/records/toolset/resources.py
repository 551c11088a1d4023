"""What a user can browse of their own records: accounts, entities, sources, and their files."""

from collections.abc import Mapping
from typing import Final

from canonry.canon.session.account import account_of, require_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.browsing import beginning, through
from canonry.gateway.tool import Shelf, Shelved, Variables
from canonry.records.toolset.documents import FILE, SOURCE_LINK, as_json, user_resource
from canonry.records.toolset.entities import get_snapshot
from canonry.records.toolset.schemas import list_types
from canonry.records.usecases.records import EntityQuery, list_entities, list_sources

_TYPES_SHOWN: Final = 1_000


async def _account(canon: Canon, caller: Caller, variables: Variables) -> str:
    account = require_account(caller, variables["user_id"])
    asked = {"include_fields": False, "limit": _TYPES_SHOWN, "offset": 0}
    types = await list_types(canon, caller, asked)
    return as_json({"user_id": account.user_id, **types})


async def _entity(canon: Canon, caller: Caller, variables: Variables) -> str:
    return as_json(await get_snapshot(canon, caller, variables))


async def _accounts(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    del canon  # nobody is told of another's
    own = account_of(caller).user_id
    return beginning([(own, "Your own account")], word, offset, limit)


async def _entities(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    query = EntityQuery(name_pattern=f"{word}*" if word else None, limit=limit, offset=offset)
    page = await list_entities(canon, caller, None, query)
    return [(each.id, f"{each.name} ({each.entity_type})") for each in page.items], page.total


async def _sources(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    async def page(limit: int, offset: int) -> Shelved:
        found = await list_sources(canon, caller, limit=limit, offset=offset)
        named = [(e.id, e.title or e.file_name or e.source_type.value) for e in found.items]
        return named, found.total

    return await through(page, word, offset, limit)


SHELVES: Final[Mapping[str, Shelf]] = {
    "user_id": Shelf(find=_accounts),
    "entity_id": Shelf(find=_entities),
    "source_id": Shelf(find=_sources),
}


RESOURCES: Final = (
    user_resource("truth://account/{user_id}", "account", "Your account: its types.", _account),
    user_resource(
        "truth://entity/{entity_id}", "entity", "An entity with its current fields.", _entity
    ),
    SOURCE_LINK,
    FILE,
)

"""Update a universe: what it is called and like; what lies in it stays as it is."""

from collections.abc import Mapping

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import NewId
from canonry.domain.log.entries import SpaceRevised
from canonry.domain.log.keys import thing_key
from canonry.domain.spaces import Space
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.lookup import require_universe


async def update_universe(
    canon: Canon,
    caller: Caller,
    universe_id: str,
    *,
    name: str | None,
    description: str | None,
    properties: Mapping[str, str],
) -> Space:
    """Change what is named; what stands so already is not written again.

    Raises:
        InvalidInput: `universe.empty-update`.
        NotFound: `universe.unknown`.
    """
    if name is None and description is None and not properties:
        message = "name what changes: name, description, genre, tone or tech_level"
        raise InvalidInput("universe.empty-update", message, path="")
    space = (await require_universe(canon, caller, universe_id)).id

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        now = await require_universe(canon, caller, universe_id)
        then = SpaceRevised(
            space_id=space,
            name=now.name if name is None else name,
            description=now.description if description is None else description,
            properties={**now.properties, **properties},
        )
        told = (then.name, then.description, dict(then.properties))
        same = told == (now.name, now.description, dict(now.properties))
        entries = () if same else (then,)
        return Change(entries=entries, reads=frozenset((thing_key(space),)))

    await commit_change(canon, caller, space, prepare)
    return await require_universe(canon, caller, universe_id)

"""Covered spaces: what a query may look at; nobody finds what they may not see."""

from canonry.domain.ids import SpaceId
from canonry.domain.spaces import Space, SpaceKind
from canonry.ports.views.state import Spaces
from canonry.usecases.caller import Caller
from canonry.usecases.canon import Canon
from canonry.usecases.lookup import require_universe


async def covered_spaces(canon: Canon, caller: Caller, universe_id: str | None) -> Spaces:
    """The spaces that a query covers: the one that it names, or all that the caller sees.

    It names a universe, a world or a catalog's project, where no story takes place.

    Raises:
        NotFound: `universe.unknown`.
    """
    if universe_id is None:
        return caller.spaces
    named = (await canon.state.things((universe_id,))).get(universe_id)
    if isinstance(named, Space) and named.kind is SpaceKind.PROJECT and caller.sees(named.id):
        return frozenset((SpaceId(universe_id),))
    return frozenset(((await require_universe(canon, caller, universe_id)).id,))

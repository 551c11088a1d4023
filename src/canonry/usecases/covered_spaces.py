"""Covered spaces: what a query may look at; nobody finds what they may not see."""

from canonry.ports.views.state import Spaces
from canonry.usecases.caller import Caller
from canonry.usecases.canon import Canon
from canonry.usecases.lookup import require_universe


async def covered_spaces(canon: Canon, caller: Caller, universe_id: str | None) -> Spaces:
    """The spaces that a query covers: the universe that it names, or all that the caller sees.

    Raises:
        NotFound: `universe.unknown`.
    """
    if universe_id is None:
        return caller.spaces
    return frozenset(((await require_universe(canon, caller, universe_id)).id,))

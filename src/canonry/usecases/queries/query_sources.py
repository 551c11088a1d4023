"""Query sources: what the canon of one universe rests on, oldest first."""

from canonry.domain.things.sources import Source
from canonry.ports.views.pages import Page
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require_universe


async def query_sources(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Source]:
    """Sources by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    return await canon.state.sources(space, limit=limit, offset=offset)

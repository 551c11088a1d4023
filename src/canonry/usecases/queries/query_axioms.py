"""Query axioms: the laws of one universe, oldest first."""

from canonry.domain.things.facts import Axiom
from canonry.ports.views.pages import Page
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require_universe


async def query_axioms(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Axiom]:
    """Axioms by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    return await canon.state.axioms(space, limit=limit, offset=offset)

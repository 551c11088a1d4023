"""Query axioms: the laws of one universe, oldest first."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_universe
from canonry.log.items.facts import Axiom
from canonry.readmodels.ports.pages import Page


async def query_axioms(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Axiom]:
    """Axioms by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    return await canon.state.axioms(space, limit=limit, offset=offset)

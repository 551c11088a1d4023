"""Query snippets: the excerpts of one source, in reading order."""

from canonry.domain.things.sources import Snippet, Source
from canonry.ports.views.pages import Page
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require


async def query_snippets(
    canon: Canon, caller: Caller, source_id: str, *, limit: int, offset: int
) -> Page[Snippet]:
    """Snippets by index.

    Raises:
        NotFound: `source.unknown`.
    """
    source = await require(canon, caller, Source, source_id)
    return await canon.documents.snippets(source.id, limit=limit, offset=offset)

"""Query snippets: the excerpts of one source, in reading order."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.ports.pages import Page


async def query_snippets(
    canon: Canon, caller: Caller, source_id: str, *, limit: int, offset: int
) -> Page[Snippet]:
    """Snippets by index.

    Raises:
        NotFound: `source.unknown`.
    """
    source = await require(canon, caller, Source, source_id)
    return await canon.documents.snippets(source.id, limit=limit, offset=offset)

"""The rows of a catalog's project, filtered by words and kinds."""

from typing import Final

from starlette.responses import Response

from canonry.assistant.call_context import context_of
from canonry.assistant.rows import rows_of
from canonry.canon.queries.listings import query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.catalog.usecases.rows import search_catalog
from canonry.gateway.tool import Arguments
from canonry.inspector.sign_in import PageRequest
from canonry.inspector.views.spaces import Seen, entity_types, space_of_call
from canonry.readmodels.ports.state import EntityQuery

PAGE: Final = 50  # bounds the time of a page: bench inspector


async def catalog_page(visit: PageRequest) -> Response:
    """Show the rows of a catalog's project."""
    seen = await visit.show_view(
        "find",
        seen_catalog,
        space=visit.query_parameter("space"),
        text=visit.query_parameter("q")[:1_000],
        type=visit.query_parameter("type"),
        offset=visit.offset,
    )
    return visit.draw_page("catalog.html", seen=seen, offset=visit.offset, step=PAGE)


async def seen_catalog(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the rows of a project with the words, or all rows."""
    context = await context_of(canon, caller, arguments)
    text, kind = arguments.get("text"), arguments.get("type")
    offset = int(arguments.get("offset", 0))
    kinds = sorted(await entity_types(context))
    if text:
        wanted = () if kind is None else (kind,)
        page = await search_catalog(
            canon, caller, context.space.id, text, kinds=wanted, limit=offset + PAGE
        )
        items = page.items[offset:]
    else:
        query = EntityQuery(entity_type=kind, limit=PAGE, offset=offset)
        page = await query_entities(canon, caller, query, universe_id=context.space.id)
        items = page.items
    return {
        "space": await space_of_call(context),
        "rows": await rows_of(context, items),
        "kinds": kinds,
        "total": page.total,
    }

"""The rows of a catalog's project, filtered by words and kinds."""

from typing import Final

from starlette.responses import Response

from canonry.assistant.desk import desk_of
from canonry.assistant.rows import rows_of
from canonry.canon.queries.listings import query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.catalog.usecases.rows import search_catalog
from canonry.gateway.tool import Arguments
from canonry.inspector.doors import Visit
from canonry.inspector.views.places import Seen, entity_types, place_of
from canonry.readmodels.ports.state import EntityQuery

PAGE: Final = 50


async def catalog_page(visit: Visit) -> Response:
    """Show the rows of a catalog's project."""
    seen = await visit.show(
        "find",
        seen_shelf,
        space=visit.asked("space"),
        text=visit.asked("q")[:1_000],
        type=visit.asked("type"),
        offset=visit.offset,
    )
    return visit.draw("catalog.html", seen=seen, offset=visit.offset, step=PAGE)


async def seen_shelf(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the rows of a project with the words, or all rows."""
    desk = await desk_of(canon, caller, arguments)
    text, kind = arguments.get("text"), arguments.get("type")
    offset = int(arguments.get("offset", 0))
    kinds = sorted(await entity_types(desk))
    if text:
        wanted = () if kind is None else (kind,)
        page = await search_catalog(
            canon, caller, desk.space.id, text, kinds=wanted, limit=offset + PAGE
        )
        items = page.items[offset:]
    else:
        query = EntityQuery(entity_type=kind, limit=PAGE, offset=offset)
        page = await query_entities(canon, caller, query, universe_id=desk.space.id)
        items = page.items
    return {
        "space": await place_of(desk),
        "rows": await rows_of(desk, items),
        "kinds": kinds,
        "total": page.total,
    }

"""Query universes: those that the caller may see, of one multiverse or of all."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.readmodels.ports.pages import Page
from canonry.values.ids import SpaceId
from canonry.values.spaces import Space, SpaceKind


async def query_universes(
    canon: Canon, caller: Caller, *, parent: str | None, limit: int, offset: int
) -> Page[Space]:
    """Universes by (created_at, id)."""
    wanted = None if parent is None else SpaceId(parent)
    if caller.spaces is None:
        return await canon.state.spaces(
            kind=SpaceKind.UNIVERSE, parent=wanted, limit=limit, offset=offset
        )
    found = await canon.seen_by(caller).things(caller.spaces)
    seen = sorted(
        (
            space
            for space in found.values()
            if isinstance(space, Space)
            and space.kind is SpaceKind.UNIVERSE
            and wanted in {None, space.parent}
        ),
        key=lambda space: (space.created_at, space.id),
    )
    return Page(items=seen[offset : offset + limit], total=len(seen))

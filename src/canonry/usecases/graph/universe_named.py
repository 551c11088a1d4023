"""The universe of a name: what an import writes into, made where there is none yet."""

from dataclasses import replace

from canonry.domain.ids import SpaceId
from canonry.domain.spaces import SpaceDraft, SpaceKind
from canonry.domain.things.entities import normalised_name
from canonry.ports.views.pages import PAGE_MAX
from canonry.usecases.graph.create_universe import create_universe
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.receipts import the_made


async def universe_named(canon: Canon, caller: Caller, name: str, *, description: str) -> SpaceId:
    """The universe of that name, the oldest if there are several; made if there is none."""
    offset = 0
    while True:
        page = await canon.state.spaces(
            kind=SpaceKind.UNIVERSE, parent=None, limit=PAGE_MAX, offset=offset
        )
        for space in page.items:
            if normalised_name(space.name) == normalised_name(name):
                return space.id
        offset += len(page.items)
        if not page.items or offset >= page.total:
            break
    receipt = await create_universe(
        canon,
        replace(caller, idempotency_key=f"universe {normalised_name(name)}"),
        kind=SpaceKind.UNIVERSE,
        name=name,
        description=description,
        properties={},
    )
    return the_made(receipt, SpaceDraft).id

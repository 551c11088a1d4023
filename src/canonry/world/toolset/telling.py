"""Telling a context: with the hash under which a prompt that rests on it can be put together."""

from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Noted
from canonry.world.models.services import WorldServices
from canonry.world.usecases.bound_world import BoundWorld

CONTEXT_META: Final = "dev.canonry/context-hash"


def told(canon: Canon, world: BoundWorld, context: dict[str, Any]) -> Noted:
    """The context, with its hash beside it."""
    return Noted(
        reply=context,
        meta={CONTEXT_META: canon.service(WorldServices).admissions.gave_out(world.space, context)},
    )

"""The clock of a world and the clocks of its players, which never go back."""

from functools import partial
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import first_made
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Tick, check_tick, instant_of
from canonry.values.errors import InvalidInput
from canonry.values.observations import ObservationDraft
from canonry.world.domain.atlas import WORLD_KEY, item_id_of
from canonry.world.usecases.movement import CLOCK
from canonry.world.usecases.proposals.outcomes import settle_due
from canonry.world.usecases.worlds import BoundWorld, WorldDraft, change_world

_CLOCK_OF_WORLD: Final = "properties.tick"


async def advance_clock(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    *,
    duration: int,
    reason: str = "",
    player: str = "",
) -> Tick:
    """Let `duration` milliseconds pass, for the world or for one player; the time afterwards.

    Proposals scheduled for the elapsed time are applied.

    Raises:
        InvalidInput: `clock.not-forward` or `tick.out-of-range`.
        NotFound: `player.unknown`.
    """
    if duration <= 0:
        message = f"The duration is {duration}. Give more than 0 milliseconds."
        raise InvalidInput("clock.not-forward", message, path="/durationMs")
    write = partial(_write_clock, duration=duration, reason=reason, player=player)
    seen = first_made(await change_world(canon, caller, world, write), ObservationDraft)
    if not player:
        await settle_due(canon, caller, world)
    return Tick(seen.fields[CLOCK if player else _CLOCK_OF_WORLD])


async def _write_clock(draft: WorldDraft, duration: int, reason: str, player: str) -> None:
    if player:
        mover = await draft.require_id(player, WorldType.PLAYER)
        after = check_tick(
            int(await draft.read_property(mover, "clock") or 0) + duration, path="/durationMs"
        )
        draft.observe_item(mover, {CLOCK: after}, label="/clock")
        return
    root_id = item_id_of(draft.space, WORLD_KEY)
    root = await draft.find_item(root_id)
    before = 0 if root is None else int(root.properties.get("tick") or 0)
    after = check_tick(before + duration, path="/durationMs")
    draft.at = instant_of(after)
    fields = {_CLOCK_OF_WORLD: after, "properties.advanced_for": reason}
    draft.observe_item(root_id, fields, label="/clock")

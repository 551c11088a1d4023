"""Advance a clock: the world's or a player's own; neither ever goes back."""

from functools import partial
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Tick, checked_tick, instant_of
from canonry.values.errors import InvalidInput
from canonry.values.observations import ObservationDraft
from canonry.world.domain.merging import WORLD_KEY, thing_id_of
from canonry.world.usecases.move_mover import CLOCK
from canonry.world.usecases.proposals.settling import settle
from canonry.world.usecases.world_draft import WorldDraft, change_world
from canonry.world.usecases.worlds import BoundWorld

_TICK: Final = "properties.tick"


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

    What was scheduled for the time that has passed comes about.

    Raises:
        InvalidInput: `clock.not-forward` or `tick.out-of-range`.
        NotFound: `player.unknown`.
    """
    if duration <= 0:
        message = "a clock only goes forward; give a duration of more than 0 milliseconds"
        raise InvalidInput("clock.not-forward", message, path="/durationMs")
    write = partial(_pass, duration=duration, reason=reason, player=player)
    seen = the_made(await change_world(canon, caller, world, write), ObservationDraft)
    if not player:
        await settle(canon, caller, world)
    return Tick(seen.fields[CLOCK if player else _TICK])


async def _pass(draft: WorldDraft, duration: int, reason: str, player: str) -> None:
    if player:
        mover = thing_id_of(draft.space, player)
        await draft.require(mover, WorldType.PLAYER)
        after = checked_tick(
            int(await draft.own(mover, "clock") or 0) + duration, path="/durationMs"
        )
        draft.observe(mover, {CLOCK: after}, label="/clock")
        return
    heart_id = thing_id_of(draft.space, WORLD_KEY)
    heart = await draft.find(heart_id)
    before = 0 if heart is None else int(heart.properties.get("tick") or 0)
    after = checked_tick(before + duration, path="/durationMs")
    draft.at = instant_of(after)
    fields = {_TICK: after, "properties.advanced_for": reason}
    draft.observe(heart_id, fields, label="/clock")

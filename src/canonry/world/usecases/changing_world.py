"""Changing a world: one commit for one draft, judged again when what it read has moved."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.log.folding import thing_key
from canonry.readmodels.edges import Tick, instant_of
from canonry.values.errors import Conflict
from canonry.values.ids import NewId
from canonry.world.usecases.world_draft import WorldDraft
from canonry.world.usecases.worlds import BoundWorld, require_world

P = ParamSpec("P")
WorldWrite = Callable[[WorldDraft], Awaitable[None]]
"""Writes into a draft; called again for another one when the first went stale."""


async def change_world(
    canon: Canon, caller: Caller, world: BoundWorld, write: WorldWrite, *, tick: Tick | None = None
) -> Receipt:
    """Commit what `write` drafts, dated at `tick`, or else at the world's tick of each attempt.

    Whether a `tick` has come rests on no key: a clock never goes back. What is dated at the moment
    rests on the clock, so that nothing is added to a tick that is over.

    Raises:
        Conflict: `tick.future`, the world's clock has not come so far.
        CanonryError: whatever `write` objects; nothing was written.
    """

    async def prepare(new_id: NewId) -> Change:
        current = await require_world(canon, caller, world.space)
        now = current.now
        if tick is not None and tick > now:
            message = f"the world's clock stands at {now}; advance it, or give an earlier tick"
            raise Conflict("tick.future", message, path="/tick", now=now)
        at = instant_of(now if tick is None else tick)
        past = tick is not None and tick < now
        draft = WorldDraft(canon=canon, space=world.space, at=at, past=past, new_id=new_id)
        if tick is None:
            draft.reads.add(thing_key(current.heart.id))
        await write(draft)
        return draft.change()

    return await commit_change(canon, caller, world.space, prepare)


def changing(
    write: Callable[Concatenate[WorldDraft, P], Awaitable[None]],
) -> Callable[Concatenate[Canon, Caller, BoundWorld, P], Awaitable[None]]:
    """A use case out of what writes into a draft: it is committed at the world's current tick."""

    @wraps(write)
    async def change(
        canon: Canon, caller: Caller, world: BoundWorld, /, *given: P.args, **more: P.kwargs
    ) -> None:
        async def draw_up(draft: WorldDraft) -> None:
            await write(draft, *given, **more)

        await change_world(canon, caller, world, draw_up)

    return change

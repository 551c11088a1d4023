"""Link causes: one event brought about another; the causal edges of a universe stay acyclic."""

from typing import Final

from canonry.canon.commands.create_event import require_order
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require, require_all, require_same_space
from canonry.log.entries import CausesLinked
from canonry.log.items.facts import Event
from canonry.log.keys import causes_key, thing_key
from canonry.values.errors import Conflict
from canonry.values.ids import EventId, NewId

WALK_MAX: Final = 10_000
"""The most events that a search for a cycle visits."""


async def link_causes(canon: Canon, caller: Caller, *, cause_id: str, effect_id: str) -> Receipt:
    """Say that the one event caused the other.

    Raises:
        NotFound: `event.unknown`.
        Conflict: `space.foreign`, `event.retconned`, `event.causes-itself`,
            `event.repeated-effect`, `event.effect-before-cause`, `event.causal-cycle` or
            `event.chain-too-long`.
    """
    space = (await require(canon, caller, Event, cause_id)).space

    async def prepare(new_id: NewId) -> Change:
        del new_id  # an edge has no id of its own
        cause, effect = await require_all(canon, caller, Event, (cause_id, effect_id))
        require_same_space(space, [effect], path="/effect_event_id")
        require_standing(cause, effect)
        _require_new(cause, effect)
        require_order(cause.time_ref, (effect,))
        await _require_acyclic(canon, cause, effect)
        entry = CausesLinked(cause=cause.id, effect=effect.id)
        reads = (thing_key(cause.id), thing_key(effect.id), causes_key(space))
        return Change(entries=(entry,), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)


def _require_new(cause: Event, effect: Event) -> None:
    if cause.id == effect.id:
        message = "an event cannot cause itself; name two events"
        raise Conflict("event.causes-itself", message, conflicts=[cause.id])
    if effect.id in cause.causes:
        message = "this effect is linked to its cause already"
        raise Conflict("event.repeated-effect", message, conflicts=[cause.id, effect.id])


async def _require_acyclic(canon: Canon, cause: Event, effect: Event) -> None:
    """Walk from the effect to all that came of it; the cause must not be among that."""
    seen: set[EventId] = {effect.id}
    ahead: set[EventId] = set(effect.causes)
    while ahead:
        if cause.id in ahead:
            message = "the cause is itself a consequence of the effect; this would close a cycle"
            raise Conflict("event.causal-cycle", message, conflicts=[cause.id, effect.id])
        seen |= ahead
        if len(seen) > WALK_MAX:
            message = f"more than {WALK_MAX} events follow from the effect; link closer ones"
            raise Conflict("event.chain-too-long", message, conflicts=[effect.id])
        found = await canon.within(cause.space).things(ahead)
        ahead = {e for t in found.values() if isinstance(t, Event) for e in t.causes} - seen

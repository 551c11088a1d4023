"""Create an event directly, with the events that it brought about; told twice earns a warning.

The scene may be completed: the event refers to it and does not change it.
"""

from dataclasses import dataclass
from functools import partial

from canonry.canon.judging.making import Backing, make_event
from canonry.canon.judging.retold_events import EventTelling, retold
from canonry.canon.judging.slices import SliceView
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.involved import require_involved, require_standing, standing_beside
from canonry.canon.session.lookup import (
    require,
    require_all,
    require_evidence,
    require_same_space,
    require_universe,
)
from canonry.log.items.facts import Event
from canonry.log.items.scenes import Scene
from canonry.log.keys import thing_key
from canonry.values.errors import Conflict
from canonry.values.ids import EntityId, EventId, NewId
from canonry.values.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """What happened, when, how gravely, to whom, and what came of it."""

    title: str
    description: str
    time_ref: Instant | None
    severity: int
    involved: tuple[str, ...]
    causes: tuple[str, ...]


async def create_event(canon: Canon, caller: Caller, backing: Backing, new: NewEvent) -> Receipt:
    """Assert the event; a new one has no causes yet, so it cannot close a causal cycle.

    Raises:
        NotFound: `universe.unknown`, `scene.unknown`, `entity.unknown`, `event.unknown` or
            `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `event.retconned`, `event.repeated-effect`
            or `event.effect-before-cause`.
    """
    await require_universe(canon, caller, backing.space)
    _require_no_repeats(new.causes)

    async def prepare(new_id: NewId) -> Change:
        reads = await require_evidence(canon, caller, backing.space, backing.evidence)
        if backing.scene_id is not None:
            scene = await require(canon, caller, Scene, backing.scene_id)
            require_same_space(backing.space, [scene], path="/scene_id")
            reads |= {thing_key(scene.id)}
        involved, read = await require_involved(
            canon, caller, backing.space, new.involved, path="/involved_entity_ids"
        )
        ids = tuple(entity.id for entity in involved)
        told, looked = await standing_beside(canon, backing, ids, partial(_told, backing, new, ids))
        effects = await _require_effects(canon, caller, backing, new)
        made = make_event(
            new_id,
            backing,
            title=new.title,
            description=new.description,
            involved=ids,
            time_ref=new.time_ref,
            severity=new.severity,
            causes=effects,
        )
        reads |= read | looked | set(map(thing_key, effects))
        return Change(entries=(made,), reads=reads, warnings=told, audience=backing.audience)

    return await commit_change(canon, caller, backing.space, prepare)


def _told(
    backing: Backing, new: NewEvent, involved: tuple[EntityId, ...], view: SliceView
) -> tuple[str, ...]:
    """That canon tells this of the same entities already, or perhaps."""
    telling = EventTelling(
        title=new.title,
        description=new.description,
        severity=new.severity,
        at=new.time_ref,
        scene_id=backing.scene_id,
    )
    found = retold(telling, involved, view)
    if found.same is not None:
        return (f"the event {found.same.id} tells the same already",)
    return tuple(f"perhaps this is the event {one.id}, told elsewhere" for one in found.perhaps)


def _require_no_repeats(causes: tuple[str, ...]) -> None:
    if len(set(causes)) < len(causes):
        message = "/causes_event_ids names an effect twice; name each once"
        raise Conflict("event.repeated-effect", message, path="/causes_event_ids")


async def _require_effects(
    canon: Canon, caller: Caller, backing: Backing, new: NewEvent
) -> tuple[EventId, ...]:
    effects = await require_all(canon, caller, Event, new.causes)
    require_same_space(backing.space, effects, path="/causes_event_ids")
    require_standing(*effects)
    require_order(new.time_ref, effects)
    return tuple(effect.id for effect in effects)


def require_order(cause_at: Instant | None, effects: tuple[Event, ...]) -> None:
    """Refuse effects that are dated before their cause.

    Raises:
        Conflict: `event.effect-before-cause`, with the ids.
    """
    early = [
        effect.id
        for effect in effects
        if cause_at is not None and effect.time_ref is not None and effect.time_ref < cause_at
    ]
    if early:
        message = "an effect cannot happen before its cause; check the dates"
        raise Conflict("event.effect-before-cause", message, conflicts=early)

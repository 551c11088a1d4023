"""What people do, played through: moving, giving, talking, suffering, fighting and spending."""

from dataclasses import replace
from typing import Final

from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Direction
from canonry.values.ids import EntityId
from canonry.world.domain.admission.constraints import (
    apart,
    missing,
    no_passage,
    not_held,
    not_here,
    too_little,
)
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.known import KnownSpot
from canonry.world.domain.admission.schema import (
    ApplyCondition,
    Dialogue,
    MoveAction,
    RemoveCondition,
    ResolveCombat,
    Spend,
    TransferAction,
)
from canonry.world.domain.admission.staging import Stage, home_of
from canonry.world.domain.standing import KnownWay, Person, Stack

HEALTH: Final = "health"
"""The resource that damage takes and healing gives; who has none left is dead."""


def move(stage: Stage, move: MoveAction) -> Rejection | None:
    """Somebody goes through an exit."""
    mover = stage.person(move.mover_id, "moverId")
    if isinstance(mover, Rejection):
        return mover
    refused = (
        stage.own(mover, "moverId")
        or stage.within(home_of(mover))
        or not_here(mover, path=stage.at("moverId"))
    )
    if refused is not None or mover.place is None:
        return refused or apart(None, None, "nobody knows where they are", path=stage.at("moverId"))
    ways = stage.known.ways(mover.place)
    way = ways.get(move.direction)
    held = _held(stage, mover, way)
    refused = no_passage(way, move.direction, held, path=stage.at("direction"))
    if refused is not None and way is None and ways:
        there = ", ".join(each for each in Direction if each in ways)
        return replace(refused, admissible=f"{refused.admissible}: {there}")
    if refused is None and way is not None:
        stage.known.put(replace(mover, place=way.to))
    return refused


def _held(stage: Stage, mover: Person, way: KnownWay | None) -> tuple[str, ...]:
    if way is None or way.requires is None:
        return ()
    needed = stage.known.find(way.requires, Stack)
    return (way.requires,) if needed is not None and needed.holder == mover.id else ()


def _holder(stage: Stage, name: str, field: str) -> Person | KnownSpot | Rejection:
    spot = stage.known.find(name, KnownSpot)
    return spot if spot is not None else stage.person(name, field)


def _place(holder: Person | KnownSpot) -> EntityId | None:
    return holder.id if isinstance(holder, KnownSpot) else holder.place


def transfer(stage: Stage, new: TransferAction) -> Rejection | None:
    """An item goes from hand to hand, whole or in part."""
    stack = stage.stack(new.item_id, "itemId")
    giver = _holder(stage, new.from_holder_id, "fromHolderId")
    taker = _holder(stage, new.to_holder_id, "toHolderId")
    for each in (stack, giver, taker):
        if isinstance(each, Rejection):
            return each
    if isinstance(stack, Rejection) or isinstance(giver, Rejection) or isinstance(taker, Rejection):
        return None  # told above
    scopes = [("loc", _place(giver)), ("loc", _place(taker))]
    scopes += [
        home_of(each)
        for each in (giver, taker)
        if isinstance(each, Person) and each.kind is WorldType.PLAYER
    ]
    together = "the two are not at the same place"
    path = stage.at("toHolderId")
    taken = not_here(taker, path=path) if isinstance(taker, Person) else None
    refused = stage.within(*scopes) or not_held(
        stack, giver.id, new.quantity, path=stage.at("itemId")
    )
    if refused is None and giver.id == taker.id:
        reason = "it is with them already"
        refused = refusal("item.same-holder", reason, path=path)
    refused = (
        refused
        or taken
        or apart(_place(giver), _place(taker), together, path=stage.at("toHolderId"))
    )
    if refused:
        return refused
    left = stack.quantity - (new.quantity or stack.quantity)
    moved = replace(stack, quantity=left) if left else replace(stack, holder=taker.id)
    stage.known.put(moved)
    return None


def say(stage: Stage, said: Dialogue) -> Rejection | None:
    """A character speaks to a player."""
    speaker = stage.person(said.npc_id, "npcId")
    listener = stage.person(said.player_id, "playerId")
    if isinstance(speaker, Rejection):
        return speaker
    if isinstance(listener, Rejection):
        return listener
    if speaker.kind is not WorldType.CHARACTER or listener.kind is not WorldType.PLAYER:
        reason = "a character says something to a player"
        return refusal("reference.unknown", reason, path=stage.at("npcId"))
    return (
        stage.within(("loc", speaker.place))
        or not_here(speaker, path=stage.at("npcId"))
        or missing(
            listener,
            speaker.place,
            "they are not at the same place",
            path=stage.at("playerId"),
        )
    )


def change_condition(stage: Stage, change: ApplyCondition | RemoveCondition) -> Rejection | None:
    """Somebody is in a condition, or no longer."""
    target = stage.person(change.target_id, "targetId")
    if isinstance(target, Rejection):
        return target
    refused = stage.within(home_of(target), ("loc", target.place)) or not_here(
        target, path=stage.at("targetId")
    )
    if refused is not None:
        return refused
    held = change.condition in target.conditions_at(stage.known.tick)
    path = stage.at("condition")
    conditions = dict(target.conditions)
    if isinstance(change, ApplyCondition):
        if held:
            return refusal("condition.held", f"{target.name} is in it already", path=path)
        duration = change.duration_ms
        conditions[change.condition] = None if duration is None else stage.known.tick + duration
    elif not held:
        return refusal("condition.not-held", f"{target.name} is not in it", path=path)
    else:
        del conditions[change.condition]
    stage.known.put(replace(target, conditions=conditions))
    return None


def fight(stage: Stage, fight: ResolveCombat) -> Rejection | None:
    """A round of a fight ends; it is where the first one is who takes part."""
    here: EntityId | None = None
    taking_part = set[EntityId]()
    for number, name in enumerate(fight.participant_ids):
        path = stage.at(f"participantIds/{number}")
        fighter = stage.person(name, f"participantIds/{number}")
        if isinstance(fighter, Rejection):
            return fighter
        here = here or fighter.place
        refused = stage.within(("loc", here)) or missing(
            fighter, here, f"{fighter.name} is elsewhere", path=path
        )
        if refused is not None:
            return refused
        taking_part.add(fighter.id)
    return _strike(stage, fight, taking_part)


def _strike(stage: Stage, fight: ResolveCombat, taking_part: set[EntityId]) -> Rejection | None:
    for number, effect in enumerate(fight.effects):
        field = f"effects/{number}/targetId"
        target = stage.person(effect.target_id, field)
        if isinstance(target, Rejection):
            return target
        if target.id not in taking_part:
            reason = f"{target.name} takes no part"
            return refusal("combat.not-a-participant", reason, path=stage.at(field))
        refused = not_here(target, path=stage.at(field))
        if refused is not None:
            return refused
        stage.known.put(struck(target, effect.kind, effect.amount))
    return None


def struck(person: Person, kind: str, amount: int) -> Person:
    """Somebody after damage or healing; who has no health keeps none."""
    if HEALTH not in person.resources:
        return person
    health = person.resources[HEALTH] + (amount if kind == "heal" else -amount)
    resources = {**person.resources, HEALTH: max(health, 0)}
    return replace(person, resources=resources, alive=person.alive and health > 0)


def spend(stage: Stage, spent: Spend) -> Rejection | None:
    """Somebody has less of a resource."""
    owner = stage.person(spent.owner_id, "ownerId")
    if isinstance(owner, Rejection):
        return owner
    refused = (
        stage.own(owner, "ownerId")
        or stage.within(home_of(owner))
        or not_here(owner, path=stage.at("ownerId"))
        or too_little(owner, spent.resource, spent.amount, path=stage.at("amount"))
    )
    if refused is None:
        left = owner.resources[spent.resource] - spent.amount
        resources = {**owner.resources, spent.resource: left}
        stage.known.put(replace(owner, resources=resources))
    return refused

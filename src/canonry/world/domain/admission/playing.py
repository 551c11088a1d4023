"""Gate 3, invariants: the actions are played through in their order upon what is known.

The first one that the world does not allow refuses all. Whatever a proposal may overturn is state:
where somebody is, who has what, how they are; never lore, the builders' exits, or the dead.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn, TypeVar

from canonry.log.schemas.world_types import ActorKind, LayerType, WorldType
from canonry.readmodels.edges import OPPOSITE, Direction
from canonry.values.ids import EntityId
from canonry.world.domain.admission import schema
from canonry.world.domain.admission.kit import (
    KnownSpot,
    KnownWorld,
    Laid,
    Rejection,
    apart,
    cannot_open,
    claimed,
    missing,
    no_passage,
    not_held,
    not_here,
    overlapping,
    refusal,
    too_little,
)
from canonry.world.domain.admission.schema import Action, Proposed
from canonry.world.domain.checks import KnownWay, Person, Stack
from canonry.world.domain.merging import layer_id_of

T = TypeVar("T", Person, KnownSpot, Stack)
_NOUNS: Final = {Person: "player or character", KnownSpot: "location", Stack: "item"}


class _ActionRefusedError(Exception):
    """Ends the play of an action that the world does not allow."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.rule)
        self.rejection = rejection


class Stage:
    """One action being judged; whatever refuses it raises `_ActionRefusedError`."""

    def __init__(self, known: KnownWorld, proposed: Proposed, number: int, action: Action) -> None:
        """`number` is the place of the action in the envelope."""
        self.known = known
        self.on_behalf = known.find(proposed.player, Person) if proposed.player else None
        self.by_world = not proposed.player
        self.action = action
        self.number = number

    def refuse(self, rule: str, reason: str, field: str) -> NoReturn:
        """Refuse the action for what a parameter says."""
        path = f"/proposedActions/{self.number}/params/{field}"
        raise _ActionRefusedError(refusal(rule, reason, path=path))

    def require(self, refused: Rejection | None, field: str) -> None:
        """Refuse the action where something is said against a parameter."""
        if refused is not None:
            path = f"/proposedActions/{self.number}/params/{field}"
            raise _ActionRefusedError(replace(refused, path=path))

    def find(self, name: str, field: str, kind: type[T]) -> T:
        """The thing of this kind that a parameter names."""
        found = self.known.find(name, kind)
        if found is None:
            reason = f"this world has no {_NOUNS[kind]} of this id or key"
            self.refuse("reference.unknown", reason, field)
        return found

    def require_scope(self, *scopes: tuple[str, EntityId | None]) -> None:
        """The action has to say that it is about one of these."""
        kind, name = self.action.scope
        known: Person | KnownSpot | None
        known = (
            self.known.find(name, Person) if kind == "player" else self.known.find(name, KnownSpot)
        )
        if known is not None and (kind, known.id) in scopes:
            return
        wanted = " or ".join(dict.fromkeys(f"{kind}:{each}" for kind, each in scopes if each))
        path = f"/proposedActions/{self.number}/scopeKey"
        reason = f"this is about {wanted or 'nothing here'}"
        raise _ActionRefusedError(refusal("scope.mismatch", reason, path=path))

    def require_own(self, person: Person, field: str) -> None:
        """Nobody acts for somebody else's player; characters are anybody's."""
        if person.kind is not WorldType.PLAYER or self.by_world:
            return
        if self.on_behalf is None or person.id != self.on_behalf.id:
            self.refuse("scope.other-player", f"{person.name} is somebody else's player", field)


def home_of(person: Person) -> tuple[str, EntityId | None]:
    """The scope of what somebody does themselves."""
    if person.kind is WorldType.PLAYER:
        return "player", person.id
    return "loc", person.place


def wrong_actor(proposed: Proposed, known: KnownWorld) -> Rejection | None:
    """Who acts is there and alive, and no player but the one on whose behalf it is proposed."""
    actor, path = proposed.envelope.actor, "/actor/id"
    behalf = known.find(proposed.player, Person) if proposed.player else None
    if proposed.player and (behalf is None or behalf.kind is not WorldType.PLAYER):
        reason = "there is no such player on whose behalf something could be proposed"
        return refusal("actor.unknown", reason, path="/playerId")
    if actor.id is None and actor.kind not in {ActorKind.PLAYER, ActorKind.NPC}:
        return None
    who = known.find(actor.id or "#nobody", Person)
    if who is None:
        return refusal("actor.unknown", "there is nobody of this id", path=path)
    if who.kind is WorldType.PLAYER and (behalf is None or who.id != behalf.id):
        return refusal("scope.other-player", f"{who.name} is somebody else's player", path=path)
    gone = not_here(who)
    if gone is None:
        return None
    return refusal(gone.rule.replace("person", "actor"), gone.reason, path=path)


HEALTH: Final = "health"
"""The resource that damage takes and healing gives; who has none left is dead."""


def _move(stage: Stage, move: schema.MoveAction) -> None:
    """Somebody goes through an exit."""
    mover = stage.find(move.mover_id, "moverId", Person)
    stage.require_own(mover, "moverId")
    stage.require_scope(home_of(mover))
    stage.require(not_here(mover), "moverId")
    if mover.place is None:
        stage.refuse("position.elsewhere", "nobody knows where they are", "moverId")
    ways = stage.known.ways(mover.place)
    way = ways.get(move.direction)
    refused = no_passage(way, move.direction, _held(stage, mover, way))
    if refused is not None and way is None and ways:
        there = ", ".join(each for each in Direction if each in ways)
        refused = replace(refused, admissible=f"{refused.admissible}: {there}")
    stage.require(refused, "direction")
    if way is not None:
        stage.known.put(replace(mover, place=way.to))


def _held(stage: Stage, mover: Person, way: KnownWay | None) -> tuple[str, ...]:
    if way is None or way.requires is None:
        return ()
    needed = stage.known.find(way.requires, Stack)
    return (way.requires,) if needed is not None and needed.holder == mover.id else ()


def _holder(stage: Stage, name: str, field: str) -> Person | KnownSpot:
    spot = stage.known.find(name, KnownSpot)
    return spot if spot is not None else stage.find(name, field, Person)


def _place(holder: Person | KnownSpot) -> EntityId | None:
    return holder.id if isinstance(holder, KnownSpot) else holder.place


def _transfer(stage: Stage, new: schema.TransferAction) -> None:
    """An item goes from hand to hand, whole or in part."""
    stack = stage.find(new.item_id, "itemId", Stack)
    giver = _holder(stage, new.from_holder_id, "fromHolderId")
    taker = _holder(stage, new.to_holder_id, "toHolderId")
    people = [each for each in (giver, taker) if isinstance(each, Person)]
    homes = [home_of(each) for each in people if each.kind is WorldType.PLAYER]
    stage.require_scope(("loc", _place(giver)), ("loc", _place(taker)), *homes)
    stage.require(not_held(stack, giver.id, new.quantity), "itemId")
    if giver.id == taker.id:
        stage.refuse("item.same-holder", "it is with them already", "toHolderId")
    if isinstance(taker, Person):
        stage.require(not_here(taker), "toHolderId")
    together = apart(_place(giver), _place(taker), "the two are not at the same place")
    stage.require(together, "toHolderId")
    left = stack.quantity - (new.quantity or stack.quantity)
    stage.known.put(replace(stack, quantity=left) if left else replace(stack, holder=taker.id))


def _say(stage: Stage, said: schema.Dialogue) -> None:
    """A character speaks to a player."""
    speaker = stage.find(said.npc_id, "npcId", Person)
    listener = stage.find(said.player_id, "playerId", Person)
    if speaker.kind is not WorldType.CHARACTER or listener.kind is not WorldType.PLAYER:
        stage.refuse("reference.unknown", "a character says something to a player", "npcId")
    stage.require_scope(("loc", speaker.place))
    stage.require(not_here(speaker), "npcId")
    together = missing(listener, speaker.place, "they are not at the same place")
    stage.require(together, "playerId")


def _change_condition(stage: Stage, change: schema.ApplyCondition | schema.RemoveCondition) -> None:
    """Somebody is in a condition, or no longer."""
    target = stage.find(change.target_id, "targetId", Person)
    stage.require_scope(home_of(target), ("loc", target.place))
    stage.require(not_here(target), "targetId")
    held = change.condition in target.conditions_at(stage.known.tick)
    conditions = dict(target.conditions)
    if isinstance(change, schema.ApplyCondition):
        if held:
            stage.refuse("condition.held", f"{target.name} is in it already", "condition")
        duration = change.duration_ms
        conditions[change.condition] = None if duration is None else stage.known.tick + duration
    elif not held:
        stage.refuse("condition.not-held", f"{target.name} is not in it", "condition")
    else:
        del conditions[change.condition]
    stage.known.put(replace(target, conditions=conditions))


def _fight(stage: Stage, fight: schema.ResolveCombat) -> None:
    """A round of a fight ends; it is where the first one is who takes part."""
    here: EntityId | None = None
    taking_part = set[EntityId]()
    for number, name in enumerate(fight.participant_ids):
        field = f"participantIds/{number}"
        fighter = stage.find(name, field, Person)
        here = here or fighter.place
        stage.require_scope(("loc", here))
        stage.require(missing(fighter, here, f"{fighter.name} is elsewhere"), field)
        taking_part.add(fighter.id)
    for number, effect in enumerate(fight.effects):
        field = f"effects/{number}/targetId"
        target = stage.find(effect.target_id, field, Person)
        if target.id not in taking_part:
            stage.refuse("combat.not-a-participant", f"{target.name} takes no part", field)
        stage.require(not_here(target), field)
        stage.known.put(struck(target, effect.kind, effect.amount))


def struck(person: Person, kind: str, amount: int) -> Person:
    """Somebody after damage or healing; who has no health keeps none."""
    if HEALTH not in person.resources:
        return person
    health = person.resources[HEALTH] + (amount if kind == "heal" else -amount)
    resources = {**person.resources, HEALTH: max(health, 0)}
    return replace(person, resources=resources, alive=person.alive and health > 0)


def _spend(stage: Stage, spent: schema.Spend) -> None:
    """Somebody has less of a resource."""
    owner = stage.find(spent.owner_id, "ownerId", Person)
    stage.require_own(owner, "ownerId")
    stage.require_scope(home_of(owner))
    stage.require(not_here(owner), "ownerId")
    stage.require(too_little(owner, spent.resource, spent.amount), "amount")
    left = owner.resources[spent.resource] - spent.amount
    stage.known.put(replace(owner, resources={**owner.resources, spent.resource: left}))


NEW_LAYER: Final = EntityId("")
"""The id of a layer of which nobody has one yet."""


def _add_layer(stage: Stage, layer: schema.AddLayer) -> None:
    """A text lies upon a place."""
    spot = stage.find(layer.location_id, "locationId", KnownSpot)
    stage.require_scope(("loc", spot.id))
    if layer.layer_type is LayerType.BASE:
        stage.refuse("layer.base", "what a place is like at all, only builders say", "layerType")
    now = stage.known.tick
    since = now if layer.from_tick is None else layer.from_tick
    if since < now:
        stage.refuse("layer.in-the-past", f"the world's clock stands at {now}", "fromTick")
    if layer.to_tick is not None and layer.to_tick < since:
        stage.refuse("layer.ends-before-start", "it would end before it begins", "toTick")
    new = Laid(id=NEW_LAYER, layer_type=layer.layer_type, since=since, until=layer.to_tick)
    lying = stage.known.layers(spot.id)
    if layer.replaces is not None:
        named = layer_id_of(stage.known.space, layer.replaces)
        replaced = next((one for one in lying if one.id == named), None)
        if replaced is None or overlapping((replaced,), new) is None:
            stage.refuse(
                "layer.unknown", "what it would replace does not lie there then", "replaces"
            )
        lying = tuple(one for one in lying if one is not replaced)
    standing = overlapping(lying, new)
    if standing is not None:
        reason = f"a layer of this type lies there then: {standing.id or 'of this proposal'}"
        stage.refuse("layer.overlaps", reason, "replaces")
    stage.known.put_layers(spot.id, (*lying, new))
    stage.require(claimed(layer.layer_content, stage.known.ways(spot.id)), "layerContent")


def _create_exit(stage: Stage, new: schema.CreateExit) -> None:
    """A way opens, with its way back."""
    start = stage.find(new.from_location_id, "fromLocationId", KnownSpot)
    target = stage.find(new.to_location_id, "toLocationId", KnownSpot)
    needed = new.requires_item
    item = None if needed is None else stage.find(needed, "requiresItem", Stack)
    ways = stage.known.ways(start.id)
    stage.require_scope(("loc", start.id))
    refused = cannot_open(new.direction, (start.id, target.id), ways, start.forbidden)
    stage.require(refused, "direction")
    way = KnownWay(
        direction=new.direction,
        start=start.id,
        to=target.id,
        one_way=new.one_way,
        blocked=new.blocked,
        requires=None if item is None else item.id,
        proposed=True,
    )
    if not new.one_way:
        _open_way_back(stage, target, way)
    stage.known.put_way(start.id, new.direction, way)


def _open_way_back(stage: Stage, target: KnownSpot, way: KnownWay) -> None:
    opposite = OPPOSITE[way.direction]
    back = stage.known.ways(target.id).get(opposite)
    if back is not None and back.to == way.start and not back.one_way:
        return
    if back is not None:
        reason = f"the way back, {opposite}, is taken by another exit"
        stage.refuse("exit.way-back-taken", reason, "oneWay")
    stage.require(cannot_open(opposite, (target.id, way.start), {}, target.forbidden), "oneWay")
    turned = replace(way, direction=opposite, start=target.id, to=way.start)
    stage.known.put_way(target.id, opposite, turned)


def _remove_exit(stage: Stage, old: schema.RemoveExit) -> None:
    """A way closes that a proposal opened."""
    start = stage.find(old.from_location_id, "fromLocationId", KnownSpot)
    stage.require_scope(("loc", start.id))
    way = stage.known.ways(start.id).get(old.direction)
    if way is None:
        stage.refuse("exit.unknown", f"no exit leads {old.direction} from there", "direction")
    if not way.proposed:
        stage.refuse("exit.of-builders", "builders have made this exit", "direction")
    stage.known.put_way(start.id, old.direction, None)
    opposite = OPPOSITE[old.direction]
    back = stage.known.ways(way.to).get(opposite)
    if not way.one_way and back is not None and back.to == start.id and not back.one_way:
        stage.known.put_way(way.to, opposite, None)


def _spawn(stage: Stage, new: schema.Spawn) -> None:
    """Somebody or something appears."""
    spot = stage.find(new.location_id, "locationId", KnownSpot)
    stage.require_scope(("loc", spot.id))
    if new.faction_id is not None and not stage.known.is_faction(new.faction_id):
        stage.refuse("faction.unknown", "lore knows no faction of this id", "factionId")


def _ask_for_ambience(stage: Stage, wanted: schema.GenerateAmbience) -> None:
    """A mood is wanted."""
    spot = stage.find(wanted.location_id, "locationId", KnownSpot)
    stage.require_scope(("loc", spot.id))


_PLAYS: Final[Mapping[type, Callable[[Stage, Any], None]]] = {
    schema.MoveAction: _move,
    schema.TransferAction: _transfer,
    schema.AddLayer: _add_layer,
    schema.CreateExit: _create_exit,
    schema.RemoveExit: _remove_exit,
    schema.Dialogue: _say,
    schema.ApplyCondition: _change_condition,
    schema.RemoveCondition: _change_condition,
    schema.ResolveCombat: _fight,
    schema.Spawn: _spawn,
    schema.Spend: _spend,
    schema.GenerateAmbience: _ask_for_ambience,
}


def broken_invariant(proposed: Proposed, known: KnownWorld) -> Rejection | None:
    """The refusal of the first action that the world does not allow.

    Raises:
        NotLoaded: something that this rests on.
    """
    refused = wrong_actor(proposed, known)
    if refused is not None:
        return refused
    try:
        for number, action in enumerate(proposed.actions):
            play = _PLAYS[type(action.params)]
            play(Stage(known, proposed, number, action), action.params)
    except _ActionRefusedError as error:
        return error.rejection
    return None

"""What people do and what becomes of places, played through one action at a time."""

from dataclasses import replace
from typing import Final

from canonry.log.schemas.world_types import ActorKind, LayerType, WorldType
from canonry.readmodels.edges import OPPOSITE, Direction
from canonry.values.ids import EntityId
from canonry.world.domain.admission.claims import claimed
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.known import (
    KnownSpot,
    KnownWorld,
    Laid,
    apart,
    cannot_open,
    missing,
    no_passage,
    not_held,
    not_here,
    overlapping,
    too_little,
)
from canonry.world.domain.admission.schema import (
    Action,
    AddLayer,
    ApplyCondition,
    CreateExit,
    Dialogue,
    GenerateAmbience,
    MoveAction,
    Proposed,
    RemoveCondition,
    RemoveExit,
    ResolveCombat,
    Spawn,
    Spend,
    TransferAction,
)
from canonry.world.domain.checks import KnownWay, Person, Stack
from canonry.world.domain.merging import layer_id_of


class Stage:
    """One action being judged."""

    def __init__(self, known: KnownWorld, proposed: Proposed, number: int, action: Action) -> None:
        """`number` is the place of the action in the envelope."""
        self.known = known
        self.on_behalf = known.find(proposed.player, Person) if proposed.player else None
        self.by_world = not proposed.player
        self.action = action
        self.number = number

    def at(self, field: str) -> str:
        """The path of a parameter."""
        return f"/proposedActions/{self.number}/params/{field}"

    def person(self, name: str, field: str) -> Person | Rejection:
        """Somebody whom a parameter names."""
        return self.known.find(name, Person) or self._unknown("player or character", field)

    def spot(self, name: str, field: str) -> KnownSpot | Rejection:
        """A location that a parameter names."""
        return self.known.find(name, KnownSpot) or self._unknown("location", field)

    def stack(self, name: str, field: str) -> Stack | Rejection:
        """An item that a parameter names."""
        return self.known.find(name, Stack) or self._unknown("item", field)

    def _unknown(self, kind: str, field: str) -> Rejection:
        reason = f"this world has no {kind} of this id or key"
        return refusal("reference.unknown", reason, path=self.at(field))

    def within(self, *scopes: tuple[str, EntityId | None]) -> Rejection | None:
        """Whether the action says that it is about one of these."""
        kind, name = self.action.scope
        known: Person | KnownSpot | None
        known = (
            self.known.find(name, Person) if kind == "player" else self.known.find(name, KnownSpot)
        )
        if known is not None and (kind, known.id) in scopes:
            return None
        wanted = " or ".join(dict.fromkeys(f"{kind}:{each}" for kind, each in scopes if each))
        path = f"/proposedActions/{self.number}/scopeKey"
        return refusal("scope.mismatch", f"this is about {wanted or 'nothing here'}", path=path)

    def own(self, person: Person, field: str) -> Rejection | None:
        """Nobody acts for somebody else's player; characters are anybody's."""
        if person.kind is not WorldType.PLAYER or self.by_world:
            return None
        if self.on_behalf is None or person.id != self.on_behalf.id:
            reason = f"{person.name} is somebody else's player"
            return refusal("scope.other-player", reason, path=self.at(field))
        return None


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


NEW_LAYER: Final = EntityId("")
"""The id of a layer of which nobody has one yet."""


def add_layer(stage: Stage, layer: AddLayer) -> Rejection | None:
    """A text lies upon a place."""
    spot = stage.spot(layer.location_id, "locationId")
    if isinstance(spot, Rejection):
        return spot
    refused = stage.within(("loc", spot.id))
    if refused is None and layer.layer_type is LayerType.BASE:
        reason = "what a place is like at all, only builders say"
        refused = refusal("layer.base", reason, path=stage.at("layerType"))
    return (
        refused
        or _lay(stage, layer, spot)
        or claimed(layer.layer_content, stage.known.ways(spot.id), path=stage.at("layerContent"))
    )


def _lay(stage: Stage, layer: AddLayer, spot: KnownSpot) -> Rejection | None:
    now = stage.known.tick
    since = now if layer.from_tick is None else layer.from_tick
    if since < now:
        reason = f"the world's clock stands at {now}"
        return refusal("layer.in-the-past", reason, path=stage.at("fromTick"))
    if layer.to_tick is not None and layer.to_tick < since:
        reason = "it would end before it begins"
        return refusal("layer.ends-before-start", reason, path=stage.at("toTick"))
    new = Laid(id=NEW_LAYER, layer_type=layer.layer_type, since=since, until=layer.to_tick)
    lying = stage.known.layers(spot.id)
    if layer.replaces is not None:
        named = layer_id_of(stage.known.space, layer.replaces)
        replaced = next((one for one in lying if one.id == named), None)
        if replaced is None or overlapping((replaced,), new) is None:
            reason = "what it would replace does not lie there then"
            return refusal("layer.unknown", reason, path=stage.at("replaces"))
        lying = tuple(one for one in lying if one is not replaced)
    standing = overlapping(lying, new)
    if standing is not None:
        reason = f"a layer of this type lies there then: {standing.id or 'of this proposal'}"
        return refusal("layer.overlaps", reason, path=stage.at("replaces"))
    stage.known.put_layers(spot.id, (*lying, new))
    return None


def create_exit(stage: Stage, new: CreateExit) -> Rejection | None:
    """A way opens, with its way back."""
    start = stage.spot(new.from_location_id, "fromLocationId")
    target = stage.spot(new.to_location_id, "toLocationId")
    if isinstance(start, Rejection):
        return start
    if isinstance(target, Rejection):
        return target
    item = None if new.requires_item is None else stage.stack(new.requires_item, "requiresItem")
    if isinstance(item, Rejection):
        return item
    ways = stage.known.ways(start.id)
    refused = stage.within(("loc", start.id)) or cannot_open(
        new.direction,
        (start.id, target.id),
        ways,
        start.forbidden,
        path=stage.at("direction"),
    )
    if refused is not None:
        return refused
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
        refused = _way_back(stage, start, target, new, way)
    if refused is None:
        stage.known.put_way(start.id, new.direction, way)
    return refused


def _way_back(
    stage: Stage, start: KnownSpot, target: KnownSpot, new: CreateExit, way: KnownWay
) -> Rejection | None:
    opposite = OPPOSITE[new.direction]
    back = stage.known.ways(target.id).get(opposite)
    if back is not None and back.to == start.id and not back.one_way:
        return None
    if back is not None:
        reason = f"the way back, {opposite}, is taken by another exit"
        return refusal("exit.way-back-taken", reason, path=stage.at("oneWay"))
    refused = cannot_open(
        opposite, (target.id, start.id), {}, target.forbidden, path=stage.at("oneWay")
    )
    if refused is None:
        stage.known.put_way(
            target.id, opposite, replace(way, direction=opposite, start=target.id, to=start.id)
        )
    return refused


def remove_exit(stage: Stage, old: RemoveExit) -> Rejection | None:
    """A way closes that a proposal opened."""
    start = stage.spot(old.from_location_id, "fromLocationId")
    if isinstance(start, Rejection):
        return start
    refused = stage.within(("loc", start.id))
    way = stage.known.ways(start.id).get(old.direction)
    path = stage.at("direction")
    if refused is not None:
        return refused
    if way is None:
        return refusal("exit.unknown", f"no exit leads {old.direction} from there", path=path)
    if not way.proposed:
        return refusal("exit.of-builders", "builders have made this exit", path=path)
    stage.known.put_way(start.id, old.direction, None)
    opposite = OPPOSITE[old.direction]
    back = stage.known.ways(way.to).get(opposite)
    if not way.one_way and back is not None and back.to == start.id and not back.one_way:
        stage.known.put_way(way.to, opposite, None)
    return None


def spawn(stage: Stage, new: Spawn) -> Rejection | None:
    """Somebody or something appears."""
    spot = stage.spot(new.location_id, "locationId")
    if isinstance(spot, Rejection):
        return spot
    refused = stage.within(("loc", spot.id))
    if (
        refused is None
        and new.faction_id is not None
        and not stage.known.is_faction(new.faction_id)
    ):
        reason = "lore knows no faction of this id"
        refused = refusal("faction.unknown", reason, path=stage.at("factionId"))
    return refused


def ask_for_ambience(stage: Stage, wanted: GenerateAmbience) -> Rejection | None:
    """A mood is wanted."""
    spot = stage.spot(wanted.location_id, "locationId")
    return spot if isinstance(spot, Rejection) else stage.within(("loc", spot.id))

"""Gate 3, invariants: the actions are played through in their order upon what is known.

The first action that is not allowed refuses all. A proposal may change only state:
locations, holders and conditions; never lore, the builders' exits, or the dead.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from canonry.log.folding import relations_key
from canonry.log.schemas.world_types import (
    EXIT,
    HELD_BY,
    LAYER_OF,
    LOCATED_IN,
    MOVERS,
    ActorKind,
    LayerType,
    LoreType,
    WorldType,
)
from canonry.readmodels.edges import OPPOSITE, Direction, kind_of, recurs, span_of, tick_of
from canonry.readmodels.ports.state import RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel
from canonry.world.domain.admission import schema
from canonry.world.domain.admission.schema import (
    Action,
    KnownSpot,
    Laid,
    Proposed,
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
from canonry.world.domain.atlas import layer_id_of, lore_id_of, thing_id_of
from canonry.world.domain.checks import KnownWay, Person, Stack, person_of, stack_of, way_of
from canonry.world.usecases.worlds import WorldDraft

KnownThing: TypeAlias = Person | Stack | KnownSpot
T = TypeVar("T", Person, KnownSpot, Stack)
_NOUNS: Final = {Person: "player or character", KnownSpot: "location", Stack: "item"}
_MOVERS: Final = frozenset(map(str, MOVERS))


class KnownWorld:
    """A world at the tick of a draft, as far as it was read, and with what a proposal changed.

    The draft remembers the keys of what is read.
    """

    def __init__(self, draft: WorldDraft) -> None:
        """Nothing is read yet."""
        self.draft = draft
        self.tick = tick_of(draft.at)
        self._things: dict[EntityId, KnownThing | None] = {}
        self._ways: dict[EntityId, Mapping[Direction, KnownWay]] = {}
        self._layers: dict[EntityId, tuple[Laid, ...]] = {}

    async def find(self, name: str, kind: type[T]) -> T | None:
        """Return the item with this id or key, if it is of this kind."""
        thing_id = thing_id_of(self.draft.space, name)
        if thing_id not in self._things:
            self._things[thing_id] = await _thing(self.draft, thing_id)
        thing = self._things[thing_id]
        return thing if isinstance(thing, kind) else None

    def put(self, thing: KnownThing) -> None:
        """Replace the known state of an item."""
        self._things[thing.id] = thing

    async def ways(self, place: EntityId) -> Mapping[Direction, KnownWay]:
        """The exits of a place."""
        if place not in self._ways:
            edges = await self.draft.edges(EXIT, place, kinds=None)
            ways = (way_of(edge, self.tick) for edge in edges)
            self._ways[place] = {way.direction: way for way in ways if way is not None}
        return self._ways[place]

    async def put_way(self, place: EntityId, direction: Direction, way: KnownWay | None) -> None:
        """An exit opens, or closes."""
        ways = dict(await self.ways(place))
        ways.pop(direction, None)
        self._ways[place] = ways if way is None else {**ways, direction: way}

    async def layers(self, place: EntityId) -> tuple[Laid, ...]:
        """The layers upon a place that hold now or later."""
        if place not in self._layers:
            self._layers[place] = await _layers(self.draft, place)
        return self._layers[place]

    def put_layers(self, place: EntityId, layers: tuple[Laid, ...]) -> None:
        """From now on these layers lie upon a place."""
        self._layers[place] = layers


async def _thing(draft: WorldDraft, thing_id: EntityId) -> KnownThing | None:
    found = await draft.find(thing_id)
    if found is None or found.level is not CanonLevel.CANON:
        return None
    own = found.properties
    if found.entity_type == WorldType.LOCATION:
        return KnownSpot(id=thing_id, name=found.name, forbidden=dict(own.get("forbidden") or {}))
    if found.entity_type == WorldType.ITEM:
        held = await draft.latest_edges(HELD_BY, thing_id)
        return stack_of(found, held[0].to_id if held else None)
    if found.entity_type not in _MOVERS:
        return None
    at = await draft.latest_edges(LOCATED_IN, thing_id, kinds=(*MOVERS, ""))
    return person_of(found, at[0].to_id if at else None)


async def _layers(draft: WorldDraft, place: EntityId) -> tuple[Laid, ...]:
    draft.reads.add(relations_key(place))
    query = RelationQuery(
        spaces=frozenset((draft.space,)),
        entities=frozenset((place,)),
        rel_type=LAYER_OF,
        direction="in",
        current=True,
        newest_first=True,
        limit=PAGE_MAX,
    )
    found: list[Laid] = []
    for edge in (await draft.canon.state.relations(query)).items:
        span = span_of(edge)
        if span is None or span[1] <= draft.at or recurs(edge):  # that lies beneath
            continue
        until = None if edge.until is None else tick_of(Instant(edge.until)) - 1
        since = tick_of(Instant(span[0]))
        found.append(
            Laid(id=edge.from_id, layer_type=LayerType(kind_of(edge)), since=since, until=until)
        )
    return tuple(found)


class _ActionRefusedError(Exception):
    """Ends the play of an action that the world does not allow."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.rule)
        self.rejection = rejection


class Stage:
    """One action being judged; whatever refuses it raises `_ActionRefusedError`."""

    def __init__(
        self, world: KnownWorld, behalf: Person | None, number: int, action: Action
    ) -> None:
        """`behalf` is the player for whom it is done; `number` is its place in the envelope."""
        self.world = world
        self.behalf = behalf
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

    async def find(self, name: str, field: str, kind: type[T]) -> T:
        """Return the item of this kind that a parameter names."""
        found = await self.world.find(name, kind)
        if found is None:
            reason = f"This world has no {_NOUNS[kind]} with this id or key."
            self.refuse("reference.unknown", reason, field)
        return found

    async def require_scope(self, *scopes: tuple[str, EntityId | None]) -> None:
        """The action has to say that it is about one of these."""
        kind, name = self.action.scope
        known: Person | KnownSpot | None = (
            await self.world.find(name, Person)
            if kind == "player"
            else await self.world.find(name, KnownSpot)
        )
        if known is not None and (kind, known.id) in scopes:
            return
        wanted = " or ".join(dict.fromkeys(f"{kind}:{each}" for kind, each in scopes if each))
        path = f"/proposedActions/{self.number}/scopeKey"
        reason = f"The scopeKey of this action is {wanted or 'unknown here'}."
        raise _ActionRefusedError(refusal("scope.mismatch", reason, path=path))

    def require_own(self, person: Person, field: str) -> None:
        """Nobody acts for somebody else's player; characters are anybody's."""
        others = self.behalf is not None and person.id != self.behalf.id
        if person.kind is WorldType.PLAYER and others:
            self.refuse("scope.other-player", f"{person.name} belongs to another player.", field)


def home_of(person: Person) -> tuple[str, EntityId | None]:
    """The scope of what somebody does themselves."""
    if person.kind is WorldType.PLAYER:
        return "player", person.id
    return "loc", person.place


HEALTH: Final = "health"
"""The resource that damage takes and healing gives; who has none left is dead."""


async def _move(stage: Stage, move: schema.MoveAction) -> None:
    mover = await stage.find(move.mover_id, "moverId", Person)
    stage.require_own(mover, "moverId")
    await stage.require_scope(home_of(mover))
    stage.require(not_here(mover), "moverId")
    if mover.place is None:
        stage.refuse("position.elsewhere", "The mover has no known location.", "moverId")
    ways = await stage.world.ways(mover.place)
    way = ways.get(move.direction)
    refused = no_passage(way, move.direction, await _held(stage, mover, way))
    if refused is not None and way is None and ways:
        there = ", ".join(each for each in Direction if each in ways)
        refused = replace(refused, admissible=f"{refused.admissible}: {there}")
    stage.require(refused, "direction")
    if way is not None:
        stage.world.put(replace(mover, place=way.to))


async def _held(stage: Stage, mover: Person, way: KnownWay | None) -> tuple[str, ...]:
    if way is None or way.requires is None:
        return ()
    needed = await stage.world.find(way.requires, Stack)
    return (way.requires,) if needed is not None and needed.holder == mover.id else ()


async def _holder(stage: Stage, name: str, field: str) -> Person | KnownSpot:
    spot = await stage.world.find(name, KnownSpot)
    return spot if spot is not None else await stage.find(name, field, Person)


def _place(holder: Person | KnownSpot) -> EntityId | None:
    return holder.id if isinstance(holder, KnownSpot) else holder.place


async def _transfer(stage: Stage, new: schema.TransferAction) -> None:
    stack = await stage.find(new.item_id, "itemId", Stack)
    giver = await _holder(stage, new.from_holder_id, "fromHolderId")
    taker = await _holder(stage, new.to_holder_id, "toHolderId")
    people = [each for each in (giver, taker) if isinstance(each, Person)]
    homes = [home_of(each) for each in people if each.kind is WorldType.PLAYER]
    await stage.require_scope(("loc", _place(giver)), ("loc", _place(taker)), *homes)
    stage.require(not_held(stack, giver.id, new.quantity), "itemId")
    if giver.id == taker.id:
        stage.refuse("item.same-holder", "The item is already with this holder.", "toHolderId")
    if isinstance(taker, Person):
        stage.require(not_here(taker), "toHolderId")
    together = apart(_place(giver), _place(taker), "The holders are at different locations.")
    stage.require(together, "toHolderId")
    left = stack.quantity - (new.quantity or stack.quantity)
    stage.world.put(replace(stack, quantity=left) if left else replace(stack, holder=taker.id))


async def _say(stage: Stage, said: schema.Dialogue) -> None:
    speaker = await stage.find(said.npc_id, "npcId", Person)
    listener = await stage.find(said.player_id, "playerId", Person)
    if speaker.kind is not WorldType.CHARACTER or listener.kind is not WorldType.PLAYER:
        reason = "`npcId` must name a character and `playerId` a player."
        stage.refuse("reference.unknown", reason, "npcId")
    await stage.require_scope(("loc", speaker.place))
    stage.require(not_here(speaker), "npcId")
    together = missing(listener, speaker.place, "The two are at different locations.")
    stage.require(together, "playerId")


async def _change_condition(
    stage: Stage, change: schema.ApplyCondition | schema.RemoveCondition
) -> None:
    target = await stage.find(change.target_id, "targetId", Person)
    await stage.require_scope(home_of(target), ("loc", target.place))
    stage.require(not_here(target), "targetId")
    held = change.condition in target.conditions_at(stage.world.tick)
    conditions = dict(target.conditions)
    if isinstance(change, schema.ApplyCondition):
        if held:
            reason = f"{target.name} already has this condition."
            stage.refuse("condition.held", reason, "condition")
        duration = change.duration_ms
        conditions[change.condition] = None if duration is None else stage.world.tick + duration
    elif not held:
        reason = f"{target.name} does not have this condition."
        stage.refuse("condition.not-held", reason, "condition")
    else:
        del conditions[change.condition]
    stage.world.put(replace(target, conditions=conditions))


async def _fight(stage: Stage, fight: schema.ResolveCombat) -> None:
    """Apply a round of a fight, at the location of its first participant."""
    here: EntityId | None = None
    taking_part = set[EntityId]()
    for number, name in enumerate(fight.participant_ids):
        field = f"participantIds/{number}"
        fighter = await stage.find(name, field, Person)
        here = here or fighter.place
        await stage.require_scope(("loc", here))
        stage.require(missing(fighter, here, f"{fighter.name} is at another location."), field)
        taking_part.add(fighter.id)
    for number, effect in enumerate(fight.effects):
        field = f"effects/{number}/targetId"
        target = await stage.find(effect.target_id, field, Person)
        if target.id not in taking_part:
            reason = f"{target.name} does not take part in the fight."
            stage.refuse("combat.not-a-participant", reason, field)
        stage.require(not_here(target), field)
        stage.world.put(struck(target, effect.kind, effect.amount))


def struck(person: Person, kind: str, amount: int) -> Person:
    """Somebody after damage or healing; who has no health keeps none."""
    if HEALTH not in person.resources:
        return person
    health = person.resources[HEALTH] + (amount if kind == "heal" else -amount)
    resources = {**person.resources, HEALTH: max(health, 0)}
    return replace(person, resources=resources, alive=person.alive and health > 0)


async def _spend(stage: Stage, spent: schema.Spend) -> None:
    owner = await stage.find(spent.owner_id, "ownerId", Person)
    stage.require_own(owner, "ownerId")
    await stage.require_scope(home_of(owner))
    stage.require(not_here(owner), "ownerId")
    stage.require(too_little(owner, spent.resource, spent.amount), "amount")
    left = owner.resources[spent.resource] - spent.amount
    stage.world.put(replace(owner, resources={**owner.resources, spent.resource: left}))


NEW_LAYER: Final = EntityId("")
"""The id of a layer of which nobody has one yet."""


async def _add_layer(stage: Stage, layer: schema.AddLayer) -> None:
    spot = await stage.find(layer.location_id, "locationId", KnownSpot)
    await stage.require_scope(("loc", spot.id))
    if layer.layer_type is LayerType.BASE:
        stage.refuse("layer.base", "Only builders can write a base layer.", "layerType")
    now = stage.world.tick
    since = now if layer.from_tick is None else layer.from_tick
    if since < now:
        stage.refuse("layer.in-the-past", f"The world's clock is already at {now}.", "fromTick")
    if layer.to_tick is not None and layer.to_tick < since:
        stage.refuse("layer.ends-before-start", "The layer would end before it starts.", "toTick")
    new = Laid(id=NEW_LAYER, layer_type=layer.layer_type, since=since, until=layer.to_tick)
    lying = await stage.world.layers(spot.id)
    if layer.replaces is not None:
        named = layer_id_of(stage.world.draft.space, layer.replaces)
        replaced = next((one for one in lying if one.id == named), None)
        if replaced is None or overlapping((replaced,), new) is None:
            stage.refuse("layer.unknown", "No layer of this id is in force there then.", "replaces")
        lying = tuple(one for one in lying if one is not replaced)
    standing = overlapping(lying, new)
    if standing is not None:
        reason = f"A layer of this type is in force: {standing.id or 'of this proposal'}."
        stage.refuse("layer.overlaps", reason, "replaces")
    stage.world.put_layers(spot.id, (*lying, new))
    stage.require(claimed(layer.layer_content, await stage.world.ways(spot.id)), "layerContent")


async def _create_exit(stage: Stage, new: schema.CreateExit) -> None:
    start = await stage.find(new.from_location_id, "fromLocationId", KnownSpot)
    target = await stage.find(new.to_location_id, "toLocationId", KnownSpot)
    needed = new.requires_item
    item = None if needed is None else await stage.find(needed, "requiresItem", Stack)
    ways = await stage.world.ways(start.id)
    await stage.require_scope(("loc", start.id))
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
        await _open_way_back(stage, target, way)
    await stage.world.put_way(start.id, new.direction, way)


async def _open_way_back(stage: Stage, target: KnownSpot, way: KnownWay) -> None:
    opposite = OPPOSITE[way.direction]
    back = (await stage.world.ways(target.id)).get(opposite)
    if back is not None and back.to == way.start and not back.one_way:
        return
    if back is not None:
        reason = f"Another exit occupies the way back, {opposite}."
        stage.refuse("exit.way-back-taken", reason, "oneWay")
    stage.require(cannot_open(opposite, (target.id, way.start), {}, target.forbidden), "oneWay")
    turned = replace(way, direction=opposite, start=target.id, to=way.start)
    await stage.world.put_way(target.id, opposite, turned)


async def _remove_exit(stage: Stage, old: schema.RemoveExit) -> None:
    start = await stage.find(old.from_location_id, "fromLocationId", KnownSpot)
    await stage.require_scope(("loc", start.id))
    way = (await stage.world.ways(start.id)).get(old.direction)
    if way is None:
        stage.refuse("exit.unknown", f"No exit leads {old.direction} from there.", "direction")
    if not way.proposed:
        stage.refuse("exit.of-builders", "Builders made this exit.", "direction")
    await stage.world.put_way(start.id, old.direction, None)
    opposite = OPPOSITE[old.direction]
    back = (await stage.world.ways(way.to)).get(opposite)
    if not way.one_way and back is not None and back.to == start.id and not back.one_way:
        await stage.world.put_way(way.to, opposite, None)


async def _spawn(stage: Stage, new: schema.Spawn) -> None:
    spot = await stage.find(new.location_id, "locationId", KnownSpot)
    await stage.require_scope(("loc", spot.id))
    if new.faction_id is None:
        return
    draft = stage.world.draft
    found = await draft.find(lore_id_of(draft.space, new.faction_id))
    known = found is not None and found.level is CanonLevel.CANON
    own = found.properties if found is not None and known else {}
    if own.get("lore_type") != LoreType.FACTION or own.get("archived"):
        stage.refuse("faction.unknown", "The lore has no faction with this id.", "factionId")


async def _ask_for_ambience(stage: Stage, wanted: schema.GenerateAmbience) -> None:
    spot = await stage.find(wanted.location_id, "locationId", KnownSpot)
    await stage.require_scope(("loc", spot.id))


_PLAYS: Final[Mapping[type, Callable[[Stage, Any], Awaitable[None]]]] = {
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


async def objection_of_world(draft: WorldDraft, proposed: Proposed) -> Rejection | None:
    """Return the world's objection to a proposal at the draft's tick."""
    world = KnownWorld(draft)
    behalf = await world.find(proposed.player, Person) if proposed.player else None
    refused = await _wrong_actor(proposed, world, behalf)
    if refused is not None:
        return refused
    try:
        for number, action in enumerate(proposed.actions):
            play = _PLAYS[type(action.params)]
            await play(Stage(world, behalf, number, action), action.params)
    except _ActionRefusedError as error:
        return error.rejection
    return None


async def _wrong_actor(
    proposed: Proposed, world: KnownWorld, behalf: Person | None
) -> Rejection | None:
    """Require a living, present actor that is no player other than `behalf`."""
    actor, path = proposed.envelope.actor, "/actor/id"
    if proposed.player and (behalf is None or behalf.kind is not WorldType.PLAYER):
        reason = "This world has no player with the id in `playerId`."
        return refusal("actor.unknown", reason, path="/playerId")
    if actor.id is None and actor.kind not in {ActorKind.PLAYER, ActorKind.NPC}:
        return None
    who = await world.find(actor.id or "#nobody", Person)
    if who is None:
        reason = "This world has no player or character with this id."
        return refusal("actor.unknown", reason, path=path)
    if who.kind is WorldType.PLAYER and (behalf is None or who.id != behalf.id):
        return refusal("scope.other-player", f"{who.name} belongs to another player.", path=path)
    gone = not_here(who)
    if gone is None:
        return None
    return refusal(gone.rule.replace("person", "actor"), gone.reason, path=path)

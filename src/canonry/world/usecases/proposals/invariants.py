"""Gate 3, invariants: the actions are played in their order upon a draft of the world.

The first action that is not allowed refuses all. A proposal may change only state:
locations, holders and conditions; never lore, the builders' exits, or the dead. The next action
finds the changes of the one before it, and the draft has the changes of the whole proposal.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from canonry.log.folding import relations_key
from canonry.log.items.facts import Relation, RelationDraft
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
from canonry.readmodels.edges import (
    OPPOSITE,
    Direction,
    Tick,
    instant_of,
    is_recurring,
    kind_of,
    span_of,
    tick_of,
)
from canonry.readmodels.ports.state import RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import Conflict, NotFound
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel
from canonry.world.domain.admission import schema
from canonry.world.domain.admission.schema import (
    Action,
    KnownLocation,
    LaidLayer,
    Params,
    ReadProposal,
    Rejection,
    make_rejection,
    overlapping_layer,
    reject_absent,
    reject_apart,
    reject_false_claims,
    reject_missing,
    reject_passage,
)
from canonry.world.domain.atlas import Exit, Item, Layer, Mover, item_id_of, layer_id_of, lore_id_of
from canonry.world.domain.checks import KnownExit, Person, Stack, known_exit_of, person_of, stack_of
from canonry.world.usecases.building import create_exit_pair, declare_part, end_return_exit
from canonry.world.usecases.movement import Move, Transfer, add_to_stack, write_move, write_transfer
from canonry.world.usecases.worlds import WorldDraft

EVENT_NAMES: Final[dict[str, str]] = schema.WORDS["events"]
"""The closed registry of domain events, and the action by which each comes about."""
_EVENT_OF: Final = {action: name for name, action in reversed(EVENT_NAMES.items())}

KnownItem: TypeAlias = Person | Stack | KnownLocation
T = TypeVar("T", Person, KnownLocation, Stack)
_NOUNS: Final = {Person: "player or character", KnownLocation: "location", Stack: "item"}
_MOVERS: Final = frozenset(map(str, MOVERS))


async def _find_item(draft: WorldDraft, name: str) -> KnownItem | None:
    """Return the item with this id or key as the draft leaves it."""
    item_id = item_id_of(draft.space, name)
    found = await draft.find_item(item_id)
    if found is None or found.level is not CanonLevel.CANON:
        return None
    own = draft.drafted_properties(found)
    if found.entity_type == WorldType.LOCATION:
        forbidden = dict(own.get("forbidden") or {})
        return KnownLocation(id=item_id, name=found.name, forbidden=forbidden)
    if found.entity_type == WorldType.ITEM:
        held = await draft.latest_edges(HELD_BY, item_id)
        return stack_of(found, held[0].to_id if held else None, own)
    if found.entity_type not in _MOVERS:
        return None
    at = await draft.latest_edges(LOCATED_IN, item_id, kinds=(*MOVERS, ""))
    return person_of(found, at[0].to_id if at else None, own)


async def _current_layers(draft: WorldDraft, location: EntityId) -> dict[LaidLayer, RelationDraft]:
    """Return the layers upon a location that hold now or later, with their edges."""
    draft.reads.add(relations_key(location))
    query = RelationQuery(
        spaces=frozenset((draft.space,)),
        entities=frozenset((location,)),
        rel_type=LAYER_OF,
        direction="in",
        current=True,
        newest_first=True,
        limit=PAGE_MAX,
    )
    stored = (await draft.canon.state.relations(query)).items
    found: dict[LaidLayer, RelationDraft] = {}
    for edge in draft.with_drafted(stored, LAYER_OF, location, outward=False):
        span = span_of(edge)
        if span is None or span[1] <= draft.at or is_recurring(edge):  # that lies beneath
            continue
        layer = LaidLayer(
            id=edge.from_id if isinstance(edge, Relation) else NEW_LAYER,
            layer_type=LayerType(kind_of(edge)),
            since=tick_of(Instant(span[0])),
            until=None if edge.until is None else tick_of(Instant(edge.until)) - 1,
        )
        found[layer] = edge
    return found


class _ActionRefusedError(Exception):
    """Ends the play of an action that the world does not allow."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.rule)
        self.rejection = rejection


@dataclass(frozen=True, slots=True)
class ActionStage:
    """One action: judged by what the draft knows, then written into it.

    `behalf` is the player for whom it is done; `path` is its place in the envelope. A refusal
    raises `_ActionRefusedError`.
    """

    draft: WorldDraft
    proposed: ReadProposal
    behalf: Person | None
    path: str
    action: Action

    @property
    def current_tick(self) -> Tick:
        """The tick at which it is done."""
        return tick_of(self.draft.at)

    def refuse(self, rule: str, reason: str, field: str) -> NoReturn:
        """Refuse the action for what a parameter says."""
        path = f"{self.path}/params/{field}"
        raise _ActionRefusedError(make_rejection(rule, reason, path=path))

    def check_rejection(self, refused: Rejection | None, field: str) -> None:
        """Refuse the action where something is said against a parameter."""
        if refused is not None:
            raise _ActionRefusedError(replace(refused, path=f"{self.path}/params/{field}"))

    async def find_item(self, name: str, field: str, kind: type[T]) -> T:
        """Return the item of this kind that a parameter names."""
        found = await _find_item(self.draft, name)
        if not isinstance(found, kind):
            reason = f"This world has no {_NOUNS[kind]} with this id or key."
            self.refuse("reference.unknown", reason, field)
        return found

    async def exits_of(self, location: EntityId) -> Mapping[Direction, KnownExit]:
        """Return the exits of a location."""
        edges = await self.draft.edges_of(EXIT, location, kinds=None)
        exits = (known_exit_of(edge, self.current_tick) for edge in edges)
        return {known_exit.direction: known_exit for known_exit in exits if known_exit is not None}

    async def require_scope(self, *scopes: tuple[str, EntityId | None]) -> None:
        """The action has to say that it is about one of these."""
        kind, name = self.action.scope
        known = await _find_item(self.draft, name)
        if isinstance(known, Person if kind == "player" else KnownLocation) and (
            (kind, known.id) in scopes
        ):
            return
        wanted = " or ".join(dict.fromkeys(f"{kind}:{each}" for kind, each in scopes if each))
        reason = f"The scopeKey of this action is {wanted or 'unknown here'}."
        path = f"{self.path}/scopeKey"
        raise _ActionRefusedError(make_rejection("scope.mismatch", reason, path=path))

    def require_own(self, person: Person, field: str) -> None:
        """Nobody acts for somebody else's player; characters are anybody's."""
        others = self.behalf is not None and person.id != self.behalf.id
        if person.kind is WorldType.PLAYER and others:
            self.refuse("scope.other-player", f"{person.name} belongs to another player.", field)

    def require_allowed(self, spot: KnownLocation, direction: Direction, field: str) -> None:
        """No exit leads from a location in a direction that its builders forbid."""
        if direction in spot.forbidden:
            self.refuse("exit.forbidden", f"{direction}: {spot.forbidden[direction]}", field)

    def observe_person(
        self, person: Person, field: str, values: Mapping[str, Any], changed: str
    ) -> None:
        """Write a person's new conditions or resources."""
        self.draft.observe_item(person.id, {f"properties.{field}": values})
        self.record_event((person.id, person.location), "", **{field.rstrip("s"): changed})

    def record_event(
        self, involved: Iterable[EntityId | None], description: str, /, **more: Any
    ) -> None:
        """Write the event of the action, which also involves its actor."""
        envelope = self.proposed.envelope
        actor = envelope.actor
        own = None if actor.id is None else item_id_of(self.draft.space, actor.id)
        people = [each for each in (*involved, own) if each is not None]
        by, of_call = str(actor.kind), envelope.correlation_id
        properties = {"actor_kind": by, "correlation_id": of_call, **more}
        label = f"{self.action.kind}/{':'.join(self.action.scope)}"
        self.draft.add_event(label, _EVENT_OF[self.action.kind], people, properties, description)


def home_of(person: Person) -> tuple[str, EntityId | None]:
    """The scope of what somebody does themselves."""
    if person.kind is WorldType.PLAYER:
        return "player", person.id
    return "loc", person.location


HEALTH: Final = "health"
"""The resource that damage takes and healing gives; who has none left is dead."""


async def _play_move(stage: ActionStage, move: Params) -> None:
    mover = await stage.find_item(move.mover_id, "moverId", Person)
    stage.require_own(mover, "moverId")
    await stage.require_scope(home_of(mover))
    stage.check_rejection(reject_absent(mover), "moverId")
    if mover.location is None:
        stage.refuse("position.elsewhere", "The mover has no known location.", "moverId")
    exits = await stage.exits_of(mover.location)
    known_exit = exits.get(move.direction)
    refused = reject_passage(known_exit, move.direction, await _held_key(stage, mover, known_exit))
    if refused is not None and known_exit is None and exits:
        there = ", ".join(each for each in Direction if each in exits)
        refused = replace(refused, admissible=f"{refused.admissible}: {there}")
    stage.check_rejection(refused, "direction")
    await write_move(stage.draft, Move(mover=move.mover_id, direction=move.direction))


async def _held_key(
    stage: ActionStage, mover: Person, known_exit: KnownExit | None
) -> tuple[str, ...]:
    if known_exit is None or known_exit.requires is None:
        return ()
    needed = await _find_item(stage.draft, known_exit.requires)
    return (known_exit.requires,) if isinstance(needed, Stack) and needed.holder == mover.id else ()


async def _find_holder(stage: ActionStage, name: str, field: str) -> Person | KnownLocation:
    spot = await _find_item(stage.draft, name)
    return spot if isinstance(spot, KnownLocation) else await stage.find_item(name, field, Person)


def _holder_location(holder: Person | KnownLocation) -> EntityId | None:
    return holder.id if isinstance(holder, KnownLocation) else holder.location


async def _play_transfer(stage: ActionStage, new: Params) -> None:
    stack = await stage.find_item(new.item_id, "itemId", Stack)
    giver = await _find_holder(stage, new.from_holder_id, "fromHolderId")
    taker = await _find_holder(stage, new.to_holder_id, "toHolderId")
    people = [each for each in (giver, taker) if isinstance(each, Person)]
    homes = [home_of(each) for each in people if each.kind is WorldType.PLAYER]
    await stage.require_scope(
        ("loc", _holder_location(giver)), ("loc", _holder_location(taker)), *homes
    )
    if stack.holder != giver.id:
        stage.refuse("item.held-otherwise", f"{stack.name} has another holder.", "itemId")
    if (new.quantity or 0) > stack.quantity:
        reason = f"The holder has {stack.quantity} of {stack.name}, not {new.quantity}."
        stage.refuse("item.too-few", reason, "itemId")
    if giver.id == taker.id:
        stage.refuse("item.same-holder", "The item is already with this holder.", "toHolderId")
    if isinstance(taker, Person):
        stage.check_rejection(reject_absent(taker), "toHolderId")
    rejection = reject_apart(
        _holder_location(giver), _holder_location(taker), "The holders are at different locations."
    )
    stage.check_rejection(rejection, "toHolderId")
    if new.quantity in {None, stack.quantity}:
        whole = Transfer(item=stack.id, holder=taker.id, expected=giver.id)
        await write_transfer(stage.draft, whole)
    else:
        await _split_stack(stage, stack, (giver, taker), new.quantity or 0)


async def _split_stack(
    stage: ActionStage,
    stack: Stack,
    ends: tuple[Person | KnownLocation, Person | KnownLocation],
    count: int,
) -> None:
    """Write that a part of a stack goes from one holder to another."""
    draft, (giver, taker) = stage.draft, ends
    joined = await add_to_stack(draft, stack.id, taker.id, count)
    got = EntityId(draft.new_id(f"split/{stack.id}")) if joined is None else joined.from_id
    item = await draft.find_item(stack.id)
    if joined is None and item is not None:
        own = {**draft.drafted_properties(item), "key": got, "quantity": count}
        words = {"name": item.name, "description": item.description}
        await draft.declare_item(got, WorldType.ITEM, **words, properties=own)
        draft.add_edge(HELD_BY, got, taker.id)
    draft.observe_item(stack.id, {"properties.quantity": stack.quantity - count})
    location = _holder_location(giver) or _holder_location(taker)
    stage.record_event((got, giver.id, taker.id, location, stack.id), "", quantity=count)


async def _play_speech(stage: ActionStage, speech: Params) -> None:
    speaker = await stage.find_item(speech.npc_id, "npcId", Person)
    listener = await stage.find_item(speech.player_id, "playerId", Person)
    if speaker.kind is not WorldType.CHARACTER or listener.kind is not WorldType.PLAYER:
        reason = "`npcId` must name a character and `playerId` a player."
        stage.refuse("reference.unknown", reason, "npcId")
    await stage.require_scope(("loc", speaker.location))
    stage.check_rejection(reject_absent(speaker), "npcId")
    rejection = reject_missing(listener, speaker.location, "The two are at different locations.")
    stage.check_rejection(rejection, "playerId")
    stage.record_event((speaker.id, listener.id, speaker.location), speech.text, text=speech.text)


async def _change_condition(stage: ActionStage, change: Params) -> None:
    target = await stage.find_item(change.target_id, "targetId", Person)
    await stage.require_scope(home_of(target), ("loc", target.location))
    stage.check_rejection(reject_absent(target), "targetId")
    held = change.condition in target.conditions_at(stage.current_tick)
    conditions = dict(target.conditions)
    conditions.pop(change.condition, None)
    if stage.action.kind == "Condition.Apply":
        if held:
            reason = f"{target.name} already has this condition."
            stage.refuse("condition.held", reason, "condition")
        duration = change.duration_ms
        conditions[change.condition] = None if duration is None else stage.current_tick + duration
    elif not held:
        reason = f"{target.name} does not have this condition."
        stage.refuse("condition.not-held", reason, "condition")
    stage.observe_person(target, "conditions", conditions, change.condition)


async def _play_fight(stage: ActionStage, fight: Params) -> None:
    """Apply a round of a fight, at the location of its first participant."""
    here: EntityId | None = None
    taking_part: list[EntityId] = []
    for number, name in enumerate(fight.participant_ids):
        field = f"participantIds/{number}"
        fighter = await stage.find_item(name, field, Person)
        here = here or fighter.location
        await stage.require_scope(("loc", here))
        stage.check_rejection(
            reject_missing(fighter, here, f"{fighter.name} is at another location."), field
        )
        taking_part.append(fighter.id)
    for number, effect in enumerate(fight.effects):
        field = f"effects/{number}/targetId"
        target = await stage.find_item(effect.target_id, field, Person)
        if target.id not in taking_part:
            reason = f"{target.name} does not take part in the fight."
            stage.refuse("combat.not-a-participant", reason, field)
        stage.check_rejection(reject_absent(target), field)
        if HEALTH in target.resources:
            change = effect.amount if effect.kind == "heal" else -effect.amount
            health = max(0, target.resources[HEALTH] + change)
            left: dict[str, Any] = {"properties.resources": {**target.resources, HEALTH: health}}
            stage.draft.observe_item(
                target.id, left if health else {**left, "properties.alive": False}
            )
    effects = ", ".join(f"{each.kind} {each.amount}" for each in fight.effects)
    stage.record_event((*taking_part, here), effects, round=fight.round_number)


async def _play_spending(stage: ActionStage, spent: Params) -> None:
    owner = await stage.find_item(spent.owner_id, "ownerId", Person)
    stage.require_own(owner, "ownerId")
    await stage.require_scope(home_of(owner))
    stage.check_rejection(reject_absent(owner), "ownerId")
    left = dict(owner.resources)
    has = left.pop(spent.resource, 0)
    if has < spent.amount:
        reason = f"{owner.name} has {has} of {spent.resource}, not {spent.amount}."
        stage.refuse("resource.too-little", reason, "amount")
    left[spent.resource] = has - spent.amount
    stage.observe_person(owner, "resources", left, spent.resource)


NEW_LAYER: Final = EntityId("")
"""The id of a layer of which nobody has one yet."""


async def _add_layer(stage: ActionStage, layer: Params) -> None:
    spot = await stage.find_item(layer.location_id, "locationId", KnownLocation)
    await stage.require_scope(("loc", spot.id))
    if layer.layer_type is LayerType.BASE:
        stage.refuse("layer.base", "Only builders can write a base layer.", "layerType")
    now = stage.current_tick
    since = now if layer.from_tick is None else layer.from_tick
    if since < now:
        stage.refuse("layer.in-the-past", f"The world's clock is already at {now}.", "fromTick")
    if layer.to_tick is not None and layer.to_tick < since:
        stage.refuse("layer.ends-before-start", "The layer would end before it starts.", "toTick")
    new = LaidLayer(id=NEW_LAYER, layer_type=layer.layer_type, since=since, until=layer.to_tick)
    draft, lying = stage.draft, await _current_layers(stage.draft, spot.id)
    if layer.replaces is not None:
        named = layer_id_of(draft.space, layer.replaces)
        replaced = next((one for one in lying if one.id == named), None)
        if replaced is None or overlapping_layer((replaced,), new) is None:
            stage.refuse("layer.unknown", "No layer of this id is in force there then.", "replaces")
        # It ends one tick before the new one starts.
        draft.observe_item(named, {"properties.to": since - 1})
        draft.end_edge(lying.pop(replaced), until=instant_of(Tick(since)), reason="replaced")
    standing = overlapping_layer(lying, new)
    if standing is not None:
        reason = f"A layer of this type is in force: {standing.id or 'of this proposal'}."
        stage.refuse("layer.overlaps", reason, "replaces")
    stage.check_rejection(
        reject_false_claims(layer.layer_content, await stage.exits_of(spot.id)), "layerContent"
    )
    written = Layer(
        key=draft.new_id(f"layer/{spot.id}/{layer.layer_type}"),
        scope=spot.id,
        layer_type=layer.layer_type,
        value=layer.layer_content,
        from_tick=since,
        to_tick=layer.to_tick,
    )
    await declare_part(draft, written)
    details = {"layer_type": str(layer.layer_type), "layer_id": written.key}
    stage.record_event((spot.id,), layer.layer_content, **details)


async def _create_exit(stage: ActionStage, new: Params) -> None:
    start = await stage.find_item(new.from_location_id, "fromLocationId", KnownLocation)
    target = await stage.find_item(new.to_location_id, "toLocationId", KnownLocation)
    needed = new.requires_item
    if needed is not None:
        await stage.find_item(needed, "requiresItem", Stack)
    await stage.require_scope(("loc", start.id))
    if start.id == target.id:
        stage.refuse("exit.to-itself", "An exit cannot lead to its own location.", "direction")
    if new.direction in await stage.exits_of(start.id):
        reason = f"An exit already leads {new.direction}."
        stage.refuse("exit.direction-taken", reason, "direction")
    stage.require_allowed(start, new.direction, "direction")
    if not new.one_way:
        await _require_return_exit(stage, start.id, target, OPPOSITE[new.direction])
    new_exit = Exit(
        direction=new.direction,
        to=target.id,
        description=new.description,
        travel_ms=new.travel_duration_ms,
        one_way=new.one_way,
        hidden=new.hidden,
        blocked=new.blocked,
        requires=needed,
    )
    await create_exit_pair(stage.draft, start.id, start.id, new_exit)
    details = {"direction": str(new.direction)}
    stage.record_event((start.id, target.id), new.description or "", **details)


async def _require_return_exit(
    stage: ActionStage, start: EntityId, target: KnownLocation, direction: Direction
) -> None:
    back = (await stage.exits_of(target.id)).get(direction)
    if back is None:
        stage.require_allowed(target, direction, "oneWay")
    elif back.to != start or back.one_way:
        reason = f"Another exit occupies the way back, {direction}."
        stage.refuse("exit.way-back-taken", reason, "oneWay")


async def _remove_exit(stage: ActionStage, old: Params) -> None:
    start = await stage.find_item(old.from_location_id, "fromLocationId", KnownLocation)
    await stage.require_scope(("loc", start.id))
    known_exit = (await stage.exits_of(start.id)).get(old.direction)
    if known_exit is None:
        stage.refuse("exit.unknown", f"No exit leads {old.direction} from there.", "direction")
    if not known_exit.proposed:
        stage.refuse("exit.of-builders", "Builders made this exit.", "direction")
    for edge in await stage.draft.edges_of(EXIT, start.id, kinds=(old.direction,)):
        stage.draft.end_edge(edge, reason="a proposal closed it")
        await end_return_exit(stage.draft, edge)
    stage.record_event((start.id, known_exit.to), "", direction=str(old.direction))


async def _play_spawn(stage: ActionStage, new: Params) -> None:
    spot = await stage.find_item(new.location_id, "locationId", KnownLocation)
    await stage.require_scope(("loc", spot.id))
    draft, faction = stage.draft, new.faction_id
    if faction is not None:
        found = await draft.find_item(lore_id_of(draft.space, faction))
        known = found is not None and found.level is CanonLevel.CANON
        lore = found.properties if found is not None and known else {}
        if lore.get("lore_type") != LoreType.FACTION or lore.get("archived"):
            stage.refuse("faction.unknown", "The lore has no faction with this id.", "factionId")
    key = draft.new_id(f"spawned/{spot.id}/{new.name}")
    own: dict[str, Any] = {"key": key, "name": new.name, "description": new.description}
    if new.entity_type == "item":
        part: Item | Mover = Item(**own, holder=spot.id, item_type="spawned")
    else:
        attributes = {} if faction is None else {"factionId": faction}
        part = Mover(**own, location=spot.id, tags=tuple(new.tags), attributes=attributes)
    await declare_part(draft, part)
    stage.record_event((EntityId(key), spot.id), new.description)


async def _ask_for_ambience(stage: ActionStage, wanted: Params) -> None:
    spot = await stage.find_item(wanted.location_id, "locationId", KnownLocation)
    await stage.require_scope(("loc", spot.id))
    stage.record_event((spot.id,), "")


_PLAYS: Final[Mapping[str, Callable[[ActionStage, Any], Awaitable[None]]]] = {
    "Mover.Move": _play_move,
    "Item.Transfer": _play_transfer,
    "Layer.Add": _add_layer,
    "Exit.Create": _create_exit,
    "Exit.Remove": _remove_exit,
    "NPC.Dialogue": _play_speech,
    "Condition.Apply": _change_condition,
    "Condition.Remove": _change_condition,
    "Combat.Resolve": _play_fight,
    "Entity.Spawn": _play_spawn,
    "Resource.Spend": _play_spending,
    "Ambience.Generate": _ask_for_ambience,
}


async def play_actions(draft: WorldDraft, proposed: ReadProposal) -> Rejection | None:
    """Write the effects of a proposal into a draft; return the world's objection, if any.

    A draft that was objected to is of no use.
    """
    behalf = await _find_item(draft, proposed.player) if proposed.player else None
    behalf = behalf if isinstance(behalf, Person) else None
    refused = await _reject_actor(draft, proposed, behalf)
    if refused is not None:
        return refused
    try:
        for number, action in enumerate(proposed.actions):
            play = _PLAYS[action.kind]
            path = f"/proposedActions/{number}"
            await play(ActionStage(draft, proposed, behalf, path, action), action.params)
    except _ActionRefusedError as error:
        return error.rejection
    except (Conflict, NotFound) as error:
        reason = f"{error.code}: {error}"
        return make_rejection("world.stands-against", reason, path="/proposedActions")
    return None


async def _reject_actor(
    draft: WorldDraft, proposed: ReadProposal, behalf: Person | None
) -> Rejection | None:
    """Require a living, present actor that is no player other than `behalf`."""
    actor, path = proposed.envelope.actor, "/actor/id"
    if proposed.player and (behalf is None or behalf.kind is not WorldType.PLAYER):
        reason = "This world has no player with the id in `playerId`."
        return make_rejection("actor.unknown", reason, path="/playerId")
    if actor.id is None and actor.kind not in {ActorKind.PLAYER, ActorKind.NPC}:
        return None
    who = await _find_item(draft, actor.id or "#nobody")
    if not isinstance(who, Person):
        reason = "This world has no player or character with this id."
        return make_rejection("actor.unknown", reason, path=path)
    if who.kind is WorldType.PLAYER and (behalf is None or who.id != behalf.id):
        return make_rejection(
            "scope.other-player", f"{who.name} belongs to another player.", path=path
        )
    gone = reject_absent(who)
    if gone is None:
        return None
    return make_rejection(gone.rule.replace("person", "actor"), gone.reason, path=path)

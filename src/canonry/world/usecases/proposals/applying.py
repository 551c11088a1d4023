"""Applying: what an admitted proposal writes, in one draft; the gates have let all of it pass."""

from collections.abc import Iterable
from typing import Any, Final

from canonry.log.entries import RelationEnded
from canonry.log.schemas.world_types import EXIT, LAYER_OF, LOCATED_IN, MOVERS
from canonry.readmodels.edges import Tick, instant_of, tick_of
from canonry.readmodels.ports.state import RelationQuery
from canonry.values.ids import EntityId
from canonry.world.domain.admission import schema
from canonry.world.domain.admission.schema import Action, Proposed
from canonry.world.domain.atlas import Exit, Item, Layer, Mover
from canonry.world.domain.merging import layer_id_of, thing_id_of
from canonry.world.usecases import move_mover
from canonry.world.usecases.proposals.playing import HEALTH
from canonry.world.usecases.world_draft import WorldDraft
from canonry.world.usecases.world_parts import declare_part, end_way_back, join_both_ways

EVENT_NAMES: Final = {
    "Player.Move": "Mover.Move",
    "NPC.Move": "Mover.Move",
    "Item.Transfer": "Item.Transfer",
    "Location.Environment.Changed": "Layer.Add",
    "World.Exit.Create": "Exit.Create",
    "World.Exit.Remove": "Exit.Remove",
    "NPC.Dialogue": "NPC.Dialogue",
    "Condition.Applied": "Condition.Apply",
    "Condition.Removed": "Condition.Remove",
    "Combat.Resolved": "Combat.Resolve",
    "Entity.Spawned": "Entity.Spawn",
    "Resource.Spent": "Resource.Spend",
    "World.Ambience.Requested": "Ambience.Generate",
}
"""The closed registry of domain events, and the action by which each comes about."""

_EVENT_OF: Final = {action: name for name, action in reversed(EVENT_NAMES.items())}


class ActionApplied:
    """One action of a proposal, as it is written into a draft."""

    def __init__(self, draft: WorldDraft, proposed: Proposed, action: Action) -> None:
        """Write into this draft."""
        self._draft = draft
        self._proposed = proposed
        self._action = action

    async def apply(self) -> None:  # noqa: C901 - one case an action
        """Write all that the action does.

        Raises:
            Conflict: something stands against it after all.
        """
        draft = self._draft
        match self._action.params:
            case schema.MoveAction() as move:
                step = move_mover.Move(mover=move.mover_id, direction=move.direction)
                await move_mover.write_move(draft, step)
            case schema.TransferAction() as transfer:
                await self._transfer(transfer)
            case schema.AddLayer() as layer:
                await self._layer(layer)
            case schema.CreateExit() as new:
                await self._open(new)
            case schema.RemoveExit() as old:
                await self._close(old)
            case schema.Dialogue() as said:
                who = (self._id(said.npc_id), self._id(said.player_id))
                place = await self._place(who[0])
                self._happened((*who, place), said.text, text=said.text)
            case schema.ApplyCondition() as change:
                since = tick_of(draft.at)
                until = None if change.duration_ms is None else since + change.duration_ms
                await self._status(change.target_id, "conditions", change.condition, until)
            case schema.RemoveCondition() as change:
                await self._status(change.target_id, "conditions", change.condition, ...)
            case schema.ResolveCombat() as fight:
                await self._fight(fight)
            case schema.Spawn() as new:
                await self._spawn(new)
            case schema.Spend() as spent:
                left = await self._own(spent.owner_id, "resources")
                has = int(left.get(spent.resource, 0)) - spent.amount
                await self._status(spent.owner_id, "resources", spent.resource, has)
            case schema.GenerateAmbience(location_id=place):
                self._happened((self._id(place),), "")

    def _id(self, name: str) -> EntityId:
        return thing_id_of(self._draft.space, name)

    async def _place(self, mover: EntityId) -> EntityId | None:
        edges = await self._draft.latest_edges(LOCATED_IN, mover, kinds=(*MOVERS, ""))
        return edges[0].to_id if edges else None

    def _happened(
        self, involved: Iterable[EntityId | None], description: str, /, **more: Any
    ) -> None:
        """The domain event of the action."""
        actor = self._proposed.envelope.actor
        label = f"{self._action.kind}/{':'.join(self._action.scope)}"
        own = (None if actor.id is None else self._id(actor.id),)
        people = [each for each in (*involved, *own) if each is not None]
        correlation = self._proposed.envelope.correlation_id
        told = {"actor_kind": str(actor.kind), "correlation_id": correlation, **more}
        self._draft.happen(label, _EVENT_OF[self._action.kind], people, told, description)

    async def _transfer(self, new: schema.TransferAction) -> None:
        draft, item_id = self._draft, self._id(new.item_id)
        item = await draft.find(item_id)
        has = int(await draft.own(item_id, "quantity") or 1)
        if item is None or new.quantity is None or new.quantity == has:
            whole = move_mover.Transfer(
                item=new.item_id, holder=new.to_holder_id, expected=new.from_holder_id
            )
            await move_mover.write_transfer(draft, whole)
            return
        draft.observe(item_id, {"properties.quantity": has - new.quantity})
        part = Item(
            key=draft.new_id(f"split/{item_id}"),
            name=item.name,
            holder=new.to_holder_id,
            item_type=str(item.properties.get("item_type", "")),
            quantity=new.quantity,
            description=item.description,
        )
        await declare_part(draft, part)
        giver, taker = self._id(new.from_holder_id), self._id(new.to_holder_id)
        place = await self._place(giver) or await self._place(taker)
        split = (EntityId(part.key), giver, taker, place, item_id)
        self._happened(split, "", quantity=new.quantity)

    async def _layer(self, new: schema.AddLayer) -> None:
        draft, place = self._draft, self._id(new.location_id)
        since = tick_of(draft.at) if new.from_tick is None else new.from_tick
        if new.replaces is not None:
            await self._replace(layer_id_of(draft.space, new.replaces), Tick(since))
        layer = Layer(
            key=draft.new_id(f"layer/{place}/{new.layer_type}"),
            scope=place,
            layer_type=new.layer_type,
            value=new.layer_content,
            from_tick=since,
            to_tick=new.to_tick,
        )
        await declare_part(draft, layer)
        told = {"layer_type": str(new.layer_type), "layer_id": layer.key}
        self._happened((place,), new.layer_content, **told)

    async def _replace(self, old: EntityId, since: Tick) -> None:
        """The layer that is replaced ends just before the new one begins."""
        draft = self._draft
        draft.observe(old, {"properties.to": since - 1})
        query = RelationQuery(
            spaces=frozenset((draft.space,)),
            entities=frozenset((old,)),
            rel_type=LAYER_OF,
            direction="out",
            current=True,
        )
        for edge in (await draft.canon.state.relations(query)).items:
            draft.entries.append(
                RelationEnded(
                    relation_id=edge.id,
                    until=instant_of(since),
                    superseded_by=None,
                    reason="replaced",
                )
            )

    async def _open(self, new: schema.CreateExit) -> None:
        start = self._id(new.from_location_id)
        way = Exit(
            direction=new.direction,
            to=self._id(new.to_location_id),
            description=new.description,
            travel_ms=new.travel_duration_ms,
            one_way=new.one_way,
            hidden=new.hidden,
            blocked=new.blocked,
            requires=new.requires_item,
        )
        await join_both_ways(self._draft, start, start, way)
        ends = (start, self._id(new.to_location_id))
        self._happened(ends, new.description or "", direction=str(new.direction))

    async def _close(self, old: schema.RemoveExit) -> None:
        draft, start = self._draft, self._id(old.from_location_id)
        target: EntityId | None = None
        for edge in await draft.edges(EXIT, start, kinds=(old.direction,)):
            draft.end(edge, reason="a proposal closed it")
            await end_way_back(draft, edge)
            target = edge.to_id
        self._happened((start, target), "", direction=str(old.direction))

    async def _own(self, name: str, field: str) -> dict[str, Any]:
        return dict(await self._draft.own(self._id(name), field) or {})

    async def _status(self, name: str, field: str, key: str, value: Any) -> None:
        """Set a condition or a resource of somebody; `...` takes it away."""
        own, who = await self._own(name, field), self._id(name)
        own.pop(key, None)
        if value is not ...:
            own[key] = value
        self._draft.observe(who, {f"properties.{field}": own})
        self._happened((who, await self._place(who)), "", **{field.rstrip("s"): key})

    async def _fight(self, fight: schema.ResolveCombat) -> None:
        for effect in fight.effects:
            own, who = await self._own(effect.target_id, "resources"), self._id(effect.target_id)
            if HEALTH in own:
                change = effect.amount if effect.kind == "heal" else -effect.amount
                own[HEALTH] = max(0, int(own[HEALTH]) + change)
                told: dict[str, Any] = {"properties.resources": own}
                if own[HEALTH] == 0:
                    told["properties.alive"] = False
                self._draft.observe(who, told)
        people = [self._id(each) for each in fight.participant_ids]
        effects = [f"{each.kind} {each.amount}" for each in fight.effects]
        self._happened(
            (*people, await self._place(people[0])),
            ", ".join(effects),
            round=fight.round_number,
        )

    async def _spawn(self, new: schema.Spawn) -> None:
        draft, place = self._draft, self._id(new.location_id)
        key = draft.new_id(f"spawned/{place}/{new.name}")
        if new.entity_type == "item":
            part: Item | Mover = Item(
                key=key,
                name=new.name,
                holder=place,
                item_type="spawned",
                description=new.description,
            )
        else:
            faction = {} if new.faction_id is None else {"factionId": new.faction_id}
            part = Mover(
                key=key,
                name=new.name,
                location=place,
                description=new.description,
                tags=tuple(new.tags),
                attributes=faction,
            )
        await declare_part(draft, part)
        self._happened((EntityId(key), place), new.description)

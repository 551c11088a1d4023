"""A small world and whoever asks about it: calls through the real gateway, each reply checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jsonschema_rs

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import KEY_META, Principal
from canonry.gateway.replies import Result
from canonry.log.schemas.world_types import (
    ActorKind,
    LayerType,
    LoreType,
    RealmScope,
    RealmType,
    TerrainType,
)
from canonry.readmodels.edges import Direction
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.values.ids import SpaceId
from canonry.world.domain.atlas import (
    Atlas,
    Exit,
    Happening,
    Item,
    Layer,
    Location,
    Lore,
    LoreVersion,
    Mover,
    Realm,
    Route,
    item_id_of,
    layer_id_of,
)
from canonry.world.toolset import EXACT, WORLD
from canonry.world.usecases.exchange import ImportedWorld, import_world

REPLIES = {tool.name: jsonschema_rs.validator_for(dict(tool.output_schema)) for tool in EXACT}
TICK = 50_000_000


def an_isle() -> Atlas:
    """Four places, a road, a hole in the ground, two players, a cook, and weather."""
    return Atlas(
        name="The Isle",
        starter="inn",
        tick=TICK,
        realms=(
            Realm(
                key="isle",
                name="The Isle",
                realm_type=RealmType.CONTINENT,
                scope=RealmScope.GLOBAL,
                narrative_tags=("salt", "old"),
            ),
            Realm(
                key="town",
                name="Town",
                realm_type=RealmType.CITY,
                scope=RealmScope.LOCAL,
                narrative_tags=("ale", "old"),
                within=("isle",),
            ),
            Realm(
                key="mist",
                name="Mist",
                realm_type=RealmType.WEATHER_ZONE,
                scope=RealmScope.REGIONAL,
                within=("isle",),
            ),
        ),
        locations=(
            Location(
                key="inn",
                name="Inn",
                description="A low room.",
                terrain=TerrainType.NARROW_CORRIDOR,
                tags=("warm",),
                realms=("town",),
                exits=(
                    Exit(direction=Direction.OUT, to="yard", travel_ms=5_000),
                    Exit(direction=Direction.DOWN, to="cellar", hidden=True),
                ),
            ),
            Location(
                key="yard",
                name="Yard",
                description="Mud.",
                realms=("town", "mist"),
                exits=(Exit(direction=Direction.NORTH, to="road"),),
            ),
            Location(
                key="road",
                name="Road",
                description="Long.",
                realms=("mist",),
                exits=(
                    Exit(direction=Direction.EAST, to="tower", requires="key"),
                    Exit(
                        direction=Direction.WEST, to="cellar", one_way=True, blocked="A fallen oak."
                    ),
                ),
            ),
            Location(
                key="cellar",
                name="Cellar",
                description="Dark.",
                exits=(Exit(direction=Direction.WEST, to="road", one_way=True),),
            ),
            Location(key="tower", name="Tower", description="High."),
        ),
        players=(
            Mover(key="ann", name="Ann", location="inn", attributes={"health": 9}),
            Mover(key="bob", name="Bob", location="yard"),
        ),
        characters=(Mover(key="cook", name="The Cook", location="inn"),),
        items=(
            Item(key="key", name="Key", holder="cook", item_type="key"),
            Item(key="cup", name="Cup", holder="ann", item_type="thing", quantity=2),
        ),
        layers=(
            Layer(
                key="rain",
                scope="isle",
                layer_type=LayerType.WEATHER,
                value="rain",
                from_tick=0,
            ),
            Layer(
                key="fog",
                scope="mist",
                layer_type=LayerType.WEATHER,
                value="fog",
                from_tick=10_000_000,
                to_tick=20_000_000,
            ),
            Layer(
                key="song",
                scope="inn",
                layer_type=LayerType.AMBIENT,
                value="a song " * 100,
                from_tick=0,
            ),
        ),
        lore=(
            Lore(
                key="council",
                lore_type=LoreType.FACTION,
                versions=(
                    LoreVersion(fields={"name": "The Council", "description": "Nine mages."}),
                    LoreVersion(
                        fields={"name": "The Council", "description": "Eight mages in a tower."},
                        tick=1_000,
                    ),
                ),
            ),
            Lore(
                key="ferry",
                lore_type=LoreType.HISTORICAL_EVENT,
                versions=(
                    LoreVersion(fields={"name": "The Ferry", "description": "It sank " * 100}),
                ),
            ),
        ),
        events=(
            Happening(
                key="bell",
                event_type="Town.Bell",
                description="It rang.",
                tick=100,
                location="inn",
                participants=("ann",),
            ),
            Happening(
                key="fight",
                event_type="Player.Fight",
                description="",
                tick=30_000_000,
                location="inn",
                participants=("ann", "bob"),
                actor_kind=ActorKind.PLAYER,
            ),
        ),
    )


def tied_isle() -> Atlas:
    """The isle with two powers beside the town, a guild, and roads."""
    isle = an_isle()
    ties: dict[str, dict[str, Any]] = {
        "town": {"vassal_of": ("crown",), "member_of": ("guild",)},
        "isle": {"borders": ("crown",)},
        "crown": {"at_war_with": ("guild",)},
    }

    def power(key: str, kind: RealmType) -> Realm:
        return Realm(key=key, name=key.title(), realm_type=kind, scope=RealmScope.MACRO)

    powers = (power("crown", RealmType.KINGDOM), power("guild", RealmType.TRADE_NETWORK))
    inn, *others = isle.locations
    return replace(
        isle,
        realms=tuple(replace(r, **ties.get(r.key, {})) for r in (*isle.realms, *powers)),
        locations=(replace(inn, member_of=("guild",)), *others),
        routes=(
            Route(name="The King's Road", stops=("inn", "yard", "road")),
            Route(name="The Drain", stops=("cellar", "road"), one_way=True),
        ),
    )


@dataclass(slots=True, kw_only=True)
class Isle:
    """A canon with a world in it, and the gateway before it."""

    canon: Canon
    gateway: Gateway
    world: SpaceId

    def id(self, key: str) -> str:
        """The id of the item with this key."""
        return item_id_of(self.world, key)

    def layer(self, key: str) -> str:
        """The id of the layer with this key."""
        return layer_id_of(self.world, key)

    async def outcome(
        self, tool: str, arguments: Mapping[str, Any], agent: str, retry: str | None = None
    ) -> Result:
        """Return the result of a call; check that a reply satisfies the tool's output schema."""
        principal = Principal(agent_id=f"{agent}-1", agent_type=agent, world=self.world)
        meta = None if retry is None else {KEY_META: retry}
        outcome = await self.gateway.call(tool, arguments, principal, meta)
        name = self.gateway.catalogue.aliases.get(tool, tool)
        if outcome.error is None and name in REPLIES:
            errors = [
                f"{e.instance_path}: {e.message}" for e in REPLIES[name].iter_errors(outcome.body)
            ]
            assert not errors, (tool, errors)
        return outcome

    async def call(
        self, tool: str, agent: str = "WorldBuilder", /, retry: Any = None, **arguments: Any
    ) -> Any:
        """The reply of a call that succeeds."""
        outcome = await self.outcome(tool, arguments, agent, retry)
        assert outcome.error is None, outcome.text
        return outcome.body

    async def refused(self, tool: str, code: str, reason: str, /, **arguments: Any) -> Any:
        """The details of a call that is refused; nothing may have been written."""
        before = await self.canon.ledger.head_position(self.world)
        outcome = await self.outcome(tool, arguments, "WorldBuilder")
        assert outcome.error is not None, f"not refused: {outcome.text}"
        error = outcome.body["error"]
        assert (error["code"], error["details"]["reason"]) == (code, reason), outcome.text
        assert await self.canon.ledger.head_position(self.world) == before, (
            "it has written something"
        )
        return error["details"]


async def brought_in(canon: Canon, atlas: Atlas, origin: str = "test") -> ImportedWorld:
    """Import an atlas as an operator would."""
    return await import_world(
        canon, a_caller("Operator", "world import"), atlas, origin=origin, progress=lambda *_: None
    )


async def a_world(atlas: Atlas | None = None, clock: HandClock | None = None) -> Isle:
    """The isle, or another world, in a canon of its own."""
    canon = compose_memory(clock=clock or HandClock(), identities=CountingIdentities())
    done = await brought_in(canon, atlas or an_isle())
    return Isle(canon=canon, gateway=Gateway(canon, (WORLD,)), world=done.world_id)

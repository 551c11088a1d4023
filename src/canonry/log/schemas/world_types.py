"""The entity and relation types of a world, and the values of its fields."""

from enum import StrEnum
from typing import Final


class WorldType(StrEnum):
    """The type of an entity of a world."""

    WORLD = "world"
    LOCATION = "location"
    REALM = "realm"
    LAYER = "layer"
    PLAYER = "player"
    CHARACTER = "character"
    ITEM = "item"
    LORE_FACT = "lore_fact"


MOVERS: Final = (WorldType.PLAYER, WorldType.CHARACTER)
"""The types of entities that can change location."""

HOLDERS: Final = (*MOVERS, WorldType.LOCATION)
"""The types of entities that can hold an item."""

EXIT: Final = "EXIT"
"""From a location to the next; its `kind` is the direction."""
LOCATED_IN: Final = "LOCATED_IN"
"""From a mover to a location; its `kind` is the mover's type."""
HELD_BY: Final = "HELD_BY"
"""From an item to its holder."""
WITHIN: Final = "WITHIN"
"""From a location or a realm to a realm that contains it."""
LAYER_OF: Final = "LAYER_OF"
"""From a layer to the location or realm that it lies upon; its `kind` is the layer's type."""
TIED_TO: Final = "TIED_TO"
"""From a realm to another; its `kind` is the tie. There are few; reads use both ends."""
BELONGS_TO: Final = "BELONGS_TO"
"""From a location or realm to a realm that it is a member of; its `kind` is that tie."""
ON_ROUTE: Final = "ON_ROUTE"
"""From a location to the next stop of a route; its `kind` is the name of the route."""

WORLD_RELATIONS: Final = frozenset(
    {EXIT, LOCATED_IN, HELD_BY, WITHIN, LAYER_OF, TIED_TO, BELONGS_TO, ON_ROUTE}
)
"""The relations that are indexed by the ticks in which they hold."""

KIND: Final = "kind"
"""The property by which a query can select relations of a world."""


class TerrainType(StrEnum):
    """The terrain of a location."""

    OPEN_PLAIN = "open-plain"
    DENSE_FOREST = "dense-forest"
    HILLTOP = "hilltop"
    RIVERBANK = "riverbank"
    NARROW_CORRIDOR = "narrow-corridor"


class RealmType(StrEnum):
    """The type of a realm."""

    WORLD = "WORLD"
    CONTINENT = "CONTINENT"
    MOUNTAIN_RANGE = "MOUNTAIN_RANGE"
    FOREST = "FOREST"
    KINGDOM = "KINGDOM"
    CITY = "CITY"
    DISTRICT = "DISTRICT"
    WEATHER_ZONE = "WEATHER_ZONE"
    TRADE_NETWORK = "TRADE_NETWORK"
    ALLIANCE = "ALLIANCE"
    DUNGEON = "DUNGEON"


REALM_GROUPS: Final = {
    "geographic": frozenset(
        {RealmType.WORLD, RealmType.CONTINENT, RealmType.MOUNTAIN_RANGE, RealmType.FOREST}
    ),
    "political": frozenset({RealmType.KINGDOM, RealmType.CITY, RealmType.DISTRICT}),
    "weather": frozenset({RealmType.WEATHER_ZONE}),
    "functional": frozenset({RealmType.TRADE_NETWORK, RealmType.ALLIANCE, RealmType.DUNGEON}),
}
"""The heading under which a context names a realm."""


class RealmScope(StrEnum):
    """The reach of a realm, the narrowest first. Layers of the narrower realm win."""

    MICRO = "MICRO"
    LOCAL = "LOCAL"
    REGIONAL = "REGIONAL"
    MACRO = "MACRO"
    CONTINENTAL = "CONTINENTAL"
    GLOBAL = "GLOBAL"


NARROWEST_FIRST: Final = {scope: rank for rank, scope in enumerate(RealmScope)}


class Tie(StrEnum):
    """A relation between realms other than containment; a location can only be a member."""

    MEMBER_OF = "member_of"
    BORDERS = "borders"
    VASSAL_OF = "vassal_of"
    ALLIED_WITH = "allied_with"
    AT_WAR_WITH = "at_war_with"


def relation_of(tie: Tie) -> str:
    """Return the relation type that stores a tie."""
    return BELONGS_TO if tie is Tie.MEMBER_OF else TIED_TO


OPPOSED: Final = {Tie.ALLIED_WITH: Tie.AT_WAR_WITH, Tie.AT_WAR_WITH: Tie.ALLIED_WITH}
"""The tie that cannot hold together with this one from a realm to another."""


class LayerType(StrEnum):
    """The subject of a layer."""

    BASE = "base"
    AMBIENT = "ambient"
    DYNAMIC = "dynamic"
    WEATHER = "weather"
    LIGHTING = "lighting"


class LoreType(StrEnum):
    """The subject of a lore fact."""

    FACTION = "faction"
    ARTIFACT = "artifact"
    HISTORICAL_EVENT = "historical_event"
    CHARACTER = "character"
    LOCATION_LORE = "location_lore"
    CREATURE = "creature"


class ActorKind(StrEnum):
    """The kind of actor that caused an event."""

    PLAYER = "player"
    NPC = "npc"
    SYSTEM = "system"
    AI = "ai"

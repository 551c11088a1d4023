"""The scene of the labelled sentences: a harbour, a cliff, a temple, and what is known."""

from canonry.log.schemas.world_types import LayerType, LoreType, RealmScope, RealmType
from canonry.readmodels.edges import Direction
from canonry.world.domain.atlas import (
    Atlas,
    Exit,
    Item,
    Layer,
    Location,
    Lore,
    LoreVersion,
    Mover,
    Realm,
)

AFTERNOON = 50_000_000
MINUTE = 60_000
DEAD = {"status": "dead"}


def _place(key: str, name: str, *exits: Exit, description: str = "") -> Location:
    return Location(key=key, name=name, description=description, realms=("coast",), exits=exits)


def _lore(key: str, kind: LoreType, name: str, description: str, **more: str) -> Lore:
    fields = {"name": name, "description": description, **more}
    return Lore(key=key, lore_type=kind, versions=(LoreVersion(fields=fields),))


LOCATIONS = (
    _place(
        "harbour",
        "Old Harbour",
        Exit(direction=Direction.NORTH, to="market", travel_ms=MINUTE),
        Exit(direction=Direction.EAST, to="lane", travel_ms=MINUTE),
        Exit(direction=Direction.UP, to="stair", travel_ms=5 * MINUTE),
        Exit(direction=Direction.IN, to="tavern", travel_ms=10_000),
        Exit(direction=Direction.WEST, to="breakwater", blocked="A storm has washed it away."),
        description="Boats, nets and a wooden quay.",
    ),
    _place(
        "market",
        "Market Square",
        Exit(direction=Direction.NORTH, to="temple", travel_ms=5 * MINUTE),
        Exit(direction=Direction.EAST, to="keep", requires="iron_key"),
        Exit(direction=Direction.SOUTHWEST, to="gorge", travel_ms=240 * MINUTE),
    ),
    _place("lane", "Fish Lane"),
    _place("stair", "Lighthouse Stair"),
    _place("tavern", "Salt Tavern"),
    _place("breakwater", "The Breakwater"),
    _place("temple", "Temple of Tides"),
    _place("keep", "Duke's Keep"),
    _place("gorge", "The Gorge"),
    _place(
        "cliff",
        "Foot of the Cliff",
        Exit(direction=Direction.WEST, to="gorge", travel_ms=10 * MINUTE),
        description="Sheer rock rises above you.",
    ),
)
CHARACTERS = (
    Mover(key="brannoch", name="Brannoch the Smith", location="harbour"),
    Mover(key="mara", name="Old Mara", location="harbour"),
    Mover(key="dell", name="Sergeant Dell", location="harbour"),
    Mover(key="hguard", name="Harbour Guard", location="harbour"),
    Mover(key="gguard", name="Gate Guard", location="harbour"),
    Mover(key="seagull", name="Seagull", location="harbour"),
    Mover(key="goblin", name="Goblin", location="harbour"),
    Mover(key="dragon", name="Red Dragon", location="cliff"),
    Mover(key="priest", name="Priest Olan", location="temple"),
    Mover(key="veyra", name="Captain Veyra", location="tavern"),
    Mover(key="duke", name="Duke Oswin", location="keep", attributes=DEAD),
    Mover(key="tamsin", name="Widow Tamsin", location="market", attributes=DEAD),
)
ITEMS = (
    *(
        Item(key=key, name=name, holder="harbour", item_type="thing", quantity=count)
        for key, name, count in (
            ("rope", "Coil of Rope", 1),
            ("brass_key", "Brass Key", 1),
            ("silver_key", "Silver Key", 1),
            ("chest", "Wooden Chest", 1),
            ("rock", "Rock", 9),
            ("bread", "Loaf of Bread", 1),
            ("letter", "Sealed Letter", 1),
            ("door", "Iron Door", 1),
            ("lute", "Lute", 1),
            ("torch", "Torch", 3),
            ("lever", "Rusty Lever", 1),
        )
    ),
    *(
        Item(key=key, name=name, holder="ann", item_type="thing", quantity=count)
        for key, name, count in (
            ("lantern", "Lantern", 1),
            ("sword", "Rusty Sword", 1),
            ("potion", "Healing Potion", 1),
            ("coin", "Gold Coin", 12),
            ("map", "Old Map", 1),
        )
    ),
    Item(key="hammer", name="Smith's Hammer", holder="brannoch", item_type="thing"),
    Item(key="amulet", name="Obsidian Amulet", holder="mara", item_type="thing"),
    Item(key="crown", name="Crown of Tides", holder="duke", item_type="thing"),
    Item(key="iron_key", name="Iron Key", holder="duke", item_type="key"),
    Item(key="spear", name="Ash Spear", holder="ben", item_type="thing"),
)
LAYERS = (
    Layer(key="rain", scope="harbour", layer_type=LayerType.WEATHER,
          value="A cold drizzle falls.", from_tick=0),
    Layer(key="clouds", scope="harbour", layer_type=LayerType.LIGHTING,
          value="Dim under low clouds.", from_tick=0),
    Layer(key="storm", scope="cliff", layer_type=LayerType.WEATHER,
          value="A violent windstorm is active.", from_tick=0),
)  # fmt: skip
LORE = (
    _lore("bridge", LoreType.LOCATION_LORE, "Stone Bridge",
          "The Stone Bridge was destroyed in the great flood.", status="destroyed"),
    _lore("council", LoreType.FACTION, "Tide Council", "The Tide Council has nine members."),
    _lore("oswin", LoreType.CHARACTER, "Duke Oswin",
          "Duke Oswin died at the siege of Varn.", status="dead"),
    _lore("light", LoreType.LOCATION_LORE, "Lighthouse",
          "The lighthouse has been dark since the fire."),
    _lore("bell", LoreType.ARTIFACT, "Harbour Bell", "The harbour bell is made of silver."),
    _lore("siblings", LoreType.CHARACTER, "Brannoch", "Brannoch is Mara's brother."),
    _lore("guild", LoreType.FACTION, "Sea Guild", "The Sea Guild rules the harbour."),
    _lore("gannet", LoreType.ARTIFACT, "Gannet", "The Gannet is Captain Veyra's ship."),
    _lore("dragons", LoreType.CREATURE, "Dragons", "The dragons of this isle cannot speak."),
    _lore("tides", LoreType.LOCATION_LORE, "Temple of Tides",
          "The Temple of Tides was founded in 1402."),
)  # fmt: skip


def scene() -> Atlas:
    """The whole of it, in the afternoon."""
    return Atlas(
        name="The Table",
        starter="harbour",
        tick=AFTERNOON,
        realms=(
            Realm(key="coast", name="Coast", realm_type=RealmType.CONTINENT,
                  scope=RealmScope.GLOBAL),
        ),
        locations=LOCATIONS,
        players=(
            Mover(key="ann", name="Ann", location="harbour"),
            Mover(key="ben", name="Ben", location="cliff"),
            Mover(key="cid", name="Cid", location="temple"),
        ),
        characters=CHARACTERS,
        items=ITEMS,
        layers=LAYERS,
        lore=LORE,
    )  # fmt: skip

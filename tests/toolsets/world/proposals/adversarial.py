"""Proposals that try to get past the gates, each with the gate and the rule that must stop it.

Written before the gates. `None` for the gate: the proposal is legitimate and must be admitted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.log.schemas.world_types import LoreType
from canonry.readmodels.edges import Direction
from canonry.world.domain.atlas import Atlas, Exit, Item, Lore, LoreVersion, Mover
from tests.toolsets.world.kit import an_isle

NOW: Final = "2025-01-15T00:00:00Z"
TEMPLATE: Final = "ambience"
Document = dict[str, Any]
Patch = Callable[[Document], None]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A proposal on behalf of `player`, and which gate stops it by which rule."""

    title: str
    envelope: Any
    gate: str | None
    rule: str | None
    player: Any = "ann"


def the_besieged_isle() -> Atlas:
    """The isle with somebody dead, somebody away, coins, and a way that its law forbids."""
    isle = an_isle()
    inn, yard, road, cellar, tower = isle.locations
    ann, bob = isle.players
    cook = isle.characters[0]
    people = (
        replace(cook, resources={"health": 5}),
        Mover(key="ghost", name="Old Tom", location="inn", alive=False),
        Mover(key="smith", name="The Smith", location="inn", present=False),
        Mover(key="guard", name="The Guard", location="yard"),
    )
    coins = Item(key="coins", name="Coins", holder="ann", item_type="coin", quantity=10)
    return replace(
        isle,
        players=(replace(ann, resources={"gold": 10, "health": 9}, conditions={"cold": None}), bob),
        characters=people,
        items=(*isle.items, coins, Item(key="oar", name="Oar", holder="cellar", item_type="tool")),
        locations=(
            inn,
            replace(
                yard,
                exits=(*yard.exits, Exit(direction=Direction.UP, to="tower", one_way=True)),
            ),
            road,
            replace(cellar, forbidden={Direction.EAST: "The wall holds back the sea."}),
            tower,
        ),
        lore=(
            *isle.lore,
            Lore(
                key="grey-cloaks",
                lore_type=LoreType.FACTION,
                versions=(LoreVersion(fields={"name": "The Grey Cloaks"}),),
            ),
        ),
    )


def make_act(kind: str, scope: str, **params: Any) -> Document:
    """An action."""
    return {"actionType": kind, "scopeKey": scope, "params": params}


def make_envelope(*actions: Document, patch: Patch | None = None, **more: Any) -> Document:
    """An envelope of a narrator's, whatever else it says."""
    document: Document = {
        "proposalId": "00000000-0000-4000-8000-00000000a001",
        "version": 1,
        "issuedUtc": NOW,
        "actor": {"kind": "system"},
        "correlationId": "00000000-0000-4000-8000-00000000c001",
        "idempotencyKey": "a-key",
        "proposedActions": list(actions),
        **more,
    }
    if patch is not None:
        patch(document)
    return document


def make_generation(**more: Any) -> Document:
    """Return the record of a question to a model; the test fills in the true hashes if missing."""
    return {
        "templateName": TEMPLATE,
        "templateVersion": "1.0.0",
        "templateHash": "TRUE",
        "contextHash": "TRUE",
        "parameters": {"location": "The inn", "weather": "rain", "timeOfDay": "noon"},
        "model": "small-1",
        "promptTokens": 200,
        "completionTokens": 60,
        **more,
    }


GO: Final = make_act("Mover.Move", "player:ann", moverId="ann", direction="out")
GIVE: Final = make_act(
    "Item.Transfer", "player:ann", itemId="cup", fromHolderId="ann", toHolderId="cook"
)
DRIP: Final = make_act(
    "Layer.Add", "loc:inn", locationId="inn", layerType="dynamic", layerContent="Water drips."
)
WAY: Final = make_act(
    "Exit.Create", "loc:cellar", fromLocationId="cellar", direction="north", toLocationId="tower"
)
TALK: Final = make_act(
    "NPC.Dialogue", "loc:inn", npcId="cook", playerId="ann", text="Soup is ready."
)
CURSE: Final = make_act("Condition.Apply", "player:ann", targetId="ann", condition="poisoned")
CURE: Final = make_act("Condition.Remove", "player:ann", targetId="ann", condition="cold")
FIGHT: Final = make_act(
    "Combat.Resolve",
    "loc:inn",
    roundNumber=1,
    participantIds=["ann", "cook"],
    effects=[{"targetId": "cook", "kind": "damage", "amount": 2}],
)
RAT: Final = make_act(
    "Entity.Spawn",
    "loc:cellar",
    locationId="cellar",
    entityType="character",
    name="Rat",
    description="A wet rat.",
)
PAY: Final = make_act("Resource.Spend", "player:ann", ownerId="ann", resource="gold", amount=3)
MOOD: Final = make_act("Ambience.Generate", "loc:inn", locationId="inn")
EVERY: Final = {
    "move": GO,
    "transfer": GIVE,
    "layer": DRIP,
    "exit": WAY,
    "dialogue": TALK,
    "condition": CURSE,
    "cure": CURE,
    "combat": FIGHT,
    "spawn": RAT,
    "spend": PAY,
    "ambience": MOOD,
}


def change_parameters(action: Document, /, scope: str | None = None, **params: Any) -> Document:
    """The action with other parameters; `...` leaves one out."""
    given = {**action["params"], **params}
    kept = {name: value for name, value in given.items() if value is not ...}
    return {**action, "scopeKey": scope or action["scopeKey"], "params": kept}


def set_path(*path: str | int, to: Any) -> Patch:
    """A patch that sets what lies at a path; `...` removes it."""

    def patch(document: Document) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        if to is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = to

    return patch

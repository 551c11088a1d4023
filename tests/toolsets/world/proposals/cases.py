"""All that must not get past the gates, and what is legitimate beside it."""

from collections.abc import Iterator
from typing import Any, Final

from tests.toolsets.world.proposals.adversarial import (
    CURE,
    CURSE,
    DRIP,
    EVERY,
    FIGHT,
    GIVE,
    GO,
    MOOD,
    PAY,
    RAT,
    TALK,
    WAY,
    Case,
    Document,
    act,
    but,
    envelope,
    generation,
)
from tests.toolsets.world.proposals.form_cases import of_form, of_safety


def _invariants() -> Iterator[tuple[str, Any, str]]:  # noqa: PLR0915 - one line a case
    scope = "scope.mismatch"
    yield "scope here, layer there", envelope(but(DRIP, locationId="yard")), scope
    yield "scope of a player, layer", envelope(but(DRIP, scope="player:ann")), scope
    yield "own move in a place", envelope(but(GO, scope="loc:inn")), scope
    yield "move scoped to another", envelope(but(GO, scope="player:bob")), scope
    yield "way scoped to its end", envelope(but(WAY, scope="loc:tower")), scope
    yield "spawn scoped elsewhere", envelope(but(RAT, scope="loc:inn")), scope
    yield "combat scoped elsewhere", envelope(but(FIGHT, scope="loc:yard")), scope
    yield "transfer scoped to a stranger", envelope(but(GIVE, scope="player:bob")), scope
    yield "transfer scoped elsewhere", envelope(but(GIVE, scope="loc:road")), scope
    yield "talk scoped elsewhere", envelope(but(TALK, scope="loc:yard")), scope
    yield "spending in a place", envelope(but(PAY, scope="loc:inn")), scope
    npc = but(GO, moverId="cook", scope="loc:yard")
    yield "character moved from where it is not", envelope(npc), scope
    other = "scope.other-player"
    bob_goes = act("Mover.Move", "player:bob", moverId="bob", direction="north")
    yield "another player moved", envelope(bob_goes), other
    bob_pays = but(PAY, scope="player:bob", ownerId="bob")
    yield "another player's gold", envelope(bob_pays), other
    yield "as another player", envelope(GO, actor={"kind": "player", "id": "bob"}), other
    unknown = "reference.unknown"
    yield "unknown actor", envelope(GO, actor={"kind": "npc", "id": "nobody"}), "actor.unknown"
    yield "a place as actor", envelope(GO, actor={"kind": "npc", "id": "inn"}), "actor.unknown"
    yield "player without name", envelope(GO, actor={"kind": "player"}), "actor.unknown"
    yield "dead actor", envelope(DRIP, actor={"kind": "npc", "id": "ghost"}), "actor.dead"
    yield "absent actor", envelope(DRIP, actor={"kind": "npc", "id": "smith"}), "actor.absent"
    yield "unknown mover", envelope(but(GO, moverId="zed", scope="player:zed")), unknown
    yield "unknown item", envelope(but(GIVE, itemId="crown")), unknown
    yield "unknown holder", envelope(but(GIVE, toHolderId="zed")), unknown
    yield "unknown place", envelope(but(DRIP, locationId="zed", scope="loc:zed")), unknown
    yield "unknown end of a way", envelope(but(WAY, toLocationId="zed")), unknown
    yield "unknown speaker", envelope(but(TALK, npcId="zed")), unknown
    yield "unknown listener", envelope(but(TALK, playerId="zed")), unknown
    yield "unknown target", envelope(but(CURSE, targetId="zed", scope="player:zed")), unknown
    yield "unknown fighter", envelope(but(FIGHT, participantIds=["ann", "zed"])), unknown
    yield "item as mover", envelope(but(GO, moverId="cup", scope="player:cup")), unknown
    yield "person as place", envelope(but(DRIP, locationId="ann", scope="loc:ann")), unknown
    yield "character as layer to replace", envelope(but(DRIP, replaces="cook")), "layer.unknown"
    yield "no way north", envelope(but(GO, direction="north")), "exit.unknown"
    yield "no way up", envelope(but(GO, direction="up")), "exit.unknown"
    back_in = but(GO, direction="out")
    yield "out twice", envelope(GO, back_in), "exit.unknown"
    north = but(GO, direction="north")
    west = but(GO, direction="west")
    yield "past the fallen oak", envelope(GO, north, west), "exit.blocked"
    east = but(GO, direction="east")
    yield "into the tower without its key", envelope(GO, north, east), "exit.needs-item"
    yield (
        "builders' way removed",
        envelope(act("Exit.Remove", "loc:inn", fromLocationId="inn", direction="out")),
        "exit.of-builders",
    )
    yield (
        "no way to remove",
        envelope(act("Exit.Remove", "loc:inn", fromLocationId="inn", direction="north")),
        "exit.unknown",
    )
    taken = act(
        "Exit.Create", "loc:inn", fromLocationId="inn", direction="out", toLocationId="road"
    )
    yield "a second way out", envelope(taken), "exit.direction-taken"
    yield (
        "the same direction twice",
        envelope(WAY, but(WAY, toLocationId="yard")),
        ("exit.direction-taken"),
    )
    behind = but(WAY, fromLocationId="road", scope="loc:road", toLocationId="yard")
    back = but(behind, direction="up")
    yield (
        "way back that is taken",
        envelope(but(behind, direction="south", toLocationId="inn")),
        "exit.direction-taken",
    )
    yield (
        "back where another leads",
        envelope(but(back, direction="in", toLocationId="inn")),
        "exit.way-back-taken",
    )
    yield "a way to itself", envelope(but(WAY, toLocationId="cellar")), "exit.to-itself"
    yield "what lore forbids", envelope(but(WAY, direction="east")), "exit.forbidden"
    yield "way with unknown key", envelope(but(WAY, requiresItem="zed")), unknown
    yield "the base overwritten", envelope(but(DRIP, layerType="base")), "layer.base"
    yield "a second ambient layer", envelope(but(DRIP, layerType="ambient")), "layer.overlaps"
    yield (
        "two layers of one type",
        envelope(DRIP, but(DRIP, layerContent="It thaws.")),
        ("layer.overlaps"),
    )
    yield (
        "overlap later",
        envelope(but(DRIP, layerType="ambient", fromTick=60_000_000)),
        ("layer.overlaps"),
    )
    yield (
        "replaces what is no layer here",
        envelope(but(DRIP, layerType="ambient", replaces="rain")),
        "layer.unknown",
    )
    yield (
        "ends before it begins",
        envelope(but(DRIP, fromTick=60_000_000, toTick=55_000_000)),
        "layer.ends-before-start",
    )
    yield "begins in the past", envelope(but(DRIP, fromTick=1)), "layer.in-the-past"
    yield "ended already", envelope(but(DRIP, toTick=49_000_000)), "layer.ends-before-start"
    yield (
        "not hers",
        envelope(but(GIVE, itemId="key", toHolderId="bob", fromHolderId="ann")),
        "item.held-otherwise",
    )
    yield "given twice", envelope(GIVE, GIVE), "item.held-otherwise"
    yield "to herself", envelope(but(GIVE, toHolderId="ann")), "item.same-holder"
    yield "more than there are", envelope(but(GIVE, quantity=3)), "item.too-few"
    coins = but(GIVE, itemId="coins", quantity=6)
    yield "six and six of ten", envelope(coins, coins), "item.too-few"
    yield "to somebody elsewhere", envelope(but(GIVE, toHolderId="bob")), "position.elsewhere"
    yield "to a place elsewhere", envelope(but(GIVE, toHolderId="yard")), "position.elsewhere"
    yield (
        "from the cellar below",
        envelope(but(GIVE, itemId="oar", fromHolderId="cellar", toHolderId="ann")),
        "position.elsewhere",
    )
    yield "given after leaving", envelope(GO, GIVE), "position.elsewhere"
    yield "to the dead", envelope(but(GIVE, toHolderId="ghost")), "person.dead"
    yield "to the absent", envelope(but(GIVE, toHolderId="smith")), "person.absent"
    yield (
        "the dead walk",
        envelope(act("Mover.Move", "loc:inn", moverId="ghost", direction="out")),
        "person.dead",
    )
    yield (
        "the absent walk",
        envelope(act("Mover.Move", "loc:inn", moverId="smith", direction="out")),
        "person.absent",
    )
    yield "the dead talk", envelope(but(TALK, npcId="ghost")), "person.dead"
    yield "the absent talk", envelope(but(TALK, npcId="smith")), "person.absent"
    yield "talk across places", envelope(but(TALK, playerId="bob")), "position.elsewhere"
    yield "talk after she left", envelope(GO, TALK), "position.elsewhere"
    yield (
        "a condition on the dead",
        envelope(but(CURSE, targetId="ghost", scope="loc:inn")),
        "person.dead",
    )
    yield "held already", envelope(but(CURSE, condition="cold")), "condition.held"
    yield "applied twice", envelope(CURSE, CURSE), "condition.held"
    yield "cured of nothing", envelope(but(CURE, condition="blinded")), "condition.not-held"
    yield "cured twice", envelope(CURE, CURE), "condition.not-held"
    bystander = {"targetId": "ghost", "kind": "damage", "amount": 1}
    yield (
        "hurts who takes no part",
        envelope(but(FIGHT, effects=[bystander])),
        ("combat.not-a-participant"),
    )
    yield (
        "fights the dead",
        envelope(but(FIGHT, participantIds=["ann", "ghost", "cook"])),
        ("person.dead"),
    )
    yield (
        "fights the absent",
        envelope(but(FIGHT, participantIds=["ann", "smith", "cook"])),
        ("person.absent"),
    )
    yield (
        "fights who is elsewhere",
        envelope(but(FIGHT, participantIds=["ann", "guard"])),
        ("position.elsewhere"),
    )
    kill = {"targetId": "cook", "kind": "damage", "amount": 5}
    again = {"targetId": "cook", "kind": "heal", "amount": 5}
    yield "killed and healed", envelope(but(FIGHT, effects=[kill, again])), "person.dead"
    yield "the killed talk", envelope(but(FIGHT, effects=[kill]), TALK), "person.dead"
    yield "more gold than she has", envelope(but(PAY, amount=11)), "resource.too-little"
    yield (
        "six and six of ten gold",
        envelope(but(PAY, amount=6), but(PAY, amount=6)),
        ("resource.too-little"),
    )
    yield (
        "what she never had",
        envelope(but(PAY, resource="mana", amount=1)),
        ("resource.too-little"),
    )
    yield "spawn for no faction", envelope(but(RAT, factionId="red-hand")), "faction.unknown"
    yield "spawn for what is no faction", envelope(but(RAT, factionId="ferry")), "faction.unknown"
    way = "text.claims-way"
    yield (
        "a new door by words",
        envelope(but(DRIP, layerContent="A new door appears to the north.")),
        way,
    )
    yield (
        "a passage by words",
        envelope(but(DRIP, layerContent="Behind the hearth a secret passage opens, leading west.")),
        way,
    )
    yield (
        "a gift by words",
        envelope(but(DRIP, layerContent="You find a golden crown under the table.")),
        "text.claims-item",
    )
    yield (
        "an arrival by words",
        envelope(but(DRIP, layerContent="The Guard arrives and sits down.")),
        "text.claims-arrival",
    )
    yield "first good, then bad", envelope(GO, but(GO, direction="south")), "exit.unknown"
    yield "bad, then good", envelope(but(GO, direction="south"), GO), "exit.unknown"


def _replay() -> Iterator[tuple[str, Any, str]]:
    def by_model(**more: Any) -> Document:
        return envelope(DRIP, actor={"kind": "ai"}, generation=generation(**more))

    yield "unknown template", by_model(templateName="oracle"), "replay.unknown-template"
    yield "unknown version", by_model(templateVersion="9.9.9"), "replay.unknown-template"
    yield "another hash", by_model(templateHash="sha256:" + "0" * 64), "replay.other-hash"
    yield (
        "a context nobody gave",
        by_model(contextHash="sha256:" + "f" * 64),
        ("replay.unknown-context"),
    )
    yield "a parameter missing", by_model(parameters={"location": "The inn"}), "replay.parameters"
    odd = {"location": "x", "weather": "x", "timeOfDay": "x", "secret": "x"}
    yield "a parameter too many", by_model(parameters=odd), "replay.parameters"


def _rate() -> Iterator[tuple[str, Any, str]]:
    dear = generation(promptTokens=60_000, completionTokens=1)
    yield (
        "more tokens than an hour has",
        envelope(DRIP, actor={"kind": "ai"}, generation=dear),
        "rate.tokens",
    )


def _legitimate() -> Iterator[tuple[str, Any]]:
    for name, action in EVERY.items():
        yield name, envelope(action)
    yield "her own move", envelope(GO, actor={"kind": "player", "id": "ann"})
    yield "down the hidden hatch", envelope(but(GO, direction="down"))
    yield "out and north", envelope(GO, but(GO, direction="north"))
    yield (
        "the cook goes out",
        envelope(act("Mover.Move", "loc:inn", moverId="cook", direction="out")),
    )
    yield (
        "key, then tower",
        envelope(
            act("Item.Transfer", "loc:inn", itemId="key", fromHolderId="cook", toHolderId="ann"),
            GO,
            but(GO, direction="north"),
            but(GO, direction="east"),
        ),
    )
    yield "half the coins", envelope(but(GIVE, itemId="coins", quantity=5))
    yield "left on the floor", envelope(but(GIVE, toHolderId="inn"))
    yield (
        "the song replaced",
        envelope(but(DRIP, layerType="ambient", replaces="song", layerContent="Nobody sings.")),
    )
    yield "weather of a place", envelope(but(DRIP, layerType="weather", layerContent="Hail."))
    yield "a lie that is said", envelope(but(TALK, text="There is a new door to the north."))
    yield "a fight in words", envelope(but(TALK, text="I'll kill that dragon!"))
    yield "blood in a layer", envelope(but(DRIP, layerContent="Blood drips from the blade."))
    yield "no door at all", envelope(but(DRIP, layerContent="There is no door in the north wall."))
    yield "a known door", envelope(but(DRIP, layerContent="The door out to the yard stands open."))
    yield (
        "a way, then through it",
        envelope(
            but(WAY, fromLocationId="inn", scope="loc:inn", toLocationId="tower", oneWay=True),
            but(GO, direction="north"),
        ),
    )
    yield "a faction's rat", envelope(but(RAT, factionId="grey-cloaks"))
    yield "all her gold", envelope(but(PAY, amount=10))
    yield "healed", envelope(but(FIGHT, effects=[{"targetId": "ann", "kind": "heal", "amount": 1}]))
    yield "in another zone of time", envelope(GO, issuedUtc="2025-01-15T05:00:00+05:00")
    yield "issued 14 minutes ago", envelope(GO, issuedUtc="2025-01-14T23:46:00Z")
    yield "a model's", envelope(DRIP, actor={"kind": "ai"}, generation=generation())
    yield "two things at once", envelope(MOOD, DRIP)


def _refused(gate: str, cases: Iterator[tuple[str, Any, str]]) -> Iterator[Case]:
    for title, document, rule in cases:
        yield Case(title=f"{gate}: {title}", envelope=document, gate=gate, rule=rule)


CASES: Final[tuple[Case, ...]] = (
    *_refused("schema", of_form()),
    *_refused("safety", of_safety()),
    *_refused("invariants", _invariants()),
    *_refused("replay", _replay()),
    *_refused("rate", _rate()),
    Case(
        title="invariants: on behalf of nobody",
        envelope=envelope(DRIP),
        gate="invariants",
        rule="actor.unknown",
        player="nobody",
    ),
    Case(
        title="invariants: on behalf of a character",
        envelope=envelope(DRIP),
        gate="invariants",
        rule="actor.unknown",
        player="cook",
    ),
)
LEGITIMATE: Final[tuple[Case, ...]] = tuple(
    Case(title=title, envelope=document, gate=None, rule=None) for title, document in _legitimate()
)

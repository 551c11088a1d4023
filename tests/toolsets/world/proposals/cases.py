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
    change_parameters,
    make_act,
    make_envelope,
    make_generation,
)
from tests.toolsets.world.proposals.form_cases import of_form, of_safety


def invariant_cases() -> Iterator[tuple[str, Any, str]]:  # noqa: PLR0915 - one line a case
    scope = "scope.mismatch"
    yield (
        "scope here, layer there",
        make_envelope(change_parameters(DRIP, locationId="yard")),
        scope,
    )
    yield (
        "scope of a player, layer",
        make_envelope(change_parameters(DRIP, scope="player:ann")),
        scope,
    )
    yield "own move in a place", make_envelope(change_parameters(GO, scope="loc:inn")), scope
    yield "move scoped to another", make_envelope(change_parameters(GO, scope="player:bob")), scope
    yield "way scoped to its end", make_envelope(change_parameters(WAY, scope="loc:tower")), scope
    yield "spawn scoped elsewhere", make_envelope(change_parameters(RAT, scope="loc:inn")), scope
    yield (
        "combat scoped elsewhere",
        make_envelope(change_parameters(FIGHT, scope="loc:yard")),
        scope,
    )
    yield (
        "transfer scoped to a stranger",
        make_envelope(change_parameters(GIVE, scope="player:bob")),
        scope,
    )
    yield (
        "transfer scoped elsewhere",
        make_envelope(change_parameters(GIVE, scope="loc:road")),
        scope,
    )
    yield "talk scoped elsewhere", make_envelope(change_parameters(TALK, scope="loc:yard")), scope
    yield "spending in a place", make_envelope(change_parameters(PAY, scope="loc:inn")), scope
    npc = change_parameters(GO, moverId="cook", scope="loc:yard")
    yield "character moved from where it is not", make_envelope(npc), scope
    other = "scope.other-player"
    bob_goes = make_act("Mover.Move", "player:bob", moverId="bob", direction="north")
    yield "another player moved", make_envelope(bob_goes), other
    bob_pays = change_parameters(PAY, scope="player:bob", ownerId="bob")
    yield "another player's gold", make_envelope(bob_pays), other
    yield "as another player", make_envelope(GO, actor={"kind": "player", "id": "bob"}), other
    unknown = "reference.unknown"
    yield "unknown actor", make_envelope(GO, actor={"kind": "npc", "id": "nobody"}), "actor.unknown"
    yield "a place as actor", make_envelope(GO, actor={"kind": "npc", "id": "inn"}), "actor.unknown"
    yield "player without name", make_envelope(GO, actor={"kind": "player"}), "actor.unknown"
    yield "dead actor", make_envelope(DRIP, actor={"kind": "npc", "id": "ghost"}), "actor.dead"
    yield "absent actor", make_envelope(DRIP, actor={"kind": "npc", "id": "smith"}), "actor.absent"
    yield (
        "unknown mover",
        make_envelope(change_parameters(GO, moverId="zed", scope="player:zed")),
        unknown,
    )
    yield "unknown item", make_envelope(change_parameters(GIVE, itemId="crown")), unknown
    yield "unknown holder", make_envelope(change_parameters(GIVE, toHolderId="zed")), unknown
    yield (
        "unknown place",
        make_envelope(change_parameters(DRIP, locationId="zed", scope="loc:zed")),
        unknown,
    )
    yield "unknown end of a way", make_envelope(change_parameters(WAY, toLocationId="zed")), unknown
    yield "unknown speaker", make_envelope(change_parameters(TALK, npcId="zed")), unknown
    yield "unknown listener", make_envelope(change_parameters(TALK, playerId="zed")), unknown
    yield (
        "unknown target",
        make_envelope(change_parameters(CURSE, targetId="zed", scope="player:zed")),
        unknown,
    )
    yield (
        "unknown fighter",
        make_envelope(change_parameters(FIGHT, participantIds=["ann", "zed"])),
        unknown,
    )
    yield (
        "item as mover",
        make_envelope(change_parameters(GO, moverId="cup", scope="player:cup")),
        unknown,
    )
    yield (
        "person as place",
        make_envelope(change_parameters(DRIP, locationId="ann", scope="loc:ann")),
        unknown,
    )
    yield (
        "character as layer to replace",
        make_envelope(change_parameters(DRIP, replaces="cook")),
        "layer.unknown",
    )
    yield "no way north", make_envelope(change_parameters(GO, direction="north")), "exit.unknown"
    yield "no way up", make_envelope(change_parameters(GO, direction="up")), "exit.unknown"
    back_in = change_parameters(GO, direction="out")
    yield "out twice", make_envelope(GO, back_in), "exit.unknown"
    north = change_parameters(GO, direction="north")
    west = change_parameters(GO, direction="west")
    yield "past the fallen oak", make_envelope(GO, north, west), "exit.blocked"
    east = change_parameters(GO, direction="east")
    yield "into the tower without its key", make_envelope(GO, north, east), "exit.needs-item"
    yield (
        "builders' way removed",
        make_envelope(make_act("Exit.Remove", "loc:inn", fromLocationId="inn", direction="out")),
        "exit.of-builders",
    )
    yield (
        "no way to remove",
        make_envelope(make_act("Exit.Remove", "loc:inn", fromLocationId="inn", direction="north")),
        "exit.unknown",
    )
    taken = make_act(
        "Exit.Create", "loc:inn", fromLocationId="inn", direction="out", toLocationId="road"
    )
    yield "a second way out", make_envelope(taken), "exit.direction-taken"
    yield (
        "the same direction twice",
        make_envelope(WAY, change_parameters(WAY, toLocationId="yard")),
        ("exit.direction-taken"),
    )
    behind = change_parameters(WAY, fromLocationId="road", scope="loc:road", toLocationId="yard")
    back = change_parameters(behind, direction="up")
    yield (
        "way back that is taken",
        make_envelope(change_parameters(behind, direction="south", toLocationId="inn")),
        "exit.direction-taken",
    )
    yield (
        "back where another leads",
        make_envelope(change_parameters(back, direction="in", toLocationId="inn")),
        "exit.way-back-taken",
    )
    yield (
        "a way to itself",
        make_envelope(change_parameters(WAY, toLocationId="cellar")),
        "exit.to-itself",
    )
    yield (
        "what lore forbids",
        make_envelope(change_parameters(WAY, direction="east")),
        "exit.forbidden",
    )
    yield "way with unknown key", make_envelope(change_parameters(WAY, requiresItem="zed")), unknown
    yield (
        "the base overwritten",
        make_envelope(change_parameters(DRIP, layerType="base")),
        "layer.base",
    )
    yield (
        "a second ambient layer",
        make_envelope(change_parameters(DRIP, layerType="ambient")),
        "layer.overlaps",
    )
    yield (
        "two layers of one type",
        make_envelope(DRIP, change_parameters(DRIP, layerContent="It thaws.")),
        ("layer.overlaps"),
    )
    yield (
        "overlap later",
        make_envelope(change_parameters(DRIP, layerType="ambient", fromTick=60_000_000)),
        ("layer.overlaps"),
    )
    yield (
        "replaces what is no layer here",
        make_envelope(change_parameters(DRIP, layerType="ambient", replaces="rain")),
        "layer.unknown",
    )
    yield (
        "ends before it begins",
        make_envelope(change_parameters(DRIP, fromTick=60_000_000, toTick=55_000_000)),
        "layer.ends-before-start",
    )
    yield (
        "begins in the past",
        make_envelope(change_parameters(DRIP, fromTick=1)),
        "layer.in-the-past",
    )
    yield (
        "ended already",
        make_envelope(change_parameters(DRIP, toTick=49_000_000)),
        "layer.ends-before-start",
    )
    yield (
        "not hers",
        make_envelope(change_parameters(GIVE, itemId="key", toHolderId="bob", fromHolderId="ann")),
        "item.held-otherwise",
    )
    yield "given twice", make_envelope(GIVE, GIVE), "item.held-otherwise"
    yield "to herself", make_envelope(change_parameters(GIVE, toHolderId="ann")), "item.same-holder"
    yield "more than there are", make_envelope(change_parameters(GIVE, quantity=3)), "item.too-few"
    coins = change_parameters(GIVE, itemId="coins", quantity=6)
    yield "six and six of ten", make_envelope(coins, coins), "item.too-few"
    yield (
        "to somebody elsewhere",
        make_envelope(change_parameters(GIVE, toHolderId="bob")),
        "position.elsewhere",
    )
    yield (
        "to a place elsewhere",
        make_envelope(change_parameters(GIVE, toHolderId="yard")),
        "position.elsewhere",
    )
    yield (
        "from the cellar below",
        make_envelope(
            change_parameters(GIVE, itemId="oar", fromHolderId="cellar", toHolderId="ann")
        ),
        "position.elsewhere",
    )
    yield "given after leaving", make_envelope(GO, GIVE), "position.elsewhere"
    yield "to the dead", make_envelope(change_parameters(GIVE, toHolderId="ghost")), "person.dead"
    yield (
        "to the absent",
        make_envelope(change_parameters(GIVE, toHolderId="smith")),
        "person.absent",
    )
    yield (
        "the dead walk",
        make_envelope(make_act("Mover.Move", "loc:inn", moverId="ghost", direction="out")),
        "person.dead",
    )
    yield (
        "the absent walk",
        make_envelope(make_act("Mover.Move", "loc:inn", moverId="smith", direction="out")),
        "person.absent",
    )
    yield "the dead talk", make_envelope(change_parameters(TALK, npcId="ghost")), "person.dead"
    yield "the absent talk", make_envelope(change_parameters(TALK, npcId="smith")), "person.absent"
    yield (
        "talk across places",
        make_envelope(change_parameters(TALK, playerId="bob")),
        "position.elsewhere",
    )
    yield "talk after she left", make_envelope(GO, TALK), "position.elsewhere"
    yield (
        "a condition on the dead",
        make_envelope(change_parameters(CURSE, targetId="ghost", scope="loc:inn")),
        "person.dead",
    )
    yield (
        "held already",
        make_envelope(change_parameters(CURSE, condition="cold")),
        "condition.held",
    )
    yield "applied twice", make_envelope(CURSE, CURSE), "condition.held"
    yield (
        "cured of nothing",
        make_envelope(change_parameters(CURE, condition="blinded")),
        "condition.not-held",
    )
    yield "cured twice", make_envelope(CURE, CURE), "condition.not-held"
    bystander = {"targetId": "ghost", "kind": "damage", "amount": 1}
    yield (
        "hurts who takes no part",
        make_envelope(change_parameters(FIGHT, effects=[bystander])),
        ("combat.not-a-participant"),
    )
    yield (
        "fights the dead",
        make_envelope(change_parameters(FIGHT, participantIds=["ann", "ghost", "cook"])),
        ("person.dead"),
    )
    yield (
        "fights the absent",
        make_envelope(change_parameters(FIGHT, participantIds=["ann", "smith", "cook"])),
        ("person.absent"),
    )
    yield (
        "fights who is elsewhere",
        make_envelope(change_parameters(FIGHT, participantIds=["ann", "guard"])),
        ("position.elsewhere"),
    )
    kill = {"targetId": "cook", "kind": "damage", "amount": 5}
    again = {"targetId": "cook", "kind": "heal", "amount": 5}
    yield (
        "killed and healed",
        make_envelope(change_parameters(FIGHT, effects=[kill, again])),
        "person.dead",
    )
    yield (
        "the killed talk",
        make_envelope(change_parameters(FIGHT, effects=[kill]), TALK),
        "person.dead",
    )
    yield (
        "more gold than she has",
        make_envelope(change_parameters(PAY, amount=11)),
        "resource.too-little",
    )
    yield (
        "six and six of ten gold",
        make_envelope(change_parameters(PAY, amount=6), change_parameters(PAY, amount=6)),
        ("resource.too-little"),
    )
    yield (
        "what she never had",
        make_envelope(change_parameters(PAY, resource="mana", amount=1)),
        ("resource.too-little"),
    )
    yield (
        "spawn for no faction",
        make_envelope(change_parameters(RAT, factionId="red-hand")),
        "faction.unknown",
    )
    yield (
        "spawn for what is no faction",
        make_envelope(change_parameters(RAT, factionId="ferry")),
        "faction.unknown",
    )
    way = "text.claims-way"
    yield (
        "a new door by words",
        make_envelope(change_parameters(DRIP, layerContent="A new door appears to the north.")),
        way,
    )
    yield (
        "a passage by words",
        make_envelope(
            change_parameters(
                DRIP, layerContent="Behind the hearth a secret passage opens, leading west."
            )
        ),
        way,
    )
    yield (
        "a gift by words",
        make_envelope(
            change_parameters(DRIP, layerContent="You find a golden crown under the table.")
        ),
        "text.claims-item",
    )
    yield (
        "an arrival by words",
        make_envelope(change_parameters(DRIP, layerContent="The Guard arrives and sits down.")),
        "text.claims-arrival",
    )
    yield (
        "first good, then bad",
        make_envelope(GO, change_parameters(GO, direction="south")),
        "exit.unknown",
    )
    yield (
        "bad, then good",
        make_envelope(change_parameters(GO, direction="south"), GO),
        "exit.unknown",
    )


def replay_cases() -> Iterator[tuple[str, Any, str]]:
    def by_model(**more: Any) -> Document:
        return make_envelope(DRIP, actor={"kind": "ai"}, generation=make_generation(**more))

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


def rate_cases() -> Iterator[tuple[str, Any, str]]:
    dear = make_generation(promptTokens=60_000, completionTokens=1)
    yield (
        "more tokens than an hour has",
        make_envelope(DRIP, actor={"kind": "ai"}, generation=dear),
        "rate.tokens",
    )


def legitimate_cases() -> Iterator[tuple[str, Any]]:
    for name, action in EVERY.items():
        yield name, make_envelope(action)
    yield "her own move", make_envelope(GO, actor={"kind": "player", "id": "ann"})
    yield "down the hidden hatch", make_envelope(change_parameters(GO, direction="down"))
    yield "out and north", make_envelope(GO, change_parameters(GO, direction="north"))
    yield (
        "the cook goes out",
        make_envelope(make_act("Mover.Move", "loc:inn", moverId="cook", direction="out")),
    )
    yield (
        "key, then tower",
        make_envelope(
            make_act(
                "Item.Transfer", "loc:inn", itemId="key", fromHolderId="cook", toHolderId="ann"
            ),
            GO,
            change_parameters(GO, direction="north"),
            change_parameters(GO, direction="east"),
        ),
    )
    yield "half the coins", make_envelope(change_parameters(GIVE, itemId="coins", quantity=5))
    yield "left on the floor", make_envelope(change_parameters(GIVE, toHolderId="inn"))
    yield (
        "the song replaced",
        make_envelope(
            change_parameters(
                DRIP, layerType="ambient", replaces="song", layerContent="Nobody sings."
            )
        ),
    )
    yield (
        "weather of a place",
        make_envelope(change_parameters(DRIP, layerType="weather", layerContent="Hail.")),
    )
    yield (
        "a lie that is said",
        make_envelope(change_parameters(TALK, text="There is a new door to the north.")),
    )
    yield "a fight in words", make_envelope(change_parameters(TALK, text="I'll kill that dragon!"))
    yield (
        "blood in a layer",
        make_envelope(change_parameters(DRIP, layerContent="Blood drips from the blade.")),
    )
    yield (
        "no door at all",
        make_envelope(change_parameters(DRIP, layerContent="There is no door in the north wall.")),
    )
    yield (
        "a known door",
        make_envelope(
            change_parameters(DRIP, layerContent="The door out to the yard stands open.")
        ),
    )
    yield (
        "a way, then through it",
        make_envelope(
            change_parameters(
                WAY, fromLocationId="inn", scope="loc:inn", toLocationId="tower", oneWay=True
            ),
            change_parameters(GO, direction="north"),
        ),
    )
    yield "a faction's rat", make_envelope(change_parameters(RAT, factionId="grey-cloaks"))
    yield "all her gold", make_envelope(change_parameters(PAY, amount=10))
    yield (
        "healed",
        make_envelope(
            change_parameters(FIGHT, effects=[{"targetId": "ann", "kind": "heal", "amount": 1}])
        ),
    )
    yield "in another zone of time", make_envelope(GO, issuedUtc="2025-01-15T05:00:00+05:00")
    yield "issued 14 minutes ago", make_envelope(GO, issuedUtc="2025-01-14T23:46:00Z")
    yield "a model's", make_envelope(DRIP, actor={"kind": "ai"}, generation=make_generation())
    yield "two things at once", make_envelope(MOOD, DRIP)


def refused_cases(gate: str, cases: Iterator[tuple[str, Any, str]]) -> Iterator[Case]:
    for title, document, rule in cases:
        yield Case(title=f"{gate}: {title}", envelope=document, gate=gate, rule=rule)


CASES: Final[tuple[Case, ...]] = (
    *refused_cases("schema", of_form()),
    *refused_cases("safety", of_safety()),
    *refused_cases("invariants", invariant_cases()),
    *refused_cases("replay", replay_cases()),
    *refused_cases("rate", rate_cases()),
    Case(
        title="invariants: on behalf of nobody",
        envelope=make_envelope(DRIP),
        gate="invariants",
        rule="actor.unknown",
        player="nobody",
    ),
    Case(
        title="invariants: on behalf of a character",
        envelope=make_envelope(DRIP),
        gate="invariants",
        rule="actor.unknown",
        player="cook",
    ),
)
LEGITIMATE: Final[tuple[Case, ...]] = tuple(
    Case(title=title, envelope=document, gate=None, rule=None)
    for title, document in legitimate_cases()
)

"""The kit of the gates: their order, what a refusal says, and what is known of a world."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from canonry.log.schemas.world_types import LayerType
from canonry.readmodels.edges import Direction
from canonry.values.ids import EntityId
from canonry.world.domain.checks import KnownWay, Person, Stack

# The kit of the gates: their order, and what a refusal says; the first gate that refuses decides.
#
# A gate is a function that returns None or a `Rejection`. Nothing in here knows what is proposed,
# so that proposals of any kind can pass the same gates.

POLICY_VERSION: Final = "1.0.0"
"""Of the rules in here; one more or other rule makes another version."""


class GateName(StrEnum):
    """The gates in the order in which they judge."""

    SCHEMA = "schema"
    SAFETY = "safety"
    INVARIANTS = "invariants"
    DUPLICATION = "duplication"
    REPLAY = "replay"
    RATE = "rate"
    AUDIT = "audit"


ORDER: Final = tuple(GateName)

RULES: Final = {
    "schema.wrong-value": "a value as the schema of actionEnvelope describes it",
    "schema.missing-field": "the field, as the schema of actionEnvelope describes it",
    "schema.unknown-field": "no fields beyond those of the schema",
    "schema.too-large": "an envelope of at most 64 kB; send several",
    "schema.issued-outside-window": "issuedUtc at most 15 minutes ago and 1 minute ahead",
    "schema.generation-missing": "how the text was generated, where actor.kind is ai",
    "schema.generation-unexpected": "no generation, where actor.kind is not ai",
    "actor.unknown": "the id of a living player or character of this world",
    "actor.dead": "an actor who is alive",
    "actor.absent": "an actor who is present",
    "scope.mismatch": "the scope of what the action is about, as its reason names it",
    "scope.other-player": "actions of the player on whose behalf this is proposed",
    "reference.unknown": "the id of something of the right kind in this world",
    "exit.unknown": "one of the exits of the place",
    "exit.blocked": "another way, or first what opens this one",
    "exit.needs-item": "first the item that the exit requires",
    "exit.direction-taken": "a direction in which no exit leads yet",
    "exit.way-back-taken": "an exit that leads one way only, or another direction",
    "exit.to-itself": "an exit to another place",
    "exit.forbidden": "another direction; builders change what is forbidden",
    "exit.of-builders": "exits that a proposal has opened; builders remove their own",
    "position.elsewhere": "those who are at the same place",
    "person.dead": "somebody alive",
    "person.absent": "somebody present",
    "item.held-otherwise": "the holder who has the item now",
    "item.same-holder": "another holder",
    "item.too-few": "at most as many as there are",
    "layer.base": "another type of layer; builders describe the base",
    "layer.overlaps": "the id of the layer that holds then, in replaces",
    "layer.unknown": "the id of a layer of this type and place that holds then",
    "layer.ends-before-start": "a toTick that is not before fromTick",
    "layer.in-the-past": "a fromTick that is not before the world's clock",
    "condition.held": "a condition that the target does not have",
    "condition.not-held": "a condition that the target has",
    "combat.not-a-participant": "effects on those who take part",
    "resource.too-little": "at most as much as the owner has",
    "faction.unknown": "the factId of a faction, or none",
    "text.claims-way": "a text that tells of the exits that there are; propose others",
    "text.claims-item": "a text that gives nothing away; propose a transfer",
    "text.claims-arrival": "a text in which nobody comes or goes; propose a move",
    "world.stands-against": "what the world allows by now; ask for its context again",
    "duplication.other-content": "a fresh idempotencyKey and proposalId for another proposal",
    "duplication.near": "what has not been said there in the last 24 hours",
    "duplication.repeated": "the actions that have not been admitted yet, by themselves",
    "replay.unknown-template": "a template and version that GET /api/prompts lists",
    "replay.other-hash": "the hash of this version of the template",
    "replay.unknown-context": "the hash of a context that this server gave out; ask for it again",
    "replay.parameters": "a text for each variable of the template, and for no other",
    "rate.player": "the same proposal after retryAfterMs",
    "rate.world": "the same proposal after retryAfterMs",
    "rate.tokens": "the same proposal after retryAfterMs, or one of fewer tokens",
    "audit.unavailable": "the same proposal again, a little later",
}
"""Every rule but those of safety, with what would be admissible instead."""

LASTING: Final = frozenset(
    {
        "actor.unknown",
        "scope.other-player",
        "reference.unknown",
        "exit.to-itself",
        "exit.forbidden",
        "layer.base",
        "faction.unknown",
        "text.claims-way",
        "text.claims-item",
        "text.claims-arrival",
    }
)
"""Rules of gate 3 whose word time does not change: they hold for what is scheduled, too."""

_UNSAFE: Final = "a text without this"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why a proposal is refused; `transient`: the same one may pass later, unchanged."""

    gate: GateName
    rule: str
    reason: str
    path: str | None = None
    admissible: str | None = None
    transient: bool = False
    retry_after_ms: int | None = None

    @property
    def gate_index(self) -> int:
        """The place of the gate in their order, from 1."""
        return ORDER.index(self.gate) + 1


def refusal(
    rule: str, reason: str, *, path: str | None = None, retry_after_ms: int | None = None
) -> Rejection:
    """The refusal by a rule, with its gate and what would be admissible."""
    named = rule.partition(".")[0]
    gate = GateName(named) if named in ORDER else GateName.INVARIANTS
    admissible = _UNSAFE if gate is GateName.SAFETY else RULES[rule]
    return Rejection(
        gate=gate,
        rule=rule,
        reason=reason,
        path=path,
        admissible=admissible,
        transient=gate in {GateName.RATE, GateName.AUDIT},
        retry_after_ms=retry_after_ms,
    )


def passed_before(rejection: Rejection | None) -> tuple[GateName, ...]:
    """The gates that were passed until then; all where nothing was refused."""
    return ORDER if rejection is None else ORDER[: rejection.gate_index - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSpot:
    """A location; `forbidden` says why no way may be opened in a direction."""

    id: EntityId
    name: str
    forbidden: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A layer upon a place, until a tick that is included, or for good."""

    id: EntityId
    layer_type: LayerType
    since: int
    until: int | None


# Constraints: what can be said against one thing being so, each a pure question with its rule.
#
# They know values alone, so that narration, intents and plans can ask the same.


def not_here(person: Person) -> Rejection | None:
    """The dead and the absent neither act nor take part."""
    if not person.alive:
        return refusal("person.dead", f"{person.name} is dead")
    if not person.present:
        return refusal("person.absent", f"{person.name} is absent")
    return None


def apart(one: EntityId | None, other: EntityId | None, reason: str) -> Rejection | None:
    """Two who have to do with each other are at one place."""
    if one is None or one != other:
        return refusal("position.elsewhere", reason)
    return None


def missing(person: Person, place: EntityId | None, reason: str) -> Rejection | None:
    """Who takes part in something at a place lives, is present, and is there."""
    return not_here(person) or apart(place, person.place, reason)


def no_passage(
    way: KnownWay | None, direction: Direction, held: Collection[str]
) -> Rejection | None:
    """Nobody goes where no exit leads, where it is blocked, or without what it requires."""
    if way is None:
        return refusal("exit.unknown", f"no exit leads {direction} from there")
    if way.blocked:
        return refusal("exit.blocked", f"the exit {direction} is blocked")
    if way.requires is not None and way.requires not in held:
        reason = f"the exit {direction} is passed only with an item that the mover does not hold"
        return refusal("exit.needs-item", reason)
    return None


def cannot_open(
    direction: Direction,
    ends: tuple[EntityId, EntityId],
    ways: Mapping[Direction, KnownWay],
    forbidden: Mapping[str, str],
) -> Rejection | None:
    """One exit leads in each direction, to another place, and not where the world forbids it."""
    if ends[0] == ends[1]:
        return refusal("exit.to-itself", "an exit leads to another place")
    if direction in ways:
        return refusal("exit.direction-taken", f"an exit leads {direction} already")
    if direction in forbidden:
        return refusal("exit.forbidden", f"{direction}: {forbidden[direction]}")
    return None


def overlapping(layers: Iterable[Laid], new: Laid) -> Laid | None:
    """The layer of the same type that holds at a tick at which the new one would."""
    for each in layers:
        apart_in_time = (each.until is not None and each.until < new.since) or (
            new.until is not None and new.until < each.since
        )
        if each.layer_type is new.layer_type and not apart_in_time:
            return each
    return None


def not_held(stack: Stack, holder: EntityId, wanted: int | None) -> Rejection | None:
    """Only who has something gives it, and no more than there is."""
    if stack.holder != holder:
        return refusal("item.held-otherwise", f"{stack.name} is with somebody else")
    if wanted is not None and wanted > stack.quantity:
        reason = f"there are {stack.quantity} of {stack.name}, not {wanted}"
        return refusal("item.too-few", reason)
    return None


def too_little(person: Person, resource: str, amount: int) -> Rejection | None:
    """Nobody spends what they do not have."""
    has = person.resources.get(resource, 0)
    if has < amount:
        reason = f"{person.name} has {has} of {resource}, not {amount}"
        return refusal("resource.too-little", reason)
    return None


# Claims: what a text upon a place would make so, which only an action of its own may do.
#
# The patterns are few and plain, so that prose passes: a way that opens or leads somewhere, a thing
# that is found or given to the reader, somebody who arrives or leaves.

_WAY: Final = (
    r"(?:door|doorway|gate|passage|passageway|path|tunnel|bridge|stair(?:s|case|way)?|ladder"
    r"|portal|trapdoor|exit|archway|hatch)s?"
)
_NEW: Final = (
    rf"\b(?:a|an|another|the)\s+(?:(?:new|hidden|secret|second|magical|unseen|narrow)\s+)+{_WAY}\b"
)
_OPENS: Final = r"\b(?:appears?|opens?|opened|leads?|has appeared|forms?|is revealed|now)\b"
_WAYS: Final = re.compile(rf"{_NEW}[^.!?]*{_OPENS}|{_OPENS}[^.!?]*{_NEW}", re.IGNORECASE)
_LEADS: Final = re.compile(
    rf"\b(?:a|an)\s+(?:\w+\s+)?{_WAY}\b[^.!?,;]*\bleads?\b[^.!?,;]*?"
    rf"\b({'|'.join(Direction)})\b",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(
    r"\byou\s+(?:now\s+)?(?:find|receive|gain|obtain|are given|pick up|acquire)"
    r"\s+(?:an?|the|\d+)\b",
    re.IGNORECASE,
)
_ARRIVES: Final = re.compile(
    r"(?:^|[.!?]\s+)(?:The\s+)?[A-Z]\w+(?:\s+[A-Z]\w+)?\s+"
    r"(?:arrives|comes in|enters|walks in|joins you|departs|has arrived)\b"
)
_UNREAL: Final = re.compile(
    r"\b(?:no|not|never|nobody|nothing|without|if|as if|as though|like|dreams?|imagin\w+|perhaps"
    r"|maybe|would|could|rumou?r\w*|legend|once|used to)\b|\?",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]*")


def claimed(text: str, exits: Iterable[Direction]) -> Rejection | None:
    """What a text says is so and the world does not, if it says such a thing."""
    known = frozenset(exits)
    for sentence in _SENTENCE.findall(text):
        if _UNREAL.search(sentence):
            continue
        leads = _LEADS.search(sentence)
        astray = leads is not None and Direction(leads[1].lower()) not in known
        if _WAYS.search(sentence) or astray:
            reason = "the text tells of a way that the world does not have"
            return refusal("text.claims-way", reason)
        if _ITEM.search(sentence):
            reason = "the text gives the reader something that nobody has transferred"
            return refusal("text.claims-item", reason)
        if _ARRIVES.search(sentence.strip()):
            reason = "the text lets somebody come or go who has not moved"
            return refusal("text.claims-arrival", reason)
    return None

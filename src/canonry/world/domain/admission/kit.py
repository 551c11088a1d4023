"""The kit of the gates: their order, and what a refusal says; the first gate that refuses decides.

A gate is a function that returns None or a `Rejection`. Nothing in here knows what is proposed, so
that proposals of any kind can pass the same gates.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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

"""Gate 1, schema: an envelope as it was sent becomes one that is typed, or is refused with a path.

Nothing is converted: a number in a text is a text, and true is no number.
"""

import re
from dataclasses import replace
from typing import Any, Final, TypeVar

from canonry.log.schemas.world_types import ActorKind
from canonry.values.errors import BrokenInvariant, InvalidInput
from canonry.values.json_values import canonical_json
from canonry.values.time import SECOND, Instant, parse_instant
from canonry.world.domain.admission.envelope import (
    ACTION_TYPES,
    Action,
    Envelope,
    Proposed,
    field_names,
    read_strictly,
)
from canonry.world.domain.admission.kit import Rejection, refusal

T = TypeVar("T")
ENVELOPE_BYTES: Final = 64 * 1024
OLDEST: Final = 15 * 60 * SECOND
NEWEST: Final = 60 * SECOND
_PATH: Final = re.compile(r" - at `\$([^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def read_proposal(player: str, sent: Any, now: Instant) -> Proposed | Rejection:
    """The proposal that somebody sent at `now`, or why it is none."""
    envelope = _read(sent, Envelope)
    if isinstance(envelope, Rejection):
        return envelope
    size = len(canonical_json(sent))
    if size > ENVELOPE_BYTES:
        return refusal("schema.too-large", f"the envelope has {size} bytes of {ENVELOPE_BYTES}")
    return _issued(envelope, now) or _generated(envelope) or _actions(player, envelope)


def recorded_proposal(player: str, sent: Any) -> Proposed:
    """A proposal that was read before, whenever that was.

    Raises:
        BrokenInvariant: `proposal.unreadable`, the record is none of an admitted proposal.
    """
    envelope = _read(sent, Envelope)
    read = envelope if isinstance(envelope, Rejection) else _actions(player, envelope)
    if isinstance(read, Rejection):
        raise BrokenInvariant("proposal.unreadable", "this was never admitted as it is recorded")
    return read


def _actions(player: str, envelope: Envelope) -> Proposed | Rejection:
    actions = []
    for number, each in enumerate(envelope.proposed_actions):
        path = f"/proposedActions/{number}/params"
        params = _read(each.params, ACTION_TYPES[each.action_type], path)
        if isinstance(params, Rejection):
            return params
        kind, _, name = each.scope_key.partition(":")
        actions.append(Action(kind=each.action_type, scope=(kind, name), params=params))
    return Proposed(player=player, envelope=envelope, actions=tuple(actions))


def _issued(envelope: Envelope, now: Instant) -> Rejection | None:
    try:
        issued = parse_instant(envelope.issued_utc, path="/issuedUtc")
    except InvalidInput as error:
        return refusal("schema.wrong-value", str(error), path="/issuedUtc")
    if not now - OLDEST <= issued <= now + NEWEST:
        reason = "it was issued too long ago, or a clock is off"
        return refusal("schema.issued-outside-window", reason, path="/issuedUtc")
    return None


def _generated(envelope: Envelope) -> Rejection | None:
    by_model = envelope.actor.kind is ActorKind.AI
    if by_model and envelope.generation is None:
        reason = "a model's proposal says how it was generated"
        return refusal("schema.generation-missing", reason, path="/generation")
    if envelope.generation is not None and not by_model:
        reason = f"what {envelope.actor.kind} proposes was not generated"
        return refusal("schema.generation-unexpected", reason, path="/generation")
    return None


def _read(sent: Any, kind: type[T], around: str = "") -> T | Rejection:
    read, wrong = read_strictly(sent, kind)
    if read is not None:
        return read
    refused = _refused(wrong, around)
    if (refused.path or "").endswith("/actionType") and refused.rule == "schema.wrong-value":
        return replace(refused, admissible=f"one of {', '.join(sorted(ACTION_TYPES))}")
    if refused.rule == "schema.unknown-field" and refused.path == around:
        known = ", ".join(field_names(kind))
        return replace(refused, admissible=f"{refused.admissible}: {known}")
    return refused


def _refused(said: str, around: str) -> Rejection:
    found = _PATH.search(said)
    steps = _STEP.findall(found[1]) if found else []
    path = around + "".join(f"/{name or number}" for name, number in steps)
    message = _PATH.sub("", said)
    rule = "schema.wrong-value"
    if "missing required field" in message:
        rule = "schema.missing-field"
    elif "unknown field" in message:
        rule = "schema.unknown-field"
    return refusal(rule, message[0].lower() + message[1:], path=path)

"""The schema of proposals and their envelope."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from canonry.log.schemas.world_types import ActorKind, LayerType
from canonry.readmodels.edges import TICK_MAX, Direction
from canonry.values.errors import BrokenInvariant, InvalidInput
from canonry.values.json_values import canonical_json
from canonry.values.moments import SECOND, Instant, parse_instant
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.domain.admission.kit import Rejection, refusal

# The envelope of a proposal, strict: its types are the schema that is published and judged by.
#
# A field that is not declared here is refused, and so is one in snake case: the published names are
# in camel case. What a character or an item is called may be its id or its key.

T = TypeVar("T", bound=Struct)
ACTIONS_MAX: Final = 20
KEY_MAX: Final = 200
PEOPLE_MAX: Final = 20
_DAYS_MAX: Final = 366 * 86_400_000
_MUCH: Final = 10**9
ID_PATTERN: Final = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
_HASH: Final = "^sha256:[0-9a-f]{64}$"

NameText = Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
WordsText = Annotated[str, Meta(max_length=NAME_MAX, pattern=r"\S")]
Prose = Annotated[str, Meta(max_length=DESCRIPTION_MAX, pattern=r"\S")]
Ticks = Annotated[int, Meta(ge=0, le=TICK_MAX)]
Duration = Annotated[int, Meta(ge=0, le=_DAYS_MAX)]
Amount = Annotated[int, Meta(ge=1, le=_MUCH)]
TokenCount = Annotated[int, Meta(ge=0, le=_MUCH)]
Uuid = Annotated[str, Meta(pattern=ID_PATTERN)]
Hash = Annotated[str, Meta(pattern=_HASH)]
ScopeKey = Annotated[str, Meta(pattern=r"^(loc|player):\S", max_length=NAME_MAX + 7)]


class Strict(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A value without any field that it does not declare."""


class MoveAction(Strict, frozen=True):
    """Somebody goes through an exit."""

    mover_id: NameText
    direction: Direction


class TransferAction(Strict, frozen=True):
    """An item goes from one to another; `quantity` splits a stack."""

    item_id: NameText
    from_holder_id: NameText
    to_holder_id: NameText
    quantity: Amount | None = None


class AddLayer(Strict, frozen=True):
    """A text lies upon a place, both ticks included."""

    location_id: NameText
    layer_type: LayerType
    layer_content: Prose
    from_tick: Ticks | None = None
    to_tick: Ticks | None = None
    replaces: NameText | None = None


class CreateExit(Strict, frozen=True):
    """A way opens, and the way back unless it leads one way only."""

    from_location_id: NameText
    direction: Direction
    to_location_id: NameText
    description: Prose | None = None
    travel_duration_ms: Duration | None = None
    one_way: bool = False
    hidden: bool = False
    blocked: Prose | None = None
    requires_item: NameText | None = None


class RemoveExit(Strict, frozen=True):
    """A way that a proposal opened closes."""

    from_location_id: NameText
    direction: Direction


class Dialogue(Strict, frozen=True):
    """A character says something to a player; it may be false."""

    npc_id: NameText
    player_id: NameText
    text: Prose


class ApplyCondition(Strict, frozen=True):
    """Somebody is in a condition, for a while or until it is removed."""

    target_id: NameText
    condition: WordsText
    duration_ms: Duration | None = None


class RemoveCondition(Strict, frozen=True):
    """Somebody is in a condition no longer."""

    target_id: NameText
    condition: WordsText


class CombatEffect(Strict, frozen=True):
    """What a round does to one who takes part."""

    target_id: NameText
    kind: Literal["damage", "heal"]
    amount: Amount


class ResolveCombat(Strict, frozen=True):
    """A round of a fight is over; it changes the resource `health` of those who have one."""

    round_number: Amount
    participant_ids: Annotated[list[NameText], Meta(min_length=1, max_length=PEOPLE_MAX)]
    effects: Annotated[list[CombatEffect], Meta(max_length=PEOPLE_MAX * 2)]


class Spawn(Strict, frozen=True):
    """A character or an item comes to be at a place."""

    location_id: NameText
    entity_type: Literal["character", "item"]
    name: WordsText
    description: Prose
    tags: Annotated[list[WordsText], Meta(max_length=20)] = []
    faction_id: NameText | None = None


class Spend(Strict, frozen=True):
    """Somebody has less of a resource."""

    owner_id: NameText
    resource: WordsText
    amount: Amount


class GenerateAmbience(Strict, frozen=True):
    """A mood is wanted for a place."""

    location_id: NameText


Params: TypeAlias = (
    MoveAction
    | TransferAction
    | AddLayer
    | CreateExit
    | RemoveExit
    | Dialogue
    | ApplyCondition
    | RemoveCondition
    | ResolveCombat
    | Spawn
    | Spend
    | GenerateAmbience
)
"""What an action does, told apart by its type."""

ACTION_TYPES: Final[Mapping[str, type[Params]]] = {
    "Mover.Move": MoveAction,
    "Item.Transfer": TransferAction,
    "Layer.Add": AddLayer,
    "Exit.Create": CreateExit,
    "Exit.Remove": RemoveExit,
    "NPC.Dialogue": Dialogue,
    "Condition.Apply": ApplyCondition,
    "Condition.Remove": RemoveCondition,
    "Combat.Resolve": ResolveCombat,
    "Entity.Spawn": Spawn,
    "Resource.Spend": Spend,
    "Ambience.Generate": GenerateAmbience,
}
"""The closed list of actions."""


class ActionAsSent(Strict, frozen=True):
    """An action whose parameters are judged by its type."""

    action_type: Literal[
        "Mover.Move",
        "Item.Transfer",
        "Layer.Add",
        "Exit.Create",
        "Exit.Remove",
        "NPC.Dialogue",
        "Condition.Apply",
        "Condition.Remove",
        "Combat.Resolve",
        "Entity.Spawn",
        "Resource.Spend",
        "Ambience.Generate",
    ]
    scope_key: ScopeKey
    params: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action; `scope` is of which kind of thing, and which one, it says that it is."""

    kind: str
    scope: tuple[str, str]
    params: Params


class ActorNamed(Strict, frozen=True):
    """Who acts; a player's and a character's own actions name them."""

    kind: ActorKind
    id: NameText | None = None


class Generation(Strict, frozen=True):
    """How a model was asked, so that the very prompt can be put together again."""

    template_name: NameText
    template_version: NameText
    template_hash: Hash
    context_hash: Hash
    parameters: Annotated[
        dict[str, Annotated[str, Meta(max_length=DESCRIPTION_MAX)]], Meta(max_length=50)
    ]
    model: NameText
    prompt_tokens: TokenCount
    completion_tokens: TokenCount


class Envelope(Strict, frozen=True, kw_only=True):
    """What is proposed, by whom, under which ids; version 1 of its form."""

    proposal_id: Uuid
    version: Literal[1]
    issued_utc: Annotated[str, Meta(max_length=40)]
    actor: ActorNamed
    correlation_id: Uuid
    causation_id: Uuid | None = None
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=KEY_MAX)]
    generation: Generation | None = None
    proposed_actions: Annotated[list[ActionAsSent], Meta(min_length=1, max_length=ACTIONS_MAX)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """An envelope with its actions, on behalf of a player."""

    player: str
    envelope: Envelope
    actions: tuple[Action, ...]

    @property
    def tokens(self) -> int:
        """What it has cost of a model."""
        told = self.envelope.generation
        return 0 if told is None else told.prompt_tokens + told.completion_tokens


def read_strictly(sent: Any, kind: type[T]) -> tuple[T | None, str]:
    """JSON values as a value of this type; or None, and what is wrong and at which path."""
    try:
        return msgspec.convert(sent, kind), ""
    except msgspec.ValidationError as error:
        return None, str(error)


def envelope_schema() -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON Schema of an envelope, and the definitions in `#/$defs/` that it refers to."""
    types = [Envelope, *ACTION_TYPES.values()]
    (schema, *params), parts = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    action = parts[ActionAsSent.__name__]
    each = [
        {"properties": {"actionType": {"const": name}, "params": told}}
        for name, told in zip(ACTION_TYPES, params, strict=True)
    ]
    shared = {
        **action["properties"],
        "actionType": {"description": "What is to happen"},
        "params": {"description": "With whom and what, by actionType"},
    }
    told = {**action, "properties": shared, "oneOf": each}
    return schema, {**parts, ActionAsSent.__name__: told}


# Gate 1, schema: an envelope as it was sent becomes one that is typed, or is refused with a path.
#
# Nothing is converted: a number in a text is a text, and true is no number.

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
        known = ", ".join(each.encode_name for each in msgspec.structs.fields(kind))
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

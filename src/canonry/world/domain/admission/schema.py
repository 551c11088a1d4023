"""The kit of the gates, and the schema of proposals and their envelope."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

from canonry.log.schemas.world_types import ActorKind, LayerType
from canonry.readmodels.edges import TICK_MAX, Direction
from canonry.values.data_files import read_toml
from canonry.values.errors import BrokenInvariant, InvalidInput
from canonry.values.ids import EntityId
from canonry.values.json_values import canonical_json
from canonry.values.moments import SECOND, Instant, parse_instant
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.domain.checks import KnownExit, Person

# The kit of the gates. A gate is a function that returns None or a `Rejection`. Nothing in here
# knows what is proposed, so that proposals of any kind can pass the same gates.

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

WORDS: Final = read_toml(__package__, "words.toml")
_ADVICE: Final = read_toml(__package__, "rules.toml")
RULES: Final[Mapping[str, str]] = {
    f"{group}.{name}": advice for group, rules in _ADVICE.items() for name, advice in rules.items()
}
"""Every rule except those of safety, with the advice that a rejection gives."""

LASTING: Final = frozenset(WORDS["lasting"].split())
"""Rules of gate 3 that time does not affect; they also apply to scheduled proposals."""

_UNSAFE: Final = "Remove the flagged content from the text"


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
        """Position of the gate in the order, from 1."""
        return ORDER.index(self.gate) + 1


def make_rejection(
    rule: str, reason: str, *, path: str | None = None, retry_after_ms: int | None = None
) -> Rejection:
    """Return the rejection by a rule, with its gate and advice."""
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


def gates_before(rejection: Rejection | None) -> tuple[GateName, ...]:
    """Return the gates that were passed before the refusal; all if there was none."""
    return ORDER if rejection is None else ORDER[: rejection.gate_index - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLocation:
    """A location; `forbidden` says why no exit may be opened in a direction."""

    id: EntityId
    name: str
    forbidden: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidLayer:
    """A layer upon a location, until a tick that is included, or for good."""

    id: EntityId
    layer_type: LayerType
    since: int
    until: int | None


# Constraints. They know values alone, so that narration, intents and plans can ask the same.


def reject_absent(person: Person) -> Rejection | None:
    """Refuse a person that is dead or absent."""
    if not person.alive:
        return make_rejection("person.dead", f"{person.name} is dead.")
    if not person.present:
        return make_rejection("person.absent", f"{person.name} is absent.")
    return None


def reject_apart(one: EntityId | None, other: EntityId | None, reason: str) -> Rejection | None:
    """Refuse two participants at different locations."""
    return make_rejection("position.elsewhere", reason) if one is None or one != other else None


def reject_missing(person: Person, location: EntityId | None, reason: str) -> Rejection | None:
    """Require a participant to be alive, present and at the location."""
    return reject_absent(person) or reject_apart(location, person.location, reason)


def reject_passage(
    known_exit: KnownExit | None, direction: Direction, held: Collection[str]
) -> Rejection | None:
    """Refuse a missing or blocked exit, or one whose required item is not held."""
    if known_exit is None:
        return make_rejection("exit.unknown", f"No exit leads {direction} from there.")
    if known_exit.blocked:
        return make_rejection("exit.blocked", f"The exit {direction} is blocked.")
    if known_exit.requires is not None and known_exit.requires not in held:
        reason = f"The exit {direction} requires an item that the mover does not hold."
        return make_rejection("exit.needs-item", reason)
    return None


def overlapping_layer(layers: Iterable[LaidLayer], new: LaidLayer) -> LaidLayer | None:
    """Return a layer of the same type that overlaps the new one in time."""
    for each in layers:
        apart_in_time = (each.until is not None and each.until < new.since) or (
            new.until is not None and new.until < each.since
        )
        if each.layer_type is new.layer_type and not apart_in_time:
            return each
    return None


# Claims in a text, by the patterns of `words.toml`.

_CLAIMS: Final = WORDS["claims"]
_UNREAL: Final = re.compile(_CLAIMS["unreal"], re.IGNORECASE)
_FALSE: Final = {
    "way": "The text mentions an exit that does not exist.",
    "item": "The text gives the reader an item that nobody has transferred.",
    "arrival": "In the text somebody arrives or leaves without having moved.",
}
_PATTERNS: Final = [
    (re.compile(pattern.format_map(_CLAIMS["parts"])), claim)
    for claim in _FALSE
    for pattern in _CLAIMS[claim]
]
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]*")


def reject_false_claims(text: str, exits: Iterable[Direction]) -> Rejection | None:
    """Return the rejection of the first false claim in a text, if any."""
    known = frozenset(exits)
    for sentence in _SENTENCE.findall(text):
        if _UNREAL.search(sentence):
            continue
        for pattern, claim in _PATTERNS:
            found = pattern.search(sentence.strip())
            if found and found.groupdict().get("direction", "").lower() not in known:
                return make_rejection(f"text.claims-{claim}", _FALSE[claim])
    return None


# The envelope of a proposal, strict. A field that is not declared here is refused, and so is one
# in snake case: the published names are in camel case. A character or an item is named by its id
# or its key.

T = TypeVar("T", bound=Struct)
ACTIONS_MAX: Final = 20
KEY_MAX: Final = 200
PEOPLE_MAX: Final = 20  # each person is looked up
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


class CombatEffect(Strict, frozen=True):
    """Effect of a round on one participant."""

    target_id: NameText
    kind: Literal["damage", "heal"]
    amount: Amount


_KINDS: Final[Mapping[str, Any]] = {
    "amount": Amount,
    "direction": Direction,
    "duration": Duration,
    "effects": Annotated[list[CombatEffect], Meta(max_length=PEOPLE_MAX * 2)],
    "flag": bool,
    "layer type": LayerType,
    "name": NameText,
    "people": Annotated[list[NameText], Meta(min_length=1, max_length=PEOPLE_MAX)],
    "prose": Prose,
    "spawned type": Literal["character", "item"],
    "tags": Annotated[list[WordsText], Meta(max_length=20)],
    "tick": Ticks,
    "words": WordsText,
}
Params: TypeAlias = Any
"""The parameters of an action, as `actions.toml` declares them for its type."""


def _parameter_field(name: str, written: str | Mapping[str, Any]) -> tuple[Any, ...]:
    if isinstance(written, str):
        kind, _, nothing = written.partition(" or ")
        return (name, _KINDS[kind] | None, None) if nothing else (name, _KINDS[kind])
    return (name, _KINDS[written["is"]], written["default"])


def _parameter_struct(name: str, table: Mapping[str, Any]) -> type[Strict]:
    fields = [_parameter_field(*each) for each in table.items()]
    made: Any = msgspec.defstruct(name, fields, bases=(Strict,), module=__name__, frozen=True)
    return cast("type[Strict]", made)


_ACTIONS: Final = read_toml(__package__, "actions.toml")
ACTION_TYPES: Final[Mapping[str, type[Strict]]] = {
    kind: _parameter_struct(name, _ACTIONS["parameters"][name])
    for kind, name in _ACTIONS["actions"].items()
}
"""The closed list of actions."""
COMPARED: Final[Mapping[str, str]] = _ACTIONS["compared"]
"""The texts by which actions are distinguished from others, with the parameters in them."""
_ActionType: TypeAlias = Literal[tuple(ACTION_TYPES)]  # type: ignore[valid-type] # it is in the file


class ActionAsSent(Strict, frozen=True):
    """An action whose parameters are judged by its type."""

    action_type: _ActionType
    scope_key: ScopeKey
    params: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action; `scope` is the kind and id from its scopeKey."""

    kind: str
    scope: tuple[str, str]
    params: Params


class ActorNamed(Strict, frozen=True):
    """The actor; a player or character must be named for its own actions."""

    kind: ActorKind
    id: NameText | None = None


class Generation(Strict, frozen=True):
    """The record of a question to a model, from which its prompt can be built again."""

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
    """A proposal with its actor and ids, in version 1 of the format."""

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
class ReadProposal:
    """An envelope with its actions, on behalf of a player."""

    player: str
    envelope: Envelope
    actions: tuple[Action, ...]

    @property
    def token_count(self) -> int:
        """Tokens that the model used for the proposal."""
        generation = self.envelope.generation
        return 0 if generation is None else generation.prompt_tokens + generation.completion_tokens


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
        {"properties": {"actionType": {"const": name}, "params": action_schema}}
        for name, action_schema in zip(ACTION_TYPES, params, strict=True)
    ]
    shared = {
        **action["properties"],
        "actionType": {"description": "Kind of action"},
        "params": {"description": "Arguments of this actionType"},
    }
    action_schema = {**action, "properties": shared, "oneOf": each}
    return schema, {**parts, ActionAsSent.__name__: action_schema}


# Gate 1, schema. Nothing is converted: a number in a text is a text, and true is no number.

ENVELOPE_BYTES: Final = 64 * 1024  # refused before it is decoded
OLDEST: Final = 15 * 60 * SECOND  # a recorded envelope cannot be replayed later
NEWEST: Final = 60 * SECOND  # clocks differ by less
_PATH: Final = re.compile(r" - at `\$([^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def read_proposal(player: str, sent: Any, now: Instant) -> ReadProposal | Rejection:
    """Return the proposal sent at `now`, or its rejection by the schema."""
    envelope = _read_struct(sent, Envelope)
    if isinstance(envelope, Rejection):
        return envelope
    size = len(canonical_json(sent))
    if size > ENVELOPE_BYTES:
        reason = f"The envelope has {size} bytes; the limit is {ENVELOPE_BYTES}."
        return make_rejection("schema.too-large", reason)
    return (
        _check_issued(envelope, now)
        or _check_generation(envelope)
        or _read_actions(player, envelope)
    )


def recorded_proposal(player: str, sent: Any) -> ReadProposal:
    """Return a recorded proposal, without checking its age.

    Raises:
        BrokenInvariant: `proposal.unreadable`, the record is not an admitted proposal.
    """
    envelope = _read_struct(sent, Envelope)
    read = envelope if isinstance(envelope, Rejection) else _read_actions(player, envelope)
    if isinstance(read, Rejection):
        raise BrokenInvariant("proposal.unreadable", "The recorded proposal cannot be read.")
    return read


def _read_actions(player: str, envelope: Envelope) -> ReadProposal | Rejection:
    actions = []
    for number, each in enumerate(envelope.proposed_actions):
        path = f"/proposedActions/{number}/params"
        params = _read_struct(each.params, ACTION_TYPES[each.action_type], path)
        if isinstance(params, Rejection):
            return params
        kind, _, name = each.scope_key.partition(":")
        actions.append(Action(kind=each.action_type, scope=(kind, name), params=params))
    return ReadProposal(player=player, envelope=envelope, actions=tuple(actions))


def _check_issued(envelope: Envelope, now: Instant) -> Rejection | None:
    try:
        issued = parse_instant(envelope.issued_utc, path="/issuedUtc")
    except InvalidInput as error:
        return make_rejection("schema.wrong-value", str(error), path="/issuedUtc")
    if not now - OLDEST <= issued <= now + NEWEST:
        reason = f"issuedUtc {envelope.issued_utc} is over 15 minutes old or 1 minute ahead."
        return make_rejection("schema.issued-outside-window", reason, path="/issuedUtc")
    return None


def _check_generation(envelope: Envelope) -> Rejection | None:
    by_model = envelope.actor.kind is ActorKind.AI
    if by_model and envelope.generation is None:
        reason = "`generation` is missing, although actor.kind is ai."
        return make_rejection("schema.generation-missing", reason, path="/generation")
    if envelope.generation is not None and not by_model:
        reason = f"`generation` is given, although actor.kind is {envelope.actor.kind}."
        return make_rejection("schema.generation-unexpected", reason, path="/generation")
    return None


def _read_struct(sent: Any, kind: type[T], around: str = "") -> T | Rejection:
    read, wrong = read_strictly(sent, kind)
    if read is not None:
        return read
    found = _PATH.search(wrong)
    steps = _STEP.findall(found[1]) if found else []
    path = around + "".join(f"/{name or number}" for name, number in steps)
    message = _PATH.sub("", wrong)
    rule = "schema.wrong-value"
    if "missing required field" in message:
        rule = "schema.missing-field"
    elif "unknown field" in message:
        rule = "schema.unknown-field"
    refused = make_rejection(rule, message[0].lower() + message[1:], path=path)
    if (refused.path or "").endswith("/actionType") and refused.rule == "schema.wrong-value":
        return replace(refused, admissible=f"Use one of {', '.join(sorted(ACTION_TYPES))}")
    if refused.rule == "schema.unknown-field" and refused.path == around:
        known = ", ".join(each.encode_name for each in msgspec.structs.fields(kind))
        return replace(refused, admissible=f"{refused.admissible}: {known}")
    return refused

"""Kinds of arguments and replies, and tools that change the world; `tools.toml` declares them."""

import math
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import signature
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import (
    COUNT,
    INSTANT,
    INTEGER,
    TEXT,
    Field,
    Shape,
    array,
    enum,
    object_schema,
)
from canonry.gateway.tables import FieldTable, compose_arguments, named_code, present_arguments
from canonry.gateway.tool import Arguments, Noted, Reply, Run, Schema, Tool
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Tick, check_tick, tick_of
from canonry.values.errors import InvalidInput
from canonry.values.moments import parse_instant
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.domain.admission.schema import ORDER
from canonry.world.domain.arcs.arcs import BEATS_MAX, BEATS_MIN
from canonry.world.domain.mechanics import EXPRESSION_MAX
from canonry.world.domain.moderation.moderating import CATEGORIES
from canonry.world.domain.narration.violations import NARRATION_MAX
from canonry.world.domain.utterances.lexicon import VERBS
from canonry.world.domain.utterances.reading import UTTERANCE_MAX
from canonry.world.models.services import WorldServices
from canonry.world.toolset import contract
from canonry.world.usecases.proposals.invariants import EVENT_NAMES
from canonry.world.usecases.worlds import WorldAt, bound_world, world_at

DEPTH_MAX: Final = 5  # each step multiplies the locations of a reply
LIMIT_MAX: Final = 100
FOUND_MAX: Final = 20  # a page that a model reads
KEY: Final = TEXT.with_keywords(minLength=1, maxLength=NAME_MAX)
NAME: Final = KEY.with_keywords(pattern=r"\S")
ANYTHING: Final = Field({"type": "object"})


def _values_by_name(name: str, value: str, schema: Schema) -> Field:
    """Values by name; errors do not repeat these names."""
    each = object_schema({name: NAME, value: Field(schema)})
    return Field(
        {"type": "array", "items": each, "maxItems": LIMIT_MAX},
        lambda told: {one[name]: one[value] for one in told},
    )


TABLE: Final = FieldTable(
    __package__,
    {
        "amounts_by_name": _values_by_name("resource", "amount", {"type": "integer", "minimum": 0}),
        "any_mapping": ANYTHING.with_render(dict),
        "any_object": ANYTHING,
        "beats": INTEGER.with_keywords(minimum=BEATS_MIN, maximum=BEATS_MAX),
        "checked_tick": INTEGER.with_render(partial(check_tick, path="/tick")),
        "conditions_by_name": _values_by_name(
            "condition", "untilTick", {"type": ["integer", "null"], "minimum": 0}
        ),
        "dice": TEXT.with_keywords(maxLength=EXPRESSION_MAX),
        "few_keys": array(KEY).with_keywords(maxItems=BEATS_MIN).with_render(tuple),
        "gate": enum(*ORDER),
        "hero_level": COUNT.with_keywords(minimum=1, maximum=20),
        "id_of": TEXT.with_render(lambda item: item.id),
        "key": KEY,
        "keys": array(KEY).with_keywords(maxItems=LIMIT_MAX).with_render(tuple),
        "moderated_category": enum(*CATEGORIES),
        "name": NAME,
        "narration": TEXT.with_keywords(minLength=1, maxLength=NARRATION_MAX),
        "outcome": enum("accepted", "rejected").with_render(lambda outcome: outcome == "accepted"),
        "part_kind": enum(WorldType.REALM, WorldType.LOCATION),
        "positive": COUNT.with_keywords(minimum=1),
        "prose": TEXT.with_keywords(maxLength=DESCRIPTION_MAX),
        "quantity": Field({"type": ["integer", "string"]}),
        "since": INSTANT.with_render(partial(parse_instant, path="/since")),
        "sorted_texts": array(TEXT).with_render(sorted),
        "stops": array(KEY).with_keywords(minItems=2, maxItems=LIMIT_MAX).with_render(tuple),
        "themes": array(TEXT.with_keywords(maxLength=NAME_MAX))
        .with_keywords(maxItems=5)
        .with_render(tuple),
        "tick": Field(
            {
                "type": ["number", "string"],
                "description": "World time in milliseconds; without it now.",
            },
            lambda value: asked_tick({"tick": value}),
        ),
        "tick_of": INTEGER.with_render(tick_of),
        "utterance": TEXT.with_keywords(maxLength=4 * UTTERANCE_MAX),
        "verb": enum(*VERBS),
        "whole": INTEGER.with_render(int),
        "world_event": enum(*EVENT_NAMES),
    },
)
ID: Final = TABLE.make_shape("id", id=str)
DONE: Final = Shape(done=Field({"const": True}).from_source(lambda _: True))
TABLE.kinds["done"] = DONE


def reading_tool(name: str, run: Run, gives: Schema) -> Tool:
    """A tool whose entry in `tools.toml` has its wording, arguments and roles.

    `gives` is the schema of its reply. A builders' tool has no roles in its entry; one that removes
    something says so to clients.
    """
    entry = TABLE.tools[name]
    takes = TABLE.make_schema(entry["takes"])
    named = entry.get("roles", "builders")
    roles = contract.GROUPS_OF_ROLES[named] if isinstance(named, str) else frozenset(named)
    read_only = roles != contract.BUILDER and not entry.get("changes", False)
    null = entry.get("null", False)
    return Tool(
        name=name,
        title=contract.title_of(name),
        description=entry["description"],
        input_schema=takes,
        accepted_schema=contract.with_texts(contract.with_nulls(takes))
        if entry.get("eased", False)
        else None,
        output_schema=contract.with_shapes({"anyOf": [gives, {"type": "null"}]} if null else gives),
        roles=roles,
        run=run,
        read_only=read_only,
        destructive=entry.get("destructive", name.startswith("remove")),
        idempotent=read_only,
        extension=True,
    )


def world_tool(
    name: str, operation: Callable[..., Awaitable[Any]] | None = None, shown: Field | None = None
) -> Tool:
    """Make a tool from its entry in `tools.toml`.

    `operation`, by default the use case that the entry names, takes the arguments by the names of
    its parameters; a parameter that is a dataclass is made of those that are its fields. By their
    names it also takes the `canon`, the `caller`,
    the bound `world`, the world `then` at the tick of the arguments, and `only_by`, whose proposals
    alone the caller may see. The wrapper `changing` makes the `draft` of the operations that take
    one. A field, by default the shape that the entry names, shows the result; None is null.
    """
    entry = TABLE.tools[name]
    readings = TABLE.list_readings(entry["takes"])
    operation = operation or named_code(entry["does"])
    gives = shown or TABLE.make_field(entry["shows"])
    names = signature(operation).parameters.keys() & _SUPPLIED
    compose = compose_arguments(operation, readings, _SUPPLIED)
    show = gives.render or dict

    async def run_tool(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        values = present_arguments(readings, arguments)
        tick = values.pop("tick", None) if "then" in names else None
        asked = compose(values)
        world = await bound_world(canon, caller) if names & _BOUND else None
        if "draft" in names:
            return show(await operation(canon, caller, world, **asked))
        then = None if world is None else world_at(canon, world, tick)
        overseer = caller.actor.agent_type in contract.OVERSEERS
        only_by = None if overseer else caller.actor.agent_id
        standard = {"canon": canon, "caller": caller, "world": world, "then": then}
        given = {n: each for n, each in {**standard, "only_by": only_by}.items() if n in names}
        found = await operation(**given, **asked)
        if found is None:
            return None
        return with_hash(then, show(found)) if then and entry.get("hashed", False) else show(found)

    return reading_tool(name, run_tool, gives.schema)


_BOUND: Final = frozenset(("draft", "then", "world"))
_SUPPLIED: Final = _BOUND | {"canon", "caller", "only_by"}


CONTEXT_META: Final = "dev.canonry/context-hash"


def with_hash(then: WorldAt, context: dict[str, Any]) -> Noted:
    """The context, with its hash beside it."""
    admissions = then.canon.find_service(WorldServices).admissions
    return Noted(
        reply=context, meta={CONTEXT_META: admissions.record_context(then.world.space, context)}
    )


# Arguments. The schema has been applied before, so that types hold here.

_EXACT: Final = 2**53
"""Beyond this a whole number in a text becomes a float, as JSON's numbers are to most readers."""


def number_of(arguments: Arguments, name: str) -> float | int | None:
    """A number, or the number that a text writes; None where there is neither.

    Raises:
        InvalidInput: `number.malformed`, with the parameter's own name.
    """
    value = arguments.get(name)
    if isinstance(value, str):
        value = _read_number(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        message = f"invalid {name}: give a finite number"
        raise InvalidInput("number.malformed", message, path=f"/{name}")
    return value


def _read_number(text: str) -> float | int | None:
    """Return the number in a text: nan if it has none, None if the text is empty."""
    shown = text.strip()
    if not shown:
        return None
    if "_" in shown or not shown.isascii():  # which Python reads and JavaScript does not
        return math.nan
    try:
        whole = int(shown, 0)
        return whole if abs(whole) <= _EXACT else float(whole)
    except OverflowError:
        return math.inf
    except ValueError:
        pass
    try:
        return float(shown)
    except ValueError:
        return math.nan


def asked_tick(arguments: Arguments) -> Tick | None:
    """The tick that is asked about; what lies between two is the earlier."""
    value = number_of(arguments, "tick")
    return None if value is None else check_tick(math.floor(value), path="/tick")


def clamp_value(value: float, least: int, most: int) -> int:
    """`value` without what is after the point, and within its bounds."""
    return min(max(math.floor(value), least), most)


def name_of(arguments: Arguments, name: str) -> str | None:
    """An id or key; an empty one counts as missing."""
    value = arguments.get(name)
    return value if isinstance(value, str) and value else None

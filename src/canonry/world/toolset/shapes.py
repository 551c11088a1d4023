"""Shapes of arguments and replies."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final, Generic, TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    TEXT,
    WORD,
    Field,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Noted, Reply, Schema, Tool
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.schemas.world_types import LayerType, Tie
from canonry.readmodels.edges import Direction, Tick, checked_tick, travel_ms
from canonry.readmodels.edges import tick_of as tick_of_of_ticks
from canonry.values.errors import InvalidInput
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.models.services import WorldServices
from canonry.world.toolset.contract import BUILDER, extension_tool
from canonry.world.usecases.contexts import Upon
from canonry.world.usecases.world_ties import Tied
from canonry.world.usecases.worlds import BoundWorld, WorldAt, bound_world

Read = TypeVar("Read")


KEY: Final = TEXT.but(minLength=1, maxLength=NAME_MAX)
KEYS: Final = array(KEY).but(maxItems=100).by(tuple)
NAME: Final = KEY.but(pattern=r"\S")
PROSE: Final = TEXT.but(maxLength=DESCRIPTION_MAX)
POSITIVE: Final = COUNT.but(minimum=1)
ANYTHING: Final = Field({"type": "object"})
CHECKED_TICK: Final = INTEGER.by(partial(checked_tick, path="/tick"))

ID: Final = Shape(id=TEXT.of(str))
DONE: Final = Shape(done=Field({"const": True}).of(lambda _: True))


def word(words: type[StrEnum]) -> Field:
    """An argument that is one of these words."""
    return enum(*words).by(words)


@dataclass(frozen=True, slots=True)
class Request(Generic[Read]):
    """The arguments of a tool, and what makes one value of them, which also has the defaults.

    The value of an argument is `render`ed into the field that is its `source`.
    """

    make: Callable[..., Read]
    required: Mapping[str, Field]
    optional: Mapping[str, Field] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """The schema of the arguments."""
        return obj(self.required, self.optional)

    def read(self, arguments: Arguments) -> Read:
        """The value of arguments that satisfy the schema."""
        fields: dict[str, Any] = {}
        for name, each in (*self.required.items(), *self.optional.items()):
            if name in arguments:
                value = arguments[name]
                fields[str(each.source or name)] = each.render(value) if each.render else value
        return self.make(**fields)


def builders_tool(
    name: str,
    description: str,
    request: Request[Read],
    change: Callable[[Canon, Caller, BoundWorld, Read], Awaitable[Any]],
    reply: Shape,
) -> Tool:
    """A tool that changes the world of its caller; one that removes something says so to clients.

    `change` is a use case, and `reply` the shape of what it returns.
    """

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        read = request.read(arguments)
        return reply(await change(canon, caller, await bound_world(canon, caller), read))

    return extension_tool(
        name,
        description,
        run,
        roles=BUILDER,
        takes=request.schema,
        gives=reply.schema,
        read_only=False,
        destructive=name.startswith("remove"),
    )


CONTEXT_META: Final = "dev.canonry/context-hash"


def told(then: WorldAt, context: dict[str, Any]) -> Noted:
    """The context, with its hash beside it."""
    admissions = then.canon.service(WorldServices).admissions
    return Noted(reply=context, meta={CONTEXT_META: admissions.gave_out(then.world.space, context)})


PREVIEW: Final = 240
VALUE_MAX: Final = 512
_DEFAULTS: Final = {
    LayerType.WEATHER: "clear",
    LayerType.LIGHTING: "daylight",
    LayerType.AMBIENT: "calm",
}


def kept(name: str, default: Any = None) -> Callable[[Any], Any]:
    """What reads the property of this name of a thing."""
    return lambda thing: thing.properties.get(name, default)


def _travel_ms(edge: Any) -> int:
    return travel_ms(Direction(edge.properties["kind"]), edge.properties.get("travel_ms"))


def _direction(tied: Tied) -> str:
    if tied.tie is Tie.BORDERS:
        return "both"
    return "out" if tied.outward else "in"


NAMED: Final = Shape(id=TEXT, name=TEXT)
LOCATION: Final = Shape(
    **NAMED.fields,
    description=TEXT,
    tags=array(TEXT).of(kept("tags", ())),
    version=INTEGER.of(kept("version", 1)).by(int),
)
EXIT: Final = Shape(
    direction=TEXT.of(kept("kind")),
    toLocationId=TEXT.of("to_id"),
    name=optional(given(TEXT)),
    description=optional(TEXT.of(kept("description"))),
    travelDurationMs=INTEGER.of(_travel_ms),
    oneWay=optional(BOOLEAN.of(kept("one_way"))),
    hidden=optional(BOOLEAN.of(kept("hidden"))),
    blocked=optional(TEXT.of(kept("blocked"))),
    requiresItem=optional(TEXT.of(kept("requires"))),
)
TIE: Final = Shape(
    tie=WORD,
    direction=TEXT.of(_direction),
    realmId=TEXT.of("other.id"),
    name=TEXT.of("other.name"),
)
"""How a realm stands to another: a tie leads out to it or comes in from it."""
REALM: Final = Shape(
    **NAMED.fields,
    realmType=TEXT.of(kept("realm_type", "")),
    scope=TEXT.of(kept("scope", "")),
    description=TEXT,
    narrativeTags=array(TEXT).of(kept("narrative_tags", ())),
    ties=optional(given(array(TIE))),
)
ROUTE: Final = Shape(
    routeName=TEXT.of("route"), toLocationId=TEXT.of("stop.id"), name=TEXT.of("stop.name")
)
EVENT: Final = Shape(
    id=TEXT,
    eventType=TEXT.of("title"),
    occurredUtc=INSTANT.of("created_at"),
    actorKind=TEXT.of(kept("actor_kind", "system")),
    status=TEXT.of(lambda _: "processed"),
    tick=INTEGER.of(lambda e: tick_of_of_ticks(e.created_at if e.time_ref is None else e.time_ref)),
    description=optional(TEXT.of(lambda event: event.description[:PREVIEW] or None)),
    places=optional(given(array(NAMED))),
)
ITEM: Final = Shape(
    **NAMED.fields,
    itemType=WORD.of(kept("item_type", "")),
    quantity=INTEGER.of(kept("quantity", 1)).by(int),
    description=optional(TEXT.of(lambda item: item.description or None)),
)
STATUS: Final = Shape(
    alive=BOOLEAN,
    present=BOOLEAN,
    conditions=array(
        Shape(
            condition=TEXT.of(lambda pair: pair[0]),
            untilTick=nullable(INTEGER.of(lambda pair: pair[1])),
        )
    ).of(lambda status: sorted(status.conditions.items())),
    resources=ANYTHING,
)
PLAYER: Final = Shape(
    **NAMED.fields,
    currentLocationId=optional(given(TEXT.by(lambda location: location.id))),
    clockTick=optional(INTEGER.of(kept("clock"))),
    createdUtc=INSTANT.of("created_at"),
    updatedUtc=INSTANT.of("updated_at"),
    attributes=optional(ANYTHING.of(lambda player: player.properties.get("attributes") or None)),
    status=optional(given(STATUS)),
)
"""What others may know of a player: nothing but these fields."""
_ORIGIN: Final = Shape(
    scopeId=TEXT.of("edge.to_id"),
    authoredAt=INSTANT.of("layer.created_at"),
    effectiveFromTick=INTEGER.of(lambda upon: int(upon.layer.properties["from"])),
    effectiveToTick=nullable(INTEGER.of(lambda upon: upon.layer.properties.get("to"))),
)


def exits_told(
    edges: Sequence[Relation], places: Mapping[str, Entity], shape: Shape = EXIT
) -> list[dict[str, Any]]:
    """Exits with the names of the places that they lead to."""
    named = {i: place.name for i, place in places.items()}
    return [shape(edge, name=named.get(edge.to_id)) for edge in edges]


def events_told(events: Sequence[Event], places: Mapping[str, Entity]) -> list[dict[str, Any]]:
    """Events with the places that they are about."""
    found = [[places[i] for i in each.involved if i in places] for each in events]
    return [EVENT(each, places=at or None) for each, at in zip(events, found, strict=True)]


def present_summary(layer_type: LayerType, upon: Upon | None) -> dict[str, Any]:
    """A layer in a location's context: a preview of its text."""
    if upon is None:
        return {"present": False, "layerType": layer_type.value}
    return {
        "present": True,
        "layerType": layer_type.value,
        **_ORIGIN(upon),
        "valuePreview": upon.value[:PREVIEW],
        "valueLength": len(upon.value),
    }


def present_atmosphere(layer_type: LayerType, upon: Upon | None) -> dict[str, Any]:
    """A layer in an atmosphere: whole where it is short, and the default where there is none."""
    value = _DEFAULTS[layer_type] if upon is None else upon.value
    return {
        "present": upon is not None,
        "layerType": layer_type.value,
        "defaulted": upon is None,
        "valuePreview": value[:PREVIEW],
        "valueLength": len(value),
        "valueTruncated": len(value) > VALUE_MAX,
        **({"value": value} if len(value) <= VALUE_MAX else {}),
        **({} if upon is None else _ORIGIN(upon)),
    }


# Arguments: numbers that may come as text, names that may be missing, and their bounds.
#
# The schema has been applied before, so that types hold here.

DEPTH_MAX: Final = 5
LIMIT_MAX: Final = 100
FOUND_MAX: Final = 20
_EXACT: Final = 2**53
"""Beyond this a whole number in a text becomes a float, as JSON's numbers are to most readers."""


def number_of(arguments: Arguments, name: str) -> float | int | None:
    """A number, or the number that a text writes; None where there is neither.

    Raises:
        InvalidInput: `number.malformed`, with the parameter's own name.
    """
    value = arguments.get(name)
    if isinstance(value, str):
        value = _read(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        message = f"invalid {name}: give a finite number"
        raise InvalidInput("number.malformed", message, path=f"/{name}")
    return value


def _read(text: str) -> float | int | None:
    """The number in a text; nan where there is none, None where the text says nothing."""
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


def tick_of(arguments: Arguments) -> Tick | None:
    """The tick that is asked about; what lies between two is the earlier."""
    value = number_of(arguments, "tick")
    return None if value is None else checked_tick(math.floor(value), path="/tick")


def clamped(value: float, least: int, most: int) -> int:
    """`value` without what is after the point, and within its bounds."""
    return min(max(math.floor(value), least), most)


def name_of(arguments: Arguments, name: str) -> str | None:
    """An id or key; an empty one counts as missing."""
    value = arguments.get(name)
    return value if isinstance(value, str) and value else None

"""Arguments of tools, and tools that change the world."""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final, Generic, TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import COUNT, INTEGER, TEXT, Field, Shape, array, enum, obj
from canonry.gateway.tool import Arguments, Noted, Reply, Schema, Tool
from canonry.readmodels.edges import Tick, checked_tick
from canonry.values.errors import InvalidInput
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.models.services import WorldServices
from canonry.world.toolset.contract import BUILDER, extension_tool
from canonry.world.usecases.worlds import BoundWorld, WorldAt, bound_world

Read = TypeVar("Read")


KEY: Final = TEXT.but(minLength=1, maxLength=NAME_MAX)
KEYS: Final = array(KEY).but(maxItems=100).by(tuple)
NAME: Final = KEY.but(pattern=r"\S")
PROSE: Final = TEXT.but(maxLength=DESCRIPTION_MAX)
POSITIVE: Final = COUNT.but(minimum=1)
ANYTHING: Final = Field({"type": "object"})
TICK: Final = Field(
    {"type": ["number", "string"], "description": "World time in milliseconds; without it now."}
)
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


# Arguments. The schema has been applied before, so that types hold here.

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
    return None if value is None else checked_tick(math.floor(value), path="/tick")


def clamped(value: float, least: int, most: int) -> int:
    """`value` without what is after the point, and within its bounds."""
    return min(max(math.floor(value), least), most)


def name_of(arguments: Arguments, name: str) -> str | None:
    """An id or key; an empty one counts as missing."""
    value = arguments.get(name)
    return value if isinstance(value, str) and value else None

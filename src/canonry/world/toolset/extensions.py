"""How the tools beyond the contract are declared: what they take, do and answer, each once."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final, Generic, TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, INTEGER, TEXT, Field, Shape, array, enum, obj
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.readmodels.ticks import checked_tick
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.toolset.contract import BUILDER, title_of
from canonry.world.usecases.bound_world import BoundWorld, bound_world

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

    return Tool(
        name=name,
        title=title_of(name),
        description=description,
        input_schema=request.schema,
        output_schema=reply.schema,
        roles=BUILDER,
        run=run,
        read_only=False,
        destructive=name.startswith("remove"),
        extension=True,
    )

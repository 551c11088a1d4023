"""How the tools beyond the contract are declared: what they take, do and answer, each once."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final, Generic, TypeVar

from canonry.domain.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.domain.world.ticks import checked_tick
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.toolsets.world.contract import BUILDER, title_of
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.bound_world import BoundWorld, bound_world

Read = TypeVar("Read")
Done = TypeVar("Done")
Change = Callable[[Canon, Caller, BoundWorld, Read], Awaitable[Done]]
"""A use case that changes the world that the caller is bound to."""


def obj(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Schema, **bounds: int) -> Schema:
    """A list of such items."""
    return {"type": "array", "items": items, **bounds}


def enum(words: Iterable[str]) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": [str(word) for word in words]}


def _as_given(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: its schema, what its value is read as, and the field that it fills.

    Without a `field` it fills the one of its own name.
    """

    schema: Schema
    read: Callable[[Any], Any] = _as_given
    field: str = ""

    def into(self, field: str) -> "Argument":
        """The same, for the field of this name."""
        return replace(self, field=field)


@dataclass(frozen=True, slots=True)
class Request(Generic[Read]):
    """The arguments of a tool, and what makes one value of them; it has the defaults."""

    make: Callable[..., Read]
    required: Mapping[str, Argument]
    optional: Mapping[str, Argument] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        """The schema of the arguments."""
        return obj(_schemas(self.required), _schemas(self.optional))

    def read(self, arguments: Arguments) -> Read:
        """The value of arguments that satisfy the schema."""
        declared = (*self.required.items(), *self.optional.items())
        given = {
            each.field or name: each.read(arguments[name])
            for name, each in declared
            if name in arguments
        }
        return self.make(**given)


def _schemas(arguments: Mapping[str, Argument]) -> Mapping[str, Schema]:
    return {name: each.schema for name, each in arguments.items()}


TEXT: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}

KEY: Final = Argument({"type": "string", "minLength": 1, "maxLength": NAME_MAX})
KEYS: Final = Argument(array(KEY.schema, maxItems=100), tuple)
NAME: Final = Argument({**KEY.schema, "pattern": r"\S"})
PROSE: Final = Argument({"type": "string", "maxLength": DESCRIPTION_MAX})
WHOLE: Final = Argument(COUNT)
POSITIVE: Final = Argument({**COUNT, "minimum": 1})
FLAG: Final = Argument({"type": "boolean"})
ANYTHING: Final = Argument({"type": "object"})
TICK: Final = Argument(INTEGER)
CHECKED_TICK: Final = Argument(INTEGER, partial(checked_tick, path="/tick"))


def word(words: type[StrEnum]) -> Argument:
    """An argument that is one of these words."""
    return Argument(enum(words), words)


@dataclass(frozen=True, slots=True)
class Answer(Generic[Done]):
    """The schema of a reply, and how what a use case has returned becomes one."""

    schema: Schema
    present: Callable[[Done], Reply]


ID: Final[Answer[str]] = Answer(obj({"id": TEXT}), lambda made: {"id": made})
DONE: Final[Answer[None]] = Answer(obj({"done": {"const": True}}), lambda _: {"done": True})


def builders_tool(
    name: str,
    description: str,
    request: Request[Read],
    change: Change[Read, Done],
    answer: Answer[Done],
) -> Tool:
    """A tool that changes a world; one that removes something says so to clients."""

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        read = request.read(arguments)
        return answer.present(await change(canon, caller, await bound_world(canon, caller), read))

    return Tool(
        name=name,
        title=title_of(name),
        description=description,
        input_schema=request.schema,
        output_schema=answer.schema,
        roles=BUILDER,
        run=run,
        read_only=False,
        destructive=name.startswith("remove"),
        extension=True,
    )

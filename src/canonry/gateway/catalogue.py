"""The offers of a gateway by name: as contracts publish them, and as a person browses them."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Final, Generic, TypeVar
from urllib.parse import unquote

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import Limits, meant, pointer, shown
from canonry.gateway.replies import Result, as_text, replied
from canonry.gateway.tool import (
    Arguments,
    Cached,
    CallTool,
    Prompt,
    Reply,
    Resource,
    Run,
    Schema,
    Shelf,
    Shelved,
    Tool,
    Toolset,
)
from canonry.gateway.validation import compiled_when_called
from canonry.language.texts.visible import STORED_IS_DATA, as_word
from canonry.values.errors import BrokenInvariant, InvalidInput, NotFound
from canonry.values.json_values import folded
from canonry.values.policy import NAME_MAX


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A JSON file in the package of a toolset; its `tools` are a list of objects with a `name`."""

    package: str
    file: str

    def published(self) -> Mapping[str, Any]:
        """The contract as it is."""
        return _read(self.package, self.file)

    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Name -> what the contract says of the tool."""
        return _entries(self)


def keep_to_contract(tool: Tool) -> Tool:
    """The tool with the members, defaults and types of its contract, which mends no value."""
    own = tool.published
    if own is None:
        return replace(tool, exact=True)

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return await tool.run(canon, caller, {**own.given, **arguments})

    return replace(tool, input_schema=own.schema, accepted_schema=own.accepted, run=run, exact=True)


@cache
def _read(package: str, file: str) -> Mapping[str, Any]:
    contract: Mapping[str, Any] = json.loads(files(package).joinpath(file).read_bytes())
    return contract


@cache
def _entries(contract: ContractFile) -> Mapping[str, Mapping[str, Any]]:
    return {tool["name"]: tool for tool in contract.published()["tools"]}


# A few words on each property, put into schemas as they are listed.
#
# A toolset says it once for each name; a schema that has words of its own keeps them.

Words = Mapping[str, str]


def described(schema: Schema, words: Words) -> Schema:
    """The schema with a description for each property that `words` knows and that has none."""
    if not words:
        return schema
    told = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        told["properties"] = {
            name: _with_words(each, words.get(name), words) for name, each in properties.items()
        }
    if isinstance(parts := schema.get("$defs"), Mapping):
        told["$defs"] = {name: described(each, words) for name, each in parts.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), Mapping):
            told[key] = described(inner, words)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            told[key] = [described(each, words) for each in schema[key]]
    return told


def _with_words(schema: Schema, word: str | None, words: Words) -> Schema:
    inner = described(schema, words)
    if word is None or "description" in inner:
        return inner
    return {"description": word, **inner}


# Outlines: tools as they are listed, with their arguments in full and their replies in outline.
#
# A client reads all schemas before its first call, and what a reply is like it sees in the reply.
# A value that satisfies the exact schema of a reply satisfies its outline.

_MANY, _MUCH = 100, 10**9
_CLOSED: Final = ("additionalProperties", False)


def outlined(tool: Tool) -> Tool:
    """The tool as it is listed; what arguments it takes is told in full, as it is published."""
    taken = (
        {key: value for key, value in tool.input_schema.items() if (key, value) != _CLOSED}
        if tool.extension
        else tool.input_schema
    )
    return replace(tool, input_schema=taken, output_schema=outline(tool.output_schema))


def eased(tool: Tool) -> Tool:
    """The tool outlined, and where no contract publishes it, without bounds of little use.

    Only a mistake meets them; they hold all the same, and an error tells them.
    """
    if not tool.extension:
        return outlined(tool)
    held = tool.input_schema if tool.accepted_schema is None else tool.accepted_schema
    return replace(outlined(tool), input_schema=_eased(tool.input_schema), accepted_schema=held)


def outline(schema: Schema) -> Schema:
    """The properties of a reply by name, all of them.

    Clients that make types of a schema drop what it does not list, so it lists all or none.
    """
    if "properties" not in schema:  # one of several shapes, which nobody lists
        return schema
    return {"type": "object", "properties": {name: {} for name in schema["properties"]}}


def brief(schema: Schema) -> Schema:
    """The types of a value and no more."""
    if "anyOf" in schema:
        return {"type": [name for each in schema["anyOf"] for name in _names(each)]}
    return {"type": schema["type"]} if "type" in schema else {}


def _names(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else list(kind or ())


_BOUNDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "minLength": lambda least: least == 1,
    "maxLength": lambda most: most <= NAME_MAX,
    "pattern": lambda told: told == r"\S",
    "maxItems": lambda most: most >= _MANY,
    "maximum": lambda most: most >= _MUCH,
    "additionalProperties": lambda others: others is False,
}


def _eased(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_eased(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {
        key: each for key, each in schema.items() if not (key in _BOUNDS and _BOUNDS[key](each))
    }
    named = {
        key: {name: _eased(each) for name, each in kept[key].items()}
        for key in ("properties", "$defs")
        if key in kept
    }
    return {**{key: _eased(each) for key, each in kept.items()}, **named}


_NOT_IN_PATHS: Final = frozenset("?#")

Key = TypeVar("Key")
Named = TypeVar("Named")
Thing = TypeVar("Thing", bound=Tool | Resource | Prompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Generic[Thing]):
    """What can be asked for, whatever it is: who may, what checks the arguments, what answers.

    `run` is that of a tool, reads a resource, or renders a prompt; `compose` takes its place where
    it is there. `result_of` makes a result of the reply. `limits` are those that hold in the end.
    """

    kind: str
    toolset: Toolset
    thing: Thing
    limits: Limits
    check: Callable[[dict[str, Any]], dict[str, Any]]
    run: Run
    result_of: Callable[[Reply], Result]
    compose: Callable[[CallTool, Mapping[str, Any]], Awaitable[Reply]] | None = None
    cached: Cached | None = None
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything that is offered, ready to be found."""

    toolsets: tuple[Toolset, ...]
    tools: Mapping[str, Offer[Tool]]
    resources: Mapping[tuple[str, ...], Offer[Resource]]
    prompts: Mapping[str, Offer[Prompt]]
    aliases: Mapping[str, str]

    @property
    def offers(self) -> "Iterable[Offer[Any]]":
        """Everything, whatever it is."""
        return (*self.tools.values(), *self.resources.values(), *self.prompts.values())

    def find_tool(self, name: str) -> Offer[Tool] | None:
        """The tool that bears `name`, or is called by it as well."""
        return self.tools.get(name) or self.tools.get(self.aliases.get(name, ""))

    def find_resource(self, uri: str) -> tuple[Offer[Resource], dict[str, str]] | None:
        """The resource behind `uri`, with the values of its variables."""
        steps = uri.split("/")
        for template, offer in self.resources.items():
            if (values := _values(template, steps)) is not None:
                return offer, values
        return None

    def only(self, toolset: str) -> "Catalogue":
        """As much of it as belongs to one toolset."""
        return Catalogue(
            toolsets=tuple(each for each in self.toolsets if each.name == toolset),
            tools={n: offer for n, offer in self.tools.items() if offer.toolset.name == toolset},
            resources={
                p: each for p, each in self.resources.items() if each.toolset.name == toolset
            },
            prompts={n: each for n, each in self.prompts.items() if each.toolset.name == toolset},
            aliases=self.aliases,
        )


def narrowed(
    toolsets: Iterable[Toolset],
    *,
    contract_only: bool = False,
    read_only: bool = False,
    only: Sequence[str] | None = None,
) -> tuple[Toolset, ...]:
    """The toolsets as far as they are to be served.

    `contract_only` leaves the extensions out, gives each toolset the title of its contract, and
    each tool its arguments. `read_only` leaves out what writes, and `only` all but these names, in
    which `*` stands for any letters.

    Raises:
        InvalidInput: `tool.unknown`, a name of `only` fits nothing.
    """
    whole = tuple(toolsets)
    names = [tool.name for toolset in whole for tool in toolset.tools]
    for pattern in only or ():
        if not any(fnmatchcase(name, pattern) for name in names):
            message = f"no tool here is called {shown(pattern)}{meant(pattern, names)}"
            raise InvalidInput("tool.unknown", message, path="tools")
    return tuple(
        replace(
            each.published() if contract_only else each,
            tools=tuple(
                keep_to_contract(tool) if contract_only else tool
                for tool in each.tools
                if not (contract_only and tool.extension)
                and (tool.read_only or not read_only)
                and (only is None or any(fnmatchcase(tool.name, pattern) for pattern in only))
            ),
        )
        for each in whole
    )


def catalogue(toolsets: Iterable[Toolset], limits: Limits) -> Catalogue:
    """What `toolsets` offer, each with the check of its schema.

    `limits` are the operator's, which hold where a tool has none of its own.

    Raises:
        BrokenInvariant: `toolset.ambiguous`, if two things bear the same name.
    """
    served = tuple(toolsets)
    return Catalogue(
        toolsets=served,
        tools=_by_name(
            (tool.name, _offered_tool(toolset, tool, limits))
            for toolset in served
            for tool in toolset.tools
        ),
        resources={
            tuple(resource.uri_template.split("/")): Offer(
                kind="resource",
                toolset=toolset,
                thing=resource,
                limits=limits,
                # The URI has matched; the resource knows its things.
                check=lambda variables: variables,
                run=resource.read,
                result_of=as_text,
            )
            for toolset in served
            for resource in toolset.resources
        },
        prompts=_by_name(
            (prompt.name, _offered_prompt(toolset, prompt, limits))
            for toolset in served
            for prompt in toolset.prompts
        ),
        aliases=_by_name(
            (alias, tool.name)
            for toolset in served
            for tool in toolset.tools
            for alias in tool.aliases
        ),
    )


def _offered_tool(toolset: Toolset, tool: Tool, limits: Limits) -> Offer[Tool]:
    schema = tool.input_schema if tool.accepted_schema is None else tool.accepted_schema
    return Offer(
        kind="call",
        toolset=toolset,
        thing=tool,
        limits=limits if tool.limits is None else tool.limits.under(limits),
        check=compiled_when_called(schema, exact=tool.exact),
        run=tool.run,
        result_of=replied,
        compose=tool.compose,
        cached=tool.cached,
        read_only=tool.read_only,
    )


def _offered_prompt(toolset: Toolset, prompt: Prompt, limits: Limits) -> Offer[Prompt]:
    known = {argument.name for argument in prompt.arguments}

    def check(given: dict[str, Any]) -> dict[str, Any]:
        for argument in prompt.arguments:
            if argument.required and argument.name not in given:
                path = pointer(argument.name)
                raise InvalidInput("input.missing", f"the prompt needs {argument.name}", path=path)
        for name in given:
            if name not in known:
                advice = ", ".join(sorted(known)) or "none"
                message = f"the prompt has no such argument; known are: {advice}"
                raise InvalidInput("input.unknown-property", message, path=pointer(name))
        return given

    async def render(canon: Canon, caller: Caller, given: Mapping[str, Any]) -> Reply:
        del canon, caller  # whoever asks, the text is the same
        words = prompt.render({name: as_word(value) for name, value in given.items()})
        return f"{words}\n\n{STORED_IS_DATA}"

    return Offer(
        kind="prompt",
        toolset=toolset,
        thing=prompt,
        limits=limits,
        check=check,
        run=render,
        result_of=as_text,
    )


def _by_name(pairs: Iterable[tuple[str, Named]]) -> dict[str, Named]:
    found: dict[str, Named] = {}
    for name, thing in pairs:
        if name in found:
            message = f"two toolsets offer '{shown(name)}'; serve them under different paths"
            raise BrokenInvariant("toolset.ambiguous", message)
        found[name] = thing
    return found


def _values(template: Sequence[str], steps: Sequence[str]) -> dict[str, str] | None:
    """What the steps of a URI say for the variables of a template, if they fit it."""
    if len(steps) != len(template):
        return None
    values = {}
    for own, step in zip(template, steps, strict=True):
        if own.startswith("{"):
            if not step or _NOT_IN_PATHS & set(step):
                return None
            values[own[1:-1]] = unquote(step)
        elif own != step:
            return None
    return values


# What a person can look through: the resources behind templates, page by page, and completions.
#
# Both walk the shelves of toolsets by the path of every call, so that nobody is shown what they may
# not read.

PAGE: Final = 50
LOOKED_THROUGH: Final = 500
"""So many, the first, are looked through for a word."""
COMPLETIONS: Final = 100
"""The most values that the protocol lets one answer hold."""
_CURSOR: Final = re.compile(r"(\d{1,4})\.(\d{1,9})")

Serve = Callable[[Offer[Any], Arguments], Awaitable[Result]]
"""The path of a call, for one caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsed:
    """One page: resources with their title, and where the next page begins, if there is one."""

    entries: Sequence[tuple[Resource, str, str]]
    following: str | None


async def browse(
    resources: Iterable[Offer[Resource]], serve: Serve, cursor: str | None
) -> Browsed | Result:
    """A page of what stands behind `resources`: `(resource, uri, title)`; or why there is none.

    Raises:
        InvalidInput: `input.invalid`, the cursor is none of ours.
    """
    offers: list[tuple[Offer[Resource], Shelf]] = []
    for offer in resources:
        variables = offer.thing.variables
        if len(variables) == 1 and (shelf := offer.toolset.shelves.get(variables[0])):
            offers.append((offer, shelf))
    at, offset = _place(cursor, len(offers))
    entries: list[tuple[Resource, str, str]] = []
    while at < len(offers):
        offer, shelf = offers[at]
        room = PAGE - len(entries)
        if room == 0:
            break
        result = await serve(_looking(offer, shelf), {"word": "", "offset": offset, "limit": room})
        if result.error is not None:
            return result
        found, total = result.body
        entries += [(offer.thing, offer.thing.address(value), title) for value, title in found]
        offset += len(found)
        if not found or offset >= total:
            at, offset = at + 1, 0
    return Browsed(entries=entries, following=f"{at}.{offset}" if at < len(offers) else None)


async def complete(
    offer: Offer[Any], serve: Serve, variable: str, word: str
) -> tuple[Sequence[str], int] | Result:
    """The values that begin with `word`, or whose name does, and how many there are.

    `offer` is a prompt or a resource; what nobody knows has no values.
    """
    shelf = offer.toolset.shelves.get(variable)
    if shelf is None:
        return (), 0
    asked = {"word": word, "offset": 0, "limit": COMPLETIONS}
    result = await serve(_looking(offer, shelf), asked)
    if result.error is not None:
        return result
    found, total = result.body
    return [value for value, _ in found], total


def beginning(named: Iterable[tuple[str, str]], word: str, offset: int, limit: int) -> Shelved:
    """A page of those whose value or name begins with `word`, for shelves that see all at once."""
    wanted = folded(word)
    fit = [pair for pair in named if any(folded(each).startswith(wanted) for each in pair)]
    return fit[offset : offset + limit], len(fit)


async def through(
    page: Callable[[int, int], Awaitable[Shelved]], word: str, offset: int, limit: int
) -> Shelved:
    """A page of what `page(limit, offset)` gives; for a word the first of it are looked through."""
    if not word:
        return await page(limit, offset)
    return beginning((await page(LOOKED_THROUGH, 0))[0], word, offset, limit)


def _looking(offer: Offer[Any], shelf: Shelf) -> Offer[Any]:
    """The offer of looking at a shelf, open to those who may use what it is about."""

    async def look(canon: Canon, caller: Caller, asked: Arguments) -> Reply:
        try:
            return await shelf.find(canon, caller, asked["word"], asked["offset"], asked["limit"])
        except (InvalidInput, NotFound):  # there is no such world, and so no places in it
            return (), 0

    return looking(offer, look)


def looking(offer: Offer[Any], run: Run) -> Offer[Any]:
    """The offer of another look at what is offered, for the same callers: any value is its body."""
    return replace(
        offer,
        check=lambda given: given,
        run=run,
        result_of=lambda reply: Result(body=reply, text=""),
        compose=None,
        cached=None,
    )


def _place(cursor: str | None, shelves: int) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    found = _CURSOR.fullmatch(cursor)
    if found is None or int(found[1]) >= shelves:
        message = "this cursor is not one of this server; ask without one for the first page"
        raise InvalidInput("input.invalid", message, path="/cursor")
    return int(found[1]), int(found[2])

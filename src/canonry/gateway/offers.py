"""The offers of a gateway by name, as contracts publish them and as a person browses them."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Final, Generic, TypeVar
from urllib.parse import unquote

from canonry.canon.queries.names import AS_KNOWN_AT, AT, TIMES
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import Limits, json_pointer, shown_text, suggest_name
from canonry.gateway.replies import Result, as_text, success_result
from canonry.gateway.tool import (
    Arguments,
    Cached,
    CallTool,
    Completion,
    FindCompletions,
    Prompt,
    Reply,
    Resource,
    Run,
    Schema,
    Tool,
    Toolset,
)
from canonry.gateway.validation import lazy_check
from canonry.language.texts.visible import STORED_IS_DATA, mark_long_text
from canonry.values.errors import BrokenInvariant, InvalidInput, NotFound, NotSupported
from canonry.values.policy import NAME_MAX


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A JSON file in the package of a toolset; its `tools` are a list of objects with a `name`."""

    package: str
    file: str

    def read_contract(self) -> Mapping[str, Any]:
        """Return the contract unchanged."""
        return _read_contract(self.package, self.file)

    def tool_entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Name -> the contract's entry of the tool."""
        return _entries_by_name(self)


def restrict_to_contract(tool: Tool) -> Tool:
    """Return the tool with exactly the members, defaults and types of its contract."""
    own = tool.published
    if own is None:
        return replace(tool, exact=True, times=())

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return await tool.run(canon, caller, {**own.given, **arguments})

    bare = replace(tool, run=run, exact=True, times=())
    return replace(bare, input_schema=own.schema, accepted_schema=own.accepted)


@cache  # a start reads each contract often: bench compare, start
def _read_contract(package: str, file: str) -> Mapping[str, Any]:
    contract: Mapping[str, Any] = json.loads(files(package).joinpath(file).read_bytes())
    return contract


@cache  # a start asks for each tool: bench compare, start
def _entries_by_name(contract: ContractFile) -> Mapping[str, Mapping[str, Any]]:
    return {tool["name"]: tool for tool in contract.read_contract()["tools"]}


# Descriptions of properties, put into schemas when they are listed.
#
# A toolset describes each name once; a schema with its own description keeps it.

Descriptions = Mapping[str, str]


def add_descriptions(schema: Schema, texts: Descriptions) -> Schema:
    """Return the schema with descriptions from `texts` where a property has none."""
    if not texts:
        return schema
    result = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        result["properties"] = {
            name: _add_text(each, texts.get(name), texts) for name, each in properties.items()
        }
    if isinstance(parts := schema.get("$defs"), Mapping):
        result["$defs"] = {name: add_descriptions(each, texts) for name, each in parts.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), Mapping):
            result[key] = add_descriptions(inner, texts)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            result[key] = [add_descriptions(each, texts) for each in schema[key]]
    return result


def _add_text(schema: Schema, description: str | None, texts: Descriptions) -> Schema:
    inner = add_descriptions(schema, texts)
    if description is None or "description" in inner:
        return inner
    return {"description": description, **inner}


# Outlines: tools as they are listed, with full arguments and the outline of their replies.
#
# A client reads all schemas before its first call, and a reply shows its own shape. A value that
# satisfies the exact schema of a reply satisfies the outline.

_MANY, _MUCH = 100, 10**9
_CLOSED: Final = ("additionalProperties", False)


def outline_tool(tool: Tool) -> Tool:
    """Return the tool as it is listed: its published arguments in full, its reply in outline."""
    taken = (
        {key: value for key, value in tool.input_schema.items() if (key, value) != _CLOSED}
        if tool.extension
        else tool.input_schema
    )
    return replace(tool, input_schema=taken, output_schema=outline_schema(tool.output_schema))


def ease_tool(tool: Tool) -> Tool:
    """Return the tool outlined; an extension is listed without bounds of little use.

    Only a mistake exceeds those bounds. They still apply, and an error names them.
    """
    if not tool.extension:
        return outline_tool(tool)
    held = tool.input_schema if tool.accepted_schema is None else tool.accepted_schema
    return replace(
        outline_tool(tool), input_schema=_ease_schema(tool.input_schema), accepted_schema=held
    )


def outline_schema(schema: Schema) -> Schema:
    """Return all properties of a reply by name.

    Clients that derive types from a schema drop unlisted properties: it lists all or none.
    """
    if "properties" not in schema:  # one of several shapes, which the outline leaves out
        return schema
    return {"type": "object", "properties": {name: {} for name in schema["properties"]}}


def brief_schema(schema: Schema) -> Schema:
    """Return the types of a value alone."""
    if "anyOf" in schema:
        return {"type": [name for each in schema["anyOf"] for name in _type_names(each)]}
    return {"type": schema["type"]} if "type" in schema else {}


def _type_names(schema: Mapping[str, Any]) -> list[str]:
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


def _ease_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_ease_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {
        key: each for key, each in schema.items() if not (key in _BOUNDS and _BOUNDS[key](each))
    }
    named = {
        key: {name: _ease_schema(each) for name, each in kept[key].items()}
        for key in ("properties", "$defs")
        if key in kept
    }
    return {**{key: _ease_schema(each) for key, each in kept.items()}, **named}


Check = Callable[[dict[str, Any]], dict[str, Any]]
Key = TypeVar("Key")
Named = TypeVar("Named")
OfferedItem = TypeVar("OfferedItem", bound=Tool | Resource | Prompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Generic[OfferedItem]):
    """A tool, a resource or a prompt with its roles, the check of its arguments, and its function.

    `run` calls the tool, reads the resource, or renders the prompt; `compose` replaces it in a
    composed tool. `result_of` makes a result of the reply. `limits` are the effective ones.
    """

    kind: str
    toolset: Toolset
    item: OfferedItem
    limits: Limits
    check: Check
    run: Run
    result_of: Callable[[Reply], Result]
    compose: Callable[[CallTool, Mapping[str, Any]], Awaitable[Reply]] | None = None
    cached: Cached | None = None
    read_only: bool = True
    times: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All offers of a gateway by name."""

    toolsets: tuple[Toolset, ...]
    tools: Mapping[str, Offer[Tool]]
    resources: Mapping[tuple[str, ...], Offer[Resource]]
    prompts: Mapping[str, Offer[Prompt]]
    aliases: Mapping[str, str]

    @property
    def all_offers(self) -> "Iterable[Offer[Any]]":
        """Return all offers."""
        return (*self.tools.values(), *self.resources.values(), *self.prompts.values())

    def find_tool(self, name: str) -> Offer[Tool] | None:
        """Return the tool with the name or alias `name`, or None."""
        return self.tools.get(name) or self.tools.get(self.aliases.get(name, ""))

    def find_resource(self, uri: str) -> tuple[Offer[Resource], dict[str, str]] | None:
        """Return the resource of `uri`, with the values of its variables."""
        steps = uri.split("/")
        for template, offer in self.resources.items():
            if (values := _template_values(template, steps)) is not None:
                return offer, values
        return None

    def only_toolset(self, toolset: str) -> "Catalogue":
        """Return the offers of one toolset."""
        return Catalogue(
            toolsets=tuple(each for each in self.toolsets if each.name == toolset),
            tools={n: offer for n, offer in self.tools.items() if offer.toolset.name == toolset},
            resources={
                p: each for p, each in self.resources.items() if each.toolset.name == toolset
            },
            prompts={n: each for n, each in self.prompts.items() if each.toolset.name == toolset},
            aliases=self.aliases,
        )


def select_toolsets(
    toolsets: Iterable[Toolset],
    *,
    contract_only: bool = False,
    read_only: bool = False,
    only: Sequence[str] | None = None,
) -> tuple[Toolset, ...]:
    """Return the served part of the toolsets.

    `contract_only` leaves out the extensions, and gives each toolset and tool the title and the
    arguments of its contract. `read_only` leaves out tools that write. `only` leaves out all but
    these names, in which `*` stands for any letters.

    Raises:
        InvalidInput: `tool.unknown`, if a name of `only` matches no tool.
    """
    whole = tuple(toolsets)
    names = [tool.name for toolset in whole for tool in toolset.tools]
    for pattern in only or ():
        if not any(fnmatchcase(name, pattern) for name in names):
            message = f"No tool is called {shown_text(pattern)}{suggest_name(pattern, names)}"
            raise InvalidInput("tool.unknown", message, path="tools")
    return tuple(
        replace(
            each.as_published() if contract_only else each,
            tools=tuple(
                restrict_to_contract(tool) if contract_only else tool
                for tool in each.tools
                if not (contract_only and tool.extension)
                and (tool.read_only or not read_only)
                and (only is None or any(fnmatchcase(tool.name, pattern) for pattern in only))
            ),
        )
        for each in whole
    )


def build_catalogue(toolsets: Iterable[Toolset], limits: Limits) -> Catalogue:
    """Return the offers of `toolsets`, each with the check of its schema.

    `limits` are the operator's, for tools without their own.

    Raises:
        BrokenInvariant: `toolset.ambiguous`, if two items have the same name.
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
                item=resource,
                limits=limits,
                # The URI has matched; the resource checks the values itself.
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
    if tool.times:  # they are not listed, so that a contract stays as it is published
        times = {name: _TIMES[name] for name in tool.times}
        schema = {**schema, "properties": {**times, **schema["properties"]}}
    example = tool.description.partition(EXAMPLE)[2].rstrip(".")
    choices: dict[str, Any] = {"mend": tool.mend, "example": f"{tool.name} {example}"}
    check = lazy_check(schema, exact=tool.exact, **(choices if example else {}))
    return Offer(
        kind="call",
        toolset=toolset,
        item=tool,
        limits=limits if tool.limits is None else tool.limits.capped_by(limits),
        check=_time_refuser(check, tool, toolset),
        run=tool.run,
        result_of=success_result,
        compose=tool.compose,
        cached=tool.cached,
        read_only=tool.read_only,
        times=frozenset(tool.times),
    )


EXAMPLE: Final = "Example: "
"""The word before the example of a call, with which a description may end."""
_TIMES: Final[Mapping[str, Schema]] = {
    AT: {"type": "string", "maxLength": NAME_MAX},
    AS_KNOWN_AT: {"type": ["string", "integer"], "minimum": 0, "maximum": 2**53},
}


def _time_arguments(tool: Tool) -> frozenset[str]:
    return frozenset((*tool.times, *tool.input_schema.get("properties", ())))


def _time_refuser(check: Check, tool: Tool, toolset: Toolset) -> Check:
    """Return the check of a reading tool that names the tools which take a time if it does not."""
    lacking = frozenset(TIMES) - _time_arguments(tool)
    if not tool.read_only or tool.exact or not lacking:
        return check

    def check_times(given: dict[str, Any]) -> dict[str, Any]:
        for name in lacking & given.keys():
            able = [each.name for each in toolset.tools if name in _time_arguments(each)]
            message, path = f"{tool.name} does not take /{name}.", json_pointer(name)
            if not able:
                raise InvalidInput("input.unknown-property", f"{message} Omit it.", path=path)
            message = f"{message} These tools take it: {', '.join(able)}."
            raise NotSupported("viewpoint.unsupported", message, path=path)
        return check(given)

    return check_times


def _offered_prompt(toolset: Toolset, prompt: Prompt, limits: Limits) -> Offer[Prompt]:
    known = {argument.name for argument in prompt.arguments}

    def check_prompt(given: dict[str, Any]) -> dict[str, Any]:
        for argument in prompt.arguments:
            if argument.required and argument.name not in given:
                path = json_pointer(argument.name)
                raise InvalidInput(
                    "input.missing", f"The prompt needs the argument {argument.name}.", path=path
                )
        for name in given:
            if name not in known:
                advice = ", ".join(sorted(known)) or "none"
                message = f"The prompt has no such argument. Its arguments are: {advice}."
                raise InvalidInput("input.unknown-property", message, path=json_pointer(name))
        return given

    async def render(canon: Canon, caller: Caller, given: Mapping[str, Any]) -> Reply:
        del canon, caller  # the text is the same for every caller
        text = prompt.render({name: mark_long_text(value) for name, value in given.items()})
        return f"{text}\n\n{STORED_IS_DATA}"

    return Offer(
        kind="prompt",
        toolset=toolset,
        item=prompt,
        limits=limits,
        check=check_prompt,
        run=render,
        result_of=as_text,
    )


def _by_name(pairs: Iterable[tuple[str, Named]]) -> dict[str, Named]:
    found: dict[str, Named] = {}
    for name, item in pairs:
        if name in found:
            message = f"Two toolsets offer '{shown_text(name)}'. Serve them under different paths."
            raise BrokenInvariant("toolset.ambiguous", message)
        found[name] = item
    return found


def _template_values(template: Sequence[str], steps: Sequence[str]) -> dict[str, str] | None:
    """Return the values of a template's variables in the steps of a URI; None without a match."""
    if len(steps) != len(template):
        return None
    values = {}
    for own, step in zip(template, steps, strict=True):
        if own.startswith("{"):
            if not step or {"?", "#"} & set(step):
                return None
            values[own[1:-1]] = unquote(step)
        elif own != step:
            return None
    return values


# Lists for people: the resources behind templates, page by page, and completions.
#
# Both ask the completions of toolsets on the path of every call, which checks the rights.

PAGE: Final = 50  # a reply that clients hold in the context of a model
COMPLETIONS: Final = 100
"""The most values that the protocol allows in one answer."""
_CURSOR: Final = re.compile(r"(\d{1,4})\.(\d{1,9})")

Serve = Callable[[Offer[Any], Arguments], Awaitable[Result]]
"""Runs an offer on the path of a call, for one caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsed:
    """One page: resources with their titles, and the cursor of the next page, if any."""

    entries: Sequence[tuple[Resource, str, str]]
    following: str | None


async def browse_page(
    resources: Iterable[Offer[Resource]], serve: Serve, cursor: str | None
) -> Browsed | Result:
    """Return a page of the items of `resources` as `(resource, uri, title)`, or the error.

    Raises:
        InvalidInput: `input.invalid`, if the cursor is not from this server.
    """
    offers: list[tuple[Offer[Resource], FindCompletions]] = []
    for offer in resources:
        variables = offer.item.variables
        if len(variables) == 1 and (find := offer.toolset.completions.get(variables[0])):
            offers.append((offer, find))
    at, offset = _page_position(cursor, len(offers))
    entries: list[tuple[Resource, str, str]] = []
    while at < len(offers):
        offer, find = offers[at]
        room = PAGE - len(entries)
        if room == 0:
            break
        result = await serve(
            _completion_offer(offer, find), {"word": "", "offset": offset, "limit": room}
        )
        if result.error is not None:
            return result
        found, total = result.body
        entries += [(offer.item, offer.item.uri_for(value), title) for value, title in found]
        offset += len(found)
        if not found or offset >= total:
            at, offset = at + 1, 0
    return Browsed(entries=entries, following=f"{at}.{offset}" if at < len(offers) else None)


async def complete_value(
    offer: Offer[Any], serve: Serve, variable: str, beginning: str
) -> tuple[Sequence[str], int] | Result:
    """Return the values that start with `beginning`, or whose name does, and their number.

    `offer` is a prompt or a resource; an unknown variable has no values.
    """
    find = offer.toolset.completions.get(variable)
    if find is None:
        return (), 0
    asked = {"word": beginning, "offset": 0, "limit": COMPLETIONS}
    result = await serve(_completion_offer(offer, find), asked)
    if result.error is not None:
        return result
    found, total = result.body
    return [value for value, _ in found], total


def _completion_offer(offer: Offer[Any], find: FindCompletions) -> Offer[Any]:
    """Return the offer of completions, with the roles of the offer that they complete."""

    async def find_values(canon: Canon, caller: Caller, asked: Arguments) -> Reply:
        try:
            return await find(canon, caller, Completion(**asked))
        except (InvalidInput, NotFound):  # there is no such world, and it has no locations
            return (), 0

    return offer_with_run(offer, find_values)


def offer_with_run(offer: Offer[Any], run: Run) -> Offer[Any]:
    """Return an offer with the roles of `offer` and another function; its body may be any value."""
    return replace(
        offer,
        check=lambda given: given,
        run=run,
        result_of=lambda reply: Result(body=reply, text=""),
        compose=None,
        cached=None,
    )


def _page_position(cursor: str | None, count: int) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    found = _CURSOR.fullmatch(cursor)
    if found is None or int(found[1]) >= count:
        message = "This cursor is not from this server. Leave it out to get the first page."
        raise InvalidInput("input.invalid", message, path="/cursor")
    return int(found[1]), int(found[2])

"""What a gateway offers, by name: tools with compiled schemas, resources by URI, prompts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final, Generic, TypeVar
from urllib.parse import unquote

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.contract import keep_to_contract
from canonry.gateway.limits import Limits, meant, pointer, shown
from canonry.gateway.replies import Result, as_text, replied
from canonry.gateway.tool import Cached, CallTool, Prompt, Reply, Resource, Run, Tool, Toolset
from canonry.gateway.validation import compiled_when_called
from canonry.language.texts.visible import STORED_IS_DATA, as_word
from canonry.values.errors import BrokenInvariant, InvalidInput

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
    _require_known(whole, only)
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
            tuple(resource.uri_template.split("/")): _offered_resource(toolset, resource, limits)
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


def _require_known(toolsets: Sequence[Toolset], only: Sequence[str] | None) -> None:
    names = [tool.name for toolset in toolsets for tool in toolset.tools]
    for pattern in only or ():
        if not any(fnmatchcase(name, pattern) for name in names):
            message = f"no tool here is called {shown(pattern)}{meant(pattern, names)}"
            raise InvalidInput("tool.unknown", message, path="tools")


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


def _offered_resource(toolset: Toolset, resource: Resource, limits: Limits) -> Offer[Resource]:
    return Offer(
        kind="resource",
        toolset=toolset,
        thing=resource,
        limits=limits,
        check=lambda variables: variables,  # the URI has matched; the resource knows its things
        run=resource.read,
        result_of=as_text,
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

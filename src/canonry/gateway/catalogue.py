"""What a gateway offers, by name: tools with compiled schemas, resources by URI, prompts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from canonry.domain.errors import BrokenInvariant, InvalidInput
from canonry.gateway.text import pointer, shown
from canonry.gateway.tool import Prompt, Resource, Tool, Toolset
from canonry.gateway.validation import compile_arguments

_NOT_IN_PATHS: Final = frozenset("?#")

Named = TypeVar("Named")


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool, where it belongs, and the function that checks its arguments."""

    toolset: Toolset
    tool: Tool
    check: Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ResourceOffer:
    """A resource, where it belongs, and the steps of its URIs."""

    toolset: Toolset
    resource: Resource
    steps: tuple[str, ...]

    def match(self, steps: Sequence[str]) -> dict[str, str] | None:
        """The values of the variables, if the steps of a URI fit; a step is never empty there."""
        if len(steps) != len(self.steps):
            return None
        values = {}
        for own, step in zip(self.steps, steps, strict=True):
            if own.startswith("{"):
                if not step or _NOT_IN_PATHS & set(step):
                    return None
                values[own[1:-1]] = unquote(step)
            elif own != step:
                return None
        return values


@dataclass(frozen=True, slots=True)
class PromptOffer:
    """A prompt and where it belongs."""

    toolset: Toolset
    prompt: Prompt

    def check(self, arguments: Mapping[str, str]) -> None:
        """Refuse arguments that the prompt does not have, and the lack of those that it needs.

        Raises:
            InvalidInput: `input.missing` or `input.unknown-property`, with the path.
        """
        known = {argument.name for argument in self.prompt.arguments}
        for argument in self.prompt.arguments:
            if argument.required and argument.name not in arguments:
                path = pointer(argument.name)
                raise InvalidInput("input.missing", f"the prompt needs {argument.name}", path=path)
        for name in arguments:
            if name not in known:
                advice = ", ".join(sorted(known)) or "none"
                message = f"the prompt has no such argument; known are: {advice}"
                raise InvalidInput("input.unknown-property", message, path=pointer(name))


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything that is offered, ready to be found."""

    toolsets: tuple[Toolset, ...]
    tools: Mapping[str, ToolOffer]
    resources: tuple[ResourceOffer, ...]
    prompts: Mapping[str, PromptOffer]
    aliases: Mapping[str, str]

    def find_tool(self, name: str) -> ToolOffer | None:
        """The tool that bears `name`, or is called by it as well."""
        return self.tools.get(name) or self.tools.get(self.aliases.get(name, ""))

    def find_resource(self, uri: str) -> tuple[ResourceOffer, dict[str, str]] | None:
        """The resource behind `uri`, with the values of its variables."""
        steps = uri.split("/")
        for offer in self.resources:
            if (values := offer.match(steps)) is not None:
                return offer, values
        return None

    def only(self, toolset: str) -> "Catalogue":
        """As much of it as belongs to one toolset."""
        return Catalogue(
            toolsets=tuple(each for each in self.toolsets if each.name == toolset),
            tools={n: offer for n, offer in self.tools.items() if offer.toolset.name == toolset},
            resources=tuple(each for each in self.resources if each.toolset.name == toolset),
            prompts={n: each for n, each in self.prompts.items() if each.toolset.name == toolset},
            aliases=self.aliases,
        )


def catalogue(
    toolsets: Iterable[Toolset], *, contract_only: bool = False, unknown_properties: bool = False
) -> Catalogue:
    """Compile every schema of `toolsets`; `contract_only` leaves the extensions out.

    Raises:
        BrokenInvariant: `toolset.ambiguous`, if two things bear the same name.
    """
    served = tuple(_contract(each) if contract_only else each for each in toolsets)
    return Catalogue(
        toolsets=served,
        tools=_by_name(
            (tool.name, _tool_offer(toolset, tool, unknown_properties))
            for toolset in served
            for tool in toolset.tools
        ),
        resources=tuple(
            ResourceOffer(toolset, resource, tuple(resource.uri_template.split("/")))
            for toolset in served
            for resource in toolset.resources
        ),
        prompts=_by_name(
            (prompt.name, PromptOffer(toolset, prompt))
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


def _contract(toolset: Toolset) -> Toolset:
    return replace(toolset, tools=tuple(tool for tool in toolset.tools if not tool.extension))


def _tool_offer(toolset: Toolset, tool: Tool, unknown_properties: bool) -> ToolOffer:  # noqa: FBT001
    schema = tool.input_schema if tool.accepted_schema is None else tool.accepted_schema
    check = compile_arguments(schema, unknown_properties=unknown_properties)
    return ToolOffer(toolset, tool, check)


def _by_name(pairs: Iterable[tuple[str, Named]]) -> dict[str, Named]:
    found: dict[str, Named] = {}
    for name, thing in pairs:
        if name in found:
            message = f"two toolsets offer '{shown(name)}'; serve them under different paths"
            raise BrokenInvariant("toolset.ambiguous", message)
        found[name] = thing
    return found

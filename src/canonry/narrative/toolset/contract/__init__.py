"""The published contract: names, input schemas and roles of the 21 tools, and times in words."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import deepcopy
from functools import wraps
from typing import Any, Final

from canonry.canon.judging.contents import CONTENT_SHAPES
from canonry.canon.queries.names import TIMES, item_of_arguments
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.spoken_times import read_with_calendar
from canonry.gateway import tool
from canonry.gateway.limits import json_pointer
from canonry.gateway.offers import ContractFile
from canonry.gateway.replies import Field, Shape
from canonry.gateway.tables import (
    CallArguments,
    compose_arguments,
    fill_parameters,
    named_code,
    read_arguments,
)
from canonry.narrative.toolset.arguments import TIME_WORDS
from canonry.narrative.toolset.shapes import TABLE, Created, Listing, shape_shown
from canonry.values.calendars.declaring import TIME_MAX
from canonry.values.fields import ReadTime, is_plain_time
from canonry.values.moments import render_instant

CONTRACT: Final = ContractFile(__name__, "monitor.json")
published = CONTRACT.read_contract
entries = CONTRACT.tool_entries

KEEPER: Final = frozenset({"CanonKeeper"})
"""The role that the contract's pattern gives every tool that writes canon directly."""


def agent_types() -> frozenset[str]:
    """Return every agent type of the contract."""
    return frozenset(published()["agent_types"])


def make_tool(
    name: str,
    operation: Callable[..., Awaitable[Any]] | None = None,
    shown: Field | None = None,
    *,
    cached: tool.Cached | None = None,
    ending: str = "",
) -> tool.Tool:
    """Make a tool from its entry in `tools.toml`.

    `operation(canon, caller, ...)`, by default the use case that the entry names, takes the
    arguments by the names of their parameters. A parameter that is a dataclass, or the `query` of
    the entry, is made of those that are its fields. A shape, by default the one that the entry
    names, or a listing shows the result; a plain field is the schema of what the operation returns
    as JSON. `ending` goes on with the description.
    """
    entry = TABLE.tools[name]
    readings = TABLE.list_readings(entry["takes"])
    operation = operation or named_code(entry["does"])
    gives = shown or shape_shown(entry["shows"])
    own = () if not isinstance(gives, Shape) else gives.given
    made = {"query": named_code(entry["query"])} if "query" in entry else {}
    compose = compose_arguments(operation, readings, ("canon", "caller"), **made)

    @wraps(getattr(operation, "func", operation))  # `canonry tools` shows where this is
    async def run_tool(canon: Canon, caller: Caller, arguments: tool.Arguments) -> tool.Reply:
        values = read_arguments(readings, CallArguments(arguments, canon.policy.limits))
        asked = fill_parameters(readings, values)
        if isinstance(gives, Listing):
            asked.pop("detail", None)
        result = await operation(canon, caller, **compose(asked))
        if isinstance(gives, Listing):
            return await gives(canon, caller, result, arguments)
        if isinstance(gives, Created):
            return gives(result)
        return gives(result, **{n: values[n] for n in own}) if isinstance(gives, Shape) else result

    takes, more = _SCHEMA_MAKERS[entry["is"]](name, entry)
    paths = tuple(_time_paths(takes))
    read_only = more.pop("read_only", entry["is"] == "reading")
    return tool.Tool(
        name=name,
        title=entry.get("title") or name.partition("_")[2].replace("_", " ").capitalize(),
        description=entry["description"] + ending,
        input_schema=takes,
        output_schema=gives.schema,
        run=_with_times(run_tool, paths) if paths else run_tool,
        accepted_schema=_accept_options(takes) if paths else None,
        read_only=read_only,
        idempotent=read_only or entry.get("idempotent", False),
        destructive=entry.get("destructive", False),
        times=tuple(entry.get("times", TIMES if read_only else ())),
        cached=cached,
        **more,
    )


def _contract_arguments(name: str, entry: Mapping[str, Any]) -> tuple[tool.Schema, dict[str, Any]]:
    """Return the contract's arguments, and those that we add.

    A client of the bare contract cannot ask for `detail` and gets complete rows.
    """
    published_entry = entries()[name]
    also = TABLE.make_schema(entry.get("also", {}))["properties"]
    accepted = _with_legacy_classes(published_entry["inputSchema"])
    more = {
        "roles": frozenset(published_entry["allowed_agent_types"]),
        "read_only": entry.get("read_only", False),
        "published": tool.PublishedArguments(
            schema=published_entry["inputSchema"],
            accepted=accepted,
            given={"detail": True} if "detail" in also else {},
        ),
    }
    return {**accepted, "properties": {**accepted["properties"], **also}}, more


def _own_arguments(_: str, entry: Mapping[str, Any]) -> tuple[tool.Schema, dict[str, Any]]:
    """Return the arguments of a tool outside of the contract."""
    roles = tool.ANYONE if entry["is"] == "reading" else KEEPER
    more = {"roles": frozenset(entry.get("roles", roles)), "extension": True}
    return TABLE.make_schema(entry["takes"]), more


_SCHEMA_MAKERS: Final = {
    "contract": _contract_arguments,
    "reading": _own_arguments,
    "writing": _own_arguments,
}


def _with_legacy_classes(schema: Any) -> Any:
    """Return the schema with the two older entity class names allowed as well."""
    legacy = {now: then for then, now in published()["legacy_names"].items()}
    if isinstance(schema, dict):
        widened = {key: _with_legacy_classes(value) for key, value in schema.items()}
        classes = widened.get("enum")
        if isinstance(classes, list) and legacy.keys() <= set(classes):
            widened["enum"] = [*classes, *(legacy[name] for name in classes)]
        return widened
    return schema


CONTENTS_HELP: Final = "\n".join(
    ("", "content by type:", *(f"- {shape.summary}" for shape in CONTENT_SHAPES.values()))
)
"""The end of the description of tools that take contents."""


async def _show_contents(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    del canon, caller, variables  # the same for everybody
    schemas = {shape.type.value: shape.object_schema for shape in CONTENT_SHAPES.values()}
    return json.dumps(schemas, ensure_ascii=False, indent=2)


CONTENTS: Final[tuple[tool.Resource, ...]] = (
    TABLE.make_resource("proposal-contents", _show_contents),
)


# Times in words. The published schemas stay as they are; a tool gets the date-time that the words
# mean.

_Path = tuple[str, ...]


def _with_times(run: tool.Run, paths: tuple[_Path, ...]) -> tool.Run:
    """Wrap the run of a tool whose times at these paths may be in words."""

    @wraps(run)
    async def run_with_times(canon: Canon, caller: Caller, arguments: tool.Arguments) -> tool.Reply:
        given = {path: _value_at(arguments, path) for path in paths}
        spoken_paths = [
            p for p, each in given.items() if isinstance(each, str) and not is_plain_time(each)
        ]
        item = await item_of_arguments(canon, caller, arguments) if spoken_paths else None
        if item is None:  # the tool reports the unknown id
            return await run(canon, caller, arguments)

        def resolve_times(times: ReadTime) -> tool.Arguments:
            resolved = deepcopy(dict(arguments))
            for path in spoken_paths:
                instant = times(_value_at(arguments, path), json_pointer(*path))
                _value_at(resolved, path[:-1])[path[-1]] = render_instant(instant)
            resolved[TIME_WORDS] = {path[-1]: given[path] for path in spoken_paths}
            return resolved

        return await run(
            canon, caller, await read_with_calendar(canon, caller, item, resolve_times)
        )

    return run_with_times


def _time_paths(schema: tool.Schema, path: _Path = ()) -> Iterator[_Path]:
    for name, each in schema.get("properties", {}).items():
        if each.get("format") == "date-time":
            yield (*path, name)
        elif "properties" in each:
            yield from _time_paths(each, (*path, name))


def _accept_options(schema: tool.Schema) -> tool.Schema:
    """Return the schema that accepts any short text as a time."""
    properties = {
        name: {**{key: value for key, value in each.items() if key != "format"}}
        | {"maxLength": TIME_MAX}
        if each.get("format") == "date-time"
        else _accept_options(each)
        if "properties" in each
        else each
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _value_at(arguments: Mapping[str, Any], path: _Path) -> Any:
    found: Any = arguments
    for name in path:
        found = (found or {}).get(name)
    return found

"""The published contract: names, input schemas and roles of the 21 tools, and times in words."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import wraps
from typing import Any, Final

from canonry.canon.judging.contents import CONTENT_SHAPES
from canonry.canon.queries.names import AS_KNOWN_AT, TIMES, place_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.spoken_times import in_words
from canonry.gateway.catalogue import ContractFile
from canonry.gateway.limits import pointer
from canonry.gateway.replies import UUID, Field, obj
from canonry.gateway.tool import (
    ANYONE,
    Arguments,
    PublishedArguments,
    Reply,
    Resource,
    Run,
    Schema,
    Tool,
)
from canonry.narrative.toolset.shapes import DETAIL, PAGING, TIME_WORDS, Listing, page_of, uuid_of
from canonry.values.calendars.declaring import TIME_MAX
from canonry.values.fields import ReadTime, is_plain_time
from canonry.values.moments import render_instant

CONTRACT: Final = ContractFile(__name__, "monitor.json")
published = CONTRACT.published
entries = CONTRACT.entries

PageQuery = Callable[..., Awaitable[Any]]
"""`query(canon, caller, within, limit=, offset=)` returns a page of the items of `within`."""

KEEPER: Final = frozenset({"CanonKeeper"})
"""The role that the contract's pattern gives every tool that writes canon directly."""


def agent_types() -> frozenset[str]:
    """Return every agent type of the contract."""
    return frozenset(published()["agent_types"])


def contract_tool(
    name: str,
    description: str,
    *,
    gives: Field,
    also: Mapping[str, Field] | None = None,
    **more: Any,
) -> Callable[[Run], Tool]:
    """Make a tool of the contract; its schema and roles come from the published file.

    `also` are optional arguments that the contract does not have. A client of the bare contract
    cannot ask for `detail` and gets complete rows. `more` are arguments of `Tool`; a reading tool
    takes both times of a viewpoint by default.
    """
    entry, also = entries()[name], also or {}
    accepted = _with_legacy_classes(entry["inputSchema"])
    added = {argument: each.schema for argument, each in also.items()}
    return _tool(
        name,
        description,
        takes={**accepted, "properties": {**accepted["properties"], **added}},
        gives=gives,
        roles=frozenset(entry["allowed_agent_types"]),
        published=PublishedArguments(
            schema=entry["inputSchema"],
            accepted=accepted,
            given={"detail": True} if "detail" in also else {},
        ),
        **{"times": TIMES if more.get("read_only") else (), **more},
    )


def reading_tool(
    name: str,
    description: str,
    *,
    takes: Schema,
    gives: Field,
    title: str = "",
    times: Sequence[str] = TIMES,
) -> Callable[[Run], Tool]:
    """Make a reading tool for every role, outside of the contract."""
    more: dict[str, Any] = {"title": title, "read_only": True, "extension": True, "times": times}
    return _tool(name, description, takes=takes, gives=gives, roles=ANYONE, **more)


def listing_tool(
    name: str, description: str, query: PageQuery, within: str, gives: Listing
) -> Tool:
    """Make a reading tool that lists the items of another one in pages."""
    takes = obj({within: UUID}, {**PAGING, **(DETAIL if gives.shortens else {})})

    @reading_tool(name, description, takes=takes, gives=gives.gives, times=(AS_KNOWN_AT,))
    async def listing(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        asked = uuid_of(arguments, within)
        page = await query(canon, caller, asked, **page_of(arguments))
        return await gives(canon, caller, page, arguments)

    return listing


def writing_tool(
    name: str,
    description: str,
    *,
    takes: Schema,
    gives: Field,
    roles: frozenset[str] = KEEPER,
    **more: Any,
) -> Callable[[Run], Tool]:
    """Make a writing tool outside of the contract, by default for the CanonKeeper."""
    return _tool(name, description, takes=takes, gives=gives, roles=roles, extension=True, **more)


def _tool(
    name: str,
    description: str,
    *,
    takes: Schema,
    gives: Field,
    title: str = "",
    read_only: bool = False,
    idempotent: bool = False,
    times: Sequence[str] = (),
    **more: Any,
) -> Callable[[Run], Tool]:
    """Return the decorator that makes a tool; without a title its name is used."""

    def made(run: Run) -> Tool:
        paths = tuple(_times(takes))
        return Tool(
            name=name,
            title=title or name.partition("_")[2].replace("_", " ").capitalize(),
            description=description,
            input_schema=takes,
            output_schema=gives.schema,
            run=_with_times(run, paths) if paths else run,
            accepted_schema=_accepting(takes) if paths else None,
            read_only=read_only,
            idempotent=read_only or idempotent,
            times=tuple(times),
            **more,
        )

    return made


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


CONTENTS_URI: Final = "canonry://proposals/contents"
CONTENTS_TOLD: Final = "\n".join(
    ("", "content by type:", *(f"- {shape.takes}" for shape in CONTENT_SHAPES.values()))
)
"""The end of the description of tools that take contents."""


async def _contents(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    del canon, caller, variables  # the same for everybody
    schemas = {shape.type.value: shape.schema for shape in CONTENT_SHAPES.values()}
    return json.dumps(schemas, ensure_ascii=False, indent=2)


CONTENTS: Final[tuple[Resource, ...]] = (
    Resource(
        uri_template=CONTENTS_URI,
        name="proposal-contents",
        title="Contents of proposals",
        description="JSON schemas of the content of each type of proposal.",
        mime_type="application/json",
        roles=ANYONE,
        read=_contents,
    ),
)


# Times in words. The published schemas stay as they are; a tool gets the date-time that the words
# mean.

_Path = tuple[str, ...]


def _with_times(run: Run, paths: tuple[_Path, ...]) -> Run:
    """Wrap the run of a tool whose times at these paths may be in words."""

    @wraps(run)
    async def run_with_times(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        told = {path: _at(arguments, path) for path in paths}
        said = [p for p, each in told.items() if isinstance(each, str) and not is_plain_time(each)]
        place = await place_of(canon, caller, arguments) if said else None
        if place is None:  # the tool reports the unknown id
            return await run(canon, caller, arguments)

        def read(times: ReadTime) -> Arguments:
            resolved = deepcopy(dict(arguments))
            for path in said:
                instant = times(_at(arguments, path), pointer(*path))
                _at(resolved, path[:-1])[path[-1]] = render_instant(instant)
            resolved[TIME_WORDS] = {path[-1]: told[path] for path in said}
            return resolved

        return await run(canon, caller, await in_words(canon, caller, place, read))

    return run_with_times


def _times(schema: Schema, path: _Path = ()) -> Iterator[_Path]:
    for name, each in schema.get("properties", {}).items():
        if each.get("format") == "date-time":
            yield (*path, name)
        elif "properties" in each:
            yield from _times(each, (*path, name))


def _accepting(schema: Schema) -> Schema:
    """Return the schema that accepts any short text as a time."""
    properties = {
        name: {**{key: value for key, value in each.items() if key != "format"}}
        | {"maxLength": TIME_MAX}
        if each.get("format") == "date-time"
        else _accepting(each)
        if "properties" in each
        else each
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _at(arguments: Mapping[str, Any], path: _Path) -> Any:
    found: Any = arguments
    for name in path:
        found = (found or {}).get(name)
    return found

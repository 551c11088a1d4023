"""The published contract: names, input schemas and roles of the 21 tools, as published."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.contract import ContractFile
from canonry.gateway.shapes import UUID, Field, obj
from canonry.gateway.tool import (
    ANYONE,
    Arguments,
    Cached,
    PublishedArguments,
    Reply,
    Run,
    Schema,
    Tool,
)
from canonry.narrative.toolset.arguments import DETAIL, PAGING, page_of, uuid_of
from canonry.narrative.toolset.contract.contents import spoken
from canonry.narrative.toolset.shapes import Listing

CONTRACT: Final = ContractFile(__name__, "monitor.json")
published = CONTRACT.published
entries = CONTRACT.entries

PageQuery = Callable[..., Awaitable[Any]]
"""`query(canon, caller, within, limit=, offset=)` gives a page of what lies within a thing."""

KEEPER: Final = frozenset({"CanonKeeper"})
"""The role that the contract's pattern gives every tool that writes canon directly."""


def agent_types() -> frozenset[str]:
    """Every agent type that the contract knows."""
    return frozenset(published()["agent_types"])


def contract_tool(
    name: str,
    title: str,
    description: str,
    run: Run,
    *,
    gives: Field,
    reads: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    cached: Cached | None = None,
    also: Mapping[str, Field] | None = None,
) -> Tool:
    """A tool of the contract; its schema and roles come from the published file.

    `also` are arguments that the contract does not have; all of them may be left out. A client
    that keeps to the contract cannot ask for `detail`, and gets whole rows.
    """
    entry = entries()[name]
    given = {"detail": True} if also and "detail" in also else {}
    schema = _with_legacy_classes(entry["inputSchema"])
    if also:
        more = {argument: each.schema for argument, each in also.items()}
        schema = {**schema, "properties": {**schema["properties"], **more}}
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema,
        output_schema=gives.schema,
        roles=frozenset(entry["allowed_agent_types"]),
        **spoken(schema, run),
        read_only=reads,
        destructive=destructive,
        idempotent=reads or idempotent,
        cached=cached,
        published=PublishedArguments(
            schema=entry["inputSchema"],
            accepted=_with_legacy_classes(entry["inputSchema"]),
            given=given,
        ),
    )


def reading_tool(
    name: str, title: str, description: str, run: Run, *, takes: Schema, gives: Field
) -> Tool:
    """A tool that the contract does not have, by which everybody may read."""
    tool = writing_tool(name, title, description, run, takes=takes, gives=gives, roles=ANYONE)
    return replace(tool, read_only=True, idempotent=True)


def listing_tool(
    name: str, title: str, description: str, query: PageQuery, *, within: str, gives: Listing
) -> Tool:
    """A reading tool that lists, page by page, what lies within a thing."""

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        asked = uuid_of(arguments, within)
        page = await query(canon, caller, asked, **page_of(arguments))
        return await gives(canon, caller, page, arguments)

    takes = obj({within: UUID}, {**PAGING, **(DETAIL if gives.shortens else {})})
    return reading_tool(name, title, description, run, takes=takes, gives=gives.gives)


def writing_tool(
    name: str,
    title: str,
    description: str,
    run: Run,
    *,
    takes: Schema,
    gives: Field,
    roles: frozenset[str] = KEEPER,
    destructive: bool = False,
    idempotent: bool = False,
) -> Tool:
    """A tool that the contract does not have and that writes; as a rule for the CanonKeeper."""
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=takes,
        output_schema=gives.schema,
        roles=roles,
        **spoken(takes, run),
        read_only=False,
        destructive=destructive,
        idempotent=idempotent,
        extension=True,
    )


def _with_legacy_classes(schema: Any) -> Any:
    """The schema with the two older entity class names allowed beside the current ones."""
    legacy = {now: then for then, now in published()["legacy_names"].items()}
    if isinstance(schema, dict):
        widened = {key: _with_legacy_classes(value) for key, value in schema.items()}
        classes = widened.get("enum")
        if isinstance(classes, list) and legacy.keys() <= set(classes):
            widened["enum"] = [*classes, *(legacy[name] for name in classes)]
        return widened
    return schema

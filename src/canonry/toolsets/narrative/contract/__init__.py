"""The published contract: names, input schemas and roles of the 21 tools, as published."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from canonry.gateway.tool import Arguments, Cached, Reply, Tool
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

Run = Callable[[Canon, Caller, Arguments], Awaitable[Reply]]


@cache
def published() -> Mapping[str, Any]:
    """The contract file as it is."""
    text = files(__package__).joinpath("monitor.json").read_text(encoding="utf-8")
    contract: Mapping[str, Any] = json.loads(text)
    return contract


def agent_types() -> frozenset[str]:
    """Every agent type that the contract knows."""
    return frozenset(published()["agent_types"])


def contract_tool(
    name: str,
    *,
    title: str,
    description: str,
    output_schema: Mapping[str, Any],
    run: Run,
    read_only: bool,
    destructive: bool = False,
    idempotent: bool = False,
    cached: Cached | None = None,
) -> Tool:
    """A tool of the contract; its schema and roles come from the published file."""
    entry = _entries()[name]
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=_with_legacy_classes(entry["inputSchema"]),
        output_schema=output_schema,
        roles=frozenset(entry["allowed_agent_types"]),
        run=run,
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        cached=cached,
    )


@cache
def _entries() -> Mapping[str, Any]:
    return {tool["name"]: tool for tool in published()["tools"]}


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

"""The published contract: names, input and output schemas of the four tools, as published."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from canonry.gateway.limits import Limits
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

Run = Callable[[Canon, Caller, Arguments], Awaitable[Reply]]

LIMITS = Limits(characters=100_000, seconds=30.0, any_text=True)
"""Half a minute as published; a NUL is a text like any other, and occurs nowhere."""


@cache
def published() -> Mapping[str, Any]:
    """The contract file as it is."""
    text = files(__package__).joinpath("catalog.json").read_text(encoding="utf-8")
    contract: Mapping[str, Any] = json.loads(text)
    return contract


def contract_tool(name: str, *, title: str, description: str, run: Run) -> Tool:
    """A tool of the contract; its schemas come from the published file, and it only reads."""
    entry = _entries()[name]
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=entry["inputSchema"],
        output_schema=entry["outputSchema"],
        roles=ANYONE,
        run=run,
        read_only=True,
        idempotent=True,
        limits=LIMITS,
    )


@cache
def _entries() -> Mapping[str, Any]:
    return {tool["name"]: tool for tool in published()["tools"]}

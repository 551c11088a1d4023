"""Outlines: output schemas as they are listed, by the type of each property and nothing below it.

A client reads all schemas before its first call; the reference describes replies in full. Whatever
satisfies an exact schema satisfies its outline.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from canonry.gateway.tool import Tool


def outlined(tool: Tool) -> Tool:
    """The tool as it is listed."""
    return replace(tool, output_schema=outline(tool.output_schema))


def outline(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of a reply, each by its type, and which of them are always there."""
    properties = {name: _brief(each) for name, each in schema["properties"].items()}
    return {"type": "object", "properties": properties, "required": schema["required"]}


def _brief(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "anyOf" in schema:
        return {"type": [kind for each in schema["anyOf"] for kind in _types(each)]}
    return {"type": schema["type"]} if "type" in schema else {}


def _types(schema: Mapping[str, Any]) -> list[str]:
    kind = schema["type"]
    return [kind] if isinstance(kind, str) else list(kind)

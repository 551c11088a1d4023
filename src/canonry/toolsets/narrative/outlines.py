"""Outlines: the output schemas as they are listed, exact at the top and brief below it.

A client reads all schemas before its first call, so what lies inside a reply is only outlined: the
reference describes it. Whatever satisfies an exact schema satisfies its outline.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from canonry.gateway.tool import Tool
from canonry.toolsets.narrative.schemas import Schema


def outlined(tool: Tool) -> Tool:
    """The tool as it is listed."""
    return replace(tool, output_schema=outline(tool.output_schema))


def outline(schema: Schema) -> Schema:
    """The properties of a reply, each by its type, and which of them are always there."""
    properties = {name: _brief(each) for name, each in schema["properties"].items()}
    return {**schema, "properties": properties}


def _brief(schema: Schema) -> Schema:
    """What kind of value it is; of objects in it the property that identifies them."""
    if "anyOf" in schema:
        kinds = [_brief(each) for each in schema["anyOf"]]
        return {"type": [name for kind in kinds for name in _names(kind)]}
    if schema.get("type") == "array":
        inner = schema["items"]
        told = inner.get("properties") is not None
        return {"type": "array", **({"items": _object(inner)} if told else {})}
    if _names(schema)[:1] == ["object"]:
        return {"type": schema["type"]}
    return {key: schema[key] for key in ("type", "format", "enum") if key in schema}


def _object(schema: Schema) -> Schema:
    identity = [name for name in schema.get("required", ()) if name.endswith("_id")][:1]
    return {"type": "object", **({"required": identity} if identity else {})}


def _names(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else list(kind or ())

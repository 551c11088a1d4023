"""JSON Schema fragments that the narrative tools' inputs and outputs are made of."""

from collections.abc import Mapping
from typing import Final

from canonry.gateway.tool import Schema

UUID: Final[Schema] = {"type": "string", "format": "uuid"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
SHARE: Final[Schema] = {"type": "number", "minimum": 0.0, "maximum": 1.0}
INTEGER: Final[Schema] = {"type": "integer"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
BOOLEAN: Final[Schema] = {"type": "boolean"}
OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
AUTHORITY: Final[Schema] = {"type": "string", "enum": ["source", "gm", "player", "system"]}


def obj(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Schema) -> Schema:
    """A list of such items."""
    return {"type": "array", "items": items}


def enum(*values: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(values)}


def nullable(schema: Schema) -> Schema:
    """Such a value, or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}

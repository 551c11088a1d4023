"""JSON Schema fragments of the builders' tools."""

from collections.abc import Mapping
from typing import Final

from canonry.domain.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.gateway.tool import Schema

TEXT: Final[Schema] = {"type": "string"}
KEY: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": NAME_MAX}
NAME: Final[Schema] = {**KEY, "pattern": r"\S"}
PROSE: Final[Schema] = {"type": "string", "maxLength": DESCRIPTION_MAX}
WHOLE: Final[Schema] = {"type": "integer", "minimum": 0}
TICK: Final[Schema] = {"type": "integer"}
FLAG: Final[Schema] = {"type": "boolean"}
TAGS: Final[Schema] = {"type": "array", "items": KEY, "maxItems": 100}


def obj(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def enum(*values: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": [str(value) for value in values]}

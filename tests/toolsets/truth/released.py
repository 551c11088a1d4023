"""The released surface: later versions are compared with every field of every action.

`python -m tests.toolsets.truth.released` writes the file anew, which is done for a release only.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from canonry.records.toolset import EXACT
from canonry.records.toolset.contract import published

FILE = Path(__file__).with_name("released.json")
BOUNDS = (
    "default",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
)
Field = Mapping[str, Any]
"""The types of a field, whether it is required, and what its values are held to."""


def read_surface() -> dict[str, Any]:
    """Return the surface for clients: actions, their fields in both directions, codes and edges."""
    contract = published()
    return {
        "version": contract["version"],
        "errors": contract["errors"],
        "relationship_types": sorted(contract["relationship_types"]),
        "tools": {
            tool.name: {
                "aliases": sorted(tool.aliases),
                "input": dict(yield_fields(tool.input_schema)),
                "output": dict(yield_fields(tool.output_schema)),
            }
            for tool in EXACT
        },
    }


def read_released() -> dict[str, Any]:
    """The same as it was when it was released."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def yield_fields(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Field]]:
    """Every field below a schema by its path, such as `entities[].entity_type`."""
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from yield_fields(branch, path)
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        yield where, make_field(inner, required=name in required)
        yield from yield_fields(inner, where)
    for name, mark in (("items", "[]"), ("additionalProperties", "{}")):
        inner = schema.get(name)
        if isinstance(inner, Mapping):
            yield path + mark, make_field(inner, required=False)
            yield from yield_fields(inner, path + mark)


def make_field(schema: Mapping[str, Any], *, required: bool) -> Field:
    found: dict[str, Any] = {"types": sorted(types_of(schema)), "required": required}
    if "enum" in schema:
        found["enum"] = sorted(map(str, schema["enum"]))
    bounds = {name: schema[name] for name in BOUNDS if name in schema}
    return found | ({"bounds": bounds} if bounds else {})


def types_of(schema: Mapping[str, Any]) -> set[str]:
    said = schema.get("type", [])
    types = {said} if isinstance(said, str) else set(said)
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        types |= types_of(branch)
    return types


if __name__ == "__main__":
    FILE.write_text(json.dumps(read_surface(), indent=1, sort_keys=True) + "\n", encoding="utf-8")

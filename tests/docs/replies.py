"""The generated page of replies: every property of every reply, as the tests hold it."""

from collections.abc import Iterator, Mapping
from typing import Any

from canonry.narrative import toolset as narrative
from canonry.records import toolset as truth
from canonry.world import toolset as world


def replies_page(note: str) -> str:
    """Return every property of every reply; an item of a list is named `property[]`."""
    parts = [
        (
            f"# Replies\n\n{note}\n"
            "`tools/list` names the properties of a reply (`narrative`, `world`) or gives its\n"
            "first level with types (`truth`). This page lists every property. A property with a\n"
            "question mark may be missing. `property[]` is an item of a list.\n"
        )
    ]
    for tool in (*narrative.EXACT, *truth.EXACT, *world.EXACT):
        rows = "".join(
            f"| `{path}` | {kind} |\n" for path, kind in property_rows(tool.output_schema)
        )
        parts.append(f"\n## {tool.name}\n\n| property | type |\n| --- | --- |\n{rows}")
    return "".join(parts)


def property_rows(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, each in schema.get("properties", {}).items():
        path = f"{prefix}{name}" + ("" if name in schema.get("required", ()) else "?")
        yield path, kind_of(each)
        for inner, suffix in objects_inside(each):
            yield from property_rows(inner, f"{path}{suffix}.")


def objects_inside(schema: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the objects in a value, each with the end of its path."""
    if "anyOf" in schema:
        for each in schema["anyOf"]:
            yield from objects_inside(each)
    elif schema.get("type") == "array":
        for inner, suffix in objects_inside(schema["items"]):
            yield inner, f"[]{suffix}"
    elif "properties" in schema:
        yield schema, ""


def kind_of(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(kind_of, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    named = schema.get("type", "anything")
    kinds = [named] if isinstance(named, str) else list(named)
    if kinds[0] == "array":
        kinds[0] = f"list of {kind_of(schema['items'])}"
    if "format" in schema:
        kinds[0] = str(schema["format"])
    return " or ".join(kinds)

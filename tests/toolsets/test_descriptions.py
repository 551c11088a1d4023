"""Every argument is described, and every property of a reply that is listed with its type."""

from collections.abc import Mapping
from typing import Any

import pytest

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.gateway.offers import add_descriptions
from canonry.gateway.tool import Tool, Toolset
from canonry.server.binding import tool_entry
from tests.docs.sizes import BUDGETS, count_tokens


def undescribed_properties(schema: Any) -> set[str]:
    """The properties that nobody has described."""
    if not isinstance(schema, Mapping):
        return set()
    found: set[str] = set()
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, Mapping) else ():
        found |= undescribed_properties(each) | ({name} if "description" not in each else set())
    for key in ("items", "additionalProperties"):
        found |= undescribed_properties(schema.get(key))
    listed = {name for name, each in (properties or {}).items() if "description" in each}
    for key in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(key, ()):
            found |= undescribed_properties(each) - listed
    for each in schema.get("$defs", {}).values():
        found |= undescribed_properties(each)
    return found


@pytest.mark.parametrize("name", TOOLSETS)
def test_every_property_is_described(name: str) -> None:
    [toolset] = load_toolsets([name])
    missing = {
        f"{tool.name}: {each}"
        for tool in toolset.tools
        for schema in described_of(tool, toolset)
        for each in undescribed_properties(schema)
    }

    assert missing == set()


def described_of(tool: Tool, toolset: Toolset) -> list[Any]:
    """The schemas of a tool as they are listed, without a reply that is listed by names alone."""
    entry = tool_entry(tool, toolset)
    reply = entry.get("outputSchema", {})
    return [entry["inputSchema"], *([reply] if any(reply.get("properties", {}).values()) else [])]


@pytest.mark.parametrize("name", TOOLSETS)
def test_no_description_is_unused(name: str) -> None:
    [toolset] = load_toolsets([name])
    used: set[str] = set()

    def walk(schema: Any) -> None:
        if isinstance(schema, Mapping):
            if isinstance(properties := schema.get("properties"), Mapping):
                used.update(properties)
            for each in schema.values():
                walk(each)
        elif isinstance(schema, list):
            for each in schema:
                walk(each)

    for tool in toolset.tools:
        for schema in described_of(tool, toolset):
            walk(schema)

    assert toolset.descriptions.keys() - used == set()


def test_descriptions_in_a_schema_win_over_those_of_the_table() -> None:
    schema = {
        "properties": {"a": {"description": "own"}, "b": {"items": {"properties": {"a": {}}}}}
    }
    result: Any = add_descriptions(schema, {"a": "table", "b": "list"})

    assert result["properties"]["a"] == {"description": "own"}
    assert result["properties"]["b"]["description"] == "list"
    assert result["properties"]["b"]["items"]["properties"]["a"] == {"description": "table"}


@pytest.mark.parametrize("name", TOOLSETS)
def test_the_list_of_a_toolset_keeps_within_its_budget(name: str) -> None:
    [toolset] = load_toolsets([name])

    assert count_tokens(toolset, None)[1] <= BUDGETS[name]

"""The published contract: names, input schemas and roles of the 21 tools, as published."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.gateway.contract import ContractFile
from canonry.gateway.tool import Cached, Run, Tool

CONTRACT: Final = ContractFile(__name__, "monitor.json")
published = CONTRACT.published
entries = CONTRACT.entries


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
    entry = entries()[name]
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

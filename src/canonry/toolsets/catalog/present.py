"""Replies of the catalog: exactly the published fields, each of them always there."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.catalog.catalog import item_row, project_row
from canonry.domain.spaces import Space
from canonry.domain.things.entities import Entity
from canonry.toolsets.catalog.contract import published

_BRIEF: Final = ("id", "entityType", "title", "slug", "summary", "status")
_LISTED: Final = (*_BRIEF, "createdAt", "updatedAt")


def project(space: Space) -> Mapping[str, Any]:
    """A project."""
    return project_row(space)


def listed(entity: Entity) -> Mapping[str, Any]:
    """An entity among those that were found."""
    row = item_row(entity)
    return {name: row[name] for name in _LISTED}


def node(entity: Entity, depth: int) -> Mapping[str, Any]:
    """An entity in a graph."""
    row = item_row(entity)
    return {**{name: row[name] for name in _BRIEF}, "depth": depth}


def whole(entity: Entity, outgoing: int, incoming: int) -> Mapping[str, Any]:
    """An entity with everything that is published of it."""
    row = item_row(entity)
    told = {name: row[name] for name in _FIELDS}
    told["comparisonTargets"] = list(row["comparisonTargets"])
    return {**told, "relationshipCounts": {"outgoing": outgoing, "incoming": incoming}}


def _published_fields() -> tuple[str, ...]:
    (tool,) = (each for each in published()["tools"] if each["name"] == "get_entity")
    properties = tool["outputSchema"]["properties"]["entity"]["properties"]
    return tuple(name for name in properties if name != "relationshipCounts")


_FIELDS: Final = _published_fields()

"""Replies of the catalog: exactly the published fields, each of them always there.

The contract file is where they are declared: a reply has what its schema there has.
"""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.catalog.catalog import item_row, project_row
from canonry.domain.spaces import Space
from canonry.domain.things.entities import Entity
from canonry.toolsets.catalog.contract import entries

_COUNTED: Final = ("depth", "relationshipCounts")
"""What no row holds."""


def _published(tool: str, *path: str) -> tuple[str, ...]:
    schema = entries()[tool]["outputSchema"]
    for step in path:
        schema = schema["properties"][step]
    return tuple(n for n in schema.get("items", schema)["properties"] if n not in _COUNTED)


_LISTED: Final = _published("search_entities", "entities")
_NODE: Final = _published("get_entity_graph", "nodes")
_WHOLE: Final = _published("get_entity", "entity")


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
    return {**{name: row[name] for name in _NODE}, "depth": depth}


def whole(entity: Entity, outgoing: int, incoming: int) -> Mapping[str, Any]:
    """An entity with everything that is published of it."""
    row = item_row(entity)
    told = {name: row[name] for name in _WHOLE}
    told["comparisonTargets"] = list(row["comparisonTargets"])
    return {**told, "relationshipCounts": {"outgoing": outgoing, "incoming": incoming}}

"""The answers of the catalog's tools, as its contract publishes them."""

from collections.abc import Callable
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.catalog.toolset.contract import entries
from canonry.catalog.usecases.browse_catalog import (
    get_catalog_entity,
    get_catalog_graph,
    list_projects,
    search_catalog,
)
from canonry.gateway.shapes import INTEGER, TEXT, UUID, Shape, nullable
from canonry.gateway.tool import Arguments, Noted, Reply
from canonry.log.items.entities import Entity
from canonry.readmodels.catalog import item_row, project_row
from canonry.values.ids import SpaceId

TRUNCATED_META: Final = "dev.canonry/truncated"


def _published(tool: str, part: str) -> Callable[[Entity], dict[str, Any]]:
    """What makes of an entity the fields that the contract publishes for this part of a reply."""
    schema = entries()[tool]["outputSchema"]["properties"][part]
    names = schema.get("items", schema)["properties"]

    def present(entity: Entity) -> dict[str, Any]:
        row = item_row(entity)
        row["comparisonTargets"] = list(row["comparisonTargets"])
        return {name: row[name] for name in names if name in row}

    return present


_LISTED: Final = _published("search_entities", "entities")
_WHOLE: Final = _published("get_entity", "entity")
_NODE: Final = _published("get_entity_graph", "nodes")
_COUNTS: Final = Shape(outgoing=INTEGER, incoming=INTEGER)
_EDGE: Final = Shape(
    fromEntityId=UUID.of("source"),
    toEntityId=UUID.of("target"),
    relationType=TEXT.of("relation.rel_type"),
    notes=nullable(TEXT.of(lambda edge: edge.relation.properties.get("notes"))),
)


async def tell_projects(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """The projects; `_meta` says if there are more."""
    del arguments  # there are none
    projects, more = await list_projects(canon, caller)
    reply = {"projects": [project_row(each) for each in projects]}
    return Noted(reply=reply, meta={TRUNCATED_META: {"projects": True}}) if more else reply


async def search_items(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """What of a project contains a text."""
    found = await search_catalog(
        canon,
        caller,
        _project(arguments),
        arguments["query"],
        kinds=arguments.get("entityTypes", ()),
        limit=int(arguments["limit"]),
    )
    return {"entities": [_LISTED(each) for each in found.entities], "totalCount": found.total}


async def get_item(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Everything about one entity."""
    entity_id = arguments["entityId"].lower()
    entry = await get_catalog_entity(canon, caller, _project(arguments), entity_id)
    return {"entity": {**_WHOLE(entry.entity), "relationshipCounts": _COUNTS(entry)}}


async def get_graph(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """What surrounds one entity."""
    graph = await get_catalog_graph(
        canon,
        caller,
        _project(arguments),
        arguments["entityId"].lower(),
        depth=int(arguments["depth"]),
        rel_types=arguments.get("relationshipTypes", ()),
    )
    reply = {
        "nodes": [{**_NODE(each.entity), "depth": each.depth} for each in graph.nodes],
        "edges": [_EDGE(each) for each in graph.edges],
    }
    if not (graph.more_nodes or graph.more_edges):
        return reply
    cut = {"nodes": graph.more_nodes, "edges": graph.more_edges}
    return Noted(reply=reply, meta={TRUNCATED_META: cut})


def _project(arguments: Arguments) -> SpaceId:
    return SpaceId(arguments["projectId"].lower())

"""The catalog toolset behind its face: four tools that read, in one consistent view a call."""

from collections.abc import Callable
from typing import Any, Final

from canonry.domain.catalog.catalog import item_row, project_row
from canonry.domain.ids import SpaceId
from canonry.domain.things.entities import Entity
from canonry.gateway.shapes import INTEGER, TEXT, UUID, Shape, nullable
from canonry.gateway.tool import ANYONE, Arguments, Noted, Reply, Toolset
from canonry.toolsets.catalog import FACE
from canonry.toolsets.catalog.contract import contract_tool, entries
from canonry.toolsets.catalog.dialect import dialect
from canonry.usecases.catalog.browse_catalog import (
    get_catalog_entity,
    get_catalog_graph,
    list_projects,
    search_catalog,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

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


async def _list_projects(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del arguments  # there are none
    return {"projects": [project_row(each) for each in await list_projects(canon, caller)]}


async def _search_entities(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await search_catalog(
        canon,
        caller,
        _project(arguments),
        arguments["query"],
        kinds=arguments.get("entityTypes", ()),
        limit=int(arguments["limit"]),
    )
    return {"entities": [_LISTED(each) for each in found.entities], "totalCount": found.total}


async def _get_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    entity_id = arguments["entityId"].lower()
    entry = await get_catalog_entity(canon, caller, _project(arguments), entity_id)
    return {"entity": {**_WHOLE(entry.entity), "relationshipCounts": _COUNTS(entry)}}


async def _get_entity_graph(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
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


CATALOG: Final = Toolset(
    **FACE.told(),
    agent_types=ANYONE,
    default_agent_type="Reader",
    sealed=True,
    dialect=dialect,
    tools=(
        contract_tool(
            "list_projects",
            title="List projects",
            description="List the projects of the catalog. Every other tool needs a project's id.",
            run=_list_projects,
        ),
        contract_tool(
            "search_entities",
            title="Search entities",
            description=(
                "Find guides, concepts, projects and news of one project whose title, slug or "
                "summary contains a text, newest first. The text is matched literally, without "
                "regard to case."
            ),
            run=_search_entities,
        ),
        contract_tool(
            "get_entity",
            title="Get an entity",
            description="Read everything about one entity of a project, once you know its id.",
            run=_get_entity,
        ),
        contract_tool(
            "get_entity_graph",
            title="Get an entity's graph",
            description=(
                "See which entities are related to one, directly or over one more step, and how. "
                "At most 100 nodes and 200 edges; _meta tells when some were left out."
            ),
            run=_get_entity_graph,
        ),
    ),
)

"""The four tools of the catalog: they read, in one consistent view a call, and keep nothing."""

from typing import Any, Final

from canonry.domain.ids import SpaceId
from canonry.gateway.tool import Arguments, Noted, Tool
from canonry.toolsets.catalog import present
from canonry.toolsets.catalog.contract import contract_tool
from canonry.usecases.catalog.browse_catalog import (
    get_catalog_entity,
    get_catalog_graph,
    list_projects,
    search_catalog,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

TRUNCATED_META: Final = "dev.canonry/truncated"


async def _list_projects(canon: Canon, caller: Caller, arguments: Arguments) -> Any:
    del arguments
    return {"projects": [present.project(each) for each in await list_projects(canon, caller)]}


async def _search_entities(canon: Canon, caller: Caller, arguments: Arguments) -> Any:
    found = await search_catalog(
        canon,
        caller,
        _project(arguments),
        arguments["query"],
        kinds=arguments.get("entityTypes", ()),
        limit=int(arguments["limit"]),
    )
    return {
        "entities": [present.listed(each) for each in found.entities],
        "totalCount": found.total,
    }


async def _get_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Any:
    entity_id = arguments["entityId"].lower()
    entry = await get_catalog_entity(canon, caller, _project(arguments), entity_id)
    return {"entity": present.whole(entry.entity, entry.outgoing, entry.incoming)}


async def _get_entity_graph(canon: Canon, caller: Caller, arguments: Arguments) -> Any:
    graph = await get_catalog_graph(
        canon,
        caller,
        _project(arguments),
        arguments["entityId"].lower(),
        depth=int(arguments["depth"]),
        rel_types=arguments.get("relationshipTypes", ()),
    )
    reply = {
        "nodes": [present.node(each.entity, each.depth) for each in graph.nodes],
        "edges": [
            {
                "fromEntityId": each.source,
                "toEntityId": each.target,
                "relationType": each.relation.rel_type,
                "notes": each.relation.properties.get("notes"),
            }
            for each in graph.edges
        ],
    }
    if not (graph.more_nodes or graph.more_edges):
        return reply
    cut = {"nodes": graph.more_nodes, "edges": graph.more_edges}
    return Noted(reply=reply, meta={TRUNCATED_META: cut})


def _project(arguments: Arguments) -> SpaceId:
    return SpaceId(arguments["projectId"].lower())


TOOLS: Final[tuple[Tool, ...]] = (
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
            "Find guides, concepts, projects and news of one project whose title, slug or summary "
            "contains a text, newest first. The text is matched literally, without regard to case."
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
)

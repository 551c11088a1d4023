"""The catalog toolset behind its face: four tools that read, in one consistent view a call."""

from typing import Final

from canonry.catalog.toolset import FACE
from canonry.catalog.toolset.answers import get_graph, get_item, search_items, tell_projects
from canonry.catalog.toolset.contract import contract_tool
from canonry.catalog.toolset.dialect import dialect
from canonry.catalog.toolset.resources import RESOURCES, SHELVES
from canonry.gateway.contract import ContractFile
from canonry.gateway.tool import ANYONE, Toolset

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
            run=tell_projects,
        ),
        contract_tool(
            "search_entities",
            title="Search entities",
            description=(
                "Find guides, concepts, projects and news of one project whose title, slug or "
                "summary contains a text, newest first. The text is matched literally, without "
                "regard to case."
            ),
            run=search_items,
        ),
        contract_tool(
            "get_entity",
            title="Get an entity",
            description="Read everything about one entity of a project, once you know its id.",
            run=get_item,
        ),
        contract_tool(
            "get_entity_graph",
            title="Get an entity's graph",
            description=(
                "See which entities are related to one, directly or over one more step, and how. "
                "At most 100 nodes and 200 edges; _meta tells when some were left out."
            ),
            run=get_graph,
        ),
    ),
    resources=RESOURCES,
    shelves=SHELVES,
    words=ContractFile("canonry.catalog.toolset.contract", "words.json").published(),
)

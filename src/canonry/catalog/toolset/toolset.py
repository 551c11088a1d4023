"""The toolset `catalog`: its tools, resources and errors."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.catalog.toolset.contract import contract_tool, entries
from canonry.catalog.usecases import rows
from canonry.gateway import replies
from canonry.gateway.offers import ContractFile
from canonry.gateway.tables import FieldTable
from canonry.gateway.tool import (
    ANYONE,
    Arguments,
    Completion,
    CompletionPage,
    ErrorBody,
    FindCompletions,
    Noted,
    Reply,
    Toolset,
    Variables,
)
from canonry.gateway.toolset_introduction import Face
from canonry.log.items.entities import Entity
from canonry.readmodels.catalog import item_row, project_row
from canonry.readmodels.ports.documents import GraphQuery
from canonry.values.errors import CanonryError, NotFound
from canonry.values.ids import SpaceId
from canonry.values.json_values import encode_json

TRUNCATED_META: Final = "dev.canonry/truncated"


def _row_presenter(tool: str, part: str) -> Callable[[Entity], dict[str, Any]]:
    schema = entries()[tool]["outputSchema"]["properties"][part]
    names = schema.get("items", schema)["properties"]

    def present_row(entity: Entity) -> dict[str, Any]:
        row = item_row(entity)
        row["comparisonTargets"] = list(row["comparisonTargets"])
        return {name: row[name] for name in names if name in row}

    return present_row


_LISTED: Final = _row_presenter("search_entities", "entities")
_WHOLE: Final = _row_presenter("get_entity", "entity")
_NODE: Final = _row_presenter("get_entity_graph", "nodes")
_COUNTS: Final = replies.Shape(outgoing=replies.INTEGER, incoming=replies.INTEGER)
_EDGE: Final = replies.Shape(
    fromEntityId=replies.UUID.from_source("source"),
    toEntityId=replies.UUID.from_source("target"),
    relationType=replies.TEXT.from_source("relation.rel_type"),
    notes=replies.nullable_field(
        replies.TEXT.from_source(lambda edge: edge.relation.properties.get("notes"))
    ),
)


async def show_projects(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """The projects; `_meta` says if there are more."""
    del arguments  # there are none
    projects, more = await rows.list_projects(canon, caller)
    reply = {"projects": [project_row(each) for each in projects]}
    return Noted(reply=reply, meta={TRUNCATED_META: {"projects": True}}) if more else reply


async def search_items(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Search a project for a text."""
    project, text = _project_id(arguments), arguments["query"]
    kinds, most = arguments.get("entityTypes", ()), int(arguments["limit"])
    found = await rows.search_catalog(canon, caller, project, text, kinds=kinds, limit=most)
    return {"entities": [_LISTED(each) for each in found.items], "totalCount": found.total}


async def get_item(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Everything about one entity."""
    project = _project_id(arguments)
    await rows.require_project(canon, caller, project)
    entry = await canon.catalog.find_entry(project, arguments["entityId"].lower())
    return {"entity": {**_WHOLE(entry.entity), "relationshipCounts": _COUNTS(entry)}}


async def get_graph(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Return the graph around one entity."""
    query = GraphQuery(
        project=_project_id(arguments),
        entity_id=arguments["entityId"].lower(),
        depth=int(arguments["depth"]),
        rel_types=frozenset(arguments.get("relationshipTypes", ())),
    )
    await rows.require_project(canon, caller, query.project)
    graph = await canon.catalog.find_graph(query)
    reply = {
        "nodes": [{**_NODE(each.entity), "depth": each.depth} for each in graph.nodes],
        "edges": [_EDGE(each) for each in graph.edges],
    }
    if not (graph.more_nodes or graph.more_edges):
        return reply
    cut = {"nodes": graph.more_nodes, "edges": graph.more_edges}
    return Noted(reply=reply, meta={TRUNCATED_META: cut})


def _project_id(arguments: Arguments) -> SpaceId:
    return SpaceId(arguments["projectId"].lower())


# The catalog dialect. It says which argument is at fault and never what lies behind it: what is
# not there and what the caller may not see are stated in the same bytes.

PROJECT_NOT_FOUND: Final = "PROJECT_NOT_FOUND"
ENTITY_NOT_FOUND: Final = "ENTITY_NOT_FOUND"
VALIDATION_ERROR: Final = "VALIDATION_ERROR"
INTERNAL: Final = "INTERNAL_ERROR"

_TABLE: Final = replies.DialectTable(
    invalid_input=VALIDATION_ERROR,
    codes={"project.unknown": PROJECT_NOT_FOUND, "entity.unknown": ENTITY_NOT_FOUND},
    internal=INTERNAL,
)
_INDEX: Final = re.compile(r"/(\d+)(?=/|$)")
_TIMEOUTS: Final = frozenset(("call.deadline", "store.deadline"))
_MESSAGES: Final = {
    PROJECT_NOT_FOUND: "Invalid or inaccessible projectId",
    ENTITY_NOT_FOUND: "Requested entity does not exist",
    VALIDATION_ERROR: "Invalid input parameters",
    INTERNAL: "Internal error",
}


def catalog_error(
    error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
) -> ErrorBody:
    """The envelope for `error`; neither the tool, the caller nor a trace is part of it."""
    del tool, caller, trace_id
    code = _TABLE.error_name(error)
    message, details = _MESSAGES[code], _error_details(error, code)
    if error.code in _TIMEOUTS:
        message = "Tool execution timeout"
    envelope: dict[str, Any] = {"code": code, "message": message, "details": details}
    number = replies.INTERNAL_ERROR if code == INTERNAL else replies.INVALID_PARAMS
    return ErrorBody(code=number, message=message, data=envelope, wire={"error": envelope})


def _error_details(error: CanonryError, code: str) -> dict[str, str]:
    if code == PROJECT_NOT_FOUND:
        return {"field": "projectId"}
    if code == ENTITY_NOT_FOUND:
        return {"field": "entityId"}
    if code == VALIDATION_ERROR:
        return {"field": field_of(str(error.details.get("path", ""))), "reason": error.message}
    if error.code in _TIMEOUTS:
        return {"reason": "timeout"}
    return {"reason": error.message if error.code == "identity.missing" else error.code}


def field_of(path: str) -> str:
    """A JSON pointer as an argument is called: `entityTypes[1]`; the whole are `arguments`."""
    plain = _INDEX.sub(r"[\1]", path.removeprefix("/") and f"/{path.removeprefix('/')}")
    return plain.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~") or (
        "arguments"
    )


async def _resources_project(canon: Canon, caller: Caller, variables: Variables) -> str:
    wanted = variables["project_id"].lower()
    for each in (await rows.list_projects(canon, caller))[0]:
        if each.id == wanted:
            return _as_json(project_row(each))
    raise NotFound("project.unknown", "There is no project with this id.", path="/project_id")


async def _read_item(canon: Canon, caller: Caller, variables: Variables) -> str:
    wanted = variables["item_id"].lower()
    project = await rows.project_of(canon, caller, wanted)
    return _as_json(await get_item(canon, caller, {"projectId": project, "entityId": wanted}))


def _as_json(value: Reply) -> str:
    return encode_json(value).decode()


async def _complete_projects(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    projects, _ = await rows.list_projects(canon, caller)
    return asked.page_of([(each.id, each.name) for each in projects])


async def _complete_items(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    found, total = await rows.list_items(canon, caller, asked.entity_query())
    return [(item_row(e)["id"], f"{e.name} ({e.entity_type})") for e in found], total


COMPLETIONS: Final[Mapping[str, FindCompletions]] = {
    "project_id": _complete_projects,
    "item_id": _complete_items,
}
TABLE: Final = FieldTable(__package__)
RESOURCES: Final = (
    TABLE.make_resource("project", _resources_project),
    TABLE.make_resource("item", _read_item),
)


FACE: Final = Face.read_face(__package__)
CATALOG: Final = Toolset(
    **FACE.to_fields(),
    agent_types=ANYONE,
    default_agent_type="Reader",
    sealed=True,
    dialect=catalog_error,
    tools=tuple(
        contract_tool(name, run=run, **TABLE.tools[name])
        for name, run in (
            ("list_projects", show_projects),
            ("search_entities", search_items),
            ("get_entity", get_item),
            ("get_entity_graph", get_graph),
        )
    ),
    resources=RESOURCES,
    completions=COMPLETIONS,
    descriptions=ContractFile("canonry.catalog.toolset.contract", "words.json").read_contract(),
)

"""The operator's tools for a catalog: projects, items with their life, and relations."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from canonry.domain.ids import SpaceId
from canonry.domain.vocabularies.catalog_kinds import STATUSES
from canonry.domain.vocabularies.catalog_tables import (
    DISTRIBUTION_EVENTS,
    ENTITIES,
    PROJECTS,
    RELATION_ROWS,
    SOURCE_ITEMS,
    TEXT_MAX,
    VIDEOS,
    CatalogTable,
)
from canonry.gateway.tool import Arguments, Tool
from canonry.toolsets.operator.catalog_schemas import SAVED, UUID, row_schema
from canonry.usecases.catalog.move_catalog_entity import StatusMove, move_catalog_entity
from canonry.usecases.catalog.save_catalog_row import (
    save_catalog_row,
    withdraw_catalog_relation,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

ROLES: Final = frozenset(("Operator",))
_OWN_STATUS: Final = ("status", "publishedAt", "archivedAt")
_REASON: Final = {"type": "string", "maxLength": TEXT_MAX}


def _saving(table: CatalogTable) -> Callable[[Canon, Caller, Arguments], Awaitable[Any]]:
    async def save(canon: Canon, caller: Caller, arguments: Arguments) -> Any:
        saved = await save_catalog_row(canon, caller, table, arguments)
        outcome = "unchanged" if saved.same else "created" if saved.made else "changed"
        return {"id": saved.id, "outcome": outcome}

    return save


def _save_tool(
    name: str, table: CatalogTable, description: str, *, without: tuple[str, ...] = ()
) -> Tool:
    return Tool(
        name=name,
        title=f"Save {'an' if table is ENTITIES else 'a'} {table.noun}",
        description=description,
        input_schema=row_schema(table, without=without),
        output_schema=SAVED,
        roles=ROLES,
        run=_saving(table),
        read_only=False,
        idempotent=True,
        extension=True,
    )


async def _move(canon: Canon, caller: Caller, arguments: Arguments) -> Any:
    project, entity_id = SpaceId(arguments["projectId"].lower()), arguments["entityId"].lower()
    action, reason = StatusMove(arguments["action"]), arguments.get("reason", "")
    after = await move_catalog_entity(canon, caller, project, entity_id, move=action, reason=reason)
    return {"id": entity_id, "status": after}


async def _withdraw(canon: Canon, caller: Caller, arguments: Arguments) -> Any:
    project, relation = SpaceId(arguments["projectId"].lower()), arguments["relationId"].lower()
    await withdraw_catalog_relation(
        canon, caller, project, relation, arguments.get("reason", "withdrawn")
    )
    return {"id": relation}


MOVE: Final = Tool(
    name="catalog_move_entity",
    title="Move an entity on",
    description=(
        "Ask for an entity's publication, publish it, send it back to draft, or archive it. "
        "What it lacks for publication is named."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "projectId": UUID,
            "entityId": UUID,
            "action": {"type": "string", "enum": [each.value for each in StatusMove]},
            "reason": _REASON,
        },
        "required": ["projectId", "entityId", "action"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {"id": UUID, "status": {"type": "string", "enum": list(STATUSES)}},
        "required": ["id", "status"],
        "additionalProperties": False,
    },
    roles=ROLES,
    run=_move,
    read_only=False,
    extension=True,
)
WITHDRAW: Final = Tool(
    name="catalog_withdraw_relation",
    title="Withdraw a relation",
    description="End a relation that holds no longer. The log keeps that it did.",
    input_schema={
        "type": "object",
        "properties": {"projectId": UUID, "relationId": UUID, "reason": _REASON},
        "required": ["projectId", "relationId"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {"id": UUID},
        "required": ["id"],
        "additionalProperties": False,
    },
    roles=ROLES,
    run=_withdraw,
    read_only=False,
    destructive=True,
    extension=True,
)
TOOLS: Final[tuple[Tool, ...]] = (
    _save_tool(
        "catalog_save_project",
        PROJECTS,
        "Open a project of the catalog, or change one by its id. Its slug is its own.",
    ),
    _save_tool(
        "catalog_save_entity",
        ENTITIES,
        "Make a guide, concept, project or news entry as a draft, or change one by its id.",
        without=_OWN_STATUS,
    ),
    _save_tool(
        "catalog_save_source_item",
        SOURCE_ITEMS,
        "Keep where something was found, or change such an item by its id.",
    ),
    _save_tool(
        "catalog_save_distribution_event",
        DISTRIBUTION_EVENTS,
        "Keep where an entity was announced, or change such an item by its id.",
    ),
    _save_tool(
        "catalog_save_video",
        VIDEOS,
        "Keep which video is about an entity, or change such an item by its id.",
    ),
    _save_tool(
        "catalog_save_relation",
        RELATION_ROWS,
        "Relate two items of one project by a type that joins their kinds.",
    ),
    MOVE,
    WITHDRAW,
)

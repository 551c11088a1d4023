"""The toolset `operator`: write and arrange the rows of catalogs."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.catalog.domain.rows import IDS_MAX
from canonry.catalog.operator import FACE
from canonry.catalog.usecases.rows import (
    StatusMove,
    move_catalog_entity,
    save_catalog_row,
    withdraw_catalog_relation,
)
from canonry.gateway.catalogue import ContractFile
from canonry.gateway.replies import (
    COUNT,
    INSTANT,
    INVALID_PARAMS,
    TEXT,
    UUID,
    DialectTable,
    Field,
    Shape,
    array,
    enum,
    obj,
)
from canonry.gateway.tool import Arguments, Reply, Schema, Tool, Toolset
from canonry.log.schemas.catalog_tables import (
    CREATED_AT,
    DISTRIBUTION_EVENTS,
    ENTITIES,
    PROJECTS,
    RELATION_ROWS,
    SOURCE_ITEMS,
    STATUSES,
    TEXT_MAX,
    UPDATED_AT,
    VIDEOS,
    CatalogTable,
    Column,
    Form,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId

ROLES: Final = frozenset(("Operator",))
_KEPT_BY_US: Final = (CREATED_AT, UPDATED_AT)
_LIFE: Final = (*_KEPT_BY_US, "status", "publishedAt", "archivedAt")
"""Fields that only catalog_move_entity changes."""
_FORMS: Final[Mapping[Form, Field]] = {
    Form.UUID: UUID,
    Form.UUIDS: array(UUID).but(maxItems=IDS_MAX),
    Form.INSTANT: INSTANT,
    Form.COUNT: COUNT,
}
_REASON: Final = TEXT.but(maxLength=TEXT_MAX)


_SAVED: Final = Shape(
    id=UUID,
    outcome=enum("created", "changed", "unchanged").of(
        lambda saved: "unchanged" if saved.same else "created" if saved.made else "changed"
    ),
)


def _save_tool(table: CatalogTable, description: str) -> Tool:
    """A tool that makes or changes a row: only what names it must be given.

    A field that is left out stays as it is; null clears one that may be empty.
    """

    async def save(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return _SAVED(await save_catalog_row(canon, caller, table, arguments))

    hidden = _LIFE if table is ENTITIES else _KEPT_BY_US
    fields = {c.name: _schema(c) for c in table.columns if c.name not in hidden}
    return Tool(
        name=f"catalog_save_{table.noun.replace(' ', '_')}",
        title=f"Save {'an' if table is ENTITIES else 'a'} {table.noun}",
        description=description,
        input_schema={
            "type": "object",
            "properties": fields,
            "required": [each for each in ("projectId", "entityType") if each in fields],
            "additionalProperties": False,
        },
        output_schema=_SAVED.schema,
        roles=ROLES,
        run=save,
        read_only=False,
        idempotent=True,
        extension=True,
    )


def _schema(column: Column) -> Schema:
    if column.form is Form.WORD:
        schema: dict[str, Any] = {"type": "string", "enum": list(column.words)}
    elif column.form in {Form.TEXT, Form.ADDRESS}:
        least = {} if column.empty else {"minLength": 1}
        schema = {"type": "string", "maxLength": column.longest, **least}
    else:
        schema = dict(_FORMS[column.form].schema)
    if not column.required:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    return schema


async def _move(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    project, entity_id = SpaceId(arguments["projectId"].lower()), arguments["entityId"].lower()
    action, reason = StatusMove(arguments["action"]), arguments.get("reason", "")
    after = await move_catalog_entity(canon, caller, project, entity_id, move=action, reason=reason)
    return {"id": entity_id, "status": after}


async def _withdraw(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    project, relation = SpaceId(arguments["projectId"].lower()), arguments["relationId"].lower()
    reason = arguments.get("reason", "withdrawn")
    await withdraw_catalog_relation(canon, caller, project, relation, reason)
    return {"id": relation}


TOOLS: Final[tuple[Tool, ...]] = (
    _save_tool(
        PROJECTS,
        "Create a project of the catalog, or change one by its id. The slug must be unique.",
    ),
    _save_tool(
        ENTITIES,
        "Create a draft of a guide, concept, project or news entry, or change one by its id.",
    ),
    _save_tool(SOURCE_ITEMS, "Record where something was found, or change the record by its id."),
    _save_tool(
        DISTRIBUTION_EVENTS, "Record where an entity was announced, or change the record by its id."
    ),
    _save_tool(VIDEOS, "Record a video about an entity, or change the record by its id."),
    _save_tool(
        RELATION_ROWS, "Relate two items. GUIDE_USES_CONCEPT leads from a guide to a concept."
    ),
    Tool(
        name="catalog_move_entity",
        title="Move an entity on",
        description=(
            "Publish an entity by request_publish, then publish; reject makes it a draft again. "
            "If it is not ready, the error lists the missing fields."
        ),
        input_schema=obj(
            {"projectId": UUID, "entityId": UUID, "action": enum(*StatusMove)}, {"reason": _REASON}
        ),
        output_schema=obj({"id": UUID, "status": enum(*STATUSES)}),
        roles=ROLES,
        run=_move,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="catalog_withdraw_relation",
        title="Withdraw a relation",
        description="End a relation that no longer holds. Its history stays in the log.",
        input_schema=obj({"projectId": UUID, "relationId": UUID}, {"reason": _REASON}),
        output_schema=obj({"id": UUID}),
        roles=ROLES,
        run=_withdraw,
        read_only=False,
        destructive=True,
        extension=True,
    ),
)


_DIALECT: Final = DialectTable(
    not_allowed="NOT_ALLOWED",
    not_found="NOT_FOUND",
    invalid_input="INVALID_INPUT",
    conflict="CONFLICT",
    unavailable="UNAVAILABLE",
    not_supported="NOT_SUPPORTED",
    numbers={InvalidInput: INVALID_PARAMS},
)

OPERATOR: Final = Toolset(
    **FACE.told(),
    agent_types=ROLES,
    dialect=_DIALECT.flat,
    tools=TOOLS,
    words=ContractFile("canonry.catalog.operator", "words.json").published(),
)

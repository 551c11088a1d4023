"""The toolset `operator`: write and arrange the rows of catalogs."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.catalog.domain.rows import IDS_MAX
from canonry.catalog.usecases.rows import (
    StatusMove,
    move_catalog_entity,
    save_catalog_row,
    withdraw_catalog_relation,
)
from canonry.gateway import replies
from canonry.gateway.offers import ContractFile
from canonry.gateway.tables import FieldTable
from canonry.gateway.tool import Arguments, Reply, Run, Schema, Tool, Toolset
from canonry.gateway.toolset_introduction import Face
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
_FORMS: Final[Mapping[Form, replies.Field]] = {
    Form.UUID: replies.UUID,
    Form.UUIDS: replies.array(replies.UUID).with_keywords(maxItems=IDS_MAX),
    Form.INSTANT: replies.INSTANT,
    Form.COUNT: replies.COUNT,
}
TABLE: Final = FieldTable(
    __package__,
    {
        "reason": replies.TEXT.with_keywords(maxLength=TEXT_MAX),
        "status_move": replies.enum(*StatusMove),
    },
)


_SAVED: Final = replies.Shape(
    id=replies.UUID,
    outcome=replies.enum("created", "changed", "unchanged").from_source(
        lambda saved: "unchanged" if saved.same else "created" if saved.made else "changed"
    ),
)


def _save_tool(table: CatalogTable) -> Tool:
    """A tool that makes or changes a row: only what names it must be given.

    A field that is left out stays as it is; null clears one that may be empty.
    """

    async def save_row(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return _SAVED(await save_catalog_row(canon, caller, table, arguments))

    hidden = _LIFE if table is ENTITIES else _KEPT_BY_US
    fields = {c.name: _column_schema(c) for c in table.columns if c.name not in hidden}
    return _make_tool(
        f"catalog_save_{table.noun.replace(' ', '_')}",
        save_row,
        takes={
            "type": "object",
            "properties": fields,
            "required": [each for each in ("projectId", "entityType") if each in fields],
            "additionalProperties": False,
        },
        gives=_SAVED.schema,
        title=f"Save {'an' if table is ENTITIES else 'a'} {table.noun}",
        idempotent=True,
    )


def _make_tool(name: str, run: Run, *, takes: Schema, gives: Schema, **more: Any) -> Tool:
    entry = {key: value for key, value in TABLE.tools[name].items() if key != "takes"}
    return Tool(
        name=name,
        input_schema=takes,
        output_schema=gives,
        roles=ROLES,
        run=run,
        read_only=False,
        extension=True,
        **entry,
        **more,
    )


def _column_schema(column: Column) -> Schema:
    if column.form is Form.WORD:
        schema: dict[str, Any] = {"type": "string", "enum": list(column.options)}
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


async def _move_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    project, entity_id = SpaceId(arguments["projectId"].lower()), arguments["entityId"].lower()
    action, reason = StatusMove(arguments["action"]), arguments.get("reason", "")
    after = await move_catalog_entity(canon, caller, project, entity_id, move=action, reason=reason)
    return {"id": entity_id, "status": after}


async def _withdraw_relation(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    project, relation = SpaceId(arguments["projectId"].lower()), arguments["relationId"].lower()
    reason = arguments.get("reason", "withdrawn")
    await withdraw_catalog_relation(canon, caller, project, relation, reason)
    return {"id": relation}


_SAVING: Final = (PROJECTS, ENTITIES, SOURCE_ITEMS, DISTRIBUTION_EVENTS, VIDEOS, RELATION_ROWS)
TOOLS: Final[tuple[Tool, ...]] = (
    *map(_save_tool, _SAVING),
    _make_tool(
        "catalog_move_entity",
        _move_entity,
        takes=TABLE.make_schema(TABLE.tools["catalog_move_entity"]["takes"]),
        gives=replies.object_schema({"id": replies.UUID, "status": replies.enum(*STATUSES)}),
    ),
    _make_tool(
        "catalog_withdraw_relation",
        _withdraw_relation,
        takes=TABLE.make_schema(TABLE.tools["catalog_withdraw_relation"]["takes"]),
        gives=replies.object_schema({"id": replies.UUID}),
    ),
)


_DIALECT: Final = replies.DialectTable.read_table(
    __package__, numbers={InvalidInput: replies.INVALID_PARAMS}
)

FACE: Final = Face.read_face(__package__)
OPERATOR: Final = Toolset(
    **FACE.to_fields(),
    agent_types=ROLES,
    dialect=_DIALECT.flat_error,
    tools=TOOLS,
    descriptions=ContractFile("canonry.catalog.operator", "words.json").read_contract(),
)

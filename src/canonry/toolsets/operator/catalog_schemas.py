"""Schemas of the tools that write a catalog, made from its tables, so that neither can differ."""

from collections.abc import Iterable, Mapping
from typing import Final

from canonry.domain.catalog.rows import IDS_MAX
from canonry.domain.vocabularies.catalog_tables import (
    CREATED_AT,
    UPDATED_AT,
    CatalogTable,
    Column,
    Form,
)
from canonry.gateway.tool import Schema

UUID: Final[Schema] = {"type": "string", "format": "uuid"}
_KEPT_BY_US: Final = (CREATED_AT, UPDATED_AT)
_FORMS: Final[Mapping[Form, Schema]] = {
    Form.UUID: UUID,
    Form.UUIDS: {"type": "array", "items": UUID, "maxItems": IDS_MAX},
    Form.INSTANT: {"type": "string", "format": "date-time"},
    Form.COUNT: {"type": "integer", "minimum": 0},
}
SAVED: Final[Schema] = {
    "type": "object",
    "properties": {
        "id": UUID,
        "outcome": {"type": "string", "enum": ["created", "changed", "unchanged"]},
    },
    "required": ["id", "outcome"],
    "additionalProperties": False,
}


def row_schema(table: CatalogTable, *, without: Iterable[str] = ()) -> Schema:
    """The arguments that make or change a row: only what names it must be given.

    A field that is left out stays as it is; null clears one that may be empty.
    """
    hidden = {*_KEPT_BY_US, *without}
    properties = {c.name: _field(c) for c in table.columns if c.name not in hidden}
    always = [name for name in ("projectId", "entityType") if name in properties]
    return {
        "type": "object",
        "properties": properties,
        "required": always,
        "additionalProperties": False,
    }


def _field(column: Column) -> Schema:
    schema = dict(_schema(column))
    if not column.required:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    return schema


def _schema(column: Column) -> Schema:
    if column.form is Form.WORD:
        return {"type": "string", "enum": list(column.words)}
    if column.form in {Form.TEXT, Form.ADDRESS}:
        least = {} if column.empty else {"minLength": 1}
        return {"type": "string", "maxLength": column.longest, **least}
    return _FORMS[column.form]

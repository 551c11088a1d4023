"""Schema tools: the types that there are, their versions, and how a new one is registered."""

from typing import Any, Final

from canonry.domain.vocabularies.schemas import FieldSpec, FieldType
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.truth.arguments import optional_text, text_of
from canonry.toolsets.truth.contract import truth_tool
from canonry.toolsets.truth.present import present_schema
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.register_schema import (
    NewSchema,
    count_types,
    list_schemas,
    register_schema,
)

_LISTED_MAX: Final = 1_000
"""So many types or schemas are listed; the total tells of more."""


async def _types(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del arguments  # there are none
    counts = await count_types(canon, caller)
    found: dict[str, Any] = {
        schema.entity_type: {
            "entity_type": schema.entity_type,
            "schema_version": schema.version,
            "label": schema.label,
            "fields": [
                {"name": spec.name, "type": spec.type.value, "required": spec.required}
                for spec in schema.fields
            ],
            "entity_count": counts.get(schema.entity_type, 0),
        }
        for schema in await list_schemas(canon, caller, None)
    }
    for entity_type, count in counts.items():
        if entity_type not in found:  # a type of another vocabulary
            found[entity_type] = {
                "entity_type": entity_type,
                "schema_version": "none",
                "label": entity_type.replace("_", " ").capitalize(),
                "fields": [],
                "entity_count": count,
            }
    listed = sorted(found)[:_LISTED_MAX]
    return {"entity_types": [found[name] for name in listed], "total": len(found)}


async def _register(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewSchema(
        entity_type=text_of(arguments, "entity_type"),
        fields=[
            FieldSpec(
                name=name,
                type=FieldType(said["type"]),
                required=bool(said.get("required", False)),
                aliases=tuple(said.get("aliases") or ()),
                policy=said.get("merge_policy") or "last_write",
                event_type=said.get("event_type"),
            )
            for name, said in arguments["fields"].items()
        ],
        identity=arguments.get("identity") or (),
        label=optional_text(arguments, "label"),
    )
    schema, registered = await register_schema(canon, caller, arguments["user_id"], new)
    return {
        "entity_type": schema.entity_type,
        "schema_version": schema.version,
        "registered": registered,
        "schema": present_schema(schema),
    }


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await list_schemas(canon, caller, optional_text(arguments, "entity_type"))
    return {
        "schemas": [present_schema(each) for each in found[:_LISTED_MAX]],
        "total": len(found),
    }


TOOLS: Final[tuple[Tool, ...]] = (
    truth_tool("list_entity_types", _types),
    truth_tool("register_entity_schema", _register),
    truth_tool("list_entity_schemas", _list),
)

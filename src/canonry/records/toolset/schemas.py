"""Schema tools: the types that there are, their versions, and how a new one is registered."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, Shape, array, given
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.log.schemas.schemas import EntitySchema, FieldSpec, FieldType
from canonry.log.schemas.truth_types import type_named
from canonry.records.toolset.shapes import (
    SCHEMA,
    SCHEMA_FIELD,
    UNRULED,
    Json,
    next_offset,
    optional_text,
    page_of,
    telling,
    text_of,
)
from canonry.records.usecases.register_schema import (
    NewSchema,
    count_types,
    list_schemas,
    register_schema,
)

_LISTED_MAX: Final = 1_000
"""So many schemas are listed; the total tells of more."""
_FIELDS_SHOWN: Final = 6
"""So many fields of a type are in its row."""
_TYPE: Final = Shape(
    **{name: SCHEMA.fields[name] for name in ("entity_type", "schema_version", "label")},
    fields=array(SCHEMA_FIELD),
    entity_count=given(COUNT),
    field_count=given(COUNT),
)


async def list_types(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """The types of the caller's entities, those with the most first."""
    wanted = optional_text(arguments, "entity_type")
    whole = wanted is not None or bool(arguments["include_fields"])
    page = page_of(arguments)
    counts = await count_types(canon, caller)
    schemas = {each.entity_type: each for each in await list_schemas(canon, caller, None)}
    names = sorted(schemas.keys() | counts.keys(), key=lambda name: (-counts.get(name, 0), name))
    if wanted is not None:
        names = [name for name in names if name == type_named(wanted)]
    listed = [
        _row(name, schemas.get(name), counts.get(name, 0), whole=whole)
        for name in names[page["offset"] : page["offset"] + page["limit"]]
    ]
    more = next_offset(page["offset"], len(listed), len(names))
    return {"entity_types": listed, "total": len(names), **more}


def _row(name: str, schema: EntitySchema | None, count: int, *, whole: bool) -> Json:
    """A type with the fields that tell its entities apart; none where no schema rules it."""
    if schema is None:
        label = name.replace("_", " ").capitalize()
        known: Json = {"entity_type": name, "schema_version": UNRULED, "label": label}
        return _TYPE(None, **known, fields=(), entity_count=count, field_count=0)
    fields = schema.fields if whole else telling(schema)[:_FIELDS_SHOWN]
    return _TYPE(schema, fields=fields, entity_count=count, field_count=len(schema.fields))


async def _register(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewSchema(
        entity_type=text_of(arguments, "entity_type"),
        fields=[
            FieldSpec(
                name=name,
                type=FieldType(spec["type"]),
                required=bool(spec.get("required", False)),
                aliases=tuple(spec.get("aliases") or ()),
                policy=spec.get("merge_policy") or "last_write",
                event_type=spec.get("event_type"),
            )
            for name, spec in arguments["fields"].items()
        ],
        identity=arguments.get("identity") or (),
        label=optional_text(arguments, "label"),
    )
    schema, registered = await register_schema(canon, caller, arguments.get("user_id"), new)
    return {
        "entity_type": schema.entity_type,
        "schema_version": schema.version,
        "registered": registered,
        "schema": SCHEMA(schema),
    }


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await list_schemas(canon, caller, optional_text(arguments, "entity_type"))
    return {
        "schemas": [SCHEMA(each) for each in found[:_LISTED_MAX]],
        "total": len(found),
    }


RUNS: Final[dict[str, Run]] = {
    "list_entity_types": list_types,
    "register_entity_schema": _register,
    "list_entity_schemas": _list,
}

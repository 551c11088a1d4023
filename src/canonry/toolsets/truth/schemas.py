"""Schema tools: the types that there are, their versions, and how a new one is registered."""

from typing import Final

from canonry.domain.vocabularies.schemas import FieldSpec, FieldType
from canonry.gateway.shapes import COUNT, Shape, array, given
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.toolsets.truth.arguments import optional_text, text_of
from canonry.toolsets.truth.shapes import SCHEMA, SCHEMA_FIELD, UNRULED, Json
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
_TYPE: Final = Shape(
    **{name: SCHEMA.fields[name] for name in ("entity_type", "schema_version", "label")},
    fields=array(SCHEMA_FIELD),
    entity_count=given(COUNT),
)


async def _types(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del arguments  # there are none
    counts = await count_types(canon, caller)
    schemas = {each.entity_type: each for each in await list_schemas(canon, caller, None)}
    names = sorted(schemas.keys() | counts.keys())
    listed = [
        _TYPE(schemas[name], entity_count=counts.get(name, 0))
        if name in schemas
        else _unruled(name, counts[name])
        for name in names[:_LISTED_MAX]
    ]
    return {"entity_types": listed, "total": len(names)}


def _unruled(name: str, count: int) -> Json:
    """A type of another vocabulary, which no schema rules."""
    label = name.replace("_", " ").capitalize()
    return _TYPE(
        entity_type=name, schema_version=UNRULED, label=label, fields=(), entity_count=count
    )


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
    schema, registered = await register_schema(canon, caller, arguments["user_id"], new)
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
    "list_entity_types": _types,
    "register_entity_schema": _register,
    "list_entity_schemas": _list,
}

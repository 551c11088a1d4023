"""Rows: entities as lists answer them, each with as many whole values as a short line holds.

A value is shown whole or not at all: a shortened one would be taken for the value.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from canonry.canon.session.account import account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.schemas import EntitySchema, FieldSpec
from canonry.records.domain.borne_keys import KeyStatus
from canonry.records.domain.shown import shown_by
from canonry.records.toolset.shapes import ENTITY, Json
from canonry.records.usecases.schemas_in_force import schema_of, schemas_for
from canonry.values.ids import EntityId
from canonry.values.json_values import encode_json

ROW_BYTES: Final = 180
"""So many bytes of fields are in a row."""


async def rows_of(
    canon: Canon,
    caller: Caller,
    entities: Sequence[Entity],
    *,
    snapshots: bool | None,
    statuses: Mapping[EntityId, KeyStatus] = MappingProxyType({}),
) -> list[Json]:
    """The entities with whole snapshots, with none, or with the fields that fit a row.

    `statuses` say what the key by which an entity was found is to it.
    """
    if snapshots is False:
        return [ENTITY(each, key_status=statuses.get(each.id)) for each in entities]
    account = account_of(caller)
    schemas = await schemas_for(canon, account, entities)
    rows = []
    for each in entities:
        schema = schema_of(schemas, account, each)
        fields = shown_by(each, schema).fields
        shown = fields if snapshots else _fitting(fields, schema)
        left = len(fields) - len(shown) or None
        status = statuses.get(each.id)
        rows.append(ENTITY(each, snapshot=shown, more_fields=left, key_status=status))
    return rows


def telling(schema: EntitySchema | None) -> Sequence[FieldSpec]:
    """The fields of a schema by which its entities are named and told apart, in its order."""
    if schema is None:
        return ()
    named = {name for group in schema.names for name in group}
    keys = {name for rule in schema.identity for each in rule.fields for name in each.split("|")}
    return [each for each in schema.fields if each.required or each.name in named | keys]


def _fitting(fields: Mapping[str, Any], schema: EntitySchema | None) -> Mapping[str, Any]:
    """Those that tell it apart before the others, as long as there is room."""
    order: Iterable[str] = dict.fromkeys((*(each.name for each in telling(schema)), *fields))
    room, chosen = ROW_BYTES, set()
    for name in order:
        if name in fields:
            needed = len(encode_json({name: fields[name]}))
            if needed <= room:
                room -= needed
                chosen.add(name)
    return {name: value for name, value in fields.items() if name in chosen}


def next_offset(offset: int, shown: int, total: int) -> Json:
    """Where the next page begins, if there is one."""
    return {"next_offset": offset + shown} if shown > 0 and offset + shown < total else {}

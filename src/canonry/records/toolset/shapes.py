"""Shapes of arguments and replies of the truth toolset."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import account_of, entity_id_in, require_item, within_account
from canonry.gateway import tables
from canonry.gateway.limits import checked_text
from canonry.gateway.replies import OBJECT, WORD, Field, Shape
from canonry.gateway.tool import Arguments, File, Reply, Run, Variables
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Source, alias_of
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, FieldSpec, FieldType
from canonry.readmodels.timeline import TimelineEvent
from canonry.records.domain.assertions import KeyStatus
from canonry.records.domain.queries import Condition, Period
from canonry.records.domain.snapshots import shown_by
from canonry.records.toolset.contract import shape_of
from canonry.records.usecases.files import own_file
from canonry.records.usecases.schemas import schema_of, schemas_for
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, is_uuid
from canonry.values.json_values import encode_json
from canonry.values.moments import Instant, parse_instant, render_instant
from canonry.values.observations import Observation

Json = dict[str, Any]
UNRULED: Final = "none"
"""The schema version of entities without a schema."""


def _plain_fields(observation: Observation) -> Json:
    """Return the observed fields without prefixes."""
    ruled = observation.schema_version is not None
    return {
        name.removeprefix(PROPERTY_PREFIX): value
        for name, value in observation.fields.items()
        if not ruled or name.startswith(PROPERTY_PREFIX)
    }


def by_name(shape: Shape) -> Field:
    """Declare an object with values of this shape."""
    return OBJECT.with_render(lambda found: {name: shape(each) for name, each in found.items()})


FRAGMENT: Final = Shape(value=Field({}, nullable=True), reason=WORD)
ENTITY: Final = shape_of("listed_entity", entity_alias=lambda entity: alias_of(entity.id))
KEY: Final = shape_of("key")
OBSERVATION: Final = shape_of(
    "observation",
    schema_version=lambda observation: observation.schema_version or UNRULED,
    fields=_plain_fields,
    raw_fragments=by_name(FRAGMENT).from_source(lambda observation: observation.fragments or None),
)
WITNESS: Final = shape_of("field_observation")
"""An observation without its fields."""
RELATION: Final = shape_of("relationship")
SOURCE: Final = shape_of("source")
EVENT: Final = shape_of("event")
RUN: Final = shape_of("run")
WARNING: Final = shape_of("warning")
DUPLICATE: Final = shape_of("duplicate")
SCHEMA_FIELD: Final = shape_of("schema_field")
SCHEMA: Final = shape_of(
    "schema",
    identity=lambda schema: [list(rule.fields) for rule in schema.identity],
    builtin=lambda schema: not schema.space,
    # Built-in schemas and new drafts have no time.
    registered_at=lambda schema: getattr(schema, "created_at", None),
)


def present_observation(observation: Observation, entity: Entity) -> Json:
    """Return an observation of an entity, or of one merged into it, as a row."""
    own = observation.entity_id == entity.id
    return OBSERVATION(
        observation,
        entity_id=entity.id,
        entity_type=entity.entity_type,
        observed_entity_id=None if own else observation.entity_id,
    )


def present_event(
    event: TimelineEvent, entities: Mapping[str, Entity], *, superseded: bool | None = None
) -> Json:
    """Return an event as a row with the survivors of its entities."""
    about = [entities[e.entity_id] for e in event.entries if e.entity_id in entities]
    fields = sorted({entry.field for entry in event.entries})
    types = sorted({entity.entity_type for entity in about})
    properties: Json = {"field": fields[0], "value": render_instant(event.instant)}
    if types:
        properties["entity_type"] = types[0]
    if len(fields) > 1:
        properties["fields"] = fields
    ids = dict.fromkeys(entity.id for entity in about)
    return EVENT(event, entity_ids=ids, properties=properties, superseded=superseded)


# Rows of entities in lists, each with as many values as fit.
#
# A value is shown whole or not at all, because a shortened one could be mistaken for the value.

ROW_BYTES: Final = 180
"""The most bytes of fields in a row."""


async def rows_of(
    canon: Canon,
    caller: Caller,
    entities: Sequence[Entity],
    *,
    snapshots: bool | None,
    statuses: Mapping[EntityId, KeyStatus] = MappingProxyType({}),
) -> list[Json]:
    """Return entities as rows with whole snapshots, with none, or with the fields that fit.

    `statuses` has the status of the key by which an entity was found.
    """
    if snapshots is False:
        return [ENTITY(each, key_status=statuses.get(each.id)) for each in entities]
    account = account_of(caller)
    schemas = await schemas_for(canon, account, entities)
    rows = []
    for each in entities:
        schema = schema_of(schemas, account, each)
        fields = shown_by(each, schema).fields
        shown = fields if snapshots else _fitting_fields(fields, schema)
        left = len(fields) - len(shown) or None
        status = statuses.get(each.id)
        rows.append(ENTITY(each, snapshot=shown, more_fields=left, key_status=status))
    return rows


def identifying_fields(schema: EntitySchema | None) -> Sequence[FieldSpec]:
    """Return the fields of a schema that name or identify its entities, in its order."""
    if schema is None:
        return ()
    named = {name for group in schema.names for name in group}
    keys = {name for rule in schema.identity for each in rule.fields for name in each.split("|")}
    return [each for each in schema.fields if each.required or each.name in named | keys]


def _fitting_fields(fields: Mapping[str, Any], schema: EntitySchema | None) -> Mapping[str, Any]:
    """Choose the fields that fit a row, identifying ones first."""
    order: Iterable[str] = dict.fromkeys((*(e.name for e in identifying_fields(schema)), *fields))
    room, chosen = ROW_BYTES, set()
    for name in order:
        if name in fields:
            needed = len(encode_json({name: fields[name]}))
            if needed <= room:
                room -= needed
                chosen.add(name)
    return {name: value for name, value in fields.items() if name in chosen}


def next_offset(offset: int, shown: int, total: int) -> Json:
    """Return the offset of the next page, if there is one."""
    return {"next_offset": offset + shown} if shown > 0 and offset + shown < total else {}


# Arguments: read tool arguments into domain values.
#
# The gateway has checked types and enums by the schema before. Ids are returned in lower case.

NAME_MAX: Final = 200  # names are parts of keys and of each observation
TEXT_MAX: Final = 2_000  # bounds a search, which compares all words
_COUNTED_MAX: Final = 2**53 - 1  # JSON readers round larger numbers
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_OFFSET: Final = re.compile(r"([Zz]|[+-]\d\d:?\d\d)$", re.ASCII)
_COMPACT: Final = re.compile(r"([+-]\d\d)(\d\d)$", re.ASCII)
_MINUTES: Final = re.compile(r"(T\d\d:\d\d)(?=Z|[+-]|$)", re.ASCII)


def source_id_in(text: str, path: str) -> str:
    """Return the source id in a text.

    Raises:
        InvalidInput: `source-id.malformed`.
    """
    given = text.strip()
    if not is_uuid(given):
        message = f"{path} must be a source id, which is a UUID with hyphens."
        raise InvalidInput("source-id.malformed", message, path=path)
    return given.lower()


def read_instant(value: str, path: str, *, end_of_day: bool = False) -> Instant:
    """Return the instant in an ISO 8601 text; without an offset it is UTC.

    A date alone is its beginning, or its last microsecond with `end_of_day`.

    Raises:
        InvalidInput: `time.malformed`.
    """
    text = value.strip()
    if _DAY.fullmatch(text):
        text += "T23:59:59.999999Z" if end_of_day else "T00:00:00Z"
    else:
        text = text.replace(" ", "T", 1) if "T" not in text.upper() else text
        text = _COMPACT.sub(r"\1:\2", text) if "T" in text else text
        text = _MINUTES.sub(r"\1:00", text)
        text += "" if _OFFSET.search(text) else "Z"
    return parse_instant(text, path=path)


def _offset(value: float, path: str, _: tables.CallArguments) -> int:
    if value > _COUNTED_MAX:
        message = f"{path} is {int(value)}; it must be at most {_COUNTED_MAX}."
        raise InvalidInput("number.too-large", message, path=path, limit=_COUNTED_MAX)
    return int(value)


READERS: Final[Mapping[str, tables.ReadValue]] = {
    "day_end": lambda value, path, _: read_instant(value, path, end_of_day=True),
    "entity": lambda value, path, _: entity_id_in(value, path),
    "field_specs": lambda value, _path, _asking: [
        FieldSpec(
            name=name,
            type=FieldType(spec["type"]),
            required=bool(spec.get("required", False)),
            aliases=tuple(spec.get("aliases") or ()),
            policy=spec.get("merge_policy") or "last_write",
            event_type=spec.get("event_type"),
        )
        for name, spec in value.items()
    ],
    "long": lambda value, path, _: checked_text(value, TEXT_MAX, path=path),
    "moment": lambda value, path, _: read_instant(value, path),
    "name": lambda value, path, _: checked_text(value, NAME_MAX, path=path),
    "offset": _offset,
    "period": lambda value, _path, _asking: Period(value),
    "source": lambda value, path, _: source_id_in(value, path),
    "whole": lambda value, _path, _asking: int(value),
}
DEFAULTING: Final[Mapping[str, tables.ReadValue]] = {
    "conditions": lambda value, _path, _asking: tuple(
        Condition(
            field=checked_text(each["field"], NAME_MAX, path="/field"),
            equals=each.get("equals"),
            contains=None
            if (part := each.get("contains")) is None
            else (checked_text(part, TEXT_MAX, path="/contains")),
            low=each.get("from"),
            high=each.get("to"),
        )
        for each in value or ()
    ),
    "mapping": lambda value, _path, _asking: value or {},
    "reason": lambda value, path, own: "" if value is None else READERS["long"](value, path, own),
    "values": lambda value, _path, _asking: tuple(value or ()),
}
"""Readers that read missing arguments, too."""


async def _source_json(canon: Canon, caller: Caller, variables: Variables) -> str:
    source = await require_item(canon, within_account(caller), Source, variables["source_id"])
    file = {"file": FILE.uri_for(source.id)} if source.files else {}
    return as_json({**SOURCE(source), **file})


async def _file_content(canon: Canon, caller: Caller, variables: Variables) -> File:
    found = await own_file(canon, caller, variables["file_id"])
    return File(data=found.data, mime_type=found.mime_type)


def as_json(value: Any) -> str:
    """Return a reply as the text of a resource."""
    return encode_json(value).decode()


TABLE: Final = tables.FieldTable(__package__, readers=READERS, defaulting=DEFAULTING)
SOURCE_LINK: Final = TABLE.make_resource("source", _source_json)
FILE: Final = TABLE.make_resource("file", _file_content)


def reading_run(
    name: str, operation: Callable[..., Awaitable[Any]], shown: Shape | None = None
) -> Run:
    """Return the run of a tool, whose arguments `tools.toml` reads.

    `operation(canon, caller, ...)` takes them by the names of their parameters; a parameter that is
    a dataclass is made of those that are its fields. `shown` makes the reply of its result.
    """
    readings = TABLE.list_readings(TABLE.tools[name]["takes"])
    compose = tables.compose_arguments(operation, readings, ("canon", "caller"))

    @wraps(operation)  # `canonry tools` shows where this is
    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        values = tables.read_arguments(readings, tables.CallArguments(arguments))
        found = await operation(canon, caller, **compose(tables.fill_parameters(readings, values)))
        own = () if shown is None else shown.given
        return shown(found, **{n: values[n] for n in own if n in values}) if shown else found

    return run


def runs_of(**operations: Any) -> dict[str, Run]:
    """Return the runs of tools by name, each of an operation, or of a pair with its shape."""
    reported = {n: each if isinstance(each, tuple) else (each,) for n, each in operations.items()}
    return {name: reading_run(name, *each) for name, each in reported.items()}

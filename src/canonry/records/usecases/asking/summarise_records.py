"""Summarise records: how many there are and what they come to, by group and period."""

from dataclasses import dataclass, replace
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import type_named
from canonry.records.domain.asking.filters import (
    Matcher,
    RecordSelection,
    dates_of,
    require_field,
    require_selection,
)
from canonry.records.domain.asking.sums import (
    RunningSums,
    Summed,
    Summing,
    require_date,
    require_number,
)
from canonry.records.usecases.asking.own_records import own_records, schema_named
from canonry.values.errors import NotFound
from canonry.values.revising import revised

_TYPES_MAX: Final = 20
"""So many of the types that there are stand in an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsSummed:
    """The sums, and what was added up, by the fields' own names."""

    entity_type: str
    asked: Summing
    summed: Summed


async def summarise_records(
    canon: Canon, caller: Caller, selection: RecordSelection, asked: Summing
) -> RecordsSummed:
    """Sums over the records of one type in the own account.

    Raises:
        NotFound: `type.unknown` or `field.unknown`.
        InvalidInput: `sum.not-a-number`, `sum.not-a-date`, and as the selection says.
    """
    table = await own_records(canon, caller)
    entity_type = type_named(selection.entity_type or "")
    schema = schema_named(table, entity_type)
    if schema is None:
        kinds = sorted({row.entity_type for row in table.ordered})[:_TYPES_MAX]
        message = f"there are no records of this type; there are {', '.join(kinds) or 'none'}"
        raise NotFound("type.unknown", message, kind="entity type", path="/entity_type")
    selection = revised(selection, entity_type=schema.entity_type)
    require_selection(selection, {schema.entity_type: schema})
    asked = _meant(schema, asked)
    summary, matcher = RunningSums(schema, asked), Matcher(selection, schema)
    for row in table.ordered:
        if row.entity_type != schema.entity_type:
            continue
        if matcher.fields(row) is not None:
            summary.add(row)
        elif (name := matcher.unclear(row)) is not None:
            summary.leave_out(row, name, row.unclear[name])
    return RecordsSummed(entity_type=schema.entity_type, asked=asked, summed=summary.result())


def _meant(schema: EntitySchema, asked: Summing) -> Summing:
    """What is asked with the fields' own names, and the date that a period goes by."""
    name = asked.field and require_field(schema, asked.field, "/field")
    if name:
        require_number(schema, name, "/field")
    groups = tuple(
        require_field(schema, each, f"/group_by/{number}")
        for number, each in enumerate(asked.group_by)
    )
    dated = asked.date_field and require_field(schema, asked.date_field, "/date_field")
    if dated:
        require_date(schema, dated, "/date_field")
    if asked.period is not None and not dated:
        dates = dates_of(schema)
        if not dates:
            message = f"{schema.entity_type} has no date to tell periods by; leave period out"
            raise NotFound("field.unknown", message, kind="field", path="/period")
        dated = dates[0]
    return replace(asked, field=name, group_by=groups, date_field=dated)

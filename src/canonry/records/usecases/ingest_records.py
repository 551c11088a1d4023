"""Ingest records, in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.session.account import require_account, within_account
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import answered
from canonry.canon.session.paging import OF_RECORD, aside
from canonry.log.items.sources import InterpretationRun, SourceType, run_id_of
from canonry.records.domain.interpretations import RECORDS_MAX, Found
from canonry.records.usecases.interpret_source import BATCH
from canonry.records.usecases.record_source import Recorded, record_source, source_of_words
from canonry.records.usecases.records import Statement
from canonry.values.errors import InvalidInput
from canonry.values.ids import RunId
from canonry.values.json_values import canonical_json
from canonry.values.moments import SECOND, Instant
from canonry.values.observations import (
    PRIORITY_CORRECTION,
    PRIORITY_STRUCTURED,
    SPECIFICITY_STATED,
)

ENTITY_TYPE: Final = "entity_type"
SKEW: Final = 60 * SECOND
"""So far two clocks may be apart."""

_CODE: Final = "codebase_entity"
_CONFIG: Final = {"provider": "records"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRecords:
    """Records as they are handed over, and who read them out of what, and when."""

    entities: Sequence[Mapping[str, Any]]
    priority: int = PRIORITY_STRUCTURED
    observed_at: Instant | None = None
    provenance: Mapping[str, Any] | None = None


async def ingest_records(
    canon: Canon, caller: Caller, user_id: str | None, given: GivenRecords
) -> Recorded:
    """Keep the records, all of them or none.

    Raises:
        InvalidInput: `user.mismatch`, `records.none`, `records.priority`, `time.future`, or as
            recording says.
    """
    account = require_account(caller, user_id)
    if not given.entities:
        message = "hand over at least one entity, or a file"
        raise InvalidInput("records.none", message, path="/entities")
    if not 0 <= given.priority < PRIORITY_CORRECTION:
        most = PRIORITY_CORRECTION - 1
        message = f"source_priority lies between 0 and {most}; a correction has more"
        raise InvalidInput("records.priority", message, path="/source_priority")
    if given.observed_at is not None and given.observed_at > canon.clock.now() + SKEW:
        message = "extracted_at lies in the future, where it would outlast all that is said later"
        raise InvalidInput("time.future", message, path="/provenance/extracted_at")
    weight = len(given.entities) * OF_RECORD
    content, records = await aside(weight, lambda: _taken(given.entities))
    source = source_of_words(account, SourceType.RECORDS, content, given.provenance)
    statement = Statement(
        account=account,
        source=source,
        config=_CONFIG,
        records=records,
        priority=given.priority,
        specificity=SPECIFICITY_STATED,
        observed_at=given.observed_at,
        repeatable=True,
        started_at=canon.clock.now(),
    )
    return await record_source(canon, within_account(caller), statement)


def _taken(entities: Sequence[Mapping[str, Any]]) -> tuple[bytes, Sequence[Found]]:
    """The records as they are kept, and as they are recorded."""
    return canonical_json(entities), [_found(each) for each in entities]


def _found(record: Mapping[str, Any]) -> Found:
    fields = {name: value for name, value in record.items() if name != ENTITY_TYPE}
    kind = str(record[ENTITY_TYPE])
    inner = fields.get("fields")
    if kind == _CODE and isinstance(inner, Mapping):  # whose own kind is called entity_type too
        own = {f"codebase_{n}" if n == ENTITY_TYPE else n: v for n, v in inner.items()}
        fields = {**own, **{n: v for n, v in fields.items() if n != "fields"}}
    return Found(entity_type=kind, fields=fields)


# Record in batches: of very many records of a source each batch becomes canon by one commit.
#
# A batch is written whole or not at all and has a run of its own; the run of the source is that of
# the last one. So whoever brings a file again that was interrupted goes on where it ended.

TOGETHER: Final = 2_500
_TOLD_MAX: Final = 100
"""So many duplicates and warnings of all batches are told."""


async def record_batches(
    canon: Canon, caller: Caller, statement: Statement, records: Sequence[Found]
) -> Recorded:
    """Write all records that the source states: at once, or in batches where they are very many.

    Raises:
        InvalidInput: as `require_bounds` says.
        CanonryError: as commits say; what was written before stays.
    """
    total = len(records)
    if total <= RECORDS_MAX:
        return await record_source(canon, caller, replace(statement, records=records))
    whole: Recorded | None = None
    last = (total - 1) // TOGETHER
    for number in range(last):
        batch = _batch(statement, records, number)
        told = step(_from(caller, number * TOGETHER, TOGETHER, total), f"batch {number}")
        if await answered(canon, told, statement.account.space) or not await _is_recorded(
            canon, batch
        ):
            whole = _with(whole, await record_source(canon, told, batch))
    batch = replace(statement, records=_some(records, last))
    told = _from(caller, last * TOGETHER, len(batch.records), total)
    return replace(_with(whole, await record_source(canon, told, batch)), total=total)


def _some(records: Sequence[Found], number: int) -> Sequence[Found]:
    return records[number * TOGETHER : (number + 1) * TOGETHER]


async def _is_recorded(canon: Canon, batch: Statement) -> bool:
    run_id = RunId(run_id_of(batch.source.id, batch.config))
    known = await canon.within(batch.account.space).things((run_id,))
    return isinstance(known.get(run_id), InterpretationRun)


def _batch(statement: Statement, records: Sequence[Found], number: int) -> Statement:
    """One of the batches before the last, which says alone what is said of the whole."""
    return replace(
        statement,
        records=_some(records, number),
        alike=records if number == 0 else (),
        config={**statement.config, BATCH: number + 1},
        notes=(),
        brought=(),
        excerpts=(),
    )


def _from(caller: Caller, begin: int, size: int, whole: int) -> Caller:
    """The caller, who is told of a batch of this size as of so much of the whole."""

    async def tell(done: float, total: float | None, message: str) -> None:
        share = done / total if total else 0.0
        await caller.progress(begin + share * size, whole, message)

    return replace(caller, progress=tell)


def _with(whole: Recorded | None, batch: Recorded) -> Recorded:
    """What became of the batches so far; of the records those of the first are told."""
    if whole is None:
        return batch
    return replace(
        whole,
        run=batch.run,
        observations=whole.observations + batch.observations,
        duplicates=[*whole.duplicates, *batch.duplicates][:_TOLD_MAX],
        warnings=(*whole.warnings, *batch.warnings)[:_TOLD_MAX],
    )

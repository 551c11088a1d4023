"""Record in batches: of very many records of a source each batch becomes canon by one commit.

A batch is written whole or not at all and has a run of its own; the run of the source is that of
the last one. So whoever brings a file again that was interrupted goes on where it ended.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import answered
from canonry.log.items.accounts import run_id_of
from canonry.log.items.runs import InterpretationRun
from canonry.records.domain.interpretations import Found
from canonry.records.domain.record_bounds import RECORDS_MAX
from canonry.records.usecases.interpret_source import BATCH
from canonry.records.usecases.read_records import Statement
from canonry.records.usecases.record_source import Recorded, record_source
from canonry.values.ids import RunId

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

"""Record in batches: of very many records of a source each batch becomes canon by one commit.

A batch is written whole or not at all and has a run of its own; the run of the source is that of
the last one. So whoever brings a file again that was interrupted goes on where it ended.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pickle import dumps, loads
from typing import Final
from zlib import compress, decompress

from canonry.domain.ids import RunId
from canonry.domain.truth.accounts import run_id_of
from canonry.domain.truth.interpretations import Found
from canonry.domain.truth.record_bounds import RECORDS_MAX
from canonry.domain.truth.runs import InterpretationRun
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.interpret_source import BATCH
from canonry.usecases.truth.read_records import Statement
from canonry.usecases.truth.record_source import Recorded, record_source

TOGETHER: Final = 5_000
_TOLD_MAX: Final = 100
"""So many duplicates and warnings of all batches are told."""


async def record_batches(
    canon: Canon, caller: Caller, statement: Statement, records: list[Found]
) -> Recorded:
    """Write all records that the source states: at once, or in batches where they are very many.

    The list is then emptied.

    Raises:
        InvalidInput: as `require_bounds` says.
        CanonryError: as commits say; what was written before stays.
    """
    total = len(records)
    if total <= RECORDS_MAX:
        return await record_source(canon, caller, replace(statement, records=records))
    whole: Recorded | None = None
    kept = await asyncio.to_thread(_PackedRecords, records)
    records.clear()
    last = len(kept) - 1
    for number in range(last):
        batch = _batch(statement, kept, number)
        if not await _is_recorded(canon, batch):
            told = _from(caller, number * TOGETHER, TOGETHER, total)
            whole = _with(whole, await record_source(canon, told, batch))
    batch = replace(statement, records=kept.batch(last))
    told = _from(caller, last * TOGETHER, len(batch.records), total)
    return replace(_with(whole, await record_source(canon, told, batch)), total=total)


class _PackedRecords:
    """Records on their way, packed, so that a long file takes little more memory than a short one.

    Whoever iterates has one batch of them unpacked at a time.
    """

    def __init__(self, records: Sequence[Found]) -> None:
        starts = range(0, len(records), TOGETHER)
        self._batches = [compress(dumps(records[n : n + TOGETHER]), 1) for n in starts]

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Found]:
        return chain.from_iterable(map(self.batch, range(len(self))))

    def batch(self, number: int) -> Sequence[Found]:
        """The records of the batch with this number, from 0."""
        found: Sequence[Found] = loads(decompress(self._batches[number]))  # noqa: S301 - our own
        return found


async def _is_recorded(canon: Canon, batch: Statement) -> bool:
    run_id = RunId(run_id_of(batch.source.id, batch.config))
    known = await canon.within(batch.account.space).things((run_id,))
    return isinstance(known.get(run_id), InterpretationRun)


def _batch(statement: Statement, kept: _PackedRecords, number: int) -> Statement:
    """One of the batches before the last, which says alone what is said of the whole."""
    return replace(
        statement,
        records=kept.batch(number),
        alike=kept if number == 0 else (),
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

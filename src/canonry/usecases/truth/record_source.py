"""Record a source: its records become canon by one commit, with the run that read them out of it.

Recording the same source again adds nothing, unless somebody has said otherwise since: then its
word is given once more, as what was said last.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from canonry.domain.ids import NewId, RunId
from canonry.domain.log.entries import Entry, Made
from canonry.domain.log.keys import thing_key
from canonry.domain.things.sources import Source, SourceDraft
from canonry.domain.truth.accounts import run_id_of
from canonry.domain.truth.assertions import Warned
from canonry.domain.truth.record_bounds import require_bounds
from canonry.domain.truth.runs import InterpretationRun, RunDraft, RunStatus
from canonry.usecases.kernel.account import opened
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.pacing import OF_RECORD, Pace, aside
from canonry.usecases.truth.read_records import Statement, read_records
from canonry.usecases.truth.record_entities import (
    TOLD_MAX,
    Duplicate,
    RecordedAs,
    Recording,
    record_entities,
)

_PHASES: Final = 3
"""Each record is read, matched with what is known, and kept."""

NOTED: Final = "interpretation.noted"
"""The code of what an interpreter says of its reading as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What became of a statement; `again`: the source was there before."""

    source: SourceDraft
    run: RunDraft
    records: Sequence[RecordedAs]
    duplicates: Sequence[Duplicate]
    observations: int
    warnings: tuple[Warned, ...]
    again: bool


async def record_source(canon: Canon, caller: Caller, statement: Statement) -> Recorded:
    """Write everything that the source states, or nothing.

    Raises:
        InvalidInput: as `require_bounds` says.
        CanonryError: as commits say.
    """
    account, source = statement.account, statement.source
    weight = len(statement.records) * OF_RECORD
    weight += await aside(weight, lambda: require_bounds(statement.records))
    run_id = RunId(run_id_of(source.id, statement.config))
    pace = Pace(progress=caller.progress, total=_PHASES * len(statement.records), weight=weight)

    async def prepare(new_id: NewId) -> Change[Recorded]:
        pace.done = 0
        known = await canon.within(account.space).things((account.space, source.id, run_id))
        before, made = known.get(source.id), known.get(run_id)
        reading = await read_records(canon, statement, run_id, pace, again=run_id in known)
        recording = await record_entities(canon, reading, new_id, pace)
        warnings = (
            *(Warned(code=NOTED, message=note, path="") for note in statement.notes),
            *(w for a in reading.assertions for w in a.warnings),
        )
        run: RunDraft | None = made if isinstance(made, InterpretationRun) else None
        entries: list[Entry] = [*opened(account, known)]
        if not isinstance(before, Source):
            entries.append(Made(thing=source))
        if run is None or (statement.repeatable and recording.entries):
            entries += (Made(thing=schema) for schema in reading.registered)
            entries += recording.entries
        if run is None:
            run = _run(canon, statement, run_id, recording, warnings)
            entries.append(Made(thing=run))
        recorded = Recorded(
            source=before if isinstance(before, Source) else source,
            run=run,
            records=recording.records,
            duplicates=tuple(recording.duplicates.values())[:TOLD_MAX],
            observations=recording.observations,
            warnings=warnings,
            again=isinstance(before, Source),
        )
        ids = (account.space, source.id, run_id)
        reads = frozenset().union(recording.reads, reading.reads, map(thing_key, ids))
        return Change(entries=tuple(entries), reads=reads, found=recorded)

    unkeyed = replace(caller, idempotency_key=None)
    receipt = await commit_change(canon, unkeyed, account.space, prepare)
    pace.done = pace.total
    await pace.tell("records kept")
    return receipt.prepared()


def _run(
    canon: Canon,
    statement: Statement,
    run_id: RunId,
    recording: Recording,
    warnings: Sequence[Warned],
) -> RunDraft:
    return RunDraft(
        id=run_id,
        space=statement.account.space,
        source_id=statement.source.id,
        config=dict(statement.config),
        status=RunStatus.COMPLETED,
        entities_created=recording.entities,
        observations_created=recording.observations,
        fragments=recording.fragments,
        warnings=tuple(dict.fromkeys(each.code for each in warnings)),
        started_at=statement.started_at,
        ended_at=canon.clock.now(),
    )

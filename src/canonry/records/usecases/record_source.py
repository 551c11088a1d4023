"""Record what a source says: a file, a user's words, or records in batches."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from canonry.canon.session.account import Account, opened, require_account, within_account
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, answered, commit_change, found_by
from canonry.canon.session.paging import OF_RECORD, Pace, aside
from canonry.log.entries import Entry, Made, Thing
from canonry.log.folding import thing_key
from canonry.log.items.entities import EntityDraft
from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.items.sources import (
    InterpretationRun,
    RunDraft,
    RunStatus,
    Snippet,
    SnippetDraft,
    Source,
    SourceDraft,
    SourceType,
    run_id_of,
    source_id_of,
)
from canonry.log.schemas.schemas import TruthRelation
from canonry.records.domain.assertions import Warned
from canonry.records.domain.interpretations import RECORDS_MAX, Found, require_bounds
from canonry.records.usecases.interpret_source import BATCH, EXCERPTS_MAX
from canonry.records.usecases.record_entities import (
    TOLD_MAX,
    Duplicate,
    RecordedAs,
    Recording,
    record_entities,
)
from canonry.records.usecases.records import RecordReading, Statement, read_records
from canonry.records.usecases.relationships import edge
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, NewId, ObservationId, RunId, SnippetId, content_id
from canonry.values.json_values import canonical_json
from canonry.values.moments import SECOND, Instant
from canonry.values.observations import (
    PRIORITY_CORRECTION,
    PRIORITY_STRUCTURED,
    SPECIFICITY_STATED,
    ObservationDraft,
)
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

# Record a source: its records become canon by one commit, with the run that read them out of it.
#
# Recording the same source again adds nothing, unless somebody has said otherwise since: then its
# word is given once more, as what was said last.

_PHASES: Final = 3
"""Each record is read, matched with what is known, and kept."""

NOTED: Final = "interpretation.noted"
"""The code of what an interpreter says of its reading as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What became of a statement; `again`: the source was there before.

    `total` records were kept, of which `records` are the first.
    """

    source: SourceDraft
    run: RunDraft
    records: Sequence[RecordedAs]
    total: int
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
        own = canon.within(account.space)
        known = await own.things((account.space, source.id, run_id))
        before, made = known.get(source.id), known.get(run_id)
        reading = await read_records(
            canon, statement, run_id, pace, again=isinstance(made, InterpretationRun)
        )
        weighed = await _weight_before(canon, source) if reading.again else None
        reading = replace(reading, heavier=weighed is not None and weighed < statement.priority)
        recording = await record_entities(canon, reading, new_id, pace)
        warnings = _warnings(statement, reading, weighed)
        run: RunDraft | None = made if isinstance(made, InterpretationRun) else None
        entries: list[Entry] = [*opened(account, known)]
        if not isinstance(before, Source):
            entries.append(Made(thing=source))
        if run is None or (statement.repeatable and recording.entries):
            entries += (Made(thing=schema) for schema in reading.registered)
            entries += recording.entries
        edges = {each.id: each for each in _edges(statement, recording)}
        if run is None:
            told: list[RelationDraft | SnippetDraft] = [*edges.values(), *_excerpts(statement)]
            beside = {str(each.id): each for each in told}
            there = await own.things(beside)
            entries += (Made(thing=e) for i, e in beside.items() if not _stands(there.get(i)))
            run = _run(canon, statement, run_id, recording, warnings)
            entries.append(Made(thing=run))
        known_source = before if isinstance(before, Source) else None
        recorded = _recorded(statement, known_source, run, recording, warnings)
        ids = (account.space, source.id, run_id, *edges)
        reads = frozenset().union(recording.reads, reading.reads, map(thing_key, ids))
        return Change(entries=tuple(entries), reads=reads, found=recorded)

    receipt = await commit_change(canon, caller, account.space, prepare)
    found = await found_by(receipt, prepare)
    pace.done = pace.total
    await pace.tell("records kept")
    return found if receipt.found is not None else _as_first_told(found, receipt)


def _recorded(
    statement: Statement,
    known: Source | None,
    run: RunDraft,
    recording: Recording,
    warnings: Sequence[Warned],
) -> Recorded:
    """What became of the statement; `known` is its source where that was recorded before."""
    return Recorded(
        source=known or statement.source,
        run=run,
        records=[
            replace(each, reasons=found.reasons) if found.reasons else each
            for each, found in zip(recording.records, statement.records, strict=True)
        ],
        total=len(recording.records),
        duplicates=tuple(recording.duplicates.values())[:TOLD_MAX],
        observations=len(recording.kept),
        warnings=tuple(warnings),
        again=known is not None,
    )


def _as_first_told(found: Recorded, receipt: Receipt[Recorded]) -> Recorded:
    """What a retry finds, told as the earlier call that wrote it would have told it."""
    made = {each.id for each in receipt.made(SourceDraft, EntityDraft)}
    seen: dict[EntityId, list[ObservationId]] = {}
    for each in receipt.made(ObservationDraft):
        if isinstance(each, ObservationDraft):
            seen.setdefault(each.entity_id, []).append(each.id)
    times = Counter(each.entity_id for each in found.records)
    # Of whom a record only named before it was told of, one observation comes first.
    told = {i: iter(ids[-times[i] :]) for i, ids in seen.items()}
    records: list[RecordedAs] = []
    for one in found.records:
        said = next(told.get(one.entity_id, iter(())), None)
        new = one.entity_id in made and said == seen[one.entity_id][0]
        records.append(replace(one, created=new, observation_id=said))
    observations = sum(map(len, seen.values()))
    again = found.source.id not in made
    return replace(found, records=records, observations=observations, again=again)


async def _weight_before(canon: Canon, source: SourceDraft) -> int | None:
    """With which priority the source spoke last."""
    page = await canon.state.observations_from(source.id, limit=1, offset=0)
    if page.total > 1:
        page = await canon.state.observations_from(source.id, limit=1, offset=page.total - 1)
    return page.items[0].priority if page.items else None


def _lighter(before: int | None, now: int) -> tuple[Warned, ...]:
    if before is None or before <= now:
        return ()
    message = f"this was recorded with priority {before}, and what it said then keeps it"
    return (Warned(code="source.priority-kept", message=message, path="/source_priority"),)


def _excerpts(statement: Statement) -> Sequence[SnippetDraft]:
    source = statement.source
    return [
        SnippetDraft(
            id=SnippetId(content_id(source.id, "excerpt", str(index))),
            space=source.space,
            source_id=source.id,
            text=excerpt.text,
            page=excerpt.page,
            section=excerpt.section,
            index=index,
        )
        for index, excerpt in enumerate(statement.excerpts[:EXCERPTS_MAX])
    ]


def _stands(thing: Thing | None) -> bool:
    """Whether it was made before and neither taken back nor erased."""
    return isinstance(thing, Relation | Snippet)


def _warnings(
    statement: Statement, reading: RecordReading, weighed: int | None
) -> tuple[Warned, ...]:
    return (
        *_lighter(weighed, statement.priority),
        *_too_long(statement),
        *(Warned(code=NOTED, message=note, path="") for note in statement.notes),
        *(w for a in reading.assertions for w in a.warnings),
    )


def _too_long(statement: Statement) -> tuple[Warned, ...]:
    if len(statement.excerpts) <= EXCERPTS_MAX:
        return ()
    message = f"only the first {EXCERPTS_MAX} passages of the text are searched"
    return (Warned(code="text.too-long", message=message, path="/file_content"),)


def _edges(statement: Statement, recording: Recording) -> Iterator[RelationDraft]:
    """From each record to what came with it in files of their own."""
    evidence = (Evidence(kind=EvidenceKind.SOURCE, ref=statement.source.id),)
    for place, entity_id in statement.brought:
        from_id = recording.records[place].entity_id
        if from_id != entity_id:
            refers_to = TruthRelation.REFERS_TO
            made = edge(
                statement.account,
                refers_to,
                from_id,
                entity_id,
                metadata={},
                authority=Authority.SOURCE,
            )
            yield replace(made, evidence=evidence)


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
        observations_created=len(recording.kept),
        fragments=recording.fragments,
        warnings=tuple(dict.fromkeys(each.code for each in warnings)),
        started_at=statement.started_at,
        ended_at=canon.clock.now(),
    )


def source_of_words(
    account: Account,
    source_type: SourceType,
    content: bytes,
    properties: Mapping[str, Any] | None = None,
) -> SourceDraft:
    """A source that holds its JSON itself; the same words of one user are the same source."""
    digest = sha256(content).hexdigest()
    return SourceDraft(
        id=source_id_of(account.user_id, digest),
        space=account.space,
        doc_id=digest,
        title="",
        edition=None,
        origin=None,
        source_type=source_type,
        level=CanonLevel.CANON,
        content_hash=digest,
        mime_type="application/json",
        size=len(content),
        content=content.decode(),
        properties=dict(properties or {}),
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

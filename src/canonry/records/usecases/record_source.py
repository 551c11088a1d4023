"""Interpret a source, record its contents, in batches if it is large, and restate a run."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from canonry.canon.ports.files import FileHint, Reading
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    by_product_of,
    commit_change,
    find_earlier_commit,
)
from canonry.canon.session.lookup import Account, opening_entries, require_account, within_account
from canonry.canon.session.paging import OF_RECORD, Pace, every_item, run_aside
from canonry.language.texts.sentences import Cut, Excerpt, cut_excerpts
from canonry.log.entries import Entry, Made
from canonry.log.folding import item_key
from canonry.log.items import sources
from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.schemas.narrative import NAME, PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, TruthRelation
from canonry.models.outside_services import ASKED
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.assertions import Warned
from canonry.records.domain.interpretations import (
    RECORDS_MAX,
    FoundEntity,
    Interpretation,
    require_bounds,
)
from canonry.records.ports.interpreter import Interpreter
from canonry.records.usecases.files import filing_of
from canonry.records.usecases.record_entities import (
    DUPLICATES_MAX,
    Duplicate,
    RecordedEntity,
    Recording,
    record_entities,
)
from canonry.records.usecases.records import (
    RecordReading,
    SourceStatement,
    changed_among,
    read_records,
)
from canonry.records.usecases.relationships import changed_entities, edges_following, make_edge
from canonry.records.usecases.schemas import schemas_for
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable
from canonry.values.fields import narrow_to
from canonry.values.ids import EntityId, NewId, ObservationId, RunId, SnippetId, content_id
from canonry.values.json_values import canonical_json, encode_json
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.observations import (
    PRIORITY_CORRECTION,
    PRIORITY_STRUCTURED,
    Observation,
    ObservationDraft,
)
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind

# Interpret a source: read its file and ask an interpreter. The result is not canon yet.
#
# An optional quota limits the runs of a user in thirty days.

_WINDOW: Final = 30 * DAY  # the quota counts the interpretations of this time
_CUT: Final = Cut(tokens=200, overlap=20, characters=4_000)
"""Short excerpts give the right page for a hit."""
EXCERPTS_MAX: Final = 2_000
"""The most passages of one file that can be searched."""
BATCH: Final = "batch"
"""The number of a batch in a run's configuration. The last batch has none."""

_HANDED_OVER: Final = frozenset({"records", "properties"})
"""Providers of records that need no interpreter and do not count for the quota."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """An interpreter with the complete configuration, on which the id of a run depends."""

    interpreter: Interpreter
    configuration: Mapping[str, Any]


def plan_run(canon: Canon, asked: Mapping[str, Any] | None = None) -> PlannedRun:
    """Choose the interpreter that `asked` names, or the one of the settings.

    Raises:
        InvalidInput: `interpretation.provider` or `interpretation.configuration`.
    """
    filing = filing_of(canon)
    wanted = dict(asked or {})
    provider = str(wanted.get("provider") or filing.provider)
    interpreter = filing.interpreters.get(provider)
    if interpreter is None:
        known = ", ".join(sorted(filing.interpreters))
        message = f"There is no interpreter {provider[:40]!r}. Set `provider` to one of {known}."
        raise InvalidInput(
            "interpretation.provider", message, path="/interpretation_config/provider"
        )
    return PlannedRun(
        interpreter=interpreter, configuration=interpreter.complete_configuration(wanted)
    )


async def interpret_file(
    canon: Canon, run: PlannedRun, data: bytes, hint: FileHint, schemas: Sequence[EntitySchema]
) -> tuple[Interpretation, Reading]:
    """Return the entities found in a file, and the reading of the file; record nothing.

    Raises:
        InvalidInput: the file is unreadable or too large.
        Unavailable: `interpretation.failed`, with the code of the reason as `cause`; or
            `interpretation.asked`, the client's model has to answer first.
    """
    try:
        reading = await canon.reader.examine_file(data, hint)
        found = await run.interpreter.interpret_reading(reading, run.configuration, schemas)
        weight = len(found.entities) * OF_RECORD
        await run_aside(weight, lambda: require_bounds(found.entities, at="", filed=True))
    except BrokenInvariant:
        raise
    except CanonryError as error:
        if error.code in {"interpretation.failed", ASKED}:
            raise
        message = f"The file is kept, but could not be interpreted: {error.message}"
        if isinstance(error, InvalidInput):  # the file is at fault: a retry would not help
            raise InvalidInput(error.code, message, **error.details) from error
        raise Unavailable("interpretation.failed", message, cause=error.code) from error
    return found, reading


async def excerpts_of(read: Reading) -> Sequence[Excerpt]:
    """Cut the text of a file into excerpts for search; one more than is kept."""
    parts = () if read.kind.is_data else read.parts
    weight = sum(len(part.text) for part in parts)
    return await run_aside(
        weight, lambda: tuple(islice(cut_excerpts(parts, _CUT), EXCERPTS_MAX + 1))
    )


async def require_quota(canon: Canon, account: Account) -> None:
    """Refuse another run if the user has used up the quota.

    Raises:
        Unavailable: `interpretation.quota`, with the limit and the time until the next run.
    """
    limit, now = canon.policy.truth.interpretations, canon.clock.now()
    if limit is None:
        return
    charged: list[sources.InterpretationRun] = []
    async for run in every_item(partial(canon.state.runs_newest, frozenset((account.space,)))):
        if len(charged) >= limit or run.created_at <= now - _WINDOW:
            break
        # Only the last batch of a file counts.
        whole = run.status is sources.RunStatus.COMPLETED and BATCH not in run.config
        if whole and run.config.get("provider") not in _HANDED_OVER:
            charged.append(run)
    if len(charged) < limit:
        return
    oldest = charged[-1].created_at if charged else now
    wait = max(1, (oldest + _WINDOW - now) // SECOND)
    message = (
        f"The quota of {limit} interpretations in 30 days is used up. The file is kept. "
        f"Interpret it again in {wait} seconds."
    )
    raise Unavailable("interpretation.quota", message, limit=limit, retry_after=wait)


# Restate a run: add the observations of an earlier interpretation again, as the latest ones.
#
# No interpreter is asked. The call needs no quota, and the result cannot differ.

_NAMES: Final = frozenset((NAME, f"{PROPERTY_PREFIX}name"))
_NONE: Final = Change(entries=(), reads=frozenset(), found=0)


async def restate_run(canon: Canon, caller: Caller, account: Account, run: sources.RunDraft) -> int:
    """Add the run's observations again for entities that were contradicted since.

    Return the number of added observations. Each batch of a source has a commit of its own.
    """
    runs = [run]
    while (before := await _find_batch(canon, account, run, len(runs))) is not None:
        runs.append(before)
    page = await canon.state.observations_from(run.source_id, limit=1, offset=0)
    whole = page.total >= sum(each.observations_created for each in runs)
    after = added = 0
    for each in (*runs[1:], run):
        added += await _restate_one(canon, caller, account, each, after if whole else 0)
        after += each.observations_created
    return added


async def _find_batch(
    canon: Canon, account: Account, last: sources.RunDraft, number: int
) -> sources.InterpretationRun | None:
    run_id = sources.run_id_of(last.source_id, {**last.config, BATCH: number})
    found = (await canon.space_scope(account.space).items_by_id((run_id,))).get(run_id)
    return found if isinstance(found, sources.InterpretationRun) else None


async def _restate_one(
    canon: Canon, caller: Caller, account: Account, run: sources.RunDraft, after: int
) -> int:
    """Restate one run, whose observations begin after `after` others of its source."""

    async def prepare_change(new_id: NewId) -> Change[int]:
        stated = [each async for each in _run_observations(canon, account, run, after)]
        own = canon.space_scope(account.space)
        found = await own.items_by_id(dict.fromkeys(each.entity_id for each in stated))
        entities = {i: e for i, e in found.items() if isinstance(e, Entity)}
        roots = {**entities, **await own.root_entities(entities)}
        fields: dict[str, dict[str, Any]] = {}
        for each in stated:
            if each.entity_id in entities:
                fields.setdefault(each.entity_id, {}).update(each.fields)
        news = await changed_among(canon, entities, roots, fields, None)
        again = [each for each in stated if each.entity_id in news]
        if not again:
            return _NONE
        reads = {*entities, *(each.id for each in roots.values())}
        # Of several observations at one instant the one with the greatest id wins.
        ids = sorted(new_id(f"observation:{number}") for number in range(1, len(again) + 1))
        made = [
            narrow_to(ObservationDraft, each, id=ObservationId(fresh), observed_at=None)
            for each, fresh in zip(again, ids, strict=True)
        ]
        schemas = await schemas_for(canon, account, entities.values())
        retold = changed_entities(
            made, lambda i: (schemas[entities[i].entity_type], entities[i].own)
        )
        followed, rested = await edges_following(canon, account, retold)
        return Change(
            entries=(*(Made(thing=each) for each in made), *followed),
            reads=rested | frozenset(map(item_key, reads)),
            found=len(made),
        )

    inner = derive_step(within_account(caller), f"restate {run.id}")
    receipt = await commit_change(canon, inner, account.space, prepare_change)
    return len(receipt.drafts_made(ObservationDraft)) if receipt.found is None else receipt.found


async def _run_observations(
    canon: Canon, account: Account, run: sources.RunDraft, after: int
) -> AsyncIterator[Observation]:
    """Yield the run's observations in order, each statement once.

    Observations that only name an entity are omitted, because the entity is known by now.
    """
    seen: set[bytes] = set()
    offset, total, left = after, after + 1, run.observations_created
    while offset < total and left > 0:  # restated observations come after the original ones
        page = await canon.state.observations_from(run.source_id, limit=PAGE_MAX, offset=offset)
        for each in page.items:
            statement = encode_json([each.entity_id, each.fields])
            own = each.run_id == run.id and each.space == account.space
            left -= own
            dated = each.observed_at is not None  # its own time does not change
            if own and not dated and not each.fields.keys() <= _NAMES and statement not in seen:
                seen.add(statement)
                yield each
        offset, total = offset + PAGE_MAX, page.total


# Record a source: its records become canon in one commit, with the run that read them.
#
# Recording the same source again adds nothing, unless it was contradicted since. Then its values
# are added once more, as the latest ones.

_PHASES: Final = 3  # each record is read, matched with known entities, and kept

NOTED: Final = "interpretation.noted"
"""The code of an interpreter's note on a whole file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutcome:
    """The outcome of a statement; `again` if the source existed before.

    `total` counts the records kept; `records` holds the first of them.
    """

    source: sources.SourceDraft
    run: sources.RunDraft
    records: Sequence[RecordedEntity]
    total: int
    duplicates: Sequence[Duplicate]
    observations: int
    warnings: tuple[Warned, ...]
    again: bool


async def record_source(canon: Canon, caller: Caller, statement: SourceStatement) -> RecordOutcome:
    """Record all records of the source in one commit.

    Raises:
        InvalidInput: those of `require_bounds`.
        CanonryError: those of `commit_change`.
    """
    account, source = statement.account, statement.source
    weight = len(statement.records) * OF_RECORD
    weight += await run_aside(weight, lambda: require_bounds(statement.records))
    run_id = RunId(sources.run_id_of(source.id, statement.config))
    pace = Pace(progress=caller.progress, total=_PHASES * len(statement.records), weight=weight)

    async def prepare_change(new_id: NewId) -> Change[RecordOutcome]:
        pace.done = 0
        own = canon.space_scope(account.space)
        known = await own.items_by_id((account.space, source.id, run_id))
        before, made = known.get(source.id), known.get(run_id)
        reading = await read_records(
            canon, statement, run_id, pace, again=isinstance(made, sources.InterpretationRun)
        )
        weighed = await _weight_before(canon, source) if reading.again else None
        reading = replace(reading, heavier=weighed is not None and weighed < statement.priority)
        recording = await record_entities(canon, reading, new_id, pace)
        warnings = (*_all_warnings(statement, reading, weighed), *recording.warnings)
        run: sources.RunDraft | None = made if isinstance(made, sources.InterpretationRun) else None
        entries: list[Entry] = [*opening_entries(account, known)]
        if not isinstance(before, sources.Source):
            entries.append(Made(thing=source))
        if run is None or (statement.repeatable and recording.entries):
            entries += (Made(thing=schema) for schema in reading.registered)
            entries += recording.entries
        edges = {each.id: each for each in _member_edges(statement, recording)}
        if run is None:
            told: list[RelationDraft | sources.SnippetDraft] = [
                *edges.values(),
                *_make_excerpts(statement),
            ]
            beside = {str(each.id): each for each in told}
            there = await own.items_by_id(beside)
            # Existing relations and snippets stay; withdrawn or erased ones are made again.
            stands = {
                i for i, item in there.items() if isinstance(item, Relation | sources.Snippet)
            }
            entries += (Made(thing=e) for i, e in beside.items() if i not in stands)
            run = _make_run(canon, statement, run_id, recording, warnings)
            entries.append(Made(thing=run))
        known_source = before if isinstance(before, sources.Source) else None
        recorded = _make_outcome(statement, known_source, run, recording, warnings)
        ids = (account.space, source.id, run_id, *edges)
        reads = frozenset().union(recording.reads, reading.reads, map(item_key, ids))
        return Change(entries=tuple(entries), reads=reads, found=recorded)

    receipt = await commit_change(canon, caller, account.space, prepare_change)
    found = await by_product_of(receipt, prepare_change)
    pace.done = pace.total
    await pace.report_progress("records kept")
    return found if receipt.found is not None else _as_first_reported(found, receipt)


def _make_run(
    canon: Canon,
    statement: SourceStatement,
    run_id: RunId,
    recording: Recording,
    warnings: Sequence[Warned],
) -> sources.RunDraft:
    return sources.RunDraft(
        id=run_id,
        space=statement.account.space,
        source_id=statement.source.id,
        config=dict(statement.config),
        status=sources.RunStatus.COMPLETED,
        entities_created=recording.entities,
        observations_created=len(recording.kept),
        fragments=recording.fragments,
        warnings=tuple(dict.fromkeys(each.code for each in warnings)),
        started_at=statement.started_at,
        ended_at=canon.clock.now(),
    )


def _make_outcome(
    statement: SourceStatement,
    known: sources.Source | None,
    run: sources.RunDraft,
    recording: Recording,
    warnings: Sequence[Warned],
) -> RecordOutcome:
    """Return the outcome of the statement; `known` is its source if that existed before."""
    return RecordOutcome(
        source=known or statement.source,
        run=run,
        records=[
            replace(each, reasons=found.reasons) if found.reasons else each
            for each, found in zip(recording.records, statement.records, strict=True)
        ],
        total=len(recording.records),
        duplicates=tuple(recording.duplicates.values())[:DUPLICATES_MAX],
        observations=len(recording.kept),
        warnings=tuple(warnings),
        again=known is not None,
    )


def _as_first_reported(found: RecordOutcome, receipt: Receipt[RecordOutcome]) -> RecordOutcome:
    """Return the outcome of a retry as the reply of the earlier call."""
    made = {each.id for each in receipt.drafts_made(sources.SourceDraft, EntityDraft)}
    seen: dict[EntityId, list[ObservationId]] = {}
    for each in receipt.drafts_made(ObservationDraft):
        if isinstance(each, ObservationDraft):
            seen.setdefault(each.entity_id, []).append(each.id)
    times = Counter(each.entity_id for each in found.records)
    # An entity that was named before its own record has one more observation, which comes first.
    ids_left = {i: iter(ids[-times[i] :]) for i, ids in seen.items()}
    records: list[RecordedEntity] = []
    for one in found.records:
        observation = next(ids_left.get(one.entity_id, iter(())), None)
        new = one.entity_id in made and observation == seen[one.entity_id][0]
        records.append(replace(one, created=new, observation_id=observation))
    observations = sum(map(len, seen.values()))
    again = found.source.id not in made
    return replace(found, records=records, observations=observations, again=again)


async def _weight_before(canon: Canon, source: sources.SourceDraft) -> int | None:
    """Return the priority of the source's last observation."""
    page = await canon.state.observations_from(source.id, limit=1, offset=0)
    if page.total > 1:
        page = await canon.state.observations_from(source.id, limit=1, offset=page.total - 1)
    return page.items[0].priority if page.items else None


def _make_excerpts(statement: SourceStatement) -> Sequence[sources.SnippetDraft]:
    source = statement.source
    return [
        sources.SnippetDraft(
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


def _all_warnings(
    statement: SourceStatement, reading: RecordReading, weighed: int | None
) -> tuple[Warned, ...]:
    found: list[Warned] = []
    if weighed is not None and weighed > statement.priority:
        message = f"The earlier values of this source keep their priority {weighed}."
        found.append(Warned(code="source.priority-kept", message=message, path="/source_priority"))
    if len(statement.excerpts) > EXCERPTS_MAX:
        message = f"Search covers only the first {EXCERPTS_MAX} passages of the text."
        found.append(Warned(code="text.too-long", message=message, path="/file_content"))
    found += [Warned(code=NOTED, message=note, path="") for note in statement.notes]
    return (*found, *(w for a in reading.assertions for w in a.warnings))


def _member_edges(statement: SourceStatement, recording: Recording) -> Iterator[RelationDraft]:
    """Yield relations from each record to the entities of its inner files."""
    evidence = (Evidence(kind=EvidenceKind.SOURCE, ref=statement.source.id),)
    for index, entity_id in statement.brought:
        from_id = recording.records[index].entity_id
        if from_id != entity_id:
            refers_to = TruthRelation.REFERS_TO
            ends = (from_id, entity_id)
            yield make_edge(statement.account, refers_to, *ends, metadata={}, evidence=evidence)


def source_of_content(
    account: Account,
    source_type: sources.SourceType,
    content: bytes,
    properties: Mapping[str, Any] | None = None,
) -> sources.SourceDraft:
    """Make a source that contains its JSON; equal content of one user is the same source."""
    digest = sha256(content).hexdigest()
    return sources.SourceDraft(
        id=sources.source_id_of(account.user_id, digest),
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
"""The accepted difference between two clocks."""

_CODE: Final = "codebase_entity"
_CONFIG: Final = {"provider": "records"}


async def ingest_records(
    canon: Canon,
    caller: Caller,
    user_id: str | None,
    entities: Sequence[Mapping[str, Any]],
    *,
    priority: int = PRIORITY_STRUCTURED,
    observed_at: Instant | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> RecordOutcome:
    """Record all given records, or none, with the time and provenance of their extraction.

    Raises:
        InvalidInput: `user.mismatch`, `records.none`, `records.priority`, `time.future`, or
            those of `record_source`.
    """
    account = require_account(caller, user_id)
    if not entities:
        message = "`entities` is empty. Give at least one entity, or a file."
        raise InvalidInput("records.none", message, path="/entities")
    if not 0 <= priority < PRIORITY_CORRECTION:
        most = PRIORITY_CORRECTION - 1
        message = f"`source_priority` is {priority}; it must be between 0 and {most}."
        raise InvalidInput("records.priority", message, path="/source_priority")
    if observed_at is not None and observed_at > canon.clock.now() + SKEW:
        message = "`extracted_at` is in the future. Give the time at which the records were read."
        raise InvalidInput("time.future", message, path="/provenance/extracted_at")
    weight = len(entities) * OF_RECORD
    content, records = await run_aside(
        weight, lambda: (canonical_json(entities), list(map(_read_given, entities)))
    )
    source = source_of_content(account, sources.SourceType.RECORDS, content, provenance)
    statement = SourceStatement(
        account=account,
        source=source,
        config=_CONFIG,
        records=records,
        priority=priority,
        observed_at=observed_at,
        repeatable=True,
        started_at=canon.clock.now(),
    )
    return await record_source(canon, within_account(caller), statement)


def _read_given(record: Mapping[str, Any]) -> FoundEntity:
    fields = {name: value for name, value in record.items() if name != ENTITY_TYPE}
    kind = str(record[ENTITY_TYPE])
    inner = fields.get("fields")
    if kind == _CODE and isinstance(inner, Mapping):  # its fields have an entity_type too
        own = {f"codebase_{n}" if n == ENTITY_TYPE else n: v for n, v in inner.items()}
        fields = {**own, **{n: v for n, v in fields.items() if n != "fields"}}
    return FoundEntity(entity_type=kind, fields=fields)


# Record in batches: the records of a large source become canon in several commits.
#
# Each batch is one commit with its own run. The run of the last batch stands for the source. An
# interrupted file therefore continues where it stopped when it is sent again.

TOGETHER: Final = 2_500  # bounds how long other writers wait for one commit
_REPORTED_MAX: Final = 100  # the most duplicates and warnings that are reported for all batches


async def record_batches(
    canon: Canon, caller: Caller, statement: SourceStatement, records: Sequence[FoundEntity]
) -> RecordOutcome:
    """Record all records of the source, in batches if there are more than `RECORDS_MAX`.

    Raises:
        InvalidInput: those of `require_bounds`.
        CanonryError: those of `commit_change`; earlier batches stay.
    """
    total = len(records)
    if total <= RECORDS_MAX:
        return await record_source(canon, caller, replace(statement, records=records))
    whole: RecordOutcome | None = None
    last = (total - 1) // TOGETHER
    for number in range(last):
        # A batch before the last. Notes and excerpts come with the last one.
        batch = replace(
            statement,
            records=_batch_of(records, number),
            alike=records if number == 0 else (),
            config={**statement.config, BATCH: number + 1},
            notes=(),
            brought=(),
            excerpts=(),
        )
        batch_caller = derive_step(
            _scaled_caller(caller, number * TOGETHER, TOGETHER, total), f"batch {number}"
        )
        run_id = RunId(sources.run_id_of(batch.source.id, batch.config))
        run = await canon.space_scope(batch.account.space).find_item(run_id)
        recorded = isinstance(run, sources.InterpretationRun)
        if not recorded or await find_earlier_commit(canon, batch_caller, statement.account.space):
            whole = _add_batch(whole, await record_source(canon, batch_caller, batch))
    batch = replace(statement, records=_batch_of(records, last))
    batch_caller = _scaled_caller(caller, last * TOGETHER, len(batch.records), total)
    return replace(_add_batch(whole, await record_source(canon, batch_caller, batch)), total=total)


def _batch_of(records: Sequence[FoundEntity], number: int) -> Sequence[FoundEntity]:
    return records[number * TOGETHER : (number + 1) * TOGETHER]


def _scaled_caller(caller: Caller, begin: int, size: int, whole: int) -> Caller:
    """Return the caller with progress of a batch scaled to the whole."""

    async def report_progress(done: float, total: float | None, message: str) -> None:
        share = done / total if total else 0.0
        await caller.progress(begin + share * size, whole, message)

    return replace(caller, progress=report_progress)


def _add_batch(whole: RecordOutcome | None, batch: RecordOutcome) -> RecordOutcome:
    """Add the outcome of a batch to that of the earlier ones; `records` are of the first."""
    if whole is None:
        return batch
    return replace(
        whole,
        run=batch.run,
        observations=whole.observations + batch.observations,
        duplicates=[*whole.duplicates, *batch.duplicates][:_REPORTED_MAX],
        warnings=(*whole.warnings, *batch.warnings)[:_REPORTED_MAX],
    )

"""Interpret a source, record what it says, in batches where that is very much, and say it again."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from canonry.canon.ports.files import FileHint, Reading
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon, Sight
from canonry.canon.session.commit_change import Change, Receipt, answered, commit_change, found_by
from canonry.canon.session.lookup import Account, opened, require_account, within_account
from canonry.canon.session.paging import OF_RECORD, Pace, aside, every_item
from canonry.language.texts.sentences import Cut, Excerpt, cut
from canonry.log.entries import Entry, Made
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity, EntityDraft
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
from canonry.log.schemas.narrative import NAME, PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, TruthRelation
from canonry.models.outside_services import ASKED
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.assertions import Warned
from canonry.records.domain.interpretations import (
    RECORDS_MAX,
    Found,
    Interpretation,
    require_bounds,
)
from canonry.records.ports.interpreter import Interpreter
from canonry.records.usecases.files import filing_of
from canonry.records.usecases.record_entities import (
    TOLD_MAX,
    Duplicate,
    RecordedAs,
    Recording,
    record_entities,
)
from canonry.records.usecases.records import (
    RecordReading,
    Statement,
    is_news,
    last_words_of,
    read_records,
)
from canonry.records.usecases.relationships import edge, edges_following, retellings
from canonry.records.usecases.schemas import schemas_for
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable
from canonry.values.fields import narrowed
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

# Interpret a source: read its file and ask an interpreter; what comes of it is not canon yet.
#
# The quota says how many runs a user may have in thirty days; there is none unless it is set.

_WINDOW: Final = 30 * DAY
_CUT: Final = Cut(tokens=200, overlap=20, characters=4_000)
"""Short enough that the page of an excerpt is where it says what was sought."""
EXCERPTS_MAX: Final = 2_000
"""So many passages of one file are searched."""
BATCH: Final = "batch"
"""Which batch of a file a run has recorded, in its configuration; the last one does not say it."""

_HANDED_OVER: Final = frozenset({"records", "properties"})
"""What comes as values needs no interpreter and is never charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """Who will interpret, with the whole configuration that a run's id and record rest on."""

    interpreter: Interpreter
    configuration: Mapping[str, Any]


def plan_run(canon: Canon, asked: Mapping[str, Any] | None = None) -> PlannedRun:
    """The interpreter that `asked` names, or the one of the settings.

    Raises:
        InvalidInput: `interpretation.provider` or `interpretation.configuration`.
    """
    filing = filing_of(canon)
    wanted = dict(asked or {})
    provider = str(wanted.get("provider") or filing.provider)
    interpreter = filing.interpreters.get(provider)
    if interpreter is None:
        known = ", ".join(sorted(filing.interpreters))
        message = f"there is no interpreter of this provider here; known are {known}"
        raise InvalidInput(
            "interpretation.provider", message, path="/interpretation_config/provider"
        )
    return PlannedRun(interpreter=interpreter, configuration=interpreter.configuration(wanted))


async def interpret_file(
    canon: Canon, run: PlannedRun, data: bytes, hint: FileHint, schemas: Sequence[EntitySchema]
) -> tuple[Interpretation, Reading]:
    """The entities that a file speaks of, and all that was read, of which nothing is said yet.

    Raises:
        InvalidInput: what is wrong with the file.
        Unavailable: `interpretation.failed`; `cause` has the code of what went wrong, and the
            file is as it was. `interpretation.asked`, as the client's model says.
    """
    try:
        reading = await canon.reader.examine(data, hint)
        found = await run.interpreter.interpret(reading, run.configuration, schemas)
        weight = len(found.entities) * OF_RECORD
        await aside(weight, lambda: require_bounds(found.entities, at="", filed=True))
    except BrokenInvariant:
        raise
    except CanonryError as error:
        if error.code in {"interpretation.failed", ASKED}:
            raise
        message = f"the file is kept, but could not be interpreted: {error.message}"
        if isinstance(error, InvalidInput):  # the file is at fault, however often it is tried
            raise InvalidInput(error.code, message, **error.details) from error
        raise Unavailable("interpretation.failed", message, cause=error.code) from error
    return found, reading


async def excerpts_of(read: Reading) -> Sequence[Excerpt]:
    """The text of a file as it is searched, so far as it is kept for that."""
    parts = () if read.kind.is_data else read.parts
    weight = sum(len(part.text) for part in parts)
    return await aside(weight, lambda: tuple(islice(cut(parts, _CUT), EXCERPTS_MAX + 1)))


async def require_quota(canon: Canon, account: Account) -> None:
    """Refuse a further run of an interpreter where the user has used up the quota.

    Raises:
        Unavailable: `interpretation.quota`, with the limit and when there is room again.
    """
    limit, now = canon.policy.truth.interpretations, canon.clock.now()
    if limit is None:
        return
    charged: list[InterpretationRun] = []
    async for run in every_item(partial(canon.state.runs_newest, frozenset((account.space,)))):
        if len(charged) >= limit or run.created_at <= now - _WINDOW:
            break
        # Of a file that comes in batches the last one counts.
        whole = run.status is RunStatus.COMPLETED and BATCH not in run.config
        if whole and run.config.get("provider") not in _HANDED_OVER:
            charged.append(run)
    if len(charged) < limit:
        return
    oldest = charged[-1].created_at if charged else now
    message = f"the quota of {limit} interpretations in 30 days is used up; the file is kept"
    wait = max(1, (oldest + _WINDOW - now) // SECOND)
    raise Unavailable("interpretation.quota", message, limit=limit, retry_after=wait)


# Restate a run: what an interpreter once read out of a file is said again, as the last word.
#
# Nothing is interpreted anew, so that whoever brings an old file again needs no quota, and a
# language model cannot change its mind.

_NAMES: Final = frozenset((NAME, f"{PROPERTY_PREFIX}name"))
_NONE: Final = Change(entries=(), reads=frozenset(), found=0)


async def restate_run(canon: Canon, caller: Caller, account: Account, run: RunDraft) -> int:
    """Say again what the run says of entities of which somebody has said otherwise since.

    How many observations were added; none where all of it still stands as the last word. Of a
    source that came in batches the words of each batch are said again by a commit of their own.
    """
    runs = [run]
    while (before := await _batch(canon, account, run, len(runs))) is not None:
        runs.append(before)
    page = await canon.state.observations_from(run.source_id, limit=1, offset=0)
    whole = page.total >= sum(each.observations_created for each in runs)
    after = added = 0
    for each in (*runs[1:], run):
        added += await _restated(canon, caller, account, each, after if whole else 0)
        after += each.observations_created
    return added


async def _batch(
    canon: Canon, account: Account, last: RunDraft, number: int
) -> InterpretationRun | None:
    run_id = run_id_of(last.source_id, {**last.config, BATCH: number})
    found = (await canon.within(account.space).things((run_id,))).get(run_id)
    return found if isinstance(found, InterpretationRun) else None


async def _restated(
    canon: Canon, caller: Caller, account: Account, run: RunDraft, after: int
) -> int:
    """Say again what the run said, which so many observations of its source come before."""

    async def prepare(new_id: NewId) -> Change[int]:
        stated = [each async for each in _stated(canon, account, run, after)]
        own = canon.within(account.space)
        entities, roots = await _known(own, [each.entity_id for each in stated])
        fields: dict[EntityId, dict[str, Any]] = {}
        for each in stated:
            if each.entity_id in entities:
                fields.setdefault(each.entity_id, {}).update(each.fields)
        last = await last_words_of(canon, entities.values(), roots.values())
        news = {i for i, f in fields.items() if is_news(entities[i], roots[i], f, last, None)}
        again = [each for each in stated if each.entity_id in news]
        if not again:
            return _NONE
        reads = {*entities, *(each.id for each in roots.values())}
        # Of several that are seen at one instant the one with the greatest id came last.
        ids = sorted(new_id(f"observation:{number}") for number in range(1, len(again) + 1))
        made = [
            narrowed(ObservationDraft, each, id=ObservationId(fresh), observed_at=None)
            for each, fresh in zip(again, ids, strict=True)
        ]
        schemas = await schemas_for(canon, account, entities.values())
        retold = retellings(made, lambda i: (schemas[entities[i].entity_type], entities[i].own))
        followed, rested = await edges_following(canon, account, retold)
        return Change(
            entries=(*(Made(thing=each) for each in made), *followed),
            reads=rested | frozenset(map(thing_key, reads)),
            found=len(made),
        )

    inner = step(within_account(caller), f"restate {run.id}")
    receipt = await commit_change(canon, inner, account.space, prepare)
    return len(receipt.made(ObservationDraft)) if receipt.found is None else receipt.found


async def _stated(
    canon: Canon, account: Account, run: RunDraft, after: int
) -> AsyncIterator[Observation]:
    """What the run said, each statement once however often it was said again, in order.

    Whom a record only names is not said again: that is known, and nothing else was said of them.
    """
    seen: set[bytes] = set()
    offset, total, left = after, after + 1, run.observations_created
    while offset < total and left > 0:  # what was said again follows all that it said first
        page = await canon.state.observations_from(run.source_id, limit=PAGE_MAX, offset=offset)
        for each in page.items:
            statement = encode_json([each.entity_id, each.fields])
            own = each.run_id == run.id and each.space == account.space
            left -= own
            if own and not each.fields.keys() <= _NAMES and statement not in seen:
                seen.add(statement)
                yield each
        offset, total = offset + PAGE_MAX, page.total


async def _known(
    sight: Sight, ids: list[EntityId]
) -> tuple[Mapping[str, Entity], Mapping[str, Entity]]:
    """The entities with these ids and who answers for each today, without those erased."""
    found = await sight.things(dict.fromkeys(ids))
    entities = {given: e for given, e in found.items() if isinstance(e, Entity)}
    moved = {e.merged_into for e in entities.values() if e.merged_into is not None}
    survivors = await sight.things(moved)
    answering = ((given, survivors.get(e.merged_into or "")) for given, e in entities.items())
    return entities, {**entities, **{i: e for i, e in answering if isinstance(e, Entity)}}


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
            # What was made before stands, unless it was taken back or erased.
            stands = {i for i, thing in there.items() if isinstance(thing, Relation | Snippet)}
            entries += (Made(thing=e) for i, e in beside.items() if i not in stands)
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


def _warnings(
    statement: Statement, reading: RecordReading, weighed: int | None
) -> tuple[Warned, ...]:
    found: list[Warned] = []
    if weighed is not None and weighed > statement.priority:
        message = f"this was recorded with priority {weighed}, and what it said then keeps it"
        found.append(Warned(code="source.priority-kept", message=message, path="/source_priority"))
    if len(statement.excerpts) > EXCERPTS_MAX:
        message = f"only the first {EXCERPTS_MAX} passages of the text are searched"
        found.append(Warned(code="text.too-long", message=message, path="/file_content"))
    found += [Warned(code=NOTED, message=note, path="") for note in statement.notes]
    return (*found, *(w for a in reading.assertions for w in a.warnings))


def _edges(statement: Statement, recording: Recording) -> Iterator[RelationDraft]:
    """From each record to what came with it in files of their own."""
    evidence = (Evidence(kind=EvidenceKind.SOURCE, ref=statement.source.id),)
    for place, entity_id in statement.brought:
        from_id = recording.records[place].entity_id
        if from_id != entity_id:
            refers_to = TruthRelation.REFERS_TO
            ends = (from_id, entity_id)
            yield edge(statement.account, refers_to, *ends, metadata={}, evidence=evidence)


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
    content, records = await aside(
        weight, lambda: (canonical_json(given.entities), list(map(_found, given.entities)))
    )
    source = source_of_words(account, SourceType.RECORDS, content, given.provenance)
    statement = Statement(
        account=account,
        source=source,
        config=_CONFIG,
        records=records,
        priority=given.priority,
        observed_at=given.observed_at,
        repeatable=True,
        started_at=canon.clock.now(),
    )
    return await record_source(canon, within_account(caller), statement)


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
        batch = _numbered_batch(statement, records, number)
        told = step(_from(caller, number * TOGETHER, TOGETHER, total), f"batch {number}")
        run_id = RunId(run_id_of(batch.source.id, batch.config))
        run = await canon.within(batch.account.space).thing(run_id)
        recorded = isinstance(run, InterpretationRun)
        if not recorded or await answered(canon, told, statement.account.space):
            whole = _with(whole, await record_source(canon, told, batch))
    batch = replace(statement, records=_some(records, last))
    told = _from(caller, last * TOGETHER, len(batch.records), total)
    return replace(_with(whole, await record_source(canon, told, batch)), total=total)


def _some(records: Sequence[Found], number: int) -> Sequence[Found]:
    return records[number * TOGETHER : (number + 1) * TOGETHER]


def _numbered_batch(statement: Statement, records: Sequence[Found], number: int) -> Statement:
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

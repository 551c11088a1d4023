"""Record a source, of a file or of a user's words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from canonry.canon.session.account import Account, opened
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, found_by
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
from canonry.records.domain.interpretations import require_bounds
from canonry.records.usecases.interpret_source import EXCERPTS_MAX
from canonry.records.usecases.record_entities import (
    TOLD_MAX,
    Duplicate,
    RecordedAs,
    Recording,
    record_entities,
)
from canonry.records.usecases.records import RecordReading, Statement, read_records
from canonry.records.usecases.relationships import edge
from canonry.values.ids import EntityId, NewId, ObservationId, RunId, SnippetId, content_id
from canonry.values.observations import ObservationDraft
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
        recorded = Recorded(
            source=before if isinstance(before, Source) else source,
            run=run,
            records=[
                replace(each, reasons=found.reasons) if found.reasons else each
                for each, found in zip(recording.records, statement.records, strict=True)
            ],
            total=len(recording.records),
            duplicates=tuple(recording.duplicates.values())[:TOLD_MAX],
            observations=len(recording.kept),
            warnings=warnings,
            again=isinstance(before, Source),
        )
        ids = (account.space, source.id, run_id, *edges)
        reads = frozenset().union(recording.reads, reading.reads, map(thing_key, ids))
        return Change(entries=tuple(entries), reads=reads, found=recorded)

    receipt = await commit_change(canon, caller, account.space, prepare)
    found = await found_by(receipt, prepare)
    pace.done = pace.total
    await pace.tell("records kept")
    return found if receipt.found is not None else _as_first_told(found, receipt)


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

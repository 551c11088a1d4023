"""Ingest a file: store it, interpret it, and record the entities found.

Files within it, such as attachments, are sources of their own. If an error occurs after the file
was stored, its source stays and the error names it. The same file is interpreted once for each
configuration. If it arrives again, its values count as the latest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

from canonry.canon.ports.files import FileHint, Member
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    commit_change,
    drafts_made_before,
    find_earlier_commit,
    first_made,
)
from canonry.canon.session.lookup import Account, opening_entries, require_item, within_account
from canonry.log.entries import FileAttached, Made
from canonry.log.folding import item_key
from canonry.log.items.sources import (
    InterpretationRun,
    RunDraft,
    RunStatus,
    Source,
    SourceDraft,
    SourceType,
    run_id_of,
    source_id_of,
)
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.models.outside_services import ASKED
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.interpretations import FoundEntity, require_record
from canonry.records.usecases.files import GivenFile, StoredFile, filing_of, hint_of, store_file
from canonry.records.usecases.record_source import (
    PlannedRun,
    RecordOutcome,
    excerpts_of,
    interpret_file,
    plan_run,
    record_batches,
    record_source,
    require_quota,
    restate_run,
)
from canonry.records.usecases.records import SourceStatement
from canonry.values.errors import CanonryError, InvalidInput, Unavailable
from canonry.values.ids import EntityId, NewId, RunId, SourceId
from canonry.values.json_values import canonical_json
from canonry.values.observations import PRIORITY_INTERPRETED, SPECIFICITY_INTERPRETED
from canonry.values.provenance import CanonLevel

_TYPES: Final = tuple(TRUTH_TYPES.values())
_DEPTH_MAX: Final = 3
"""The depth of files within files: a table in an archive that is attached to a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberIngested:
    """The outcome of a file within a file; `problem` is the code of the reason if unread."""

    name: str
    source_id: SourceId | None = None
    entities: Sequence[EntityId] = ()
    problem: str | None = None
    record: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIngested:
    """The source of a file, whether it existed before, and the outcome of its records.

    `run` is None without an interpretation. `recorded` is None if an earlier call recorded the
    file; `restated` is then the number of observations that were added again.
    """

    source: SourceDraft
    stored: StoredFile | None
    deduplicated: bool
    run: RunDraft | None = None
    recorded: RecordOutcome | None = None
    restated: int = 0
    members: Sequence[MemberIngested] = ()


async def ingest_file(
    canon: Canon,
    caller: Caller,
    account: Account,
    given: GivenFile,
    *,
    interpret: bool = True,
    config: Mapping[str, Any] | None = None,
    bucket: str | None = None,
) -> FileIngested:
    """Store a file and, if `interpret`, the entities that an interpreter finds in it.

    Raises:
        InvalidInput: those of `store_file` and `plan_run`.
        InvalidInput: the file is unreadable but kept; with `source_id`.
        Unavailable: `interpretation.quota` or `interpretation.failed`, both with `source_id`.
    """
    plan = plan_run(canon, config) if interpret else None
    stored = await store_file(canon, account.user_id, given, bucket=bucket)
    source = _make_source(account, given, stored)
    if plan is None:
        kept, existed = await keep_source(canon, caller, account, source)
        return FileIngested(source=kept, stored=stored, deduplicated=existed)
    done = await _interpret_source(canon, caller, account, source, (plan, given))
    restated = 0
    mine = await find_earlier_commit(canon, within_account(caller), account.space)
    if done.run is not None and done.recorded is None and mine is None:
        restated = await restate_run(canon, caller, account, done.run)
    return replace(done, stored=stored, restated=restated)


async def ingest_properties(
    canon: Canon,
    caller: Caller,
    account: Account,
    given: GivenFile,
    properties: Mapping[str, Any],
    *,
    bucket: str | None = None,
) -> FileIngested:
    """Store a file with properties from the caller in place of an interpretation.

    Raises:
        InvalidInput: those of `store_file` and `require_record`.
    """
    fields = {name: value for name, value in properties.items() if name != "entity_type"}
    kind = str(properties.get("entity_type") or "document")
    if kind == "document":
        fields.setdefault("title", given.hint.name or sha256(given.data).hexdigest())
    record = FoundEntity(entity_type=kind, fields=fields)
    require_record(record, "/properties")
    stored = await store_file(canon, account.user_id, given, bucket=bucket)
    source = _make_source(account, given, stored)
    config = {"provider": "properties", "content": canonical_json(properties).decode()}
    statement = SourceStatement(
        account=account,
        source=source,
        config=config,
        records=[record],
        repeatable=True,
        started_at=canon.clock.now(),
    )
    recorded = await record_source(canon, within_account(caller), statement)
    return FileIngested(
        source=recorded.source,
        stored=stored,
        deduplicated=recorded.again,
        run=recorded.run,
        recorded=recorded,
    )


async def reinterpret_source(
    canon: Canon, caller: Caller, account: Account, source_id: str, config: Mapping[str, Any]
) -> FileIngested:
    """Interpret a stored file by another configuration; the same one gives the same run.

    Raises:
        NotFound: `source.unknown`.
        InvalidInput: `interpretation.no-file`, the source was given as records.
        Unavailable: those of `ingest_file`.
    """
    inner = within_account(caller)
    source = await require_item(canon, inner, Source, source_id)
    if source.source_type is not SourceType.DOCUMENT or source.content_hash is None:
        message = "The source has no file to interpret, because it was given as records."
        raise InvalidInput("interpretation.no-file", message, path="/source_id")
    plan = plan_run(canon, config)
    data = await filing_of(canon).blobs_of(account.user_id).get_bytes(source.content_hash)
    hint = FileHint(mime_type=source.mime_type or "", name=source.file_name or "")
    given = GivenFile(data=data, hint=hint)
    return await _interpret_source(canon, caller, account, source, (plan, given))


async def attach_file(
    canon: Canon, caller: Caller, account: Account, source_id: str, stored: StoredFile
) -> None:
    """Attach a stored file to another source.

    Raises:
        NotFound: `source.unknown`.
    """
    inner = within_account(caller)

    async def prepare_change(_: NewId) -> Change:
        source = await require_item(canon, inner, Source, source_id)
        reads = frozenset((item_key(source.id),))
        key = str(stored.key)
        if key in source.files:
            return Change(entries=(), reads=reads)
        return Change(entries=(FileAttached(source_id=source.id, file=key),), reads=reads)

    await commit_change(canon, derive_step(inner, "file"), account.space, prepare_change)


async def entities_of(canon: Canon, account: Account, done: FileIngested) -> Sequence[EntityId]:
    """Return the entities of a file's records, in their order."""
    if done.recorded is not None:
        return tuple(dict.fromkeys(each.entity_id for each in done.recorded.records))
    page = await canon.state.observations_from(done.source.id, limit=PAGE_MAX, offset=0)
    own = (each for each in page.items if each.space == account.space)
    return tuple(dict.fromkeys(each.entity_id for each in own))


async def keep_source(
    canon: Canon, caller: Caller, account: Account, source: SourceDraft, *runs: RunDraft
) -> tuple[SourceDraft, bool]:
    """Store a source without records; return it, and whether it existed before."""

    async def prepare_change(_: NewId) -> Change[tuple[SourceDraft, bool]]:
        known = await canon.space_scope(account.space).items_by_id((account.space, source.id))
        before = known.get(source.id)
        existed = isinstance(before, Source)
        kept = before if isinstance(before, Source) else source
        made: list[SourceDraft | RunDraft] = [] if existed else [source]
        made += runs
        entries = (
            [*opening_entries(account, known), *(Made(thing=each) for each in made)] if made else []
        )
        reads = frozenset(map(item_key, (account.space, source.id)))
        return Change(entries=tuple(entries), reads=reads, found=(kept, existed))

    inner = derive_step(within_account(caller), "source")
    receipt = await commit_change(canon, inner, account.space, prepare_change)
    return receipt.found or (first_made(receipt, SourceDraft), False)


async def _interpret_source(
    canon: Canon,
    caller: Caller,
    account: Account,
    source: SourceDraft,
    reading: tuple[PlannedRun, GivenFile],
    *,
    depth: int = 0,
) -> FileIngested:
    plan, given = reading
    config = dict(plan.configuration)
    run_id = run_id_of(source.id, config)
    known = await canon.space_scope(account.space).items_by_id((run_id, source.id))
    run, before = known.get(run_id), known.get(source.id)
    kept = before if isinstance(before, Source) else source
    if isinstance(run, InterpretationRun):
        # A retry reads the file again to repeat its reply. It does not ask a model again, because
        # that costs money and may give another result.
        made = await drafts_made_before(canon, within_account(caller), account.space, RunDraft)
        if not made or plan.interpreter.provider != "rules":
            return FileIngested(source=kept, stored=None, deduplicated=True, run=run)
    began = canon.clock.now()
    try:
        if not isinstance(run, InterpretationRun):
            await require_quota(canon, account)
        found, read = await interpret_file(canon, plan, given.data, given.hint, _TYPES)
    except CanonryError as error:
        if error.code == ASKED and not depth:
            raise  # the client answers and repeats the call, which then stores the file
        raise await _store_failure(canon, caller, account, source, error, config=config) from error
    ingest = partial(_ingest_member, depth=depth + 1)
    members = [
        await ingest(canon, derive_step(caller, f"member {n}"), account, source, (plan, each))
        for n, each in enumerate(read.members)
    ]
    excerpts = await excerpts_of(read)
    del read  # the tables of a long file
    statement = SourceStatement(
        account=account,
        source=source,
        config=config,
        records=(),
        priority=PRIORITY_INTERPRETED,
        specificity=SPECIFICITY_INTERPRETED,
        notes=found.warnings,
        brought=_pair_members(found.entities, members),
        excerpts=excerpts,
        started_at=began,
    )
    recorded = await record_batches(canon, within_account(caller), statement, found.entities)
    return FileIngested(
        source=recorded.source,
        stored=None,
        deduplicated=recorded.again,
        run=recorded.run,
        recorded=recorded,
        members=members,
    )


async def _store_failure(
    canon: Canon,
    caller: Caller,
    account: Account,
    source: SourceDraft,
    error: CanonryError,
    *,
    config: Mapping[str, Any],
) -> CanonryError:
    """Store the file and the failed run; return the error with the `source_id`.

    The failed run has an id of its own, so that another attempt can succeed.
    """
    attempt = derive_step(caller, "failed").commit_id(account.space, canon.identities.new_id)
    failed = RunDraft(
        id=RunId(attempt),
        space=source.space,
        source_id=source.id,
        config=dict(config),
        status=RunStatus.FAILED,
        error=error.code,
        started_at=canon.clock.now(),
        ended_at=canon.clock.now(),
    )
    runs = () if error.code == "interpretation.quota" else (failed,)
    await keep_source(canon, caller, account, source, *runs)
    if not isinstance(error, Unavailable | InvalidInput):
        return error
    return type(error)(error.code, error.message, **{**error.details, "source_id": source.id})


async def _ingest_member(
    canon: Canon,
    caller: Caller,
    account: Account,
    whole: SourceDraft,
    reading: tuple[PlannedRun, Member],
    *,
    depth: int,
) -> MemberIngested:
    """Store a file within a file as its own source; an error becomes its `problem`."""
    plan, member = reading
    outcome = MemberIngested(name=member.hint.name, record=member.record)
    if depth > _DEPTH_MAX:
        return replace(outcome, problem="document.too-deep")
    given = GivenFile(data=member.data, hint=hint_of("", member.hint.name))
    given = replace(given, hint=replace(given.hint, mime_type=member.hint.mime_type))
    try:
        stored = await store_file(canon, account.user_id, given)
        source = _make_source(account, given, stored)
        source = replace(source, properties={"part_of": whole.id, "name": member.hint.name})
        outcome = replace(outcome, source_id=source.id)
        done = await _interpret_source(canon, caller, account, source, (plan, given), depth=depth)
    except (InvalidInput, Unavailable) as error:
        return replace(outcome, problem=str(error.details.get("cause", error.code)))
    return replace(outcome, entities=await entities_of(canon, account, done))


def _pair_members(
    found: Sequence[FoundEntity], members: Sequence[MemberIngested]
) -> Sequence[tuple[int, EntityId]]:
    """Pair the first entity of each inner file with the record that the file came with."""
    if not members:
        return ()
    index_of = {each.row: index for index, each in reversed(list(enumerate(found))) if each.row}
    return [
        (index_of.get(each.record + 1, 0), each.entities[0])
        for each in members
        if each.record is not None and each.entities and found
    ]


def _make_source(account: Account, given: GivenFile, stored: StoredFile) -> SourceDraft:
    return SourceDraft(
        id=source_id_of(account.user_id, stored.key.digest),
        space=account.space,
        doc_id=stored.key.digest,
        title=given.hint.name,
        edition=None,
        origin=None,
        source_type=SourceType.DOCUMENT,
        level=CanonLevel.CANON,
        content_hash=stored.key.digest,
        mime_type=stored.media_type,
        size=stored.size,
        file_name=given.hint.name or None,
        files=(str(stored.key),),
    )

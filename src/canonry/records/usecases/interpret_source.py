"""Interpret a source, and restate what a run had said."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from canonry.canon.ports.files import FileHint, Reading
from canonry.canon.session.account import Account, within_account
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.paging import OF_RECORD, aside
from canonry.canon.session.sight import Sight
from canonry.language.texts.sentences import Cut, Excerpt, cut
from canonry.log.entries import Made
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.sources import InterpretationRun, RunDraft, RunStatus, SourceDraft, run_id_of
from canonry.log.schemas.narrative import NAME, PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.speaker import ASKED
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.interpretations import Interpretation, require_bounds
from canonry.records.ports.interpreter import Interpreter
from canonry.records.usecases.files import filing_of
from canonry.records.usecases.records import is_news, last_words_of
from canonry.records.usecases.relationships import edges_following, retellings
from canonry.records.usecases.schemas_in_force import schemas_for
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable
from canonry.values.fields import narrowed
from canonry.values.ids import EntityId, NewId, ObservationId, RunId
from canonry.values.json_values import encode_json
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.observations import Observation, ObservationDraft

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


def failed_run(
    run_id: RunId, source: SourceDraft, config: Mapping[str, Any], error: CanonryError, now: Instant
) -> RunDraft:
    """The record of an attempt; it has an id of its own, so that another attempt may succeed."""
    return RunDraft(
        id=run_id,
        space=source.space,
        source_id=source.id,
        config=dict(config),
        status=RunStatus.FAILED,
        error=error.code,
        started_at=now,
        ended_at=now,
    )


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
    limit = canon.policy.truth.interpretations
    if limit is None:
        return
    now, charged = canon.clock.now(), await _charged(canon, account, limit)
    if len(charged) < limit:
        return
    oldest = charged[-1].created_at if charged else now
    message = f"the quota of {limit} interpretations in 30 days is used up; the file is kept"
    wait = max(1, (oldest + _WINDOW - now) // SECOND)
    raise Unavailable("interpretation.quota", message, limit=limit, retry_after=wait)


async def _charged(canon: Canon, account: Account, limit: int) -> list[InterpretationRun]:
    """The newest runs that count, at most as many as the quota has."""
    since, offset = canon.clock.now() - _WINDOW, 0
    found: list[InterpretationRun] = []
    while len(found) < limit:
        spaces = frozenset((account.space,))
        page = await canon.state.runs_newest(spaces, limit=PAGE_MAX, offset=offset)
        recent = [run for run in page.items if run.created_at > since]
        found += [run for run in recent if _counts(run)]
        offset += PAGE_MAX
        if len(recent) < PAGE_MAX:
            break
    return found[:limit]


def _counts(run: InterpretationRun) -> bool:
    if run.status is not RunStatus.COMPLETED or BATCH in run.config:
        return False  # of a file that comes in batches the last one counts
    return run.config.get("provider") not in _HANDED_OVER


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
    roots = dict(entities)
    for given, entity in entities.items():
        survivor = survivors.get(entity.merged_into or "")
        if isinstance(survivor, Entity):
            roots[given] = survivor
    return entities, roots

"""Interpret a source: read its file and ask an interpreter; what comes of it is not canon yet.

The quota says how many runs a user may have in thirty days; there is none unless it is set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from canonry.canon.ports.files import FileHint, Reading
from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.canon.session.pacing import OF_RECORD, aside
from canonry.language.texts.excerpts import Cut, Excerpt, cut
from canonry.log.items.runs import InterpretationRun, RunDraft, RunStatus
from canonry.log.items.sources import SourceDraft
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.client_model import ASKED
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.records.domain.interpretations import Interpretation
from canonry.records.domain.record_bounds import require_bounds
from canonry.records.ports.interpreter import Interpreter
from canonry.records.usecases.store_file import filing_of
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable
from canonry.values.ids import RunId
from canonry.values.time import DAY, SECOND, Instant

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

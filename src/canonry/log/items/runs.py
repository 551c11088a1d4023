"""Interpretation runs: that an interpreter read a source, with which configuration and outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from canonry.values.ids import RunId, SourceId, SpaceId
from canonry.values.time import Instant


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDraft:
    """One reading of one source; it is recorded when it has ended, also when it failed.

    `config` is all that decides the outcome; `error` is the stable code of what went wrong.
    """

    id: RunId
    space: SpaceId
    source_id: SourceId
    config: Mapping[str, Any]
    status: RunStatus
    entities_created: int = 0
    observations_created: int = 0
    fragments: int = 0
    warnings: tuple[str, ...] = ()
    error: str | None = None
    started_at: Instant
    ended_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretationRun(RunDraft):
    """A run in the log."""

    created_at: Instant
    position: int
    changed_at: int

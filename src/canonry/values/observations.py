"""Observations: what somebody said about an entity at one time; snapshots are folded from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import EntityId, ObservationId, RunId, SourceId, SpaceId
from canonry.values.moments import Moment, StoryPlace, moment_of
from canonry.values.provenance import Authority, Evidence, EvidenceKind
from canonry.values.time import Instant

PRIORITY_STRUCTURED: Final = 100
"""Records that somebody handed over as such."""

PRIORITY_INTERPRETED: Final = 0
"""What an interpreter read out of a document."""

PRIORITY_CORRECTION: Final = 1000

_LIKENESS_BYTES: Final = 8
_NESTED: Final = (list, tuple, dict)

SPECIFICITY_STATED: Final = 1.0
SPECIFICITY_INTERPRETED: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A value that the schema of its time had no place for, and why; it is kept as it came."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """What happens at the date that a field says, as the schema of its time put it.

    `policy` is the merge policy of the field, which decides whether the date still stands.
    """

    event_type: str
    instant: Instant
    policy: str = "last_write"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationDraft:
    """Fields seen together.

    `fields` maps a field's name to its value: `name`, `description`, `properties.<key>`; the field
    `state_tags` maps each tag to whether it holds. `observed_at` is the instant in the world's own
    time, where one was given, `place` its place in the stories. A correction outranks every
    observation that is none.

    One that was read by a schema names the schema's version. `priority` and `specificity` are what
    merge policies weigh, `fragments` what the schema did not know (by the bare name of the field),
    `dates` what the entity's date fields say (by the bare name too).
    """

    id: ObservationId
    space: SpaceId
    entity_id: EntityId
    fields: Mapping[str, Any]
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    observed_at: Instant | None
    place: StoryPlace | None = None
    correction: bool = False
    priority: int = PRIORITY_STRUCTURED
    specificity: float = SPECIFICITY_STATED
    schema_version: str | None = None
    run_id: RunId | None = None
    fragments: Mapping[str, Fragment] = field(default_factory=dict)
    dates: Mapping[str, Dated] = field(default_factory=dict)
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(ObservationDraft):
    """An observation in the log; `recorded_at` is the instant of the commit."""

    recorded_at: Instant
    position: int
    changed_at: int

    @property
    def moment(self) -> Moment:
        """When what it says begins to hold."""
        return moment_of(self.observed_at, self.place, self.position)

    @property
    def effective_at(self) -> Instant:
        """When it holds from: the world's time if known, else the time of recording."""
        return self.recorded_at if self.observed_at is None else self.observed_at

    @property
    def seen_at(self) -> Instant:
        """What decides which of two came last.

        Where a schema read it, its own instant; else the log's, because worlds mix their times.
        """
        return self.recorded_at if self.schema_version is None else self.effective_at

    @property
    def likeness(self) -> str | None:
        """Equal for observations of which only the last one seen and the last one told count.

        They say the same fields with the same weight, so that no merge policy lets another of them
        win, and the same name, because every name that was ever told is kept. None where values
        have parts that count for themselves: lists, and tags.
        """
        for value in self.fields.values():
            if isinstance(value, _NESTED):
                return None
        said = (*self.fields, "", *self.fragments)
        weight = (self.correction, self.priority, self.specificity, self.schema_version is None)
        return _likeness((*weight, self.fields.get("name")), said)

    @property
    def source_id(self) -> SourceId | None:
        """The source that it was read from."""
        for cited in self.evidence:
            if cited.kind is EvidenceKind.SOURCE:
                return SourceId(cited.ref)
        return None


@lru_cache(maxsize=1024)
def _likeness(weight: tuple[Any, ...], said: tuple[str, ...]) -> str:
    apart = said.index("")
    names = (sorted(said[:apart]), sorted(said[apart + 1 :]))
    return blake2b(repr((weight, names)).encode(), digest_size=_LIKENESS_BYTES).hexdigest()

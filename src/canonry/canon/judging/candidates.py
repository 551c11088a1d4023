"""Candidates: a proposal as the gates see it, with what it says and when that happens."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from canonry.canon.judging.contents import (
    UNLIMITED,
    Content,
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    read_content,
)
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, place_in
from canonry.values.errors import InvalidInput
from canonry.values.fields import PROPOSAL_PREFIX, Reference
from canonry.values.ids import ProposalId
from canonry.values.moments import Instant, Moment, StoryPlace
from canonry.values.provenance import Evidence, EvidenceKind

Declared: TypeAlias = Mapping[Reference, ProposalId]
"""The proposals of a scene by the names that they declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A content that cannot be read as one of its type, and why."""

    reason: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposal with its content read; names that the scene declares are replaced by proposals.

    `declared` are those names, where the proposal itself declares one of an entity.
    """

    proposal: Proposal
    content: Content | Unreadable
    scene: Scene | None
    declared: Declared = field(default_factory=dict)
    moment: Moment = field(init=False)
    """When it happens, for comparing."""
    evidence: tuple[Evidence, ...] = field(init=False)
    """All evidence of the proposal: what it cites, its turn and its scene."""

    def __post_init__(self) -> None:
        """Take the time of the content, else that of its scene; gather the evidence."""
        own, scene, proposal = time_of(self.content), self.scene, self.proposal
        at = own if own is not None or scene is None else scene.time_ref
        place = place_in(scene, proposal.turn_index, proposal.position, dated=own is not None)
        object.__setattr__(self, "moment", Moment(at=at, place=place))
        found = list(proposal.evidence)
        if proposal.turn_id is not None:
            found.append(Evidence(kind=EvidenceKind.TURN, ref=proposal.turn_id))
        if proposal.scene_id is not None:
            found.append(Evidence(kind=EvidenceKind.SCENE, ref=proposal.scene_id))
        object.__setattr__(self, "evidence", tuple(dict.fromkeys(found)))

    @property
    def at(self) -> Instant | None:
        """The time in the world."""
        return self.moment.at

    @property
    def place(self) -> StoryPlace:
        """Where in the stories it was told."""
        return self.moment.place


def read_candidate(proposal: Proposal, scene: Scene | None, declared: Declared) -> Candidate:
    """The candidate that `proposal` is."""
    content: Content | Unreadable
    try:
        content = linked(read_content(proposal.type, proposal.content, limits=UNLIMITED), declared)
    except InvalidInput as error:
        content = Unreadable(reason=error.message, path=str(error.details.get("path", "")))
    named = isinstance(content, EntityContent) and content.ref is not None
    names = declared if named else {}
    return Candidate(proposal=proposal, content=content, scene=scene, declared=names)


def time_of(content: Content | Unreadable) -> Instant | None:
    """The time that the content states itself; None where it states none."""
    match content:
        case EventContent() | FactContent() | StateChangeContent():
            return content.time_ref
        case RelationshipContent():
            return content.since
        case EntityContent() | Unreadable():
            return None


def linked(content: Content, declared: Declared) -> Content:
    """The content, with names that proposals declare replaced by references to those proposals."""
    if not declared:
        return content

    def one(reference: Reference) -> Reference:
        proposal = declared.get(reference)
        return reference if proposal is None else Reference(PROPOSAL_PREFIX + proposal)

    def maybe(reference: Reference | None) -> Reference | None:
        return None if reference is None else one(reference)

    def many(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
        return tuple(map(one, references))

    match content:
        case EntityContent():
            return replace(content, derives_from=maybe(content.derives_from))
        case RelationshipContent():
            return replace(
                content, from_entity=one(content.from_entity), to_entity=one(content.to_entity)
            )
        case StateChangeContent():
            return replace(content, entity=one(content.entity))
        case EventContent():
            return replace(
                content,
                involved=many(content.involved),
                actors=many(content.actors),
                location=maybe(content.location),
                causes=many(content.causes),
                caused_by=many(content.caused_by),
            )
        case FactContent():
            return replace(
                content,
                involved=many(content.involved),
                actors=many(content.actors),
                replaces=maybe(content.replaces),
            )

"""Candidates: parsed proposals, and the order in which they are judged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from canonry.canon.judging.contents import (
    UNLIMITED,
    Content,
    EntityContent,
    read_content,
    references_of,
    with_references,
)
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalType
from canonry.log.items.scenes import Scene, position_in
from canonry.values.errors import InvalidInput
from canonry.values.fields import PROPOSAL_PREFIX, Reference
from canonry.values.ids import ProposalId
from canonry.values.json_values import UNSET, UnsetType
from canonry.values.moments import Instant, Moment
from canonry.values.provenance import Evidence, EvidenceKind

Declared: TypeAlias = Mapping[Reference, ProposalId]
"""The proposals of a scene by the names that they declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A content that cannot be parsed, and the reason."""

    reason: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposal with parsed content; declared names are replaced by their proposals.

    `declared` holds those names if the proposal declares the name of an entity itself. `corrects`
    is the wrong item, whose time a correction without a time has. `order_candidates` sets that it
    `acts`. `reached` is the latest time on the timelines of a proposal without a time and a scene,
    up to the `present` of the space, which is by default the time of the proposal.
    """

    proposal: Proposal
    content: Content | Unreadable
    scene: Scene | None
    declared: Declared = field(default_factory=dict)
    corrects: Fact | Event | Relation | None = None
    acts: bool = False
    reached: Instant | UnsetType | None = UNSET
    present: Instant | None = None
    moment: Moment = field(init=False)
    """The moment of the content, for comparison."""
    evidence: tuple[Evidence, ...] = field(init=False)
    """All evidence of the proposal: its citations, its turn and its scene."""

    def __post_init__(self) -> None:
        """Use the time of the content, else of its scene, and collect the evidence."""
        own, scene, proposal = time_of(self.content), self.scene, self.proposal
        at = own if own is not None or scene is None else scene.time_ref
        position = position_in(scene, proposal.turn_index, proposal.position, dated=own is not None)
        if self.reached is not UNSET:
            position = replace(position, reached=self.reached)
        wrong = self.corrects if own is None else None
        moment = Moment(at=at, position=position) if wrong is None else wrong.moment
        object.__setattr__(self, "moment", moment)
        found = list(proposal.evidence)
        if proposal.turn_id is not None:
            found.append(Evidence(kind=EvidenceKind.TURN, ref=proposal.turn_id))
        if proposal.scene_id is not None:
            found.append(Evidence(kind=EvidenceKind.SCENE, ref=proposal.scene_id))
        object.__setattr__(self, "evidence", tuple(dict.fromkeys(found)))


def read_candidate(proposal: Proposal, scene: Scene | None, declared: Declared) -> Candidate:
    """Parse a proposal into a candidate."""
    content: Content | Unreadable
    try:
        content = link_declared(
            read_content(proposal.type, proposal.content, limits=UNLIMITED), declared
        )
    except InvalidInput as error:
        reason = error.message.removesuffix(".")
        content = Unreadable(reason=reason, path=str(error.details.get("path", "")))
    named = isinstance(content, EntityContent) and content.ref is not None
    names = declared if named else {}
    return Candidate(proposal=proposal, content=content, scene=scene, declared=names)


def time_of(content: Content | Unreadable) -> Instant | None:
    """Return the content's own time, or None."""
    at: Instant | None = getattr(content, "time_ref", getattr(content, "since", None))
    return at


def link_declared(content: Content, declared: Declared) -> Content:
    """Replace declared names in the content by references to their proposals."""
    if not declared:
        return content

    def link_reference(reference: Reference) -> Reference:
        proposal = declared.get(reference)
        return reference if proposal is None else Reference(PROPOSAL_PREFIX + proposal)

    return with_references(content, link_reference)


# Ordering: each proposal of a scene is judged after those that it depends on.
#
# Entities come before relations, state changes, facts and events, and a proposal after those that
# it refers to. The rest is sorted by story time, then turn, then time of proposing.

TYPE_ORDER: Final = {
    ProposalType.ENTITY: 0,
    ProposalType.RELATIONSHIP: 1,
    ProposalType.STATE_CHANGE: 2,
    ProposalType.FACT: 3,
    ProposalType.EVENT: 4,
}
_AFTER_ALL_TURNS: Final = 2**62


def declared_names(proposals: Iterable[Proposal]) -> Declared:
    """Map declared names to their proposals; the older of two proposals keeps the name."""
    names: dict[Reference, ProposalId] = {}
    for proposal in sorted(proposals, key=lambda p: (p.created_at, p.id)):
        ref = proposal.content.get("ref")
        if proposal.type is ProposalType.ENTITY and isinstance(ref, str):
            names.setdefault(Reference(ref), proposal.id)
    return names


def dependencies_of(candidate: Candidate) -> frozenset[ProposalId]:
    """Return the proposals that a candidate refers to."""
    if isinstance(candidate.content, Unreadable):
        return frozenset()
    return frozenset(
        ProposalId(reference.removeprefix(PROPOSAL_PREFIX))
        for reference in references_of(candidate.content)
        if reference.startswith(PROPOSAL_PREFIX)
    )


def order_candidates(candidates: Iterable[Candidate]) -> Sequence[Candidate]:
    """Return the candidates in the order of judging; cyclic dependencies come last."""
    by_id = {candidate.proposal.id: candidate for candidate in candidates}
    actors = {actor for one in by_id.values() for actor in getattr(one.content, "actors", ())}
    for one in by_id.keys() & {ProposalId(e.removeprefix(PROPOSAL_PREFIX)) for e in actors}:
        by_id[one] = replace(by_id[one], acts=True)
    waits = {one: set(dependencies_of(c) & by_id.keys()) for one, c in by_id.items()}
    needed_by: dict[ProposalId, list[ProposalId]] = {one: [] for one in by_id}
    for one, needs in waits.items():
        for need in needs:
            needed_by[need].append(one)
    ready = [(_judging_rank(by_id[one]), one) for one, needs in waits.items() if not needs]
    heapify(ready)
    ordered: list[Candidate] = []
    while ready:
        _, one = heappop(ready)
        ordered.append(by_id[one])
        for other in needed_by[one]:
            waits[other].discard(one)
            if not waits[other]:
                heappush(ready, (_judging_rank(by_id[other]), other))
    return [
        *ordered,
        *sorted((by_id[one] for one, needs in waits.items() if needs), key=_judging_rank),
    ]


def _judging_rank(candidate: Candidate) -> tuple[int, bool, int, int, int, str]:
    one, at = candidate.proposal, candidate.moment.at
    turn = _AFTER_ALL_TURNS if one.turn_index is None else one.turn_index
    return TYPE_ORDER[one.type], at is not None, at or 0, turn, one.created_at, one.id

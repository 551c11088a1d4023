"""Ordering: the order in which the proposals of a scene are judged, each after what it depends on.

Entities come before relations, state changes, events and facts, and a proposal after those that it
names. Among the rest the world's time decides, then the turn, then the time of proposing.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from canonry.canon.judging.candidates import Candidate, Declared, Unreadable
from canonry.canon.judging.contents import references_of
from canonry.log.items.proposals import Proposal, ProposalType
from canonry.values.fields import PROPOSAL_PREFIX, Reference
from canonry.values.ids import ProposalId

TYPE_ORDER: Final = {
    ProposalType.ENTITY: 0,
    ProposalType.RELATIONSHIP: 1,
    ProposalType.STATE_CHANGE: 2,
    ProposalType.EVENT: 3,
    ProposalType.FACT: 4,
}
_AFTER_ALL_TURNS: Final = 2**62


def declared_names(proposals: Iterable[Proposal]) -> Declared:
    """The names that proposals of entities declare; of two proposals the older one has it."""
    names: dict[Reference, ProposalId] = {}
    for proposal in sorted(proposals, key=lambda p: (p.created_at, p.id)):
        ref = proposal.content.get("ref")
        if proposal.type is ProposalType.ENTITY and isinstance(ref, str):
            names.setdefault(Reference(ref), proposal.id)
    return names


def dependencies_of(candidate: Candidate) -> frozenset[ProposalId]:
    """The proposals that a candidate names."""
    if isinstance(candidate.content, Unreadable):
        return frozenset()
    return frozenset(
        ProposalId(reference.removeprefix(PROPOSAL_PREFIX))
        for reference in references_of(candidate.content)
        if reference.startswith(PROPOSAL_PREFIX)
    )


def in_order(candidates: Iterable[Candidate]) -> Sequence[Candidate]:
    """The candidates in the order of judging; those that name each other in a circle come last."""
    by_id = {candidate.proposal.id: candidate for candidate in candidates}
    waits = {one: set(dependencies_of(c) & by_id.keys()) for one, c in by_id.items()}
    needed_by: dict[ProposalId, list[ProposalId]] = {one: [] for one in by_id}
    for one, needs in waits.items():
        for need in needs:
            needed_by[need].append(one)
    ready = [(_rank(by_id[one]), one) for one, needs in waits.items() if not needs]
    heapify(ready)
    ordered: list[Candidate] = []
    while ready:
        _, one = heappop(ready)
        ordered.append(by_id[one])
        for other in needed_by[one]:
            waits[other].discard(one)
            if not waits[other]:
                heappush(ready, (_rank(by_id[other]), other))
    return [*ordered, *_knotted(by_id, ordered)]


def _knotted(
    by_id: Mapping[ProposalId, Candidate], ordered: Sequence[Candidate]
) -> list[Candidate]:
    done = {candidate.proposal.id for candidate in ordered}
    return sorted((c for one, c in by_id.items() if one not in done), key=_rank)


def _rank(candidate: Candidate) -> tuple[int, bool, int, int, int, str]:
    proposal = candidate.proposal
    turn = _AFTER_ALL_TURNS if proposal.turn_index is None else proposal.turn_index
    at = candidate.at
    return (
        TYPE_ORDER[proposal.type],
        at is not None,
        at or 0,
        turn,
        proposal.created_at,
        proposal.id,
    )

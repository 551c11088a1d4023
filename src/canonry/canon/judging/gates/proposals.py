"""Gates on a proposal itself: readable content, existing references, and a sufficient score."""

from collections.abc import Iterator

from canonry.canon.judging.candidates import Candidate, Unreadable, dependencies_of
from canonry.canon.judging.contents import (
    Content,
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    references_of,
)
from canonry.canon.judging.gates.kit import Objection, Weight, gate
from canonry.canon.judging.relation_lines import misplacing
from canonry.canon.judging.slices import SliceView, score_of, standing_of
from canonry.log.entries import THING_KINDS, Tombstone
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.log.schemas.narrative import EntityType, relation_type
from canonry.values.fields import Reference
from canonry.values.provenance import Authority, CanonLevel


@gate(Unreadable)
def content_readable(_: Candidate, content: Unreadable, __: SliceView) -> Iterator[Objection]:
    """Refuse content that cannot be parsed as its type."""
    yield Objection(weight=Weight.REFUSES, rationale=content.reason)


@gate()
def dependency_accepted(candidate: Candidate, _: Content, view: SliceView) -> Iterator[Objection]:
    """Refuse a proposal that builds on one that is not canon."""
    waiting: list[str] = []
    for needed in sorted(dependencies_of(candidate)):
        proposal = view.thing(needed)
        if not isinstance(proposal, Proposal):
            rationale = f"the proposal {needed} that it builds on does not exist"
        elif proposal.space != candidate.proposal.space:
            rationale = f"the proposal {needed} that it builds on belongs to another universe"
        elif proposal.status is ProposalStatus.REJECTED:
            rationale = f"the proposal {needed} that it builds on was rejected"
        elif proposal.status is ProposalStatus.PENDING and proposal.review is not None:
            waiting.append(needed)
            continue
        elif proposal.status is ProposalStatus.PENDING:
            rationale = f"the proposal {needed} that it builds on is not decided yet"
        else:
            continue
        yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(needed,))
    if waiting:
        named = "a proposal" if len(waiting) == 1 else "proposals"
        rationale = f"needs review: it builds on {named} in review: {', '.join(waiting)}"
        yield Objection(weight=Weight.DEFERS, rationale=rationale, conflicts=tuple(waiting))


@gate()
def references_exist(
    candidate: Candidate, content: Content, view: SliceView
) -> Iterator[Objection]:
    """Refuse references to missing items or to other universes."""
    for reference in references_of(content):
        thing = view.referred(reference)
        if thing is None or isinstance(thing, Tombstone):
            rationale = f"it names {reference}, which does not exist"
            yield Objection(weight=Weight.REFUSES, rationale=rationale)
        elif thing.space != candidate.proposal.space:
            rationale = f"it names {reference}, which belongs to another universe"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(thing.id,))


@gate()
def references_fit(candidate: Candidate, content: Content, view: SliceView) -> Iterator[Objection]:
    """Refuse references to items of the wrong kind."""
    match content:
        case EntityContent(derives_from=archetype) if archetype is not None:
            yield from _archetype(content, archetype, view)
        case RelationshipContent():
            ends = (content.from_entity, content.to_entity)
            yield from _all_are(ends, Entity, "an entity", view)
            yield from _two_ends(candidate, content, view)
        case StateChangeContent(entity=reference):
            yield from _all_are((reference,), Entity, "an entity", view)
            entity = view.entity(reference)
            if entity is not None and entity.entity_class is EntityClass.ARCHETYPE:
                yield _misfit(f"{reference} is an archetype, which has no state", entity.id)
        case EventContent():
            yield from _all_are(content.involved, Entity, "an entity", view)
            yield from _all_are((*content.causes, *content.caused_by), Event, "an event", view)
            place = None if content.location is None else view.entity(content.location)
            if place is not None and place.entity_type != EntityType.LOCATION:
                yield _misfit(f"{content.location} must be a location", place.id)
        case FactContent():
            yield from _all_are(content.involved, Entity, "an entity", view)
        case _:
            return
    if content.replaces is not None:
        yield from _all_are(
            (content.replaces,), (Fact, Event, Relation), "a fact, event or relation", view
        )


def _all_are(
    references: tuple[Reference, ...], kind: type | tuple[type, ...], what: str, view: SliceView
) -> Iterator[Objection]:
    for reference in references:
        thing = view.referred(reference)
        if thing is not None and not isinstance(thing, kind):
            yield _misfit(f"{reference} must be {what}", thing.id)


def _archetype(
    content: EntityContent, archetype: Reference, view: SliceView
) -> Iterator[Objection]:
    thing = view.entity(archetype)
    if thing is None or thing.entity_class is not EntityClass.ARCHETYPE:
        yield _misfit(f"{archetype} must be an archetype")
    elif thing.entity_type != content.entity_type:
        rationale = f"type {content.entity_type} cannot derive from type {thing.entity_type}"
        yield _misfit(rationale, thing.id)


def _two_ends(
    candidate: Candidate, content: RelationshipContent, view: SliceView
) -> Iterator[Objection]:
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    if start is None or end is None:
        return
    if start.id == end.id:
        yield _misfit("both ends of the relation are the same entity", start.id)
        return
    wrong = misplacing(view, relation_type(content.rel_type), start, end, candidate.moment)
    if wrong is not None:
        yield _misfit(wrong[0], *wrong[1])


def _misfit(rationale: str, *conflicts: str) -> Objection:
    return Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=conflicts)


@gate()
def target_not_retconned(
    candidate: Candidate, content: Content, view: SliceView
) -> Iterator[Objection]:
    """Refuse references to retconned items."""
    wrong = candidate.corrects
    for reference in references_of(content):
        corrected = wrong is not None and str(reference) == wrong.id
        if corrected and candidate.proposal.review is not None:
            continue  # it waited until another claim retracted the wrong item
        thing = wrong if corrected else view.referred(reference)
        if (
            isinstance(thing, Entity | Event | Fact | Relation)
            and thing.level is not CanonLevel.CANON
        ):
            rationale = f"it names {reference}, which is {thing.level} and not canon"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(thing.id,))


@gate()
def evidence_resolves(candidate: Candidate, _: Content, view: SliceView) -> Iterator[Objection]:
    """Refuse evidence that cannot be found."""
    for evidence in candidate.evidence:
        thing = view.cited(evidence.ref)
        if thing is None or THING_KINDS[type(thing)] != evidence.kind.thing:
            rationale = f"its evidence {evidence} does not exist"
            yield Objection(weight=Weight.REFUSES, rationale=rationale)
        elif thing.space != candidate.proposal.space:
            rationale = f"its evidence {evidence} belongs to another universe"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(thing.id,))


@gate()
def score_reaches_threshold(
    candidate: Candidate, _: Content, view: SliceView
) -> Iterator[Objection]:
    """Refuse or defer a proposal with too low a score.

    A game master's proposal passes with any confidence and any evidence, and is reviewed otherwise.
    """
    proposal, scoring = candidate.proposal, view.policy.scoring
    score = score_of(proposal, standing_of(proposal, view), scoring)
    if score.passes:
        return
    rationale = (
        f"its score of {score.value:g} is below {scoring.threshold:g}: confidence "
        f"{proposal.confidence:g}, authority {score.authority}, "
        f"{'with' if proposal.evidence else 'without'} evidence"
    )
    if proposal.authority is not score.authority:
        rationale += f" (claimed {proposal.authority}, but cites no source that is canon)"
    by_rank = score.authority is Authority.GM
    if by_rank:
        rationale = f"needs review: the authority gm is not enough alone: {rationale}"
    defers = by_rank or scoring.below == "defer"
    yield Objection(weight=Weight.DEFERS if defers else Weight.REFUSES, rationale=rationale)

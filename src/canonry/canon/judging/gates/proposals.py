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
from canonry.canon.judging.gates.verdicts import Objection, Weight, make_gate
from canonry.canon.judging.relation_timelines import misplacement_reason
from canonry.canon.judging.slices import SliceView, effective_authority, score_of
from canonry.log.entries import KIND_NAMES, Tombstone
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.log.schemas.narrative import EntityType, relation_type
from canonry.values.fields import Reference
from canonry.values.provenance import Authority, CanonLevel


@make_gate(Unreadable)
def content_readable(_: Candidate, content: Unreadable, __: SliceView) -> Iterator[Objection]:
    """Refuse content that cannot be parsed as its type."""
    yield Objection(weight=Weight.REFUSES, rationale=content.reason)


@make_gate()
def dependency_accepted(candidate: Candidate, _: Content, view: SliceView) -> Iterator[Objection]:
    """Refuse a proposal that builds on one that is not canon."""
    waiting: list[str] = []
    for needed in sorted(dependencies_of(candidate)):
        proposal = view.find_item(needed)
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


@make_gate()
def references_exist(
    candidate: Candidate, content: Content, view: SliceView
) -> Iterator[Objection]:
    """Refuse references to missing items or to other universes."""
    for reference in references_of(content):
        item = view.referred_item(reference)
        if item is None or isinstance(item, Tombstone):
            rationale = f"it names {reference}, which does not exist"
            yield Objection(weight=Weight.REFUSES, rationale=rationale)
        elif item.space != candidate.proposal.space:
            rationale = f"it names {reference}, which belongs to another universe"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(item.id,))


@make_gate()
def references_fit(candidate: Candidate, content: Content, view: SliceView) -> Iterator[Objection]:
    """Refuse references to items of the wrong kind."""
    match content:
        case EntityContent(derives_from=archetype) if archetype is not None:
            yield from _check_archetype(content, archetype, view)
        case RelationshipContent():
            ends = (content.from_entity, content.to_entity)
            yield from _require_kind(ends, Entity, "an entity", view)
            yield from _check_ends(candidate, content, view)
        case StateChangeContent(entity=reference):
            yield from _require_kind((reference,), Entity, "an entity", view)
            entity = view.find_entity(reference)
            if entity is not None and entity.entity_class is EntityClass.ARCHETYPE:
                yield _refuse_misfit(f"{reference} is an archetype, which has no state", entity.id)
        case EventContent():
            yield from _require_kind(content.involved, Entity, "an entity", view)
            yield from _require_kind((*content.causes, *content.caused_by), Event, "an event", view)
            location = None if content.location is None else view.find_entity(content.location)
            if location is not None and location.entity_type != EntityType.LOCATION:
                yield _refuse_misfit(f"{content.location} must be a location", location.id)
        case FactContent():
            yield from _require_kind(content.involved, Entity, "an entity", view)
        case _:
            return
    if content.replaces is not None:
        yield from _require_kind(
            (content.replaces,), (Fact, Event, Relation), "a fact, event or relation", view
        )


def _require_kind(
    references: tuple[Reference, ...], kind: type | tuple[type, ...], what: str, view: SliceView
) -> Iterator[Objection]:
    for reference in references:
        item = view.referred_item(reference)
        if item is not None and not isinstance(item, kind):
            yield _refuse_misfit(f"{reference} must be {what}", item.id)


def _check_archetype(
    content: EntityContent, archetype: Reference, view: SliceView
) -> Iterator[Objection]:
    item = view.find_entity(archetype)
    if item is None or item.entity_class is not EntityClass.ARCHETYPE:
        yield _refuse_misfit(f"{archetype} must be an archetype")
    elif item.entity_type != content.entity_type:
        rationale = f"type {content.entity_type} cannot derive from type {item.entity_type}"
        yield _refuse_misfit(rationale, item.id)


def _check_ends(
    candidate: Candidate, content: RelationshipContent, view: SliceView
) -> Iterator[Objection]:
    start, end = view.find_entity(content.from_entity), view.find_entity(content.to_entity)
    if start is None or end is None:
        return
    if start.id == end.id:
        yield _refuse_misfit("both ends of the relation are the same entity", start.id)
        return
    wrong = misplacement_reason(view, relation_type(content.rel_type), start, end, candidate.moment)
    if wrong is not None:
        yield _refuse_misfit(wrong[0], *wrong[1])


def _refuse_misfit(rationale: str, *conflicts: str) -> Objection:
    return Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=conflicts)


@make_gate()
def target_not_retconned(
    candidate: Candidate, content: Content, view: SliceView
) -> Iterator[Objection]:
    """Refuse references to retconned items."""
    wrong = candidate.corrects
    for reference in references_of(content):
        corrected = wrong is not None and str(reference) == wrong.id
        if corrected and candidate.proposal.review is not None:
            continue  # it waited until another claim retracted the wrong item
        item = wrong if corrected else view.referred_item(reference)
        if (
            isinstance(item, Entity | Event | Fact | Relation)
            and item.level is not CanonLevel.CANON
        ):
            rationale = f"it names {reference}, which is {item.level} and not canon"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(item.id,))


@make_gate()
def evidence_resolves(candidate: Candidate, _: Content, view: SliceView) -> Iterator[Objection]:
    """Refuse evidence that cannot be found."""
    for evidence in candidate.evidence:
        item = view.find_evidence(evidence.ref)
        if item is None or KIND_NAMES[type(item)] != evidence.kind.item_kind:
            rationale = f"its evidence {evidence} does not exist"
            yield Objection(weight=Weight.REFUSES, rationale=rationale)
        elif item.space != candidate.proposal.space:
            rationale = f"its evidence {evidence} belongs to another universe"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(item.id,))


@make_gate()
def score_reaches_threshold(
    candidate: Candidate, _: Content, view: SliceView
) -> Iterator[Objection]:
    """Refuse or defer a proposal with too low a score.

    A game master's proposal passes with any confidence and any evidence, and is reviewed otherwise.
    """
    proposal, scoring = candidate.proposal, view.policy.scoring
    score = score_of(proposal, effective_authority(proposal, view), scoring)
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

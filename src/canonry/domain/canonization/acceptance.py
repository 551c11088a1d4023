"""Acceptance: what an accepted proposal writes; the made things, what falls or ends, the decision.

What is canon already is not made twice: the proposal then becomes more evidence for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from canonry.domain.errors import BrokenInvariant
from canonry.domain.fields import Reference
from canonry.domain.gates.kit import Rival, Verdict
from canonry.domain.ids import EntityId, EventId, FactId, NewId, RelationId
from canonry.domain.judging.candidates import Candidate, Unreadable
from canonry.domain.judging.contents import (
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
)
from canonry.domain.judging.making import (
    Backing,
    make_entity,
    make_event,
    make_fact,
    make_observation,
    make_relation,
)
from canonry.domain.judging.namesakes import known_as, restated
from canonry.domain.judging.relation_lines import line_of, restates, written
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import TagHeld, as_held, changes_of, still_stands
from canonry.domain.judging.tag_changes import TagsChanged, change_tags
from canonry.domain.judging.tag_facts import superseded
from canonry.domain.judging.undone_tags import undone
from canonry.domain.log.entries import (
    CausesLinked,
    Entry,
    EventRetconned,
    EvidenceLinked,
    FactRetconned,
    Made,
    RelationRetconned,
)
from canonry.domain.moments import overlaps
from canonry.domain.observations import ObservationDraft
from canonry.domain.provenance import Evidence
from canonry.domain.things.entities import Entity, normalised_name
from canonry.domain.things.facts import Event, Fact
from canonry.domain.things.relations import Relation, RelationDraft, SaidAgain
from canonry.domain.time import SECOND, Instant
from canonry.domain.vocabularies.narrative_relations import relation_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The thing that the proposal became, and the entries that make it so.

    `known` is what it says already, where nothing but evidence was new.
    """

    canonical_id: str
    entries: tuple[Entry, ...]
    known: str | None = None

    @property
    def made(self) -> tuple[str, ...]:
        """The ids of what came into being; observations are part of their entities."""
        things = [entry.thing for entry in self.entries if isinstance(entry, Made)]
        return tuple(thing.id for thing in things if not isinstance(thing, ObservationDraft))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """What is at hand while a proposal is written up."""

    candidate: Candidate
    verdict: Verdict
    view: SliceView
    new_id: NewId
    backing: Backing

    def entity(self, reference: Reference) -> Entity:
        found = self.view.entity(reference)
        if found is None:
            message = f"an accepted proposal names {reference}, which no gate has found"
            raise BrokenInvariant("canonization.unresolved", message)
        return found

    def entities(self, references: tuple[Reference, ...]) -> tuple[EntityId, ...]:
        return tuple(dict.fromkeys(self.entity(one).id for one in references))

    def events(self, references: tuple[Reference, ...]) -> tuple[EventId, ...]:
        found = [self.view.referred(one) for one in references]
        fallen = self.verdict.retcons
        return tuple(e.id for e in found if isinstance(e, Event) and e.id not in fallen)


def accept(candidate: Candidate, verdict: Verdict, view: SliceView, new_id: NewId) -> Acceptance:
    """What `candidate` writes under `verdict`; the ids of what it makes come from `new_id`.

    Raises:
        BrokenInvariant: `canonization.unresolved`, the gates let something through.
    """
    proposal = candidate.proposal
    backing = Backing(
        space=proposal.space,
        authority=verdict.score.authority,
        confidence=proposal.confidence,
        evidence=candidate.evidence,
        scene_id=proposal.scene_id,
        place=candidate.place,
        proposal_id=proposal.id,
    )
    desk = _Desk(candidate=candidate, verdict=verdict, view=view, new_id=new_id, backing=backing)
    match candidate.content:
        case EntityContent() as content:
            return _entity(desk, content)
        case RelationshipContent() as content:
            return _relation(desk, content)
        case StateChangeContent() as content:
            return _state(desk, content)
        case EventContent() as content:
            return _event(desk, content)
        case FactContent() as content:
            return _fact(desk, content)
        case Unreadable():
            message = "an accepted proposal cannot be read"
            raise BrokenInvariant("canonization.unresolved", message)


def _entity(desk: _Desk, content: EntityContent) -> Acceptance:
    namesake = known_as(desk.candidate, content, desk.view)
    if namesake is not None:
        return _restated(desk, content, namesake)
    archetype = None if content.derives_from is None else desk.entity(content.derives_from).id
    entity_id, entries = make_entity(
        desk.new_id,
        desk.backing,
        entity_class=content.entity_class,
        entity_type=content.entity_type,
        name=content.name,
        description=content.description,
        properties=content.properties,
        state_tags=content.state_tags,
        derives_from=archetype,
        observed_at=desk.candidate.at,
    )
    return Acceptance(canonical_id=entity_id, entries=entries)


def _restated(desk: _Desk, content: EntityContent, entity: Entity) -> Acceptance:
    """What is new of an entity that is canon already: an observation, and a change of state."""
    said = restated(content, entity)
    changed = _tags_changed(desk, entity, content.state_tags)
    entries = [*changed.entries]
    if new := {**said.fresh, **said.changed}:
        seen = make_observation(
            desk.new_id,
            desk.backing,
            entity.id,
            new,
            label="restated",
            observed_at=desk.candidate.at,
        )
        entries.append(seen)
    evidenced = _known(desk, entity.id, entity.evidence)
    known = replace(
        evidenced,
        entries=(*entries, *evidenced.entries),
        known=None if entries else entity.id,
    )
    return _with_rivals(desk, known, subject=entity.id)


def _relation(desk: _Desk, content: RelationshipContent) -> Acceptance:
    start, end = desk.entity(content.from_entity), desk.entity(content.to_entity)
    kind, moment = relation_type(content.rel_type), desk.candidate.moment
    line = line_of(desk.view, kind, start, end, moment, properties=content.properties)
    held = {} if line.same is None else line.same.properties
    if line.same is not None and not restates(line.same, content):
        return _with_rivals(desk, _said_again(desk, line.same))
    made = make_relation(
        desk.new_id,
        desk.backing,
        rel_type=kind.name,
        from_id=start.id,
        to_id=end.id,
        properties={**held, **content.properties},
        since=desk.candidate.at,
    )
    entries: list[Entry] = [made]
    if isinstance(made.thing, RelationDraft):
        rivals = (*line.against, *(() if line.same is None else (line.same,)))
        fallen = [one for one in rivals if one.id in desk.verdict.retcons]
        entries += written(desk.new_id, desk.backing, line, made.thing, without=fallen)
    return _with_rivals(desk, Acceptance(canonical_id=made.thing.id, entries=tuple(entries)))


def _said_again(desk: _Desk, relation: Relation) -> Acceptance:
    """More evidence for a relation, which was told once more at another place of the story."""
    known = _known(desk, relation.id, relation.evidence)
    backing = desk.backing
    if backing.place is None or not backing.place.scene or not backing.evidence:
        return known
    again = SaidAgain(
        at=desk.candidate.at,
        place=backing.place,
        authority=backing.authority,
        confidence=backing.confidence,
        evidence=backing.evidence,
        scene_id=backing.scene_id,
        proposal_id=backing.proposal_id,
    )
    cited = backing.evidence[-1]
    link = EvidenceLinked(thing_id=relation.id, evidence=cited, again=again)
    others = [e for e in known.entries if not isinstance(e, EvidenceLinked) or e.evidence != cited]
    return replace(known, entries=(*others, link))


def _state(desk: _Desk, content: StateChangeContent) -> Acceptance:
    entity = desk.entity(content.entity)
    changed = _tags_changed(desk, entity, content.add, content.remove)
    documents = (*changed.begun, *changed.ended)
    if documents:
        made = Acceptance(canonical_id=documents[0], entries=changed.entries)
        return _with_rivals(desk, made, subject=entity.id)
    fact = desk.view.thing(changed.known[0]) if changed.known else None
    if not isinstance(fact, Fact):
        return Acceptance(canonical_id=entity.id, entries=changed.entries)
    known = _known(desk, fact.id, fact.evidence)
    seen = known.known if not changed.entries else None
    return replace(known, entries=(*changed.entries, *known.entries), known=seen)


def _tags_changed(
    desk: _Desk, entity: Entity, add: tuple[str, ...], remove: tuple[str, ...] = ()
) -> TagsChanged:
    """What changes of the state, and what the verdict lets fall with it."""
    fallen = [rival for rival in desk.verdict.retcons if isinstance(rival, TagHeld)]
    return change_tags(
        desk.view,
        desk.new_id,
        desk.backing,
        entity,
        add=as_held(entity, add),
        remove=(*as_held(entity, remove), *sorted({one.tag for one in fallen})),
        moment=desk.candidate.moment,
        fallen=fallen,
    )


def _event(desk: _Desk, content: EventContent) -> Acceptance:
    where = () if content.location is None else (content.location,)
    involved = desk.entities((*content.involved, *where))
    effects, causes = desk.events(content.causes), desk.events(content.caused_by)
    same = None if effects or causes else _same_event(desk, content, involved)
    if same is not None:
        return _with_rivals(desk, _known(desk, same.id, same.evidence))
    made = make_event(
        desk.new_id,
        desk.backing,
        title=content.title,
        description=content.description,
        involved=involved,
        time_ref=desk.candidate.at,
        severity=content.severity,
        causes=effects,
    )
    event_id = EventId(made.thing.id)
    links = (CausesLinked(cause=cause, effect=event_id) for cause in causes)
    return _with_rivals(desk, Acceptance(canonical_id=event_id, entries=(made, *links)))


def _same_event(desk: _Desk, content: EventContent, involved: tuple[EntityId, ...]) -> Event | None:
    """The event of the scene that is told with these words, of these, at this time."""
    scene_id, at = desk.candidate.proposal.scene_id, desk.candidate.at
    for event in () if scene_id is None else desk.view.events_in(scene_id, involved):
        words = (event.title, event.description)
        said = tuple(map(normalised_name, words))
        told = (normalised_name(content.title), normalised_name(content.description))
        if (said, event.time_ref, event.severity) == (told, at, content.severity):
            return event
    return None


def _fact(desk: _Desk, content: FactContent) -> Acceptance:
    involved = desk.entities(content.involved)
    at = desk.candidate.at
    same = desk.view.stating(content.statement) if content.replaces is None else ()
    for fact in same:
        about = desk.view.roots(fact.involved)
        alike = {**fact.properties, **content.properties} == dict(fact.properties)
        then = about == set(involved) and _holds_then(fact, at, content.duration)
        if alike and then and still_stands(desk.view, fact, desk.candidate.moment):
            return _with_rivals(desk, _known(desk, fact.id, fact.evidence))
    fallen = [rival for rival in desk.verdict.retcons if isinstance(rival, str)]
    facts = [one for one in fallen if isinstance(desk.view.thing(one), Fact)]
    made = make_fact(
        desk.new_id,
        desk.backing,
        statement=content.statement,
        involved=involved,
        time_ref=at,
        duration=content.duration,
        fact_type=content.fact_type,
        properties=content.properties,
        replaces=FactId(facts[0]) if facts else None,
    )
    return _with_rivals(desk, Acceptance(canonical_id=made.thing.id, entries=(made,)))


def _holds_then(fact: Fact, at: Instant | None, duration: int | None) -> bool:
    until = None
    if at is not None and duration is not None:
        until = Instant(at + duration * SECOND)
    return overlaps(at, until, fact.time_ref, fact.ends_at)


def _known(desk: _Desk, thing_id: str, held: Sequence[Evidence]) -> Acceptance:
    """Nothing new but the evidence."""
    more = [one for one in desk.candidate.evidence if one not in held]
    links = tuple(EvidenceLinked(thing_id=thing_id, evidence=one) for one in more)
    return Acceptance(canonical_id=thing_id, entries=links, known=thing_id)


def _with_rivals(
    desk: _Desk, acceptance: Acceptance, *, subject: EntityId | None = None
) -> Acceptance:
    """Let fall and end what the verdict says.

    The tags of `subject` have been changed already, and the facts about them have been ended.
    """
    by = acceptance.canonical_id
    entries: list[Entry] = list(acceptance.entries)
    for rival in desk.verdict.retcons:
        entries.extend(_retcon(desk, rival, by, subject))
    for rival in desk.verdict.supersedes:
        if not isinstance(rival, TagHeld):
            entries.extend(_supersede(desk, rival, by))
    return replace(acceptance, entries=tuple(entries))


def _retcon(desk: _Desk, rival: Rival, by: str, subject: EntityId | None) -> Iterator[Entry]:
    reason = desk.verdict.rationale
    if isinstance(rival, TagHeld):
        if rival.entity_id != subject:
            yield from _undone(desk, rival, f"retcon:{rival.entity_id}:{rival.tag}")
        changes_state = isinstance(desk.candidate.content, StateChangeContent)
        replaced_by = FactId(by) if changes_state else None
        for fact_id in rival.facts:
            yield FactRetconned(fact_id=fact_id, replaced_by=replaced_by, reason=reason)
        return
    thing = desk.view.thing(rival)
    match thing:
        case Fact():
            yield FactRetconned(fact_id=thing.id, replaced_by=FactId(by), reason=reason)
            yield from _untold(desk, thing)
        case Relation():
            same_kind = isinstance(desk.candidate.content, RelationshipContent)
            replaced = RelationId(by) if same_kind else None
            yield RelationRetconned(relation_id=thing.id, replaced_by=replaced, reason=reason)
        case Event():
            yield EventRetconned(event_id=thing.id, replaced_by=None, reason=reason)
        case _:
            return


def _untold(desk: _Desk, fact: Fact) -> Iterator[Entry]:
    """The state that a retconned fact told holds no longer."""
    tag, entity_id = fact.properties.get("tag"), fact.properties.get("entity_id")
    entity = None if not isinstance(entity_id, str) else desk.view.entity(Reference(entity_id))
    if entity is None or fact.properties.get("holds") is not True:
        return
    change = {one.tag: one for one in changes_of(entity)}.get(str(tag))
    if change is not None and change.holds:
        held = TagHeld(entity_id=entity.id, tag=str(tag), change=change, facts=(fact.id,))
        yield from _undone(desk, held, f"retcon:{fact.id}")


def _undone(desk: _Desk, held: TagHeld, label: str) -> Iterator[Entry]:
    """The tag never held; those whose place it had taken hold again."""
    entity, reason = desk.entity(Reference(held.entity_id)), desk.verdict.rationale
    yield from undone(
        desk.view, desk.new_id, desk.backing, entity, held, label=label, reason=reason
    )


def _supersede(desk: _Desk, rival: str, by: str) -> Iterator[Entry]:
    """End the fact that held until now; without a time nobody knows when that was."""
    thing = desk.view.thing(rival)
    if isinstance(thing, Fact):
        yield superseded(thing, desk.candidate.at, FactId(by))

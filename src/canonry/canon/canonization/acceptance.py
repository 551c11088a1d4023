"""Write an accepted proposal: the new item, and the retconned or superseded ones."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from canonry.canon.judging.candidates import Candidate, Unreadable, time_of
from canonry.canon.judging.contents import (
    Content,
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    end_of,
    words_of_time,
)
from canonry.canon.judging.gates.kit import Rival, Verdict
from canonry.canon.judging.gates.states import known_as, lines_told
from canonry.canon.judging.known_things import (
    Backing,
    SpokenTime,
    make_entity,
    make_event,
    make_fact,
    make_observation,
    make_relation,
    restated,
    retold,
)
from canonry.canon.judging.relation_lines import is_told_of, restates
from canonry.canon.judging.retractions import retcon_of
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import (
    reading_of,
    standings_beside,
    statements_at,
    statements_of,
    states_changed,
    tags_begun_by,
    with_entities,
)
from canonry.canon.judging.state_tags import (
    TagHeld,
    TagPen,
    TagsChanged,
    as_held,
    change_tags,
    still_stands,
    superseded,
    undone,
)
from canonry.language.reading.reading import READER
from canonry.log.entries import (
    CausesLinked,
    Entry,
    EvidenceLinked,
    FactRead,
    FactRetconned,
    Made,
    RelationEnded,
)
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, FactDraft, Relation, SaidAgain
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import Reference
from canonry.values.ids import EntityId, EventId, FactId, NewId, RelationId
from canonry.values.moments import Instant, arranged, comes_after, overlaps
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import Evidence, may_end, strongest


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The item that the proposal became, and the entries that write it.

    `known` is the canon item that already states this, if only the evidence was new.
    """

    canonical_id: str
    entries: tuple[Entry, ...]
    known: str | None = None

    @property
    def made(self) -> tuple[str, ...]:
        """Return the ids of the created items; observations belong to their entities."""
        things = [entry.thing for entry in self.entries if isinstance(entry, Made)]
        return tuple(thing.id for thing in things if not isinstance(thing, ObservationDraft))


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingDesk:
    """The context for writing a proposal."""

    candidate: Candidate
    verdict: Verdict
    view: SliceView
    new_id: NewId
    backing: Backing

    def entity(self, reference: Reference) -> Entity:
        """Return the entity behind a reference.

        Raises:
            BrokenInvariant: `canonization.unresolved`, the gates accepted an unknown reference.
        """
        found = self.view.entity(reference)
        if found is None:
            message = f"An accepted proposal refers to {reference}, but no gate found it."
            raise BrokenInvariant("canonization.unresolved", message)
        return found

    def entities(self, references: tuple[Reference, ...]) -> tuple[EntityId, ...]:
        """Return the ids of the referenced entities, each once."""
        return tuple(dict.fromkeys(self.entity(one).id for one in references))

    def pen(self, entity: Entity) -> TagPen:
        """Return the writer of an entity's tags."""
        return TagPen(self.view, self.new_id, self.backing, entity)

    def events(self, references: tuple[Reference, ...]) -> tuple[EventId, ...]:
        """Return the ids of the referenced events, without those that the verdict retcons."""
        found = [self.view.referred(one) for one in references]
        fallen = self.verdict.retcons
        return tuple(e.id for e in found if isinstance(e, Event) and e.id not in fallen)


def already_known(desk: WritingDesk, thing_id: str, held: Sequence[Evidence]) -> Acceptance:
    """Add only the evidence to a known item."""
    more = [one for one in desk.candidate.evidence if one not in held]
    links = tuple(EvidenceLinked(thing_id=thing_id, evidence=one) for one in more)
    return Acceptance(canonical_id=thing_id, entries=links, known=thing_id)


def with_rivals(
    desk: WritingDesk, acceptance: Acceptance, *, subject: EntityId | None = None
) -> Acceptance:
    """Retcon the items that the verdict names.

    The caller has already changed the tags of `subject`.
    """
    by = acceptance.canonical_id
    entries = acceptance.entries
    for rival in desk.verdict.retcons:
        entries += tuple(_retcon(desk, rival, by, subject))
    return replace(acceptance, entries=entries)


def _retcon(desk: WritingDesk, rival: Rival, by: str, subject: EntityId | None) -> Iterator[Entry]:
    reason = desk.verdict.rationale
    if isinstance(rival, TagHeld):
        if rival.entity_id != subject:
            yield from _undone(desk, rival, f"retcon:{rival.entity_id}:{rival.tag}")
        for fact_id in rival.facts:
            yield FactRetconned(fact_id=fact_id, replaced_by=FactId(by), reason=reason)
        return
    thing = desk.view.thing(rival)
    yield from retcon_of(thing, reason, replaced_by=None if isinstance(thing, Event) else by)
    for held in tags_begun_by(thing, desk.view) if isinstance(thing, Fact) else ():
        yield from _undone(desk, held, f"retcon:{rival}:{held.tag}")


def _undone(desk: WritingDesk, held: TagHeld, label: str) -> Iterator[Entry]:
    """Undo a tag that never held; the tags that it replaced hold again."""
    entity, reason = desk.entity(Reference(held.entity_id)), desk.verdict.rationale
    yield from undone(desk.pen(entity), held, label=label, reason=reason)


# Acceptance: the entries of an accepted proposal, for new items, superseded ones and the decision.
#
# A proposal that repeats canon only adds evidence to it.

_DERIVES: Final = "DERIVES_FROM"


def accept(candidate: Candidate, verdict: Verdict, view: SliceView, new_id: NewId) -> Acceptance:
    """Return what `candidate` writes under `verdict`; `new_id` supplies the ids of new items.

    Raises:
        BrokenInvariant: `canonization.unresolved`, the gates accepted an unknown reference.
    """
    proposal = candidate.proposal
    backing = Backing(
        space=proposal.space,
        authority=verdict.score.authority,
        confidence=proposal.confidence,
        evidence=candidate.evidence,
        scene_id=proposal.scene_id,
        place=candidate.moment.place,
        proposal_id=proposal.id,
        spoken=None if candidate.moment.at is None else _spoken(candidate, candidate.moment.at),
    )
    desk = WritingDesk(
        candidate=candidate, verdict=verdict, view=view, new_id=new_id, backing=backing
    )
    match candidate.content:
        case EntityContent() as content:
            return _entity(desk, content)
        case RelationshipContent() as content:
            return _supporting(desk, content, _relation(desk, content), Fact)
        case StateChangeContent() as content:
            return _state(desk, content)
        case EventContent() as content:
            return _event(desk, content)
        case FactContent() as content:
            return _supporting(desk, content, _fact(desk, content), Relation)
        case Unreadable():
            message = "The content of an accepted proposal cannot be read."
            raise BrokenInvariant("canonization.unresolved", message)


def _spoken(candidate: Candidate, at: Instant) -> SpokenTime | None:
    """Return the words of the time in the content, or else in its scene."""
    own, wrong = time_of(candidate.content), candidate.corrects
    proposal, scene = candidate.proposal, candidate.scene
    if own is None:
        words = getattr(scene if wrong is None else wrong, "time_words", None)
    else:
        words = words_of_time(proposal.type, proposal.original)
    return None if words is None else SpokenTime(words=words, at=at)


def _entity(desk: WritingDesk, content: EntityContent) -> Acceptance:
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
        observed_at=desk.candidate.moment.at,
    )
    return Acceptance(canonical_id=entity_id, entries=entries)


def _restated(desk: WritingDesk, content: EntityContent, entity: Entity) -> Acceptance:
    """Record the news about a known entity: an observation, and a change of state."""
    fresh, replaced = restated(content, entity)
    changed = _tags_changed(desk, entity, content.state_tags)
    entries = [*changed.entries]
    if new := {**fresh, **replaced}:
        seen = make_observation(
            desk.new_id,
            desk.backing,
            entity.id,
            new,
            label="restated",
            observed_at=desk.candidate.moment.at,
        )
        entries += (seen, *_held_later(desk, entity, replaced))
    entries += _derived(desk, content, entity)
    evidenced = already_known(desk, entity.id, entity.evidence)
    known = replace(
        evidenced, entries=(*entries, *evidenced.entries), known=None if entries else entity.id
    )
    return with_rivals(desk, known, subject=entity.id)


def _held_later(desk: WritingDesk, entity: Entity, changed: Iterable[str]) -> Iterator[Entry]:
    """Repeat the observations of later times, so that they remain current."""
    for number, name in enumerate(sorted(changed)):
        seen = desk.view.thing(entity.provenance.get(name, ""))
        if not isinstance(seen, Observation) or name not in seen.fields:
            continue
        if comes_after(desk.candidate.moment, seen.moment):
            continue
        backing = desk.backing.said_in(seen, place=seen.moment.place)
        value, label = {name: seen.fields[name]}, f"held:{number}"
        at = seen.observed_at
        yield make_observation(desk.new_id, backing, entity.id, value, label=label, observed_at=at)


def _derived(desk: WritingDesk, content: EntityContent, entity: Entity) -> Iterator[Entry]:
    """Record the archetype of a known entity."""
    if content.derives_from is None:
        return
    archetype = desk.entity(content.derives_from)
    known = {one.to_id for one in desk.view.relations(entity, _DERIVES, "out") if not one.ended}
    if archetype.id not in {entity.derives_from, *known}:
        yield make_relation(
            desk.new_id,
            desk.backing,
            rel_type=_DERIVES,
            from_id=entity.id,
            to_id=archetype.id,
            since=desk.candidate.moment.at,
        )


def _relation(desk: WritingDesk, content: RelationshipContent) -> Acceptance:
    start, end = desk.entity(content.from_entity), desk.entity(content.to_entity)
    ((kind, _, _, line),) = lines_told(desk.candidate, content, desk.view)
    same = line.same
    held = {} if same is None else same.properties
    if same is not None and is_told_of(same, start, end) and not restates(same, content):
        return with_rivals(desk, _said_again(desk, same, line.moment.at))
    made = make_relation(
        desk.new_id,
        desk.backing,
        rel_type=kind.name,
        from_id=start.id,
        to_id=end.id,
        properties={**held, **content.properties},
        since=desk.candidate.moment.at,
    )
    entries: list[Entry] = [made]
    wrong = desk.candidate.corrects
    if isinstance(wrong, Relation) and wrong.ended and wrong.superseded_by is None:
        ended = RelationEnded(
            relation_id=RelationId(made.thing.id),
            until=wrong.until,
            superseded_by=None,
            reason="it ended then",
        )
        entries.append(ended)
    return with_rivals(desk, Acceptance(canonical_id=made.thing.id, entries=tuple(entries)))


def _supporting(
    desk: WritingDesk, content: Content, accepted: Acceptance, form: type[Fact | Relation]
) -> Acceptance:
    """Add the evidence also to the items of the other form that say the same."""
    said = [one for one in statements_of(content, desk.view) if one.held and not one.implied]
    audience, same = desk.candidate.proposal.audience, dict[str, Fact | Relation]()
    for standing in standings_beside(said, desk.candidate.moment, desk.view) if said else ():
        held, thing = standing.statement, standing.thing
        alike = any(with_entities(held, one, desk.view) == one for one in said)
        if alike and isinstance(thing, form) and thing.audience == audience:
            same[thing.id] = thing
    more = (already_known(desk, i, each.evidence).entries for i, each in same.items())
    return replace(accepted, entries=(*accepted.entries, *chain.from_iterable(more)))


def _said_again(desk: WritingDesk, item: Fact | Relation, at: Instant | None) -> Acceptance:
    """Add evidence to an item that is stated again at another position of the story."""
    known = already_known(desk, item.id, item.evidence)
    backing = desk.backing
    if backing.place is None or not backing.evidence:
        return known
    if not backing.place.scene and at is None:
        return known
    again = SaidAgain(
        at=at,
        place=backing.place,
        authority=backing.authority,
        confidence=backing.confidence,
        evidence=backing.evidence,
        scene_id=backing.scene_id,
        proposal_id=backing.proposal_id,
    )
    cited = backing.evidence[-1]
    link = EvidenceLinked(thing_id=item.id, evidence=cited, again=again)
    others = [e for e in known.entries if not isinstance(e, EvidenceLinked) or e.evidence != cited]
    return replace(known, entries=(*others, link))


def _state(desk: WritingDesk, content: StateChangeContent) -> Acceptance:
    entity = desk.entity(content.entity)
    changed = _tags_changed(desk, entity, content.add, content.remove)
    ends = [one for one in statements_at(content, desk.candidate.moment, desk.view) if one.implied]
    others = states_changed(
        ends, desk.view, desk.new_id, desk.backing, moment=desk.candidate.moment
    )
    changed = replace(changed, entries=(*changed.entries, *others))
    documents = (*changed.begun, *changed.ended)
    if documents:
        made = Acceptance(canonical_id=documents[0], entries=changed.entries)
        return with_rivals(desk, made, subject=entity.id)
    fact = desk.view.thing(changed.known[0]) if changed.known else None
    if not isinstance(fact, Fact):
        return Acceptance(canonical_id=entity.id, entries=changed.entries)
    known = already_known(desk, fact.id, fact.evidence)
    seen = known.known if not changed.entries else None
    return replace(known, entries=(*changed.entries, *known.entries), known=seen)


def _tags_changed(
    desk: WritingDesk, entity: Entity, add: tuple[str, ...], remove: tuple[str, ...] = ()
) -> TagsChanged:
    """Return the change of state, and the tags that the verdict retcons."""
    fallen = [rival for rival in desk.verdict.retcons if isinstance(rival, TagHeld)]
    return change_tags(
        desk.pen(entity),
        add=as_held(entity, add),
        remove=(*as_held(entity, remove), *sorted({one.tag for one in fallen})),
        moment=desk.candidate.moment,
        fallen=fallen,
    )


def _event(desk: WritingDesk, content: EventContent) -> Acceptance:
    where = () if content.location is None else (content.location,)
    involved = desk.entities((*content.involved, *where))
    effects, causes = desk.events(content.causes), desk.events(content.caused_by)
    at, scene_id = desk.candidate.moment.at, desk.candidate.proposal.scene_id
    same = retold(content, involved, desk.view, at=at, scene_id=scene_id)[0]
    if same is not None and not effects and not causes:
        return with_rivals(desk, already_known(desk, same.id, same.evidence))
    made = make_event(
        desk.new_id,
        desk.backing,
        title=content.title,
        description=content.description,
        involved=involved,
        time_ref=desk.candidate.moment.at,
        severity=content.severity,
        causes=effects,
    )
    event_id = EventId(made.thing.id)
    links = (CausesLinked(cause=cause, effect=event_id) for cause in causes)
    return with_rivals(desk, Acceptance(canonical_id=event_id, entries=(made, *links)))


def _fact(desk: WritingDesk, content: FactContent) -> Acceptance:
    involved = desk.entities(content.involved)
    at, wrong, later = desk.candidate.moment.at, desk.candidate.corrects, list[Fact]()
    for fact in desk.view.stating(content.statement):
        about = desk.view.roots(fact.involved)
        until = end_of(at, content.duration)
        early = None not in {at, fact.time_ref} and comes_after(fact.moment, desk.candidate.moment)
        then = about == set(involved) and overlaps(at, until, fact.time_ref, fact.ends_at)
        if then and early:
            later.append(fact)
        if early or not then or not still_stands(desk.view, fact, desk.candidate.moment):
            continue
        if desk.verdict.supersedes:  # the repetition ends a statement between the two
            continue
        if {**fact.properties, **content.properties} == dict(fact.properties):
            return with_rivals(desk, _said_again(desk, fact, desk.candidate.moment.at))
        if _may_detail(desk, fact, content):
            return with_rivals(desk, _detailed(desk, fact, content))
    duration = content.duration
    if isinstance(wrong, Fact) and content.time_ref is None and duration is None:
        duration = wrong.duration
    fallen = [rival for rival in desk.verdict.retcons if isinstance(rival, str)]
    facts = [one for one in fallen if isinstance(desk.view.thing(one), Fact)]
    made = make_fact(
        desk.new_id,
        desk.backing,
        statement=content.statement,
        involved=involved,
        time_ref=at,
        duration=duration,
        fact_type=content.fact_type,
        properties=content.properties,
        replaces=wrong.id if isinstance(wrong, Fact) else FactId(facts[0]) if facts else None,
    )
    said = statements_at(content, desk.candidate.moment, desk.view)
    read = FactRead(fact_id=FactId(made.thing.id), reader=READER, statements=said)
    entries: list[Entry] = [made, read]
    entries += states_changed(
        said,
        desk.view,
        desk.new_id,
        desk.backing,
        moment=desk.candidate.moment,
        ended=[one for one in desk.verdict.supersedes if isinstance(one, TagHeld)],
    )
    if isinstance(made.thing, FactDraft) and later:  # it goes on as the fact that says it again
        again = arranged(later, lambda fact: fact.moment)[0]
        entries.append(superseded(made.thing, again.time_ref, again.id))
    acceptance = Acceptance(canonical_id=made.thing.id, entries=tuple(entries))
    return with_rivals(desk, acceptance)


def _may_detail(desk: WritingDesk, fact: Fact, content: FactContent) -> bool:
    """Tell whether the authority may merge the content's properties into a known fact.

    State facts follow the entity's tags, and facts that the verdict retcons are excluded.
    """
    if "tag" in fact.properties or fact.id in (*desk.verdict.retcons, *desk.verdict.supersedes):
        return False
    adds = all(
        fact.properties.get(name, value) == value for name, value in content.properties.items()
    )
    return adds or may_end(desk.backing.authority, fact.authority)


def _detailed(desk: WritingDesk, fact: Fact, content: FactContent) -> Acceptance:
    """Replace the known fact with one that has the new properties too."""
    told = tuple(dict.fromkeys((*fact.evidence, *desk.backing.evidence)))
    words = strongest((fact.authority, desk.backing.authority))
    properties = {**fact.properties, **content.properties}
    made = make_fact(
        desk.new_id,
        replace(desk.backing, authority=words, evidence=told),
        statement=fact.statement,
        involved=fact.involved,
        time_ref=desk.candidate.moment.at,
        duration=content.duration,
        fact_type=fact.fact_type,
        properties=properties,
    )
    said = reading_of(made.thing.id, fact.statement, properties, fact.involved, desk.view)
    ends = superseded(fact, desk.candidate.moment.at, made.thing.id)
    return Acceptance(canonical_id=made.thing.id, entries=(made, said, ends))

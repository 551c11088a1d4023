"""Write an accepted proposal: the new item, and the retconned or superseded ones."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from canonry.canon.judging import known_items
from canonry.canon.judging.candidates import Candidate, Unreadable, time_of
from canonry.canon.judging.contents import (
    Content,
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    end_of,
    time_text_of,
)
from canonry.canon.judging.gates.states import claimed_timelines, find_known_entity
from canonry.canon.judging.gates.verdicts import ConflictingItem, Verdict
from canonry.canon.judging.relation_timelines import adds_properties, is_stated_of
from canonry.canon.judging.retractions import facts_of_event, retcon_entries
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import (
    change_of_event,
    change_states,
    find_standing,
    reading_of,
    statements_at,
    statements_of,
    tags_begun_by,
    with_entities,
)
from canonry.canon.judging.state_tags import (
    TagHeld,
    TagsChanged,
    TagWriter,
    change_tags,
    is_same_moment,
    own_spelling,
    still_stands,
    supersede_fact,
    undo_tag,
)
from canonry.language.reading.reading import READER
from canonry.log import entries as log
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, FactDraft, Relation, Repetition
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import Reference
from canonry.values.ids import EntityId, EventId, FactId, NewId, RelationId
from canonry.values.moments import Instant, comes_after, intervals_overlap, sort_by_story
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import Evidence, highest_authority, may_end


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The item that the proposal became, and the entries that write it.

    `known` is the canon item that already states this, if only the evidence was new.
    """

    canonical_id: str
    entries: tuple[log.Entry, ...]
    known: str | None = None

    @property
    def made(self) -> tuple[str, ...]:
        """Return the ids of the created items; observations belong to their entities."""
        drafts = [entry.thing for entry in self.entries if isinstance(entry, log.Made)]
        return tuple(draft.id for draft in drafts if not isinstance(draft, ObservationDraft))


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceContext:
    """The context for writing a proposal."""

    candidate: Candidate
    verdict: Verdict
    view: SliceView
    new_id: NewId
    backing: known_items.Backing

    def find_entity(self, reference: Reference) -> Entity:
        """Return the entity behind a reference.

        Raises:
            BrokenInvariant: `canonization.unresolved`, the gates accepted an unknown reference.
        """
        found = self.view.find_entity(reference)
        if found is None:
            message = f"An accepted proposal refers to {reference}, but no gate found it."
            raise BrokenInvariant("canonization.unresolved", message)
        return found

    def entity_ids(self, references: tuple[Reference, ...]) -> tuple[EntityId, ...]:
        """Return the ids of the referenced entities, each once."""
        return tuple(dict.fromkeys(self.find_entity(one).id for one in references))

    def tag_writer(self, entity: Entity) -> TagWriter:
        """Return the writer of an entity's tags."""
        return TagWriter(self.view, self.new_id, self.backing, entity)

    def event_ids(self, references: tuple[Reference, ...]) -> tuple[EventId, ...]:
        """Return the ids of the referenced events, without those that the verdict retcons."""
        found = [self.view.referred_item(one) for one in references]
        retracted = self.verdict.retcons
        return tuple(e.id for e in found if isinstance(e, Event) and e.id not in retracted)


def add_evidence(context: AcceptanceContext, item_id: str, held: Sequence[Evidence]) -> Acceptance:
    """Add only the evidence to a known item."""
    more = [one for one in context.candidate.evidence if one not in held]
    links = tuple(log.EvidenceLinked(thing_id=item_id, evidence=one) for one in more)
    return Acceptance(canonical_id=item_id, entries=links, known=item_id)


def retcon_conflicting(
    context: AcceptanceContext, acceptance: Acceptance, *, subject: EntityId | None = None
) -> Acceptance:
    """Retcon the items that the verdict names.

    The caller has already changed the tags of `subject`.
    """
    by = acceptance.canonical_id
    entries = acceptance.entries
    for conflicting in context.verdict.retcons:
        entries += tuple(_retcon_one(context, conflicting, by, subject))
    return replace(acceptance, entries=entries)


def _retcon_one(
    context: AcceptanceContext, conflicting: ConflictingItem, by: str, subject: EntityId | None
) -> Iterator[log.Entry]:
    reason = context.verdict.rationale
    if isinstance(conflicting, TagHeld):
        if conflicting.entity_id != subject:
            yield from _undo_tag(
                context, conflicting, f"retcon:{conflicting.entity_id}:{conflicting.tag}"
            )
        for fact_id in conflicting.facts:
            yield log.FactRetconned(fact_id=fact_id, replaced_by=FactId(by), reason=reason)
        return
    found = context.view.find_item(conflicting)
    for item in (found, *facts_of_event(found, context.view)):
        yield from retcon_entries(item, reason, replaced_by=None if isinstance(item, Event) else by)
        for held in tags_begun_by(item, context.view) if isinstance(item, Fact) else ():
            yield from _undo_tag(context, held, f"retcon:{conflicting}:{held.tag}")


def _undo_tag(context: AcceptanceContext, held: TagHeld, label: str) -> Iterator[log.Entry]:
    """Undo a tag that never held; the tags that it replaced hold again."""
    entity, reason = context.find_entity(Reference(held.entity_id)), context.verdict.rationale
    yield from undo_tag(context.tag_writer(entity), held, label=label, reason=reason)


# Acceptance: the entries of an accepted proposal, for new items, superseded ones and the decision.
#
# A proposal that repeats canon only adds evidence to it.

_DERIVES: Final = "DERIVES_FROM"


def accept_candidate(
    candidate: Candidate, verdict: Verdict, view: SliceView, new_id: NewId
) -> Acceptance:
    """Return what `candidate` writes under `verdict`; `new_id` supplies the ids of new items.

    Raises:
        BrokenInvariant: `canonization.unresolved`, the gates accepted an unknown reference.
    """
    proposal = candidate.proposal
    backing = known_items.Backing(
        space=proposal.space,
        authority=verdict.score.authority,
        confidence=proposal.confidence,
        evidence=candidate.evidence,
        scene_id=proposal.scene_id,
        place=candidate.moment.position,
        proposal_id=proposal.id,
        spoken=_spoken_time(candidate),
    )
    context = AcceptanceContext(
        candidate=candidate, verdict=verdict, view=view, new_id=new_id, backing=backing
    )
    match candidate.content:
        case EntityContent() as content:
            return _accept_entity(context, content)
        case RelationshipContent() as content:
            return _supporting(context, content, _accept_relation(context, content), Fact)
        case StateChangeContent() as content:
            return _accept_state(context, content)
        case EventContent() as content:
            return _accept_event(context, content)
        case FactContent() as content:
            return _supporting(context, content, _accept_fact(context, content), Relation)
        case Unreadable():
            message = "The content of an accepted proposal cannot be read."
            raise BrokenInvariant("canonization.unresolved", message)


def _spoken_time(candidate: Candidate) -> known_items.SpokenTime | None:
    """Return the words of the time in the content, or else in its scene."""
    own, wrong, at = time_of(candidate.content), candidate.corrects, candidate.moment.at
    proposal, scene = candidate.proposal, candidate.scene
    if own is None:
        text = getattr(scene if wrong is None else wrong, "time_words", None)
    else:
        text = time_text_of(proposal.type, proposal.original)
    return None if text is None or at is None else known_items.SpokenTime(text=text, at=at)


def _accept_entity(context: AcceptanceContext, content: EntityContent) -> Acceptance:
    namesake = find_known_entity(context.candidate, content, context.view)
    if namesake is not None:
        return _restate_entity(context, content, namesake)
    source = content.derives_from
    archetype = None if source is None else context.find_entity(source).id
    entity_id, entries = known_items.make_entity(
        context.new_id,
        context.backing,
        entity_class=content.entity_class,
        entity_type=content.entity_type,
        name=content.name,
        description=content.description,
        properties=content.properties,
        state_tags=content.state_tags,
        derives_from=archetype,
        observed_at=context.candidate.moment.at,
    )
    return Acceptance(canonical_id=entity_id, entries=entries)


def _restate_entity(
    context: AcceptanceContext, content: EntityContent, entity: Entity
) -> Acceptance:
    """Record the news about a known entity: an observation, and a change of state."""
    fresh, replaced = known_items.changed_fields(content, entity)
    changed = _change_tags(context, entity, content.state_tags)
    entries = [*changed.entries]
    if new := {**fresh, **replaced}:
        seen = known_items.make_observation(
            context.new_id,
            context.backing,
            entity.id,
            new,
            label="restated",
            observed_at=context.candidate.moment.at,
        )
        entries += (seen, *_repeat_later(context, entity, replaced))
    entries += _derive_entity(context, content, entity)
    evidenced = add_evidence(context, entity.id, entity.evidence)
    known = replace(
        evidenced, entries=(*entries, *evidenced.entries), known=None if entries else entity.id
    )
    return retcon_conflicting(context, known, subject=entity.id)


def _repeat_later(
    context: AcceptanceContext, entity: Entity, changed: Iterable[str]
) -> Iterator[log.Entry]:
    """Repeat the observations of later times, so that they remain current."""
    for number, name in enumerate(sorted(changed)):
        seen = context.view.find_item(entity.provenance.get(name, ""))
        if not isinstance(seen, Observation) or name not in seen.fields:
            continue
        if comes_after(context.candidate.moment, seen.moment):
            continue
        backing = context.backing.with_support_of(seen, place=seen.moment.position)
        value, label = {name: seen.fields[name]}, f"held:{number}"
        at = seen.observed_at
        yield known_items.make_observation(
            context.new_id, backing, entity.id, value, label=label, observed_at=at
        )


def _derive_entity(
    context: AcceptanceContext, content: EntityContent, entity: Entity
) -> Iterator[log.Entry]:
    """Record the archetype of a known entity."""
    if content.derives_from is None:
        return
    archetype = context.find_entity(content.derives_from)
    known = {e.to_id for e in context.view.find_relations(entity, _DERIVES, "out") if not e.ended}
    if archetype.id not in {entity.derives_from, *known}:
        yield known_items.make_relation(
            context.new_id,
            context.backing,
            rel_type=_DERIVES,
            from_id=entity.id,
            to_id=archetype.id,
            since=context.candidate.moment.at,
        )


def _accept_relation(context: AcceptanceContext, content: RelationshipContent) -> Acceptance:
    start, end = context.find_entity(content.from_entity), context.find_entity(content.to_entity)
    ((kind, _, _, timeline),) = claimed_timelines(context.candidate, content, context.view)
    same = timeline.same
    held = {} if same is None else same.properties
    if same is not None and is_stated_of(same, start, end) and not adds_properties(same, content):
        return retcon_conflicting(context, _repeat_relation(context, same, timeline.moment.at))
    made = known_items.make_relation(
        context.new_id,
        context.backing,
        rel_type=kind.name,
        from_id=start.id,
        to_id=end.id,
        properties={**held, **content.properties},
        since=context.candidate.moment.at,
    )
    entries: list[log.Entry] = [made]
    wrong = context.candidate.corrects
    if isinstance(wrong, Relation) and wrong.ended and wrong.superseded_by is None:
        ended = log.RelationEnded(
            relation_id=RelationId(made.thing.id),
            until=wrong.until,
            superseded_by=None,
            reason="it ended then",
        )
        entries.append(ended)
    return retcon_conflicting(
        context, Acceptance(canonical_id=made.thing.id, entries=tuple(entries))
    )


def _supporting(
    context: AcceptanceContext, content: Content, accepted: Acceptance, form: type[Fact | Relation]
) -> Acceptance:
    """Add the evidence also to the items of the other form that say the same."""
    said = [e for e in statements_of(content, context.view) if e.holds_then and not e.implied]
    audience, same = context.candidate.proposal.audience, dict[str, Fact | Relation]()
    for standing in find_standing(said, context.candidate.moment, context.view) if said else ():
        held, item = standing.statement, standing.item
        alike = any(with_entities(held, one, context.view) == one for one in said)
        if alike and isinstance(item, form) and item.audience == audience:
            same[item.id] = item
    more = (add_evidence(context, i, each.evidence).entries for i, each in same.items())
    return replace(accepted, entries=(*accepted.entries, *chain.from_iterable(more)))


def _repeat_relation(
    context: AcceptanceContext, item: Fact | Relation, at: Instant | None
) -> Acceptance:
    """Add evidence to an item that is stated again at another position of the story."""
    known = add_evidence(context, item.id, item.evidence)
    backing = context.backing
    if backing.place is None or not backing.evidence:
        return known
    if not backing.place.scene and at is None:
        return known
    again = Repetition(
        at=at,
        place=backing.place,
        authority=backing.authority,
        confidence=backing.confidence,
        evidence=backing.evidence,
        scene_id=backing.scene_id,
        proposal_id=backing.proposal_id,
    )
    cited = backing.evidence[-1]
    link = log.EvidenceLinked(thing_id=item.id, evidence=cited, again=again)
    others = [
        e for e in known.entries if not isinstance(e, log.EvidenceLinked) or e.evidence != cited
    ]
    return replace(known, entries=(*others, link))


def _accept_state(context: AcceptanceContext, content: StateChangeContent) -> Acceptance:
    entity = context.find_entity(content.entity)
    changed = _change_tags(context, entity, content.add, content.remove)
    documents = (*changed.begun, *changed.ended)
    if documents:
        made = Acceptance(canonical_id=documents[0], entries=changed.entries)
        return retcon_conflicting(context, made, subject=entity.id)
    fact = context.view.find_item(changed.known[0]) if changed.known else None
    if not isinstance(fact, Fact):
        return Acceptance(canonical_id=entity.id, entries=changed.entries)
    known = add_evidence(context, fact.id, fact.evidence)
    seen = known.known if not changed.entries else None
    return replace(known, entries=(*changed.entries, *known.entries), known=seen)


def _change_tags(
    context: AcceptanceContext, entity: Entity, add: tuple[str, ...], remove: tuple[str, ...] = ()
) -> TagsChanged:
    """Return the change of state, and the tags that the verdict retcons."""
    retracted = [one for one in context.verdict.retcons if isinstance(one, TagHeld)]
    return change_tags(
        context.tag_writer(entity),
        add=own_spelling(entity, add),
        remove=(*own_spelling(entity, remove), *sorted({one.tag for one in retracted})),
        moment=context.candidate.moment,
        retracted=retracted,
    )


def _accept_event(context: AcceptanceContext, content: EventContent) -> Acceptance:
    where = () if content.location is None else (content.location,)
    involved = context.entity_ids((*content.involved, *where))
    effects, causes = context.event_ids(content.causes), context.event_ids(content.caused_by)
    at, scene_id = context.candidate.moment.at, context.candidate.proposal.scene_id
    same = known_items.find_repeated_event(
        content, involved, context.view, at=at, scene_id=scene_id
    )[0]
    if same is not None and not effects and not causes:
        return retcon_conflicting(context, add_evidence(context, same.id, same.evidence))
    made = known_items.make_event(
        context.new_id,
        context.backing,
        title=content.title,
        description=content.description,
        involved=involved,
        time_ref=context.candidate.moment.at,
        severity=content.severity,
        causes=effects,
    )
    event_id = EventId(made.thing.id)
    links = (log.CausesLinked(cause=cause, effect=event_id) for cause in causes)
    accepted = Acceptance(canonical_id=event_id, entries=(made, *links))
    if (change := change_of_event(content, context.view)) is None:
        return retcon_conflicting(context, accepted)
    return replace(accepted, entries=(*accepted.entries, *_accept_fact(context, change).entries))


def _accept_fact(context: AcceptanceContext, content: FactContent) -> Acceptance:
    involved = context.entity_ids(content.involved)
    moment, wrong, later = context.candidate.moment, context.candidate.corrects, list[Fact]()
    at = moment.at
    for fact in context.view.facts_stating(content.statement):
        about = context.view.root_ids(fact.involved)
        until = end_of(at, content.duration)
        early = None not in {at, fact.time_ref} and comes_after(fact.moment, moment)
        then = about == set(involved) and intervals_overlap(at, until, fact.time_ref, fact.ends_at)
        if then and early:
            later.append(fact)
        if early or not then or not still_stands(context.view, fact, moment):
            continue
        if context.verdict.supersedes:  # the repetition ends a statement between the two
            continue
        if {**fact.properties, **content.properties} == dict(fact.properties):
            return retcon_conflicting(context, _repeat_relation(context, fact, at))
        if _may_add_details(context, fact, content):
            return retcon_conflicting(context, _add_details(context, fact, content))
    duration = content.duration
    if isinstance(wrong, Fact) and content.time_ref is None and duration is None:
        duration = wrong.duration
    retracted = (one for one in context.verdict.retcons if isinstance(one, str))
    facts = [one for one in retracted if isinstance(context.view.find_item(one), Fact)]
    made = known_items.make_fact(
        context.new_id,
        context.backing,
        statement=content.statement,
        involved=involved,
        time_ref=at,
        duration=duration,
        fact_type=content.fact_type,
        properties=content.properties,
        replaces=wrong.id if isinstance(wrong, Fact) else FactId(facts[0]) if facts else None,
    )
    statements = statements_at(content, moment, context.view)
    read = log.FactRead(fact_id=FactId(made.thing.id), reader=READER, statements=statements)
    entries: list[log.Entry] = [made, read]
    entries += change_states(
        statements,
        context.view,
        context.new_id,
        context.backing,
        moment=moment,
        until=end_of(at, duration),
        ended=[one for one in context.verdict.supersedes if isinstance(one, TagHeld)],
    )
    entries += _end_states_at_once(context, made.thing.id)
    if isinstance(made.thing, FactDraft) and later:  # it goes on as the fact that says it again
        again = sort_by_story(later, lambda fact: fact.moment)[0]
        entries.append(supersede_fact(made.thing, again.time_ref, again.id))
    acceptance = Acceptance(canonical_id=made.thing.id, entries=tuple(entries))
    return retcon_conflicting(context, acceptance)


def _end_states_at_once(context: AcceptanceContext, by: str) -> Iterator[log.Entry]:
    """End the facts of states that begin and end at one moment, which no interval holds."""
    then, ends = context.candidate.moment, context.verdict.supersedes
    named = (one.facts if isinstance(one, TagHeld) else (one,) for one in ends)
    for old in map(context.view.find_item, chain.from_iterable(named)):
        if isinstance(old, Fact) and "tag" in old.properties and is_same_moment(old.moment, then):
            yield supersede_fact(old, then.at, by)


def _may_add_details(context: AcceptanceContext, fact: Fact, content: FactContent) -> bool:
    """Return whether the authority may merge the content's properties into a known fact.

    State facts follow the entity's tags, and facts that the verdict retcons are excluded.
    """
    gone = (*context.verdict.retcons, *context.verdict.supersedes)
    if "tag" in fact.properties or fact.id in gone:
        return False
    adds = all(
        fact.properties.get(name, value) == value for name, value in content.properties.items()
    )
    return adds or may_end(context.backing.authority, fact.authority)


def _add_details(context: AcceptanceContext, fact: Fact, content: FactContent) -> Acceptance:
    """Replace the known fact with one that has the new properties too."""
    evidence = tuple(dict.fromkeys((*fact.evidence, *context.backing.evidence)))
    authority = highest_authority((fact.authority, context.backing.authority))
    properties = {**fact.properties, **content.properties}
    made = known_items.make_fact(
        context.new_id,
        replace(context.backing, authority=authority, evidence=evidence),
        statement=fact.statement,
        involved=fact.involved,
        time_ref=context.candidate.moment.at,
        duration=content.duration,
        fact_type=fact.fact_type,
        properties=properties,
    )
    reading = reading_of(made.thing.id, fact.statement, properties, fact.involved, context.view)
    ends = supersede_fact(fact, context.candidate.moment.at, made.thing.id)
    return Acceptance(canonical_id=made.thing.id, entries=(made, reading, ends))

"""Create facts, events and axioms, and link evidence and causes."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias

from canonry.canon.judging.contents import EventContent, FactContent, end_of
from canonry.canon.judging.gates.statements import POSSIBLE, objections_to
from canonry.canon.judging.gates.states import object_to_the_dead
from canonry.canon.judging.gates.verdicts import Objection, Weight
from canonry.canon.judging.known_items import Backing, find_repeated_event, make_event, make_fact
from canonry.canon.judging.relation_timelines import laws_against_state
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import change_of_event, change_states, statements_of
from canonry.canon.judging.state_tags import TagsChanged, TagWriter, change_tags, stated_tag
from canonry.canon.judging.wider_audiences import end_entries
from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    apply_rule,
    audience_for,
    commit_change,
    judge_for_audience,
    known_to_audience,
    require_involved,
    require_standing,
)
from canonry.language.reading.reading import READER
from canonry.log.commits import Position, stamp_draft
from canonry.log.entries import CausesLinked, Entry, EvidenceLinked, FactRead, Made
from canonry.log.fold_commit import ids_of
from canonry.log.folding import causes_key, item_key
from canonry.log.items import facts
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Scene
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import AxiomId, EntityId, EventId, FactId, NewId
from canonry.values.moments import AFTER_ALL, NOW, Instant, Moment
from canonry.values.provenance import Authority, CanonLevel, Evidence, may_end

_NAMED_MAX: Final = 50  # bounds the length of a warning
_GRADES: Final = {Weight.WARNS: "possible", Weight.SUPERSEDES: "ended", Weight.ENDS: "ended"}
"""How a warning names an objection; any other is a contradiction."""


async def create_fact(canon: Canon, caller: Caller, backing: Backing, new: FactContent) -> Receipt:
    """Create the fact; a statement about somebody's state also changes that state.

    Raises:
        NotFound: `universe.unknown`, `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned` or `axiom.forbids`.
    """
    await lookup.require_universe(canon, caller, backing.space)

    async def prepare_change(new_id: NewId) -> Change:
        involved, reads = await require_involved(canon, caller, backing, new.involved)
        ids = tuple(entity.id for entity in involved)
        state, rested_on = await _state_stated(canon, backing, new_id, new, involved)
        reads |= rested_on
        made = make_fact(
            new_id,
            backing,
            statement=new.statement,
            involved=ids,
            time_ref=new.time_ref,
            duration=new.duration,
        )
        stated = await canon.state.facts_stating(backing.space, {new.statement})
        standing = (one for one in stated if one.level is CanonLevel.CANON)
        same = [one.id for one in standing if set(one.involved) == set(ids)][:_NAMED_MAX]
        duplicates = (
            (f"Facts with this statement already exist: {', '.join(same)}.",) if same else ()
        )
        rule = partial(_judge_new_fact, backing, new_id, new, made)
        written, keys = await judge_for_audience(canon, backing, involved, rule)
        conflicts, read = written
        return Change(
            entries=state or (made, *read),
            reads=reads | keys,
            warnings=(*duplicates, *conflicts),
            audience=backing.audience,
        )

    return await commit_change(canon, caller, backing.space, prepare_change)


def _judge_new_fact(
    backing: Backing,
    new_id: NewId,
    new: FactContent,
    made: Made,
    view: SliceView,
    *,
    event: EventContent | None = None,
) -> tuple[tuple[str, ...], tuple[Entry, ...]]:
    """Return what stands against a new fact, or its event, and the entries with what it changes."""
    said, moment = statements_of(new, view), Moment(at=new.time_ref, position=NOW.position)
    reading = FactRead(fact_id=FactId(made.thing.id), reader=READER, statements=said)
    until = end_of(new.time_ref, new.duration)
    changed = change_states(said, view, new_id, backing, moment=moment, until=until)
    against = [*objections_to(new, said, moment, view)]
    fact = stamp_draft(made.thing, Position(AFTER_ALL), Instant(0), statements=said)
    ends = end_entries(fact, view, lined=()) if against and isinstance(fact, facts.Fact) else ()
    olds = ((one, view.find_item(ids_of(one)[0])) for one in ends)
    own_ends = [
        one
        for one, old in olds
        if isinstance(old, facts.Fact | facts.Relation)
        and may_end(backing.authority, old.authority)
    ]
    against += object_to_the_dead(event or new, moment, view)
    return _warnings_of(against), (reading, *changed, *own_ends)


def _warnings_of(against: Iterable[Objection]) -> tuple[str, ...]:
    return tuple(
        f"{_GRADES.get(one.weight, 'contradiction')}: {one.rationale.removeprefix(POSSIBLE)}"
        for one in against
    )


async def _state_stated(
    canon: Canon, backing: Backing, new_id: NewId, new: FactContent, involved: Sequence[Entity]
) -> tuple[tuple[Entry, ...], frozenset[str]]:
    """Return the change of state if the statement only describes one, and the keys read."""
    groups = canon.policy.exclusive_tags
    if len(involved) != 1 or new.duration is not None:
        return (), frozenset()
    if stated_tag(new.statement, involved[0], groups) is None:
        return (), frozenset()
    named = (involved[0].id, *(one.ref for one in backing.evidence))
    audience = await audience_for(canon, named, backing.audience)
    entity = await known_to_audience(canon, involved[0], audience)
    stated = stated_tag(new.statement, entity, groups)
    if stated is None:
        return (), frozenset()
    tag, holds = stated
    add, remove = ((tag,), ()) if holds else ((), (tag,))
    moment = Moment(at=new.time_ref, position=NOW.position)

    def change_state(view: SliceView) -> tuple[TagsChanged, list[facts.Axiom]]:
        broken = list(laws_against_state(view, entity.entity_type, add, entity.state_tags))
        pen = TagWriter(view, new_id, backing, entity)
        made = change_tags(pen, add=add, remove=remove, moment=moment)
        return made, broken

    (changed, broken), reads = await apply_rule(canon, backing.space, change_state, audience)
    lookup.require_lawful(broken)
    documented = changed.begun or changed.ended
    return changed.entries if documented else (), reads | {item_key(entity.id)}


# Create an event directly, with the events that it caused; a duplicate causes a warning.
#
# The scene may be completed: the event refers to it and does not change it.


async def create_event(
    canon: Canon, caller: Caller, backing: Backing, new: EventContent
) -> Receipt:
    """Create the event; a new event has no causes yet, so it cannot close a causal cycle.

    Raises:
        NotFound: `universe.unknown`, `scene.unknown`, `entity.unknown`, `event.unknown` or
            `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `event.retconned`, `event.repeated-effect`
            or `event.effect-before-cause`.
    """
    await lookup.require_universe(canon, caller, backing.space)
    if len(set(new.causes)) < len(new.causes):
        message = "/causes_event_ids names an event twice. Name each event once."
        raise Conflict("event.repeated-effect", message, path="/causes_event_ids")

    async def prepare_change(new_id: NewId) -> Change:
        involved, reads = await require_involved(canon, caller, backing, new.involved)
        if backing.scene_id is not None:
            scene = await lookup.require_item(canon, caller, Scene, backing.scene_id)
            lookup.require_same_space(backing.space, [scene], path="/scene_id")
            reads |= {item_key(scene.id)}
        ids = tuple(entity.id for entity in involved)
        rule = partial(_judge_new_event, backing, new_id, new, ids)
        (notes, changed), keys = await judge_for_audience(canon, backing, involved, rule)
        effects = await lookup.require_all(canon, caller, facts.Event, new.causes)
        lookup.require_same_space(backing.space, effects, path="/causes_event_ids")
        require_standing(*effects)
        require_order(new.time_ref, effects)
        causes = tuple(effect.id for effect in effects)
        made = make_event(
            new_id,
            backing,
            title=new.title,
            description=new.description,
            involved=ids,
            time_ref=new.time_ref,
            severity=new.severity,
            causes=causes,
        )
        entries, reads = (made, *changed), reads | keys | set(map(item_key, causes))
        return Change(entries=entries, reads=reads, warnings=notes, audience=backing.audience)

    return await commit_change(canon, caller, backing.space, prepare_change)


def _judge_new_event(
    backing: Backing, new_id: NewId, new: EventContent, ids: tuple[EntityId, ...], view: SliceView
) -> tuple[tuple[str, ...], tuple[Entry, ...]]:
    """Return what stands against a new event, and the entries with what it changes."""
    duplicates, change = _warn_duplicates(backing, new, ids, view), change_of_event(new, view)
    if change is None:
        now = Moment(at=new.time_ref, position=NOW.position)
        return (*duplicates, *_warnings_of(object_to_the_dead(new, now, view))), ()
    told, at = change.statement, change.time_ref
    made = make_fact(new_id, backing, statement=told, involved=ids, time_ref=at)
    warnings, entries = _judge_new_fact(backing, new_id, change, made, view, event=new)
    return (*duplicates, *warnings), (made, *entries)


def _warn_duplicates(
    backing: Backing, new: EventContent, involved: tuple[EntityId, ...], view: SliceView
) -> tuple[str, ...]:
    """Return warnings about events that record the same, or perhaps the same."""
    same, perhaps = find_repeated_event(
        new, involved, view, at=new.time_ref, scene_id=backing.scene_id
    )
    if same is not None:
        return (f"The event {same.id} already records this.",)
    return tuple(f"This may be the event {one.id}." for one in perhaps)


def require_order(cause_at: Instant | None, effects: tuple[facts.Event, ...]) -> None:
    """Refuse effects that are dated before their cause.

    Raises:
        Conflict: `event.effect-before-cause`, with the ids.
    """
    early = [
        effect.id
        for effect in effects
        if cause_at is not None and effect.time_ref is not None and effect.time_ref < cause_at
    ]
    if early:
        message = "An effect cannot happen before its cause. Check the dates."
        raise Conflict("event.effect-before-cause", message, conflicts=early)


async def create_axiom(
    canon: Canon,
    caller: Caller,
    backing: Backing,
    statement: str,
    *,
    domain: facts.AxiomDomain,
    constraint: facts.Constraint | None = None,
) -> Receipt:
    """Create the axiom; `constraint` is the rule that a gate can check, if any.

    Raises:
        InvalidInput: `axiom.players-word`.
        NotFound: `universe.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`.
    """
    if backing.authority is Authority.PLAYER:
        message = "The authority player cannot state an axiom. Use source, gm or system."
        raise InvalidInput("axiom.players-word", message, path="/authority")
    await lookup.require_universe(canon, caller, backing.space)

    async def prepare_change(new_id: NewId) -> Change:
        reads = await lookup.require_evidence(canon, caller, backing.space, backing.evidence)
        axiom = facts.AxiomDraft(
            id=AxiomId(new_id("axiom")),
            space=backing.space,
            statement=statement,
            domain=domain,
            constraint=constraint,
            confidence=backing.confidence,
            authority=backing.authority,
            evidence=backing.evidence,
            level=backing.level,
        )
        return Change(entries=(Made(thing=axiom),), reads=reads)

    return await commit_change(canon, caller, backing.space, prepare_change)


Supported: TypeAlias = Entity | facts.Relation | facts.Fact | facts.Event | facts.Axiom


async def link_evidence(
    canon: Canon, caller: Caller, canonical_id: str, evidence: Evidence
) -> Supported:
    """Add new `evidence` to the item; return the updated item.

    Raises:
        NotFound: `canon.unknown`, no entity, relation, fact, event or axiom has this id; or
            `evidence.unknown`.
        Conflict: `space.foreign`.
    """
    space = (await _require_supported(canon, caller, canonical_id)).space

    async def prepare_change(_: NewId) -> Change:
        item = await _require_supported(canon, caller, canonical_id)
        reads = await lookup.require_evidence(
            canon, caller, space, (evidence,), path="/evidence_ref"
        )
        if evidence in item.evidence:
            return Change(entries=(), reads=frozenset())
        entry = EvidenceLinked(thing_id=item.id, evidence=evidence)
        return Change(entries=(entry,), reads=reads | {item_key(canonical_id), item_key(item.id)})

    await commit_change(canon, caller, space, prepare_change)
    return await _require_supported(canon, caller, canonical_id)


async def _require_supported(canon: Canon, caller: Caller, canonical_id: str) -> Supported:
    found: Supported = await lookup.require_any(
        canon, caller, Supported, canonical_id, called="canon"
    )
    return found


WALK_MAX: Final = 10_000
"""The most events that a search for a cycle visits."""


async def link_causes(canon: Canon, caller: Caller, *, cause_id: str, effect_id: str) -> Receipt:
    """Record that one event caused the other.

    Raises:
        NotFound: `event.unknown`.
        Conflict: `space.foreign`, `event.retconned`, `event.causes-itself`,
            `event.repeated-effect`, `event.effect-before-cause`, `event.causal-cycle` or
            `event.chain-too-long`.
    """
    space = (await lookup.require_item(canon, caller, facts.Event, cause_id)).space

    async def prepare_change(_: NewId) -> Change:
        cause, effect = await lookup.require_all(canon, caller, facts.Event, (cause_id, effect_id))
        lookup.require_same_space(space, [effect], path="/effect_event_id")
        require_standing(cause, effect)
        if cause.id == effect.id:
            message = "An event cannot cause itself. Name two events."
            raise Conflict("event.causes-itself", message, conflicts=[cause.id])
        if effect.id in cause.causes:
            message = "This effect is already linked to its cause."
            raise Conflict("event.repeated-effect", message, conflicts=[cause.id, effect.id])
        require_order(cause.time_ref, (effect,))
        seen: set[EventId] = {effect.id}
        ahead: set[EventId] = set(effect.causes)
        while ahead:
            if cause.id in ahead:
                message = (
                    "The cause is a consequence of the effect, so the link would close a cycle."
                )
                raise Conflict("event.causal-cycle", message, conflicts=[cause.id, effect.id])
            seen |= ahead
            if len(seen) > WALK_MAX:
                message = f"More than {WALK_MAX} events follow from the effect. Link closer events."
                raise Conflict("event.chain-too-long", message, conflicts=[effect.id])
            found = await canon.space_scope(cause.space).items_by_id(ahead)
            ahead = {
                e for t in found.values() if isinstance(t, facts.Event) for e in t.causes
            } - seen
        entry = CausesLinked(cause=cause.id, effect=effect.id)
        reads = (item_key(cause.id), item_key(effect.id), causes_key(space))
        return Change(entries=(entry,), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare_change)

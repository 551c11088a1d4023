"""Settling: what a change makes of a line for those who know more of it than it was told to.

A viewer's line is the fold of what they may see: what begins earlier ends where the next one
begins. Ends are kept with what they end, so after each change the lines that it touches are told
to each audience that knows of something in them, as far as they differ from what it sees.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from canonry.canon.judging.known_things import Backing, make_observation
from canonry.canon.judging.relation_lines import RelationLine, line_of, settled_line
from canonry.canon.judging.slices import Lookup, Slice, SliceView, ThingLookup
from canonry.canon.judging.state_tags import (
    begins_in,
    changes_of,
    excluded_in,
    facts_of_changes,
    together,
    told_of,
)
from canonry.log.canon import fold, needs
from canonry.log.commits import Commit, Position
from canonry.log.entries import (
    AudienceChanged,
    EntitiesMerged,
    EntitiesUnmerged,
    Entry,
    EvidenceLinked,
    FactRetconned,
    Made,
    RelationEnded,
    RelationResumed,
    RelationRetconned,
)
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, Relation, RelationDraft
from canonry.log.items.veils import audience_of, audiences_in
from canonry.log.observing import beside, under
from canonry.log.schemas.narrative import RELATION_TYPES, STATE_TAGS, relation_type
from canonry.values.audience import EVERYBODY, GAME_MASTERS, Audience, Viewer, viewer_of, wide_first
from canonry.values.fields import Reference
from canonry.values.ids import CommitId, NewId
from canonry.values.merge import TagChange, in_turn
from canonry.values.moments import AFTER_ALL, NOW, Instant, Moment, split_at
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.policy import Policy
from canonry.values.provenance import Actor
from canonry.values.state_tags import excluded_by

_SOME_TIME: Final = Instant(0)
_NEVER: Final = "the change that it describes was retconned"
_NOBODY: Final = Actor(agent_id="", agent_type="")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledLines:
    """What is to be said beside the entries of a change; nothing yet while something is wanted."""

    entries: tuple[Entry, ...] = ()
    reads: frozenset[str] = frozenset()
    wanted: frozenset[Lookup] = frozenset()


def touches(entries: Iterable[Entry]) -> bool:
    """Whether entries may touch a line."""
    return any(_names_line(entry) for entry in entries)


def settled(known: Slice, policy: Policy, entries: Sequence[Entry], new_id: NewId) -> SettledLines:
    """What the lines that `entries` touch come to be for each audience that knows of them."""
    desk = _Desk(before=known, now=known, policy=policy, new_id=new_id, entries=tuple(entries))
    if desk.told(desk.entries):
        for audience in desk.audiences():
            desk.settle(audience)
    more = () if desk.wanted else tuple(desk.more)
    return SettledLines(entries=more, reads=frozenset(desk.reads), wanted=frozenset(desk.wanted))


@dataclass(slots=True)
class _Desk:
    """What is at hand: what was known before the change, and what is known by now."""

    before: Slice
    now: Slice
    policy: Policy
    new_id: NewId
    entries: tuple[Entry, ...]
    more: list[Entry] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    wanted: set[Lookup] = field(default_factory=set)

    def told(self, entries: Sequence[Entry]) -> bool:
        """Fold entries as if they were in the log; False: something has to be loaded before."""
        for ids in (needs(entries), beside(entries, self.now.things)):
            lookups = map(ThingLookup, ids)
            self.wanted |= self.now.missing(frozenset(lookups))
            if self.wanted:
                return False
        commit = Commit(
            id=CommitId(""),
            space=self.now.space,
            actor=_NOBODY,
            tool="",
            entries=tuple(entries),
            position=Position(AFTER_ALL),
            recorded_at=_SOME_TIME,
            previous="",
            hash="",
        )
        self.now = self.now.after(fold(commit, self.now.things))
        return True

    def view(self, known: Slice, audience: Audience) -> SliceView:
        """What an audience knows; what it reads and wants counts for the desk."""
        return self.seen(known, viewer_of(audience))

    def seen(self, known: Slice, viewer: Viewer) -> SliceView:
        """What a viewer sees; the same holds of it."""
        view = SliceView(known, self.policy, viewer)
        view.read, view.wanted = self.reads, self.wanted
        return view

    def audiences(self) -> list[Audience]:
        """Who knows of something in the lines that others do not know of, the widest first."""
        whole = self.view(self.now, GAME_MASTERS)
        ids = {one for each in self.touched(whole, GAME_MASTERS) for one in _ids_of(whole, each)}
        found = {each for one in ids for each in audiences_in(self.now.things.get(one))}
        moved = [one for one in self.entries if isinstance(one, AudienceChanged)]
        told = {one.audience for one in moved}
        told |= {audience_of(self.before.things.get(one.thing_id)) for one in moved}
        told |= {EVERYBODY} if joins(self.entries) else set()
        if not found - {EVERYBODY} and told <= {EVERYBODY}:
            return sorted(told)
        return sorted((found | {GAME_MASTERS} | told) - ({EVERYBODY} - told), key=wide_first)

    def touched(self, view: SliceView, viewer: Audience) -> list[Entity | Relation]:
        """The entities whose state the entries touch, and the relations, as a viewer sees them.

        What is hidden from the viewer by now is touched as it was.
        """
        before = self.view(self.before, viewer)
        ids = dict.fromkeys(_touched(view, self.entries))
        found = (view.thing(one) or before.thing(one) for one in ids)
        roots = (
            view.entity(Reference(one.id)) if isinstance(one, Entity) else one for one in found
        )
        met = [one for one in roots if isinstance(one, Entity | Relation)]
        if joins(self.entries):
            met += [each for one in met if isinstance(one, Entity) for each in _lines_at(view, one)]
        return met

    def settle(self, audience: Audience) -> None:
        """Say what the lines are for one audience, which those after it may see."""
        view = self.view(self.now, audience)
        number = len(self.more)
        done: set[str] = set()
        found: list[Entry] = []
        for turn, one in enumerate(self.touched(view, audience)):
            new_id = partial(_labelled, self.new_id, f"{number}:{turn}")
            backing = _backing(self.entries, one)
            if isinstance(one, Entity):
                before = self._told_before(audience, one)
                found += _state(view, new_id, backing, one, before)
            elif one.id not in done:
                found += self._relations(view, new_id, backing, one, done)
        if self.wanted or not found:
            return
        entries = under(found, audience)
        self.more += entries
        self.told(entries)

    def _told_before(self, audience: Audience, entity: Entity) -> Sequence[TagChange]:
        """The changes of its state before; of those who are one now, what each brought about."""
        view = self.view(self.before, audience)
        merges = (one for one in self.entries if isinstance(one, EntitiesMerged))
        joined = [one.merged for one in merges if one.kept == entity.id]
        sides = (view.entity(Reference(one)) for one in (entity.id, *joined))
        told = [changes_of(side) for side in sides if side is not None]
        if not joined:
            return told[0] if told else ()
        begun = (begins for each in told for begins in begins_in(each).values())
        return in_turn(change for each in begun for change in each)

    def _relations(
        self, view: SliceView, new_id: NewId, backing: Backing, one: Relation, done: set[str]
    ) -> Iterator[Entry]:
        """The line of a relation, and what was said of the same in it and ends with it."""
        line = _line(view, one)
        if line is None:
            return
        done |= {word.relation.id for word in line.words}
        links = (each for each in self.entries if isinstance(each, EvidenceLinked))
        fresh = [each.again for each in links if each.again is not None]
        parted = self._parted(view, one) if joins(self.entries) else ()
        yield from settled_line(view, new_id, backing, line, fresh=fresh, parted=parted)
        for ended in self.entries:
            if not isinstance(ended, RelationEnded) or ended.relation_id != one.id:
                continue
            if ended.superseded_by is not None or not view.viewer.sees(ended.audience):
                continue
            moment = Moment(at=ended.until, place=NOW.place)
            until, _after = split_at(moment, line.words, lambda word: word.moment)
            same = (w.relation for w in until if w.again is None and w.what == line.what)
            for other in same:
                if isinstance(other, Relation) and _outlasts(other, ended.until):
                    yield replace(ended, relation_id=other.id)

    def _parted(self, view: SliceView, one: Relation) -> Iterator[str]:
        """What was told in the line of a relation while its ends were one with others."""
        line = _line(self.seen(self.before, view.viewer), one)
        yield from () if line is None else (word.relation.id for word in line.words)


def joins(entries: Iterable[Entry]) -> bool:
    """Whether entries make lines of several one, or several of one."""
    return any(isinstance(one, EntitiesMerged | EntitiesUnmerged) for one in entries)


def _lines_at(view: SliceView, entity: Entity) -> Iterator[Relation]:
    """The relations of an entity which others follow."""
    for kind in RELATION_TYPES.values():
        if kind.one_target or kind.one_origin or kind.excludes:
            yield from view.relations(entity, kind.name)


def _line(view: SliceView, one: Relation) -> RelationLine | None:
    """The line in which a relation stands, as a viewer sees it."""
    start, end = (view.entity(Reference(each)) for each in (one.from_id, one.to_id))
    if start is None or end is None or start.id == end.id:
        return None
    kind, said = relation_type(one.rel_type), one.properties
    return line_of(view, kind, start, end, one.moment, properties=said)


def _outlasts(relation: Relation, until: Instant | None) -> bool:
    """Whether a relation holds now, or held longer than until then."""
    end = relation.until
    return relation.current or (end is not None and until is not None and until < end)


def _ids_of(view: SliceView, thing: Entity | Relation) -> Iterator[str]:
    """The ids of all that is told in a line."""
    yield thing.id
    line = _line(view, thing) if isinstance(thing, Relation) else None
    if line is not None:
        yield from (word.relation.id for word in line.words)


def tells_tags(entry: Entry) -> bool:
    """Whether an entry tells of a state."""
    seen = entry.thing if isinstance(entry, Made) else None
    return isinstance(seen, ObservationDraft) and STATE_TAGS in seen.fields


def _names_line(entry: Entry) -> bool:
    match entry:
        case Made(thing=RelationDraft()) | EvidenceLinked() | AudienceChanged():
            return True
        case RelationEnded() | RelationResumed() | RelationRetconned():
            return True
        case EntitiesMerged() | EntitiesUnmerged():
            return True
        case _:
            return tells_tags(entry)


def _touched(view: SliceView, entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        match entry:
            case Made(thing=ObservationDraft() as seen) if tells_tags(entry):
                yield seen.entity_id
            case Made(thing=RelationDraft() as made):
                yield made.id
            case RelationEnded() | RelationResumed() | RelationRetconned():
                yield entry.relation_id
            case EvidenceLinked(thing_id=one):
                yield one
            case EntitiesMerged(kept=one):
                yield one
            case EntitiesUnmerged():
                yield from (entry.kept, entry.separated)
            case AudienceChanged(thing_id=one):
                yield _told_about(view, one)
            case _:
                continue


def _told_about(view: SliceView, thing_id: str) -> str:
    """Whose line something is told in: of an observation or a fact the entity's, else its own."""
    told = view.thing(thing_id)
    if isinstance(told, Observation):
        return told.entity_id
    return str(told.properties.get("entity_id", "")) if isinstance(told, Fact) else thing_id


def _labelled(new_id: NewId, own: str, label: str) -> str:
    return new_id(f"settled:{own}:{label}")


def _backing(entries: Iterable[Entry], thing: Entity | Relation) -> Backing:
    """The word that settles a line: that of the change itself, else that of what it changed."""
    made = (entry.thing for entry in entries if isinstance(entry, Made))
    drafts = (ObservationDraft, RelationDraft)
    said = next((each for each in made if isinstance(each, drafts)), thing)
    return Backing(
        space=thing.space,
        authority=said.authority,
        confidence=said.confidence,
        evidence=said.evidence,
    )


def _state(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    entity: Entity,
    old: Sequence[TagChange],
) -> Iterator[Entry]:
    """The tags that cease, or hold after all, and the facts that follow from that."""
    now, groups = changes_of(entity), view.policy.exclusive_tags
    never = [one for one in old if one.holds and not any(_alike(one, each) for each in now)]
    kept = [one for one in now if not one.holds and _ceased_for(one, never, groups)]
    fallen = [
        fact.id
        for one in (*never, *kept)
        for fact in told_of(view, entity, one.tag, holds=one.holds)
        if together(fact.moment, one.moment)
    ]
    for fact_id in fallen:
        yield FactRetconned(fact_id=fact_id, replaced_by=None, reason=_NEVER)
    back = [replace(one, holds=True) for one in kept]
    said = [*back, *excluded_in(in_turn((*now, *back)), groups)]
    for number, one in enumerate(said):
        place = None if one.moment.place.told == AFTER_ALL else one.moment.place
        yield make_observation(
            new_id,
            replace(backing, place=place),
            entity.id,
            {STATE_TAGS: {one.tag: one.holds}},
            label=f"observation:{number}",
            observed_at=one.moment.at,
        )
    new = in_turn((*now, *said))
    yield from facts_of_changes(
        view, new_id, backing, entity, old=old, new=new, fallen=fallen, every=True
    ).entries


def _ceased_for(
    one: TagChange, others: Iterable[TagChange], groups: tuple[tuple[str, ...], ...]
) -> bool:
    """Whether a tag ceased because one of the others began, which excludes it."""
    begun = [each.tag for each in others if together(each.moment, one.moment)]
    return bool(excluded_by(one.tag, groups, begun))


def _alike(one: TagChange, other: TagChange) -> bool:
    return (one.tag, one.holds) == (other.tag, other.holds) and together(one.moment, other.moment)

"""Settle lines: apply a change to audiences that know more than its own audience.

A viewer's line is the fold of the items that the viewer may see: each item ends where the next one
begins. Ends are stored with their items. After each change, the affected lines are corrected for
each audience that knows more, as far as the audience would see a difference.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Final

from canonry.canon.judging.gates.statements import first_successor, items_ended_by
from canonry.canon.judging.known_items import Backing, make_fact
from canonry.canon.judging.relation_timelines import (
    RelationTimeline,
    end_by,
    has_quantity,
    settle_timeline,
    timeline_of,
)
from canonry.canon.judging.slices import ItemLookup, Lookup, Slice, SliceView
from canonry.canon.judging.standing_statements import (
    backing_of,
    bereaved_by,
    change_states,
    items_ended_for,
    items_on_timelines,
    restate_tags,
    tags_begun_by,
    tags_left_by,
)
from canonry.canon.judging.state_tags import (
    TagHeld,
    TagWriter,
    begins_in,
    changes_of,
    excluded_changes,
    is_same_moment,
    supersede_fact,
    undo_tag,
)
from canonry.language.reading.reading import READER
from canonry.language.texts.sentences import plain_statement
from canonry.log.entries import (
    AudienceChanged,
    EntitiesMerged,
    EntitiesUnmerged,
    Entry,
    EvidenceLinked,
    FactRead,
    FactResumed,
    FactRetconned,
    FactSuperseded,
    Made,
    RelationEnded,
    RelationResumed,
    RelationRetconned,
)
from canonry.log.fold_commit import ids_needed, ids_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, FactDraft, Relation, RelationDraft
from canonry.log.items.secret_parts import audience_of, audiences_in
from canonry.log.observations import ids_needed_next, limit_audience
from canonry.log.schemas.narrative import RELATION_TYPES, STATE_TAGS, relation_type
from canonry.values import moments
from canonry.values.audience import (
    EVERYBODY,
    GAME_MASTERS,
    Audience,
    Viewer,
    narrowest,
    viewer_of,
    wide_first,
)
from canonry.values.fields import Reference
from canonry.values.ids import FactId, NewId
from canonry.values.merge_policies import TagChange, order_changes
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.policy import Policy
from canonry.values.provenance import CanonLevel
from canonry.values.state_tags import ended_by

_NEVER: Final = "the change that it describes was retconned"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineCorrections:
    """The entries to add to a change; empty while lookups are missing."""

    entries: tuple[Entry, ...] = ()
    reads: frozenset[str] = frozenset()
    wanted: frozenset[Lookup] = frozenset()


def may_touch_timelines(entries: Iterable[Entry], *, secrets: bool) -> bool:
    """Return whether entries may end or resume items; with secrets, facts and states do so too."""
    return any(_may_touch(entry, secrets=secrets) for entry in entries)


def settle_timelines(
    known: Slice, policy: Policy, entries: Sequence[Entry], new_id: NewId
) -> TimelineCorrections:
    """Return the corrections of affected timelines for each audience that knows them."""
    state = _SettlingState(
        before=known, now=known, policy=policy, new_id=new_id, entries=tuple(entries)
    )
    if state.fold_entries(state.entries):
        for audience in state.audiences_affected():
            state.settle_audience(audience)
    more = () if state.wanted else tuple(state.more)
    return TimelineCorrections(
        entries=more, reads=frozenset(state.reads), wanted=frozenset(state.wanted)
    )


@dataclass(slots=True)
class _SettlingState:
    """The working state: the slices before and after the change."""

    before: Slice
    now: Slice
    policy: Policy
    new_id: NewId
    entries: tuple[Entry, ...]
    more: list[Entry] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    wanted: set[Lookup] = field(default_factory=set)

    def fold_entries(self, entries: Sequence[Entry]) -> bool:
        """Fold entries as if they were in the log; False: lookups must be loaded first."""
        for ids in (ids_needed(entries), ids_needed_next(entries, self.now.items)):
            lookups = map(ItemLookup, ids)
            self.wanted |= self.now.missing_lookups(frozenset(lookups))
            if self.wanted:
                return False
        self.now = self.now.with_changes(self.now.fold_entries(entries))
        return True

    def make_view(self, known: Slice, viewer: Viewer) -> SliceView:
        """Return a viewer's view; its reads and missing lookups are collected here."""
        view = SliceView(known, self.policy, viewer)
        view.read, view.wanted = self.reads, self.wanted
        return view

    @property
    def may_reveal(self) -> bool:
        """Return whether the entries merge entities, or show an item to everybody or hide it."""
        return joins_timelines(self.entries) or EVERYBODY in self._audiences_moved()

    def _audiences_moved(self) -> set[Audience]:
        """Return the audiences that items had before and have after the change."""
        moved = [one for one in self.entries if isinstance(one, AudienceChanged)]
        before = {audience_of(self.before.items.get(one.thing_id)) for one in moved}
        return before | {one.audience for one in moved}

    def audiences_affected(self) -> list[Audience]:
        """Return the audiences that know the timelines, and common readers of two, widest first."""
        whole = self.make_view(self.now, viewer_of(GAME_MASTERS))
        ids = {one for e in self.items_touched(whole, GAME_MASTERS) for one in _ids_of(whole, e)}
        if self.now.secrets:
            new = (*self._items_beginning(whole), *self._items_retracted(whole))
            ids |= {one.id for each in new for one in (each, *items_on_timelines(each, whole))}
        found = {each for one in ids for each in audiences_in(self.now.items.get(one))}
        known_audiences = found | self._audiences_moved()
        if not known_audiences - {EVERYBODY}:
            return [EVERYBODY]
        both = {narrowest(pair) for pair in combinations(known_audiences, 2)}
        return sorted({EVERYBODY, GAME_MASTERS, *known_audiences, *both}, key=wide_first)

    def items_touched(self, view: SliceView, viewer: Audience) -> list[Entity | Relation]:
        """Return the affected entities and relations as a viewer sees them.

        An item that is now hidden from the viewer is returned in its earlier state.
        """
        before = self.make_view(self.before, viewer_of(viewer))
        ids = dict.fromkeys(_ids_touched(view, self.entries))
        found = (view.find_item(one) or before.find_item(one) for one in ids)
        roots = (view.find_entity(Reference(e.id)) if isinstance(e, Entity) else e for e in found)
        affected = [one for one in roots if isinstance(one, Entity | Relation)]
        if joins_timelines(self.entries):
            kinds = RELATION_TYPES.values()
            lined = [e.name for e in kinds if e.one_target or e.one_origin or e.excludes]
            entities = [one for one in affected if isinstance(one, Entity)]
            affected += (
                e for one in entities for name in lined for e in view.find_relations(one, name)
            )
        return affected

    def settle_audience(self, audience: Audience) -> None:
        """Add the corrections for one audience, which later audiences may see."""
        for correct in (
            *(self._put_in_order, self._end_others, self._give_back),
            *(self._begin_again, self._end_begun, self._leave_bereaved),
        ):
            view = self.make_view(self.now, viewer_of(audience))
            found = limit_audience(correct(view, audience), audience)
            if self.wanted:
                return
            self.more += found
            if found and not self.fold_entries(found):
                return

    def _put_in_order(self, view: SliceView, audience: Audience) -> Iterator[Entry]:
        """Yield the corrections of the affected lines and states."""
        number = len(self.more)
        done: set[str] = set()
        for index, one in enumerate(self.items_touched(view, audience)):
            new_id = partial(_settled_id, self.new_id, f"{number}:{index}")
            made = (entry.thing for entry in self.entries if isinstance(entry, Made))
            drafts = (ObservationDraft, RelationDraft)
            supporting = next((each for each in made if isinstance(each, drafts)), one)
            backing = replace(Backing.from_item(supporting), space=one.space)
            if isinstance(one, Entity):
                if audience == EVERYBODY and not self.may_reveal:
                    continue  # the entries hold these changes already
                before = self._earlier_changes(audience, one)
                yield from _settle_tags(TagWriter(view, new_id, backing, one), before)
            elif one.id not in done:
                yield from self._settle_relation(view, new_id, backing, one, done)

    def _end_others(self, view: SliceView, audience: Audience) -> Iterator[Entry]:
        """Yield the ends that follow from new claims, and from items that are canon again."""
        for item in self._items_beginning(view):
            timeline = _timeline_of(view, item) if isinstance(item, Relation) else None
            lined = (
                ()
                if timeline is None
                else [statement.relation.id for statement in timeline.statements]
            )
            yield from end_entries(item, view, lined=lined)
            if (
                isinstance(item, Fact)
                and item.id in self.before.items
                and item.audience == audience
            ):
                new_id = partial(_settled_id, self.new_id, f"again:{item.id}")
                yield from restate_tags(item, view, new_id)

    def _items_beginning(self, view: SliceView) -> Iterator[Fact | Relation]:
        """Yield new claims and items that are canon again."""
        before = self.make_view(self.before, view.viewer)
        for entry in self.entries:
            match entry:
                case Made(thing=FactDraft() | RelationDraft() as made):
                    item = None if made.proposal_id is None else view.find_item(made.id)
                case FactResumed(fact_id=one) | RelationResumed(relation_id=one):
                    was, item = before.find_item(one), view.find_item(one)
                    if not isinstance(was, Fact | Relation) or was.level is CanonLevel.CANON:
                        continue
                case _:
                    continue
            if isinstance(item, Fact | Relation) and item.level is CanonLevel.CANON:
                yield item

    def _give_back(self, view: SliceView, _: Audience) -> Iterator[Entry]:
        """Yield what holds again because the item that ended it was retconned."""
        for retracted in self._items_retracted(view):
            yield from resume_ended(retracted, view)
        for entry in self.more:  # others may know of an earlier end of what was given back
            back = isinstance(entry, FactResumed | FactSuperseded | RelationResumed)
            old = view.find_item(ids_of(entry)[0]) if back else None
            if isinstance(old, Fact) and old.was_called_off:
                yield from resume_ended(old, view)
                for held in tags_begun_by(old, view):
                    yield from self._undo_state(held, old, "its plan was given up", view)
            if not isinstance(old, Fact | Relation) or "tag" in old.properties:
                continue
            if isinstance(old, Relation) and (not old.current or has_quantity(old.properties)):
                continue
            successor = first_successor(old, view)
            if successor is not None and successor[0] != old.superseded_by:
                yield end_in_favour(old, successor)

    def _begin_again(self, view: SliceView, _: Audience) -> Iterator[Entry]:
        """Yield new facts for those that were stated again for a time after their end."""
        ends = [one.fact_id for one in self.more if isinstance(one, FactSuperseded)]
        done: list[tuple[str, moments.Moment]] = []
        for old in map(view.find_item, dict.fromkeys(ends)):
            by = view.find_item(old.superseded_by or "") if isinstance(old, Fact) else None
            if isinstance(old, Fact) and isinstance(by, Fact | Relation):
                new_id = partial(_settled_id, self.new_id, f"{old.id}:{by.id}")
                yield from _restated_after(by.moment, old, view, new_id, done)

    def _end_begun(self, view: SliceView, _: Audience) -> Iterator[Entry]:
        """Yield the ends that follow from facts that begin again."""
        made = (one.thing.id for one in self.more if isinstance(one, Made))
        for item in map(view.find_item, made):
            if isinstance(item, Fact) and "tag" not in item.properties:
                yield from end_entries(item, view, lined=())

    def _leave_bereaved(self, view: SliceView, _: Audience) -> Iterator[Entry]:
        """Yield the states that follow from bonds that end with a death, such as widowed."""
        told = (*self.entries, *self.more)
        for entry in (one for one in told if isinstance(one, FactSuperseded | RelationEnded)):
            ids = (ids_of(entry)[0], entry.superseded_by or "")
            old, by = (view.find_item(one) for one in ids)
            if isinstance(old, Fact | Relation) and isinstance(by, Fact):
                left = bereaved_by(by, old, view)
                new_id = partial(_settled_id, self.new_id, f"bereaved:{old.id}:{by.id}")
                yield from change_states(left, view, new_id, backing_of(by), moment=by.moment)
        for old in self._items_retracted(view):
            cause = view.find_item(old.superseded_by or "")
            if isinstance(cause, Fact):
                for held in tags_left_by(cause, old, view):
                    yield from self._undo_left(held, cause, view)

    def _undo_left(self, held: TagHeld, by: Fact, view: SliceView) -> Iterator[Entry]:
        """Yield the undoing of a state that no bond leaves that is still canon."""
        bonds = (one for one in items_ended_for(by, view) if one.level is CanonLevel.CANON)
        left = {(one.entity_id, one.tag) for bond in bonds for one in tags_left_by(by, bond, view)}
        if (held.entity_id, held.tag) not in left:
            yield from self._undo_state(held, by, "its bond was retracted", view)

    def _undo_state(self, held: TagHeld, by: Fact, reason: str, view: SliceView) -> Iterator[Entry]:
        """Yield the undoing of a state and of the facts that document it."""
        if (entity := view.find_entity(Reference(held.entity_id))) is not None:
            new_id = partial(_settled_id, self.new_id, f"bond:{held.entity_id}:{by.id}")
            pen = TagWriter(view, new_id, backing_of(by), entity)
            yield from undo_tag(pen, held, label=held.tag, reason=reason)
            facts = [one for one in held.facts if one != by.id]
            yield from (FactRetconned(fact_id=e, replaced_by=None, reason=reason) for e in facts)

    def _items_retracted(self, view: SliceView) -> Iterator[Fact | Relation]:
        """Yield the facts and relations that the entries retcon."""
        for entry in self.entries:
            match entry:
                case FactRetconned(fact_id=one) | RelationRetconned(relation_id=one):
                    retracted = view.find_item(one)
                    if (
                        isinstance(retracted, Fact | Relation)
                        and retracted.level is CanonLevel.RETCONNED
                    ):
                        yield retracted
                case _:
                    continue

    def _earlier_changes(self, audience: Audience, entity: Entity) -> Sequence[TagChange]:
        """Return earlier state changes; for merged entities, those of each member."""
        view = self.make_view(self.before, viewer_of(audience))
        merges = (one for one in self.entries if isinstance(one, EntitiesMerged))
        joined = [one.merged for one in merges if one.kept == entity.id]
        sides = (view.find_entity(Reference(one)) for one in (entity.id, *joined))
        changes = [changes_of(side) for side in sides if side is not None]
        if not joined:
            return changes[0] if changes else ()
        begun = (begins for each in changes for begins in begins_in(each).values())
        return order_changes(change for each in begun for change in each)

    def _settle_relation(
        self, view: SliceView, new_id: NewId, backing: Backing, one: Relation, done: set[str]
    ) -> Iterator[Entry]:
        """Yield the corrections of a relation's line and of the repetitions that end with it."""
        timeline = _timeline_of(view, one)
        if timeline is None:
            return
        done |= {statement.relation.id for statement in timeline.statements}
        links = (each for each in self.entries if isinstance(each, EvidenceLinked))
        fresh = [each.again for each in links if each.again is not None]
        before = (
            _timeline_of(self.make_view(self.before, view.viewer), one)
            if joins_timelines(self.entries)
            else None
        )
        parted = (
            [] if before is None else [statement.relation.id for statement in before.statements]
        )
        yield from settle_timeline(view, new_id, backing, timeline, fresh=fresh, parted=parted)
        for ended in self.entries:
            if not isinstance(ended, RelationEnded) or ended.relation_id != one.id:
                continue
            if ended.superseded_by is not None or not view.viewer.may_see(ended.audience):
                continue
            moment = moments.Moment(at=ended.until, position=moments.NOW.position)
            until, _after = moments.split_at(moment, timeline.statements, lambda word: word.moment)
            same = (w.relation for w in until if w.again is None and w.what == timeline.what)
            for other in same:
                end, over = getattr(other, "until", None), ended.until
                later = end is not None and over is not None and over < end
                if isinstance(other, Relation) and (other.current or later):
                    yield replace(ended, relation_id=other.id)


def joins_timelines(entries: Iterable[Entry]) -> bool:
    """Return whether entries merge or separate lines."""
    return any(isinstance(one, EntitiesMerged | EntitiesUnmerged) for one in entries)


def _timeline_of(view: SliceView, one: Relation) -> RelationTimeline | None:
    """Return a relation's line as a viewer sees it."""
    start, end = (view.find_entity(Reference(each)) for each in (one.from_id, one.to_id))
    if start is None or end is None or start.id == end.id:
        return None
    kind, properties = relation_type(one.rel_type), one.properties
    return timeline_of(view, kind, start, end, one.moment, properties=properties)


def _ids_of(view: SliceView, item: Entity | Relation) -> Iterator[str]:
    """Yield the ids of all statements in a timeline."""
    yield item.id
    timeline = _timeline_of(view, item) if isinstance(item, Relation) else None
    if timeline is not None:
        yield from (statement.relation.id for statement in timeline.statements)


def states_tags(entry: Entry) -> bool:
    """Return whether an entry states a state."""
    seen = entry.thing if isinstance(entry, Made) else None
    return isinstance(seen, ObservationDraft) and STATE_TAGS in seen.fields


def _may_touch(entry: Entry, *, secrets: bool) -> bool:
    match entry:
        case Made(thing=RelationDraft()) | RelationRetconned() | RelationResumed() | FactResumed():
            return True
        case AudienceChanged() | EntitiesMerged() | EntitiesUnmerged() | FactRetconned():
            return True
        case EvidenceLinked(again=again) if again is not None:
            return True
        case Made(thing=FactDraft()) | EvidenceLinked() | RelationEnded():
            return secrets
        case _:
            return secrets and states_tags(entry)


def _ids_touched(view: SliceView, entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        match entry:
            case Made(thing=ObservationDraft() as seen) if states_tags(entry):
                yield seen.entity_id
            case Made(thing=RelationDraft() as made):
                yield made.id
            case RelationEnded() | RelationResumed() | RelationRetconned():
                yield entry.relation_id
            case EvidenceLinked(thing_id=one) | EntitiesMerged(kept=one):
                yield one
            case EntitiesUnmerged():
                yield from (entry.kept, entry.separated)
            case AudienceChanged(thing_id=one):
                item = view.find_item(one)
                known = item.properties.get("entity_id", "") if isinstance(item, Fact) else one
                yield item.entity_id if isinstance(item, Observation) else str(known)
            case _:
                continue


def _settled_id(new_id: NewId, own: str, label: str) -> str:
    return new_id(f"settled:{own}:{label}")


def _settle_tags(pen: TagWriter, old: Sequence[TagChange]) -> Iterator[Entry]:
    """Yield the corrections of tags, and the facts that follow from them."""
    now, groups = changes_of(pen.entity), pen.exclusive_groups
    same = {(one.tag, one.holds, one.moment.at, one.moment.position) for one in now}
    begun = [one for one in old if one.holds]
    never = [e for e in begun if (e.tag, True, e.moment.at, e.moment.position) not in same]
    kept = [  # they ended because an exclusive one began
        one
        for one in now
        if not one.holds
        and any(
            is_same_moment(e.moment, one.moment) and ended_by(e.tag, groups, [one.tag])
            for e in never
        )
    ]
    retracted = [
        fact.id for one in (*never, *kept) for fact in pen.facts_stating_then(one, holds=one.holds)
    ]
    for fact_id in retracted:
        yield FactRetconned(fact_id=fact_id, replaced_by=None, reason=_NEVER)
    back = [replace(one, holds=True) for one in kept]
    changes = [*back, *excluded_changes(order_changes((*now, *back)), groups)]
    for number, one in enumerate(changes):
        position = None if one.moment.position.told == moments.AFTER_ALL else one.moment.position
        backing = replace(pen.backing, place=position)
        label = f"observation:{number}"
        yield pen.make_observation(one.moment, {one.tag: one.holds}, label, backing=backing)
    yield from pen.change_facts(order_changes((*now, *changes)), retracted, old=old).entries


# Ends: items end in favour of others, and hold again when those are retconned.


def resume_ended(retracted: Fact | Relation, view: SliceView) -> Iterator[Entry]:
    """Yield the entries for the facts and relations that ended in favour of a retconned item."""
    for old in items_ended_for(retracted, view):
        if "tag" in old.properties:
            continue
        successor = first_successor(old, view) or _replacement_of(old, retracted, view)
        if successor is None or (isinstance(old, Relation) and old.said_ends):
            yield _resume_item(old, retracted.id)
        else:
            yield end_in_favour(old, successor)


def end_entries(
    item: Fact | Relation, view: SliceView, *, lined: Collection[str]
) -> Iterator[Entry]:
    """Yield the end of an item that is new to its viewer, and the ends of earlier ones.

    The relations in `lined` follow the order of their line.
    """
    successor = None if "tag" in item.properties else first_successor(item, view)
    by = None if item.superseded_by is None else view.find_item(item.superseded_by)
    if successor is not None and successor[0] != item.superseded_by and successor[0] not in lined:
        yield end_in_favour(item, successor)
    elif successor is None and isinstance(by, Fact | Relation) and by.level is CanonLevel.RETCONNED:
        yield _resume_item(item, by.id)
    for old in (*items_ended_by(item, view), *items_ended_for(item, view)):
        sooner = first_successor(old, view) or (item.id, item.moment.at)
        if sooner[0] != old.superseded_by and old.id not in lined:
            yield end_in_favour(old, sooner)


def _restated_after(
    end: moments.Moment,
    old: Fact,
    view: SliceView,
    new_id: NewId,
    done: list[tuple[str, moments.Moment]],
) -> Iterator[Entry]:
    """Yield the fact that begins when an ended one was stated again, once for all that say it."""
    said = [(moments.moment_of(one.at, one.place, one.place.told), one) for one in old.again]
    later = moments.sort_by_story(
        [each for each in said if moments.comes_after(each[0], end)], lambda each: each[0]
    )
    known = [fact.moment for fact in view.facts_stating(old.statement)]
    known += [moment for statement, moment in done if statement == old.statement]
    if not later or "tag" in old.properties or any(is_same_moment(later[0][0], m) for m in known):
        return
    (moment, first), *others = later
    own = {name: getattr(first, name) for name in ("scene_id", "place", "proposal_id")}
    made = make_fact(
        new_id,
        Backing.from_item(old).with_support_of(first, **own),
        statement=old.statement,
        involved=old.involved,
        time_ref=first.at,
        fact_type=old.fact_type,
        properties=old.properties,
    )
    done.append((old.statement, moment))
    fact_id = FactId(made.thing.id)
    yield made
    yield FactRead(fact_id=fact_id, reader=old.reader or READER, statements=old.statements)
    for _moment, one in others:
        yield EvidenceLinked(thing_id=fact_id, evidence=one.evidence[-1], again=one)


def end_in_favour(old: Fact | Relation, successor: tuple[str, moments.Instant | None]) -> Entry:
    """Return the entry that ends an item when another one begins."""
    by, at = successor
    return supersede_fact(old, at, by) if isinstance(old, Fact) else end_by(old, at, by)


def _resume_item(old: Fact | Relation, retracted_id: str) -> Entry:
    if isinstance(old, Fact):
        return FactResumed(fact_id=old.id, fallen=retracted_id)
    return RelationResumed(relation_id=old.id, fallen=retracted_id)


def _replacement_of(
    old: Fact | Relation, retracted: Fact | Relation, view: SliceView
) -> tuple[str, moments.Instant | None] | None:
    """Return the item that comes in place of a retconned one, where no statement ends `old`.

    A quantity passes on. The words of a corrected fact do not hold in an older form either, and
    the replacement that a retcon names replaces all of it.
    """
    if isinstance(old, Relation):
        passes = has_quantity(old.properties) and retracted.superseded_by is not None
        return (retracted.superseded_by or "", retracted.until) if passes else None
    new = view.find_item(retracted.replaced_by) if retracted.replaced_by else None
    if not isinstance(new, Fact) or not isinstance(retracted, Fact):
        return None
    same = plain_statement(old.statement) == plain_statement(retracted.statement)
    return (new.id, old.until) if same or new.proposal_id is None else None

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

from canonry.canon.judging.gates.statements import ends_for, first_heir
from canonry.canon.judging.known_things import Backing, make_fact
from canonry.canon.judging.relation_lines import (
    RelationLine,
    counted,
    ended_by,
    line_of,
    settled_line,
)
from canonry.canon.judging.slices import Lookup, Slice, SliceView, ThingLookup
from canonry.canon.judging.standing_statements import ended_for, items_beside, states_again
from canonry.canon.judging.state_tags import (
    TagPen,
    begins_in,
    changes_of,
    excluded_in,
    superseded,
    together,
)
from canonry.language.reading.reading import READER
from canonry.language.texts.sentences import plain_statement
from canonry.log.canon import ids_of, needs
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
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, FactDraft, Relation, RelationDraft
from canonry.log.items.veils import audience_of, audiences_in
from canonry.log.observing import beside, under
from canonry.log.schemas.narrative import RELATION_TYPES, STATE_TAGS, relation_type
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
from canonry.values.merge import TagChange, in_turn
from canonry.values.moments import (
    AFTER_ALL,
    NOW,
    Instant,
    Moment,
    arranged,
    comes_after,
    moment_of,
    split_at,
)
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.policy import Policy
from canonry.values.provenance import CanonLevel
from canonry.values.state_tags import excluded_by

_NEVER: Final = "the change that it describes was retconned"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledLines:
    """The entries to add to a change; empty while lookups are missing."""

    entries: tuple[Entry, ...] = ()
    reads: frozenset[str] = frozenset()
    wanted: frozenset[Lookup] = frozenset()


def touches(entries: Iterable[Entry], *, secrets: bool) -> bool:
    """Tell whether entries may end or resume items; with secrets, facts and states do so too."""
    return any(_names_line(entry, secrets=secrets) for entry in entries)


def settled(known: Slice, policy: Policy, entries: Sequence[Entry], new_id: NewId) -> SettledLines:
    """Return the corrections of affected lines for each audience that knows of them."""
    desk = _Desk(before=known, now=known, policy=policy, new_id=new_id, entries=tuple(entries))
    if desk.told(desk.entries):
        for audience in desk.audiences():
            desk.settle(audience)
    more = () if desk.wanted else tuple(desk.more)
    return SettledLines(entries=more, reads=frozenset(desk.reads), wanted=frozenset(desk.wanted))


@dataclass(slots=True)
class _Desk:
    """The working state: the slices before and after the change."""

    before: Slice
    now: Slice
    policy: Policy
    new_id: NewId
    entries: tuple[Entry, ...]
    more: list[Entry] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    wanted: set[Lookup] = field(default_factory=set)

    def told(self, entries: Sequence[Entry]) -> bool:
        """Fold entries as if they were in the log; False: lookups must be loaded first."""
        for ids in (needs(entries), beside(entries, self.now.things)):
            lookups = map(ThingLookup, ids)
            self.wanted |= self.now.missing(frozenset(lookups))
            if self.wanted:
                return False
        self.now = self.now.after(self.now.folded(entries))
        return True

    def view(self, known: Slice, viewer: Viewer) -> SliceView:
        """Return a viewer's view; its reads and missing lookups are collected here."""
        view = SliceView(known, self.policy, viewer)
        view.read, view.wanted = self.reads, self.wanted
        return view

    @property
    def reveals(self) -> bool:
        """Tell whether the entries merge entities, or show an item to everybody or hide it."""
        return joins(self.entries) or EVERYBODY in self._moved()

    def _moved(self) -> set[Audience]:
        """Return the audiences that items had before and have after the change."""
        moved = [one for one in self.entries if isinstance(one, AudienceChanged)]
        before = {audience_of(self.before.things.get(one.thing_id)) for one in moved}
        return before | {one.audience for one in moved}

    def audiences(self) -> list[Audience]:
        """Return the audiences that know of the lines, and common readers of two, widest first."""
        whole = self.view(self.now, viewer_of(GAME_MASTERS))
        ids = {one for each in self.touched(whole, GAME_MASTERS) for one in _ids_of(whole, each)}
        if self.now.secrets:
            new = (*self._beginning(whole), *self._fallen(whole))
            ids |= {one.id for each in new for one in (each, *items_beside(each, whole))}
        found = {each for one in ids for each in audiences_in(self.now.things.get(one))}
        told = found | self._moved()
        if not told - {EVERYBODY}:
            return [EVERYBODY]
        both = {narrowest(pair) for pair in combinations(told, 2)}
        return sorted({EVERYBODY, GAME_MASTERS, *told, *both}, key=wide_first)

    def touched(self, view: SliceView, viewer: Audience) -> list[Entity | Relation]:
        """Return the affected entities and relations as a viewer sees them.

        An item that is now hidden from the viewer is returned in its earlier state.
        """
        before = self.view(self.before, viewer_of(viewer))
        ids = dict.fromkeys(_touched(view, self.entries))
        found = (view.thing(one) or before.thing(one) for one in ids)
        roots = (
            view.entity(Reference(one.id)) if isinstance(one, Entity) else one for one in found
        )
        met = [one for one in roots if isinstance(one, Entity | Relation)]
        if joins(self.entries):
            kinds = RELATION_TYPES.values()
            lined = [e.name for e in kinds if e.one_target or e.one_origin or e.excludes]
            entities = [one for one in met if isinstance(one, Entity)]
            met += (e for one in entities for name in lined for e in view.relations(one, name))
        return met

    def settle(self, audience: Audience) -> None:
        """Add the corrections for one audience, which later audiences may see."""
        for correct in (
            *(self._put_in_order, self._end_others, self._give_back),
            *(self._begin_again, self._end_begun),
        ):
            view = self.view(self.now, viewer_of(audience))
            found = under(correct(view, audience), audience)
            if self.wanted:
                return
            self.more += found
            if found and not self.told(found):
                return

    def _put_in_order(self, view: SliceView, audience: Audience) -> Iterator[Entry]:
        """Yield the corrections of the affected lines and states."""
        number = len(self.more)
        done: set[str] = set()
        for turn, one in enumerate(self.touched(view, audience)):
            new_id = partial(_labelled, self.new_id, f"{number}:{turn}")
            backing = _backing(self.entries, one)
            if isinstance(one, Entity):
                if audience == EVERYBODY and not self.reveals:
                    continue  # the entries hold these changes already
                before = self._told_before(audience, one)
                yield from _state(TagPen(view, new_id, backing, one), before)
            elif one.id not in done:
                yield from self._relations(view, new_id, backing, one, done)

    def _end_others(self, view: SliceView, audience: Audience) -> Iterator[Entry]:
        """Yield the ends that follow from new claims, and from items that are canon again."""
        for item in self._beginning(view):
            line = _line(view, item) if isinstance(item, Relation) else None
            lined = () if line is None else [word.relation.id for word in line.words]
            yield from ends_of(item, view, lined=lined)
            if (
                isinstance(item, Fact)
                and item.id in self.before.things
                and item.audience == audience
            ):
                new_id = partial(_labelled, self.new_id, f"again:{item.id}")
                yield from states_again(item, view, new_id)

    def _beginning(self, view: SliceView) -> Iterator[Fact | Relation]:
        """Yield new claims and items that are canon again."""
        before = self.view(self.before, view.viewer)
        for entry in self.entries:
            match entry:
                case Made(thing=FactDraft() | RelationDraft() as made):
                    item = None if made.proposal_id is None else view.thing(made.id)
                case FactResumed(fact_id=one) | RelationResumed(relation_id=one):
                    was, item = before.thing(one), view.thing(one)
                    if not isinstance(was, Fact | Relation) or was.level is CanonLevel.CANON:
                        continue
                case _:
                    continue
            if isinstance(item, Fact | Relation) and item.level is CanonLevel.CANON:
                yield item

    def _give_back(self, view: SliceView, _: Audience) -> Iterator[Entry]:
        """Yield what holds again because the item that ended it was retconned."""
        for fallen in self._fallen(view):
            yield from given_back(fallen, view)
        for entry in self.more:  # others may know of an earlier end of what was given back
            back = isinstance(entry, FactResumed | FactSuperseded | RelationResumed)
            old = view.thing(ids_of(entry)[0]) if back else None
            if not isinstance(old, Fact | Relation) or "tag" in old.properties:
                continue
            if isinstance(old, Relation) and (not old.current or counted(old.properties)):
                continue
            heir = first_heir(old, view)
            if heir is not None and heir[0] != old.superseded_by:
                yield ended_in_favour(old, heir)

    def _begin_again(self, view: SliceView, _: Audience) -> Iterator[Entry]:
        """Yield new facts for those that were told again for a time after their end."""
        ends = [one.fact_id for one in self.more if isinstance(one, FactSuperseded)]
        done: list[tuple[str, Moment]] = []
        for old in map(view.thing, dict.fromkeys(ends)):
            by = view.thing(old.superseded_by or "") if isinstance(old, Fact) else None
            if isinstance(old, Fact) and isinstance(by, Fact | Relation):
                new_id = partial(_labelled, self.new_id, f"{old.id}:{by.id}")
                yield from _told_after(by.moment, old, view, new_id, done)

    def _end_begun(self, view: SliceView, _: Audience) -> Iterator[Entry]:
        """Yield the ends that follow from facts that begin again."""
        made = (one.thing.id for one in self.more if isinstance(one, Made))
        for item in map(view.thing, made):
            if isinstance(item, Fact) and "tag" not in item.properties:
                yield from ends_of(item, view, lined=())

    def _fallen(self, view: SliceView) -> Iterator[Fact | Relation]:
        """Yield the facts and relations that the entries retcon."""
        for entry in self.entries:
            match entry:
                case FactRetconned(fact_id=one) | RelationRetconned(relation_id=one):
                    fallen = view.thing(one)
                    if isinstance(fallen, Fact | Relation) and fallen.level is CanonLevel.RETCONNED:
                        yield fallen
                case _:
                    continue

    def _told_before(self, audience: Audience, entity: Entity) -> Sequence[TagChange]:
        """Return earlier state changes; for merged entities, those of each member."""
        view = self.view(self.before, viewer_of(audience))
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
        """Yield the corrections of a relation's line and of the repetitions that end with it."""
        line = _line(view, one)
        if line is None:
            return
        done |= {word.relation.id for word in line.words}
        links = (each for each in self.entries if isinstance(each, EvidenceLinked))
        fresh = [each.again for each in links if each.again is not None]
        before = _line(self.view(self.before, view.viewer), one) if joins(self.entries) else None
        parted = [] if before is None else [word.relation.id for word in before.words]
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
                end, over = getattr(other, "until", None), ended.until
                later = end is not None and over is not None and over < end
                if isinstance(other, Relation) and (other.current or later):
                    yield replace(ended, relation_id=other.id)


def joins(entries: Iterable[Entry]) -> bool:
    """Tell whether entries merge or separate lines."""
    return any(isinstance(one, EntitiesMerged | EntitiesUnmerged) for one in entries)


def _line(view: SliceView, one: Relation) -> RelationLine | None:
    """Return a relation's line as a viewer sees it."""
    start, end = (view.entity(Reference(each)) for each in (one.from_id, one.to_id))
    if start is None or end is None or start.id == end.id:
        return None
    kind, said = relation_type(one.rel_type), one.properties
    return line_of(view, kind, start, end, one.moment, properties=said)


def _ids_of(view: SliceView, thing: Entity | Relation) -> Iterator[str]:
    """Yield the ids of all statements in a line."""
    yield thing.id
    line = _line(view, thing) if isinstance(thing, Relation) else None
    if line is not None:
        yield from (word.relation.id for word in line.words)


def tells_tags(entry: Entry) -> bool:
    """Tell whether an entry states a state."""
    seen = entry.thing if isinstance(entry, Made) else None
    return isinstance(seen, ObservationDraft) and STATE_TAGS in seen.fields


def _names_line(entry: Entry, *, secrets: bool) -> bool:
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
            return secrets and tells_tags(entry)


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
    """Return the id of the entity of an observation or fact, else the item's own id."""
    told = view.thing(thing_id)
    if isinstance(told, Observation):
        return told.entity_id
    return str(told.properties.get("entity_id", "")) if isinstance(told, Fact) else thing_id


def _labelled(new_id: NewId, own: str, label: str) -> str:
    return new_id(f"settled:{own}:{label}")


def _backing(entries: Iterable[Entry], thing: Entity | Relation) -> Backing:
    """Return the support of a correction: that of the change, else of the changed item."""
    made = (entry.thing for entry in entries if isinstance(entry, Made))
    drafts = (ObservationDraft, RelationDraft)
    said = next((each for each in made if isinstance(each, drafts)), thing)
    return replace(Backing.of(said), space=thing.space)


def _state(pen: TagPen, old: Sequence[TagChange]) -> Iterator[Entry]:
    """Yield the corrections of tags, and the facts that follow from them."""
    now, groups = changes_of(pen.entity), pen.groups
    never = [one for one in old if one.holds and not any(_alike(one, each) for each in now)]
    kept = [  # they ended because an exclusive one began
        one
        for one in now
        if not one.holds
        and excluded_by(one.tag, groups, [e.tag for e in never if together(e.moment, one.moment)])
    ]
    fallen = [fact.id for one in (*never, *kept) for fact in pen.stating_then(one, holds=one.holds)]
    for fact_id in fallen:
        yield FactRetconned(fact_id=fact_id, replaced_by=None, reason=_NEVER)
    back = [replace(one, holds=True) for one in kept]
    said = [*back, *excluded_in(in_turn((*now, *back)), groups)]
    for number, one in enumerate(said):
        place = None if one.moment.place.told == AFTER_ALL else one.moment.place
        backing = replace(pen.backing, place=place)
        label = f"observation:{number}"
        yield pen.observed(one.moment, {one.tag: one.holds}, label, backing=backing)
    yield from pen.facts(in_turn((*now, *said)), fallen, old=old).entries


def _alike(one: TagChange, other: TagChange) -> bool:
    return (one.tag, one.holds) == (other.tag, other.holds) and together(one.moment, other.moment)


# Ends: items end in favour of others, and hold again when those are retconned.


def given_back(fallen: Fact | Relation, view: SliceView) -> Iterator[Entry]:
    """Yield the entries for the facts and relations that ended in favour of a retconned item."""
    for old in ended_for(fallen, view):
        if "tag" in old.properties:
            continue
        heir = first_heir(old, view) or _taken_over(old, fallen, view)
        if heir is None or (isinstance(old, Relation) and old.said_ends):
            yield _resumed(old, fallen.id)
        else:
            yield ended_in_favour(old, heir)


def ends_of(item: Fact | Relation, view: SliceView, *, lined: Collection[str]) -> Iterator[Entry]:
    """Yield the end of an item that is new to its viewer, and the ends of earlier ones.

    The relations in `lined` follow the order of their line.
    """
    heir = None if "tag" in item.properties else first_heir(item, view)
    by = None if item.superseded_by is None else view.thing(item.superseded_by)
    if heir is not None and heir[0] != item.superseded_by and heir[0] not in lined:
        yield ended_in_favour(item, heir)
    elif heir is None and isinstance(by, Fact | Relation) and by.level is CanonLevel.RETCONNED:
        yield _resumed(item, by.id)
    for old in (*ends_for(item, view), *ended_for(item, view)):
        sooner = first_heir(old, view) or (item.id, item.moment.at)
        if sooner[0] != old.superseded_by and old.id not in lined:
            yield ended_in_favour(old, sooner)


def _told_after(
    end: Moment, old: Fact, view: SliceView, new_id: NewId, done: list[tuple[str, Moment]]
) -> Iterator[Entry]:
    """Yield the fact that begins when an ended one was told again, once for all that say it."""
    said = [(moment_of(one.at, one.place, one.place.told), one) for one in old.again]
    later = arranged([each for each in said if comes_after(each[0], end)], lambda each: each[0])
    known = [fact.moment for fact in view.stating(old.statement)]
    known += [moment for words, moment in done if words == old.statement]
    if not later or "tag" in old.properties or any(together(later[0][0], m) for m in known):
        return
    (moment, first), *others = later
    own = {name: getattr(first, name) for name in ("scene_id", "place", "proposal_id")}
    made = make_fact(
        new_id,
        Backing.of(old).said_in(first, **own),
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


def ended_in_favour(old: Fact | Relation, heir: tuple[str, Instant | None]) -> Entry:
    """Return the entry that ends an item when another one begins."""
    by, at = heir
    return superseded(old, at, by) if isinstance(old, Fact) else ended_by(old, at, by)


def _resumed(old: Fact | Relation, fallen: str) -> Entry:
    if isinstance(old, Fact):
        return FactResumed(fact_id=old.id, fallen=fallen)
    return RelationResumed(relation_id=old.id, fallen=fallen)


def _taken_over(
    old: Fact | Relation, fallen: Fact | Relation, view: SliceView
) -> tuple[str, Instant | None] | None:
    """Return the item that comes in place of a retconned one, where no statement ends `old`.

    A quantity passes on. The words of a corrected fact do not hold in an older form either, and
    the replacement that a retcon names takes its whole place.
    """
    if isinstance(old, Relation):
        passes = counted(old.properties) and fallen.superseded_by is not None
        return (fallen.superseded_by or "", fallen.until) if passes else None
    new = view.thing(fallen.replaced_by) if fallen.replaced_by else None
    if not isinstance(new, Fact) or not isinstance(fallen, Fact):
        return None
    same = plain_statement(old.statement) == plain_statement(fallen.statement)
    return (new.id, old.until) if same or new.proposal_id is None else None

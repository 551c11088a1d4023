"""Tag facts: the facts that state an entity's tags, as they follow from the changes of them.

A tag holds in stretches. Each begins with a fact that says so and ends with the fact by which the
next one begins.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from canonry.canon.judging.making import Backing, make_fact, tag_statement
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import newest_until, together, told_of
from canonry.log.entries import Entry, FactResumed, FactSuperseded, Made
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, FactDraft, FactType
from canonry.values.ids import FactId, NewId
from canonry.values.merge import TagChange
from canonry.values.moments import Instant, split_at
from canonry.values.observations import Observation
from canonry.values.state_tags import excluded_by


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFacts:
    """The facts that are made, with the changes that they document, and what becomes of others."""

    entries: tuple[Entry, ...]
    made: tuple[tuple[TagChange, FactId], ...]


def superseded(fact: FactDraft, until: Instant | None, by: FactId) -> FactSuperseded:
    """The entry that ends a fact; without a date where the one given is before the fact began."""
    backwards = until is not None and fact.time_ref is not None and until < fact.time_ref
    return FactSuperseded(fact_id=fact.id, until=None if backwards else until, superseded_by=by)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TagStretch:
    """From one change of a tag to the next that says otherwise; `facts` state it."""

    begins: TagChange
    ends: TagChange | None
    facts: list[FactDraft]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatedTags:
    view: SliceView
    new_id: NewId
    backing: Backing
    entity: Entity
    old: Sequence[TagChange]
    new: Sequence[TagChange]
    fallen: frozenset[FactId]
    made: list[tuple[TagChange, Made]] = field(default_factory=list)
    told: dict[tuple[str, bool], list[Fact]] = field(default_factory=dict)

    def stating(self, tag: str, *, holds: bool) -> list[Fact]:
        """As `told_of`, which is asked once and not for each stretch of a long history."""
        key = (tag, holds)
        if key not in self.told:
            self.told[key] = told_of(self.view, self.entity, tag, holds=holds)
        return self.told[key]


def facts_of_changes(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    entity: Entity,
    *,
    old: Sequence[TagChange],
    new: Sequence[TagChange],
    fallen: Iterable[FactId] = (),
    every: bool = False,
) -> TagFacts:
    """What becomes of the facts where the changes in order were `old` and are `new` now.

    Those of tags that changed are looked at, or of `every` tag.
    """
    desk = _StatedTags(
        view=view,
        new_id=new_id,
        backing=backing,
        entity=entity,
        old=old,
        new=new,
        fallen=frozenset(fallen),
    )
    before, after = begins_in(old), begins_in(new)
    touched = [
        tag for tag in sorted(after) if every or _told(after[tag]) != _told(before.get(tag, []))
    ]
    stretches = [one for tag in touched for one in _stretches(desk, after[tag], before)]
    ends = [entry for one in stretches for entry in _ended(desk, one)]
    made = sorted(desk.made, key=lambda each: not each[0].holds)
    return TagFacts(
        entries=(*(entry for _change, entry in made), *ends),
        made=tuple((change, FactId(entry.thing.id)) for change, entry in made),
    )


def begins_in(changes: Iterable[TagChange]) -> dict[str, list[TagChange]]:
    """The changes of each tag with which it begins to hold, or ceases; no tag holds at first."""
    found: dict[str, list[TagChange]] = {}
    for change in changes:
        begun = found.setdefault(change.tag, [])
        if change.holds is not (begun[-1].holds if begun else False):
            begun.append(change)
    return found


def _told(begins: list[TagChange]) -> list[tuple[object, ...]]:
    return [(one.holds, one.moment.at, one.moment.place) for one in begins]


def _stretches(
    desk: _StatedTags, begins: list[TagChange], before: dict[str, list[TagChange]]
) -> Iterator[_TagStretch]:
    """The stretches of one tag, each with its facts; one that begins anew is stated anew."""
    if not begins:
        return
    known = _told(before.get(begins[0].tag, []))
    stated = [_facts_in(desk, begins, holds=holds) for holds in (False, True)]
    for index, change in enumerate(begins):
        facts = [fact for place, fact in stated[change.holds] if place == index]
        said = any(together(fact.moment, change.moment) for fact in facts)
        drafts: list[FactDraft] = list(facts)
        if not said and _told([change])[0] not in known:
            drafts.append(_stated(desk, change))
        ends = begins[index + 1] if index + 1 < len(begins) else None
        yield _TagStretch(begins=change, ends=ends, facts=drafts)


def _facts_in(desk: _StatedTags, begins: list[TagChange], *, holds: bool) -> list[tuple[int, Fact]]:
    """The facts that state this, each with the number of the stretch that it is told in."""
    found = []
    for fact in desk.stating(begins[0].tag, holds=holds):
        if fact.id in desk.fallen:
            continue
        at = fact.moment
        own = next((n for n, one in enumerate(begins) if together(one.moment, at)), None)
        if own is None or begins[own].holds is not holds:
            earlier, _later = split_at(at, desk.new, lambda change: change.moment)
            own = max((n for n, one in enumerate(begins) if one in earlier), default=None)
        if own is not None:
            found.append((own, fact))
    return found


def _stated(desk: _StatedTags, change: TagChange) -> FactDraft:
    """The fact that states what a change brought about."""
    number = len(desk.made)
    backing = desk.backing
    seen = desk.view.thing(change.observation) if change.observation else None
    if isinstance(seen, Observation):
        backing = replace(
            backing,
            authority=seen.authority,
            confidence=seen.confidence,
            evidence=seen.evidence,
        )
    made = make_fact(
        desk.new_id,
        replace(backing, place=change.moment.place) if change.moment.place.scene else backing,
        label=f"fact:{change.tag}:{number}",
        statement=tag_statement(desk.entity.name, change.tag, holds=change.holds),
        involved=(desk.entity.id,),
        time_ref=change.moment.at,
        fact_type=FactType.STATE,
        properties={"entity_id": desk.entity.id, "tag": change.tag, "holds": change.holds},
    )
    desk.made.append((change, made))
    if not isinstance(made.thing, FactDraft):
        raise TypeError(made.thing)
    return made.thing


def _ended(desk: _StatedTags, stretch: _TagStretch) -> Iterator[Entry]:
    """Each fact holds until the next stretch begins."""
    heir = None if stretch.ends is None else _heir(desk, stretch.ends)
    for fact in stretch.facts:
        until = by = None
        if isinstance(fact, Fact):
            until, by = fact.until, fact.superseded_by
        if heir is not None and stretch.ends is not None:
            entry = superseded(fact, stretch.ends.moment.at, heir)
            if (until, by) != (entry.until, entry.superseded_by):
                yield entry
        elif by is not None and stretch.ends is None:
            yield FactResumed(fact_id=fact.id, fallen=by)


def _heir(desk: _StatedTags, change: TagChange) -> FactId | None:
    """The fact by which a stretch ends: of the tag that excludes it, else of the change itself."""
    begun = {one.tag: one for one in desk.new if one.holds and together(one.moment, change.moment)}
    excluding = excluded_by(change.tag, desk.view.policy.exclusive_tags, begun)
    rivals = [begun[tag] for tag in excluding] if not change.holds else []
    for one in (*rivals, change):
        for other, made in desk.made:
            if other.tag == one.tag and together(other.moment, one.moment):
                return FactId(made.thing.id)
        fact = newest_until(one, desk.stating(one.tag, holds=one.holds))
        if fact is not None and fact.id not in desk.fallen:
            return fact.id
    return None

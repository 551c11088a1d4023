"""Tag changes: what adding and removing state tags at a moment writes, whoever was there first.

A change takes its place between those that are canon: it ends what held until then, and holds
until the next one that speaks of it. So the order in which changes become canon makes no
difference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from canonry.domain.ids import FactId, NewId
from canonry.domain.judging.making import Backing, make_fact, make_observation, tag_statement
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import around, fact_for, told_of
from canonry.domain.log.entries import Entry, FactSuperseded, Made
from canonry.domain.merge.tag_set import TagChange
from canonry.domain.moments import Moment, split_at
from canonry.domain.observations import Observation
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Fact, FactDraft, FactType
from canonry.domain.time import Instant
from canonry.domain.vocabularies.narrative_fields import STATE_TAGS
from canonry.domain.vocabularies.state_tags import excluded_by


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsChanged:
    """The entries, and the facts that document what took effect; none: nothing did."""

    entries: tuple[Entry, ...] = ()
    begun: tuple[FactId, ...] = ()
    ended: tuple[FactId, ...] = ()
    known: tuple[FactId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _TagLine:
    """The changes of an entity's tags around a moment, and what is at hand to write them."""

    view: SliceView
    new_id: NewId
    backing: Backing
    entity: Entity
    moment: Moment
    before: list[TagChange]
    after: list[TagChange]
    fallen: frozenset[FactId]
    held: dict[str, TagChange] = field(default_factory=dict)

    def fact(self, tag: str, *, holds: bool, label: str | None = None) -> Made:
        return _stated(self, tag, self.backing, self.moment.at, holds=holds, label=label)

    def standing(self, tag: str, *, holds: bool) -> list[Fact]:
        """The facts that state this until the moment; what was retconned never was."""
        told = told_of(self.view, self.entity, tag, holds=holds)
        earlier, _later = split_at(self.moment, told, lambda fact: fact.moment)
        found = [fact for fact in earlier if fact.id not in self.fallen]
        return [fact for fact in found if self._reaches(fact) or fact is found[-1]]

    def _reaches(self, fact: Fact) -> bool:
        if fact.until is None or self.moment.at is None:
            return not fact.superseded
        return fact.until > self.moment.at

    def excluding(self, tag: str, others: Iterable[str]) -> list[str]:
        return excluded_by(tag, self.view.policy.exclusive_tags, others)

    def next_of(self, tag: str) -> TagChange | None:
        """The change after the moment with which the tag ceases, or begins anew."""
        for change in self.after:
            if change.tag == tag or (change.holds and self.excluding(tag, (change.tag,))):
                return change
        return None


def change_tags(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    entity: Entity,
    *,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    moment: Moment,
    fallen: Iterable[FactId] = (),
) -> TagsChanged:
    """What changes with these tags at `moment`; the facts `fallen` are retconned with it.

    A new tag takes the place of those that exclude it. One that holds already is confirmed.
    """
    before, after = around(entity, moment)
    last = {change.tag: change for change in before}
    held = {tag: change for tag, change in last.items() if change.holds}
    line = _TagLine(
        view=view,
        new_id=new_id,
        backing=backing,
        entity=entity,
        moment=moment,
        before=before,
        after=after,
        fallen=frozenset(fallen),
        held=held,
    )
    begun = sorted(set(add) - held.keys())
    again = sorted(set(add) & held.keys())
    gone = {other for tag in add for other in line.excluding(tag, held)} | set(remove)
    ended = sorted((gone & held.keys()) - set(add))
    known = [fact.id for tag in again if (fact := fact_for(view, entity, held[tag])) is not None]
    told_in_a_scene = moment.place.scene != 0
    if not begun and not ended and not (again and told_in_a_scene):
        return TagsChanged(known=tuple(known))
    fields = dict.fromkeys((*begun, *again), True) | dict.fromkeys(ended, False)
    seen = make_observation(
        new_id,
        backing,
        entity.id,
        {STATE_TAGS: dict(sorted(fields.items()))},
        observed_at=moment.at,
    )
    born = {tag: line.fact(tag, holds=True) for tag in begun}
    died = {tag: line.fact(tag, holds=False) for tag in ended}
    entries: list[Entry] = [seen, *born.values(), *died.values()]
    entries += _take_over(line, born, died)
    entries += _until_next(line, {**dict.fromkeys(again), **born}, died)
    return TagsChanged(
        entries=tuple(entries),
        begun=tuple(FactId(made.thing.id) for made in born.values()),
        ended=tuple(FactId(made.thing.id) for made in died.values()),
        known=tuple(known),
    )


def superseded(fact: FactDraft, until: Instant | None, by: FactId) -> FactSuperseded:
    """The entry that ends a fact; without a date where the one given is before the fact began."""
    backwards = until is not None and fact.time_ref is not None and until < fact.time_ref
    return FactSuperseded(fact_id=fact.id, until=None if backwards else until, superseded_by=by)


def _take_over(line: _TagLine, born: dict[str, Made], died: dict[str, Made]) -> Iterator[Entry]:
    """End the facts that held until now and state the opposite."""
    for tag, made in born.items():
        for old in line.standing(tag, holds=False):
            yield superseded(old, line.moment.at, FactId(made.thing.id))
    for tag, made in died.items():
        heirs = [born[other] for other in line.excluding(tag, born)]
        heir = heirs[0] if heirs else made
        for old in line.standing(tag, holds=True):
            yield superseded(old, line.moment.at, FactId(heir.thing.id))


def _until_next(
    line: _TagLine, begun: dict[str, Made | None], ended: dict[str, Made]
) -> Iterator[Entry]:
    """What the changes that come after this one make of it."""
    for tag, made in begun.items():
        change = line.next_of(tag)
        if change is None or (change.tag == tag and change.holds):
            continue
        if change.tag != tag:
            yield _ceases(line, tag, change)
        heir = fact_for(line.view, line.entity, change)
        if heir is not None and made is not None and isinstance(made.thing, FactDraft):
            yield superseded(made.thing, change.moment.at, heir.id)
    for tag, made in ended.items():
        change = line.next_of(tag)
        if change is not None and change.tag == tag and change.holds:
            yield from _anew(line, tag, change, made)


def _ceases(line: _TagLine, tag: str, change: TagChange) -> Made:
    """The tag ends where one begins that excludes it."""
    place = replace(line.backing, place=change.moment.place)
    return make_observation(
        line.new_id,
        place,
        line.entity.id,
        {STATE_TAGS: {tag: False}},
        label=f"until:{tag}",
        observed_at=change.moment.at,
    )


def _anew(line: _TagLine, tag: str, change: TagChange, ended: Made) -> Iterator[Entry]:
    """A tag that was confirmed later begins there anew, with a fact that says so."""
    known = fact_for(line.view, line.entity, change)
    seen = line.view.thing(change.observation)
    stated = known is not None and known.moment.place == change.moment.place
    fact: FactDraft | None = known
    if not stated and isinstance(seen, Observation):
        backing = replace(
            line.backing,
            authority=seen.authority,
            confidence=seen.confidence,
            evidence=seen.evidence,
            place=change.moment.place,
        )
        made = _stated(line, tag, backing, change.moment.at, holds=True, label=f"anew:{tag}")
        yield made
        fact = made.thing if isinstance(made.thing, FactDraft) else None
    if fact is not None and isinstance(ended.thing, FactDraft):
        yield superseded(ended.thing, change.moment.at, fact.id)


def _stated(
    line: _TagLine,
    tag: str,
    backing: Backing,
    at: Instant | None,
    *,
    holds: bool,
    label: str | None,
) -> Made:
    return make_fact(
        line.new_id,
        backing,
        label=label or f"fact:{tag}",
        statement=tag_statement(line.entity.name, tag, holds=holds),
        involved=(line.entity.id,),
        time_ref=at,
        fact_type=FactType.STATE,
        properties={"entity_id": line.entity.id, "tag": tag, "holds": holds},
    )

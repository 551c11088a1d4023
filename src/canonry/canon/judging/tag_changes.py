"""Tag changes: what adding and removing state tags at a moment writes, whoever was there first.

A change takes its place between those that are canon. Where a tag begins, those that it excludes
cease; the facts about the state follow from all changes in their order. So the order in which
changes become canon makes no difference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from canonry.canon.judging.making import Backing, make_observation
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import (
    TagHeld,
    changes_of,
    excluded_in,
    fact_for,
    held_at,
    together,
)
from canonry.canon.judging.tag_facts import TagFacts, facts_of_changes
from canonry.log.entries import Entry, Made
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.values.ids import FactId, NewId, ObservationId
from canonry.values.merge import TagChange, in_turn
from canonry.values.moments import Moment
from canonry.values.state_tags import excluded_by

_NEW = ObservationId("")
"""Stands for the observation that is being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsChanged:
    """The entries, and the facts that document what took effect; none: nothing did."""

    entries: tuple[Entry, ...] = ()
    begun: tuple[FactId, ...] = ()
    ended: tuple[FactId, ...] = ()
    known: tuple[FactId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pen:
    """What is at hand to write changes of an entity's tags."""

    view: SliceView
    new_id: NewId
    backing: Backing
    entity: Entity
    moment: Moment

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        return self.view.policy.exclusive_tags

    def change(self, tag: str, *, holds: bool, at: Moment | None = None) -> TagChange:
        return TagChange(tag=tag, holds=holds, moment=at or self.moment, observation=_NEW)

    def observed(self, changes: Iterable[TagChange]) -> Iterator[Made]:
        """One observation for each moment, of all tags that change at it."""
        moments: list[tuple[Moment, dict[str, bool]]] = []
        for change in changes:
            found = next((tags for at, tags in moments if together(at, change.moment)), None)
            if found is None:
                moments.append((change.moment, found := {}))
            found[change.tag] = change.holds
        for number, (at, tags) in enumerate(moments):
            yield make_observation(
                self.new_id,
                replace(self.backing, place=at.place) if number else self.backing,
                self.entity.id,
                {STATE_TAGS: dict(sorted(tags.items()))},
                label=f"observation:{number}" if number else "observation",
                observed_at=at.at,
            )


def change_tags(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    entity: Entity,
    *,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    moment: Moment,
    fallen: Iterable[TagHeld] = (),
) -> TagsChanged:
    """What changes with these tags at `moment`; those `fallen` are retconned with it.

    A new tag takes the place of those that exclude it. One that holds already is confirmed, and
    one that does not hold is denied, since an earlier change may come to light.
    """
    pen = _Pen(view=view, new_id=new_id, backing=backing, entity=entity, moment=moment)
    gone = tuple(fallen)
    held = held_at(entity, moment)
    begun = sorted(set(add) - held.keys())
    again = sorted(set(add) & held.keys())
    rivals = {other for tag in add for other in excluded_by(tag, pen.groups, held)}
    ended = sorted((held.keys() & {*rivals, *remove}) - set(add))
    known = [fact.id for tag in again if (fact := fact_for(view, entity, held[tag])) is not None]
    if not begun and not ended and not moment.place.scene:
        return TagsChanged(known=tuple(known))
    denied = (set(remove) - held.keys()) if moment.place.scene else set[str]()
    said = [
        *(pen.change(tag, holds=True) for tag in (*begun, *again)),
        *(pen.change(tag, holds=False) for tag in (*ended, *sorted(denied))),
        *(
            pen.change(one.tag, holds=False, at=one.change.moment)
            for one in gone
            if not together(one.change.moment, moment)
        ),
    ]
    old = changes_of(entity)
    kept = [one for one in old if all(one != each.change for each in gone)]
    said += excluded_in(in_turn((*kept, *said)), pen.groups)
    facts = facts_of_changes(
        view,
        new_id,
        backing,
        entity,
        old=old,
        new=in_turn((*kept, *said)),
        fallen={fact for one in gone for fact in one.facts},
    )
    entries: list[Entry] = [*pen.observed(said), *facts.entries]
    return TagsChanged(
        entries=tuple(entries),
        begun=_made_at(facts, moment, begun, holds=True),
        ended=_made_at(facts, moment, ended, holds=False),
        known=tuple(known),
    )


def _made_at(
    facts: TagFacts, moment: Moment, tags: Iterable[str], *, holds: bool
) -> tuple[FactId, ...]:
    return tuple(
        fact_id
        for tag in tags
        for change, fact_id in facts.made
        if (change.tag, change.holds) == (tag, holds) and together(change.moment, moment)
    )

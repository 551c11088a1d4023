"""Undone tags: when a tag never held, what it had displaced holds on, and the facts follow."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from canonry.canon.judging.making import Backing, make_observation
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import (
    TagHeld,
    changes_of,
    excluded_in,
    held_at,
    together,
    told_of,
)
from canonry.canon.judging.tag_facts import facts_of_changes
from canonry.log.entries import Entry, FactRetconned, Made
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.values.ids import EntityId, FactId, NewId
from canonry.values.merge import TagChange, in_turn
from canonry.values.observations import Observation
from canonry.values.state_tags import excluded_by


def undone(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    entity: Entity,
    held: TagHeld,
    *,
    label: str,
    reason: str,
    instead: str | None = None,
) -> tuple[Entry, ...]:
    """What is written where a tag, however often it was said, never held; `instead` it was this."""
    old = changes_of(entity)
    gone = said_until(old, held.change)
    kept = [one for one in old if one not in gone]
    entries: list[Entry] = []
    said: list[TagChange] = []
    for number, change in enumerate(gone):
        others = [one for one in kept if together(one.moment, change.moment) and not one.holds]
        displaced = excluded_by(held.tag, view.policy.exclusive_tags, (o.tag for o in others))
        kept = [one for one in kept if one not in others or one.tag not in displaced]
        back = [tag for tag in displaced if _held_before(kept, tag, change)]
        tags = {held.tag: False, **dict.fromkeys(back, True)}
        if instead is not None and not number and instead not in back:
            tags |= _set(view, entity, change, instead, {*back} | {held.tag})
        said += [replace(change, tag=tag, holds=holds) for tag, holds in tags.items()]
        own, named = _bearer(view, entity, change), f"{label}:{number}" if number else label
        whose = {one.tag: _bearer(view, entity, one) for one in others}
        never = _never_true(view, entity, held, change, [tag for tag in back if tags[tag]])
        entries += [
            *_observed_of(new_id, backing, change, tags, whose=whose, own=own, label=named),
            *(FactRetconned(fact_id=one, replaced_by=None, reason=reason) for one in never),
        ]
    more = excluded_in(in_turn((*old, *said)), view.policy.exclusive_tags)
    entries += [
        _observed(
            new_id,
            backing,
            one,
            _bearer(view, entity, one),
            {one.tag: False},
            label=f"{label}:ends:{number}",
        )
        for number, one in enumerate(more)
    ]
    retconned = (one.fact_id for one in entries if isinstance(one, FactRetconned))
    facts = facts_of_changes(
        view,
        new_id,
        backing,
        entity,
        old=old,
        new=in_turn((*old, *said, *more)),
        fallen=(*held.facts, *retconned),
    )
    return (*entries, *facts.entries)


def _bearer(view: SliceView, entity: Entity, change: TagChange) -> EntityId:
    """Of whom a change was told, who may have become the entity since."""
    seen = view.thing(change.observation) if change.observation else None
    return seen.entity_id if isinstance(seen, Observation) else entity.id


def _observed_of(
    new_id: NewId,
    backing: Backing,
    change: TagChange,
    tags: dict[str, bool],
    *,
    whose: Mapping[str, EntityId],
    own: EntityId,
    label: str,
) -> Iterator[Made]:
    """One observation for each of whom it is said: a tag that is back was theirs before."""
    for number, bearer in enumerate(dict.fromkeys((own, *whose.values()))):
        theirs = {tag: holds for tag, holds in tags.items() if whose.get(tag, own) == bearer}
        named = f"{label}:of:{number}" if number else label
        if theirs:
            yield _observed(new_id, backing, change, bearer, theirs, label=named)


def _observed(
    new_id: NewId,
    backing: Backing,
    change: TagChange,
    entity_id: EntityId,
    tags: dict[str, bool],
    *,
    label: str,
) -> Made:
    """The observation of what changes at the moment of a change."""
    return make_observation(
        new_id,
        replace(backing, place=change.moment.place),
        entity_id,
        {STATE_TAGS: tags},
        label=label,
        observed_at=change.moment.at,
    )


def _set(
    view: SliceView, entity: Entity, change: TagChange, tag: str, changed: set[str]
) -> dict[str, bool]:
    """What a tag that held from then on makes of the state, beside those that change anyhow."""
    standing = {*held_at(entity, change.moment), *changed}
    rivals = excluded_by(tag, view.policy.exclusive_tags, standing)
    return {**dict.fromkeys(rivals, False), tag: True}


def _never_true(
    view: SliceView, entity: Entity, held: TagHeld, change: TagChange, back: list[str]
) -> list[FactId]:
    """The facts that said so at that moment, and those that denied what holds on."""
    said = [
        fact
        for fact in told_of(view, entity, held.tag, holds=True)
        if together(fact.moment, change.moment)
    ]
    denials = [
        fact
        for tag in back
        for fact in told_of(view, entity, tag, holds=False)
        if fact.moment.place == change.moment.place
    ]
    return [fact.id for fact in (*said, *denials) if fact.id not in held.facts]


def said_until(changes: Sequence[TagChange], last: TagChange) -> list[TagChange]:
    """The changes that say so one after the other, until the last of them."""
    run: list[TagChange] = []
    for one in changes:
        if one.tag == last.tag:
            run = [*run, one] if one.holds else []
        if one == last:
            break
    return run


def _held_before(kept: list[TagChange], tag: str, change: TagChange) -> bool:
    ordered = in_turn((*kept, change))
    before = [one for one in ordered[: ordered.index(change)] if one.tag == tag]
    return bool(before) and before[-1].holds

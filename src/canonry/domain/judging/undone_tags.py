"""Undone tags: when a tag never held, what it had displaced holds on, and the facts follow."""

from dataclasses import replace

from canonry.domain.ids import NewId
from canonry.domain.judging.making import Backing, make_observation
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import TagHeld, changes_of, together, told_of
from canonry.domain.judging.tag_facts import facts_of_changes
from canonry.domain.log.entries import Entry, FactRetconned
from canonry.domain.merge.tag_set import TagChange, in_turn
from canonry.domain.things.entities import Entity
from canonry.domain.vocabularies.narrative_fields import STATE_TAGS
from canonry.domain.vocabularies.state_tags import excluded_by


def undone(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    entity: Entity,
    held: TagHeld,
    *,
    label: str,
    reason: str,
) -> tuple[Entry, ...]:
    """What is written where a tag, however often it was said, never held."""
    old = changes_of(entity)
    gone = _said(old, held.change)
    kept = [one for one in old if one not in gone]
    entries: list[Entry] = []
    said: list[TagChange] = []
    for number, change in enumerate(gone):
        others = [one for one in kept if together(one.moment, change.moment) and not one.holds]
        displaced = excluded_by(held.tag, view.policy.exclusive_tags, (o.tag for o in others))
        kept = [one for one in kept if one not in others or one.tag not in displaced]
        back = [tag for tag in displaced if _held_before(kept, tag, change)]
        tags = {held.tag: False, **dict.fromkeys(back, True)}
        said += [replace(change, tag=tag, holds=holds) for tag, holds in tags.items()]
        observed = make_observation(
            new_id,
            replace(backing, place=change.moment.place),
            entity.id,
            {STATE_TAGS: tags},
            label=f"{label}:{number}" if number else label,
            observed_at=change.moment.at,
        )
        entries.append(observed)
        entries += [
            FactRetconned(fact_id=denial.id, replaced_by=None, reason=reason)
            for tag in back
            for denial in told_of(view, entity, tag, holds=False)
            if denial.moment.place == change.moment.place
        ]
    facts = facts_of_changes(
        view,
        new_id,
        backing,
        entity,
        old=old,
        new=in_turn((*kept, *said)),
        fallen=(
            *held.facts,
            *(one.fact_id for one in entries if isinstance(one, FactRetconned)),
        ),
    )
    return (*entries, *facts.entries)


def _said(changes: list[TagChange], last: TagChange) -> list[TagChange]:
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

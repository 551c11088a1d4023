"""gate:state-tags-exclusive - of the tags that exclude each other at most one holds at a time.

A later change takes over from the tag that held until then, and an earlier one holds until the
next; two that were told with the same time contradict each other.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EntityContent, StateChangeContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.known_things import known_as
from canonry.canon.judging.relation_lines import opposed_tags
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import (
    as_held,
    authority_of,
    changes_of,
    conflicts_of,
    held_at,
    tag_held,
)
from canonry.log.items.entities import Entity
from canonry.values.merge import TagChange
from canonry.values.moments import Moment, at_once
from canonry.values.state_tags import excluded_by


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    match candidate.content:
        case EntityContent(state_tags=tags) as content:
            yield from _among_themselves(tags, view)
            known = known_as(candidate, content, view) if tags else None
            if known is not None:
                yield from _against_held(candidate, known, tags, (), view)
        case StateChangeContent() as content:
            yield from _among_themselves(content.add, view)
            entity = view.entity(content.entity)
            if entity is not None:
                yield from _against_held(candidate, entity, content.add, content.remove, view)
        case _:
            return


def _among_themselves(tags: tuple[str, ...], view: SliceView) -> Iterator[Objection]:
    opposed = opposed_tags(tags, view.policy.exclusive_tags)
    if opposed is not None:
        rationale = f"{opposed[0]} and {opposed[1]} cannot hold at once"
        yield Objection(weight=Weight.REFUSES, rationale=rationale)


def _against_held(
    candidate: Candidate,
    entity: Entity,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    view: SliceView,
) -> Iterator[Objection]:
    add, remove = as_held(entity, add), as_held(entity, remove)
    now, groups = candidate.moment, view.policy.exclusive_tags
    held = held_at(entity, now)
    told_then = {
        one.tag: one for one in changes_of(entity) if one.holds and at_once(now, one.moment)
    }
    removed = held.keys() & set(remove)
    beginning = [tag for tag in add if tag not in held]
    against = {rival: tag for tag in beginning for rival in excluded_by(tag, groups, told_then)}
    for rival, tag in sorted(against.items()):
        if rival not in removed:
            yield _objection(view, entity, now, told_then[rival], by=tag)
    staying = held.keys() - removed - against.keys()
    ended = {rival: tag for tag in beginning for rival in excluded_by(tag, groups, staying)}
    for rival, tag in sorted(ended.items()):
        yield _objection(view, entity, now, held[rival], by=tag)
    for tag in sorted(removed):
        yield _objection(view, entity, now, held[tag])


def _objection(
    view: SliceView, entity: Entity, now: Moment, change: TagChange, *, by: str | None = None
) -> Objection:
    """That a tag ends by another one, or with it contradicts it; None: it is all that is said."""
    held = tag_held(view, entity, change)
    weight = Weight.ENDS if by is None else Weight.SUPERSEDES
    if by is not None and at_once(now, change.moment):
        weight = Weight.CONTRADICTS
    return Objection(
        weight=weight,
        rationale=_said(entity.name, change.tag, by, later=weight is Weight.SUPERSEDES),
        conflicts=conflicts_of(held),
        rivals=(held,),
        authority=authority_of(view, entity, change, now),
    )


def _said(name: str, rival: str, tag: str | None, *, later: bool) -> str:
    if tag is None:
        return f"{name} was {rival} until then"
    if later:
        return f"{name} was {rival} until it became {tag}"
    return f"{name} is {rival} at that time, which excludes {tag}"


GATE: Final = Gate(id="gate:state-tags-exclusive", examine=_examine)

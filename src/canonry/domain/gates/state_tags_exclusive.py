"""gate:state-tags-exclusive - of the tags that exclude each other at most one holds at a time.

A later change takes over from the tag that held until then, and an earlier one holds until the
next; two that were told with the same time contradict each other.
"""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import EntityContent, StateChangeContent
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import (
    authority_of,
    changes_of,
    conflicts_of,
    held_at,
    tag_held,
)
from canonry.domain.merge.tag_set import TagChange
from canonry.domain.moments import at_once
from canonry.domain.things.entities import Entity
from canonry.domain.vocabularies.state_tags import excluded_by


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    match candidate.content:
        case EntityContent(state_tags=tags):
            yield from _among_themselves(tags, view)
        case StateChangeContent() as content:
            yield from _among_themselves(content.add, view)
            yield from _against_held(candidate, content, view)
        case _:
            return


def _among_themselves(tags: tuple[str, ...], view: SliceView) -> Iterator[Objection]:
    for tag in tags if len(tags) > 1 else ():
        others = excluded_by(tag, view.policy.exclusive_tags, tags)
        if others:
            rationale = f"{tag} and {others[0]} cannot hold at once"
            yield Objection(weight=Weight.REFUSES, rationale=rationale)
            return


def _against_held(
    candidate: Candidate, content: StateChangeContent, view: SliceView
) -> Iterator[Objection]:
    entity = view.entity(content.entity)
    if entity is None:
        return
    now, groups = candidate.moment, view.policy.exclusive_tags
    held = held_at(entity, now)
    told_then = {
        one.tag: one for one in changes_of(entity) if one.holds and at_once(now, one.moment)
    }
    removed = held.keys() & set(content.remove)
    beginning = [tag for tag in content.add if tag not in held]
    against = {rival: tag for tag in beginning for rival in excluded_by(tag, groups, told_then)}
    for rival, tag in sorted(against.items()):
        if rival not in removed:
            yield _objection(view, entity, told_then[rival], tag, Weight.CONTRADICTS)
    staying = held.keys() - removed - against.keys()
    ended = {rival: tag for tag in beginning for rival in excluded_by(tag, groups, staying)}
    for rival, tag in sorted(ended.items()):
        yield _objection(view, entity, held[rival], tag, Weight.SUPERSEDES)
    for tag in sorted(removed):
        yield _objection(view, entity, held[tag], None, Weight.ENDS)


def _objection(
    view: SliceView, entity: Entity, change: TagChange, tag: str | None, weight: Weight
) -> Objection:
    held = tag_held(view, entity, change)
    return Objection(
        weight=weight,
        rationale=_said(entity.name, change.tag, tag, later=weight is Weight.SUPERSEDES),
        conflicts=conflicts_of(held),
        rivals=(held,),
        authority=authority_of(view, entity, change),
    )


def _said(name: str, rival: str, tag: str | None, *, later: bool) -> str:
    if tag is None:
        return f"{name} was {rival} until then"
    if later:
        return f"{name} was {rival} until it became {tag}"
    return f"{name} is {rival} at that time, which excludes {tag}"


GATE: Final = Gate(id="gate:state-tags-exclusive", examine=_examine)

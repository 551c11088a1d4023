"""Undone tags: when a tag is retconned, the tags that it had replaced hold again."""

from collections.abc import Mapping
from dataclasses import dataclass

from canonry.domain.judging.making import tag_statement
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import TagHeld, displaced_by
from canonry.domain.log.entries import Entry, FactResumed, FactRetconned
from canonry.domain.things.entities import Entity
from canonry.domain.vocabularies.state_tags import excluded_by


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneTag:
    """The tags that cease and the tags that hold again, and the changed facts of the latter."""

    tags: Mapping[str, bool]
    entries: tuple[Entry, ...] = ()


def undone(view: SliceView, entity: Entity, held: TagHeld, *, reason: str) -> UndoneTag:
    """What retconning the tag, and the facts that document it, changes besides."""
    groups = view.policy.exclusive_tags
    back = excluded_by(held.tag, groups, displaced_by(entity, held.change))
    entries: list[Entry] = []
    for other in back:
        for denial in view.stating(tag_statement(entity.name, other, holds=False)):
            if denial.moment.place == held.change.moment.place:
                fallen = FactRetconned(fact_id=denial.id, replaced_by=None, reason=reason)
                entries.append(fallen)
        ended = view.stating(tag_statement(entity.name, other, holds=True))
        entries += [
            FactResumed(fact_id=old.id, fallen=fact_id)
            for old in ended
            for fact_id in held.facts
            if old.superseded_by == fact_id
        ]
    return UndoneTag(tags={held.tag: False, **dict.fromkeys(back, True)}, entries=tuple(entries))

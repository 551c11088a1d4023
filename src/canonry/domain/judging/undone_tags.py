"""Undone tags: when a tag is retconned, the tags that it had replaced hold again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from canonry.domain.judging.making import tag_statement
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import TagHeld
from canonry.domain.log.entries import Entry, FactResumed, FactRetconned
from canonry.domain.observations import Observation
from canonry.domain.things.entities import Entity
from canonry.domain.vocabularies.narrative_fields import STATE_TAGS
from canonry.domain.vocabularies.state_tags import excluded_by


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneTag:
    """The tags that cease and the tags that hold again, and the changed facts of the latter."""

    tags: Mapping[str, bool]
    entries: tuple[Entry, ...] = ()


def displaced(
    entity: Entity, seen: Observation, tag: str, groups: Iterable[tuple[str, ...]]
) -> list[str]:
    """The tags that the observation `seen` ended when `tag` began, and that none changed since.

    Only tags that `tag` excludes: they ended for no other reason.
    """
    gone = [
        other
        for other, holds in seen.fields.get(STATE_TAGS, {}).items()
        if not holds and entity.provenance.get(f"{STATE_TAGS}.{other}") == seen.id
    ]
    return excluded_by(tag, groups, gone)


def undone(view: SliceView, entity: Entity, held: TagHeld, *, reason: str) -> UndoneTag:
    """What retconning the tag, and the facts that document it, changes besides."""
    origin = entity.provenance.get(f"{STATE_TAGS}.{held.tag}")
    seen = None if origin is None else view.thing(origin)
    if not isinstance(seen, Observation):
        return UndoneTag(tags={held.tag: False})
    back = displaced(entity, seen, held.tag, view.policy.exclusive_tags)
    entries: list[Entry] = []
    for other in back:
        for denial in view.stating(tag_statement(entity.name, other, holds=False)):
            if denial.position == seen.position:
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

"""Statements of tags: what a sentence says of a state.

Who says in words that somebody is dead says the same as who changes their state.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import FactContent, StateChangeContent
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import changes_of
from canonry.language.texts.sentences import plain_statement
from canonry.language.texts.written_names import is_part_of
from canonry.log.items.entities import Entity, EntityClass
from canonry.values.json_values import folded
from canonry.values.state_tags import normal_tag

_ANEW: Final = frozenset({"again", "now", "still"})
"""Words that say of a state when, and not which."""


def stated_tag(
    statement: str, entity: Entity, groups: Iterable[tuple[str, ...]]
) -> tuple[str, bool] | None:
    """The tag that a statement says of the entity, as far as it is known as a tag, and whether so.

    Known are the tags of `groups`, and those that the entity has or had.
    """
    subject, verb, said = folded(statement).rstrip(" .!").rpartition(" is ")
    if not verb or entity.entity_class is EntityClass.ARCHETYPE:
        return None
    if not _names(plain_statement(subject), entity):
        return None
    words = said.split()
    holds = words[:2] != ["no", "longer"]
    tag = " ".join(word for word in words[0 if holds else 2 :] if word not in _ANEW)
    known = {normal_tag(one): one for group in groups for one in group}
    known |= {normal_tag(one.tag): one.tag for one in changes_of(entity)}
    return (known[tag], holds) if tag in known else None


def _names(subject: str, entity: Entity) -> bool:
    """Whether the subject of a statement about this entity alone is it, by its name or a part."""
    names = entity.known_as
    return subject in map(plain_statement, names) or any(is_part_of(subject, n) for n in names)


def as_state(candidate: Candidate, view: SliceView) -> Candidate:
    """The candidate; a fact that says no more than that a tag holds is a change of that state."""
    content = candidate.content
    if not isinstance(content, FactContent) or len(set(content.involved)) != 1:
        return candidate
    entity = view.entity(content.involved[0])
    if entity is None or content.replaces or content.duration is not None or content.properties:
        return candidate
    stated = stated_tag(content.statement, entity, view.policy.exclusive_tags)
    if stated is None:
        return candidate
    tag, holds = stated
    add, remove = ((tag,), ()) if holds else ((), (tag,))
    change = StateChangeContent(
        entity=content.involved[0], add=add, remove=remove, time_ref=content.time_ref
    )
    return replace(candidate, content=change)

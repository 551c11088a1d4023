"""gate:actor-alive - the dead do nothing after their death.

That they are involved is only told, and so is what the words of a fact let them do.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EventContent, FactContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import authority_of, conflicts_of, held_at, tag_held
from canonry.language.clauses.frames import Standing, words_of
from canonry.language.clauses.keys import stems_in
from canonry.language.clauses.reading import frames_of
from canonry.language.clauses.tokens import lemma
from canonry.language.words.frame_words import RESTING
from canonry.log.items.entities import Entity
from canonry.values.moments import same_scene
from canonry.values.state_tags import DEAD


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, EventContent | FactContent):
        return
    for reference in content.involved:
        entity = view.entity(reference)
        if entity is not None:
            yield from _of(candidate, content, entity, view, acts=reference in content.actors)


def _of(
    candidate: Candidate,
    content: EventContent | FactContent,
    entity: Entity,
    view: SliceView,
    *,
    acts: bool,
) -> Iterator[Objection]:
    now = candidate.moment
    for tag, change in held_at(entity, now).items():
        if tag.casefold() not in DEAD or same_scene(now, change.moment):
            continue
        if isinstance(content, FactContent) and not (acts or _is_told_to_act(content, entity)):
            continue
        held = tag_held(view, entity, change)
        involved = isinstance(content, EventContent) and not acts
        verb = "is involved in it" if involved else "acts in it"
        yield Objection(
            weight=Weight.CONTRADICTS if acts else Weight.WARNS,
            rationale=f"{entity.name} {verb} but is {tag} then",
            conflicts=conflicts_of(held),
            rivals=(held,) if acts else (),
            authority=authority_of(view, entity, change, now),
        )


def _is_told_to_act(content: FactContent, entity: Entity) -> bool:
    """Whether the words of a fact let the entity do something at the time that they speak of.

    What is told without a time and as past may be of their life.
    """
    named = stems_in(" ".join(sorted(entity.known_as)))
    return any(
        frame.verb not in _AT_REST
        and not (frame.negative or frame.modal or frame.standing is not Standing.TOLD)
        and (content.time_ref is not None or not (frame.past or frame.perfect))
        and bool(frame.subject)
        and words_of(frame.subject) <= named
        for frame in frames_of(content.statement)
    )


_AT_REST: Final = frozenset(("", "be", "have", *map(lemma, RESTING)))
"""Verbs of what the dead are and of what becomes of them."""

GATE: Final = Gate(id="gate:actor-alive", examine=_examine)

"""gate:state-tags-exclusive - of the tags that exclude each other at most one holds at a time.

A later change takes over from the tag that held; an earlier one, or one at the same instant,
contradicts it.
"""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import EntityContent, StateChangeContent
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import conflicts_of, origin_of, tag_held
from canonry.domain.things.moments import comes_after
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
    staying = [tag for tag in entity.state_tags if tag not in content.remove]
    beginning = [tag for tag in content.add if staying and tag not in entity.state_tags]
    rivals = {
        rival: tag
        for tag in beginning
        for rival in excluded_by(tag, view.policy.exclusive_tags, staying)
    }
    for rival, tag in sorted(rivals.items()):
        held = tag_held(view, entity, rival)
        began, authority = origin_of(view, entity, rival)
        later = comes_after(candidate.moment, began)
        yield Objection(
            weight=Weight.SUPERSEDES if later else Weight.CONTRADICTS,
            rationale=_said(entity.name, rival, tag, later=later),
            conflicts=conflicts_of(held),
            rivals=(held,),
            authority=authority,
        )


def _said(name: str, rival: str, tag: str, *, later: bool) -> str:
    if later:
        return f"{name} was {rival} until it became {tag}"
    return f"{name} is {rival} at that time, which excludes {tag}"


GATE: Final = Gate(id="gate:state-tags-exclusive", examine=_examine)

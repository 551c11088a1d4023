"""As of a scene: the items that hold at its story position and story time.

A scene, active or closed, stands at the end of its turns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from canonry.canon.judging.state_tags import held_at
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Scene, SceneStatus, place_in
from canonry.log.schemas.narrative import RELATION_TYPES
from canonry.recall.domain.context import is_promised
from canonry.values.moments import AFTER_ALL, Moment, split_at


def moment_of(scene: Scene) -> Moment:
    """Return the moment at the end of the scene's turns."""
    told = scene.changed_at if scene.status is SceneStatus.COMPLETED else AFTER_ALL
    return Moment(at=scene.time_ref, place=place_in(scene, None, told, dated=False))


def tags_at(moment: Moment, entity: Entity) -> tuple[str, ...]:
    """Return the state tags that hold at the moment, sorted."""
    return tuple(sorted(held_at(entity, moment)))


def events_until(moment: Moment, events: Iterable[Event]) -> list[Event]:
    """Return the events until the moment, the latest first."""
    return split_at(moment, events, lambda event: event.moment)[0][::-1]


def precedes(one: Scene, scene: Scene) -> bool:
    """Return whether `one` is earlier in its story than `scene`, and not later in story time."""
    if one.time_ref is not None and scene.time_ref is not None and one.time_ref > scene.time_ref:
        return False
    told, now = ((each.order, each.created_at, each.id) for each in (one, scene))
    return one.story_id == scene.story_id and told < now


def relations_at(moment: Moment, relations: Iterable[Relation]) -> list[Relation]:
    """Return the relations that hold at the moment, in the order of their start.

    A relation that ended later still holds: until its end, or until its successor began.
    """
    before, after = split_at(moment, relations, lambda one: one.moment)
    return [
        one
        for place, one in enumerate(before)
        if not one.ended or _reaches(one, moment, before[place + 1 :], after)
    ]


def _reaches(
    relation: Relation, moment: Moment, meanwhile: Sequence[Relation], after: Sequence[Relation]
) -> bool:
    """Return whether a relation that ended later still holds at the moment.

    If its successor or end is unknown, the next relation of its sequence ended it.
    """
    if any(_follows(each, relation) for each in meanwhile):
        return False
    if any(each.id == relation.superseded_by for each in (*meanwhile, *after)):
        return any(each.id == relation.superseded_by for each in after)
    if relation.until is not None and moment.at is not None:
        return relation.until > moment.at
    heir = next((each for each in after if _follows(each, relation)), None)
    return heir is not None and heir.since == relation.until


def _follows(later: Relation, one: Relation) -> bool:
    """Return whether `later` belongs to the sequence of relations that replace each other."""
    kind = RELATION_TYPES.get(one.rel_type)
    ends, ends_then = (later.from_id, later.to_id), (one.from_id, one.to_id)
    pair = ends == ends_then or (kind is not None and kind.symmetric and ends == ends_then[::-1])
    if later.rel_type != one.rel_type:
        return pair and kind is not None and later.rel_type in kind.excludes
    if kind is not None and kind.one_target and later.from_id == one.from_id:
        return True
    return pair or (kind is not None and kind.one_origin and later.to_id == one.to_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsThen:
    """The facts that hold at a moment, and the promised ones with a known start."""

    holding: Sequence[Fact] = ()
    promised: Sequence[Fact] = ()


def facts_at(moment: Moment, facts: Iterable[Fact], events: Iterable[Event]) -> FactsThen:
    """Return the facts at the moment; without a story time, the latest known one counts.

    A fact with a limited duration is included only if it is known to last still, because its start
    alone does not show how much time has passed.
    """
    before, after = split_at(moment, facts, lambda fact: fact.moment)
    later = {fact.id for fact in after}
    present = moment.at
    if present is None:
        lasting = (fact.time_ref for fact in before if fact.duration is None)
        times = [*lasting, *(event.time_ref for event in events)]
        present = max((each for each in times if each is not None), default=None)

    def holds(fact: Fact) -> bool:
        if fact.superseded and (fact.until is None or moment.at is None):
            return fact.superseded_by in later
        return fact.ends_at is None or (present is not None and present < fact.ends_at)

    return FactsThen(
        holding=[fact for fact in before if holds(fact)],
        promised=[fact for fact in after if is_promised(fact, moment.at)],
    )

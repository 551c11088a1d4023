"""As of a scene: what holds at its place in the stories and its time in the world, and no later.

A scene that is not closed yet stands at the end of what was told in it; so does a closed one.
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
    """The end of the scene, as far as it has been played."""
    told = scene.changed_at if scene.status is SceneStatus.COMPLETED else AFTER_ALL
    return Moment(at=scene.time_ref, place=place_in(scene, None, told, dated=False))


def tags_at(moment: Moment, entity: Entity) -> tuple[str, ...]:
    """The state tags that hold then, in the order of their names."""
    return tuple(sorted(held_at(entity, moment)))


def events_until(moment: Moment, events: Iterable[Event]) -> list[Event]:
    """What had happened by then, the latest first."""
    return split_at(moment, events, lambda event: event.moment)[0][::-1]


def precedes(one: Scene, scene: Scene) -> bool:
    """Whether `one` comes before `scene`: told earlier in its story, and not later in the world."""
    if one.time_ref is not None and scene.time_ref is not None and one.time_ref > scene.time_ref:
        return False
    told, now = ((each.order, each.created_at, each.id) for each in (one, scene))
    return one.story_id == scene.story_id and told < now


def relations_at(moment: Moment, relations: Iterable[Relation]) -> list[Relation]:
    """Those that hold then, in the order in which they began.

    One that has ended since then still holds: until its time, or until what took over from it.
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
    """Whether a relation that has ended since had not ended by then, nor another taken over.

    Where nobody knows what took over from it or when, the next one of its line did.
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
    """Whether `later` is of the line of relations of which only one holds at a time."""
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
    """The facts that hold at a moment, and those of which it is said when they will begin."""

    holding: Sequence[Fact] = ()
    promised: Sequence[Fact] = ()


def facts_at(moment: Moment, facts: Iterable[Fact], events: Iterable[Event]) -> FactsThen:
    """What holds then; where the scene has no time, the latest one that was told counts.

    A fact that holds for a limited time is told only where it is known not to be over: its own
    beginning does not say how much time has passed.
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

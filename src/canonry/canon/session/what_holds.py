"""The states, relations, facts, events and scenes that hold at a viewpoint, from plain data.

A viewpoint is a story time, or a scene, which stands at the end of its turns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from canonry.log.commits import Position
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Scene, SceneStatus, position_in
from canonry.log.schemas.narrative import RELATION_TYPES, STATE_TAGS, policy_of
from canonry.values.attributes.table import attribute_of_relation, find_attribute
from canonry.values.merge_policies import accumulator_of, join_all
from canonry.values.moments import (
    AFTER_ALL,
    Instant,
    Moment,
    StoryPosition,
    split_at,
    with_story_times,
)
from canonry.values.observations import Accumulator, Observation
from canonry.values.provenance import CanonLevel
from canonry.values.statements import Modality

V = TypeVar("V", Fact, Relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewpoint:
    """The moment of a view, `at`, and the end of the record that it knows; None: now.

    `known_at` is a time of recording, `known` a log position of the space. `scene` is the scene
    that `at` is the moment of. A view of now has a `clock`, after which everything is planned;
    None: nobody knows the present.
    """

    at: Moment | None = None
    known_at: Instant | None = None
    known: Position | None = None
    scene: Scene | None = None
    clock: Instant | None = None

    @property
    def is_past(self) -> bool:
        """Return whether the view sees only items that were recorded until an earlier time."""
        return self.known_at is not None or self.known is not None

    def may_show(self, item: object) -> bool:
        """Return whether a read item holds or is planned; reading at a moment drops all others."""
        return self.at is not None or is_current(item, self.clock)

    def plans(self, item: object) -> bool:
        """Return whether a read item begins only after the present."""
        begin = getattr(item, "since", getattr(item, "time_ref", None))
        if begin is None or self.clock is None or begin <= self.clock:
            return False
        lasting = isinstance(item, Fact | Relation) and not holds_always(item)
        return lasting or isinstance(item, Event)


NOW = Viewpoint()


def is_current(item: object, clock: Instant | None = None) -> bool:
    """Return whether an item is neither retconned nor ended, or ends only after the `clock`."""
    match item:
        case Fact() | Relation() | Event() if item.level is CanonLevel.RETCONNED:
            return False
        case Fact(was_called_off=True):
            return False
        case Fact(until=int(until)) | Relation(until=int(until)) if clock and until > clock:
            return True
        case Fact(superseded=over) | Relation(ended=over):
            return not over
        case _:
            return True


def moment_at(at: Instant) -> Moment:
    """Return the moment of a story time, after all that was stated of it."""
    return Moment(at=at, position=StoryPosition(told=AFTER_ALL))


def moment_of(scene: Scene) -> Moment:
    """Return the moment at the end of the scene's turns."""
    told_at = scene.changed_at if scene.status is SceneStatus.COMPLETED else AFTER_ALL
    return Moment(at=scene.time_ref, position=position_in(scene, None, told_at, dated=False))


def is_before(one: Scene, scene: Scene) -> bool:
    """Return whether `one` is earlier in its story than `scene`, and not later in story time."""
    if one.time_ref is not None and scene.time_ref is not None and one.time_ref > scene.time_ref:
        return False
    first_key, now = ((each.order, each.created_at, each.id) for each in (one, scene))
    return one.story_id == scene.story_id and first_key < now


def is_later(one: Scene, view: Viewpoint) -> bool:
    """Return whether a scene begins after the viewpoint."""
    if view.scene is not None and one.story_id == view.scene.story_id:
        return one.id != view.scene.id and not is_before(one, view.scene)
    at = None if view.at is None else view.at.at
    return at is not None and one.time_ref is not None and one.time_ref > at


def events_until(moment: Moment, events: Iterable[Event]) -> list[Event]:
    """Return the events until the moment, the latest first."""
    return split_at(moment, events, lambda event: event.moment)[0][::-1]


def relations_at(moment: Moment, statements: Iterable[Any]) -> list[Relation]:
    """Return the relations that hold at the moment, in the order of their start.

    A relation that ended later still holds: until its end, or until its successor began. The
    successor may be an item of another form, which is found among the `statements`.
    """
    before, after, later = _split_statements(Relation, moment, statements)
    return [
        one
        for index, one in enumerate(before)
        if not one.ended or _still_holds(one, moment, before[index + 1 :], after, later)
    ]


def _split_statements(
    form: type[V], moment: Moment, statements: Iterable[Any]
) -> tuple[list[V], list[V], dict[str | None, bool]]:
    """Return the items of a form before and after the moment, and which statements begin later.

    All forms have one order: a fact without a time may follow a relation with one.
    """
    every: dict[str, Fact | Relation] = {
        each.id: each for each in statements if isinstance(each, Fact | Relation)
    }
    changing = [each for each in every.values() if not holds_always(each)]
    before, after = split_at(moment, changing, lambda one: one.moment)
    before[:0] = filter(holds_always, every.values())
    later: dict[str | None, bool] = dict.fromkeys((each.id for each in before), False)
    later |= dict.fromkeys((each.id for each in after), True)
    own, own_after = ([e for e in some if isinstance(e, form)] for some in (before, after))
    return own, own_after, later


def holds_always(item: Fact | Relation) -> bool:
    """Return whether all that an item says holds at every time, as a birthplace does."""
    if isinstance(item, Relation):
        return attribute_of_relation(item.rel_type)[0].always
    statements = [one for one in item.statements if not one.implied]
    sure = (one.holds and one.modality is Modality.ASSERTED for one in statements)
    return (
        bool(statements)
        and all(sure)
        and all(find_attribute(one.attribute).always for one in statements)
    )


def _still_holds(
    relation: Relation,
    moment: Moment,
    meanwhile: Sequence[Relation],
    after: Sequence[Relation],
    later: Mapping[str | None, bool],
) -> bool:
    """Return whether a relation that ended later still holds at the moment.

    If its successor or end is unknown, the next relation of its sequence ended it.
    """
    if any(is_follower(each, relation) or each.id == relation.superseded_by for each in meanwhile):
        return False
    if relation.superseded_by in later:
        return later[relation.superseded_by]
    if relation.until is not None and moment.at is not None:
        return relation.until > moment.at
    successor = next((each for each in after if is_follower(each, relation)), None)
    return successor is not None and successor.since == relation.until


def is_follower(later: Relation, one: Relation) -> bool:
    """Return whether `later` belongs to the sequence of relations that replace each other."""
    kind = RELATION_TYPES.get(one.rel_type)
    ends, ends_then = (later.from_id, later.to_id), (one.from_id, one.to_id)
    pair = ends == ends_then or (kind is not None and kind.symmetric and ends == ends_then[::-1])
    if later.rel_type != one.rel_type:
        return pair and kind is not None and later.rel_type in kind.excludes
    if kind is not None and kind.one_target and later.from_id == one.from_id:
        return True
    return pair or (kind is not None and kind.one_origin and later.to_id == one.to_id)


def facts_at(moment: Moment, statements: Iterable[Any], events: Iterable[Event]) -> list[Fact]:
    """Return the facts at the moment; without a story time, the latest known one counts.

    A fact that ended at an unknown time holds until its successor, of whatever form, began.

    A fact with a limited duration is included only if it is known to last still, because its start
    alone does not show how much time has passed.
    """
    before, _, later = _split_statements(Fact, moment, statements)
    present = moment.at
    if present is None:
        lasting = (fact.time_ref for fact in before if fact.duration is None)
        times = [*lasting, *(event.time_ref for event in events)]
        present = max((each for each in times if each is not None), default=None)

    def fact_holds(fact: Fact) -> bool:
        if fact.superseded and (fact.until is None or moment.at is None):
            return later.get(fact.superseded_by, False)
        return fact.ends_at is None or (present is not None and present < fact.ends_at)

    return [fact for fact in before if fact_holds(fact)]


def is_promised(fact: Fact, instant: Instant | None) -> bool:
    """Return whether the fact begins after `instant`; without times it does not."""
    return instant is not None and fact.time_ref is not None and fact.time_ref > instant


def without_later_end(item: Any) -> Any:
    """Return a statement that holds at a moment, without an end at an unknown later time."""
    match item:
        case Relation(ended=True, until=None):
            return replace(item, ended=False, superseded_by=None)
        case Fact(until=None) if item.superseded_by is not None:
            return replace(item, superseded_by=None)
        case _:
            return item


# Entities: folded from the observations that held at a moment.


def entity_then(
    entity: Entity, known: Sequence[Observation], moment: Moment, *, by_story: bool = True
) -> Entity | None:
    """Return the entity as it was at a moment; None: nothing was stated of it until then."""
    if moment.position.scene:
        then = split_at(moment, known, lambda each: each.moment)[0]
    else:
        pairs = with_story_times(known, lambda each: each.moment)
        reached = any(when is not None and when <= (moment.at or 0) for when, _each in pairs)
        then = [
            each
            for index, (when, each) in enumerate(pairs)
            if moment.at is not None
            and _held_then(each, when, moment.at, first=index == 0, reached=reached)
        ]
    return fold_observations(entity, then, by_story=by_story) if then else None


def fold_observations(
    entity: Entity, then: Sequence[Observation], *, by_story: bool = True
) -> Entity:
    """Fold the observations: with `by_story` in story order, else the last recorded wins.

    In a world the last recorded value holds from its tick on; clocks only go forward.
    """
    by_schema = not by_story or any(each.schema_version is not None for each in then)
    accumulated: list[tuple[bool, Mapping[str, Any]]] = [
        (
            each.entity_id == entity.id,
            accumulator_of(each, policy_of) if by_schema else _rank_by_index(each, index),
        )
        for index, each in enumerate(then)
    ]
    own, absorbed = (
        join_all((fields for its_own, fields in accumulated if its_own is whose), policy_of)
        for whose in (True, False)
    )
    return replace(entity, own=own, absorbed=absorbed)


def _held_then(
    seen: Observation, when: Instant | None, at: Instant, *, first: bool, reached: bool
) -> bool:
    """Return whether an observation held at a time.

    Before the first known time, tags hold from their recording, or if the first known time was
    `reached`. The first known observation and corrected fields always held.
    """
    if when is not None:
        return when <= at
    return first or reached or STATE_TAGS not in seen.fields or seen.recorded_at <= at


def _rank_by_index(seen: Observation, index: int) -> Accumulator:
    """Return an observation's values; later observations in story order replace them."""
    return {
        name: {
            element: replace(held, rank=(*held.rank[:3], index, index))
            for element, held in elements.items()
        }
        for name, elements in accumulator_of(seen, policy_of).items()
    }

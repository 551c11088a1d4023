"""Get an entity as of a valid time or a transaction time."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from canonry.canon.judging.state_tags import changes_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import STATE_TAGS, policy_of
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import InvalidInput, NotFound, Unavailable
from canonry.values.ids import EntityId, SpaceId
from canonry.values.merge import accumulate, join_all
from canonry.values.moments import Instant, Moment, dated, split_at
from canonry.values.observations import Accumulator, Observation

PAGES_MAX: Final = 40


async def get_entity_as_of(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    *,
    at: Instant | None = None,
    known_at: Instant | None = None,
    known_position: Position | None = None,
) -> Entity:
    """Return the entity with the fields that held `at`, or that were recorded until `known_at`.

    `known_position` gives the transaction time as a log position. With both times, return the state
    at `at` as recorded until then.

    Raises:
        InvalidInput: `time.missing`, no time is given.
        NotFound: `entity.unknown`, or `entity.not-yet`, it did not exist then.
        Unavailable: `entity.too-long`, it has more observations than one call folds.
    """
    if at is None and known_at is None and known_position is None:
        message = "Give /at for a story time, or /as_known_at for a time of recording."
        raise InvalidInput("time.missing", message, path="/at")
    entity = await require(canon, caller, Entity, entity_id)
    until = known_position
    if until is None and known_at is not None:
        until = await canon.ledger.position_at(entity.space, known_at)
    if until is not None:
        known = await canon.within(entity.space).things_as_known_at((entity.id,), until)
        past = known.get(entity.id)
        if not isinstance(past, Entity):
            raise _not_yet(entity_id)
        entity = past
    return entity if at is None else await entity_at(canon, entity, at, until)


async def entity_at(
    canon: Canon,
    entity: Entity,
    at: Instant,
    until: Position | None = None,
    *,
    in_turn: bool = True,
) -> Entity:
    """Return the entity folded from the observations that held at `at`.

    Raises:
        NotFound: `entity.not-yet`.
        Unavailable: `entity.too-long`.
    """
    known = await _counting(canon, entity, until)
    told = dated(known, lambda each: each.moment)
    reached = any(when is not None and when <= at for when, _each in told)
    then = [
        each
        for place, (when, each) in enumerate(told)
        if _held(each, when, at, first=place == 0, reached=reached)
    ]
    if not then:
        raise _not_yet(entity.id)
    return _folded(entity, then, in_turn=in_turn)


async def told_until(
    canon: Canon, space: SpaceId, entities: Iterable[Entity], at: Instant
) -> frozenset[str]:
    """Return the ids of entities whose state at `at` equals the current one, with one query.

    All their observations began before and hold until then, and no later one changed them. The
    other entities must be folded.
    """
    behind = {each.id: _held_by(each) for each in entities}
    seen = await canon.within(space).things(frozenset[str]().union(*behind.values()))
    then = {
        each.id
        for each in _of_observations(seen.values())
        if each.observed_at is not None and each.observed_at <= at
    }
    return frozenset(name for name, held in behind.items() if held and held <= then)


def _held_by(entity: Entity) -> frozenset[str]:
    """Return the observations behind all current fields."""
    every = (*entity.own.values(), *entity.absorbed.values())
    return frozenset(held.observation for elements in every for held in elements.values())


async def entities_then(
    canon: Canon, space: SpaceId, entities: Sequence[Entity], moment: Moment
) -> Sequence[Entity]:
    """Return the entities with the names, descriptions and properties that they had at a moment.

    Entities without a statement until then are returned in their current state.

    Raises:
        Unavailable: `entity.too-long`.
    """
    behind = {each.id: frozenset(each.provenance.values()) for each in entities}
    seen = await canon.within(space).things(frozenset[str]().union(*behind.values()))
    later = {
        one.id
        for one in split_at(moment, _of_observations(seen.values()), lambda each: each.moment)[1]
    }
    found: list[Entity] = []
    for each in entities:
        then: Sequence[Observation] = ()
        if not later.isdisjoint(behind[each.id]):
            known = await _counting(canon, each, None)
            then = split_at(moment, known, lambda one: one.moment)[0]
        found.append(_folded(each, then) if then else each)
    return found


def _of_observations(things: Iterable[Thing]) -> list[Observation]:
    return [one for one in things if isinstance(one, Observation)]


async def _counting(canon: Canon, entity: Entity, until: Position | None) -> list[Observation]:
    """Return the entity's observations without retconned state changes."""
    seen = await _observations(canon, (entity.id, *entity.members))
    stands = {change.observation for change in changes_of(entity)}
    return [
        each
        for each in seen
        if (until is None or each.position <= until)
        and (each.fields.keys() != {STATE_TAGS} or each.id in stands)
    ]


def _folded(entity: Entity, then: Sequence[Observation], *, in_turn: bool = True) -> Entity:
    """Fold the observations: with `in_turn` in story order, else the last recorded wins.

    In a world the last recorded value holds from its tick on; clocks only go forward.
    """
    by_schema = not in_turn or any(each.schema_version is not None for each in then)
    said = [
        (
            each.entity_id == entity.id,
            accumulate(each, policy_of) if by_schema else _in_turn(each, place),
        )
        for place, each in enumerate(then)
    ]
    own, absorbed = (
        join_all((fields for its_own, fields in said if its_own is whose), policy_of)
        for whose in (True, False)
    )
    return replace(entity, own=own, absorbed=absorbed)


def _held(
    seen: Observation, when: Instant | None, at: Instant, *, first: bool, reached: bool
) -> bool:
    """Tell whether an observation held at a time.

    Before the first known time, an observation holds from its recording, or if the first known time
    was `reached`. The first known observation always held.
    """
    if when is not None:
        return when <= at
    return first or reached or seen.recorded_at <= at


def _in_turn(seen: Observation, place: int) -> Accumulator:
    """Return an observation's values; later observations in story order replace them."""
    return {
        name: {
            element: replace(held, rank=(*held.rank[:3], place, place))
            for element, held in elements.items()
        }
        for name, elements in accumulate(seen, policy_of).items()
    }


async def _observations(canon: Canon, ids: Sequence[EntityId]) -> list[Observation]:
    found: list[Observation] = []
    for _page in range(PAGES_MAX):
        page = await canon.state.observations_newest(ids, limit=PAGE_MAX, offset=len(found))
        found.extend(page.items)
        if len(found) >= page.total:
            return found
    message = "This entity has too many observations to merge in one call."
    raise Unavailable("entity.too-long", message, id=ids[0])


def _not_yet(entity_id: str) -> NotFound:
    message = "This entity did not exist then. Give a later time."
    return NotFound("entity.not-yet", message, kind="entity", id=entity_id)

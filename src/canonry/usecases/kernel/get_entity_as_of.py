"""Get an entity as of a time: as the world was then, or as the canon knew it then."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from canonry.domain.errors import InvalidInput, NotFound, Unavailable
from canonry.domain.ids import EntityId
from canonry.domain.log.commits import Position
from canonry.domain.merge import accumulate, join_all
from canonry.domain.moments import dated
from canonry.domain.observations import Observation
from canonry.domain.things.entities import Entity
from canonry.domain.time import Instant
from canonry.domain.vocabularies.narrative_fields import STATE_TAGS, policy_of
from canonry.ports.views.pages import PAGE_MAX
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require

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
    """The entity with the fields that held `at`, or that were recorded until `known_at`.

    `known_position` says the latter by a place in the log. With both, what was known then about
    that time.

    Raises:
        InvalidInput: `time.missing`, neither is given.
        NotFound: `entity.unknown`, or `entity.not-yet`, it did not exist then.
        Unavailable: `entity.too-long`, it has more observations than one call folds.
    """
    if at is None and known_at is None and known_position is None:
        message = "say when: /at in the world's time, or /as_known_at in the canon's"
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
    canon: Canon, entity: Entity, at: Instant, until: Position | None = None
) -> Entity:
    """The entity folded from what held at `at`.

    Raises:
        NotFound: `entity.not-yet`.
        Unavailable: `entity.too-long`.
    """
    seen = await _observations(canon, (entity.id, *entity.members))
    known = [each for each in seen if until is None or each.position <= until]
    told = dated(known, lambda each: each.moment)
    then = [each for place, (when, each) in enumerate(told) if _held(each, when, at, place)]
    if not then:
        raise _not_yet(entity.id)
    own = join_all((accumulate(each, policy_of) for each in then), policy_of)
    return replace(entity, own=own, absorbed={})


def _held(seen: Observation, when: Instant | None, at: Instant, place: int) -> bool:
    """Whether what an observation says held at a time.

    What has no time always held, but for changes of the state: those that come before any time is
    known count from when they were recorded, unless they are the first that is known.
    """
    if when is not None and (seen.observed_at is not None or STATE_TAGS in seen.fields):
        return when <= at
    changes_state = STATE_TAGS in seen.fields and place > 0
    return not changes_state or seen.recorded_at <= at


async def _observations(canon: Canon, ids: Sequence[EntityId]) -> list[Observation]:
    found: list[Observation] = []
    for _page in range(PAGES_MAX):
        page = await canon.state.observations_newest(ids, limit=PAGE_MAX, offset=len(found))
        found.extend(page.items)
        if len(found) >= page.total:
            return found
    message = "this entity has too many observations to be folded in one call"
    raise Unavailable("entity.too-long", message, id=ids[0])


def _not_yet(entity_id: str) -> NotFound:
    message = "this entity did not exist then; ask for a later time"
    return NotFound("entity.not-yet", message, kind="entity", id=entity_id)

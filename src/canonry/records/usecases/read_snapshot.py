"""Read a snapshot: an entity as it is shown now, as it was at an instant, or as it was known then.

`at` asks about what had been seen by then, in whatever order it became known; `known_at` asks about
what stood in the log by then. A merge counts from the instant at which it was recorded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.account import account_of, read_by, require_readable
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.commits import Position
from canonry.log.items.entities import NEVER_SEEN, Entity, Sightings
from canonry.log.schemas.narrative_fields import policy_of
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.sighting import seen_also
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.records.domain.shown import Shown, shown_by
from canonry.records.usecases.schemas_in_force import schema_of, schemas_for
from canonry.values.errors import Unavailable
from canonry.values.ids import EntityId
from canonry.values.merge import join_all
from canonry.values.observations import Observation
from canonry.values.revising import revised
from canonry.values.snapshots import Accumulator
from canonry.values.time import Instant

_PAGES_MAX: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRead:
    """An entity, folded from what counts, and how its schema of that time shows it."""

    entity: Entity
    schema: EntitySchema | None
    shown: Shown
    seen: Sightings
    first_seen: Instant | None
    computed_at: Instant


async def read_snapshot(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    *,
    at: Instant | None = None,
    known_at: Instant | None = None,
) -> SnapshotRead:
    """The snapshot; an instant before the first observation gives an empty one.

    Raises:
        NotFound: `entity.unknown`.
        Unavailable: `entity.too-long`, both instants are given and there is too much to fold.
    """
    (root,) = await require_readable(canon, caller, Entity, (entity_id,))
    then = root
    if at is not None or known_at is not None:
        then = await _back_then(canon, caller, entity_id, root, at=at, known_at=known_at)
    account = account_of(caller)
    schemas = await schemas_for(canon, account, (then,), at=at if at is not None else known_at)
    schema = schema_of(schemas, account, then)
    seen = then.observed
    asked = at if at is not None else known_at
    return SnapshotRead(
        entity=then,
        schema=schema,
        shown=shown_by(then, schema),
        seen=seen,
        first_seen=root.observed.first,
        computed_at=seen.last or asked or then.created_at,
    )


async def _back_then(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    root: Entity,
    *,
    at: Instant | None,
    known_at: Instant | None,
) -> Entity:
    until = min(each for each in (at, known_at) if each is not None)
    position = await canon.ledger.position_at(root.space, until)
    sight = canon.within(root.space)
    past = dict(await sight.things_as_known_at((entity_id, root.id), position))
    given = past.get(entity_id)
    moved = given.merged_into if isinstance(given, Entity) else None
    if moved is None:
        now = await read_by(canon, caller).thing(entity_id)
        owner = now if isinstance(now, Entity) else root
        before = given
    else:
        past |= await sight.things_as_known_at((moved,), position)
        owner, before = root, past.get(moved)
    members = before.members if isinstance(before, Entity) else ()
    if at is None:
        standing = before if isinstance(before, Entity) else None
        return standing or _blank(owner)
    if known_at is None:
        found = await canon.state.entities_seen_until((owner.id, *members), at)
        own = found.get(owner.id, _blank(owner))
        others = [found[each] for each in members if each in found]
        return revised(
            _blank(owner),
            own=own.own,
            sightings=own.sightings,
            members=members,
            absorbed=join_all((each.own for each in others), policy_of),
            absorbed_sightings=sum((each.sightings for each in others), NEVER_SEEN),
        )
    limit = await canon.ledger.position_at(root.space, known_at)
    return await _folded(canon, owner, members, at, limit)


def _blank(entity: Entity) -> Entity:
    """The entity before anything was said of it."""
    nothing: Accumulator = {}
    return revised(
        entity,
        own=nothing,
        absorbed=nothing,
        sightings=NEVER_SEEN,
        absorbed_sightings=NEVER_SEEN,
        members=(),
        merged_into=None,
    )


async def _folded(
    canon: Canon, owner: Entity, members: tuple[EntityId, ...], at: Instant, until: Position
) -> Entity:
    """The entity folded from what had been seen at one instant and was known at another."""
    counted = [
        each
        for each in await _observations(canon, (owner.id, *members))
        if each.position <= until and each.seen_at <= at
    ]
    return seen_also(_blank(owner), counted)


async def _observations(canon: Canon, ids: Iterable[EntityId]) -> list[Observation]:
    found: list[Observation] = []
    wanted = tuple(ids)
    for number in range(_PAGES_MAX):
        page = await canon.state.observations_newest(
            wanted, limit=PAGE_MAX, offset=number * PAGE_MAX
        )
        found += page.items
        if len(found) >= page.total:
            return found
    message = "this entity has too many observations to be folded in one call; ask by one instant"
    raise Unavailable("entity.too-long", message, id=wanted[0])

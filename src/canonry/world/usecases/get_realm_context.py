"""Get a realm's context: what lies around and in it, and how it stands to others at one tick."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import BELONGS_TO, WITHIN, Tie, WorldType
from canonry.readmodels.ticks import Tick
from canonry.values.ids import EntityId
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.ties_of import Tied, ties_of
from canonry.world.usecases.world_at import WorldAt, world_at

INSIDE_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmContext:
    """A realm at a tick; `around` has the nearest first.

    `inside` lies directly in it, and `members` are its own, both by name; `complete` False: there
    are more of either than are told.
    """

    tick: Tick
    realm: Entity
    around: Sequence[Entity]
    ties: Sequence[Tied]
    inside: Sequence[Entity]
    members: Sequence[Entity]
    complete: bool


async def get_realm_context(
    canon: Canon, world: BoundWorld, name: str, tick: Tick | None
) -> RealmContext | None:
    """The context of the realm with this id or key; None: there is no such realm."""
    then = world_at(canon, world, tick)
    realm = await then.find(then.id_of(name), WorldType.REALM)
    if realm is None:
        return None
    inside, all_inside = await _inward(then, WITHIN, realm.id, "")
    members, all_members = await _inward(then, BELONGS_TO, realm.id, Tie.MEMBER_OF)
    ties = await ties_of(then, (realm,))
    return RealmContext(
        tick=then.tick,
        realm=realm,
        around=await then.realms_of(realm.id),
        ties=ties.get(realm.id, ()),
        inside=inside,
        members=members,
        complete=all_inside and all_members,
    )


async def _inward(
    then: WorldAt, rel_type: str, realm: EntityId, kind: str
) -> tuple[Sequence[Entity], bool]:
    edges = await then.edges(rel_type, realm, outward=False, kinds=(kind,), limit=INSIDE_MAX + 1)
    ids = [edge.from_id for edge in edges[:INSIDE_MAX]]
    known = await then.all(ids, WorldType.REALM, WorldType.LOCATION)
    things = sorted(known.values(), key=lambda each: (each.name, each.id))
    return things, len(edges) <= INSIDE_MAX

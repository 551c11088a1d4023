"""Separating: taking a merge back returns whoever had been merged into the entity before it."""

from collections.abc import Sequence
from typing import Final

from canonry.domain.ids import EntityId
from canonry.domain.log.commits import Position
from canonry.domain.log.entries import EntitiesMerged, EntitiesUnmerged, Entry
from canonry.domain.log.keys import thing_key
from canonry.domain.things.entities import Entity
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change

_STEPS_MAX: Final = 100
"""So many merges of one chain are looked back on."""


async def separated(canon: Canon, gone: Entity, kept: Entity, reason: str) -> Change:
    """The change that makes `gone` its own entity again, with all that it brought into `kept`."""
    brought = await _brought(canon, gone, kept)
    apart = {gone.id, *brought}
    entries: list[Entry] = [
        EntitiesUnmerged(
            kept=kept.id,
            separated=gone.id,
            remaining=tuple(member for member in kept.members if member not in apart),
            reason=reason,
        )
    ]
    entries += (
        EntitiesMerged(kept=gone.id, merged=member, members=(), reason=reason) for member in brought
    )
    return Change(entries=tuple(entries), reads=frozenset(map(thing_key, (kept.id, *apart))))


async def _brought(canon: Canon, gone: Entity, kept: Entity) -> Sequence[EntityId]:
    """Whom `gone` answered for when it was last its own, as far as they are with `kept` still."""
    then, sight = gone, canon.within(gone.space)
    for _ in range(_STEPS_MAX):
        if then.merged_into is None:
            break
        before = Position(then.changed_at - 1)
        found = (await sight.things_as_known_at((gone.id,), before)).get(gone.id)
        if not isinstance(found, Entity):
            return ()
        then = found
    wanted = then.members if then.merged_into is None else ()
    return [member for member in wanted if member in kept.members]

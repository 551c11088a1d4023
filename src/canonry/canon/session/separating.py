"""Separating: taking a merge back returns whoever had been merged into the entity before it."""

from canonry.canon.session.commit_change import Change
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, Entry
from canonry.log.items.entities import Entity
from canonry.log.keys import thing_key


def separated(gone: Entity, kept: Entity, reason: str) -> Change:
    """The change that makes `gone` its own entity again, with all that it brought into `kept`."""
    brought = [member for member in gone.brought if member in kept.members]
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

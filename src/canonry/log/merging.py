"""Merging: who answers for whom; each keeps what was said of it, so that it can be taken back."""

from collections.abc import Iterable, Mapping
from typing import Any

from canonry.log.entries import EntitiesMerged, EntitiesUnmerged
from canonry.log.folding import Folding
from canonry.log.items.entities import NEVER_SEEN, Entity, EntityVeil
from canonry.log.items.veils import veiled
from canonry.log.schemas.narrative_fields import policy_of
from canonry.values.merge import join_all
from canonry.values.revising import revised


def merge(folding: Folding, entry: EntitiesMerged) -> None:
    """Let `kept` answer for `merged` and for its members."""
    joined = (entry.merged, *entry.members)

    def absorb(root: Entity) -> Mapping[str, Any]:
        members = tuple(sorted({*root.members, *joined}))
        return {"members": members, **absorbed_by(folding, joined, root)}

    def leave(entity: Entity) -> Mapping[str, Any]:
        # Who goes along with somebody else keeps those whom it brought itself.
        own = entity.id == entry.merged and entity.merged_into is None
        return {
            "merged_into": entry.kept,
            "brought": entry.members if own else entity.brought,
            "members": (),
            "absorbed": {},
            "absorbed_sightings": NEVER_SEEN,
            "veils": _of_own(entity),
        }

    folding.develop(entry.kept, Entity, absorb)
    for member in joined:
        folding.develop(member, Entity, leave)


def unmerge(folding: Folding, entry: EntitiesUnmerged) -> None:
    """Let `separated` be its own again; nobody who remains brings it along any more."""
    absorbed = absorbed_by(folding, entry.remaining)
    kept = folding.get(entry.kept)
    if isinstance(kept, Entity) and kept.veils:
        alone = revised(kept, veils=_of_own(kept))
        members = [e for e in map(folding.get, entry.remaining) if isinstance(e, Entity)]
        absorbed |= {"veils": alone.veils, **_absorbed_by_some(members, alone)}
    folding.change(entry.kept, Entity, members=entry.remaining, **absorbed)
    folding.change(entry.separated, Entity, merged_into=None, brought=())
    for member in entry.remaining:
        entity = folding.get(member)
        if isinstance(entity, Entity) and entry.separated in entity.brought:
            left = tuple(each for each in entity.brought if each != entry.separated)
            folding.change(member, Entity, brought=left)


def _of_own(entity: Entity) -> tuple[EntityVeil, ...]:
    """What only some know of the entity itself."""
    blank = {"absorbed": dict[str, Any](), "absorbed_sightings": NEVER_SEEN}
    return tuple(revised(veil, **blank) for veil in entity.veils)


def absorbed_by(
    folding: Folding, members: Iterable[str], root: Entity | None = None
) -> dict[str, Any]:
    """What `members` bring to a root, beside what it has absorbed already."""
    found = [e for e in map(folding.get, members) if isinstance(e, Entity)]
    before = (None, NEVER_SEEN) if root is None else (root.absorbed, root.absorbed_sightings)
    return {
        "absorbed": join_all((before[0] or {}, *(e.own for e in found)), policy_of),
        "absorbed_sightings": sum((e.sightings for e in found), before[1]),
        **_absorbed_by_some(found, root),
    }


def _absorbed_by_some(members: Iterable[Entity], root: Entity | None) -> dict[str, Any]:
    """What only some know of `members` comes to be known to them of the root."""
    told = [veil for member in members for veil in member.veils]
    if root is None or not told:
        return {}
    for veil in told:
        absorbed = {"absorbed": veil.own, "absorbed_sightings": veil.sightings}
        root = revised(root, veils=veiled(root, veil.audience, veil.at, **absorbed))
    return {"veils": root.veils}

"""Merge entities into one, and take that back; the log keeps both, so nothing is lost."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require, require_all, require_itself, require_same_space
from canonry.canon.session.separating import separated
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged
from canonry.log.items.entities import Entity
from canonry.log.keys import thing_key
from canonry.values.errors import Conflict
from canonry.values.ids import NewId


async def merge_entities(
    canon: Canon, caller: Caller, *, kept_id: str, merged_id: str, reason: str
) -> Entity:
    """Let the root of `kept_id` answer for the root of `merged_id` and for its members.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `entity.kind-mismatch`,
            `entity.other-audience` or `entity.already-merged`.
    """
    space = (await require(canon, caller, Entity, kept_id)).space

    async def prepare(new_id: NewId) -> Change:
        del new_id  # a merge makes nothing
        kept, merged = await require_all(canon, caller, Entity, (kept_id, merged_id))
        require_mergeable(kept, merged)
        entry = EntitiesMerged(
            kept=kept.id, merged=merged.id, members=merged.members, reason=reason
        )
        ids = (kept_id, merged_id, kept.id, merged.id, *kept.members, *merged.members)
        return Change(entries=(entry,), reads=frozenset(map(thing_key, ids)))

    await commit_change(canon, caller, space, prepare)
    return await require(canon, caller, Entity, kept_id)


def require_mergeable(kept: Entity, merged: Entity) -> None:
    """Refuse what cannot be one entity.

    Raises:
        Conflict: as `merge_entities`.
    """
    require_same_space(kept.space, [merged], path="/merged_entity_id")
    require_standing(kept, merged)
    ids = [kept.id, merged.id]
    if kept.id == merged.id:
        message = "the two are one entity already"
        raise Conflict("entity.already-merged", message, conflicts=[kept.id])
    if (kept.entity_class, kept.entity_type) != (merged.entity_class, merged.entity_type):
        message = "only entities of one class and type can be one"
        raise Conflict("entity.kind-mismatch", message, conflicts=ids)
    if kept.audience != merged.audience:
        message = (
            "these two are for different readers, and one entity is for the same; let both be for "
            "the same readers first"
        )
        raise Conflict("entity.other-audience", message, conflicts=ids)


async def unmerge_entities(
    canon: Canon, caller: Caller, separated_id: str, *, reason: str
) -> Entity:
    """Let `separated_id` be its own entity again; the entity that it had been merged into.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `entity.not-merged`.
    """
    root = await require(canon, caller, Entity, separated_id)

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        found = await require_itself(canon, caller, separated_id)
        if found.merged_into is None:
            message = "this entity was not merged into another; name the one that was"
            raise Conflict("entity.not-merged", message, conflicts=[separated_id])
        kept = await require(canon, caller, Entity, found.merged_into)
        return separated(found, kept, reason)

    receipt = await commit_change(canon, caller, root.space, prepare)
    kept = [e.kept for e in receipt.entries if isinstance(e, EntitiesUnmerged)]
    return await require(canon, caller, Entity, (*kept, root.id)[0])

"""Merge records: one of a user's entities answers for another, and that can be taken back."""

from dataclasses import dataclass

from canonry.domain.errors import Conflict, InvalidInput
from canonry.domain.ids import EntityId, NewId
from canonry.domain.log.entries import EntitiesMerged, EntitiesUnmerged
from canonry.domain.log.keys import thing_key
from canonry.domain.things.entities import Entity
from canonry.domain.time import Instant
from canonry.domain.vocabularies.truth_types import types_alike
from canonry.usecases.kernel.account import require_account, within_account
from canonry.usecases.kernel.caller import Caller, unknown
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.lookup import require
from canonry.usecases.kernel.separating import separated


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Who answers for whom, how many observations that concerns, and since when."""

    from_id: EntityId
    to_id: EntityId
    observations: int
    at: Instant


async def merge_records(
    canon: Canon, caller: Caller, user_id: str | None, *, from_id: str, to_id: str, reason: str
) -> Merged:
    """Let the survivor of `to_id` answer for `from_id` and for all that was merged into it.

    Raises:
        InvalidInput: `user.mismatch`, `merge.itself` or `merge.types`.
        NotFound: `entity.unknown`.
        Conflict: `entity.already-merged`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)
    done: list[tuple[EntityId, EntityId, int]] = []

    async def prepare(new_id: NewId) -> Change:
        del new_id  # a merge makes nothing
        done.clear()
        to = await require(canon, inner, Entity, to_id)
        from_ = await _itself(canon, inner, from_id)
        _require_mergeable(from_, to)
        done.append((from_.id, to.id, from_.observed.count))
        entry = EntitiesMerged(kept=to.id, merged=from_.id, members=from_.members, reason=reason)
        ids = (to_id, to.id, from_.id, *to.members, *from_.members)
        return Change(entries=(entry,), reads=frozenset(map(thing_key, ids)))

    receipt = await commit_change(canon, inner, account.space, prepare)
    if not done:  # an earlier call with this idempotency key did it
        entry = next(e for e in receipt.entries if isinstance(e, EntitiesMerged))
        merged = await _itself(canon, inner, entry.merged)
        done.append((entry.merged, entry.kept, merged.sightings.count))
    from_entity, to_entity, count = done[0]
    return Merged(from_id=from_entity, to_id=to_entity, observations=count, at=receipt.recorded_at)


async def unmerge_records(
    canon: Canon, caller: Caller, user_id: str | None, separated_id: str, *, reason: str
) -> Merged:
    """Let the entity be its own again, and take along whoever had been merged into it before.

    Raises:
        InvalidInput: `user.mismatch`.
        NotFound: `entity.unknown`.
        Conflict: `entity.not-merged`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        gone = await _itself(canon, inner, separated_id)
        if gone.merged_into is None:
            message = "this entity was not merged into another; name the one that was"
            raise Conflict("entity.not-merged", message, conflicts=[gone.id])
        kept = await require(canon, inner, Entity, gone.merged_into)
        return separated(gone, kept, reason)

    receipt = await commit_change(canon, inner, account.space, prepare)
    entry = next(e for e in receipt.entries if isinstance(e, EntitiesUnmerged))
    gone = await _itself(canon, inner, entry.separated)
    return Merged(
        from_id=gone.id,
        to_id=entry.kept,
        observations=gone.observed.count,
        at=receipt.recorded_at,
    )


async def _itself(canon: Canon, caller: Caller, entity_id: str) -> Entity:
    """The entity with exactly this id, even if it was merged away."""
    found = (await canon.state.things((entity_id,))).get(entity_id)
    if not isinstance(found, Entity) or not caller.sees(found.space):
        raise unknown("entity", entity_id)
    return found


def _require_mergeable(from_: Entity, to: Entity) -> None:
    if from_.merged_into is not None:
        message = "the entity was merged into another before; take that back first"
        raise Conflict("entity.already-merged", message, conflicts=[from_.id])
    if from_.id == to.id:
        message = "an entity cannot be merged into itself"
        raise InvalidInput("merge.itself", message, path="/to_entity_id")
    if from_.entity_type not in types_alike(to.entity_type):
        message = "only entities of one type can be one, or a person and a contact"
        raise InvalidInput("merge.types", message, path="/to_entity_id")

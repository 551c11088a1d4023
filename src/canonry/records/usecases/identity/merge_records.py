"""Merge records: one of a user's entities answers for another, and that can be taken back."""

from dataclasses import dataclass

from canonry.canon.session.account import require_account, within_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.every_item import every_match
from canonry.canon.session.lookup import require, require_itself
from canonry.canon.session.separating import separated
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged
from canonry.log.items.entities import Entity, family_of
from canonry.log.keys import thing_key
from canonry.log.schemas.truth_relations import ACYCLIC
from canonry.log.schemas.truth_types import types_alike
from canonry.readmodels.ports.state import RelationQuery
from canonry.records.domain.assertions import Warned
from canonry.records.usecases.relate_entities import leads_to
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, NewId
from canonry.values.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Who answers for whom, how many observations that concerns, and since when."""

    from_id: EntityId
    to_id: EntityId
    observations: int
    at: Instant
    warnings: tuple[Warned, ...] = ()


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

    async def prepare(new_id: NewId) -> Change[tuple[int, tuple[Warned, ...]]]:
        del new_id  # a merge makes nothing
        to = await require(canon, inner, Entity, to_id)
        from_ = await require_itself(canon, inner, from_id)
        _require_mergeable(from_, to)
        entry = EntitiesMerged(kept=to.id, merged=from_.id, members=from_.members, reason=reason)
        ids = (to_id, to.id, from_.id, *to.members, *from_.members)
        reads = frozenset(map(thing_key, ids))
        warnings = await _cycles(canon, from_, to)
        return Change(entries=(entry,), reads=reads, found=(from_.observed.count, warnings))

    receipt = await commit_change(canon, inner, account.space, prepare)
    entry = next(e for e in receipt.entries if isinstance(e, EntitiesMerged))
    count, warnings = receipt.found or (None, ())
    if count is None:  # an earlier call with this idempotency key did it
        count = (await require_itself(canon, inner, entry.merged)).sightings.count
    return Merged(
        from_id=entry.merged,
        to_id=entry.kept,
        observations=count,
        at=receipt.recorded_at,
        warnings=warnings,
    )


async def _cycles(canon: Canon, from_: Entity, to: Entity) -> tuple[Warned, ...]:
    """What should be told of edges that the merge turns into cycles.

    It is no reason to refuse: two records of one thing are one, whatever is said around them.
    """
    query = RelationQuery(
        spaces=frozenset((to.space,)),
        entities=family_of(from_) | family_of(to),
        direction="out",
        current=True,
    )
    types = {each.rel_type async for each in every_match(canon.state.relations, query)}
    return tuple(
        [
            Warned(
                code="relationship.cycle",
                message=f"over {rel_type} the two lead to each other, so that they lead to "
                "themselves now; if they are not one, take the merge back",
                path="/to_entity_id",
            )
            for rel_type in sorted(types & ACYCLIC)
            if (await leads_to(canon, rel_type, from_, to))[0]
            or (await leads_to(canon, rel_type, to, from_))[0]
        ]
    )


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
        gone = await require_itself(canon, inner, separated_id)
        if gone.merged_into is None:
            message = "this entity was not merged into another; name the one that was"
            raise Conflict("entity.not-merged", message, conflicts=[gone.id])
        kept = await require(canon, inner, Entity, gone.merged_into)
        return separated(gone, kept, reason)

    receipt = await commit_change(canon, inner, account.space, prepare)
    entry = next(e for e in receipt.entries if isinstance(e, EntitiesUnmerged))
    gone = await require_itself(canon, inner, entry.separated)
    return Merged(
        from_id=gone.id,
        to_id=entry.kept,
        observations=gone.observed.count,
        at=receipt.recorded_at,
    )


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

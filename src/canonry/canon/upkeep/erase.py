"""Erase: what was said of somebody is dropped from records and views, and a tombstone stays.

This is a person's right or an operator's decision, not how canon changes. The chain still
verifies, because it holds commitments and not texts.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.upkeep.find_mentions import Mention, find_mentions
from canonry.canon.upkeep.what_goes import (
    group_of,
    with_entity,
    with_proposals,
    with_source,
    with_type,
)
from canonry.log.commits import Position
from canonry.log.entries import Entry, Erased, Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.memories import Memory
from canonry.log.items.proposals import Proposal
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Turn
from canonry.log.items.sources import Snippet, Source
from canonry.log.keys import thing_key
from canonry.log.record_entries import Withdrawn
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.ports.upkeep import Upkeep
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, NewId, SpaceId
from canonry.values.observations import Observation

ERASABLE: Final[Mapping[str, type]] = {
    "entity": Entity,
    "turn": Turn,
    "memory": Memory,
    "proposal": Proposal,
    "fact": Fact,
    "event": Event,
    "relation": Relation,
    "snippet": Snippet,
    "observation": Observation,
    "source": Source,
    "schema": RegisteredSchema,
}
"""What can be erased by its id; scenes, stories and spaces hold what others said."""

MENTIONING: Final = frozenset(("turn", "memory", "proposal", "fact", "event", "snippet"))
"""What can go because it mentions somebody: single texts, without which the rest still stands."""


LeaveBehind: TypeAlias = Callable[
    [Canon, SpaceId, Sequence[str], NewId], Awaitable[tuple[Sequence[Entry], frozenset[str]]]
]
"""Makes the entries that move what was with the targets elsewhere; also returns the keys read."""

Forget: TypeAlias = Callable[[Canon, SpaceId], Awaitable[None]]
"""Deletes what a package keeps of erased items outside the log; it may be called again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureHooks:
    """What packages above the canon add to an erasure."""

    leave: tuple[LeaveBehind, ...] = ()
    forget: tuple[Forget, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """What would go: the thing that was named, and everything that tells of it.

    `counts` has the number of things by kind, `mentions` what tells of others too and stays unless
    it is erased as well: what says the name, and the sources that it came from.
    """

    space: SpaceId
    targets: tuple[str, ...]
    counts: Mapping[str, int]
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What was erased: the position of the tombstone commit, and how many entries lost content."""

    position: Position
    targets: int
    entries: int


async def plan_erasure(
    canon: Canon,
    kind: str,
    thing_id: str,
    *,
    also_called: Sequence[str] = (),
    with_mentions: bool = False,
) -> ErasurePlan:
    """What erasing the thing takes with it; nothing is changed.

    `also_called` are more names by which others may mention an entity than those that it was ever
    recorded under. `with_mentions` takes what mentions it along, as far as it is one of
    `MENTIONING`. For a thing that was erased before it is what went then, so that an erasure that
    was interrupted after its tombstone is finished by erasing again; its names went as well, so
    that only those in `also_called` are looked for.

    Raises:
        InvalidInput: `erase.kind`, things of this kind are not erased.
        NotFound: `<kind>.unknown`.
    """
    if kind not in ERASABLE:
        message = f"only these can be erased: {', '.join(ERASABLE)}"
        raise InvalidInput("erase.kind", message, path="kind")
    thing = (await canon.state.things((thing_id,))).get(thing_id)
    if thing is None or not isinstance(thing, (ERASABLE[kind], Tombstone)):
        raise unknown(kind, thing_id)
    found: dict[str, str] = {thing_id: kind}
    names, sources = tuple(also_called), tuple[Mention, ...]()
    group: frozenset[EntityId] = frozenset()
    if isinstance(thing, Tombstone):
        found = await _gone_before(canon, thing)
    elif isinstance(thing, Entity):
        group = await group_of(canon, thing)
        recorded, sources = await with_entity(canon, thing, group, found)
        names += recorded
    elif isinstance(thing, Source):
        group, sources = await with_source(canon, thing, found)
    elif isinstance(thing, RegisteredSchema):
        group, recorded, sources = await with_type(canon, thing, found)
        names += recorded
    await with_proposals(canon, thing.space, group, found)
    mentions = await find_mentions(canon, thing.space, names, beside=frozenset(found))
    if with_mentions:
        found |= {each.id: each.kind for each in mentions if each.kind in MENTIONING}
        await with_proposals(canon, thing.space, group, found)
    stay = dict.fromkeys((*sources, *mentions))
    return ErasurePlan(
        space=thing.space,
        targets=tuple(found),
        counts=Counter(found.values()),
        mentions=tuple(each for each in stay if each.id not in found),
    )


async def erase(
    canon: Canon, upkeep: Upkeep, caller: Caller, plan: ErasurePlan, *, reason: str
) -> Erasure:
    """Write the tombstone, then drop the content from records and views; may be run again.

    Raises:
        Unavailable: as for every write.
    """
    hooks = canon.service(ErasureHooks)

    async def prepare(new_id: NewId) -> Change:
        things = await canon.state.things(plan.targets)
        gone = await _erased_before(canon, things.values())
        left = tuple(target for target in plan.targets if target not in gone)
        if not left:
            return Change(entries=(), reads=frozenset())
        reads, entries = frozenset(map(thing_key, left)), list[Entry]()
        for leave in hooks.leave:
            behind, read = await leave(canon, plan.space, left, new_id)
            entries += behind
            reads |= read
        return Change(entries=(*entries, Erased(targets=left, reason=reason)), reads=reads)

    receipt = await commit_change(canon, caller, plan.space, prepare)
    dropped = await upkeep.purge(plan.space, plan.targets)
    for forget in hooks.forget:
        await forget(canon, plan.space)
    return Erasure(position=receipt.position, targets=len(plan.targets), entries=dropped)


async def _gone_before(canon: Canon, tombstone: Tombstone) -> dict[str, str]:
    """What went together with a thing that is gone already, with the kind of each."""
    entries = await _ending(canon, tombstone)
    targets = next((e.targets for e in entries if tombstone.id in e.targets), (tombstone.id,))
    things = await canon.state.things(targets)
    gone = ((each, things.get(each)) for each in targets)
    return {each: thing.was for each, thing in gone if isinstance(thing, Tombstone)}


async def _erased_before(canon: Canon, things: Iterable[Thing]) -> frozenset[str]:
    """Those of the things that were erased; one that was only withdrawn is still in the log."""
    tombstones = {each.position: each for each in things if isinstance(each, Tombstone)}
    ended = [e for each in tombstones.values() for e in await _ending(canon, each)]
    return frozenset(i for entry in ended if isinstance(entry, Erased) for i in entry.targets)


async def _ending(canon: Canon, tombstone: Tombstone) -> Sequence[Erased | Withdrawn]:
    """The entries that left a tombstone behind."""
    after = Position(tombstone.position - 1)
    commits = await canon.ledger.read(tombstone.space, after=after, limit=1)
    entries = [entry for commit in commits for entry in commit.entries]
    return [entry for entry in entries if isinstance(entry, Erased | Withdrawn)]

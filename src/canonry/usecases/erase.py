"""Erase: what was said of somebody is dropped from records and views, and a tombstone stays.

This is a person's right or an operator's decision, not how canon changes. The chain still
verifies, because it holds commitments and not texts.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from canonry.domain.commits import Position
from canonry.domain.encoding import encode_json
from canonry.domain.entities import Entity
from canonry.domain.entries import THING_KINDS, Erased, Thing, Tombstone
from canonry.domain.errors import InvalidInput
from canonry.domain.facts import Event, Fact
from canonry.domain.ids import EntityId, SourceId, SpaceId
from canonry.domain.keys import thing_key
from canonry.domain.memories import Memory
from canonry.domain.observations import Observation
from canonry.domain.proposals import Proposal
from canonry.domain.relations import Relation
from canonry.domain.scenes import Turn
from canonry.domain.sources import Snippet, Source, SourceType
from canonry.ports.views.documents import MemoryQuery, ProposalQuery, SceneQuery
from canonry.ports.views.pages import PAGE_MAX, Page
from canonry.ports.views.state import EventQuery, FactQuery, RelationQuery
from canonry.ports.views.upkeep import Upkeep
from canonry.usecases.caller import Caller, unknown
from canonry.usecases.canon import Canon
from canonry.usecases.commit_change import Change, NewId, commit_change
from canonry.usecases.forget_files import forget_files
from canonry.usecases.leave_behind import leave_behind

T = TypeVar("T")

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
}
"""What can be erased by its id; scenes, stories and spaces hold what others said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """What would go: the thing that was named, and everything that tells of it.

    `counts` has the number of things by kind, `mentions` the ids of what tells of others too and
    stays unless it is erased as well: turns that bear the name, and the sources that it came from.
    """

    space: SpaceId
    targets: tuple[str, ...]
    counts: Mapping[str, int]
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What was erased: the position of the tombstone commit, and how many entries lost content."""

    position: Position
    targets: int
    entries: int


async def plan_erasure(canon: Canon, kind: str, thing_id: str) -> ErasurePlan:
    """What erasing the thing takes with it; nothing is changed.

    For a thing that was erased before it is what went then: an erasure that was interrupted after
    its tombstone is finished by erasing again.

    Raises:
        InvalidInput: `erase.kind`, things of this kind are not erased.
        NotFound: `<kind>.unknown`.
    """
    if kind not in ERASABLE:
        message = f"only these can be erased: {', '.join(ERASABLE)}"
        raise InvalidInput("erase.kind", message, path="kind")
    thing = (await canon.state.things((thing_id,))).get(thing_id)
    if isinstance(thing, Tombstone):
        return await _plan_again(canon, thing)
    if thing is None or not isinstance(thing, ERASABLE[kind]):
        raise unknown(kind, thing_id)
    found: dict[str, str] = {thing_id: kind}
    mentions: list[str] = []
    group: frozenset[EntityId] = frozenset()
    if isinstance(thing, Entity):
        group = await _group(canon, thing)
        mentions = await _with_entity(canon, thing, group, found)
    elif isinstance(thing, Source):
        async for each in _from_source(canon, thing):
            found.setdefault(each.id, THING_KINDS[type(each)])
    async for proposal in _proposals(canon, thing.space):
        if _concerns(proposal, group, found):
            found.setdefault(proposal.id, "proposal")
    return ErasurePlan(
        space=thing.space,
        targets=tuple(found),
        counts=Counter(found.values()),
        mentions=tuple(mentions),
    )


async def _with_entity(
    canon: Canon, entity: Entity, group: frozenset[EntityId], found: dict[str, str]
) -> list[str]:
    """Add all that tells of an entity's merge group to `found`; what only mentions it."""
    cited: dict[SourceId, None] = {}
    async for each in _about(canon, group, entity.space):
        found.setdefault(each.id, THING_KINDS[type(each)])
        if isinstance(each, Observation) and each.source_id is not None:
            cited[each.source_id] = None
    corrections, others = await _told_by(canon, tuple(cited))
    found |= dict.fromkeys(corrections, "source")
    return [*others, *await _mentions(canon, entity.name, entity.space, found)]


async def erase(
    canon: Canon, upkeep: Upkeep, caller: Caller, plan: ErasurePlan, *, reason: str
) -> Erasure:
    """Write the tombstone, then drop the content from records and views; may be run again.

    Raises:
        Unavailable: as for every write.
    """

    async def prepare(new_id: NewId) -> Change:
        things = await canon.state.things(plan.targets)
        left = tuple(
            target for target in plan.targets if not isinstance(things.get(target), Tombstone)
        )
        if not left:
            return Change(entries=(), reads=frozenset())
        behind, read = await leave_behind(canon, plan.space, left, new_id)
        entries = (*behind, Erased(targets=left, reason=reason))
        return Change(entries=entries, reads=read | frozenset(map(thing_key, left)))

    receipt = await commit_change(canon, caller, plan.space, prepare)
    dropped = await upkeep.purge(plan.space, plan.targets)
    await forget_files(canon, plan.space)
    return Erasure(position=receipt.position, targets=len(plan.targets), entries=dropped)


async def _plan_again(canon: Canon, tombstone: Tombstone) -> ErasurePlan:
    after = Position(tombstone.position - 1)
    commits = await canon.ledger.read(tombstone.space, after=after, limit=1)
    entries = (entry for commit in commits for entry in commit.entries)
    targets = next((e.targets for e in entries if isinstance(e, Erased)), (tombstone.id,))
    things = (await canon.state.things(targets)).values()
    counts = Counter(each.was for each in things if isinstance(each, Tombstone))
    return ErasurePlan(space=tombstone.space, targets=targets, counts=counts)


async def _about(canon: Canon, group: frozenset[EntityId], space: SpaceId) -> AsyncIterator[Thing]:
    """Everything that tells of the entities of a merge group, themselves included."""
    spaces = frozenset((space,))
    for member in (await canon.state.things(group)).values():
        yield member
    for member_id in group:
        async for thing in _of_member(canon, member_id):
            yield thing
    facts = partial(FactQuery, spaces=spaces, entities=group, limit=PAGE_MAX)
    async for fact in _every(lambda offset: canon.state.facts(facts(offset=offset))):
        yield fact
    events = partial(EventQuery, spaces=spaces, entities=group, limit=PAGE_MAX)
    async for event in _every(lambda offset: canon.state.events(events(offset=offset))):
        yield event
    relations = partial(RelationQuery, spaces=spaces, entities=group, limit=PAGE_MAX)
    async for relation in _every(lambda offset: canon.state.relations(relations(offset=offset))):
        yield relation
    async for turn in _turns(canon, space):
        if turn.entity_id in group:
            yield turn


async def _group(canon: Canon, entity: Entity) -> frozenset[EntityId]:
    """The entity with all that it was merged with."""
    root_id = entity.merged_into or entity.id
    root = (await canon.state.things((root_id,))).get(root_id)
    members = root.members if isinstance(root, Entity) else ()
    return frozenset((entity.id, root_id, *members))


async def _of_member(canon: Canon, member_id: EntityId) -> AsyncIterator[Thing]:
    async for observation in _every(
        lambda offset: canon.state.observations_newest((member_id,), limit=PAGE_MAX, offset=offset)
    ):
        yield observation
    memories = partial(MemoryQuery, entity_id=member_id, limit=PAGE_MAX)
    async for memory in _every(lambda offset: canon.documents.memories(memories(offset=offset))):
        yield memory


async def _told_by(
    canon: Canon, cited: Sequence[SourceId]
) -> tuple[Sequence[SourceId], Sequence[SourceId]]:
    """The sources that are a correction of one entity, and those that may tell of others."""
    found = await canon.state.things(cited)
    sources = [each for each in found.values() if isinstance(each, Source)]
    corrections = [s.id for s in sources if s.source_type is SourceType.CORRECTION]
    kept = (s.id for s in sources if s.content is not None or s.files)
    return corrections, [each for each in kept if each not in corrections]


async def _from_source(canon: Canon, source: Source) -> AsyncIterator[Thing]:
    """Everything that was read from a source; entities stay, with what others said of them."""
    state, limit = canon.state, PAGE_MAX
    async for observation in _every(
        lambda offset: state.observations_from(source.id, limit=limit, offset=offset)
    ):
        yield observation
    async for run in _every(lambda offset: state.runs(source.id, limit=limit, offset=offset)):
        yield run
    async for snippet in _every(
        lambda offset: canon.documents.snippets(source.id, limit=limit, offset=offset)
    ):
        yield snippet


async def _turns(canon: Canon, space: SpaceId) -> AsyncIterator[Turn]:
    scenes = partial(SceneQuery, spaces=frozenset((space,)), limit=PAGE_MAX)
    async for scene in _every(lambda offset: canon.documents.scenes(scenes(offset=offset))):
        after = -1
        while page := await canon.documents.turns(scene.id, after=after, limit=PAGE_MAX):
            for turn in page:
                yield turn
            after = page[-1].index


async def _proposals(canon: Canon, space: SpaceId) -> AsyncIterator[Proposal]:
    query = partial(ProposalQuery, spaces=frozenset((space,)), limit=PAGE_MAX)
    async for proposal in _every(lambda offset: canon.documents.proposals(query(offset=offset))):
        yield proposal


async def _every(fetch: Callable[[int], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """The items of all pages."""
    offset = 0
    while True:
        page = await fetch(offset)
        for item in page.items:
            yield item
        offset += len(page.items)
        if not page.items or offset >= page.total:
            return


def _concerns(proposal: Proposal, group: frozenset[EntityId], found: Mapping[str, str]) -> bool:
    """Whether the proposal names one of `group`, however deep, or became something of `found`."""
    decision = proposal.decision
    became = {decision.canonical_id, *decision.made} if decision else set()
    if not found.keys().isdisjoint(became):
        return True
    text = encode_json([proposal.content, proposal.original])
    return any(each.encode() in text for each in group)


async def _mentions(canon: Canon, name: str, space: SpaceId, found: Mapping[str, str]) -> list[str]:
    """Texts of others that bear the name, the first `PAGE_MAX` of them."""
    wanted = name.casefold()
    mentions: list[str] = []
    async for turn in _turns(canon, space):
        if turn.id not in found and wanted in turn.text.casefold():
            mentions.append(turn.id)
            if len(mentions) == PAGE_MAX:
                break
    return mentions

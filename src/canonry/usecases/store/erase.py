"""Erase: what was said of somebody is dropped from records and views, and a tombstone stays.

This is a person's right or an operator's decision, not how canon changes. The chain still
verifies, because it holds commitments and not texts.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import EntityId, SourceId, SpaceId
from canonry.domain.json_values import encode_json
from canonry.domain.log.commits import Position
from canonry.domain.log.entries import THING_KINDS, Erased, Thing, Tombstone
from canonry.domain.log.keys import thing_key
from canonry.domain.observations import Observation
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Event, Fact
from canonry.domain.things.memories import Memory
from canonry.domain.things.proposals import Proposal
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Turn
from canonry.domain.things.sources import Snippet, Source, SourceType
from canonry.domain.vocabularies.narrative_fields import NAME
from canonry.ports.views.documents import MemoryQuery, ProposalQuery, SceneQuery
from canonry.ports.views.pages import PAGE_MAX, Page
from canonry.ports.views.state import EventQuery, FactQuery, RelationQuery
from canonry.ports.views.upkeep import Upkeep
from canonry.usecases.kernel.caller import Caller, unknown
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, NewId, commit_change
from canonry.usecases.store.find_mentions import Mention, find_mentions
from canonry.usecases.store.forget_files import forget_files
from canonry.usecases.store.leave_behind import leave_behind

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

MENTIONING: Final = frozenset(("turn", "memory", "proposal", "fact", "event", "snippet"))
"""What can go because it mentions somebody: single texts, without which the rest still stands."""


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
        group = await _group(canon, thing)
        recorded, sources = await _with_entity(canon, thing, group, found)
        names += recorded
    elif isinstance(thing, Source):
        async for each in _from_source(canon, thing):
            found.setdefault(each.id, THING_KINDS[type(each)])
    await _with_proposals(canon, thing.space, group, found)
    mentions = await find_mentions(canon, thing.space, names, beside=frozenset(found))
    if with_mentions:
        found |= {each.id: each.kind for each in mentions if each.kind in MENTIONING}
        await _with_proposals(canon, thing.space, group, found)
    stay = dict.fromkeys((*sources, *mentions))
    return ErasurePlan(
        space=thing.space,
        targets=tuple(found),
        counts=Counter(found.values()),
        mentions=tuple(each for each in stay if each.id not in found),
    )


async def _with_proposals(
    canon: Canon, space: SpaceId, group: frozenset[EntityId], found: dict[str, str]
) -> None:
    async for proposal in _proposals(canon, space):
        if _concerns(proposal, group, found):
            found.setdefault(proposal.id, "proposal")


async def _with_entity(
    canon: Canon, entity: Entity, group: frozenset[EntityId], found: dict[str, str]
) -> tuple[tuple[str, ...], tuple[Mention, ...]]:
    """Add all that tells of an entity's merge group to `found`; its names, and where it is from."""
    cited: dict[SourceId, None] = {}
    names = dict.fromkeys((entity.name,))
    async for each in _about(canon, group, entity.space):
        found.setdefault(each.id, THING_KINDS[type(each)])
        if isinstance(each, Observation):
            names[str(each.fields.get(NAME, ""))] = None
            if each.source_id is not None:
                cited[each.source_id] = None
    corrections, others = await _told_by(canon, tuple(cited))
    found |= dict.fromkeys(corrections, "source")
    return tuple(names), tuple(Mention(kind="source", id=each) for each in others)


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


async def _gone_before(canon: Canon, tombstone: Tombstone) -> dict[str, str]:
    """What went together with a thing that was erased before, with the kind of each."""
    after = Position(tombstone.position - 1)
    commits = await canon.ledger.read(tombstone.space, after=after, limit=1)
    entries = (entry for commit in commits for entry in commit.entries)
    targets = next((e.targets for e in entries if isinstance(e, Erased)), (tombstone.id,))
    things = await canon.state.things(targets)
    gone = ((each, things.get(each)) for each in targets)
    return {each: thing.was for each, thing in gone if isinstance(thing, Tombstone)}


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

"""What goes: everything that tells of what is erased, and so is erased with it."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial

from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item, every_match
from canonry.canon.upkeep.find_mentions import Mention
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Commit
from canonry.log.encoding import CHANGE_KINDS, kind_of
from canonry.log.entries import THING_KINDS, Redacted, Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import Proposal, ProposalType
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Turn
from canonry.log.items.sources import Source, SourceType
from canonry.log.record_entries import EntityRetold, Withdrawn
from canonry.log.schemas.narrative_fields import NAME
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.ports.documents import MemoryQuery, ProposalQuery, SceneQuery
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import (
    EntityQuery,
    EventQuery,
    FactQuery,
    RelationQuery,
    Spaces,
)
from canonry.values.ids import EntityId, SourceId, SpaceId
from canonry.values.json_values import encode_json
from canonry.values.observations import Observation
from canonry.values.spaces import Space, SpaceKind

_COMMITS = 100


async def with_entity(
    canon: Canon, entity: Entity, group: frozenset[EntityId], found: dict[str, str]
) -> tuple[tuple[str, ...], tuple[Mention, ...]]:
    """Add all that tells of an entity's merge group to `found`; its names, and what stays.

    That are the sources that it is from and the type that came into being for such as it.
    """
    cited: dict[SourceId, None] = {}
    names = dict.fromkeys((entity.name,))
    async for each in _about(canon, group, entity.space):
        found.setdefault(each.id, THING_KINDS[type(each)])
        if isinstance(each, Observation):
            names[str(each.fields.get(NAME, ""))] = None
            if each.source_id is not None:
                cited[each.source_id] = None
    corrections, others = await _told_by(canon, tuple(cited))
    withdrawn = [i async for i in _withdrawn_before(canon, entity.space, group)]
    found |= dict.fromkeys(corrections, "source")
    stays = [Mention(kind="source", id=each) for each in (*others, *withdrawn)]
    versions = await _versions(canon, entity.space, entity.entity_type)
    stays += [Mention(kind="schema", id=each.id) for each in versions[-1:] if each.derived]
    return tuple(names), tuple(stays)


async def with_source(
    canon: Canon, source: Source, found: dict[str, str]
) -> tuple[frozenset[EntityId], tuple[Mention, ...]]:
    """Add what a source told to `found`, with entities and types of which nobody else told.

    Those entities, and the ones that stay because others told of them as well.
    """
    seen: dict[EntityId, None] = {}
    async for each in _from_source(canon, source):
        found.setdefault(each.id, THING_KINDS[type(each)])
        if isinstance(each, Observation):
            seen[each.entity_id] = None
    gone, shared = Counter[str](), list[Mention]()
    going: set[EntityId] = set()
    for entity_id in seen:
        about = [each async for each in _about(canon, frozenset((entity_id,)), source.space)]
        if not all(_told_only_by(source, each) for each in about):
            shared.append(Mention(kind="entity", id=entity_id))
            continue
        going.add(entity_id)
        gone.update(each.entity_type for each in about if isinstance(each, Entity))
        for each in about:
            found.setdefault(each.id, THING_KINDS[type(each)])
    for entity_type, count in gone.items():
        versions = await _versions(canon, source.space, entity_type)
        page = await canon.state.entities(_of_type(source.space, entity_type))
        if page.total <= count and all(each.derived for each in versions):
            found |= {each.id: "schema" for each in versions}
    return frozenset(going), tuple(shared)


async def with_type(
    canon: Canon, schema: RegisteredSchema, found: dict[str, str]
) -> tuple[frozenset[EntityId], tuple[str, ...], tuple[Mention, ...]]:
    """Add all versions of a type and everything of that type to `found`.

    Its entities, what it and they are called, and where they are from.
    """
    group: set[EntityId] = set()
    names = dict.fromkeys((schema.entity_type.replace("_", " "), schema.label))
    cited: dict[Mention, None] = {}
    for version in await _versions(canon, schema.space, schema.entity_type):
        found.setdefault(version.id, "schema")
    query = _of_type(schema.space, schema.entity_type)
    async for entity in every_match(canon.state.entities, query):
        members = await group_of(canon, entity)
        recorded, sources = await with_entity(canon, entity, members, found)
        group |= members
        names |= dict.fromkeys(recorded)
        cited |= dict.fromkeys(sources)
    return frozenset(group), tuple(names), tuple(cited)


async def withdrawals(
    canon: Canon, space: SpaceId
) -> AsyncIterator[tuple[Commit, Sequence[Tombstone]]]:
    """The commits that withdrew something, and what of it is gone since.

    That was neither brought again nor erased.
    """
    after, size = ORIGIN, _COMMITS
    while size == _COMMITS:
        page = await canon.ledger.read(space, after=after, limit=_COMMITS)
        for commit in page:
            ended = list(_named_by(commit, Withdrawn))
            known = await canon.state.things(ended)
            gone = [t for t in known.values() if isinstance(t, Tombstone)]
            if ended:
                yield commit, [each for each in gone if each.position == commit.position]
        size, after = len(page), page[-1].position if page else after


def _named_by(commit: Commit, kind: type) -> Iterator[str]:
    """The ids that the entries of a kind name, also those whose content was erased."""
    for entry in commit.entries:
        stored = entry.kind if isinstance(entry, Redacted) else kind_of(entry)
        if stored == CHANGE_KINDS[kind]:
            yield from ids_of(entry)


async def with_proposals(
    canon: Canon, space: SpaceId, group: frozenset[EntityId], found: dict[str, str]
) -> None:
    """Add the proposals to `found` that name one of `group`, or became what is in it."""
    query = ProposalQuery(spaces=frozenset((space,)), types=frozenset(ProposalType))
    async for proposal in every_match(canon.documents.proposals, query):
        if _concerns(proposal, group, found):
            found.setdefault(proposal.id, "proposal")


def _told_only_by(source: Source, thing: Thing) -> bool:
    """Whether nobody but the source has said this; an entity by itself says nothing."""
    match thing:
        case Entity():
            return thing.merged_into is None and not thing.members
        case Observation():
            return thing.source_id == source.id
        case Relation():
            return {each.ref for each in thing.evidence} == {source.id}
        case _:
            return False


def _of_type(space: SpaceId, entity_type: str) -> EntityQuery:
    return EntityQuery(
        spaces=frozenset((space,)), entity_type=entity_type, include_merged=True, limit=1
    )


async def _versions(canon: Canon, space: SpaceId, entity_type: str) -> list[RegisteredSchema]:
    schemas = partial(canon.state.schemas, frozenset((space,)), entity_type)
    return [each async for each in every_item(schemas)]


async def _about(canon: Canon, group: frozenset[EntityId], space: SpaceId) -> AsyncIterator[Thing]:
    """Everything that tells of the entities of a merge group, themselves included."""
    state, spaces = canon.state, frozenset((space,))
    for member in (await state.things(group)).values():
        yield member
    for member_id in group:
        memories = MemoryQuery(entity_id=member_id)
        async for observation in every_item(partial(state.observations_newest, (member_id,))):
            yield observation
        async for memory in every_match(canon.documents.memories, memories):
            yield memory
    async for fact in every_match(state.facts, FactQuery(spaces=spaces, entities=group)):
        yield fact
    async for event in every_match(state.events, EventQuery(spaces=spaces, entities=group)):
        yield event
    relations = RelationQuery(spaces=spaces, entities=group)
    async for relation in every_match(state.relations, relations):
        yield relation
    async for turn in _turns(canon, spaces):
        if turn.entity_id in group:
            yield turn


async def _turns(canon: Canon, spaces: Spaces) -> AsyncIterator[Turn]:
    async for scene in every_match(canon.documents.scenes, SceneQuery(spaces=spaces)):
        after = -1
        while page := await canon.documents.turns(scene.id, after=after, limit=PAGE_MAX):
            for turn in page:
                yield turn
            after = page[-1].index


async def group_of(canon: Canon, entity: Entity) -> frozenset[EntityId]:
    """The entity with all that it was merged with."""
    root_id = entity.merged_into or entity.id
    root = (await canon.state.things((root_id,))).get(root_id)
    members = root.members if isinstance(root, Entity) else ()
    return frozenset((entity.id, root_id, *members))


async def _told_by(
    canon: Canon, cited: Sequence[SourceId]
) -> tuple[Sequence[SourceId], Sequence[SourceId]]:
    """The sources that are a correction of one entity, and those that may tell of others."""
    found = await canon.state.things(cited)
    sources = [each for each in found.values() if isinstance(each, Source)]
    corrections = [s.id for s in sources if s.source_type is SourceType.CORRECTION]
    kept = (s.id for s in sources if s.content is not None or s.files)
    return corrections, [each for each in kept if each not in corrections]


async def _withdrawn_before(
    canon: Canon, space: SpaceId, group: frozenset[EntityId]
) -> AsyncIterator[str]:
    """The withdrawn sources that told of the entities: they are in the log still."""
    known = (await canon.state.things((space,))).get(space)
    if not isinstance(known, Space) or known.kind is not SpaceKind.ACCOUNT:
        return  # nothing is withdrawn elsewhere
    async for commit, gone in withdrawals(canon, space):
        if not group.isdisjoint(_named_by(commit, EntityRetold)):
            for each in gone:
                if each.was == THING_KINDS[Source]:
                    yield each.id


async def _from_source(canon: Canon, source: Source) -> AsyncIterator[Thing]:
    """Everything that was read from a source; entities stay, with what others said of them."""
    async for observation in every_item(partial(canon.state.observations_from, source.id)):
        yield observation
    async for run in every_item(partial(canon.state.runs, source.id)):
        yield run
    async for snippet in every_item(partial(canon.documents.snippets, source.id)):
        yield snippet


def _concerns(proposal: Proposal, group: frozenset[EntityId], found: Mapping[str, str]) -> bool:
    """Whether the proposal names one of `group`, however deep, or became something of `found`."""
    decision = proposal.decision
    became = {decision.canonical_id, *decision.made} if decision else set()
    if not found.keys().isdisjoint(became):
        return True
    text = encode_json([proposal.content, proposal.original])
    return any(each.encode() in text for each in group)

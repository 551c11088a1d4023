"""Erase an item and its dependents, list mentions, and leave a tombstone."""

from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.lookup import commit_at, find_event_facts
from canonry.canon.session.paging import every_item, every_match, every_turn
from canonry.canon.session.snippets import is_cited
from canonry.language.texts.stems import terms_of
from canonry.log import entries as log
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.fold_commit import ids_of
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalType
from canonry.log.items.scenes import Memory, Turn
from canonry.log.items.sources import Snippet, Source, SourceType
from canonry.log.observations import list_named_ids
from canonry.log.schemas.narrative import NAME
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.log.sealing import encode_entry, kind_of
from canonry.readmodels.ports.documents import MemoryQuery, ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ports.view import Maintenance
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, NewId, SourceId, Space, SpaceId, SpaceKind
from canonry.values.json_values import decode_json, encode_json
from canonry.values.observations import Observation

_PAGE: Final = 500  # bounds the memory of a walk through the log


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An item that contains a name, in itself or in a later observation."""

    kind: str
    id: str


async def find_mentions(
    canon: Canon, space: SpaceId, names: Iterable[str], *, excluded: frozenset[str]
) -> tuple[Mention, ...]:
    """Find the items of `space`, oldest first, that contain one of `names`, except `excluded`.

    A name matches whole words, without regard to case or accents: "Jo" matches "JO's hat" but not
    "John". Items that refer to one of `excluded` by id are erased with it.
    """
    wanted = tuple(dict.fromkeys(filter(None, map(_pad_words, names))))
    found: dict[str, None] = {}
    after = ORIGIN
    while wanted and (page := await canon.ledger.read_commits(space, after=after, limit=_PAGE)):
        for entry in (entry for commit in page for entry in commit.entries):
            ids = ids_of(entry)
            if ids[0] not in found and excluded.isdisjoint(ids) and _contains_name(entry, wanted):
                found[ids[0]] = None
        after = page[-1].position
    items = await canon.space_scope(space).items_by_id(found)
    return tuple(
        Mention(kind=log.KIND_NAMES[type(item)], id=each)
        for each in found
        if (item := items.get(each)) is not None and not isinstance(item, log.Tombstone)
    )


def _contains_name(entry: log.Entry, wanted: Iterable[str]) -> bool:
    if isinstance(entry, log.Redacted | log.Erased):
        return False
    for text in _texts_in(decode_json(encode_entry(entry))):
        padded = _pad_words(text)
        if any(name in padded for name in wanted):
            return True
    return False


def _pad_words(text: str) -> str:
    """Pad the words of a text with spaces, to find whole words."""
    words = terms_of(text)
    return f" {' '.join(words)} " if words else ""


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts_in(each)
        case Mapping():
            for key, each in value.items():
                yield key
                yield from _texts_in(each)
        case _:
            return


_COMMITS = 100  # bounds the memory of a walk through the log


async def with_entity(
    canon: Canon, entity: Entity, group: frozenset[EntityId], found: dict[str, str]
) -> tuple[tuple[str, ...], tuple[Mention, ...]]:
    """Add all statements about an entity's merge group to `found`; return its names and mentions.

    The mentions are the entity's sources and the schema that was learned from it.
    """
    cited: dict[SourceId, None] = {}
    names = dict.fromkeys((entity.name,))
    async for each in _items_about(canon, group, entity.space):
        found.setdefault(each.id, log.KIND_NAMES[type(each)])
        if isinstance(each, Observation):
            names[str(each.fields.get(NAME, ""))] = None
            if each.source_id is not None:
                cited[each.source_id] = None
    corrections, others = await _split_sources(canon, tuple(cited))
    found |= {each.id: each.was async for each in _withdrawn_items(canon, entity.space, group)}
    withdrawn = [i async for i in _withdrawn_before(canon, entity.space, group)]
    found |= dict.fromkeys(corrections, "source")
    stays = [Mention(kind="source", id=each) for each in (*others, *withdrawn)]
    versions = await _schema_versions(canon, entity.space, entity.entity_type)
    stays += [Mention(kind="schema", id=each.id) for each in versions[-1:] if each.derived]
    return tuple(names), tuple(stays)


async def with_source(
    canon: Canon, source: Source, found: dict[str, str]
) -> tuple[frozenset[EntityId], tuple[Mention, ...]]:
    """Add a source's statements to `found`, with entities and types that no other source supports.

    Return those entities, and the mentions that remain because others support them too.
    """
    seen: dict[EntityId, None] = {}
    async for each in _from_source(canon, source):
        found.setdefault(each.id, log.KIND_NAMES[type(each)])
        if isinstance(each, Observation):
            seen[each.entity_id] = None
    gone, shared = Counter[str](), list[Mention]()
    going: set[EntityId] = set()
    for entity_id in seen:
        about = [each async for each in _items_about(canon, frozenset((entity_id,)), source.space)]
        if not all(_is_only_source(source, each) for each in about):
            shared.append(Mention(kind="entity", id=entity_id))
            continue
        going.add(entity_id)
        gone.update(each.entity_type for each in about if isinstance(each, Entity))
        for each in about:
            found.setdefault(each.id, log.KIND_NAMES[type(each)])
    for entity_type, count in gone.items():
        versions = await _schema_versions(canon, source.space, entity_type)
        page = await canon.state.entities(_of_type(source.space, entity_type))
        if page.total <= count and all(each.derived for each in versions):
            found |= {each.id: "schema" for each in versions}
    return frozenset(going), tuple(shared)


async def with_type(
    canon: Canon, schema: RegisteredSchema, found: dict[str, str]
) -> tuple[frozenset[EntityId], tuple[str, ...], tuple[Mention, ...]]:
    """Add all versions of a type and all items of that type to `found`.

    Return its entities, their names and their sources.
    """
    group: set[EntityId] = set()
    names = dict.fromkeys((schema.entity_type.replace("_", " "), schema.label))
    cited: dict[Mention, None] = {}
    for version in await _schema_versions(canon, schema.space, schema.entity_type):
        found.setdefault(version.id, "schema")
    query = _of_type(schema.space, schema.entity_type)
    async for entity in every_match(canon.state.entities, query):
        members = await group_of(canon, entity)
        recorded, sources = await with_entity(canon, entity, members, found)
        group |= members
        names |= dict.fromkeys(recorded)
        cited |= dict.fromkeys(sources)
    return frozenset(group), tuple(names), tuple(cited)


async def list_withdrawals(
    canon: Canon, space: SpaceId
) -> AsyncIterator[tuple[Commit, Sequence[log.Tombstone]]]:
    """Yield the commits that withdrew items, and the items still withdrawn.

    Items that were stored again or erased are left out.
    """
    after, size = ORIGIN, _COMMITS
    while size == _COMMITS:
        page = await canon.ledger.read_commits(space, after=after, limit=_COMMITS)
        for commit in page:
            ended = list(_named_by(commit, log.Withdrawn))
            known = await canon.state.items_by_id(ended)
            gone = [t for t in known.values() if isinstance(t, log.Tombstone)]
            if ended:
                yield commit, [each for each in gone if each.position == commit.position]
        size, after = len(page), page[-1].position if page else after


def _named_by(commit: Commit, kind: type) -> Iterator[str]:
    """Yield the ids in entries of a kind, including entries with erased content."""
    for entry in commit.entries:
        stored = entry.kind if isinstance(entry, log.Redacted) else kind_of(entry)
        if stored == log.CHANGE_KINDS[kind]:
            yield from ids_of(entry)


async def with_proposals(
    canon: Canon, space: SpaceId, group: frozenset[EntityId], found: dict[str, str]
) -> None:
    """Add the proposals to `found` that refer to `group` or became a member of it."""
    query = ProposalQuery(spaces=frozenset((space,)), types=frozenset(ProposalType))
    async for proposal in every_match(canon.documents.proposals, query):
        if _is_about(proposal, group, found):
            found.setdefault(proposal.id, "proposal")


def _is_only_source(source: Source, item: log.StoredItem) -> bool:
    """Return whether only this source supports the item; an entity itself states nothing."""
    match item:
        case Entity():
            return item.merged_into is None and not item.members
        case Observation():
            return item.source_id == source.id
        case Relation():
            return {each.ref for each in item.evidence} == {source.id}
        case _:
            return False


def _of_type(space: SpaceId, entity_type: str) -> EntityQuery:
    return EntityQuery(
        spaces=frozenset((space,)), entity_type=entity_type, include_merged=True, limit=1
    )


async def _schema_versions(
    canon: Canon, space: SpaceId, entity_type: str
) -> list[RegisteredSchema]:
    schemas = partial(canon.state.schemas, frozenset((space,)), entity_type)
    return [each async for each in every_item(schemas)]


async def _items_about(
    canon: Canon, group: frozenset[EntityId], space: SpaceId
) -> AsyncIterator[log.StoredItem]:
    """Yield all items about the entities of a merge group, including themselves."""
    state, spaces = canon.state, frozenset((space,))
    for member in (await state.items_by_id(group)).values():
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
    documents, scenes = canon.documents, SceneQuery(spaces=spaces)
    played = every_match(documents.scenes, scenes)
    async for turn in (t async for s in played async for t in every_turn(documents, s.id)):
        if turn.entity_id in group:
            yield turn


async def group_of(canon: Canon, entity: Entity) -> frozenset[EntityId]:
    """Return the ids of the entity's merge group."""
    root_id = entity.merged_into or entity.id
    root = (await canon.state.items_by_id((root_id,))).get(root_id)
    members = root.members if isinstance(root, Entity) else ()
    return frozenset((entity.id, root_id, *members))


async def _split_sources(
    canon: Canon, cited: Sequence[SourceId]
) -> tuple[Sequence[SourceId], Sequence[SourceId]]:
    """Return the sources that correct this entity only, and those that may support others too."""
    found = await canon.state.items_by_id(cited)
    sources = [each for each in found.values() if isinstance(each, Source)]
    corrections = [s.id for s in sources if s.source_type is SourceType.CORRECTION]
    kept = (s.id for s in sources if s.content is not None or s.files)
    return corrections, [each for each in kept if each not in corrections]


async def _withdrawn_before(
    canon: Canon, space: SpaceId, group: frozenset[EntityId]
) -> AsyncIterator[str]:
    """Yield the withdrawn sources about the entities; the log still holds them."""
    known = (await canon.state.items_by_id((space,))).get(space)
    if not isinstance(known, Space) or known.kind is not SpaceKind.ACCOUNT:
        return  # sources are withdrawn only in accounts
    async for commit, gone in list_withdrawals(canon, space):
        if not group.isdisjoint(_named_by(commit, log.EntityRebuilt)):
            for each in gone:
                if each.was == log.KIND_NAMES[Source]:
                    yield each.id


async def _withdrawn_items(
    canon: Canon, space: SpaceId, group: frozenset[EntityId]
) -> AsyncIterator[log.Tombstone]:
    """Yield the withdrawn items about the entities; the log still holds them."""
    after = ORIGIN
    while page := await canon.ledger.read_commits(space, after=after, limit=_COMMITS):
        made = [e for commit in page for e in commit.entries if isinstance(e, log.Made)]
        named = [e.thing.id for e in made if group & {*ids_of(e), *list_named_ids((e,))}]
        for each in (await canon.state.items_by_id(named)).values():
            if isinstance(each, log.Tombstone):
                yield each
        after = page[-1].position


async def _from_source(canon: Canon, source: Source) -> AsyncIterator[log.StoredItem]:
    """Yield the items read from a source; entities with other statements remain."""
    async for observation in every_item(partial(canon.state.observations_from, source.id)):
        yield observation
    async for run in every_item(partial(canon.state.runs, source.id)):
        yield run
    async for snippet in every_item(partial(canon.documents.snippets, source.id)):
        yield snippet


def _is_about(proposal: Proposal, group: frozenset[EntityId], found: Mapping[str, str]) -> bool:
    """Return whether the proposal refers to `group` at any depth, or became an item of `found`."""
    decision = proposal.decision
    became = {decision.canonical_id, *decision.made} if decision else set()
    if not found.keys().isdisjoint(became):
        return True
    text = encode_json([proposal.content, proposal.original])
    return any(each.encode() in text for each in group)


# Erase: delete a person's content from records and views, and leave a tombstone.
#
# This serves a person's right or an operator's decision; it does not change canon. The hash chain
# still verifies, because it holds commitments instead of texts.

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
"""The kinds that can be erased by id; scenes, stories and spaces hold others' statements."""

MENTIONING: Final = frozenset(("turn", "memory", "proposal", "fact", "event", "snippet"))
"""The kinds that can be erased because they mention somebody: single, independent texts."""


LeaveBehind: TypeAlias = Callable[
    [Canon, SpaceId, Sequence[str], NewId], Awaitable[tuple[Sequence[log.Entry], frozenset[str]]]
]
"""Returns the entries that move the targets' contents elsewhere, and the keys read."""

Forget: TypeAlias = Callable[[Canon, SpaceId], Awaitable[None]]
"""Deletes a package's data about erased items outside the log; must be idempotent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureHooks:
    """The parts of an erasure that packages above the canon add."""

    leave: tuple[LeaveBehind, ...] = ()
    forget: tuple[Forget, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """The items to erase: the named item, and all statements about it.

    `counts` has the number of items by kind. `mentions` are items about others that remain unless
    they are erased too: texts that contain the name, and sources.
    """

    space: SpaceId
    targets: tuple[str, ...]
    counts: Mapping[str, int]
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The result of an erasure: the tombstone's position, and the number of cleared entries."""

    position: Position
    targets: int
    entries: int


async def plan_erasure(
    canon: Canon,
    kind: str,
    item_id: str,
    *,
    also_called: Sequence[str] = (),
    with_mentions: bool = False,
) -> ErasurePlan:
    """Plan the erasure of an item; nothing is changed.

    `also_called` are names of the item that were never recorded. `with_mentions` also erases the
    mentions of the kinds in `MENTIONING`, such as the words that only this item cites. For an
    erased item, the plan is what that erasure covered: erasing again completes an erasure that was
    interrupted after its tombstone. Its recorded names are gone, so only `also_called` is searched
    for.

    Raises:
        InvalidInput: `erase.kind`, items of this kind cannot be erased.
        NotFound: `<kind>.unknown`.
    """
    if kind not in ERASABLE:
        message = f"You can erase only these kinds: {', '.join(ERASABLE)}."
        raise InvalidInput("erase.kind", message, path="kind")
    item = (await canon.state.items_by_id((item_id,))).get(item_id)
    if item is None or not isinstance(item, (ERASABLE[kind], log.Tombstone)):
        raise unknown_item(kind, item_id)
    found: dict[str, str] = {item_id: kind}
    names, sources = tuple(also_called), tuple[Mention, ...]()
    group: frozenset[EntityId] = frozenset()
    if isinstance(item, log.Tombstone):
        found = await _erased_with(canon, item)
    elif isinstance(item, Entity):
        group = await group_of(canon, item)
        recorded, sources = await with_entity(canon, item, group, found)
        names += recorded
    elif isinstance(item, Source):
        group, sources = await with_source(canon, item, found)
    elif isinstance(item, RegisteredSchema):
        group, recorded, sources = await with_type(canon, item, found)
        names += recorded
    found |= {one.id: "fact" for one in await find_event_facts(canon, item)}
    await with_proposals(canon, item.space, group, found)
    mentions = await find_mentions(canon, item.space, names, excluded=frozenset(found))
    if isinstance(item, Fact | Event | Relation):
        mentions = (*await _passages_for(canon, item), *mentions)
    if with_mentions:
        found |= {each.id: each.kind for each in mentions if each.kind in MENTIONING}
        await with_proposals(canon, item.space, group, found)
    stay = dict.fromkeys((*sources, *mentions))
    return ErasurePlan(
        space=item.space,
        targets=tuple(found),
        counts=Counter(found.values()),
        mentions=tuple(each for each in stay if each.id not in found),
    )


async def _passages_for(canon: Canon, item: Fact | Event | Relation) -> Sequence[Mention]:
    """Return the turns and passages that no standing item cites besides this one."""
    cited = (await canon.state.items_by_id({each.ref for each in item.evidence})).values()
    passages = [one for one in cited if isinstance(one, Turn | Snippet)]
    alone = [one for one in passages if not await is_cited(canon, one, (item,))]
    return [Mention(kind=log.KIND_NAMES[type(one)], id=one.id) for one in alone]


async def erase_items(
    canon: Canon, maintenance: Maintenance, caller: Caller, plan: ErasurePlan, *, reason: str
) -> Erasure:
    """Write the tombstone, then delete the content from records and views; may be repeated.

    Raises:
        Unavailable: as for each write.
    """
    hooks = canon.find_service(ErasureHooks)

    async def prepare_change(new_id: NewId) -> Change:
        items = await canon.state.items_by_id(plan.targets)
        tombstones = {e.position: e for e in items.values() if isinstance(e, log.Tombstone)}
        ended = [e for each in tombstones.values() for e in await _ending_entries(canon, each)]
        gone = frozenset(i for e in ended if isinstance(e, log.Erased) for i in e.targets)
        left = tuple(target for target in plan.targets if target not in gone)
        if not left:
            return Change(entries=(), reads=frozenset())
        reads, entries = frozenset(map(item_key, left)), list[log.Entry]()
        for leave in hooks.leave:
            behind, read = await leave(canon, plan.space, left, new_id)
            entries += behind
            reads |= read
        return Change(entries=(*entries, log.Erased(targets=left, reason=reason)), reads=reads)

    receipt = await commit_change(canon, caller, plan.space, prepare_change)
    dropped = await maintenance.purge(plan.space, plan.targets)
    for forget in hooks.forget:
        await forget(canon, plan.space)
    return Erasure(position=receipt.position, targets=len(plan.targets), entries=dropped)


async def _erased_with(canon: Canon, tombstone: log.Tombstone) -> dict[str, str]:
    """Return the ids and kinds that were erased together with an item."""
    entries = await _ending_entries(canon, tombstone)
    targets = next((e.targets for e in entries if tombstone.id in e.targets), (tombstone.id,))
    items = await canon.state.items_by_id(targets)
    gone = ((each, items.get(each)) for each in targets)
    return {each: tomb.was for each, tomb in gone if isinstance(tomb, log.Tombstone)}


async def _ending_entries(
    canon: Canon, tombstone: log.Tombstone
) -> Sequence[log.Erased | log.Withdrawn]:
    """Return the entries that wrote a tombstone."""
    commit = await commit_at(canon, tombstone.space, tombstone.position)
    return (
        [e for e in commit.entries if isinstance(e, log.Erased | log.Withdrawn)] if commit else []
    )


_HEADS: Final = 500  # bounds the memory of a walk through all spaces


async def find_erasable(canon: Canon, name: str) -> list[log.StoredItem]:
    """Find erasable items that contain the name in whole words, entities first; change nothing.

    An observation counts as its entity, which is erased with it.
    """
    found: list[log.StoredItem] = []
    after = None
    while heads := await canon.ledger.list_heads(after=after, limit=_HEADS):
        for head in heads:
            mentions = await find_mentions(canon, head.space, (name,), excluded=frozenset())
            ids = [each.id for each in mentions if each.kind in ERASABLE]
            within = canon.space_scope(head.space)
            items = list((await within.items_by_id(ids)).values())
            entity_ids = {each.entity_id for each in items if isinstance(each, Observation)}
            found += [each for each in items if not isinstance(each, Observation)]
            found += (await within.items_by_id(entity_ids.difference(ids))).values()
        after = heads[-1].space
    return sorted(found, key=lambda one: (not isinstance(one, Entity), log.KIND_NAMES[type(one)]))

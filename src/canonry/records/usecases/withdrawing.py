"""Withdraw sources, by hand or by the rules of retention, and split entities."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from canonry.canon.maintenance.erase import ErasurePlan, erase_items, list_withdrawals
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, first_made
from canonry.canon.session.lookup import (
    Account,
    require_account,
    require_account_opened,
    require_item,
    within_account,
)
from canonry.canon.session.paging import every_item, every_match
from canonry.log import entries as log
from canonry.log.folding import item_key, relations_key
from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.items.sources import InterpretationRun, Snippet, Source, relation_id_of
from canonry.log.schemas.narrative import PROPERTY_PREFIX, policy_of
from canonry.readmodels.ports.state import EntityQuery, RelationQuery
from canonry.readmodels.ports.view import Maintenance
from canonry.records.usecases import relationships
from canonry.records.usecases.identity import DIFFERENT_FROM, MergeResult
from canonry.records.usecases.record_entities import NAMED_ONLY
from canonry.records.usecases.relationships import (
    FIELD,
    ChangedEntity,
    edges_following,
    is_derived,
    is_edge_kept,
    named_party_keys,
)
from canonry.records.usecases.schemas import schemas_for
from canonry.records.usecases.snapshots import find_addressed
from canonry.values.errors import InvalidInput
from canonry.values.fields import narrow_to
from canonry.values.ids import (
    EntityId,
    NewId,
    ObservationId,
    RelationId,
    SourceId,
    SpaceId,
    SpaceKind,
)
from canonry.values.merge_policies import accumulator_of, join_all
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.policy import Retention
from canonry.values.provenance import Authority, EvidenceKind

_BATCH_SIZE: Final = 200  # the number of entities in one query
_PART_OF: Final = "part_of"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContents:
    """A source and its inner sources, with their observations, entities and edges.

    `standing` has the observations of each entity from other sources, oldest first. `edges` are
    all edges of the entities.
    """

    sources: tuple[SourceId, ...]
    runs: Sequence[InterpretationRun]
    snippets: Sequence[Snippet]
    observations: Sequence[Observation]
    entities: Mapping[EntityId, Entity]
    standing: Mapping[EntityId, Sequence[Observation]]
    edges: Sequence[Relation]


def is_only_from(edge: Relation, sources: Iterable[str]) -> bool:
    """Return whether only these sources state the edge."""
    evidence = [*edge.evidence, *(cited for each in edge.again for cited in each.evidence)]
    cited = {each.ref for each in evidence if each.kind is EvidenceKind.SOURCE}
    asked = any(not each.evidence for each in edge.again)
    return bool(cited) and not asked and cited <= set(sources)


async def contents_of(canon: Canon, account: Account, *given: Source) -> SourceContents:
    """Return the contents of sources and of inner sources that came with no other source."""
    sources = [each.id for each in given]
    observations = [each for i in sources async for each in _observations_by(canon, account, i)]
    inner = [each for source in given async for each in _inner_files(canon, account, source)]
    for member in (each for each in inner if each.id not in sources):
        theirs = [each async for each in _observations_by(canon, account, member.id)]
        if not await _brought_by_others(canon, account, theirs, (*sources, member.id)):
            sources.append(member.id)
            observations += theirs
    about = tuple(dict.fromkeys(each.entity_id for each in observations))
    found = await canon.space_scope(account.space).items_by_id(about)
    entities = {each.id: each for each in found.values() if isinstance(each, Entity)}
    runs = [run for each in sources async for run in every_item(partial(canon.state.runs, each))]
    texts = [s for i in sources async for s in every_item(partial(canon.documents.snippets, i))]
    return SourceContents(
        snippets=texts,
        sources=tuple(sources),
        runs=[each for each in runs if each.space == account.space],
        observations=observations,
        entities=entities,
        standing=await _other_observations(canon, entities, observations),
        edges=[each async for each in edges_around(canon, account, entities)],
    )


async def _other_observations(
    canon: Canon, ids: Iterable[EntityId], observations: Iterable[Observation]
) -> Mapping[EntityId, Sequence[Observation]]:
    """Return the other observations of each of these entities, oldest first."""
    gone, found = {each.id for each in observations}, dict[EntityId, list[Observation]]()
    for some in in_batches(ids):
        async for seen in every_item(partial(canon.state.observations_newest, some)):
            if seen.id not in gone:
                found.setdefault(seen.entity_id, []).append(seen)
    return {i: theirs[::-1] for i, theirs in found.items()}


async def edges_around(
    canon: Canon, account: Account, ids: Iterable[EntityId]
) -> AsyncIterator[Relation]:
    """Yield every edge of these entities once, oldest first within a batch."""
    seen = set[str]()
    for some in in_batches(ids):
        query = RelationQuery(spaces=frozenset((account.space,)), entities=frozenset(some))
        async for edge in every_match(canon.state.relations, query):
            if edge.id not in seen:
                seen.add(edge.id)
                yield edge


def in_batches(ids: Iterable[EntityId]) -> Iterator[tuple[EntityId, ...]]:
    """Split the ids into batches for queries."""
    every = tuple(ids)
    yield from (every[start : start + _BATCH_SIZE] for start in range(0, len(every), _BATCH_SIZE))


async def _observations_by(
    canon: Canon, account: Account, source_id: SourceId
) -> AsyncIterator[Observation]:
    async for each in every_item(partial(canon.state.observations_from, source_id)):
        if each.space == account.space:
            yield each


async def _inner_files(canon: Canon, account: Account, whole: Source) -> AsyncIterator[Source]:
    """Yield the files within a file at any depth. Records have none."""
    inside = {whole.id} if whole.files else set[SourceId]()
    if not inside:
        return
    everything = partial(canon.state.sources, account.space)
    parts = [e async for e in every_item(everything) if _PART_OF in e.properties]
    while more := [e for e in parts if e.properties[_PART_OF] in inside and e.id not in inside]:
        for each in more:
            inside.add(each.id)
            yield each


async def _brought_by_others(
    canon: Canon, account: Account, observations: Sequence[Observation], sources: Sequence[SourceId]
) -> bool:
    """Return whether a record of another source also came with this file."""
    about = dict.fromkeys(each.entity_id for each in observations)
    async for edge in edges_around(canon, account, about):
        cited = {each.ref for each in edge.evidence if each.kind is EvidenceKind.SOURCE}
        others = cited.difference(sources)
        if others and FIELD not in edge.properties and edge.to_id in about:
            return True
    return False


# Withdraw a source: undo everything that it added.
#
# Observations of other sources stay. Names and edges that other sources share with this one are
# attributed to them. The log keeps everything, and the same source can be ingested again.

_NAME: Final = f"{PROPERTY_PREFIX}name"
_ASKED_MAX: Final = 5
"""The most edges of an entity that are searched for another source with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """The result of a withdrawal: the source with its inner sources, and the entities affected.

    `gone` entities have no other source; `changed` ones have.
    """

    sources: Sequence[SourceId]
    observations: int
    gone: Sequence[EntityId]
    changed: Sequence[EntityId]
    relations: int


async def withdraw_source(
    canon: Canon,
    caller: Caller,
    account: Account,
    source_id: str,
    *,
    reason: str,
    dry_run: bool = False,
) -> Withdrawal:
    """Withdraw a source of an account; with `dry_run`, only return the effects.

    The caller must be able to read the account.

    Raises:
        NotFound: `source.unknown`, also when it was withdrawn before.
    """

    async def prepare_change(new_id: NewId) -> Change[Withdrawal]:
        source = await require_item(canon, caller, Source, source_id)
        work = await _begin_withdrawal(canon, account, source)
        entries, reads = await _withdrawal_entries(canon, work, new_id, reason)
        return Change(entries=entries, reads=reads, found=work.make_result())

    if dry_run:
        return (await prepare_change(lambda label: label)).found
    receipt = await commit_change(canon, caller, account.space, prepare_change)
    return receipt.found or await _earlier_result(canon, account, receipt)


async def _earlier_result(
    canon: Canon, account: Account, receipt: Receipt[Withdrawal]
) -> Withdrawal:
    """Return the result of an earlier call with this idempotency key, without restored items."""
    gone = next(each for each in receipt.entries if isinstance(each, log.Withdrawn)).targets
    left = await canon.space_scope(account.space).items_by_id(gone)
    kinds: dict[str, list[str]] = {}
    for each in (left.get(i) for i in gone):
        if isinstance(each, log.Tombstone):
            kinds.setdefault(each.was, []).append(each.id)
    changed = [each.entity_id for each in receipt.entries if isinstance(each, log.EntityRebuilt)]
    return Withdrawal(
        sources=[SourceId(each) for each in kinds.get("source", ())],
        observations=len(kinds.get("observation", ())),
        gone=[EntityId(each) for each in kinds.get("entity", ())],
        changed=sorted(changed),
        relations=len(kinds.get("relation", ())),
    )


@dataclass(slots=True, kw_only=True)
class _WithdrawalState:
    """The state of a withdrawal.

    `named` holds entities that this source named first, with an observation of another source
    that names them too. `going` are the edges to remove; `retaken` are those of them that another
    source states and that are made again.
    """

    account: Account
    contents: SourceContents
    named: Mapping[EntityId, tuple[Observation, str]]
    gone: frozenset[EntityId]
    targets: Mapping[str, log.StoredItem]
    going: dict[RelationId, Relation] = field(default_factory=dict)
    retaken: list[RelationDraft] = field(default_factory=list)
    schemas: tuple[str, ...] = ()

    def identifiers_of(self, entity_id: EntityId) -> Sequence[str]:
        """Return the keys of the target of an edge."""
        target = self.targets.get(entity_id)
        return target.borne if isinstance(target, Entity) else ()

    def make_result(self) -> Withdrawal:
        """Return the result for the caller."""
        again = {each.id for each in self.retaken}
        return Withdrawal(
            sources=self.contents.sources,
            observations=len(self.contents.observations),
            gone=sorted(self.gone),
            changed=sorted(self.contents.entities.keys() - self.gone),
            relations=len(self.going.keys() - again),
        )


async def entries_withdrawing(
    canon: Canon, account: Account, reason: str, ids: Sequence[str], new_id: NewId
) -> Sequence[log.Entry]:
    """Return the entries that withdraw several sources of an account at once."""
    found = (await canon.space_scope(account.space).items_by_id(ids)).values()
    work = await _begin_withdrawal(canon, account, *(e for e in found if isinstance(e, Source)))
    return (await _withdrawal_entries(canon, work, new_id, reason))[0]


async def _begin_withdrawal(canon: Canon, account: Account, *sources: Source) -> _WithdrawalState:
    contents = await contents_of(canon, account, *sources)
    silent = {i: e for i, e in contents.entities.items() if i not in contents.standing}
    named = await _named_by_others(canon, account, contents, silent)
    nothing = silent.keys() - named.keys()
    gone = frozenset(i for i in nothing if nothing.issuperset(silent[i].members))
    targets = await canon.space_scope(account.space).items_by_id({e.to_id for e in contents.edges})
    work = _WithdrawalState(
        account=account, contents=contents, named=named, gone=gone, targets=targets
    )
    for edge in contents.edges:
        by = is_only_from(edge, contents.sources)
        if by and is_derived(edge) and not gone & {edge.from_id, edge.to_id}:
            _replace_edge(work, edge)
        elif by or gone & {edge.from_id, edge.to_id}:
            work.going[edge.id] = edge
    kinds = Counter(contents.entities[each].entity_type for each in gone)
    work.schemas = tuple([s async for s in _schemas_only_for(canon, account, kinds)])
    return work


def _replace_edge(work: _WithdrawalState, edge: Relation) -> None:
    """Remove an edge, and make it again with the evidence of another source if there is one."""
    work.going[edge.id] = edge
    referrer = work.contents.entities.get(edge.from_id)
    if referrer is None:
        return
    for seen in work.contents.standing.get(edge.from_id, ()):
        if _name_in(seen, referrer.entity_type, work.identifiers_of(edge.to_id)) is not None:
            made = narrow_to(RelationDraft, edge, evidence=seen.evidence, ended=False)
            work.retaken.append(made)
            return


def _name_in(seen: Observation, entity_type: str, identifiers: Sequence[str]) -> str | None:
    """Return the name by which an observation names the owner of these keys."""
    start = len(PROPERTY_PREFIX)
    fields = {n[start:]: v for n, v in seen.fields.items() if n.startswith(PROPERTY_PREFIX)}
    return next((e for key, e in named_party_keys(entity_type, fields) if key in identifiers), None)


async def _named_by_others(
    canon: Canon, account: Account, contents: SourceContents, silent: Mapping[EntityId, Entity]
) -> Mapping[EntityId, tuple[Observation, str]]:
    """Find entities that other sources only name; return the naming observation and the name.

    A record that names a known entity adds no observation to it. Only its edge shows the naming.
    """
    asked: dict[EntityId, list[EntityId]] = {}
    for edge in contents.edges:
        referrers = asked.setdefault(edge.to_id, [])
        speaks = edge.from_id in contents.standing or not is_only_from(edge, contents.sources)
        if edge.to_id in silent and is_derived(edge) and speaks and len(referrers) < _ASKED_MAX:
            referrers.append(edge.from_id)
    wanted = sorted({i for ids in asked.values() for i in ids})
    known = await canon.space_scope(account.space).items_by_id(wanted)
    observations = await _other_observations(canon, wanted, contents.observations)
    named: dict[EntityId, tuple[Observation, str]] = {}
    for entity_id, referrers in asked.items():
        for seen in (each for referrer in referrers for each in observations.get(referrer, ())):
            referrer = known.get(seen.entity_id)
            kind = referrer.entity_type if isinstance(referrer, Entity) else ""
            name = _name_in(seen, kind, silent[entity_id].borne)
            if name is not None:
                named.setdefault(entity_id, (seen, name))
    return named


async def _withdrawal_entries(
    canon: Canon, work: _WithdrawalState, new_id: NewId, reason: str
) -> tuple[tuple[log.Entry, ...], frozenset[str]]:
    contents = work.contents
    own = {each.id: each for each in contents.entities.values() if each.members}
    roots = {e.merged_into for e in contents.entities.values() if e.merged_into} - own.keys()
    found = await canon.space_scope(work.account.space).items_by_id(roots)
    family = own | {each.id: each for each in found.values() if isinstance(each, Entity)}
    entries: list[log.Entry] = [*_part_members(work, family, reason)]
    targets = (
        *contents.sources,
        *(each.id for each in contents.runs),
        *(each.id for each in contents.snippets),
        *(each.id for each in contents.observations),
        *sorted(work.gone),
        *work.going,
        *work.schemas,
    )
    entries.append(log.Withdrawn(targets=targets, reason=reason))
    kept = {i: e for i, e in contents.entities.items() if i not in work.gone}
    for entity_id, entity in kept.items():
        root = family.get(entity.merged_into or entity_id)
        around: tuple[EntityId, ...] = () if root is None else (root.id, *root.members)
        standing = tuple(each.id for each in contents.standing.get(entity_id, ()))
        others = tuple(each for each in around if each not in work.gone)
        entries.append(log.EntityRebuilt(entity_id=entity_id, standing=standing, family=others))
    entries += _rename_entries(work, new_id)
    changed = [each async for each in _changed_entities(canon, work, kept)]
    followed, reads = await edges_following(canon, work.account, changed)
    now = {each.id: each.named_keys for each in changed}
    for edge in work.retaken:
        over = not is_edge_kept(edge, work.identifiers_of(edge.to_id), now.get(edge.from_id, ()))
        entries.append(log.Made(thing=replace(edge, ended=over)))
    entries += (
        each
        for each in followed
        if not isinstance(each, log.RelationEnded | log.RelationResumed)
        or each.relation_id not in work.going
    )
    ids = (*targets, *contents.entities, *(i for e in family.values() for i in (e.id, *e.members)))
    edges = frozenset(map(relations_key, contents.entities))
    return tuple(entries), reads | edges | frozenset(map(item_key, ids))


def _part_members(
    work: _WithdrawalState, family: Mapping[EntityId, Entity], reason: str
) -> Iterator[log.Entry]:
    """Yield unmerges of entities that are gone."""
    remaining = {root.id: root.members for root in family.values()}
    for entity_id in sorted(work.gone):
        kept = work.contents.entities[entity_id].merged_into
        if kept is not None:
            remaining[kept] = tuple(each for each in remaining[kept] if each != entity_id)
            yield log.EntitiesUnmerged(
                kept=kept, separated=entity_id, remaining=remaining[kept], reason=reason
            )


def _rename_entries(work: _WithdrawalState, new_id: NewId) -> Iterator[log.Made]:
    """Yield observations with the name that other sources gave to an entity."""
    before = {each.entity_id: each for each in work.contents.observations}
    for number, (entity_id, (seen, name)) in enumerate(sorted(work.named.items())):
        observation = narrow_to(
            ObservationDraft,
            before[entity_id],
            id=ObservationId(new_id(f"named:{number}")),
            fields={_NAME: name},
            evidence=seen.evidence,
            observed_at=seen.seen_at,
            priority=seen.priority,
            specificity=NAMED_ONLY,
            correction=False,
            run_id=seen.run_id,
            fragments={},
            dates={},
        )
        yield log.Made(thing=observation)


async def _changed_entities(
    canon: Canon, work: _WithdrawalState, kept: Mapping[EntityId, Entity]
) -> AsyncIterator[ChangedEntity]:
    schemas = await schemas_for(canon, work.account, kept.values())
    for entity_id, entity in kept.items():
        observations = work.contents.standing.get(entity_id, ())
        after = join_all((accumulator_of(each, policy_of) for each in observations), policy_of)
        schema = schemas.get(entity.entity_type)
        if schema is not None:
            yield ChangedEntity(id=entity_id, schema=schema, before=entity.own, after=after)


async def _schemas_only_for(
    canon: Canon, account: Account, gone: Mapping[str, int]
) -> AsyncIterator[str]:
    """Yield the derived schemas of types without remaining entities."""
    spaces = frozenset((account.space,))
    for entity_type, count in gone.items():
        asked = EntityQuery(spaces=spaces, entity_type=entity_type, include_merged=True, limit=1)
        page = await canon.state.entities(asked)
        versions = partial(canon.state.schemas, spaces, entity_type)
        known = [each async for each in every_item(versions)]
        if page.total <= count and all(each.derived for each in known):
            for each in known:
                yield each.id


# Split an entity: observations that were matched wrongly become an entity of their own.
#
# They are withdrawn from the entity and made again for a new one, with their sources and times. A
# relation keeps the two apart, and a source that comes again finds the entity it described before.


async def split_records(
    canon: Canon,
    caller: Caller,
    user_id: str | None,
    entity_id: str,
    parts: Collection[str],
    *,
    reason: str,
) -> MergeResult:
    """Give `parts` of an entity's observations, by their ids or sources, to a new entity.

    Return the new entity as `from_id`, and the one that it was split from as `to_id`.

    Raises:
        InvalidInput: `user.mismatch`, `split.nothing` or `split.everything`.
        NotFound: `entity.unknown`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)

    async def prepare_change(new_id: NewId) -> Change:
        root = await require_item(canon, inner, Entity, entity_id)
        entity = await find_addressed(canon, root, entity_id)
        kept, moved = await _divide_observations(canon, entity, parts)
        work = _SplitState(
            account=account, entity=entity, made=EntityId(new_id("split")), kept=kept, moved=moved
        )
        why = {"reason": reason} if reason else {}
        ends, player = (entity.id, work.made), Authority.PLAYER
        apart = relationships.make_edge(
            account, DIFFERENT_FROM, *ends, metadata=why, authority=player
        )
        edges = [each async for each in work.split_edges(canon)]
        going = [old for old, new in edges if new is None]
        targets = (*(each.id for each in moved), *going)
        standing = tuple(each.id for each in work.kept)
        family = (root.id, *root.members) if root.members else ()
        followed, reads = await edges_following(
            canon, account, [await work.describe_entity(canon, work.kept)]
        )
        entries = (
            *work.new_entries(new_id),
            log.Withdrawn(targets=targets, reason=reason),
            log.EntityRebuilt(entity_id=entity.id, standing=standing, family=family),
            *(log.Made(thing=new) for _, new in edges if new is not None),
            *(each for each in followed if getattr(each, "relation_id", "") not in going),
            log.Made(thing=apart),
        )
        ids = {entity_id, root.id, entity.id, work.made, *targets}
        reads |= {relations_key(entity.id), *map(item_key, ids)}
        return Change(entries=entries, reads=reads, found=None)

    receipt = await commit_change(canon, inner, account.space, prepare_change)
    gone = next(each for each in receipt.entries if isinstance(each, log.EntityRebuilt))
    return MergeResult(
        from_id=EntityId(first_made(receipt, EntityDraft).id),
        to_id=gone.entity_id,
        observations=len(receipt.drafts_made(ObservationDraft)),
        at=receipt.recorded_at,
    )


async def _divide_observations(
    canon: Canon, entity: Entity, parts: Collection[str]
) -> tuple[Sequence[Observation], Sequence[Observation]]:
    """Return the observations that stay and those that go, oldest first."""
    newest = every_item(partial(canon.state.observations_newest, (entity.id,)))
    observations = [each async for each in newest][::-1]
    moved = [each for each in observations if {each.id, each.source_id} & set(parts)]
    if not moved:
        message = "The entity has no such observation or source. List its observations first."
        raise InvalidInput("split.nothing", message, path="/of")
    if len(moved) == len(observations):
        message = "These are all observations of the entity. Name only those about the other one."
        raise InvalidInput("split.everything", message, path="/of")
    return [each for each in observations if each not in moved], moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _SplitState:
    """An entity with the observations that it keeps, and those that the new entity gets."""

    account: Account
    entity: Entity
    made: EntityId
    kept: Sequence[Observation]
    moved: Sequence[Observation]

    def new_entries(self, new_id: NewId) -> Iterator[log.Made]:
        """Yield the new entity with its observations."""
        evidence = self.moved[0].evidence
        yield log.Made(thing=narrow_to(EntityDraft, self.entity, id=self.made, evidence=evidence))
        # Ascending: of two observations at one instant the greater id wins.
        ids = sorted(new_id(f"observation:{number}") for number, _ in enumerate(self.moved))
        for own, one in zip(ids, self.moved, strict=True):
            new = {"id": ObservationId(own), "entity_id": self.made, "observed_at": one.seen_at}
            yield log.Made(thing=narrow_to(ObservationDraft, one, **new))

    async def split_edges(
        self, canon: Canon
    ) -> AsyncIterator[tuple[RelationId, RelationDraft | None]]:
        """Yield relations of the new entity; those that only its sources state go with it."""
        others = {each.source_id for each in self.kept}
        sources = {each.source_id or "" for each in self.moved} - others
        named = (await self.describe_entity(canon, self.moved)).named_keys
        own = canon.space_scope(self.account.space)
        async for each in edges_around(canon, self.account, (self.entity.id,)):
            goes, leads = is_only_from(each, sources), each.from_id == self.entity.id
            target = await own.find_item(each.to_id)
            identifiers = target.borne if isinstance(target, Entity) else ()
            if goes:
                yield each.id, None
            if goes or (leads and is_derived(each) and is_edge_kept(each, identifiers, named)):
                ends = {"from_id": each.from_id, "to_id": each.to_id}
                ends["from_id" if leads else "to_id"] = self.made
                wanted = relation_id_of(self.account.user_id, each.rel_type, **ends)
                over = each.ended if not leads else not is_edge_kept(each, identifiers, named)
                yield each.id, narrow_to(RelationDraft, each, id=wanted, ended=over, **ends)

    async def describe_entity(self, canon: Canon, seen: Sequence[Observation]) -> ChangedEntity:
        """Return the entity as these observations describe it."""
        after = join_all((accumulator_of(each, policy_of) for each in seen), policy_of)
        schema = (await schemas_for(canon, self.account, (self.entity,)))[self.entity.entity_type]
        return ChangedEntity(id=self.entity.id, schema=schema, before=self.entity.own, after=after)


# Retain: withdraw old sources, and erase items that were withdrawn long ago.
#
# The operator sets both ages in days. Without a rule nothing is done.


@dataclass(frozen=True, slots=True, kw_only=True)
class DueItems:
    """The due items of an account: sources to withdraw, and withdrawn items to erase."""

    space: SpaceId
    sources: Sequence[SourceId]
    withdrawn: Sequence[str]


async def list_due(
    canon: Canon, rules: Retention, *, only: SpaceId | None = None
) -> Sequence[DueItems]:
    """List the due items of all accounts, or of one; change nothing.

    Raises:
        NotFound: `account.unknown`, nothing was ever recorded in the account.
    """
    if only is not None:
        await require_account_opened(canon, only)
    found: list[DueItems] = []
    accounts = partial(canon.state.spaces, kind=SpaceKind.ACCOUNT, parent=None)
    async for account in every_item(accounts):
        if only not in {None, account.id}:
            continue
        brought = _days_ago(canon, rules.brought_days)
        sources = every_item(partial(canon.state.sources, account.id))
        due = DueItems(
            space=account.id,
            sources=[e.id async for e in sources if brought is not None and e.created_at < brought],
            withdrawn=[each async for each in _withdrawn_long_ago(canon, account.id, rules)],
        )
        found += [due] if due.sources or due.withdrawn else []
    return found


async def apply_retention(
    canon: Canon, maintenance: Maintenance, caller: Caller, due: DueItems, rules: Retention
) -> int:
    """Withdraw and erase the due items of an account; return the number of erased log entries.

    Raises:
        CanonryError: those of `withdraw_source` and `erase_items`; a second call finishes the work.
    """
    inner = replace(caller, spaces=frozenset((due.space,)))
    reason = f"brought more than {rules.brought_days} days ago"
    # The user of an account is not stored, and is not needed here.
    account = Account(user_id="", space=due.space)
    for source_id in due.sources:
        if isinstance(await canon.space_scope(due.space).find_item(source_id), Source):
            await withdraw_source(canon, inner, account, source_id, reason=reason)
    if not due.withdrawn:
        return 0
    plan = ErasurePlan(space=due.space, targets=tuple(due.withdrawn), counts={})
    reason = f"withdrawn more than {rules.withdrawn_days} days ago"
    return (await erase_items(canon, maintenance, caller, plan, reason=reason)).entries


async def _withdrawn_long_ago(canon: Canon, space: SpaceId, rules: Retention) -> AsyncIterator[str]:
    """Yield items that were withdrawn long ago and not recorded again since."""
    before = _days_ago(canon, rules.withdrawn_days)
    if before is None:
        return
    async for commit, gone in list_withdrawals(canon, space):
        for each in gone if commit.recorded_at < before else ():
            yield each.id


def _days_ago(canon: Canon, days: int | None) -> Instant | None:
    return None if days is None else Instant(canon.clock.now() - days * DAY)

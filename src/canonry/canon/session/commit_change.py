"""Commit a change: load the slice for the gates, append, and prepare again after a conflict."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeAlias

from typing_extensions import TypeVar

from canonry.canon.judging.known_items import Backing
from canonry.canon.judging.slices import (
    TIMELINE_MAX,
    AxiomsLookup,
    ConflictLookup,
    EventsLookup,
    ItemLookup,
    Lookup,
    NameLookup,
    RelationsLookup,
    Slice,
    SliceView,
    StatementLookup,
)
from canonry.canon.judging.wider_audiences import (
    TimelineCorrections,
    joins_timelines,
    may_touch_timelines,
    settle_timelines,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import check_kind, keys_of_evidence, require_same_space
from canonry.canon.session.paging import every_item, every_match, first_items, page_reader
from canonry.log.commits import Append, Appended, Commit, Draft, Position
from canonry.log.entries import AudienceChanged, Entry, ItemDraft, Made, StoredItem
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity, EntityClass, normalised_name
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.log.items.secret_parts import as_seen, audience_of
from canonry.log.observations import entry_audience, limit_audience, list_named_ids
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.ports.state import EventQuery, IdentifierQuery, RelationQuery
from canonry.values.audience import EVERYBODY, Audience, audience_covers, narrowest, viewer_of
from canonry.values.errors import BrokenInvariant, Conflict, Unavailable
from canonry.values.fields import with_changes
from canonry.values.ids import CommitId, EntityId, NewId, SpaceId, derived_id
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

T = TypeVar("T")
LOADS_MAX: Final = 600
"""An upper bound on loading rounds, above the longest walk of a gate."""

PAGES_MAX: Final = 10
"""The most pages of relations that one lookup reads."""


async def extend_slice(
    canon: Canon, known: Slice, judge: Callable[[Slice], tuple[Collection[Lookup], T]]
) -> tuple[Slice, T]:
    """Load the lookups of a judgement until it requests no more.

    `judge` takes a slice and returns the missing lookups and its result.

    Raises:
        BrokenInvariant: `canonization.endless`, a gate keeps requesting lookups.
    """
    judged = canon.with_all_secrets
    for _round in range(LOADS_MAX):
        wanted, found = judge(known)
        if not wanted:
            return known, found
        known = known.with_items(wanted, await _load_items(judged, known, wanted))
    message = "A gate keeps asking for more of the canon. Report this defect."
    raise BrokenInvariant("canonization.endless", message)


async def apply_rule(
    canon: Canon,
    space: SpaceId,
    work: Callable[[SliceView], T],
    audience: Audience = EVERYBODY,
    found: Iterable[StoredItem] = (),
) -> tuple[T, frozenset[str]]:
    """Apply a rule to the canon that `audience` knows; return its result and the keys read.

    Items that the caller has `found` are not read again, unless they may have secret parts.

    Raises:
        BrokenInvariant: `canonization.endless`, the rule keeps requesting lookups.
    """
    viewer, known = viewer_of(audience), Slice(space=space)
    if (
        found
        and canon.audience_view is not None
        and not await canon.audience_view.known_compartments()
    ):
        known = known.with_items((), found)

    def judge_slice(known: Slice) -> tuple[Collection[Lookup], tuple[T, SliceView]]:
        view = SliceView(known, canon.policy, viewer)
        result = work(view)
        return view.wanted, (result, view)

    _, (result, view) = await extend_slice(canon, known, judge_slice)
    return result, frozenset(view.read)


async def _load_items(canon: Canon, known: Slice, wanted: Collection[Lookup]) -> list[StoredItem]:
    space = known.space
    ids: set[str] = {one.id for one in wanted if isinstance(one, ItemLookup)}
    framed = {one.key: TIMELINE_MAX for one in wanted if isinstance(one, ConflictLookup)}
    stated = {one.statement for one in wanted if isinstance(one, StatementLookup)}
    events = [one for one in wanted if isinstance(one, EventsLookup)]
    found = await _load_events(canon, space, events) if events else list[StoredItem]()
    for lookup in wanted:
        match lookup:
            case RelationsLookup():
                query = RelationQuery(
                    spaces=frozenset((space,)),
                    entities=frozenset((EntityId(lookup.entity_id),)),
                    rel_type=lookup.rel_type,
                    direction=lookup.direction,
                )
                found += (await first_items(page_reader(canon.state.relations, query), PAGES_MAX))[
                    0
                ]
            case NameLookup():
                here = IdentifierQuery(spaces=frozenset((space,)), keys=tuple(sorted(lookup.texts)))
                pages = (await canon.state.entities_identified(here)).values()
                found.extend(each for page in pages for each in page.items)
            case AxiomsLookup():
                axioms = every_item(partial(canon.state.axioms, space))
                found.extend([each async for each in axioms])
            case ItemLookup() | ConflictLookup() | EventsLookup() | StatementLookup():
                continue
    if stated:
        found.extend(await canon.state.facts_stating(space, stated))
    if framed:
        facts = await canon.state.facts_framed(space, framed)
        found.extend(facts)
        ids.update(one for fact in facts for one in fact.involved)  # their entities are loaded next
        ids -= known.items.keys()
    if ids:
        found.extend((await canon.state.items_by_id(ids)).values())
    return found


async def _load_events(
    canon: Canon, space: SpaceId, lookups: Collection[EventsLookup]
) -> list[StoredItem]:
    """Return the events of all titles; for several entities, query that with the fewest events."""
    titles = {one.title for one in lookups}
    here = EventQuery(spaces=frozenset((space,)), level=CanonLevel.CANON)
    scenes = {one.scene_id for one in lookups if not one.involved}
    queries = [with_changes(here, scene_id=one) for one in scenes]
    if some := {
        await _least_eventful(canon, here, one) for one in {o.involved for o in lookups} - {()}
    }:
        queries.append(with_changes(here, entities=frozenset(some)))
    return [
        event
        for query in queries
        async for event in every_match(canon.state.events, query)
        if normalised_name(event.title) in titles
    ]


async def _least_eventful(canon: Canon, here: EventQuery, involved: Sequence[str]) -> EntityId:
    """Return the entity with the fewest events."""
    if len(involved) == 1:
        return EntityId(involved[0])
    known = [with_changes(here, entities=frozenset((EntityId(one),)), limit=1) for one in involved]
    totals = [(await canon.state.events(query)).total for query in known]
    return EntityId(min(zip(totals, involved, strict=True))[1])


ATTEMPTS_FREE: Final = 3
"""After this many conflicts, a call judges while it holds the write lock."""

ATTEMPTS_MAX: Final = 5  # under the lock only other processes conflict: bench writers


Found = TypeVar("Found", default=None)
MaySecret: TypeAlias = Entity | Fact | Event | Relation
"""Items that can have secret parts."""

K = TypeVar("K", bound=MaySecret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Generic[Found]):
    """The entries that a verdict allows, and the keys that it depends on.

    Without entries nothing is written, because the store already holds this state. `found` is a
    by-product of preparing, which the receipt returns. `judged_at` is the log position of data that
    was read before preparing. `audience` may see the change, even if its evidence is more secret;
    None: unspecified. The audiences of referenced items always narrow it. A `narrowed` change has
    them already. If it `settles`, the commit also ends and resumes what follows from the entries.
    """

    entries: tuple[Entry, ...]
    reads: frozenset[str]
    warnings: tuple[str, ...] = ()
    found: Found = None  # type: ignore[assignment] # the default of T
    judged_at: Position | None = None
    audience: Audience | None = None
    narrowed: bool = False
    settles: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Generic[Found]):
    """The commit of this call, or of an earlier one with the same idempotency key.

    `found` is the by-product of preparing; None if an earlier call wrote the commit.
    """

    commit_id: CommitId
    position: Position
    recorded_at: Instant
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...] = ()
    replayed: bool = False
    found: Found | None = None

    def require_found(self) -> Found:
        """Return the by-product of preparing, for calls without an idempotency key.

        Raises:
            BrokenInvariant: `commit.not-prepared`.
        """
        if self.found is None:
            raise BrokenInvariant("commit.not-prepared", "An earlier call answered this one.")
        return self.found

    def drafts_made(self, *kinds: type[ItemDraft]) -> Sequence[ItemDraft]:
        """Return the drafts of these kinds that the commit created, in order."""
        return [e.thing for e in self.entries if isinstance(e, Made) and isinstance(e.thing, kinds)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt to commit: it gives ids to new items, and knows the newest commit before it."""

    commit_id: CommitId
    position: Position

    def __call__(self, label: str) -> str:
        """Return the id of the new item `label`."""
        return derived_id(self.commit_id, label)


Prepare: TypeAlias = Callable[[Attempt], Awaitable[Change[Found]]]
Withdraw: TypeAlias = Callable[[str, Sequence[str], NewId], Awaitable[Sequence[Entry]]]
"""Returns, for a reason, the entries that withdraw sources of an account."""
"""Reads, judges and returns the change; it is called again if the verdict is stale."""


async def commit_change(
    canon: Canon, caller: Caller, space: SpaceId, prepare: Prepare[Found]
) -> Receipt[Found]:
    """Write the change that `prepare` returns, exactly once.

    Raises:
        CanonryError: any error of `prepare`; nothing was written.
        Conflict: `request.key-reused`, the idempotency key belongs to another request.
        Unavailable: `canon.contended`, other writers kept changing the keys of the verdict.
    """
    key = caller.idempotency_key
    if key is not None and (known := await find_earlier_commit(canon, caller, space)):
        return _replay_receipt(known)
    commit_id = caller.commit_id(space, canon.identities.new_id)
    for number in range(ATTEMPTS_MAX):
        async with nullcontext() if number < ATTEMPTS_FREE else canon.ledger.lock_appends():
            receipt = await _attempt_once(canon, caller, space, commit_id, prepare)
        if receipt is not None:
            return receipt
    message = "Other writers keep changing the canon that this uses. Send the request again."
    raise Unavailable("canon.contended", message)


async def find_earlier_commit(canon: Canon, caller: Caller, space: SpaceId) -> Commit | None:
    """Return the commit of an earlier call with this very request, or None.

    Raises:
        Conflict: `request.key-reused`, the idempotency key belongs to another request.
    """
    if caller.idempotency_key is None:
        return None
    known = await canon.ledger.find_commit(caller.commit_id(space, canon.identities.new_id))
    if known is not None and (known.space, known.request) != (space, caller.request):
        message = (
            "This idempotency key was used for another request. Repeat that request with the same "
            "arguments, or use a new key."
        )
        raise Conflict("request.key-reused", message)
    return known


async def _attempt_once(
    canon: Canon, caller: Caller, space: SpaceId, commit_id: CommitId, prepare: Prepare[Found]
) -> Receipt[Found] | None:
    judged_at = await canon.ledger.head_position(space)
    change = await prepare(Attempt(commit_id=commit_id, position=judged_at))
    if not change.entries:
        return Receipt(
            commit_id=commit_id,
            position=judged_at,
            recorded_at=canon.clock.now(),
            entries=(),
            warnings=change.warnings,
            replayed=True,
            found=change.found,
        )
    entries, more = change.entries, TimelineCorrections()
    if not change.narrowed:
        new_id = partial(derived_id, commit_id)
        entries, more = await split_by_audience(canon, change, space, new_id)
    draft = Draft(
        id=commit_id,
        space=space,
        actor=caller.actor,
        tool=caller.tool,
        entries=(*entries, *more.entries),
        request=caller.request,
    )
    rests_at = judged_at if change.judged_at is None else change.judged_at
    append = Append(draft=draft, judged_at=rests_at, reads=change.reads | more.reads)
    (outcome,) = await canon.ledger.append_drafts([append])
    if not isinstance(outcome, Appended):
        return None
    if outcome.replayed:
        # A duplicate request was faster: return its commit.
        known = await find_earlier_commit(canon, caller, space)
        if known is not None:
            return _replay_receipt(known)
    return Receipt(
        commit_id=commit_id,
        position=outcome.position,
        recorded_at=outcome.recorded_at,
        entries=(*entries, *_shown_with(entries, more.entries)) if more.entries else entries,
        warnings=change.warnings,
        replayed=outcome.replayed,
        found=change.found,
    )


async def split_by_audience(
    canon: Canon, change: Change[Found], space: SpaceId, new_id: NewId
) -> tuple[tuple[Entry, ...], TimelineCorrections]:
    """Split the entries by audience, and settle the timelines of audiences that know more."""
    own_audience = change.audience
    moved = {e.thing_id: e.audience for e in change.entries if isinstance(e, AudienceChanged)}
    moved |= {
        e.thing.id: entry_audience(e)
        for e in change.entries
        if (isinstance(e, Made) and entry_audience(e) != EVERYBODY)
    }
    secrets = bool(moved or await canon.store_of_all.state.compartments())
    known, joined = dict(moved), joins_timelines(change.entries)
    if secrets or joined:
        named = list_named_ids(change.entries, evidence=own_audience is None)
        known = {**await audiences_of(canon, named), **moved}
    entries = limit_audience(change.entries, own_audience or EVERYBODY, known)
    if not (secrets or joined or change.settles) or not may_touch_timelines(
        entries, secrets=secrets
    ):
        return entries, TimelineCorrections()

    def judge_slice(known: Slice) -> tuple[Collection[Lookup], TimelineCorrections]:
        found = settle_timelines(known, canon.policy, entries, new_id)
        return found.wanted, found

    _, found = await extend_slice(canon, Slice(space=space), judge_slice)
    return entries, found


async def audiences_of(canon: Canon, ids: Iterable[str]) -> Mapping[str, Audience]:
    """Return the audience of each existing item, for any viewer."""
    found = await canon.store_of_all.state.items_by_id(frozenset(ids))
    return {item_id: audience_of(item) for item_id, item in found.items()}


async def with_secret_parts(canon: Canon, item: K) -> K:
    """Return the item with its secret parts."""
    found = (await canon.store_of_all.state.items_by_id((item.id,))).get(item.id)
    return found if isinstance(found, type(item)) else item


async def known_to_audience(canon: Canon, item: K, audience: Audience) -> K:
    """Return the item as an audience knows it, to judge a change for that audience."""
    return as_seen(await with_secret_parts(canon, item), viewer_of(audience)) or item


async def audience_for(canon: Canon, ids: Iterable[str], requested: Audience | None) -> Audience:
    """Return the audience of an item that refers to these, at most the `requested` one."""
    wanted = frozenset(ids)
    if not wanted or not await canon.store_of_all.state.compartments():
        return requested or EVERYBODY
    known = await audiences_of(canon, wanted)
    return narrowest((requested or EVERYBODY, *known.values()))


def _replay_receipt(known: Commit) -> Receipt[Found]:
    """Return the receipt again, without entries for other audiences."""
    return Receipt(
        commit_id=known.id,
        position=known.position,
        recorded_at=known.recorded_at,
        entries=_shown_with(known.entries, known.entries),
        replayed=True,
    )


def _shown_with(own: Sequence[Entry], entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return those entries that all readers of the first one of their change may see."""
    first = entry_audience(own[0])
    return tuple(each for each in entries if audience_covers(entry_audience(each), first))


DraftKind = TypeVar("DraftKind", bound=ItemDraft)
F = TypeVar("F")


def first_made(receipt: Receipt[Any], kind: type[DraftKind]) -> DraftKind:
    """Return the first draft of `kind` that the commit created.

    Raises:
        Conflict: `request.key-reused`, an earlier call with this idempotency key created no item of
            the kind, or the item was erased.
    """
    for entry in receipt.entries:
        if isinstance(entry, Made) and isinstance(entry.thing, kind):
            return entry.thing
    message = "The item made by the earlier call with this key is gone. Use a new key."
    raise Conflict("request.key-reused", message)


async def drafts_made_before(
    canon: Canon, caller: Caller, space: SpaceId, kind: type[DraftKind]
) -> Sequence[DraftKind]:
    """Return the drafts of `kind` that an earlier try of this request created.

    A step that reads items that it changes itself calls this first, to resume on a retry.

    Raises:
        Conflict: `request.key-reused`.
    """
    known = await find_earlier_commit(canon, caller, space)
    made = () if known is None else (e.thing for e in known.entries if isinstance(e, Made))
    return [each for each in made if isinstance(each, kind)]


async def by_product_of(receipt: Receipt[F], prepare: Prepare[F]) -> F:
    """Return the by-product of preparing; a retry prepares again on the current state."""
    if receipt.found is not None:
        return receipt.found
    attempt = Attempt(commit_id=receipt.commit_id, position=receipt.position)
    return (await prepare(attempt)).found


def require_unfinished(scene: Scene) -> None:
    """Refuse to change a completed scene.

    Raises:
        Conflict: `scene.completed`.
    """
    if scene.status is SceneStatus.COMPLETED:
        message = "This scene is completed and cannot change. Continue in another scene."
        raise Conflict("scene.completed", message, scene_id=scene.id, conflicts=[scene.id])


def require_active(scene: Scene) -> None:
    """Refuse to add to a scene that is completed or being canonized.

    Raises:
        Conflict: `scene.completed` or `scene.finalizing`.
    """
    require_unfinished(scene)
    if scene.status is SceneStatus.FINALIZING:
        message = "This scene is being canonized and cannot change. Continue in another scene."
        raise Conflict("scene.finalizing", message, scene_id=scene.id, conflicts=[scene.id])


def require_instances(space: SpaceId, entities: Iterable[Entity], *, path: str) -> None:
    """Refuse entities that are no instances of `space` or are retconned.

    Raises:
        Conflict: `space.foreign`, `entity.not-an-instance` or `entity.retconned`.
    """
    staged = tuple(entities)
    require_same_space(space, staged, path=path)
    kinds = [e.id for e in staged if e.entity_class is not EntityClass.INSTANCE]
    if kinds:
        message = f"{path} names archetypes, which are timeless. Name instances."
        raise Conflict("entity.not-an-instance", message, path=path, conflicts=kinds)
    retracted = [e.id for e in staged if e.level is CanonLevel.RETCONNED]
    if retracted:
        message = f"{path} names retconned entities. Name entities that are canon."
        raise Conflict("entity.retconned", message, path=path, conflicts=retracted)


def require_location(space: SpaceId, location: Entity) -> None:
    """Refuse a scene location that is no location of `space`.

    Raises:
        Conflict: `scene.not-a-location`, or as `require_instances`.
    """
    path = "/location_ref"
    require_instances(space, (location,), path=path)
    if location.entity_type != EntityType.LOCATION:
        message = f"{path} has the type {location.entity_type}. Name an entity of type location."
        raise Conflict("scene.not-a-location", message, path=path, conflicts=[location.id])


async def require_involved(
    canon: Canon, caller: Caller, backing: Backing, ids: Iterable[str]
) -> tuple[tuple[Entity, ...], frozenset[str]]:
    """Return the entities behind `ids`, survivors for merged ones, each once.

    The evidence is checked too; the second value has the keys of all of them.

    Raises:
        NotFound: `evidence.unknown` or `entity.unknown`.
        Conflict: `space.foreign`, or `entity.retconned`.
    """
    wanted, scope = tuple(ids), canon.caller_scope(caller)
    found = await scope.items_by_id((*wanted, *(one.ref for one in backing.evidence)))
    reads = keys_of_evidence(found, backing.evidence, backing.space)
    known = await scope.root_entities(wanted, found)
    entities = [check_kind(Entity, one, known.get(one)) for one in wanted]
    require_same_space(backing.space, entities, path="/involved_entity_ids")
    require_standing(*entities)
    roots = {entity.id: entity for entity in entities}
    return tuple(roots.values()), reads.union(map(item_key, (*wanted, *roots)))


def require_standing(*items: Entity | Relation | Fact | Event) -> None:
    """Refuse retconned items.

    Raises:
        Conflict: `<kind>.retconned`, with the ids.
    """
    retracted = [item for item in items if item.level is CanonLevel.RETCONNED]
    if retracted:
        kind = type(retracted[0]).__name__.lower()
        message = f"This {kind} was retconned. No new item can depend on it."
        raise Conflict(f"{kind}.retconned", message, conflicts=[item.id for item in retracted])


async def judge_for_audience(
    canon: Canon, backing: Backing, involved: Sequence[Entity], rule: Callable[[SliceView], T]
) -> tuple[T, frozenset[str]]:
    """Return what `rule` finds for the change's audience, and the keys that were read."""
    cited = () if backing.audience is not None else tuple(one.ref for one in backing.evidence)
    ids = (*(each.id for each in involved), *cited)
    audience = await audience_for(canon, ids, backing.audience)
    return await apply_rule(canon, backing.space, rule, audience, involved)

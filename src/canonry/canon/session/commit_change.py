"""Commit a change: prepare it, append it, and prepare it anew after a conflict."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeGuard
from typing import TypeVar as TypingTypeVar

from typing_extensions import TypeVar

from canonry.canon.judging.settling import SettledLines, joins, settled, touches
from canonry.canon.judging.slices import Lookup, Slice
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.extend_slice import extend_slice
from canonry.canon.session.lookup import require_same_space
from canonry.log.commits import Append, Appended, Commit, Draft, Position
from canonry.log.entries import AudienceChanged, Entry, Made, ThingDraft
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.log.items.veils import as_seen, audience_of
from canonry.log.schemas.narrative import EntityType
from canonry.log.secrecy import entry_audience, names_in, under
from canonry.values.audience import EVERYBODY, Audience, covers, narrowest, viewer_of
from canonry.values.errors import BrokenInvariant, Conflict, Unavailable
from canonry.values.ids import CommitId, NewId, SpaceId, derived_id
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

ATTEMPTS_FREE: Final = 3
"""After so many refusals a call judges while nobody else may write."""

ATTEMPTS_MAX: Final = 5


T = TypeVar("T", default=None)
Veilable: TypeAlias = Entity | Fact | Event | Relation
"""What some may know more of than others."""

K = TypeVar("K", bound=Veilable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Generic[T]):
    """The entries that a verdict allows, and the keys that the verdict rests on.

    No entries: the store already holds exactly this, and nothing is written. `found` is what
    preparing came upon that the caller wants to know; the receipt brings it back. `judged_at` is
    where the log stood when what the verdict rests on was read, if that was before preparing.
    `audience` is who may know of it, also where its evidence is for fewer; None: nobody said. What
    it names narrows it anyway.
    """

    entries: tuple[Entry, ...]
    reads: frozenset[str]
    warnings: tuple[str, ...] = ()
    found: T = None  # type: ignore[assignment] # the default of T
    judged_at: Position | None = None
    audience: Audience | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Generic[T]):
    """What was committed, by this call or by an earlier one with the same idempotency key.

    `found` is what preparing this found; None where an earlier call wrote it.
    """

    commit_id: CommitId
    position: Position
    recorded_at: Instant
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...] = ()
    replayed: bool = False
    found: T | None = None

    def prepared(self) -> T:
        """What preparing found, for calls without an idempotency key: they always prepare.

        Raises:
            BrokenInvariant: `commit.not-prepared`.
        """
        if self.found is None:
            raise BrokenInvariant("commit.not-prepared", "this call was answered by an earlier one")
        return self.found

    def made(self, *kinds: type[ThingDraft]) -> Sequence[ThingDraft]:
        """The drafts of these kinds that the commit made things of, in order."""
        return [e.thing for e in self.entries if isinstance(e, Made) and isinstance(e.thing, kinds)]


Prepare: TypeAlias = Callable[[NewId], Awaitable[Change[T]]]
"""Reads what it needs, judges, and says what to write; called again when that went stale."""


async def commit_change(
    canon: Canon, caller: Caller, space: SpaceId, prepare: Prepare[T]
) -> Receipt[T]:
    """Write what `prepare` says, exactly once.

    Raises:
        CanonryError: whatever `prepare` objects; nothing was written.
        Conflict: `request.key-reused`, the idempotency key belongs to another request.
        Unavailable: `canon.contended`, others kept changing what the verdict rests on.
    """
    known = await answered(canon, caller, space)
    if known is not None:
        return _replayed(known)
    commit_id = caller.commit_id(space, canon.identities.fresh)
    for _attempt in range(ATTEMPTS_FREE):
        receipt = await _attempt_once(canon, caller, space, commit_id, prepare)
        if receipt is not None:
            return receipt
    async with canon.ledger.exclusive():
        for _attempt in range(ATTEMPTS_MAX - ATTEMPTS_FREE):
            receipt = await _attempt_once(canon, caller, space, commit_id, prepare)
            if receipt is not None:
                return receipt
    message = "others keep changing what this rests on; send the request again"
    raise Unavailable("canon.contended", message)


async def answered(canon: Canon, caller: Caller, space: SpaceId) -> Commit | None:
    """The commit by which an earlier call answered this very request.

    Raises:
        Conflict: `request.key-reused`, the idempotency key belongs to another request.
    """
    if caller.idempotency_key is None:
        return None
    known = await canon.ledger.find(caller.commit_id(space, canon.identities.fresh))
    if known is not None and (known.space, known.request) != (space, caller.request):
        message = (
            "this idempotency key was used for another request; repeat that with the very same "
            "arguments, or use a new key for this one"
        )
        raise Conflict("request.key-reused", message)
    return known


async def _attempt_once(
    canon: Canon, caller: Caller, space: SpaceId, commit_id: CommitId, prepare: Prepare[T]
) -> Receipt[T] | None:
    judged_at = await canon.ledger.head(space)
    change = await prepare(lambda label: derived_id(commit_id, label))
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
    entries, more = await _for_its_audience(canon, change, space, commit_id)
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
    (outcome,) = await canon.ledger.append([append])
    if not isinstance(outcome, Appended):
        return None
    if outcome.replayed:
        # A twin of this request was faster: what it wrote is the answer, not what this one judged.
        known = await answered(canon, caller, space)
        if known is not None:
            return _replayed(known)
    return Receipt(
        commit_id=commit_id,
        position=outcome.position,
        recorded_at=outcome.recorded_at,
        entries=entries,
        warnings=change.warnings,
        replayed=outcome.replayed,
        found=change.found,
    )


async def _for_its_audience(
    canon: Canon, change: Change[T], space: SpaceId, commit_id: CommitId
) -> tuple[tuple[Entry, ...], SettledLines]:
    """What is told to whom, and what lines come to be for those who know more of them."""
    told = change.audience
    moved = {e.thing_id: e.audience for e in change.entries if isinstance(e, AudienceChanged)}
    moved |= {e.thing.id: entry_audience(e) for e in change.entries if _is_secret(e)}
    secrets = moved or await canon.store_of_all.state.compartments()
    if not secrets and not joins(change.entries):
        return under(change.entries, told or EVERYBODY), SettledLines()
    known = {**await audiences_of(canon, names_in(change.entries, evidence=told is None)), **moved}
    entries = under(change.entries, told or EVERYBODY, known)
    if not touches(entries):
        return entries, SettledLines()
    found = SettledLines()

    def wanting(known: Slice) -> Collection[Lookup]:
        nonlocal found
        found = settled(known, canon.policy, entries, partial(derived_id, commit_id))
        return found.wanted

    await extend_slice(canon, Slice(space=space), wanting)
    return entries, found


def _is_secret(entry: Entry) -> TypeGuard[Made]:
    """Whether it makes a thing that not everybody may see."""
    return isinstance(entry, Made) and entry_audience(entry) != EVERYBODY


async def audiences_of(canon: Canon, ids: Iterable[str]) -> Mapping[str, Audience]:
    """Who may see each of the things that there are, whoever asks."""
    found = await canon.store_of_all.state.things(frozenset(ids))
    return {thing_id: audience_of(thing) for thing_id, thing in found.items()}


async def stored(canon: Canon, thing: K) -> K:
    """The thing with its veils."""
    found = (await canon.store_of_all.state.things((thing.id,))).get(thing.id)
    return found if isinstance(found, type(thing)) else thing


async def known_to(canon: Canon, thing: K, audience: Audience) -> K:
    """The thing as an audience knows it, which what they are to be told is judged by."""
    return as_seen(await stored(canon, thing), viewer_of(audience)) or thing


async def audience_for(canon: Canon, ids: Iterable[str], told: Audience | None) -> Audience:
    """Who may know of what names these; `told` is what somebody says of it."""
    wanted = frozenset(ids)
    if not wanted or not await canon.store_of_all.state.compartments():
        return told or EVERYBODY
    known = await audiences_of(canon, wanted)
    return narrowest((told or EVERYBODY, *known.values()))


def _replayed(known: Commit) -> Receipt[T]:
    """The receipt again, without what was said beside to those who know more."""
    first = entry_audience(known.entries[0])
    own = (e for e in known.entries if covers(entry_audience(e), first))
    return Receipt(
        commit_id=known.id,
        position=known.position,
        recorded_at=known.recorded_at,
        entries=tuple(own),
        replayed=True,
    )


RECEIPTS_T = TypingTypeVar("RECEIPTS_T", bound=ThingDraft)
F = TypingTypeVar("F")


def the_made(receipt: Receipt[Any], kind: type[RECEIPTS_T]) -> RECEIPTS_T:
    """The first draft of `kind` that the commit made a thing of.

    Raises:
        Conflict: `request.key-reused`, an earlier call with this idempotency key made nothing of
            the kind, or what it made was erased.
    """
    for entry in receipt.entries:
        if isinstance(entry, Made) and isinstance(entry.thing, kind):
            return entry.thing
    message = "what the earlier call with this idempotency key made is gone; use a new key"
    raise Conflict("request.key-reused", message)


async def made_before(
    canon: Canon, caller: Caller, space: SpaceId, kind: type[RECEIPTS_T]
) -> Sequence[RECEIPTS_T]:
    """The drafts of `kind` that an earlier sending of this request made; none: it did not.

    A step that looks at what it changes itself asks this first, so that a retry goes on from it.

    Raises:
        Conflict: `request.key-reused`.
    """
    known = await answered(canon, caller, space)
    made = () if known is None else (e.thing for e in known.entries if isinstance(e, Made))
    return [each for each in made if isinstance(each, kind)]


async def found_by(receipt: Receipt[F], prepare: Prepare[F]) -> F:
    """What preparing found; a retry looks again, at what the earlier call has left."""
    if receipt.found is not None:
        return receipt.found
    return (await prepare(partial(derived_id, receipt.commit_id))).found


def require_unfinished(scene: Scene) -> None:
    """Refuse to change a scene that is closed for good.

    Raises:
        Conflict: `scene.completed`.
    """
    if scene.status is SceneStatus.COMPLETED:
        message = "this scene is completed and never changes again; go on in another scene"
        raise Conflict("scene.completed", message, scene_id=scene.id, conflicts=[scene.id])


def require_active(scene: Scene) -> None:
    """Refuse to add to a scene that is closed or being closed.

    Raises:
        Conflict: `scene.completed` or `scene.finalizing`.
    """
    require_unfinished(scene)
    if scene.status is SceneStatus.FINALIZING:
        message = "this scene is being canonized and takes nothing more; go on in another scene"
        raise Conflict("scene.finalizing", message, scene_id=scene.id, conflicts=[scene.id])


def require_instances(space: SpaceId, entities: Iterable[Entity], *, path: str) -> None:
    """Refuse entities that cannot act or remember in `space`.

    Raises:
        Conflict: `space.foreign`, `entity.not-an-instance` or `entity.retconned`.
    """
    staged = tuple(entities)
    require_same_space(space, staged, path=path)
    kinds = [e.id for e in staged if e.entity_class is not EntityClass.INSTANCE]
    if kinds:
        message = f"{path} names archetypes, which are timeless; name instances"
        raise Conflict("entity.not-an-instance", message, path=path, conflicts=kinds)
    fallen = [e.id for e in staged if e.level is CanonLevel.RETCONNED]
    if fallen:
        message = f"{path} names entities that were retconned and so never were; name others"
        raise Conflict("entity.retconned", message, path=path, conflicts=fallen)


def require_location(space: SpaceId, place: Entity) -> None:
    """Refuse to set a scene in what is no place of `space`.

    Raises:
        Conflict: `scene.not-a-location`, or as `require_instances`.
    """
    path = "/location_ref"
    require_instances(space, (place,), path=path)
    if place.entity_type != EntityType.LOCATION:
        message = f"{path} names a {place.entity_type}; name an entity of type location"
        raise Conflict("scene.not-a-location", message, path=path, conflicts=[place.id])

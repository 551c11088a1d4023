"""The canon for use cases: a store's ports, services and each viewer's view of the state."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from canonry.canon.judging.relation_lines import counted
from canonry.canon.ports.files import DocumentReader
from canonry.canon.session.caller import Caller
from canonry.canon.session.paging import every_item
from canonry.canon.session.what_holds import NOW, Viewpoint, follows
from canonry.log.commits import Position
from canonry.log.entries import Entry, Thing
from canonry.log.items.entities import Entity, named_in, normalised_name, ruled_for, without
from canonry.log.items.facts import Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.veils import as_seen, audience_of, is_veiled
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock, Identities
from canonry.models.outside_services import OutsideServices
from canonry.readmodels.ports.documents import Catalog, Documents, Places
from canonry.readmodels.ports.state import RelationQuery, Spaces, State
from canonry.readmodels.ports.text import Text
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.readmodels.timeline import TimelineEvent
from canonry.values.audience import ALL_SEEING, EVERYBODY, Audience, Viewer, is_open, space_of
from canonry.values.fields import revised
from canonry.values.ids import SceneId, Space, SpaceId, SpaceKind
from canonry.values.moments import arranged, comes_after
from canonry.values.policy import Policy

APART: Final = frozenset((SpaceKind.ACCOUNT, SpaceKind.PROJECT))
"""Items in spaces of these kinds are found only by a query that names the space."""

_TRIES: Final = 3


@dataclass(slots=True, eq=False)
class SpaceKinds:
    """The kinds of a store's spaces, cached per process; each lookup reads only new spaces."""

    _known: dict[SpaceId, SpaceKind] = field(default_factory=dict[SpaceId, SpaceKind])
    _together: Spaces = None
    _asked: dict[SpaceId, SpaceKind] = field(default_factory=dict[SpaceId, SpaceKind])

    async def kind_of(self, state: State, space: SpaceId) -> SpaceKind | None:
        """Return the kind of a space, or None if it does not exist; reads each space once."""
        kind = self._asked.get(space)
        if kind is None:
            found = (await state.things((space,))).get(space)
            if isinstance(found, Space):
                kind = self._asked[space] = found.kind
        return kind

    async def every_one(self, state: State) -> frozenset[SpaceId]:
        """Return all spaces of the store."""
        return frozenset(await self._read_on(state))

    async def together(self, state: State) -> Spaces:
        """Return all spaces except those in `APART`; None if there are no exceptions."""
        known = await self._read_on(state)
        if len(known) != len(self._known):  # spaces are added, never removed
            self._known = known
            beside = frozenset(space for space, kind in known.items() if kind not in APART)
            self._together = None if len(beside) == len(known) else beside
        return self._together

    async def _read_on(self, state: State) -> dict[SpaceId, SpaceKind]:
        known, tries = dict(self._known), _TRIES
        while True:
            page = await state.spaces(kind=None, parent=None, limit=PAGE_MAX, offset=len(known))
            new = {space.id: space.kind for space in page.items}
            displaced = not known.keys().isdisjoint(new) or len(known) > page.total
            if displaced and tries > 0:
                # A process with a slower clock may open a space that is not the last of the list.
                known, tries = {}, tries - 1
                continue
            known |= new
            if not new or len(known) >= page.total:
                return known


# The read scope: items that a caller may not see are absent from replies, pages and totals.
#
# `Sight` looks items up by id in some spaces. `Seeing` wraps the views for one viewer. A canon
# without secrets is read directly. Otherwise a query covers the compartments that the viewer may
# read, and the ids of hidden items are removed from the answer.

V = TypeVar("V")
Asking: TypeAlias = Callable[..., Awaitable[Any]]
_TURNS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The state within `spaces`; None: all spaces except other users' accounts.

    Made by `Canon.seen_by` and `Canon.within`.
    """

    state: State
    kinds: SpaceKinds
    spaces: Spaces
    caller: Caller | None = None

    async def sees(self, space: SpaceId) -> bool:
        """Tell whether the caller may see items of this space."""
        if self.spaces is not None:
            return space in self.spaces
        if await self.kinds.kind_of(self.state, space) is not SpaceKind.ACCOUNT:
            return True
        return self.caller is not None and space == self.caller.account

    async def thing(self, thing_id: str) -> Thing | None:
        """Return the item with this id, or None."""
        return (await self.things((thing_id,))).get(thing_id)

    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        """Return the existing items by id; a merged entity is returned as itself."""
        wanted = tuple(ids)
        return await self._seen(await self.state.things(wanted)) if wanted else {}

    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        """Return the items as they were after `position` of their space."""
        return await self._seen(await self.state.things_as_known_at(ids, position))

    async def roots(
        self, ids: Iterable[str], found: Mapping[str, Thing] | None = None
    ) -> Mapping[str, Entity]:
        """Return the entities by id; a merged entity is replaced by its survivor.

        `found` are the items with these ids, if they were read already.
        """
        found = await self.things(ids) if found is None else found
        moved = {e.merged_into for e in found.values() if isinstance(e, Entity) and e.merged_into}
        known = {**found, **await self.things(moved - found.keys())}
        return {
            given: root
            for given, e in found.items()
            if isinstance(e, Entity)
            and isinstance(root := known.get(e.merged_into or given), Entity)
        }

    async def _seen(self, found: Mapping[str, Thing]) -> Mapping[str, Thing]:
        spaces = {thing.space for thing in found.values()}
        hidden = {space for space in spaces if not await self.sees(space)}
        return {i: t for i, t in found.items() if t.space not in hidden} if hidden else found


@dataclass(slots=True, eq=False)
class Seeing:
    """One viewer's view of a store; the list of compartments is read once.

    `lasting`: read the compartments for each query, because other writers add some meanwhile.
    `raw`: return items with their secret parts, for the gates.
    """

    state: State
    kinds: SpaceKinds
    viewer: Viewer
    raw: bool = False
    lasting: bool = False
    _compartments: frozenset[SpaceId] | None = field(default=None)

    def of(self, view: V) -> V:
        """Wrap a view of the store for the viewer."""
        return cast("V", _Seen(view, self))

    async def compartments(self) -> frozenset[SpaceId]:
        """Return the compartments with items of restricted audience."""
        if self._compartments is None or self.lasting:
            self._compartments = await self.state.compartments()
        return self._compartments

    async def reach(self, spaces: Spaces) -> Spaces:
        """Return the spaces and compartments that a query of these spaces covers."""
        known = await self.compartments()
        if not known:
            return spaces
        mine = frozenset(each for each in known if is_open(each, self.viewer))
        if spaces is None:
            return mine | await self.kinds.every_one(self.state)
        return spaces | {each for each in mine if space_of(each) in spaces}

    async def hidden(self, ids: Iterable[str]) -> frozenset[str]:
        """Return the existing ids of `ids` that the viewer may not see."""
        wanted = frozenset(ids)
        if not wanted or self.viewer.masters:
            return frozenset()
        found = await self.state.things(wanted)
        return frozenset(i for i, t in found.items() if not self.viewer.sees(audience_of(t)))

    async def told(self, found: Any, then: Asking | None = None) -> Any:
        """Filter the answer of a view for the viewer; `then` returns items as of its position."""
        if self.raw or (self.viewer.masters and not await self.compartments()):
            return found
        things = [each for each in _things_in(found) if each is not None]
        hidden = await self.hidden(i for each in things for i in named_in(each))
        seen = _each(found, partial(self._one, hidden=hidden))
        few = [e for e in _things_in(seen) if isinstance(e, Relation) and e.audience and e.current]
        return _each(seen, partial(_ended_by, await self._beside(few, then))) if few else seen

    async def _beside(self, few: Sequence[Relation], then: Asking | None) -> Sequence[Relation]:
        """Return the current relations of the same entities that only some readers know of."""
        spaces = frozenset(space_of(each.space) for each in few)
        query = RelationQuery(
            spaces=(await self.reach(spaces) or spaces) - spaces,
            entities=frozenset(i for each in few for i in (each.from_id, each.to_id)),
            current=then is None,
            newest_first=True,
            limit=PAGE_MAX,
        )
        found: Iterable[Any] = (await self.state.relations(query)).items
        if then is not None:
            found = (await then(each.id for each in found)).values()
        seen = [e for e in (as_seen(each, self.viewer) for each in found) if e is not None]
        return arranged((e for e in seen if e.audience and e.current), lambda e: e.moment)

    def _one(self, thing: Any, *, hidden: Collection[str]) -> Any:
        if isinstance(thing, TimelineEvent):
            return replace(thing, space=space_of(thing.space))
        seen = as_seen(thing, self.viewer) if is_veiled(thing) else thing
        if isinstance(seen, Proposal) and not self.viewer.masters:
            seen = ruled_for(seen, self.viewer)
        return without(seen, hidden) if hidden and seen is not None else seen


class _Seen:
    """A proxy that filters the answers of all methods of a view."""

    __slots__ = ("_seeing", "_view")

    def __init__(self, view: Any, seeing: Seeing) -> None:
        self._view = view
        self._seeing = seeing

    def __getattr__(self, name: str) -> Asking:
        ask, seeing = getattr(self._view, name), self._seeing
        special = _SPECIAL.get(name)

        async def seen(*args: Any, **kwargs: Any) -> Any:
            if not await seeing.compartments():
                return await ask(*args, **kwargs)
            if special is not None:
                return await special(seeing, ask, *args, **kwargs)
            wide = [await _widened(seeing, each) for each in args]
            told = await seeing.told(await ask(*wide, **kwargs))
            return _still_current(told) if getattr(args[0], "current", False) else told

        return seen


def _ended_by(others: Sequence[Relation], thing: Any) -> Any:
    """End a relation where one follows that was told to other readers than its own.

    Neither audience covers the other, so no end is recorded. A reader in both sees the later one.
    """
    if not isinstance(thing, Relation) or not thing.audience or not thing.current:
        return thing
    apart = (e for e in others if e.audience != thing.audience and follows(e, thing))
    heir = next((each for each in apart if comes_after(each.moment, thing.moment)), None)
    if heir is None or (counted(heir.properties) and counted(thing.properties)):
        return thing
    return revised(thing, ended=True, until=heir.since, superseded_by=heir.id)


def _still_current(page: Page[Any]) -> Page[Any]:
    kept = [each for each in page.items if each.current]
    return Page(items=kept, total=page.total - len(page.items) + len(kept))


async def _widened(seeing: Seeing, asked: Any) -> Any:
    if not is_dataclass(asked) or not hasattr(asked, "spaces"):
        return asked
    query: Any = asked
    return replace(query, spaces=await seeing.reach(query.spaces))


async def _as_it_is(_: Seeing, ask: Asking, *args: Any, **kwargs: Any) -> Any:
    return await ask(*args, **kwargs)


async def _types(seeing: Seeing, ask: Asking, spaces: Spaces) -> Any:
    return await ask(await seeing.reach(spaces))


async def _as_known_at(seeing: Seeing, ask: Asking, ids: Iterable[str], position: int) -> Any:
    """Return what the viewer knew then and may still know."""
    wanted = tuple(ids)
    hidden = await seeing.hidden(wanted)
    found = await ask((i for i in wanted if i not in hidden), position)
    return await seeing.told(found, lambda ids: ask(ids, position))


async def _in_space(seeing: Seeing, ask: Asking, space: SpaceId, *args: Any) -> Sequence[Any]:
    """Return the first items of each compartment, oldest first."""
    return sorted(await _of_all(seeing, ask, space, *args), key=_born)


async def _named(
    seeing: Seeing, ask: Asking, space: SpaceId, entity_type: str, name: str
) -> Sequence[Any]:
    """Return entities by name; those with the name only in the past come last."""
    found = await _of_all(seeing, ask, space, entity_type, name)
    words = normalised_name(name)
    return sorted(found, key=lambda each: (normalised_name(each.name) != words, *_born(each)))


async def _of_all(seeing: Seeing, ask: Asking, space: SpaceId, *args: Any) -> Sequence[Any]:
    there = await seeing.reach(frozenset((space,))) or ()
    found = [each for one in sorted(there) for each in await ask(one, *args)]
    told: Sequence[Any] = await seeing.told(found)
    return list({each.id: each for each in told}.values())


def _born(thing: Any) -> tuple[int, str]:
    return thing.created_at, thing.id


async def _page_in_space(
    seeing: Seeing, ask: Asking, space: SpaceId, *, limit: int, offset: int
) -> Page[Any]:
    there = await seeing.reach(frozenset((space,))) or ()
    found = [each for one in sorted(there) async for each in every_item(partial(ask, one))]
    return _cut(sorted(await seeing.told(found), key=_born), limit, offset)


async def _page_of_owner(
    seeing: Seeing, ask: Asking, owner: Any, *, limit: int, offset: int
) -> Page[Any]:
    """Return a page of a list that belongs to one owner, whatever its items' audiences."""
    mine = owner if isinstance(owner, str) else tuple(owner)
    found = [each async for each in every_item(partial(ask, mine))]
    return _cut(await seeing.told(found), limit, offset)


async def _log_of_owner(
    seeing: Seeing, ask: Asking, owner: str, *, after: int, limit: int
) -> Sequence[Any]:
    found: list[Any] = []
    while len(found) < limit:
        some = await ask(owner, after=after, limit=limit)
        found += await seeing.told(some)
        if len(some) < limit:
            break
        after = some[-1].position
    return found[:limit]


async def _following(
    seeing: Seeing, ask: Asking, space: SpaceId, *args: Any, limit: int, last_first: bool = False
) -> Sequence[Any]:
    """Merge the first items of each compartment in the order of the walk."""
    there = await seeing.reach(frozenset((space,))) or ()
    found = [each for one in sorted(there) for each in await ask(one, *args, limit=limit)]
    told = sorted(await seeing.told(found), key=_when, reverse=last_first)
    return told[:limit]


def _when(thing: Any) -> tuple[Any, ...]:
    return (*getattr(thing, "rank", (thing.created_at, 0)), thing.id)


async def _turns(
    seeing: Seeing,
    ask: Asking,
    scene: SceneId,
    *,
    last: int | None = None,
    after: int = -1,
    limit: int = _TURNS,
) -> Sequence[Any]:
    """Return up to `limit` turns that the viewer may read, skipping hidden ones."""
    found: list[Any] = []
    while last is not None or len(found) < limit:
        some = await ask(scene, after=after, limit=_TURNS)
        found += await seeing.told(some)
        if len(some) < _TURNS:
            break
        after = some[-1].index
    return found[:limit] if last is None else found[max(0, len(found) - last) :]


def _cut(items: Sequence[Any], limit: int, offset: int) -> Page[Any]:
    return Page(items=items[offset : offset + limit], total=len(items))


_SPECIAL: Final[Mapping[str, Callable[..., Awaitable[Any]]]] = {
    **dict.fromkeys(("cursor", "apply", "compartments", "spaces", "ids_beginning"), _as_it_is),
    "entity_types": _types,
    "things_as_known_at": _as_known_at,
    "entities_named": _named,
    "facts_stating": _in_space,
    "facts_framed": _in_space,
    "sources": _page_in_space,
    "turns": _turns,
    "snippets": _page_of_owner,
    "observations": _log_of_owner,
    "observations_newest": _page_of_owner,
    "observations_from": _page_of_owner,
    "entities_after": _following,
    "events_after": _following,
    "events_until": partial(_following, last_first=True),
}
"""Methods that take a space or an owner instead of a query."""


def _things_in(found: Any) -> Iterable[Any]:
    match found:
        case Page(items=items):
            return items
        case Mapping():
            return [thing for each in found.values() for thing in _things_in(each)]
        case str() | bytes():
            return ()
        case Sequence():
            return found
        case _:
            return (found,)


def _each(found: Any, how: Callable[[Any], Any]) -> Any:
    """Apply a function to each item of an answer; items without a result are removed."""
    match found:
        case Page(items=items):
            return Page(items=_kept(items, how), total=found.total)
        case Mapping():
            known = {key: _each(each, how) for key, each in found.items()}
            return {key: each for key, each in known.items() if each is not None}
        case str() | bytes():
            return found
        case Sequence():
            return _kept(found, how)
        case _:
            return how(found)


def _kept(items: Iterable[Any], how: Callable[[Any], Any]) -> Sequence[Any]:
    return [seen for each in items if (seen := how(each)) is not None]


S = TypeVar("S")


class Services:
    """Services by type; a missing service is created with its defaults.

    Copies made with `put` share all other services, so counts and caches are common.
    """

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        """Start without services."""
        self._by_type: dict[type, Any] = {}

    def get(self, kind: type[S]) -> S:
        """Return the service of this type; create it with `kind()` if it is missing."""
        found = self._by_type.get(kind)
        if found is None:
            found = self._by_type.setdefault(kind, kind())
        service: S = found
        return service

    async def close(self) -> None:
        """Close each service that has a close method."""
        for service in self._by_type.values():
            if (close := getattr(service, "close", None)) is not None:
                await close()

    def put(self, service: Any, kind: type | None = None) -> "Services":
        """Return a copy with this service under `kind`, by default its own type."""
        copied = Services()
        copied._by_type.update(self._by_type)
        copied._by_type[kind or type(service)] = service
        return copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Canon:
    """The ports of a store, and the services of the packages above the canon.

    A package declares its services as one dataclass whose fields have defaults, and reads them with
    `canon.service(WorldServices)`. `store` is the unfiltered canon of a filtered one, and `seeing`
    its viewer; `now` is the canon that this one narrows to a `viewpoint`. Answer a caller through
    `seen_by` or `within`; `state` reads every space.
    """

    ledger: Ledger
    state: State
    documents: Documents
    text: Text
    catalog: Catalog
    places: Places
    clock: Clock
    identities: Identities
    policy: Policy
    reader: DocumentReader
    space_kinds: SpaceKinds = field(default_factory=SpaceKinds)
    services: Services = field(default_factory=Services)
    outside: OutsideServices = field(default_factory=OutsideServices)
    store: "Canon | None" = None
    seeing: Seeing | None = None
    now: "Canon | None" = None
    viewpoint: Viewpoint = NOW

    def service(self, kind: type[S]) -> S:
        """Return the service of this type, or its default."""
        return self.services.get(kind)

    def with_service(self, service: Any, kind: type | None = None) -> "Canon":
        """Return this canon with a service under `kind`, by default its own type."""
        return revised(self, services=self.services.put(service, kind))

    def revise_service(self, kind: type[S], **changes: Any) -> "Canon":
        """Return this canon with changed fields in the service of this type."""
        return self.with_service(replace(cast("Any", self.service(kind)), **changes), kind)

    @property
    def store_of_all(self) -> "Canon":
        """Return the unfiltered canon of the store."""
        return self.store or self

    def for_viewer(self, viewer: Viewer) -> "Canon":
        """Return the canon that this viewer sees; answer the viewer's calls only with it."""
        return self._seen(Seeing(self.store_of_all.state, self.space_kinds, viewer))

    @property
    def whole(self) -> "Canon":
        """Return the canon with all audiences, for long operator tasks."""
        state = self.store_of_all.state
        return self._seen(Seeing(state, self.space_kinds, ALL_SEEING, lasting=True))

    @property
    def judged(self) -> "Canon":
        """Return the canon with all audiences and secret parts, for verdicts."""
        return self._seen(Seeing(self.store_of_all.state, self.space_kinds, ALL_SEEING, raw=True))

    def _seen(self, seeing: Seeing) -> "Canon":
        store = self.store_of_all
        return revised(
            self,
            state=seeing.of(store.state),
            documents=seeing.of(store.documents),
            text=seeing.of(store.text),
            places=seeing.of(store.places),
            store=store,
            seeing=seeing,
        )

    def tells(self, entry: Entry) -> bool:
        """Tell whether this canon's viewer may see the entry."""
        audience: Audience = getattr(entry, "audience", EVERYBODY)
        return self.seeing is None or self.seeing.viewer.sees(audience)

    async def told(self, found: Any) -> Any:
        """Filter a use case's own result for this canon's viewer."""
        return found if self.seeing is None else await self.seeing.told(found)

    async def reach(self, spaces: Spaces) -> Spaces:
        """Return the spaces and compartments that a query covers for this canon's viewer."""
        return spaces if self.seeing is None else await self.seeing.reach(spaces)

    def seen_by(self, caller: Caller) -> Sight:
        """Return lookups limited to the items that the caller may see.

        A caller without explicit grants sees all spaces except accounts, and the caller's own
        account.
        """
        return Sight(state=self.state, kinds=self.space_kinds, spaces=caller.spaces, caller=caller)

    def within(self, *spaces: SpaceId) -> Sight:
        """Return lookups limited to these spaces; check first that the caller may see them."""
        return self.covering(frozenset(spaces))

    def covering(self, spaces: Spaces) -> Sight:
        """Return lookups limited to the spaces of a query."""
        return Sight(state=self.state, kinds=self.space_kinds, spaces=spaces)

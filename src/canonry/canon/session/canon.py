"""The canon for use cases: a store's ports, services and each viewer's view of the state."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from canonry.canon.judging.relation_timelines import has_quantity
from canonry.canon.ports.files import DocumentReader
from canonry.canon.session.caller import Caller
from canonry.canon.session.paging import every_item
from canonry.canon.session.what_holds import NOW, Viewpoint, is_follower
from canonry.log.commits import Position
from canonry.log.entries import Entry, StoredItem
from canonry.log.items.entities import (
    Entity,
    normalised_name,
    proposal_for_viewer,
    referenced_ids,
    without_hidden,
)
from canonry.log.items.facts import Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.secret_parts import as_seen, audience_of, has_variants
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock, Identities
from canonry.models.outside_services import OutsideServices
from canonry.readmodels.ports.documents import Catalog, Documents, Places
from canonry.readmodels.ports.state import RelationQuery, Spaces, State
from canonry.readmodels.ports.text import Text
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.readmodels.timeline import TimelineEvent
from canonry.values.audience import EVERYBODY, FULL_VIEWER, Audience, Viewer, may_view, space_of
from canonry.values.fields import with_changes
from canonry.values.ids import SceneId, Space, SpaceId, SpaceKind
from canonry.values.moments import comes_after, sort_by_story
from canonry.values.policy import Policy

APART: Final = frozenset((SpaceKind.ACCOUNT, SpaceKind.PROJECT))
"""Items in spaces of these kinds are found only by a query that names the space."""

_TRIES: Final = 3  # the list of spaces may grow for ever while it is read


@dataclass(slots=True, eq=False)
class SpaceKinds:
    """The kinds of a store's spaces, cached per process; each lookup reads only new spaces."""

    _known: dict[SpaceId, SpaceKind] = field(default_factory=dict[SpaceId, SpaceKind])
    _default_spaces: Spaces = None
    _asked: dict[SpaceId, SpaceKind] = field(default_factory=dict[SpaceId, SpaceKind])

    async def kind_of(self, state: State, space: SpaceId) -> SpaceKind | None:
        """Return the kind of a space, or None if it does not exist; reads each space once."""
        kind = self._asked.get(space)
        if kind is None:
            found = (await state.items_by_id((space,))).get(space)
            if isinstance(found, Space):
                kind = self._asked[space] = found.kind
        return kind

    async def all_spaces(self, state: State) -> frozenset[SpaceId]:
        """Return all spaces of the store."""
        return frozenset(await self._read_new_spaces(state))

    async def default_spaces(self, state: State) -> Spaces:
        """Return all spaces except those in `APART`; None if there are no exceptions."""
        known = await self._read_new_spaces(state)
        if len(known) != len(self._known):  # spaces are added, never removed
            self._known = known
            shared = frozenset(space for space, kind in known.items() if kind not in APART)
            self._default_spaces = None if len(shared) == len(known) else shared
        return self._default_spaces

    async def _read_new_spaces(self, state: State) -> dict[SpaceId, SpaceKind]:
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
# `ReadScope` finds items by id in some spaces. `AudienceView` wraps views for one viewer. A canon
# without secrets is read directly. Otherwise a query covers the compartments that the viewer may
# read, and the ids of hidden items are removed from the answer.

V = TypeVar("V")
Asking: TypeAlias = Callable[..., Awaitable[Any]]
_TURNS: Final = 500  # bounds the memory of a step through a long scene


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScope:
    """The state within `spaces`; None: all spaces except other users' accounts.

    Made by `Canon.seen_by` and `Canon.within`.
    """

    state: State
    kinds: SpaceKinds
    spaces: Spaces
    caller: Caller | None = None

    async def may_see_space(self, space: SpaceId) -> bool:
        """Return whether the caller may see items of this space."""
        if self.spaces is not None:
            return space in self.spaces
        if await self.kinds.kind_of(self.state, space) is not SpaceKind.ACCOUNT:
            return True
        return self.caller is not None and space == self.caller.account_id

    async def find_item(self, item_id: str) -> StoredItem | None:
        """Return the item with this id, or None."""
        return (await self.items_by_id((item_id,))).get(item_id)

    async def items_by_id(self, ids: Iterable[str]) -> Mapping[str, StoredItem]:
        """Return the existing items by id; a merged entity is returned as itself."""
        wanted = tuple(ids)
        return await self._without_hidden(await self.state.items_by_id(wanted)) if wanted else {}

    async def items_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, StoredItem]:
        """Return the items as they were after `position` of their space."""
        return await self._without_hidden(await self.state.items_as_known_at(ids, position))

    async def root_entities(
        self, ids: Iterable[str], found: Mapping[str, StoredItem] | None = None
    ) -> Mapping[str, Entity]:
        """Return the entities by id; a merged entity is replaced by its survivor.

        `found` are the items with these ids, if they were read already.
        """
        found = await self.items_by_id(ids) if found is None else found
        moved = {e.merged_into for e in found.values() if isinstance(e, Entity) and e.merged_into}
        known = {**found, **await self.items_by_id(moved - found.keys())}
        return {
            given: root
            for given, e in found.items()
            if isinstance(e, Entity)
            and isinstance(root := known.get(e.merged_into or given), Entity)
        }

    async def _without_hidden(self, found: Mapping[str, StoredItem]) -> Mapping[str, StoredItem]:
        spaces = {item.space for item in found.values()}
        hidden = {space for space in spaces if not await self.may_see_space(space)}
        return {i: t for i, t in found.items() if t.space not in hidden} if hidden else found


@dataclass(slots=True, eq=False)
class AudienceView:
    """One viewer's view of a store; the list of compartments is read once.

    `lasting`: read the compartments for each query, because other writers add some meanwhile.
    `raw`: return items with their secret parts, for the gates.
    """

    state: State
    kinds: SpaceKinds
    viewer: Viewer
    raw: bool = False
    lasting: bool = False
    _known_compartments: frozenset[SpaceId] | None = field(default=None)

    async def known_compartments(self) -> frozenset[SpaceId]:
        """Return the compartments with items of restricted audience."""
        if self._known_compartments is None or self.lasting:
            self._known_compartments = await self.state.compartments()
        return self._known_compartments

    async def covered_spaces(self, spaces: Spaces) -> Spaces:
        """Return the spaces and compartments that a query of these spaces covers."""
        known = await self.known_compartments()
        if not known:
            return spaces
        mine = frozenset(each for each in known if may_view(each, self.viewer))
        if spaces is None:
            return mine | await self.kinds.all_spaces(self.state)
        return spaces | {each for each in mine if space_of(each) in spaces}

    async def hidden_ids(self, ids: Iterable[str]) -> frozenset[str]:
        """Return the existing ids of `ids` that the viewer may not see."""
        wanted = frozenset(ids)
        if not wanted or self.viewer.masters:
            return frozenset()
        found = await self.state.items_by_id(wanted)
        return frozenset(i for i, t in found.items() if not self.viewer.may_see(audience_of(t)))

    async def filter_answer(self, found: Any, items_then: Asking | None = None) -> Any:
        """Filter a view's answer for the viewer; `items_then` returns items as of its position."""
        if self.raw or (self.viewer.masters and not await self.known_compartments()):
            return found
        items = [each for each in _items_in(found) if each is not None]
        hidden = await self.hidden_ids(i for each in items for i in referenced_ids(each))
        seen = _map_items(found, partial(self._view_item, hidden=hidden))
        few = [e for e in _items_in(seen) if isinstance(e, Relation) and e.audience and e.current]
        return (
            _map_items(
                seen, partial(_end_by_follower, await self._limited_relations(few, items_then))
            )
            if few
            else seen
        )

    async def _limited_relations(
        self, few: Sequence[Relation], items_then: Asking | None
    ) -> Sequence[Relation]:
        """Return the current relations of the same entities that only some readers know of."""
        spaces = frozenset(space_of(each.space) for each in few)
        query = RelationQuery(
            spaces=(await self.covered_spaces(spaces) or spaces) - spaces,
            entities=frozenset(i for each in few for i in (each.from_id, each.to_id)),
            current=items_then is None,
            newest_first=True,
            limit=PAGE_MAX,
        )
        found: Iterable[Any] = (await self.state.relations(query)).items
        if items_then is not None:
            found = (await items_then(each.id for each in found)).values()
        seen = [e for e in (as_seen(each, self.viewer) for each in found) if e is not None]
        return sort_by_story((e for e in seen if e.audience and e.current), lambda e: e.moment)

    def _view_item(self, item: Any, *, hidden: Collection[str]) -> Any:
        if isinstance(item, TimelineEvent):
            return replace(item, space=space_of(item.space))
        seen = as_seen(item, self.viewer) if has_variants(item) else item
        if isinstance(seen, Proposal) and not self.viewer.masters:
            seen = proposal_for_viewer(seen, self.viewer)
        return without_hidden(seen, hidden) if hidden and seen is not None else seen


class _FilteredView:
    """A proxy that filters the answers of all methods of a view."""

    __slots__ = ("_audience_view", "_view")

    def __init__(self, view: Any, audience_view: AudienceView) -> None:
        self._view = view
        self._audience_view = audience_view

    def __getattr__(self, name: str) -> Asking:
        ask, audience_view = getattr(self._view, name), self._audience_view
        special = _SPECIAL.get(name)

        async def ask_filtered(*args: Any, **kwargs: Any) -> Any:
            if not await audience_view.known_compartments():
                return await ask(*args, **kwargs)
            if special is not None:
                return await special(audience_view, ask, *args, **kwargs)
            wide = [await _widen_query(audience_view, each) for each in args]
            filtered = await audience_view.filter_answer(await ask(*wide, **kwargs))
            if not getattr(args[0], "current", False):
                return filtered
            kept = [each for each in filtered.items if each.current]
            return Page(items=kept, total=filtered.total - len(filtered.items) + len(kept))

        return ask_filtered


def _end_by_follower(others: Sequence[Relation], item: Any) -> Any:
    """End a relation where one follows that was told to other readers than its own.

    Neither audience covers the other, so no end is recorded. A reader in both sees the later one.
    """
    if not isinstance(item, Relation) or not item.audience or not item.current:
        return item
    apart = (e for e in others if e.audience != item.audience and is_follower(e, item))
    successor = next((each for each in apart if comes_after(each.moment, item.moment)), None)
    if successor is None or (has_quantity(successor.properties) and has_quantity(item.properties)):
        return item
    return with_changes(item, ended=True, until=successor.since, superseded_by=successor.id)


async def _widen_query(audience_view: AudienceView, asked: Any) -> Any:
    if not is_dataclass(asked) or not hasattr(asked, "spaces"):
        return asked
    query: Any = asked
    return replace(query, spaces=await audience_view.covered_spaces(query.spaces))


async def _ask_unfiltered(_: AudienceView, ask: Asking, *args: Any, **kwargs: Any) -> Any:
    return await ask(*args, **kwargs)


async def _ask_types(audience_view: AudienceView, ask: Asking, spaces: Spaces) -> Any:
    return await ask(await audience_view.covered_spaces(spaces))


async def _ask_past_items(
    audience_view: AudienceView, ask: Asking, ids: Iterable[str], position: int
) -> Any:
    """Return what the viewer knew then and may still know."""
    wanted = tuple(ids)
    hidden = await audience_view.hidden_ids(wanted)
    found = await ask((i for i in wanted if i not in hidden), position)
    return await audience_view.filter_answer(found, lambda ids: ask(ids, position))


async def _ask_in_space(
    audience_view: AudienceView, ask: Asking, space: SpaceId, *args: Any
) -> Sequence[Any]:
    """Return the first items of each compartment, oldest first."""
    return sorted(await _ask_all_compartments(audience_view, ask, space, *args), key=_creation_key)


async def _ask_entities_named(
    audience_view: AudienceView, ask: Asking, space: SpaceId, entity_type: str, name: str
) -> Sequence[Any]:
    """Return entities by name; those with the name only in the past come last."""
    found = await _ask_all_compartments(audience_view, ask, space, entity_type, name)
    normalised = normalised_name(name)
    return sorted(
        found, key=lambda each: (normalised_name(each.name) != normalised, *_creation_key(each))
    )


async def _ask_all_compartments(
    audience_view: AudienceView, ask: Asking, space: SpaceId, *args: Any
) -> Sequence[Any]:
    there = await audience_view.covered_spaces(frozenset((space,))) or ()
    found = [each for one in sorted(there) for each in await ask(one, *args)]
    filtered: Sequence[Any] = await audience_view.filter_answer(found)
    return list({each.id: each for each in filtered}.values())


def _creation_key(item: Any) -> tuple[int, str]:
    return item.created_at, item.id


async def _page_in_space(
    audience_view: AudienceView, ask: Asking, space: SpaceId, *, limit: int, offset: int
) -> Page[Any]:
    there = await audience_view.covered_spaces(frozenset((space,))) or ()
    found = [each for one in sorted(there) async for each in every_item(partial(ask, one))]
    return _cut_page(
        sorted(await audience_view.filter_answer(found), key=_creation_key), limit, offset
    )


async def _page_of_owner(
    audience_view: AudienceView, ask: Asking, owner: Any, *, limit: int, offset: int
) -> Page[Any]:
    """Return a page of a list that belongs to one owner, whatever its items' audiences."""
    mine = owner if isinstance(owner, str) else tuple(owner)
    found = [each async for each in every_item(partial(ask, mine))]
    return _cut_page(await audience_view.filter_answer(found), limit, offset)


async def _log_of_owner(
    audience_view: AudienceView, ask: Asking, owner: str, *, after: int, limit: int
) -> Sequence[Any]:
    found: list[Any] = []
    while len(found) < limit:
        some = await ask(owner, after=after, limit=limit)
        found += await audience_view.filter_answer(some)
        if len(some) < limit:
            break
        after = some[-1].position
    return found[:limit]


async def _merge_compartments(
    audience_view: AudienceView,
    ask: Asking,
    space: SpaceId,
    *args: Any,
    limit: int,
    last_first: bool = False,
) -> Sequence[Any]:
    """Merge the first items of each compartment in the order of the walk."""
    there = await audience_view.covered_spaces(frozenset((space,))) or ()
    found = [each for one in sorted(there) for each in await ask(one, *args, limit=limit)]
    filtered = sorted(await audience_view.filter_answer(found), key=_walk_key, reverse=last_first)
    return filtered[:limit]


def _walk_key(item: Any) -> tuple[Any, ...]:
    return (*getattr(item, "rank", (item.created_at, 0)), item.id)


async def _ask_turns(
    audience_view: AudienceView,
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
        found += await audience_view.filter_answer(some)
        if len(some) < _TURNS:
            break
        after = some[-1].index
    return found[:limit] if last is None else found[max(0, len(found) - last) :]


def _cut_page(items: Sequence[Any], limit: int, offset: int) -> Page[Any]:
    return Page(items=items[offset : offset + limit], total=len(items))


_SPECIAL: Final[Mapping[str, Callable[..., Awaitable[Any]]]] = {
    **dict.fromkeys(
        ("cursor", "apply", "compartments", "spaces", "ids_beginning"), _ask_unfiltered
    ),
    "entity_types": _ask_types,
    "items_as_known_at": _ask_past_items,
    "entities_named": _ask_entities_named,
    **dict.fromkeys(("facts_stating", "facts_framed"), _ask_in_space),
    "sources": _page_in_space,
    "turns": _ask_turns,
    "observations": _log_of_owner,
    **dict.fromkeys(("snippets", "observations_newest", "observations_from"), _page_of_owner),
    **dict.fromkeys(("entities_after", "events_after"), _merge_compartments),
    "events_until": partial(_merge_compartments, last_first=True),
}
"""Methods that take a space or an owner instead of a query."""


def _items_in(found: Any) -> Iterable[Any]:
    match found:
        case Page(items=items):
            return items
        case Mapping():
            return [item for each in found.values() for item in _items_in(each)]
        case str() | bytes():
            return ()
        case Sequence():
            return found
        case _:
            return (found,)


def _map_items(found: Any, how: Callable[[Any], Any]) -> Any:
    """Apply a function to each item of an answer; items without a result are removed."""
    match found:
        case Page(items=items):
            return Page(items=_map_present(items, how), total=found.total)
        case Mapping():
            known = {key: _map_items(each, how) for key, each in found.items()}
            return {key: each for key, each in known.items() if each is not None}
        case str() | bytes():
            return found
        case Sequence():
            return _map_present(found, how)
        case _:
            return how(found)


def _map_present(items: Iterable[Any], how: Callable[[Any], Any]) -> Sequence[Any]:
    return [seen for each in items if (seen := how(each)) is not None]


S = TypeVar("S")


class Services(dict[type, Any]):
    """Services by type; a missing service is created with its defaults.

    A canon made with `with_service` shares all other services, so counts and caches are common.
    """

    def __missing__(self, kind: type[S]) -> S:
        return self.setdefault(kind, kind())  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Close each service that has a close method."""
        for service in self.values():
            if (close := getattr(service, "close", None)) is not None:
                await close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Canon:
    """The ports of a store, and the services of the packages above the canon.

    A package declares its services as one dataclass whose fields have defaults, and reads them with
    `canon.service(WorldServices)`. `store` is the unfiltered canon of a filtered one, and
    `audience_view` its viewer; `now` is the canon that this one narrows to a `viewpoint`. Answer a
    caller through `caller_scope` or `space_scope`; `state` reads every space.
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
    audience_view: AudienceView | None = None
    now: "Canon | None" = None
    viewpoint: Viewpoint = NOW

    def find_service(self, kind: type[S]) -> S:
        """Return the service of this type, or its default."""
        service: S = self.services[kind]
        return service

    def with_service(self, service: Any, kind: type | None = None) -> "Canon":
        """Return this canon with a service under `kind`, by default its own type."""
        services = Services({**self.services, kind or type(service): service})
        return with_changes(self, services=services)

    def revise_service(self, kind: type[S], **changes: Any) -> "Canon":
        """Return this canon with changed fields in the service of this type."""
        return self.with_service(replace(cast("Any", self.find_service(kind)), **changes), kind)

    @property
    def store_of_all(self) -> "Canon":
        """Return the unfiltered canon of the store."""
        return self.store or self

    def for_viewer(self, viewer: Viewer) -> "Canon":
        """Return the canon that this viewer sees; answer the viewer's calls only with it."""
        return self._through_view(AudienceView(self.store_of_all.state, self.space_kinds, viewer))

    @property
    def with_all_audiences(self) -> "Canon":
        """Return the canon with all audiences, for long operator tasks."""
        state = self.store_of_all.state
        return self._through_view(AudienceView(state, self.space_kinds, FULL_VIEWER, lasting=True))

    @property
    def with_all_secrets(self) -> "Canon":
        """Return the canon with all audiences and secret parts, for verdicts."""
        return self._through_view(
            AudienceView(self.store_of_all.state, self.space_kinds, FULL_VIEWER, raw=True)
        )

    def _through_view(self, audience_view: AudienceView) -> "Canon":
        store = self.store_of_all
        views: dict[str, Any] = {
            name: _FilteredView(getattr(store, name), audience_view)
            for name in ("state", "documents", "text", "places")
        }
        return with_changes(self, **views, store=store, audience_view=audience_view)

    def may_see_entry(self, entry: Entry) -> bool:
        """Return whether this canon's viewer may see the entry."""
        audience: Audience = getattr(entry, "audience", EVERYBODY)
        return self.audience_view is None or self.audience_view.viewer.may_see(audience)

    async def filter_answer(self, found: Any) -> Any:
        """Filter a use case's own result for this canon's viewer."""
        return (
            found if self.audience_view is None else await self.audience_view.filter_answer(found)
        )

    async def covered_spaces(self, spaces: Spaces) -> Spaces:
        """Return the spaces and compartments that a query covers for this canon's viewer."""
        view = self.audience_view
        return spaces if view is None else await view.covered_spaces(spaces)

    def caller_scope(self, caller: Caller) -> ReadScope:
        """Return lookups limited to the items that the caller may see.

        A caller without explicit grants sees all spaces except accounts, and the caller's own
        account.
        """
        return ReadScope(
            state=self.state, kinds=self.space_kinds, spaces=caller.spaces, caller=caller
        )

    def space_scope(self, *spaces: SpaceId) -> ReadScope:
        """Return lookups limited to these spaces; check first that the caller may see them."""
        return ReadScope(state=self.state, kinds=self.space_kinds, spaces=frozenset(spaces))

    def query_scope(self, spaces: Spaces) -> ReadScope:
        """Return lookups limited to the spaces of a query."""
        return ReadScope(state=self.state, kinds=self.space_kinds, spaces=spaces)

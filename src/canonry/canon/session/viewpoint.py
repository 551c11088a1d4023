"""The canon narrowed to a viewpoint: each read answers as of a moment, and as known at a time.

A narrowed canon has the ports of the canon. It reads more than was asked, returns the items to
their state at the viewpoint, and applies the filters of the query to that state.
"""

from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, TypeVar, cast

from canonry.canon.judging.state_tags import changes_of, tags_held_at
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import first_items, page_reader
from canonry.canon.session.what_holds import (
    Viewpoint,
    entity_then,
    events_until,
    facts_at,
    is_later,
    moment_at,
    relations_at,
    without_later_end,
)
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import CallUndone, Entry, Made, Redacted, StoredItem, Tombstone, Withdrawn
from canonry.log.fold_commit import fold_commit, ids_needed, ids_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, Story, Turn, TurnDraft
from canonry.log.items.sources import Snippet, Source
from canonry.log.observations import entry_audience
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.readmodels.ports.state import RelationQuery, State
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.values.errors import InvalidInput, NotFound, Unavailable
from canonry.values.fields import with_changes
from canonry.values.ids import Space, SpaceId
from canonry.values.moments import Instant, Moment
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

UNDO_REACH: Final = 2_000
"""The number of newest commits in which an undo finds its call."""
_PAGE: Final = 500  # bounds the memory of a walk through the log
_READ_MAX: Final = 100 * _PAGE
"""The most commits that are folded again for items that have changed since."""
WITHDRAWN: Final = (Turn, Snippet, Source, Scene, Proposal)
"""The kinds of items that an undo withdraws."""


async def items_as_recorded(
    canon: Canon, space: SpaceId, items: Mapping[str, Any], until: Position
) -> dict[str, Any]:
    """Return items of a space that were made until then as they were at `until`.

    Raises:
        Unavailable: `viewpoint.too-wide`, the log since the first of them is too long.
    """
    if not items:
        return {}
    begin = Position(min(each.position for each in items.values()) - 1)
    if until - begin > _READ_MAX:
        message = "Too many commits would have to be read as of that time. Choose one item or kind."
        raise Unavailable("viewpoint.too-wide", message)
    again = _Refolding(canon=canon, ids=items.keys())
    async for commit in _read_commits(canon, space, begin, until):
        await again.fold_entries(commit)
    return again.found


async def withdrawn_later(canon: Canon, space: SpaceId, until: Position) -> Mapping[str, Any]:
    """Return the items that stood at `until`, and that an undo withdrew or recorded again later.

    The undo of a call that was known at `until` is at most `UNDO_REACH` commits later.
    """
    gone: set[str] = set()
    async for commit in _read_commits(canon, space, until, Position(until + UNDO_REACH)):
        first = commit.entries[0]
        redacted = isinstance(first, Redacted) and first.kind == "call.undone"
        if redacted or isinstance(first, CallUndone):
            gone.update(one for entry in commit.entries for one in _ids_withdrawn(entry))
    if not gone:
        return {}
    again = _Refolding(canon=canon, ids=gone)
    async for commit in _read_commits(
        canon, space, Position(max(ORIGIN, until - UNDO_REACH)), until
    ):
        await again.fold_entries(commit)
    return {i: e for i, e in again.found.items() if isinstance(e, WITHDRAWN)}


def _ids_withdrawn(entry: Entry) -> tuple[str, ...]:
    gone = isinstance(entry, Redacted) and entry.kind == "space.withdrawn"
    return ids_of(entry) if gone or isinstance(entry, Withdrawn) else ()


async def _read_commits(
    canon: Canon, space: SpaceId, after: Position, until: Position
) -> AsyncIterator[Commit]:
    while after < until:
        page = await canon.ledger.read_commits(space, after=after, limit=min(_PAGE, until - after))
        for commit in page:
            yield commit
        after = page[-1].position if page else until


@dataclass(slots=True, kw_only=True)
class _Refolding:
    """Items that are folded from the entries about them which the viewer may see."""

    canon: Canon
    ids: Collection[str]
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    _turns: Counter[str] = field(default_factory=Counter[str])

    async def fold_entries(self, commit: Commit) -> None:
        """Fold the entries of a commit that are about the items."""
        audience_view = self.canon.audience_view
        for entry in commit.entries:
            for own in _ids_withdrawn(entry):
                self.found.pop(own, None)
            own = ids_of(entry)[0]
            item = entry.thing if isinstance(entry, Made) else None
            hidden = audience_view is not None and not audience_view.viewer.may_see(
                entry_audience(entry)
            )
            if own not in self.ids or hidden or (item is None and own not in self.found):
                continue
            around = await self.canon.store_of_all.state.items_by_id(
                ids_needed((entry,)) - self.found.keys()
            )
            loaded: dict[str, Any] = {**around, **self.found}
            scene = loaded.get(item.scene_id) if isinstance(item, TurnDraft) else None
            if isinstance(scene, Scene):
                before = Position(commit.position - 1)
                count = max(self._turns[scene.id], await count_turns(self.canon, scene, before))
                loaded[scene.id] = replace(scene, turn_count=count)
                self._turns[scene.id] = count + 1
            one = replace(commit, entries=(entry,))
            self.found |= {i: e for i, e in fold_commit(one, loaded).items.items() if i in self.ids}


async def count_turns(canon: Canon, scene: Scene, until: Position) -> int:
    """Return the number of turns that a scene had at a position, by bisection."""
    least, most = 0, scene.turn_count
    while least < most:
        middle, documents = (least + most) // 2, canon.store_of_all.documents
        found = await documents.turns(scene.id, after=middle - 1, limit=1)
        then = [each.index for each in found if each.position <= until]
        least, most = (then[0] + 1, most) if then else (least, middle)
    return least


V = TypeVar("V")
PAGES_MAX: Final = 40  # bounds the time of a call about an entity with many observations
WALKED_MAX: Final = 20 * PAGE_MAX
"""The most items that one query returns to an earlier state."""

_VERSIONED: Final = (Entity, Relation, Fact, Event, Axiom, Source, Story)
_AS_IT_IS: Final = frozenset(
    {"cursor", "compartments", "spaces", "ids_beginning", "items_as_known_at", "identifier_owners"}
    | {"entities_seen_until", "timeline", "schemas", "runs", "runs_newest", "entity_types"}
)

_LISTS: Final[Mapping[str, tuple[type, str]]] = {
    "turns": (Turn, "scene_id"),
    "snippets": (Snippet, "source_id"),
    "scenes": (Scene, "space"),
    "sources": (Source, "space"),
    "proposals": (Proposal, "space"),
}
"""The lists of items that an undo withdraws, with the member that their argument names."""

_OPEN: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("all_of", "any_of", "none_of"), frozenset()),
    "name_pattern": None,
    "current": False,
}
_OPEN_TO_PAST: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("level", "status", "asks", "start", "end")),
    "include_merged": True,
}
"""The filters of queries by what may have been different, so that they find everything."""


def narrow_canon(canon: Canon, view: Viewpoint) -> Canon:
    """Return the canon as it is seen from a viewpoint; answer only reads with it."""
    if view.at is None and not view.is_past:
        return with_clock(with_changes(canon, viewpoint=view), view.clock)
    narrowing = Narrowing(canon=canon, view=view)
    return with_changes(
        canon,
        state=narrowing.wrap_view(canon.state),
        documents=narrowing.wrap_view(canon.documents),
        ledger=narrowing.wrap_view(canon.ledger) if view.is_past else canon.ledger,
        viewpoint=view,
        now=canon,
    )


def with_clock(canon: Canon, clock: Instant | None) -> Canon:
    """Return a canon that is seen at no time of its own as of the present at `clock`."""
    view = replace(canon.viewpoint, clock=clock)
    state = canon.state if clock is None else cast("Any", _Planned(canon.state, view))
    return with_changes(canon, state=state, viewpoint=view)


async def items_at_viewpoint(canon: Canon, items: Iterable[StoredItem]) -> Sequence[Any]:
    """Return the items that existed at the canon's viewpoint, in their state of then."""
    if canon.now is None:
        return list(items)
    found = list(items)
    then = await Narrowing(canon=canon.now, view=canon.viewpoint).items_then(found)
    return [then[each.id] for each in found if each.id in then]


async def withdrawn_items(canon: Canon, space: SpaceId) -> Sequence[Any]:
    """Return the items that were known at the canon's viewpoint and that an undo withdrew later."""
    if canon.now is None or not canon.viewpoint.is_past:
        return ()
    return [
        *(await Narrowing(canon=canon.now, view=canon.viewpoint).withdrawn_since(space)).values()
    ]


async def require_at_viewpoint(canon: Canon, item: StoredItem) -> Any:
    """Return the item as it was at the canon's viewpoint.

    Raises:
        NotFound: `entity.not-yet`.
        InvalidInput: `thing.not-yet`.
    """
    found = await items_at_viewpoint(canon, (item,))
    if found:
        return found[0]
    if isinstance(item, Entity):
        message = "This entity did not exist then. Give a later time."
        raise NotFound("entity.not-yet", message, kind="entity", id=item.id)
    path = "/as_known_at" if canon.viewpoint.is_past else "/at"
    message = f"This item was not known at that time or did not hold. Give another time in {path}."
    raise InvalidInput("thing.not-yet", message, path=path)


@dataclass(slots=True, eq=False)
class Narrowing:
    """The reading of items at a viewpoint, through the views of one viewer."""

    canon: Canon
    view: Viewpoint
    _positions: dict[SpaceId, Position] = field(default_factory=dict[SpaceId, Position])
    _withdrawn: dict[SpaceId, Mapping[str, Any]] = field(default_factory=dict[SpaceId, Any])

    def wrap_view(self, view: V) -> V:
        """Wrap a view of the store for the viewpoint."""
        return cast("V", _ViewThen(view, self))

    async def items_then(self, found: Sequence[Any], *, by_id: bool = False) -> Mapping[str, Any]:
        """Return the items that existed at the viewpoint, in their state of then.

        Looked up `by_id`, an entity has a name even before anything was stated of it.
        """
        known = {each.id: each for each in found}
        if self.view.is_past:
            known = await self._as_recorded(known)
        if self.view.at is not None:
            known = await self._items_holding(known, self.view.at, by_id=by_id)
        return known

    async def known_until(self, space: SpaceId) -> Position:
        """Return the last log position of a space that is known."""
        if self.view.known is not None:
            return self.view.known
        if space not in self._positions:
            at = cast("Instant", self.view.known_at)
            self._positions[space] = await self.canon.ledger.position_at(space, at)
        return self._positions[space]

    async def withdrawn_since(self, space: SpaceId) -> Mapping[str, Any]:
        """Return the items of a space that were known, and that an undo withdrew later."""
        if space not in self._withdrawn:
            until = await self.known_until(space)
            self._withdrawn[space] = await withdrawn_later(self.canon, space, until)
        return self._withdrawn[space]

    async def withdrawn_from(self, name: str, asked: Sequence[Any]) -> list[Any]:
        """Return the withdrawn items that the list `name` had, for its first argument."""
        kind, parent = _LISTS.get(name, (None, ""))
        if kind is None or not self.view.is_past or not asked:
            return []
        of, found = asked[0], list[Any]()
        around = (
            ()
            if is_dataclass(of)
            else (await self.canon.store_of_all.state.items_by_id((of,))).values()
        )
        spaces: Any = getattr(of, "spaces", None) or {getattr(e, "space", e.id) for e in around}
        for space in spaces:
            every = (await self.withdrawn_since(space)).values()
            fits = getattr(of, "matches", lambda each: getattr(each, parent) == of)
            found += [each for each in every if isinstance(each, kind) and fits(each)]
        return found

    async def _with_turn_count(self, scene: Scene, then: Scene, until: Position) -> Scene:
        """Return a scene with the number of turns that it had."""
        gone = await self.withdrawn_since(scene.space)
        own = [e.index + 1 for e in gone.values() if isinstance(e, Turn) and e.scene_id == scene.id]
        turns = await count_turns(self.canon, scene, until)
        return replace(then, turn_count=max((turns, *own)))

    async def _as_recorded(self, items: Mapping[str, Any]) -> dict[str, Any]:
        """Return the items as they were recorded; spaces stay, and erased items stay erased."""
        past: dict[str, Any] = {}
        for space in {each.space for each in items.values()}:
            until = await self.known_until(space)
            here = {i: each for i, each in items.items() if each.space == space}
            may_go = any(isinstance(each, (*WITHDRAWN, Tombstone)) for each in here.values())
            gone = await self.withdrawn_since(space) if may_go else {}
            past |= {i: gone[i] for i in here if i in gone}
            here = {i: each for i, each in here.items() if i not in gone}
            kept = [i for i, each in here.items() if isinstance(each, _VERSIONED)]
            past |= await self.canon.state.items_as_known_at(kept, until) if kept else {}
            others = {i: e for i, e in here.items() if i not in kept}
            others = {
                i: e for i, e in others.items() if isinstance(e, Space) or e.position <= until
            }
            changed = {i: e for i, e in others.items() if isinstance(e, Scene | Proposal)}
            changed = {i: e for i, e in changed.items() if e.changed_at > until}
            past |= others | await items_as_recorded(self.canon, space, changed, until)
            for each in others.values():
                if isinstance(each, Scene):
                    past[each.id] = await self._with_turn_count(each, past[each.id], until)
        return {i: past[i] for i in items if i in past and not isinstance(past[i], Tombstone)}

    async def _items_holding(
        self, items: dict[str, Any], moment: Moment, *, by_id: bool
    ) -> dict[str, Any]:
        stated = [e for e in items.values() if isinstance(e, Fact | Relation)]
        successors = {e.superseded_by for e in stated if e.superseded_by is not None} - items.keys()
        around = dict(await self.canon.state.items_by_id(successors)) if successors else {}
        if successors and self.view.is_past:
            around = await self._as_recorded(around)
        every = (*items.values(), *around.values())
        statements = [e for e in every if getattr(e, "level", None) is not CanonLevel.RETCONNED]
        held = {
            *(e.id for e in relations_at(moment, statements)),
            *(e.id for e in facts_at(moment, statements, ())),
            *(e.id for e in events_until(moment, (e for e in statements if isinstance(e, Event)))),
        }
        entities = [each for each in items.values() if isinstance(each, Entity)]
        then = await entities_then(self.canon, entities, moment, self._known_end, by_id=by_id)
        known: dict[str, Any] = {i: e for i, e in items.items() if isinstance(e, Scene)}
        scene_ids = (e.scene_id for e in items.values() if isinstance(e, Turn | Memory))
        of = {each for each in scene_ids if each} - known.keys()
        more: Mapping[str, Any] = await self.canon.state.items_by_id(of) if of else {}
        scenes = {**known, **(await self._as_recorded(more) if self.view.is_past else more)}

        def item_then(each: Any) -> Any:
            match each:
                case Entity(id=one):
                    return then.get(one)
                case Fact(id=one) | Relation(id=one) | Event(id=one):
                    return without_later_end(each) if one in held else None
                case Scene(id=one) | Turn(scene_id=one) | Memory(scene_id=str(one)):
                    return None if is_later(scenes[one], self.view) else each
                case _:
                    return each

        return {i: seen for i, each in items.items() if (seen := item_then(each)) is not None}

    async def _known_end(self, entity: Entity) -> Position | None:
        return await self.known_until(entity.space) if self.view.is_past else None


def tags_then(entity: Entity, view: Viewpoint) -> Sequence[str]:
    """Return the state tags of a read entity, without those of plans."""
    clock = view.clock
    if clock is None or all((one.moment.at or 0) <= clock for one in changes_of(entity)):
        return entity.state_tags
    return sorted(tags_held_at(entity, moment_at(clock)))


class _Planned:
    """A proxy of the state whose current relations include those that end after the present."""

    __slots__ = ("_state", "_view")

    def __init__(self, state: State, view: Viewpoint) -> None:
        self._state = state
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    async def relations(self, query: RelationQuery) -> Page[Relation]:
        """Return a page of relations; of more than `WALKED_MAX`, only those without an end."""
        found, wide = await self._state.relations(query), replace(query, current=False)
        if not query.current:
            return found
        ask = page_reader(self._state.relations, wide)
        if not found.total < (await ask(limit=1, offset=0)).total <= WALKED_MAX:
            return found
        every, _ = await first_items(ask, WALKED_MAX // PAGE_MAX)
        kept = [e for e in every if e.level is CanonLevel.CANON and self._view.may_show(e)]
        return Page(items=kept[query.offset : query.offset + query.limit], total=len(kept))


class _ViewThen:
    """A proxy that answers the methods of a view as of a viewpoint."""

    __slots__ = ("_narrowing", "_view")

    def __init__(self, view: Any, narrowing: Narrowing) -> None:
        self._view = view
        self._narrowing = narrowing

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        ask: Callable[..., Awaitable[Any]] = getattr(self._view, name)
        narrowing = self._narrowing
        if name in {"head_position", "read_commits"}:
            return partial(_ask_log, narrowing, ask)
        if name in _AS_IT_IS or hasattr(self._view, "append_drafts"):  # of a ledger
            return ask

        async def ask_then(*args: Any, **kwargs: Any) -> Any:
            query = args[0] if args and is_dataclass(args[0]) else None
            gone = await narrowing.withdrawn_from(name, args)
            if query is not None and hasattr(query, "offset"):
                wide, fits = _widen_query(cast("Any", query), narrowing.view)
                return await _walk_page(narrowing, page_reader(ask, wide), fits, query, gone)
            if "offset" in kwargs:
                cut = SimpleNamespace(limit=kwargs.pop("limit"), offset=kwargs.pop("offset"))
                return await _walk_page(
                    narrowing, partial(ask, *args, **kwargs), _match_any, cut, gone
                )
            last = kwargs.pop("last", None)
            found = (
                await ask(*args, **kwargs) if last is None else await ask(*args, last=WALKED_MAX)
            )
            after, limit = kwargs.get("after", -1), kwargs.get("limit", WALKED_MAX)
            if gone := [each for each in gone if each.index > after]:  # turns
                found = sorted((*found, *gone), key=lambda each: each.index)[:limit]
            every = await _answer_then(narrowing, found, name)
            return every if last is None else every[max(0, len(every) - last) :]

        return ask_then


async def _ask_log(
    narrowing: Narrowing, ask: Callable[..., Awaitable[Any]], space: SpaceId, **page: Any
) -> Any:
    """Return the head of a log, or a page of its commits, as of the end of what is known."""
    found, until = await ask(space, **page), await narrowing.known_until(space)
    return [e for e in found if e.position <= until] if page else min(found, until)


async def _walk_page(
    narrowing: Narrowing,
    ask: Callable[..., Any],
    fits: Callable[[Any], bool],
    page: Any,
    gone: Sequence[Any],
) -> Page[Any]:
    """Return a page of the items that are there and fit the query.

    Of very many items the first are read, and the others count to the total.
    """
    every: list[Any] = []
    total = 1
    while len(every) < min(total, WALKED_MAX):
        part = await ask(limit=PAGE_MAX, offset=len(every))
        every += part.items
        total = part.total if part.items else len(every)
    left = total - len(every)
    if gone:
        every = sorted((*every, *gone), key=lambda e: (e.position, getattr(e, "index", 0)))
    then = await narrowing.items_then(every)
    found = [e for i in dict.fromkeys(one.id for one in every) if (e := then.get(i)) and fits(e)]
    if left and page.offset >= len(found):
        message = (
            f"More than {WALKED_MAX} items would have to be read as of that time. "
            "Narrow the call to one entity or kind."
        )
        raise Unavailable("viewpoint.too-wide", message)
    return Page(items=found[page.offset : page.offset + page.limit], total=len(found) + left)


async def _answer_then(narrowing: Narrowing, found: Any, name: str) -> Any:
    """Return an answer as of the viewpoint; before a merge, its members answer as well."""
    match found:
        case Page(items=items):
            there = await _answer_then(narrowing, items, name)
            return Page(items=there, total=len(there))
        case Mapping() if name == "items_by_id":
            return await narrowing.items_then([e for e in found.values() if e], by_id=True)
        case Mapping():
            pages = {key: await _answer_then(narrowing, each, name) for key, each in found.items()}
            return {key: page for key, page in pages.items() if page.items}
        case _:
            members = {i for e in found if isinstance(e, Entity) for i in e.members}
            more = await narrowing.canon.state.items_by_id(members) if members else {}
            then = dict(await narrowing.items_then([*found, *more.values()]))
            ids = [*(e.id for e in found), *sorted(more)]
            moved = {i: e.merged_into for i, e in then.items() if getattr(e, "merged_into", None)}
            roots = await narrowing.canon.state.items_by_id(moved.values() - then.keys())
            then |= await narrowing.items_then(list(roots.values()))
            return [then[i] for i in dict.fromkeys(moved.get(i, i) for i in ids) if i in then]


def _match_any(_: object) -> bool:
    return True


def _widen_query(query: Any, view: Viewpoint) -> tuple[Any, Callable[[Any], bool]]:
    """Return the query without the filters that time changes, and the whole filter."""
    changed = {**_OPEN, **_OPEN_TO_PAST} if view.is_past else _OPEN
    wide = replace(query, **{n: each for n, each in changed.items() if hasattr(query, n)})
    if view.at is not None and isinstance(query, RelationQuery):
        query = replace(query, current=False)  # what holds then may end later
    return wide, getattr(query, "matches", _match_any)


# Entities at a moment, from their observations.


async def entities_then(
    canon: Canon,
    entities: Sequence[Entity],
    moment: Moment,
    until: Callable[[Entity], Awaitable[Position | None]] | None = None,
    *,
    by_id: bool = True,
    by_story: bool = True,
) -> Mapping[str, Entity]:
    """Return the entities as they were at a moment, by id.

    One of which nothing was stated until then is as it was first stated, if it was looked up
    `by_id`; otherwise it is absent.

    Raises:
        Unavailable: `entity.too-long`.
    """
    seen = await _load_observations(canon, entities)
    found: dict[str, Entity] = {}
    for each in entities:
        known = _counting_observations(each, seen, None if until is None else await until(each))
        then = entity_then(each, known, moment, by_story=by_story)
        if then is None and by_id:
            then = each
        if then is not None:
            found[each.id] = then
    return found


async def unchanged_until(
    canon: Canon, space: SpaceId, entities: Iterable[Entity], at: Instant
) -> frozenset[str]:
    """Return the ids of entities whose state at `at` equals the current one, with one query.

    All their observations began before and hold until then, and no later one changed them. The
    other entities must be folded.
    """
    fields = {e.id: (*e.own.values(), *e.absorbed.values()) for e in entities}
    behind = {
        i: frozenset(held.observation for elements in every for held in elements.values())
        for i, every in fields.items()
    }
    seen = await canon.space_scope(space).items_by_id(frozenset[str]().union(*behind.values()))
    then = {
        each.id
        for each in seen.values()
        if isinstance(each, Observation) and each.observed_at is not None and each.observed_at <= at
    }
    return frozenset(name for name, held in behind.items() if held and held <= then)


def _counting_observations(
    entity: Entity, seen: Mapping[str, Sequence[Observation]], until: Position | None
) -> list[Observation]:
    """Return the entity's observations without retconned state changes."""
    stands = {change.observation for change in changes_of(entity)}
    known = [each for one in (entity.id, *entity.members) for each in seen.get(one, ())]
    return [
        each
        for each in sorted(known, key=lambda one: (-one.seen_at, -one.position, one.id))
        if (until is None or each.position <= until)
        and (each.fields.keys() != {STATE_TAGS} or each.id in stands)
    ]


async def _load_observations(
    canon: Canon, entities: Sequence[Entity]
) -> Mapping[str, Sequence[Observation]]:
    found: dict[str, list[Observation]] = {}
    ids = [i for each in entities for i in (each.id, *each.members)]
    for start in range(0, len(ids), PAGE_MAX):
        some, read = ids[start : start + PAGE_MAX], 0
        for _page in range(PAGES_MAX):
            page = await canon.state.observations_newest(some, limit=PAGE_MAX, offset=read)
            for each in page.items:
                found.setdefault(each.entity_id, []).append(each)
            read += len(page.items)
            if read >= page.total:
                break
        else:
            message = "This entity has too many observations to merge in one call."
            raise Unavailable("entity.too-long", message, id=some[0])
    return found

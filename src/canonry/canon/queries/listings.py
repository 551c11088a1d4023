"""Lists of items by their filters, one page at a time."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from operator import attrgetter
from typing import Any, Final

from canonry.canon.queries.names import bare_name
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import covered_spaces, require_item, require_universe
from canonry.canon.session.paging import every_item, first_items, page_reader
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Axiom, Fact, FactType, Relation
from canonry.log.items.scenes import Scene
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, Space, SpaceId, SpaceKind, is_uuid
from canonry.values.json_values import fold_text


async def query_axioms(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Axiom]:
    """Return axioms by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    return await canon.state.axioms(space, limit=limit, offset=offset)


async def query_entities(
    canon: Canon, caller: Caller, query: EntityQuery, *, universe_id: str | None
) -> Page[Entity]:
    """Return entities by (created_at, id); without a level, retconned ones too.

    Raises:
        NotFound: `universe.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    return await canon.state.entities(with_changes(query, spaces=spaces))


async def query_asserted(
    canon: Canon,
    caller: Caller,
    query: FactQuery | EventQuery | RelationQuery,
    *,
    universe_id: str | None,
    entity_id: str | None = None,
) -> Page[Any]:
    """Return one page of statements; see `query_all_asserted`."""
    queries = (query,)
    (page,) = await query_all_asserted(
        canon, caller, queries, universe_id=universe_id, entity_id=entity_id
    )
    return page


async def query_all_asserted(
    canon: Canon,
    caller: Caller,
    queries: Sequence[FactQuery | EventQuery | RelationQuery],
    *,
    universe_id: str | None,
    entity_id: str | None = None,
) -> list[Page[Any]]:
    """Return statements about one entity or all, in one universe or all; a page for each query.

    Statements about merged entities are included. Facts and relations are sorted by (created_at,
    id), events by (time_ref if known, else created_at; id). Facts without time match every range.

    Raises:
        InvalidInput: `range.inverted`.
        NotFound: `universe.unknown`, `entity.unknown` or `scene.unknown`.
    """
    state = canon.state
    family: frozenset[EntityId] = frozenset()
    for query in queries:
        match query:
            case FactQuery(start=start, end=end):
                if start is not None and end is not None and start > end:
                    message = "The range ends before it starts. Swap start and end."
                    raise InvalidInput("range.inverted", message, path="/time_range")
            case EventQuery(scene_id=scene_id) if scene_id is not None:
                await require_item(canon, caller, Scene, scene_id)
    spaces = await covered_spaces(canon, caller, universe_id)
    if entity_id is not None:
        family = family_of(await require_item(canon, caller, Entity, entity_id))
    asks: Mapping[type, Callable[[Any], Awaitable[Page[Any]]]] = {
        FactQuery: state.facts,
        EventQuery: state.events,
        RelationQuery: state.relations,
    }
    about = {"spaces": spaces, "entities": family}
    return [await asks[type(query)](with_changes(query, **about)) for query in queries]


async def query_snippets(
    canon: Canon, caller: Caller, source_id: str, *, limit: int, offset: int
) -> Page[Snippet]:
    """Return snippets by index.

    Raises:
        NotFound: `source.unknown`.
    """
    source = await require_item(canon, caller, Source, source_id)
    return await canon.documents.snippets(source.id, limit=limit, offset=offset)


async def query_sources(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Source]:
    """Return sources by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    (space,) = (await covered_spaces(canon, caller, universe_id)) or (SpaceId(universe_id),)
    return await canon.state.sources(space, limit=limit, offset=offset)


async def query_universes(
    canon: Canon, caller: Caller, *, parent: str | None, limit: int, offset: int
) -> Page[Space]:
    """Return universes by (created_at, id)."""
    wanted = None if parent is None else SpaceId(parent)
    if caller.spaces is None:
        return await canon.state.spaces(
            kind=SpaceKind.UNIVERSE, parent=wanted, limit=limit, offset=offset
        )
    granted = await _granted(canon, caller, caller.spaces)
    inside = [each for each in granted if wanted in {None, each.parent}]
    seen = [each for each in inside if each.kind is SpaceKind.UNIVERSE]
    return Page(items=seen[offset : offset + limit], total=len(seen))


async def _granted(canon: Canon, caller: Caller, ids: Collection[SpaceId]) -> list[Space]:
    found = (await canon.caller_scope(caller).items_by_id(ids)).values()
    spaces = [each for each in found if isinstance(each, Space)]
    return sorted(spaces, key=attrgetter("created_at", "id"))


# Choose a space by its id, its name or the beginning of its name; the default is the last used.
#
# A caller's own account is always listed, even before anything is stored in it.

ACCOUNT_NAMES: Final = ("account", "my account", "me")
SPACES_MAX: Final = 5_000
"""The most spaces that are searched for a name."""
_SHOWN_MAX: Final = 20  # the most candidates that an error lists


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSpace:
    """A space that a caller may see; `opened` None: the caller's account has no commit yet."""

    id: SpaceId
    kind: SpaceKind
    name: str
    opened: Space | None

    @property
    def may_have_stories(self) -> bool:
        """Return whether the space has gates and scenes, unlike an account."""
        return self.kind in {SpaceKind.UNIVERSE, SpaceKind.WORLD}


async def list_spaces(canon: Canon, caller: Caller) -> Sequence[ChosenSpace]:
    """List the spaces that the caller may see, oldest first, then the caller's account."""
    found = await list_opened(canon, caller)
    if caller.spaces is None or caller.account_id in caller.spaces:
        own = await canon.caller_scope(caller).find_item(caller.account_id)
        opened, kind = own if isinstance(own, Space) else None, SpaceKind.ACCOUNT
        found.append(ChosenSpace(id=caller.account_id, kind=kind, name="account", opened=opened))
    return found


async def list_opened(canon: Canon, caller: Caller) -> list[ChosenSpace]:
    """List the opened spaces that the caller may see, oldest first."""
    found: list[ChosenSpace] = []
    if caller.spaces is None:
        async for space in every_item(partial(canon.state.spaces, kind=None, parent=None)):
            if space.kind is not SpaceKind.ACCOUNT:
                found.append(_chosen_space(space))
            if len(found) >= SPACES_MAX:
                break
    else:
        granted = await _granted(canon, caller, caller.spaces)
        found += [_chosen_space(each) for each in granted if each.id != caller.account_id]
    return found


async def choose_space(canon: Canon, caller: Caller, named: str | None) -> ChosenSpace:
    """Return the named space; None selects the operator's default or the last used one.

    Without either, None selects the only space with content.

    Raises:
        InvalidInput: `space.ambiguous`, with the candidates.
        NotFound: `space.unknown`, with the nearest name.
    """
    wanted = named if named is not None else caller.world
    if wanted is not None and is_uuid(wanted):
        found_by_id = await canon.caller_scope(caller).find_item(wanted)
        if isinstance(found_by_id, Space) and found_by_id.kind is not SpaceKind.ACCOUNT:
            return _chosen_space(found_by_id)
    spaces = await list_spaces(canon, caller)
    if wanted is None:
        return _used_last(spaces, caller) or _only_space(spaces)
    text = fold_text(wanted)
    fitting = [(_name_matches(each, text), each) for each in spaces]
    for n in range(3):  # the nearest kind of match first
        found = [each for matches, each in fitting if matches[n]]
        if len(found) == 1:
            return found[0]
        if found:
            message = f"{len(found)} spaces match this name. Name one by its id."
            raise InvalidInput(
                "space.ambiguous", message, path="/space", candidates=_usable_names(found)
            )
    near = get_close_matches(text, [fold_text(each.name) for each in spaces], n=1)
    meant = _usable_names([each for each in spaces if [fold_text(each.name)] == near])
    guess = f" Did you mean {' or '.join(meant)}?" if meant else ""
    message = f"There is no space with this name or id.{guess}"
    raise NotFound(
        "space.unknown", message, path="/space", **({"candidates": meant} if meant else {})
    )


def _used_last(spaces: Sequence[ChosenSpace], caller: Caller) -> ChosenSpace | None:
    """Return the space last used on this connection if the caller may still see it."""
    last = caller.space_used_last
    return next((each for each in spaces if each.id == last), None)


async def spaces_held(canon: Canon, caller: Caller) -> Sequence[ChosenSpace]:
    """List spaces with content: the last used one, the account, then the newest first."""
    spaces = await list_spaces(canon, caller)
    last = _used_last(spaces, caller)
    others = [each for each in reversed(spaces) if each.opened is not None and each != last]
    return others if last is None else [last, *others]


def _only_space(spaces: Sequence[ChosenSpace]) -> ChosenSpace:
    held = [each for each in spaces if each.opened is not None]
    if len(held) == 1 or (not held and len(spaces) == 1):
        return (held or spaces)[0]
    if not spaces:
        message = "This caller may see no space. Ask the operator to grant one."
        raise NotFound("space.unknown", message, path="/space")
    if not held:
        message = "Nothing is stored yet. Open a space, or name the space 'account'."
    else:
        message = f"There are {len(held)} spaces. Name one in /space."
    ordered = sorted(held or spaces, key=lambda each: not each.may_have_stories)
    raise InvalidInput("space.ambiguous", message, path="/space", candidates=_usable_names(ordered))


def _name_matches(space: ChosenSpace, text: str) -> tuple[bool, bool, bool]:
    """Return whether a folded text names a space exactly, is like its name, and begins it."""
    exact = {space.id, fold_text(space.name)}
    own = space.kind is SpaceKind.ACCOUNT and text in ACCOUNT_NAMES
    begins = bool(text) and any(each.startswith(text) for each in exact)
    return own or text in exact, bare_name(space.name) == bare_name(text), begins


def _usable_names(spaces: Sequence[ChosenSpace]) -> list[str]:
    """Return the name of each space, or its id if another one has the same name."""
    names = [fold_text(each.name) for each in spaces]
    alone = (names.count(each) == 1 for each in names)
    return [e.name if one else e.id for e, one in zip(spaces[:_SHOWN_MAX], alone, strict=False)]


def _chosen_space(space: Space) -> ChosenSpace:
    return ChosenSpace(id=space.id, kind=space.kind, name=space.name, opened=space)


_FACT_PAGES: Final = 10  # the most pages of state facts that make up an entity's history


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityInFull:
    """An entity and the parts that were requested; None: not requested.

    `others` has, for each relation in `relations`, the entity at its other end, or the survivor if
    that entity was merged. `history_truncated`: more state facts exist.
    """

    entity: Entity
    relations: tuple[Relation, ...] | None = None
    relation_total: int = 0
    others: Mapping[str, Entity] | None = None
    history: tuple[Fact, ...] | None = None
    history_truncated: bool = False


async def get_entity(
    canon: Canon, caller: Caller, entity_id: str, *, relations: bool, history: bool
) -> EntityInFull:
    """Return the entity, or its survivor if it was merged.

    Raises:
        NotFound: `entity.unknown`.
    """
    entity = await require_item(canon, caller, Entity, entity_id)
    found = EntityInFull(entity=entity)
    spaces, family = frozenset((entity.space,)), family_of(entity)
    if relations:
        edges = RelationQuery(spaces=spaces, entities=family, limit=PAGE_MAX)
        page = await canon.state.relations(edges)
        ends = {r.id: r.to_id if r.from_id in family else r.from_id for r in page.items}
        roots = await canon.space_scope(entity.space).root_entities(set(ends.values()))
        found = with_changes(
            found,
            relations=tuple(page.items),
            relation_total=page.total,
            others={one: roots[end] for one, end in ends.items() if end in roots},
        )
    if history:
        states = FactQuery(spaces=spaces, entities=family, fact_type=FactType.STATE)
        facts, truncated = await first_items(page_reader(canon.state.facts, states), _FACT_PAGES)
        found = with_changes(found, history=tuple(facts), history_truncated=truncated)
    return found

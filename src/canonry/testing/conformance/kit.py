"""Base of the conformance tests: backends, requirements and hostile texts."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import pytest

from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import StoredItem
from canonry.log.fold_commit import ids_needed
from canonry.log.folding import statements_keys
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, FactType, Relation
from canonry.log.items.scenes import Scene, SceneStatus, Story
from canonry.log.items.sources import Source
from canonry.log.ports.ledger import Blobs
from canonry.log.schemas.identity_keys import rows_of
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import MemoryQuery, ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import (
    EntityQuery,
    EventQuery,
    FactQuery,
    IdentifierQuery,
    RelationQuery,
    Spaces,
    State,
    TimelineQuery,
)
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.view import Maintenance, Page
from canonry.testing.clocks import HandClock
from canonry.values.data_files import read_toml
from canonry.values.ids import Space, SpaceId
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, CanonLevel

_VALUES: Final = json.loads(files(__package__).joinpath("values.json").read_text("utf-8"))
TEXTS: Final[tuple[str, ...]] = (*_VALUES["texts"], "long " * 5_000)

NUMBERS: Final[tuple[Any, ...]] = tuple(_VALUES["numbers"])

YEAR_ONE: Final = Instant(-62_135_596_800_000_000)
YEAR_9999: Final = Instant(253_402_300_799_999_999)


def nested_values(levels: int = 30) -> Mapping[str, Any]:
    """Return nested objects and lists."""
    value: dict[str, Any] = {"bottom": list(TEXTS[:-1])}
    for level in range(levels):
        value = {f"level {level}": [value, level]}
    return value


PROPERTIES: Final[Mapping[str, Any]] = {
    **{text[:200]: text for text in TEXTS},
    "numbers": list(NUMBERS),
    "empty": [{}, [], ""],
    "deep": nested_values(),
}


T = TypeVar("T")

Q = TypeVar("Q")
_Test = TypeVar("_Test", bound=Callable[..., Any])
_PROVES: Final = "proves_requirements"

OpenBackend: TypeAlias = Callable[[], Awaitable["Backend"]]
Damage: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One observable promise and its reason."""

    promise: str
    because: str


REQUIREMENTS: Final[dict[str, Requirement]] = {}
"""Every promise that a port makes, by a stable id `port:subject:promise`."""


REASONS: Final[Mapping[str, str]] = {
    f"{port}:{promise}": because
    for port, promises in read_toml(__package__, "promises.toml").items()
    for promise, because in promises.items()
}
"""The reason of every promise, by its id."""


def requirement(requirement_id: str) -> Callable[[_Test], _Test]:
    """Register a test as the proof of a promise, its docstring. Each id has one test.

    `promises.toml` has the reason of each promise.
    """

    def register_test(test: _Test) -> _Test:
        told = " ".join((test.__doc__ or "").split())
        promise = Requirement(promise=told, because=REASONS[requirement_id])
        if REQUIREMENTS.setdefault(requirement_id, promise) != promise:
            raise KeyError(requirement_id)
        setattr(test, _PROVES, requirement_id)
        return test

    return register_test


def proved_by(test: Callable[..., Any]) -> tuple[str, ...]:
    """Return the ids of the promises that a test proves."""
    proved: str | None = getattr(test, _PROVES, None)
    return () if proved is None else (proved,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damages:
    """Functions that damage a store, by the damaged part. `verify` must find each damage.

    Each assumes the content of `canonry.testing.conformance.chronicle`. `views` can be rebuilt,
    `records` cannot. `blob` alters the bytes under a digest.
    """

    views: Mapping[str, Damage]
    records: Mapping[str, Damage]
    blob: Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """An empty store for a contract; None stands for a part that the backend lacks.

    `another` opens a different, empty store of the same kind. `reopen` closes this store and opens
    it again. `second` opens the same store a second time, like another process. `open_backup` opens
    a folder that `upkeep.backup` wrote. The fixture closes all stores that these return. Each
    opened store needs new identities: a repeated id counts as a commit in the log. `files` lists
    every file of the store.
    """

    canon: Canon
    blobs: Blobs
    clock: HandClock
    another: OpenBackend
    maintenance: Maintenance | None = None
    close: Callable[[], Awaitable[None]] | None = None
    reopen: OpenBackend | None = None
    second: OpenBackend | None = None
    open_backup: Callable[[Path], Awaitable["Backend"]] | None = None
    files: Callable[[], Iterable[Path]] | None = None
    damages: Damages | None = None


def require_part(part: T | None) -> T:
    """Return a part of a backend, and require that it exists."""
    assert part is not None, "The backend lacks a part that this contract needs. Leave it out."
    return part


async def read_pages(
    read: Callable[[Any], Awaitable[Page[T]]], query: Any, *, total: int, limit: int
) -> list[T]:
    """Return the items of all pages, and require that each page has the exact total."""
    seen: list[T] = []
    for offset in range(0, total + limit, limit):
        page = await read(replace(query, limit=limit, offset=offset))
        assert page.total == total
        seen += page.items
    assert len(seen) == total
    return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGap:
    """A promise that this backend does not keep yet. Its test must fail until the gap is closed."""

    requirement: str
    reason: str


@pytest.mark.anyio
class Contract:
    """Subclass a contract, give it a fixture `backend` that yields a `Backend`, and run pytest."""

    known_gaps: ClassVar[tuple[KnownGap, ...]] = ()

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio only, even if other loops are installed."""
        return "asyncio"

    @pytest.fixture(autouse=True)
    def _apply_known_gaps(self, request: pytest.FixtureRequest) -> None:
        reasons = {gap.requirement: gap.reason for gap in self.known_gaps}
        unknown = sorted(reasons.keys() - REQUIREMENTS.keys())
        assert not unknown, f"gaps name unknown promises: {unknown}"
        for proved in proved_by(request.function):
            if proved in reasons:
                gap = pytest.mark.xfail(reason=reasons[proved], strict=True)
                request.node.add_marker(gap)

    async def test_contract_is_not_weakened(self) -> None:
        """A backend states a gap in `known_gaps`. It does not override or drop a test."""
        definitions = Counter(name for part in type(self).__mro__ for name in vars(part))
        overridden = sorted(
            n for n, count in definitions.items() if n.startswith("test_") and count > 1
        )
        assert not overridden, f"overridden contract tests: {overridden}"


HISTORY = Space | Entity | Relation | Fact | Event | Axiom | Source | Story
"""Kinds with a history of versions."""

Answers: TypeAlias = Mapping[str, Any]
LOG_MAX = 1_000


async def view_answers(canon: Canon) -> Answers:
    """Return the answers of the views about every space of the ledger, by query."""
    spaces = [head.space for head in await canon.ledger.list_heads(limit=100)]
    items: dict[str, StoredItem] = {}
    replies: dict[str, Any] = {}
    for space in spaces:
        log = await canon.ledger.read_commits(space, after=ORIGIN, limit=LOG_MAX)
        ids = ids_needed(entry for commit in log for entry in commit.entries)
        found = await canon.state.items_by_id(ids)
        items.update(found)
        replies[f"{space} things"] = found
        replies |= await _history_answers(canon, space, found, len(log))
    for item in items.values():
        replies[f"about {item.id}"] = await _item_answers(canon, item)
    replies |= await _state_answers(canon, spaces, items)
    replies |= await answers_of_documents(canon, spaces, items)
    return replies


async def _history_answers(
    canon: Canon, space: SpaceId, items: Mapping[str, StoredItem], head: int
) -> dict[str, Any]:
    ids = [i for i, item in items.items() if isinstance(item, HISTORY)]
    replies: dict[str, Any] = {}
    for position in range(head + 1):
        at = Position(position)
        replies[f"{space} at {at}"] = await canon.state.items_as_known_at(ids, at)
    return replies


def _space_choices(spaces: Sequence[SpaceId]) -> Sequence[Spaces]:
    """Return the choices of spaces: all, or each alone."""
    return (None, *(frozenset((space,)) for space in spaces))


def _ids_of_kind(items: Mapping[str, StoredItem], kind: type) -> list[str]:
    return sorted(i for i, item in items.items() if isinstance(item, kind))


async def _state_answers(
    canon: Canon, spaces: Sequence[SpaceId], items: Mapping[str, StoredItem]
) -> dict[str, Any]:
    state, replies = canon.state, dict[str, Any]()
    entities = _ids_of_kind(items, Entity)
    replies["spaces"] = await state.spaces(kind=None, parent=None, limit=500, offset=0)
    for space in spaces:
        listed = {"limit": 500, "offset": 0}
        replies[f"axioms {space}"] = await state.axioms(space, **listed)
        replies[f"sources {space}"] = await state.sources(space, **listed)
        replies[f"stories {space}"] = await state.stories(space, **listed)
    chosen = _space_choices(spaces)
    for query in _entity_queries(chosen):
        replies[repr(query)] = await state.entities(query)
    for dates in _timeline_queries(chosen):
        replies[repr(dates)] = await state.timeline(dates)
    for some in chosen:
        replies[f"types {some}"] = await state.entity_types(some)
        replies[f"schemas {some}"] = await state.schemas(some, None, limit=500, offset=0)
        replies[f"runs {some}"] = await state.runs_newest(some, limit=3, offset=0)
    replies["schemas of bills"] = await state.schemas(None, "bill", limit=1, offset=1)
    for fact_query in _fact_queries(chosen, entities):
        replies[repr(fact_query)] = await state.facts(fact_query)
    some_of = (frozenset(), *(frozenset((one,)) for one in entities))
    for event_query in _query_combinations(
        EventQuery, entities=some_of, level=(None, CanonLevel.CANON)
    ):
        replies[repr(event_query)] = await state.events(event_query)
    sides, both = ("in", "out", "any"), (False, True)
    for edges in _query_combinations(
        RelationQuery, entities=some_of, direction=sides, current=both
    ):
        replies[repr(edges)] = await state.relations(edges)
        newest = replace(edges, newest_first=True, limit=5)
        replies[repr(newest)] = await state.relations(newest)
    return replies


async def _item_answers(canon: Canon, item: StoredItem) -> dict[str, Any]:
    """Return the answers about one item."""
    state, replies = canon.state, dict[str, Any]()
    match item:
        case Entity():
            replies["observed"] = await state.observations(item.id, after=ORIGIN, limit=500)
            replies["named"] = await state.entities_named(
                item.space, item.entity_type, item.name.upper()
            )
            replies |= await _observation_answers(state, item)
        case Source():
            listed = {"limit": 500, "offset": 0}
            replies["runs"] = await state.runs(item.id, **listed)
            replies["from it"] = await state.observations_from(item.id, **listed)
            replies["dated"] = await state.timeline(TimelineQuery(source_id=item.id, limit=500))
        case Fact():
            replies["stating"] = await state.facts_stating(item.space, {f" {item.statement} "})
            replies["framed"] = await state.facts_framed(
                item.space, dict.fromkeys(statements_keys(item), 50)
            )
        case Observation():
            at = Instant(item.recorded_at - 1)
            replies["before"] = await canon.ledger.position_at(item.space, at)
        case _:
            pass
    return replies


async def _observation_answers(state: State, entity: Entity) -> dict[str, Any]:
    """Return the answers about the observations of an entity and of its members."""
    replies: dict[str, Any] = {}
    ids = (entity.id, *entity.members)
    page = await state.observations_newest(ids, limit=500, offset=0)
    replies["newest"] = page
    replies["newer"] = await state.observations_newest(ids, limit=2, offset=1)
    for instant in {o.seen_at for o in page.items} | {Instant(entity.created_at - 1)}:
        replies[f"until {instant}"] = await state.entities_seen_until(ids, instant)
    keys = tuple(row.key for row in rows_of(entity))[:5]
    for begins, kind in product((False, True), (None, f"{entity.entity_type}")):
        asked = IdentifierQuery(
            spaces=frozenset((entity.space,)), keys=keys, begins=begins, entity_type=kind
        )
        replies[repr(asked)] = await state.entities_identified(asked)
    return replies


_ALIVE: Final = frozenset(("alive",))
_TAGS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"all_of": _ALIVE},
    {"any_of": frozenset(("alive", "king"))},
    {"none_of": _ALIVE},
    {"all_of": _ALIVE, "none_of": frozenset(("hidden",))},
)


def _query_combinations(kind: type[Q], **options: Iterable[Any]) -> Iterable[Q]:
    """Yield the queries of a kind with every combination of the options, in long pages."""
    for values in product(*options.values()):
        given: dict[str, Any] = {"limit": 500, **dict(zip(options, values, strict=True))}
        yield kind(**given)


def _timeline_queries(chosen: Sequence[Spaces]) -> Iterable[TimelineQuery]:
    bounds, both = (None, Instant(-DAY), Instant(0), Instant(DAY)), (False, True)
    yield from _query_combinations(
        TimelineQuery, spaces=chosen, superseded=both, start=bounds, end=bounds
    )
    yield from _query_combinations(
        TimelineQuery, event_type=("Due",), superseded=both, limit=(2,), offset=(1,)
    )


def _entity_queries(chosen: Sequence[Spaces]) -> Iterable[EntityQuery]:
    for tags in _TAGS:
        tagged = {name: (tag,) for name, tag in tags.items()}
        yield from _query_combinations(
            EntityQuery, spaces=chosen, level=(None, *CanonLevel), **tagged
        )
    yield from _query_combinations(EntityQuery, spaces=chosen, entity_type=EntityType)
    kinds, merged = (None, EntityType.CHARACTER), (True,)
    yield from _query_combinations(
        EntityQuery, spaces=chosen, entity_type=kinds, include_merged=merged
    )
    yield from _query_combinations(EntityQuery, include_merged=merged, name_pattern=("o",))
    yield from _query_combinations(EntityQuery, include_merged=merged, none_of=(_ALIVE,))
    patterns = ("o", "F*o", "%", "zz")
    yield from _query_combinations(EntityQuery, name_pattern=patterns, limit=(3,), offset=(1,))


def _fact_queries(chosen: Sequence[Spaces], ids: Sequence[str]) -> Iterable[FactQuery]:
    bounds, every = (None, Instant(0), Instant(3 * DAY)), (frozenset(ids),)
    yield from _query_combinations(FactQuery, spaces=chosen, start=bounds, end=bounds)
    levels, authorities = (None, *CanonLevel), (None, *Authority)
    yield from _query_combinations(FactQuery, spaces=chosen, level=levels, authority=authorities)
    yield from _query_combinations(FactQuery, entities=[frozenset((one,)) for one in ids])
    yield from _query_combinations(FactQuery, entities=every, limit=(2,), offset=(1,))
    yield from _query_combinations(FactQuery, entities=(frozenset(), *every), fact_type=FactType)


async def answers_of_documents(
    canon: Canon, spaces: Sequence[SpaceId], items: Mapping[str, StoredItem]
) -> dict[str, Any]:
    """Return the answers of the documents and the text view about these spaces and items."""
    documents, replies, chosen = canon.documents, dict[str, Any](), _space_choices(spaces)
    for scenes in _query_combinations(SceneQuery, spaces=chosen, status=(None, *SceneStatus)):
        replies[repr(scenes)] = await documents.scenes(scenes)
    replies["open"] = await documents.open_scenes(None, limit=500)
    for scene in (None, *_ids_of_kind(items, Scene)):
        which: Any = scene
        proposals = ProposalQuery(scene_id=which, limit=500)
        replies[repr(proposals)] = await documents.proposals(proposals)
        if which is not None:
            replies[f"turns {which}"] = await documents.turns(which)
    mine: Any
    for mine in _ids_of_kind(items, Entity):
        replies[f"memories {mine}"] = await documents.memories(MemoryQuery(entity_id=mine))
    for mine in _ids_of_kind(items, Source):
        replies[f"snippets {mine}"] = await documents.snippets(mine, limit=500, offset=0)
    # Backends may rank differently, so only the set of hits is compared.
    words = ("ring fire home", "green hills", "the", "quoted", "\u6c49\u5b57", "slip gossip")
    for some, where, text in product(chosen, Collection, words):
        asked = TextQuery(collection=where, text=text, spaces=some, limit=100)
        found = await canon.text.search(asked)
        replies[repr(asked)] = sorted((h.id, sorted(h.shares)) for h in found.hits)
    return replies

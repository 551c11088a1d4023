"""Extend a slice: load what the gates asked for, until a judgement wants nothing more."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Final, TypeVar

from canonry.domain.errors import BrokenInvariant
from canonry.domain.ids import EntityId, SpaceId
from canonry.domain.judging.slices import (
    AxiomsLookup,
    ConflictLookup,
    EventsLookup,
    Lookup,
    NameLookup,
    RelationsLookup,
    Slice,
    SliceView,
    StatementLookup,
    ThingLookup,
)
from canonry.domain.log.entries import Thing
from canonry.domain.provenance import CanonLevel
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.state import EventQuery, RelationQuery
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.every_item import every_item, every_match

T = TypeVar("T")
LOADS_MAX: Final = 600
"""More rounds than the longest walk of a gate has steps."""

PAGES_MAX: Final = 10
"""The most pages of relations that one lookup reads."""

Wanting = Callable[[Slice], Collection[Lookup]]
"""What a judgement by this slice still wants."""


async def extend_slice(canon: Canon, known: Slice, wanting: Wanting) -> Slice:
    """Load what is wanted, and what is wanted then, until nothing is.

    Raises:
        BrokenInvariant: `canonization.endless`, a gate wants more without end.
    """
    for _round in range(LOADS_MAX):
        wanted = wanting(known)
        if not wanted:
            return known
        known = await load_more(canon, known, wanted)
    message = "a gate keeps asking for more of the canon; this is a defect"
    raise BrokenInvariant("canonization.endless", message)


async def judged_by(
    canon: Canon, space: SpaceId, work: Callable[[SliceView], T]
) -> tuple[T, frozenset[str]]:
    """What a rule of the domain makes of the canon, and the keys that it rests on.

    Raises:
        BrokenInvariant: `canonization.endless`, the rule wants more without end.
    """
    view = SliceView(Slice(space=space), canon.policy)
    found = work(view)

    def wanting(known: Slice) -> Collection[Lookup]:
        nonlocal view, found
        view = SliceView(known, canon.policy)
        found = work(view)
        return view.wanted

    if view.wanted:
        await extend_slice(canon, Slice(space=space), wanting)
    return found, frozenset(view.read)


async def load_more(canon: Canon, known: Slice, wanted: Collection[Lookup]) -> Slice:
    """The slice with the answers to these lookups."""
    return known.extended(wanted, await _load(canon, known.space, wanted))


async def _load(canon: Canon, space: SpaceId, wanted: Collection[Lookup]) -> list[Thing]:
    ids = [one.id for one in wanted if isinstance(one, ThingLookup)]
    framed = [one.key for one in wanted if isinstance(one, ConflictLookup)]
    found: list[Thing] = []
    for lookup in wanted:
        match lookup:
            case RelationsLookup():
                found.extend(await _relations(canon, space, lookup))
            case StatementLookup(statement=statement):
                found.extend(await canon.state.facts_stating(space, statement))
            case NameLookup():
                found.extend(
                    await canon.state.entities_named(space, lookup.entity_type, lookup.name)
                )
            case AxiomsLookup():
                axioms = every_item(partial(canon.state.axioms, space))
                found.extend([each async for each in axioms])
            case EventsLookup(scene_id=scene_id):
                query = EventQuery(
                    spaces=frozenset((space,)), scene_id=scene_id, level=CanonLevel.CANON
                )
                found.extend([each async for each in every_match(canon.state.events, query)])
            case ThingLookup() | ConflictLookup():
                continue
    if framed:
        found.extend(await canon.state.facts_framed(space, framed))
    if ids:
        found.extend((await canon.state.things(ids)).values())
    return found


async def _relations(canon: Canon, space: SpaceId, lookup: RelationsLookup) -> list[Thing]:
    found: list[Thing] = []
    for number in range(PAGES_MAX):
        query = RelationQuery(
            spaces=frozenset((space,)),
            entities=frozenset((EntityId(lookup.entity_id),)),
            rel_type=lookup.rel_type,
            direction=lookup.direction,
            limit=PAGE_MAX,
            offset=number * PAGE_MAX,
        )
        page = await canon.state.relations(query)
        found.extend(page.items)
        if len(found) >= page.total:
            break
    return found

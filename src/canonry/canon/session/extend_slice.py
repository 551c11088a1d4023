"""Extend a slice: load what the gates asked for, until a judgement wants nothing more."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final, TypeVar

from canonry.canon.judging.slices import (
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
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import every_item, every_match
from canonry.language.clauses.keys import most_under
from canonry.log.entries import Thing
from canonry.log.items.entities import normalised_name
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import EventQuery, RelationQuery
from canonry.values.audience import EVERYBODY, Audience, viewer_of
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import revised
from canonry.values.ids import EntityId, SpaceId
from canonry.values.provenance import CanonLevel

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
    canon: Canon, space: SpaceId, work: Callable[[SliceView], T], audience: Audience = EVERYBODY
) -> tuple[T, frozenset[str]]:
    """What a rule of the domain makes of what `audience` knows, and the keys that it rests on.

    Raises:
        BrokenInvariant: `canonization.endless`, the rule wants more without end.
    """
    viewer = viewer_of(audience)
    last: dict[SliceView, T] = {}

    def wanting(known: Slice) -> Collection[Lookup]:
        view = SliceView(known, canon.policy, viewer)
        last.clear()
        last[view] = work(view)
        return view.wanted

    await extend_slice(canon, Slice(space=space), wanting)
    ((view, found),) = last.items()
    return found, frozenset(view.read)


async def load_more(canon: Canon, known: Slice, wanted: Collection[Lookup]) -> Slice:
    """The slice with the answers to these lookups."""
    return known.extended(wanted, await _load(canon.judged, known, wanted))


async def _load(canon: Canon, known: Slice, wanted: Collection[Lookup]) -> list[Thing]:
    space = known.space
    ids: set[str] = {one.id for one in wanted if isinstance(one, ThingLookup)}
    framed = {one.key: most_under(one.key) for one in wanted if isinstance(one, ConflictLookup)}
    stated = {one.statement for one in wanted if isinstance(one, StatementLookup)}
    found = await _events(canon, space, [one for one in wanted if isinstance(one, EventsLookup)])
    for lookup in wanted:
        match lookup:
            case RelationsLookup():
                found.extend(await _relations(canon, space, lookup))
            case NameLookup():
                found.extend(
                    await canon.state.entities_named(space, lookup.entity_type, lookup.name)
                )
            case AxiomsLookup():
                axioms = every_item(partial(canon.state.axioms, space))
                found.extend([each async for each in axioms])
            case ThingLookup() | ConflictLookup() | EventsLookup() | StatementLookup():
                continue
    if stated:
        found.extend(await canon.state.facts_stating(space, stated))
    if framed:
        facts = await canon.state.facts_framed(space, framed)
        found.extend(facts)
        ids.update(one for fact in facts for one in fact.involved)  # they are looked at next
        ids -= known.things.keys()
    if ids:
        found.extend((await canon.state.things(ids)).values())
    return found


async def _events(canon: Canon, space: SpaceId, lookups: Collection[EventsLookup]) -> list[Thing]:
    """The events of all titles, those of several entities looked for where fewest are."""
    titles = {one.title for one in lookups}
    here = EventQuery(spaces=frozenset((space,)), level=CanonLevel.CANON)
    scenes = {one.scene_id for one in lookups if not one.involved}
    queries = [revised(here, scene_id=one) for one in scenes]
    if some := {await _quietest(canon, here, one) for one in {o.involved for o in lookups} - {()}}:
        queries.append(revised(here, entities=frozenset(some)))
    return [
        event
        for query in queries
        async for event in every_match(canon.state.events, query)
        if normalised_name(event.title) in titles
    ]


async def _quietest(canon: Canon, here: EventQuery, involved: Sequence[str]) -> EntityId:
    """Of these entities the one that the fewest events know."""
    if len(involved) == 1:
        return EntityId(involved[0])
    known = [revised(here, entities=frozenset((EntityId(one),)), limit=1) for one in involved]
    totals = [(await canon.state.events(query)).total for query in known]
    return EntityId(min(zip(totals, involved, strict=True))[1])


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

"""Why something is so, what happened in story time, and what was written since."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Veilable, stored
from canonry.canon.session.lookup import (
    commit_at,
    require_all,
    require_same_space,
    require_universe,
)
from canonry.canon.session.paging import first_items, paged
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import (
    EntitiesMerged,
    EntityRetconned,
    Entry,
    EventRetconned,
    FactRetconned,
    FactSuperseded,
    ProposalDecided,
    RelationEnded,
    RelationRetconned,
    Thing,
    Tombstone,
)
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.log.items.veils import audience_of, audiences_in
from canonry.readmodels.ports.state import EventQuery, FactQuery, Spaces
from canonry.values.audience import EVERYBODY, Audience, wide_first
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant, arranged
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel, Evidence

TRACED_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A reference with the thing that it names and what that lies in; None: erased or unknown.

    A turn lies in its scene, a snippet in its source.
    """

    evidence: Evidence
    thing: Turn | Scene | Source | Snippet | Axiom | None
    within: Scene | Source | None = None

    @property
    def place(self) -> Scene | Source | None:
        """Where it can be read: the scene or the document, be it the evidence itself."""
        return self.thing if isinstance(self.thing, Scene | Source) else self.within


async def trace_evidence(
    canon: Canon, caller: Caller, evidence: Iterable[Evidence]
) -> Sequence[Traced]:
    """The first 200 references, each once, in their order."""
    wanted = tuple(dict.fromkeys(evidence))[:TRACED_MAX]
    seen = canon.seen_by(caller)
    found = await seen.things({each.ref for each in wanted})
    outer = await seen.things(
        {holder for thing in found.values() if (holder := _holder(thing)) is not None}
    )
    return [_traced(each, found.get(each.ref), outer) for each in wanted]


def _holder(thing: Thing | None) -> str | None:
    match thing:
        case Turn(scene_id=scene_id):
            return scene_id
        case Snippet(source_id=source_id):
            return source_id
        case _:
            return None


def _traced(evidence: Evidence, thing: Thing | None, outer: Mapping[str, Thing]) -> Traced:
    known = thing if isinstance(thing, Turn | Scene | Source | Snippet | Axiom) else None
    holder = _holder(known)
    within = None if holder is None else outer.get(holder)
    return Traced(
        evidence=evidence,
        thing=known,
        within=within if isinstance(within, Scene | Source) else None,
    )


Explained: TypeAlias = Entity | Relation | Fact | Event | Axiom | Proposal | Observation
Falling: TypeAlias = (
    EntityRetconned
    | EntitiesMerged
    | RelationEnded
    | RelationRetconned
    | FactSuperseded
    | FactRetconned
    | EventRetconned
)
OBSERVATIONS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """What ended or undid a thing, and the commit that did."""

    entry: Falling
    commit: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a thing is as it is.

    `commit` brought it into being; `proposal` is what was judged then, with its decision; None: a
    direct write. `observations` are what an entity's fields come from. `audience` is who may see
    it, and `more_known_to` who knows more of it than that, as game masters alone are told.
    """

    thing: Explained
    commit: Commit | None
    proposal: Proposal | None
    evidence: tuple[Traced, ...]
    observations: tuple[Observation, ...] = ()
    fall: Fall | None = None
    audience: Audience = EVERYBODY
    more_known_to: tuple[Audience, ...] = ()


async def explain(canon: Canon, caller: Caller, thing_id: str) -> Explanation:
    """Everything that stands behind the thing with this id.

    Raises:
        NotFound: `thing.unknown`, also for what nothing needs to stand behind: turns, scenes, ...
    """
    thing = await canon.seen_by(caller).thing(thing_id)
    if not isinstance(thing, Explained):
        raise unknown("thing", thing_id)
    commit = await commit_at(canon, thing.space, thing.position)
    seen: list[Observation] = []
    for one in (thing.id, *thing.members) if isinstance(thing, Entity) else ():
        if (left := OBSERVATIONS_MAX - len(seen)) > 0:
            seen += await canon.state.observations(one, after=ORIGIN, limit=left)
    seen.sort(key=lambda each: (each.position, each.id))
    proposal = await _proposal(canon, thing, commit)
    audience, more = await _known_to(canon, caller, thing)
    return Explanation(
        thing=thing,
        commit=commit,
        proposal=proposal,
        evidence=tuple(
            await trace_evidence(
                canon,
                caller,
                [*thing.evidence, *(evidence for each in seen for evidence in each.evidence)],
            )
        ),
        observations=tuple(seen),
        fall=await _fall(canon, thing),
        audience=audience,
        more_known_to=more,
    )


async def _known_to(
    canon: Canon, caller: Caller, thing: Explained
) -> tuple[Audience, tuple[Audience, ...]]:
    """Who may see a thing, and who knows more of it; nobody else is told who else knows."""
    if not caller.viewer.masters:
        return EVERYBODY, ()
    audience = audience_of(thing)
    kept = await stored(canon, thing) if isinstance(thing, Veilable) else thing
    return audience, tuple(sorted(audiences_in(kept) - {audience}, key=wide_first))


async def _proposal(canon: Canon, thing: Explained, commit: Commit | None) -> Proposal | None:
    if isinstance(thing, Proposal):
        return thing
    wanted = getattr(thing, "proposal_id", None)
    if wanted is None:
        entries: Iterable[Entry] = () if commit is None else commit.entries
        decided = [e.proposal_id for e in entries if isinstance(e, ProposalDecided)]
        wanted = decided[0] if decided else None
    found = None if wanted is None else await canon.within(thing.space).thing(wanted)
    return found if isinstance(found, Proposal) else None


async def _fall(canon: Canon, thing: Explained) -> Fall | None:
    """The entry that ended or undid the thing, by its last change or the birth of its heir."""
    if isinstance(thing, Observation) or thing.changed_at == thing.position:
        return None
    places = [thing.changed_at]
    if isinstance(thing, Fact) and thing.superseded_by is not None:
        heir = await canon.within(thing.space).thing(thing.superseded_by)
        places += [] if heir is None else [heir.position]
    for place in places:
        commit = await commit_at(canon, thing.space, place)
        for entry in () if commit is None else filter(canon.tells, commit.entries):
            if commit is not None and isinstance(entry, Falling) and thing.id == _fallen(entry):
                return Fall(entry=entry, commit=commit)
    return None


def _fallen(entry: Entry) -> str | None:
    match entry:
        case EntityRetconned(entity_id=one) | EntitiesMerged(merged=one):
            return one
        case RelationEnded(relation_id=one) | RelationRetconned(relation_id=one):
            return one
        case FactSuperseded(fact_id=one) | FactRetconned(fact_id=one):
            return one
        case EventRetconned(event_id=one):
            return one
        case _:
            return None


# List changes: what was written to a space since a place in its log, an instant, or of late.
#
# Of each commit only what the caller may see is told.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeQuery:
    """Since when: past a position, or past what an instant knew; None: the newest."""

    space: SpaceId
    after: Position | None = None
    since: Instant | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A commit with those of its entries that the caller may see."""

    commit: Commit
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSince:
    """Commits, the oldest first, and the things that they are about as these are now.

    `cursor` is where the next question begins; `left` is how many commits are left past it.
    """

    written: Sequence[Written]
    things: Mapping[str, Thing]
    cursor: Position
    left: int


async def list_changes(canon: Canon, caller: Caller, query: ChangeQuery) -> WrittenSince:
    """What was written; nothing past the head of the log at this moment."""
    head = await canon.ledger.head(query.space)
    if query.after is not None:
        after = min(query.after, head)
    elif query.since is not None:
        after = await canon.ledger.position_at(query.space, query.since)
    else:
        after = Position(max(ORIGIN, head - query.limit))
    commits = await canon.ledger.read(query.space, after=after, limit=query.limit)
    ids = {one for commit in commits for entry in commit.entries for one in ids_of(entry)}
    found = await canon.seen_by(caller).things(ids)
    things = {i: each for i, each in found.items() if not isinstance(each, Tombstone)}
    written: list[Written] = []
    for commit in commits:  # what it says of others lies in their own things
        mine = (entry for entry in commit.entries if ids_of(entry)[0] in things)
        written.append(Written(commit=commit, entries=tuple(filter(canon.tells, mine))))
    cursor = commits[-1].position if commits else max(after, ORIGIN)
    return WrittenSince(written=written, things=things, cursor=cursor, left=max(0, head - cursor))


async def read_as_known(
    canon: Canon, caller: Caller, space: SpaceId, ids: Iterable[str], instant: Instant
) -> Mapping[str, Thing]:
    """Those of the things that were known then, as they stood; erased ones are gone for ever."""
    wanted = list(ids)
    position = await canon.ledger.position_at(space, instant)
    seen = canon.seen_by(caller)
    now = await seen.things(wanted)
    then = await seen.things_as_known_at(wanted, position)
    return {i: t for i, t in then.items() if not isinstance(now.get(i), Tombstone | None)}


PAGES_MAX: Final = 4
"""A timeline looks at 2,000 events and 2,000 facts; a narrower window sees the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A page of it; `truncated` tells that more exists than was looked at."""

    items: tuple[Event | Fact, ...]
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of a timeline is wanted; a missing bound is open, no entities mean all."""

    entity_ids: tuple[str, ...] = ()
    start: Instant | None = None
    end: Instant | None = None
    limit: int = 50
    offset: int = 0


async def read_timeline(canon: Canon, caller: Caller, universe_id: str, window: Window) -> Timeline:
    """Canon events and dated canon facts in order; what has no time stands at its place in it.

    Raises:
        InvalidInput: `range.inverted`.
        NotFound: `universe.unknown` or `entity.unknown`.
        Conflict: `space.foreign`.
    """
    if window.start is not None and window.end is not None and window.start > window.end:
        message = "The range ends before it starts. Swap start and end."
        raise InvalidInput("range.inverted", message, path="/start")
    universe = await require_universe(canon, caller, universe_id)
    entities = await require_all(canon, caller, Entity, window.entity_ids)
    require_same_space(universe.id, entities, path="/entity_ids")
    family = frozenset(one for entity in entities for one in family_of(entity))
    spaces: Spaces = frozenset((universe.id,))
    level = CanonLevel.CANON
    every = EventQuery(spaces=spaces, entities=family, level=level)
    events, more_events = await first_items(paged(canon.state.events, every), PAGES_MAX)
    dated = FactQuery(
        spaces=spaces, entities=family, start=window.start, end=window.end, level=level
    )
    facts, more_facts = await first_items(paged(canon.state.facts, dated), PAGES_MAX)
    told: list[Event | Fact] = [each for each in events if _inside(each.time_ref, window)]
    told += (each for each in facts if each.time_ref is not None)
    items = arranged(sorted(told, key=lambda item: item.id), lambda item: item.moment)
    shown = items[window.offset : window.offset + window.limit]
    return Timeline(items=tuple(shown), total=len(items), truncated=more_events or more_facts)


def _inside(at: Instant | None, window: Window) -> bool:
    if at is None:
        return window.start is None and window.end is None
    early = window.start is not None and at < window.start
    late = window.end is not None and at > window.end
    return not early and not late

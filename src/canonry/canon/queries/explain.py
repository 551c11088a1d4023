"""Explain why something is so: its evidence, its proposal and its decision."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Veilable, stored
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
)
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.log.items.veils import audience_of, audiences_in
from canonry.values.audience import EVERYBODY, Audience, wide_first
from canonry.values.ids import SpaceId
from canonry.values.observations import Observation
from canonry.values.provenance import Evidence

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
    outer = await seen.things(_holders(found.values()))
    return [_traced(each, found.get(each.ref), outer) for each in wanted]


def _holders(things: Iterable[Thing]) -> set[str]:
    return {holder for thing in things if (holder := _holder(thing)) is not None}


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
OBSERVATIONS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """What ended or undid a thing, and the commit that did."""

    entry: (
        EntityRetconned
        | EntitiesMerged
        | RelationEnded
        | RelationRetconned
        | FactSuperseded
        | FactRetconned
        | EventRetconned
    )
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
    commit = await _commit_at(canon, thing.space, Position(thing.position))
    seen = await _observations(canon, thing)
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


async def _commit_at(canon: Canon, space: SpaceId, position: Position) -> Commit | None:
    if position <= ORIGIN:
        return None
    found = await canon.ledger.read(space, after=Position(position - 1), limit=1)
    return found[0] if found else None


async def _observations(canon: Canon, thing: Thing) -> Sequence[Observation]:
    if not isinstance(thing, Entity):
        return ()
    found: list[Observation] = []
    for one in (thing.id, *thing.members):
        left = OBSERVATIONS_MAX - len(found)
        if left > 0:
            found.extend(await canon.state.observations(one, after=ORIGIN, limit=left))
    return sorted(found, key=lambda each: (each.position, each.id))


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
        commit = await _commit_at(canon, thing.space, Position(place))
        for entry in () if commit is None else filter(canon.tells, commit.entries):
            if commit is not None and isinstance(entry, _FALLS) and thing.id == _fallen(entry):
                return Fall(entry=entry, commit=commit)
    return None


_FALLS: Final = (
    EntityRetconned
    | EntitiesMerged
    | RelationEnded
    | RelationRetconned
    | FactSuperseded
    | FactRetconned
    | EventRetconned
)


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

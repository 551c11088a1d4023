"""Dependents: what rests on a thing of canon, and why, before somebody says that it never was."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from canonry.canon.judging.quantities import counted
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import answered
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact, FactType
from canonry.log.items.proposals import Proposal
from canonry.log.items.relations import Relation
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.values.ids import EntityId
from canonry.values.moments import AFTER_ALL
from canonry.values.provenance import CanonLevel, EvidenceKind
from canonry.values.time import Instant

Asserted: TypeAlias = Fact | Event | Relation
"""What is said of entities."""

Retconnable: TypeAlias = Entity | Asserted
"""What may turn out never to have been."""

DEPENDENTS_MAX: Final = 200
NEAR_MAX: Final = 500
"""The most facts, events and relations each of the same entities that are looked at."""

_IN_SCENES: Final = frozenset({EvidenceKind.SCENE, EvidenceKind.SNIPPET})


class Grounds(StrEnum):
    """Why something rests on a thing; the last two only say that it may."""

    NAMES = "names_it"
    CAUSED = "caused_by_it"
    ACCEPTED_WITH = "accepted_with_it"
    TOLD_WITH = "told_with_it"
    SAME_SCENE = "told_in_its_scene"
    SAME_TIME = "at_its_time"


POSSIBLE: Final = frozenset({Grounds.SAME_SCENE, Grounds.SAME_TIME})
"""Ties that nobody follows unless they are named."""

_FOLLOWED: Final = frozenset({Grounds.NAMES, Grounds.CAUSED, Grounds.ACCEPTED_WITH})
"""Ties whose own dependents rest on the thing as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A thing that rests on another one, by what."""

    thing: Retconnable
    tie: Grounds
    rests_on: str

    @property
    def certain(self) -> bool:
        """Whether it rests on the thing for sure."""
        return self.tie not in POSSIBLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependents:
    """Whatever rests on a thing, the nearest first; `more`: not all of them could be listed."""

    items: tuple[Dependent, ...]
    more: bool = False


async def dependents(canon: Canon, caller: Caller, thing: Retconnable) -> Dependents:
    """What rests on `thing`, directly or through what rests on it.

    What an earlier sending of the caller's request has retconned counts as if it stood.
    """
    found: dict[str, Dependent] = {}
    waiting: list[Retconnable] = [thing]
    more = False
    while waiting:
        current = waiting.pop(0)
        near, cut = await _near(canon, current)
        more = more or cut
        made = await _accepted_with(canon, current)
        for other in (*near, *(one for one in made if one not in near)):
            tie = _tie(current, other, made)
            known = other.id == thing.id or other.id in found
            if tie is None or known or (current is not thing and tie not in _FOLLOWED):
                continue
            if not (stands(other) or await fell_before(canon, caller, other)):
                continue
            if len(found) == DEPENDENTS_MAX:
                return Dependents(items=tuple(found.values()), more=True)
            found[other.id] = Dependent(thing=other, tie=tie, rests_on=current.id)
            if tie in _FOLLOWED and not isinstance(other, Entity):
                waiting.append(other)
    items = sorted(found.values(), key=lambda each: not each.certain)
    return Dependents(items=tuple(items), more=more)


def stands(thing: Retconnable) -> bool:
    """Whether nobody has said that it never was."""
    return thing.level is not CanonLevel.RETCONNED


async def fell_before(canon: Canon, caller: Caller, thing: Retconnable) -> bool:
    """Whether an earlier sending of the caller's request has retconned the thing.

    Each thing that falls with others falls in a step of the call that is named by its id.
    """
    return await answered(canon, step(caller, thing.id), thing.space) is not None


async def _near(canon: Canon, thing: Retconnable) -> tuple[Sequence[Asserted], bool]:
    """What is said of the same entities, and the effects of an event; whether there is more."""
    space, about = thing.space, await _family(canon, thing)
    found: dict[str, Asserted] = {}
    more = False
    if about:
        here = frozenset((space,))
        facts = await canon.state.facts(FactQuery(spaces=here, entities=about, limit=NEAR_MAX))
        events = await canon.state.events(EventQuery(spaces=here, entities=about, limit=NEAR_MAX))
        relations = await canon.state.relations(
            RelationQuery(spaces=here, entities=about, limit=NEAR_MAX)
        )
        for page in (facts, events, relations):
            found |= {each.id: each for each in page.items}
            more = more or page.total > len(page.items)
    if isinstance(thing, Event) and thing.causes:
        effects = await canon.within(space).things(thing.causes)
        found |= {each.id: each for each in effects.values() if isinstance(each, Event)}
    found.pop(thing.id, None)
    return tuple(found.values()), more


async def _family(canon: Canon, thing: Retconnable) -> frozenset[EntityId]:
    if isinstance(thing, Entity):
        return family_of(thing)
    roots = await canon.within(thing.space).roots(entities_of(thing))
    return frozenset(one for root in roots.values() for one in family_of(root))


def entities_of(thing: Asserted) -> tuple[EntityId, ...]:
    """The entities that something is said of."""
    if isinstance(thing, Relation):
        return (thing.from_id, thing.to_id)
    return thing.involved


async def _accepted_with(canon: Canon, thing: Retconnable) -> tuple[Retconnable, ...]:
    """What came into being by the same proposal."""
    proposal_id = None if isinstance(thing, Entity) else thing.proposal_id
    if proposal_id is None:
        return ()
    here = canon.within(thing.space)
    proposal = await here.thing(proposal_id)
    if not isinstance(proposal, Proposal) or proposal.decision is None:
        return ()
    made = await here.things(proposal.decision.made)
    return tuple(one for one in made.values() if isinstance(one, Retconnable))


def _tie(thing: Retconnable, other: Retconnable, made: Iterable[Retconnable]) -> Grounds | None:
    """Why `other`, which is said of the same entities, rests on `thing`; None: it does not."""
    together = any(one.id == other.id for one in made)
    if isinstance(thing, Entity):
        return Grounds.NAMES
    if isinstance(other, Entity):
        return Grounds.ACCEPTED_WITH if together else None
    ties = {
        Grounds.CAUSED: isinstance(thing, Event) and other.id in thing.causes,
        Grounds.NAMES: _names(other.properties, thing.id),
        Grounds.ACCEPTED_WITH: together or _one_change(thing, other),
        Grounds.TOLD_WITH: _told_in_one_turn(thing, other),
        Grounds.SAME_SCENE: _told_in_one_scene(thing, other),
        Grounds.SAME_TIME: _when(thing) is not None and _when(thing) == _when(other),
    }
    return next((tie for tie, holds in ties.items() if holds), None)


def _names(value: Any, thing_id: str) -> bool:
    match value:
        case str():
            return value.lower() == thing_id
        case Mapping():
            return any(_names(each, thing_id) for each in value.values())
        case list() | tuple():
            return any(_names(each, thing_id) for each in value)
        case _:
            return False


def _one_change(thing: Asserted, other: Asserted) -> bool:
    """Whether both say what one change made: of an entity's tags, or of who has how much."""
    if isinstance(thing, Relation) and isinstance(other, Relation):
        parts = counted(thing.properties) and counted(other.properties)
        ends = ((one.position, one.rel_type, one.to_id) for one in (thing, other))
        return parts and len(set(ends)) == 1
    return (
        isinstance(thing, Fact)
        and isinstance(other, Fact)
        and thing.position == other.position
        and thing.fact_type is other.fact_type is FactType.STATE
        and thing.properties.get("entity_id") == other.properties.get("entity_id")
    )


def _told_in_one_turn(thing: Asserted, other: Asserted) -> bool:
    turns = [{e for e in one.evidence if e.kind is EvidenceKind.TURN} for one in (thing, other)]
    if turns[0] & turns[1]:
        return True
    mine, theirs = thing.place, other.place
    if mine is None or theirs is None or not mine.scene or mine.turn == AFTER_ALL:
        return False
    return (mine.scene, mine.turn) == (theirs.scene, theirs.turn)


def _told_in_one_scene(thing: Asserted, other: Asserted) -> bool:
    if thing.scene_id is not None and thing.scene_id == other.scene_id:
        return True
    cited = [{e for e in one.evidence if e.kind in _IN_SCENES} for one in (thing, other)]
    return bool(cited[0] & cited[1])


def _when(thing: Asserted) -> Instant | None:
    return thing.since if isinstance(thing, Relation) else thing.time_ref

"""Retcon a fact, an event, a relation or an entity, and on request what rests on it.

Each falls in a commit of its own, what rests on it first. So nothing ever rests on what never
was, each is judged by the canon as the one before has left it, and what was interrupted is taken
up by asking again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from canonry.canon.commands.dependents import (
    DEPENDENTS_MAX,
    Dependent,
    Dependents,
    Retconnable,
    dependents,
)
from canonry.canon.commands.retcon_fact import retcon_fact
from canonry.canon.commands.retcon_relation import retcon_relation
from canonry.canon.session.caller import Caller, step, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, answered, commit_change
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require
from canonry.log.entries import (
    THING_KINDS,
    EntityRetconned,
    Entry,
    EventRetconned,
    FactResumed,
    RelationResumed,
)
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.relations import Relation
from canonry.log.keys import thing_key
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import NewId
from canonry.values.provenance import Authority, CanonLevel, Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Retcon:
    """Why something never was, by whose word, and what falls with it.

    `along`: whatever rests on it for sure; `along_ids`: those of its dependents.
    """

    reason: str
    along: bool = False
    along_ids: tuple[str, ...] = ()
    authority: Authority = Authority.SYSTEM
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retconned:
    """What rests on a thing, and, unless nothing was written, what fell and what holds again."""

    thing: Retconnable
    dependents: tuple[Dependent, ...]
    more: bool
    fallen: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What kind of thing it is."""
        return THING_KINDS[type(self.thing)]


async def list_dependents(canon: Canon, caller: Caller, thing_id: str) -> Retconned:
    """What rests on the thing with this id; nothing is written.

    Raises:
        NotFound: `thing.unknown`.
    """
    thing = await _require(canon, caller, thing_id)
    found = await dependents(canon, caller, thing)
    return Retconned(thing=thing, dependents=found.items, more=found.more)


async def retcon_thing(
    canon: Canon, caller: Caller, thing_id: str, retcon: Retcon, *, is_part: bool = False
) -> Retconned:
    """Say that the thing never was, and what falls with it.

    `is_part`: the request retcons more than this, so that the thing falls in a step of it.

    Raises:
        InvalidInput: `retcon.not-dependent`.
        NotFound: `thing.unknown` or `evidence.unknown`.
        Conflict: `<kind>.retconned`, `retcon.too-many`, or `space.foreign`.
    """
    thing = await _require(canon, caller, thing_id)
    own = step(caller, thing.id) if is_part else caller
    if await answered(canon, own, thing.space) is None:
        require_standing(thing)
    found = await dependents(canon, caller, thing)
    chosen = _chosen(found, retcon)
    fallen: list[str] = []
    entries: list[Entry] = []
    for each in (*reversed(chosen), thing):
        by = own if each is thing else step(caller, each.id)
        receipt = await _fall(canon, by, each, retcon)
        fallen.append(each.id)
        entries += () if receipt is None else receipt.entries
    return Retconned(
        thing=thing,
        dependents=found.items,
        more=found.more,
        fallen=tuple(fallen),
        resumed=await _resumed(canon, thing, entries),
    )


async def _require(canon: Canon, caller: Caller, thing_id: str) -> Retconnable:
    thing = await canon.seen_by(caller).thing(thing_id)
    if isinstance(thing, Entity):
        return await require(canon, caller, Entity, thing_id)
    if not isinstance(thing, Retconnable):
        raise unknown("thing", thing_id)
    return thing


def _chosen(found: Dependents, retcon: Retcon) -> Sequence[Retconnable]:
    """The dependents that fall along, the nearest first."""
    listed = {each.thing.id for each in found.items}
    strange = sorted(set(retcon.along_ids) - listed)
    if strange:
        message = "name only ids that are listed as resting on it; ask for its dependents first"
        raise InvalidInput("retcon.not-dependent", message, path="/along_ids", ids=strange)
    if retcon.along and found.more:
        message = f"more than {DEPENDENTS_MAX} things may rest on this; name ids in along_ids"
        raise Conflict("retcon.too-many", message, path="/along")
    return [
        each.thing
        for each in found.items
        if each.thing.id in retcon.along_ids or (retcon.along and each.certain)
    ]


async def _fall(canon: Canon, caller: Caller, thing: Retconnable, retcon: Retcon) -> Receipt | None:
    """Retcon one thing; None where it fell with another one already."""
    now = await canon.within(thing.space).thing(thing.id)
    done = not isinstance(now, Retconnable) or now.level is CanonLevel.RETCONNED
    if done and await answered(canon, caller, thing.space) is None:
        return None
    match thing:
        case Fact():
            return await retcon_fact(
                canon,
                caller,
                thing.id,
                reason=retcon.reason,
                replacement=None,
                authority=retcon.authority,
                evidence=retcon.evidence,
            )
        case Relation():
            return await retcon_relation(canon, caller, thing.id, reason=retcon.reason)
        case Event() | Entity():
            return await _retcon_alone(canon, caller, thing, retcon.reason)


async def _retcon_alone(
    canon: Canon, caller: Caller, thing: Event | Entity, reason: str
) -> Receipt:
    """Retcon what stands in no line of its like."""

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        now = await require(canon, caller, type(thing), thing.id)
        require_standing(now)
        entry: Entry
        if isinstance(now, Event):
            entry = EventRetconned(event_id=now.id, replaced_by=None, reason=reason)
        else:
            entry = EntityRetconned(entity_id=now.id, replaced_by=None, reason=reason)
        return Change(entries=(entry,), reads=frozenset((thing_key(now.id),)))

    return await commit_change(canon, caller, thing.space, prepare)


async def _resumed(canon: Canon, thing: Retconnable, entries: Iterable[Entry]) -> tuple[str, ...]:
    """What was given back, and stands at the end."""
    ids = [
        entry.relation_id if isinstance(entry, RelationResumed) else entry.fact_id
        for entry in entries
        if isinstance(entry, RelationResumed | FactResumed)
    ]
    now = await canon.within(thing.space).things(ids)
    standing = [
        one.id
        for one in now.values()
        if (isinstance(one, Relation) and one.current)
        or (isinstance(one, Fact) and one.level is CanonLevel.CANON and not one.superseded)
    ]
    return tuple(sorted(standing))

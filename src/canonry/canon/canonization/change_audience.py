"""Change the audience of an item, and record the reason.

Items of the same secret commit, and its changes to other items, are revealed too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, cast

from canonry.canon.judging.settling import tells_tags
from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, audiences_of, commit_change
from canonry.canon.session.lookup import commit_at, require_evidence
from canonry.canon.session.paging import every_item, every_match
from canonry.log.canon import ids_of, needs
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import (
    AudienceChanged,
    Entry,
    EventRetconned,
    FactResumed,
    FactRetconned,
    FactSuperseded,
    Made,
    ProposalDecided,
    RelationEnded,
    RelationResumed,
    RelationRetconned,
)
from canonry.log.folding import facts_key, relations_key, thing_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Source
from canonry.log.observing import names_in
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.values.audience import Audience, covers, narrowest
from canonry.values.errors import Conflict, NotAllowed
from canonry.values.ids import NewId
from canonry.values.moments import Instant, StoryPlace
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import Evidence

Kept: TypeAlias = Entity | Relation | Fact | Event | Source | Scene | Turn
_CHANGES: Final = (
    *(RelationEnded, RelationResumed, RelationRetconned),
    *(FactSuperseded, FactResumed, FactRetconned, EventRetconned),
)
ALONG_MAX: Final = 500
"""The most items whose audience changes at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceTold:
    """The items with a new audience, the named one first, and the time of recording."""

    ids: tuple[str, ...]
    audience: Audience
    recorded_at: Instant


async def change_audience(
    canon: Canon,
    caller: Caller,
    thing_id: str,
    audience: Audience,
    *,
    reason: str,
    evidence: tuple[Evidence, ...] = (),
) -> AudienceTold:
    """Set the audience of an item; only game masters may do this.

    Raises:
        NotAllowed: `audience.denied`.
        NotFound: `thing.unknown` or `evidence.unknown`.
        Conflict: `audience.names-secrets`, it refers to items with a narrower audience;
            `audience.told`, it changed items with a wider audience; or `audience.too-wide`, too
            many items would change.
    """
    if not caller.viewer.masters:
        message = "Only game masters may change the audience of an item."
        raise NotAllowed("audience.denied", message)
    space = (await _kept(canon, caller, thing_id)).space

    async def prepare(_: NewId) -> Change:
        thing = await _kept(canon, caller, thing_id)
        reads = set(await require_evidence(canon, caller, space, evidence))
        if thing.audience == audience:
            return Change(entries=(), reads=frozenset())
        if covers(audience, thing.audience):
            ids, told = await _told_together(canon, thing, audience)
            await _require_open(canon, ids, audience)
        else:
            ids, told = await _about(canon, thing), ()
            await _require_untold(canon, thing)
        if len(ids) > ALONG_MAX:
            message = f"More than {ALONG_MAX} items depend on this one. Change those first."
            raise Conflict("audience.too-wide", message)
        found = await canon.store_of_all.state.things(ids)
        # Change an observation before its entity.
        entries = tuple(
            AudienceChanged(thing_id=one, audience=audience, reason=reason, evidence=evidence)
            for one in sorted(ids, key=lambda one: isinstance(found.get(one), Entity))
        )
        again: list[Any] = [replace(cast("Any", one), audience=audience) for one in told]
        reads |= {thing_key(one) for one in (*ids, *needs(told))}
        reads |= {facts_key(thing.id), relations_key(thing.id)}
        return Change(entries=(*entries, *again), reads=frozenset(reads))

    receipt = await commit_change(canon, caller, space, prepare)
    written = tuple(e.thing_id for e in receipt.entries if isinstance(e, AudienceChanged))
    return AudienceTold(
        ids=written or (thing_id,), audience=audience, recorded_at=receipt.recorded_at
    )


async def _kept(canon: Canon, caller: Caller, thing_id: str) -> Kept:
    found = await canon.seen_by(caller).thing(thing_id)
    if not isinstance(found, Kept):
        raise unknown("thing", thing_id)
    return found


async def _told_together(
    canon: Canon, thing: Kept, audience: Audience
) -> tuple[tuple[str, ...], tuple[Entry, ...]]:
    """Return the items of the same commit and audience, and its changes to other items."""
    entries = await _told_with(canon, thing)
    ids: list[str] = [thing.id, *(each.thing.id for each in entries if isinstance(each, Made))]
    ids += [each.proposal_id for each in entries if isinstance(each, ProposalDecided)]
    ids += await _inside(canon, thing)
    if isinstance(thing, Relation):
        ids += await _said_again(canon, thing, audience)
    ids += await _said_since(canon, thing, entries)
    known = await audiences_of(canon, ids)
    along = tuple(one for one in dict.fromkeys(ids) if known.get(one) == thing.audience)
    changed = (each for each in entries if not isinstance(each, Made | AudienceChanged))
    others = (each for each in changed if ids_of(each)[0] not in along)
    told = (each for each in others if getattr(each, "audience", None) == thing.audience)
    return along, tuple(told)


async def _said_again(canon: Canon, thing: Relation, audience: Audience) -> list[str]:
    """Return the successor if it only restates a relation that the new audience knows."""
    found = await canon.store_of_all.state.things((thing.superseded_by or thing.id,))
    heir = found.get(thing.superseded_by or "")
    if not isinstance(heir, Relation):
        return []
    ends = frozenset((heir.from_id, heir.to_id))
    query = RelationQuery(spaces=frozenset((heir.space,)), entities=ends, rel_type=heir.rel_type)
    near = [one async for one in every_match(canon.judged.state.relations, query)]
    same = (one for one in near if {one.from_id, one.to_id} == ends and one.id != heir.id)
    return [heir.id] if any(covers(one.audience, audience) for one in same) else []


async def _said_since(canon: Canon, thing: Kept, entries: Iterable[Entry]) -> list[str]:
    """Return later observations of the moments at which the commit recorded a state."""
    made = (each.thing for each in entries if isinstance(each, Made))
    seen = [each for each in made if isinstance(each, ObservationDraft)]
    told = [each for each in seen if STATE_TAGS in each.fields]
    found: list[str] = []
    for entity_id in dict.fromkeys(each.entity_id for each in told):
        moments = {
            (each.observed_at, each.place or StoryPlace(told=thing.position))
            for each in told
            if each.entity_id == entity_id
        }
        later = await canon.store_of_all.state.observations(
            entity_id, after=Position(thing.position), limit=ALONG_MAX
        )
        same = (each for each in later if (each.observed_at, each.moment.place) in moments)
        found += [each.id for each in same if STATE_TAGS in each.fields]
    return found


async def _told_with(canon: Canon, thing: Kept) -> Sequence[Entry]:
    """Return the entries of the commit that created the item."""
    commit = await commit_at(canon, thing.space, thing.position)
    return () if commit is None else commit.entries


async def _about(canon: Canon, thing: Kept) -> tuple[str, ...]:
    """Return the item and all statements about it."""
    found: list[str] = [thing.id, *(await _inside(canon, thing))]
    if isinstance(thing, Entity):
        state, about = canon.state, {"entities": family_of(thing)}
        asks: Any = {FactQuery: state.facts, EventQuery: state.events}
        for query, ask in {**asks, RelationQuery: state.relations}.items():
            here = query(spaces=frozenset((thing.space,)), **about)
            found += [each.id async for each in every_match(ask, here)]
    return tuple(dict.fromkeys(found))


async def _inside(canon: Canon, thing: Kept) -> list[str]:
    """Return an entity's observations, a source's snippets or a scene's turns.

    More items than can change at once are refused as too wide.
    """
    match thing:
        case Entity():
            told: list[Observation | Turn] = []
            for one in sorted(family_of(thing)):
                told += await canon.state.observations(one, after=ORIGIN, limit=ALONG_MAX)
        case Source():
            snippets = every_item(partial(canon.documents.snippets, thing.id))
            return [each.id async for each in snippets]
        case Scene():
            told = [*(await canon.documents.turns(thing.id, limit=ALONG_MAX))]
        case _:
            return []
    return [each.id for each in told if each.audience == thing.audience]


async def _require_open(canon: Canon, ids: tuple[str, ...], audience: Audience) -> None:
    """Refuse to reveal an item that refers to hidden ones."""
    found = await canon.store_of_all.state.things(ids)
    made = [each for each in found.values() if isinstance(each, ObservationDraft | Kept)]
    named = {one for each in made for one in names_in((Made(thing=each),), evidence=False)}
    known = await audiences_of(canon, named - set(ids))
    if narrowest((audience, *known.values())) != audience:
        kept = sorted(one for one, its in known.items() if not covers(its, audience))
        message = "This item refers to items with a narrower audience. Reveal those items first."
        raise Conflict("audience.names-secrets", message, conflicts=kept)


async def _require_untold(canon: Canon, thing: Kept) -> None:
    """Refuse to hide an item that changed items with a wider audience."""
    entries = await _told_with(canon, thing)
    changed = any(isinstance(each, _CHANGES) or tells_tags(each) for each in entries)
    if isinstance(thing, Relation):
        query = RelationQuery(
            spaces=frozenset((thing.space,)), entities=frozenset((thing.from_id, thing.to_id))
        )
        near = [each async for each in every_match(canon.judged.state.relations, query)]
        heirs: set[str | None] = {one.superseded_by for one in near}
        heirs |= {veil.superseded_by for one in near for veil in one.veils}
        changed = changed or thing.id in heirs
    if changed and not isinstance(thing, Entity | Source | Scene | Turn):
        message = "More readers know the items that it changed. End it, then record it for fewer."
        raise Conflict("audience.told", message, conflicts=[thing.id])

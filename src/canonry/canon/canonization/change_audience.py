"""Change the audience of an item, and record the reason.

Items of the same secret commit, and its changes to other items, are revealed too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, cast

from canonry.canon.judging.wider_audiences import states_tags
from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, audiences_of, commit_change
from canonry.canon.session.lookup import commit_at, find_event_facts, require_evidence
from canonry.canon.session.paging import every_item, every_match
from canonry.log import entries as log
from canonry.log.commits import ORIGIN, Position
from canonry.log.fold_commit import ids_needed, ids_of
from canonry.log.folding import facts_key, item_key, relations_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Source
from canonry.log.observations import list_named_ids
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.values.audience import Audience, audience_covers, narrowest
from canonry.values.errors import Conflict, NotAllowed
from canonry.values.ids import NewId
from canonry.values.moments import Instant, StoryPosition
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import Evidence

HasAudience: TypeAlias = Entity | Relation | Fact | Event | Source | Scene | Turn
_CHANGES: Final = (
    *(log.RelationEnded, log.RelationResumed, log.RelationRetconned),
    *(log.FactSuperseded, log.FactResumed, log.FactRetconned, log.EventRetconned),
)
ALONG_MAX: Final = 500
"""The most items whose audience changes at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceChange:
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
) -> AudienceChange:
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
    space = (await _require_audience(canon, caller, thing_id)).space

    async def prepare_change(_: NewId) -> Change:
        item = await _require_audience(canon, caller, thing_id)
        reads = set(await require_evidence(canon, caller, space, evidence))
        if item.audience == audience:
            return Change(entries=(), reads=frozenset())
        if audience_covers(audience, item.audience):
            ids, changes = await _items_together(canon, item, audience)
            await _require_open(canon, ids, audience)
        else:
            ids, changes = await _statements_about(canon, item), ()
            await _require_unchanging(canon, item)
        if len(ids) > ALONG_MAX:
            message = f"More than {ALONG_MAX} items depend on this one. Change those first."
            raise Conflict("audience.too-wide", message)
        found = await canon.store_of_all.state.items_by_id(ids)
        # Change an observation before its entity.
        entries = tuple(
            log.AudienceChanged(thing_id=one, audience=audience, reason=reason, evidence=evidence)
            for one in sorted(ids, key=lambda one: isinstance(found.get(one), Entity))
        )
        again: list[Any] = [replace(cast("Any", one), audience=audience) for one in changes]
        reads |= {item_key(one) for one in (*ids, *ids_needed(changes))}
        reads |= {facts_key(item.id), relations_key(item.id)}
        return Change(entries=(*entries, *again), reads=frozenset(reads))

    receipt = await commit_change(canon, caller, space, prepare_change)
    written = tuple(e.thing_id for e in receipt.entries if isinstance(e, log.AudienceChanged))
    return AudienceChange(
        ids=written or (thing_id,), audience=audience, recorded_at=receipt.recorded_at
    )


async def _require_audience(canon: Canon, caller: Caller, item_id: str) -> HasAudience:
    found = await canon.caller_scope(caller).find_item(item_id)
    if not isinstance(found, HasAudience):
        raise unknown_item("thing", item_id)
    return found


async def _items_together(
    canon: Canon, item: HasAudience, audience: Audience
) -> tuple[tuple[str, ...], tuple[log.Entry, ...]]:
    """Return the items of the same commit and audience, and its changes to other items."""
    entries = await _creating_entries(canon, item)
    ids: list[str] = [item.id, *(each.thing.id for each in entries if isinstance(each, log.Made))]
    ids += [each.proposal_id for each in entries if isinstance(each, log.ProposalDecided)]
    ids += await _items_inside(canon, item)
    if isinstance(item, Relation):
        ids += await _restating_successor(canon, item, audience)
    ids += await _later_observations(canon, item, entries)
    known = await audiences_of(canon, ids)
    along = tuple(one for one in dict.fromkeys(ids) if known.get(one) == item.audience)
    changed = (each for each in entries if not isinstance(each, log.Made | log.AudienceChanged))
    others = (each for each in changed if ids_of(each)[0] not in along)
    changes = (each for each in others if getattr(each, "audience", None) == item.audience)
    return along, tuple(changes)


async def _restating_successor(canon: Canon, item: Relation, audience: Audience) -> list[str]:
    """Return the successor if it only restates a relation that the new audience knows."""
    found = await canon.store_of_all.state.items_by_id((item.superseded_by or item.id,))
    successor = found.get(item.superseded_by or "")
    if not isinstance(successor, Relation):
        return []
    ends = frozenset((successor.from_id, successor.to_id))
    query = RelationQuery(
        spaces=frozenset((successor.space,)), entities=ends, rel_type=successor.rel_type
    )
    near = [one async for one in every_match(canon.with_all_secrets.state.relations, query)]
    same = (one for one in near if {one.from_id, one.to_id} == ends and one.id != successor.id)
    return [successor.id] if any(audience_covers(one.audience, audience) for one in same) else []


async def _later_observations(
    canon: Canon, item: HasAudience, entries: Iterable[log.Entry]
) -> list[str]:
    """Return later observations of the moments at which the commit recorded a state."""
    made = (each.thing for each in entries if isinstance(each, log.Made))
    seen = [each for each in made if isinstance(each, ObservationDraft)]
    with_tags = [each for each in seen if STATE_TAGS in each.fields]
    found: list[str] = []
    for entity_id in dict.fromkeys(each.entity_id for each in with_tags):
        moments = {
            (each.observed_at, each.place or StoryPosition(told=item.position))
            for each in with_tags
            if each.entity_id == entity_id
        }
        later = await canon.store_of_all.state.observations(
            entity_id, after=Position(item.position), limit=ALONG_MAX
        )
        same = (each for each in later if (each.observed_at, each.moment.position) in moments)
        found += [each.id for each in same if STATE_TAGS in each.fields]
    return found


async def _creating_entries(canon: Canon, item: HasAudience) -> Sequence[log.Entry]:
    """Return the entries of the commit that created the item."""
    commit = await commit_at(canon, item.space, item.position)
    return () if commit is None else commit.entries


async def _statements_about(canon: Canon, item: HasAudience) -> tuple[str, ...]:
    """Return the item and all statements about it."""
    found: list[str] = [item.id, *(await _items_inside(canon, item))]
    if isinstance(item, Entity):
        state, about = canon.state, {"entities": family_of(item)}
        asks: Any = {FactQuery: state.facts, EventQuery: state.events}
        for query, ask in {**asks, RelationQuery: state.relations}.items():
            here = query(spaces=frozenset((item.space,)), **about)
            found += [each.id async for each in every_match(ask, here)]
    return tuple(dict.fromkeys(found))


async def _items_inside(canon: Canon, item: HasAudience) -> list[str]:
    """Return an entity's observations, a source's snippets or a scene's turns.

    More items than can change at once are refused as too wide.
    """
    match item:
        case Entity():
            parts: list[Observation | Turn] = []
            for one in sorted(family_of(item)):
                parts += await canon.state.observations(one, after=ORIGIN, limit=ALONG_MAX)
        case Source():
            snippets = every_item(partial(canon.documents.snippets, item.id))
            return [each.id async for each in snippets]
        case Scene():
            parts = [*(await canon.documents.turns(item.id, limit=ALONG_MAX))]
        case _:
            return [each.id for each in await find_event_facts(canon, item)]
    return [each.id for each in parts if each.audience == item.audience]


async def _require_open(canon: Canon, ids: tuple[str, ...], audience: Audience) -> None:
    """Refuse to reveal an item that refers to hidden ones."""
    found = await canon.store_of_all.state.items_by_id(ids)
    made = [each for each in found.values() if isinstance(each, ObservationDraft | HasAudience)]
    named = {one for e in made for one in list_named_ids((log.Made(thing=e),), evidence=False)}
    known = await audiences_of(canon, named - set(ids))
    if narrowest((audience, *known.values())) != audience:
        kept = sorted(one for one, its in known.items() if not audience_covers(its, audience))
        message = "This item refers to items with a narrower audience. Reveal those items first."
        raise Conflict("audience.names-secrets", message, conflicts=kept)


async def _require_unchanging(canon: Canon, item: HasAudience) -> None:
    """Refuse to hide an item that changed items with a wider audience."""
    entries = await _creating_entries(canon, item)
    changed = any(isinstance(each, _CHANGES) or states_tags(each) for each in entries)
    if isinstance(item, Relation):
        query = RelationQuery(
            spaces=frozenset((item.space,)), entities=frozenset((item.from_id, item.to_id))
        )
        near = [each async for each in every_match(canon.with_all_secrets.state.relations, query)]
        successors: set[str | None] = {one.superseded_by for one in near}
        successors |= {part.superseded_by for one in near for part in one.veils}
        changed = changed or item.id in successors
    if changed and not isinstance(item, Entity | Source | Scene | Turn):
        message = "More readers know the items that it changed. End it, then record it for fewer."
        raise Conflict("audience.told", message, conflicts=[item.id])

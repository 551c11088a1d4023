"""Retcon a fact: it never was true; a replacement may take its place, and both are kept."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from canonry.canon.commands.give_back import give_back, said_again, taken_over_by
from canonry.canon.judging.making import Backing, make_fact, make_observation
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import TagHeld, changes_of, together
from canonry.canon.judging.statements import stated_tag
from canonry.canon.judging.undone_tags import undone
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, known_to
from canonry.canon.session.extend_slice import judged_by
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require, require_evidence
from canonry.log.entries import Entry, FactResumed, FactRetconned, Made
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, FactDraft, FactType
from canonry.log.keys import thing_key
from canonry.log.schemas.narrative_fields import STATE_TAGS
from canonry.values.ids import FactId, NewId
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, Evidence
from canonry.values.state_tags import excluded_by


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undone:
    """The state tags that change with a fact, the entries that say so, and what was read.

    `settled`: the entries say of all other facts about the tags what becomes of them. `instead`:
    they make what takes the place of the fact.
    """

    settled: bool = False
    instead: FactId | None = None
    tags: Mapping[str, bool] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    reads: frozenset[str] = frozenset()


async def retcon_fact(
    canon: Canon,
    caller: Caller,
    fact_id: str,
    *,
    reason: str,
    replacement: str | None,
    authority: Authority,
    evidence: tuple[Evidence, ...],
) -> Receipt:
    """Retcon the fact, and what came with it.

    Where it documents a tag that still stands by it, the tag falls as well, and the tags that it
    took the place of hold again; a replacement that states a tag sets it instead. The facts that
    it had taken over from hold again, until its own successor took over. A replacement takes its
    place, of the same entities over the same time; without evidence of its own it rests on that
    of the fact that it replaces.

    Raises:
        NotFound: `fact.unknown` or `evidence.unknown`.
        Conflict: `fact.retconned` or `space.foreign`.
    """
    space = (await require(canon, caller, Fact, fact_id)).space

    async def prepare(new_id: NewId) -> Change:
        seen = await require(canon, caller, Fact, fact_id)
        fact = await known_to(canon, seen, seen.audience)
        require_standing(fact)
        reads = await require_evidence(canon, caller, space, evidence)
        backing = Backing(
            space=space,
            authority=authority,
            confidence=1.0,
            evidence=evidence or fact.evidence,
            scene_id=fact.scene_id,
        )
        fallen = FactRetconned(fact_id=fact.id, replaced_by=None, reason=reason)
        before = await taken_over_by(canon, fact)
        if said_again(fact, before):
            undone = _Undone(tags={fact.properties["tag"]: fact.properties["holds"]})
        else:
            undone = await _tag_undone(
                canon, caller, new_id, backing, fallen, fact=fact, instead=replacement
            )
        entries = undone.entries
        if undone.instead is not None:
            fallen = replace(fallen, replaced_by=undone.instead)
        elif replacement is not None:
            made = _replacement(new_id, backing, fact, replacement)
            fallen = replace(fallen, replaced_by=FactId(made.thing.id))
            entries += (made,)
        back: tuple[Entry, ...] = ()
        if not undone.settled:
            back = give_back(fact, before, tags=undone.tags, instead=fallen.replaced_by)
        reads |= undone.reads | {thing_key(each.id) for each in (fact, *before)}
        audience = None if evidence and not fact.audience else fact.audience
        return Change(entries=(*entries, fallen, *back), reads=reads, audience=audience)

    return await commit_change(canon, caller, space, prepare)


def _replacement(new_id: NewId, backing: Backing, fact: Fact, statement: str) -> Made:
    return make_fact(
        new_id,
        backing,
        statement=statement,
        involved=fact.involved,
        time_ref=fact.time_ref,
        duration=fact.duration,
        replaces=fact.id,
    )


async def _tag_undone(
    canon: Canon,
    caller: Caller,
    new_id: NewId,
    backing: Backing,
    fallen: FactRetconned,
    *,
    fact: Fact,
    instead: str | None,
) -> _Undone:
    """Take back the tag, if its value comes from the commit of the fact, and what it displaced."""
    if fact.fact_type is not FactType.STATE or not _is_tag(fact.properties):
        return _Undone()
    tag, holds = fact.properties["tag"], fact.properties["holds"]
    entity = await require(canon, caller, Entity, fact.properties["entity_id"])
    entity = await known_to(canon, entity, fact.audience)
    reads = frozenset((thing_key(entity.id), thing_key(fact.properties["entity_id"])))
    if holds:
        said = stated_tag(instead or "", entity, canon.policy.exclusive_tags)
        stated = said[0] if said is not None and said[1] else None
        return await _never_held(
            canon, new_id, backing, fallen, fact=fact, entity=entity, instead=stated
        )
    observation_id = entity.provenance.get(f"{STATE_TAGS}.{tag}", "")
    seen = await canon.within(fact.space).thing(observation_id)
    if not isinstance(seen, Observation) or seen.position != fact.position:
        return _Undone(reads=reads)
    if _displaced_by(canon, entity, seen, tag):
        return _Undone(reads=reads)
    change = next(one for one in changes_of(entity) if (one.tag, one.observation) == (tag, seen.id))
    told_there = replace(backing, place=change.moment.place)
    tags = {tag: True}
    observed = make_observation(
        new_id, told_there, entity.id, {STATE_TAGS: tags}, observed_at=seen.observed_at
    )
    return _Undone(tags=tags, entries=(observed,), reads=reads)


async def _never_held(
    canon: Canon,
    new_id: NewId,
    backing: Backing,
    fallen: FactRetconned,
    *,
    fact: Fact,
    entity: Entity,
    instead: str | None,
) -> _Undone:
    """Take back a tag from the moment of its fact on, as often as it was said since then."""
    tag = fact.properties["tag"]
    own = [one for one in changes_of(entity) if one.tag == tag]
    at = next((n for n, one in enumerate(own) if together(one.moment, fact.moment)), None)
    reads = frozenset((thing_key(entity.id),))
    if at is None or not own[at].holds:
        return _Undone(reads=reads)
    run = list(takewhile(lambda one: one.holds, own[at:]))
    held = TagHeld(entity_id=entity.id, tag=tag, change=run[-1], facts=(fact.id,))

    def work(view: SliceView) -> tuple[tuple[Entry, ...], FactId | None]:
        reason = fallen.reason
        entries = undone(
            view, new_id, backing, entity, held, label="observation", reason=reason, instead=instead
        )
        stated = next((fact.id for fact in _begun(view, entries, instead)), None)
        return entries, stated

    (entries, made), rested_on = await judged_by(canon, fact.space, work, fact.audience)
    return _Undone(entries=entries, instead=made, reads=reads | rested_on, settled=True)


def _begun(view: SliceView, entries: Iterable[Entry], tag: str | None) -> Iterator[FactDraft]:
    """The facts that entries make, or let hold again, which state the tag."""
    for entry in entries:
        thing: object = entry.thing if isinstance(entry, Made) else None
        if isinstance(entry, FactResumed):
            thing = view.thing(entry.fact_id)
        if isinstance(thing, FactDraft) and thing.properties.get("holds") is True:
            yield from (thing,) if thing.properties["tag"] == tag else ()


def _displaced_by(canon: Canon, entity: Entity, seen: Observation, tag: str) -> list[str]:
    """The tags that began with this observation, exclude `tag`, and still hold."""
    begun = [
        other
        for other, holds in seen.fields[STATE_TAGS].items()
        if holds and other in entity.state_tags
    ]
    return excluded_by(tag, canon.policy.exclusive_tags, begun)


def _is_tag(properties: Mapping[str, Any]) -> bool:
    return properties.keys() >= {"entity_id", "tag", "holds"}

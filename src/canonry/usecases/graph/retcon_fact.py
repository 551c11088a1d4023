"""Retcon a fact: it never was true; a replacement may take its place, and both are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from canonry.domain.ids import FactId, NewId
from canonry.domain.judging.making import Backing, make_fact, make_observation, tag_statement
from canonry.domain.judging.standing_tags import changes_of, displaced_by
from canonry.domain.log.entries import Entry, FactRetconned, Made
from canonry.domain.log.keys import thing_key
from canonry.domain.observations import Observation
from canonry.domain.provenance import Authority, CanonLevel, Evidence
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Fact, FactType
from canonry.domain.vocabularies.narrative_fields import STATE_TAGS
from canonry.domain.vocabularies.state_tags import excluded_by
from canonry.usecases.graph.give_back import give_back, said_again, taken_over_by
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, Receipt, commit_change
from canonry.usecases.kernel.involved import require_standing
from canonry.usecases.kernel.lookup import require, require_evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undone:
    """The state tags that change with a fact, the entries that say so, and what was read."""

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
    took the place of hold again. The facts that it had taken over from hold again, until its own
    successor took over. A replacement takes its place, of the same entities over the same time;
    without evidence of its own it rests on that of the fact that it replaces.

    Raises:
        NotFound: `fact.unknown` or `evidence.unknown`.
        Conflict: `fact.retconned` or `space.foreign`.
    """
    space = (await require(canon, caller, Fact, fact_id)).space

    async def prepare(new_id: NewId) -> Change:
        fact = await require(canon, caller, Fact, fact_id)
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
            undone = await _tag_undone(canon, caller, new_id, backing, fallen, fact=fact)
        entries = undone.entries
        if replacement is not None:
            made = _replacement(new_id, backing, fact, replacement)
            fallen = replace(fallen, replaced_by=FactId(made.thing.id))
            entries += (made,)
        back = give_back(fact, before, tags=undone.tags, instead=fallen.replaced_by)
        reads |= undone.reads | {thing_key(each.id) for each in (fact, *before)}
        return Change(entries=(*entries, fallen, *back), reads=reads)

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
) -> _Undone:
    """Take back the tag, if its value comes from the commit of the fact, and what it displaced."""
    if fact.fact_type is not FactType.STATE or not _is_tag(fact.properties):
        return _Undone()
    tag, holds = fact.properties["tag"], fact.properties["holds"]
    entity = await require(canon, caller, Entity, fact.properties["entity_id"])
    reads = frozenset((thing_key(entity.id), thing_key(fact.properties["entity_id"])))
    observation_id = entity.provenance.get(f"{STATE_TAGS}.{tag}", "")
    seen = await canon.within(fact.space).thing(observation_id)
    if not isinstance(seen, Observation) or seen.position != fact.position:
        return _Undone(reads=reads)
    if not holds and _displaced_by(canon, entity, seen, tag):
        return _Undone(reads=reads)
    change = next(one for one in changes_of(entity) if (one.tag, one.observation) == (tag, seen.id))
    gone = displaced_by(entity, change) if holds else ()
    back = excluded_by(tag, canon.policy.exclusive_tags, gone)
    undone = {tag: not holds, **dict.fromkeys(back, True)}
    told_there = replace(backing, place=change.moment.place)
    fields = {STATE_TAGS: undone}
    entries: list[Entry] = [
        make_observation(new_id, told_there, entity.id, fields, observed_at=seen.observed_at)
    ]
    for other in back:
        words = tag_statement(entity.name, other, holds=False)
        stating = await canon.state.facts_stating(entity.space, words)
        entries += [
            replace(fallen, fact_id=each.id, replaced_by=None)
            for each in stating
            if each.position == fact.position and each.level is CanonLevel.CANON
        ]
    return _Undone(tags=undone, entries=tuple(entries), reads=reads)


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

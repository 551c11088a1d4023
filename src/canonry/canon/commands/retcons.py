"""Retcon facts and relations, and restore the statements that they had ended."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from canonry.canon.judging.known_things import Backing, make_fact, make_observation
from canonry.canon.judging.relation_lines import line_of, written
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import (
    TagHeld,
    changes_of,
    stated_tag,
    superseded,
    together,
    undone,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    judged_by,
    known_to,
    require_standing,
)
from canonry.canon.session.lookup import commit_at, require, require_evidence
from canonry.log.commits import Position
from canonry.log.entries import (
    Entry,
    FactResumed,
    FactRetconned,
    FactSuperseded,
    Made,
    RelationEnded,
    RelationResumed,
    RelationRetconned,
)
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, FactDraft, FactType, Relation
from canonry.log.items.veils import as_seen
from canonry.log.schemas.narrative import STATE_TAGS, relation_type
from canonry.values.audience import Audience, viewer_of
from canonry.values.fields import Reference
from canonry.values.ids import FactId, NewId
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, CanonLevel, Evidence
from canonry.values.state_tags import excluded_by

# Restore: a retconned fact returns its interval to the facts next to it.
#
# A retcon removes a fact from the line of successive facts and joins its neighbours.


async def taken_over_by(canon: Canon, fact: Fact) -> Sequence[Fact]:
    """Return the canon facts that `fact` superseded.

    They ended when it was made, when it was last confirmed, or when a fact between the two was
    retconned.
    """
    found: dict[FactId, Fact] = {}
    asked: set[FactId] = set()
    heirs = [fact]
    while heirs:
        heir = heirs.pop()
        asked.add(heir.id)
        for old in await _ended_for(canon, heir):
            if old.superseded_by == fact.id and old.level is CanonLevel.CANON:
                found[old.id] = old
            elif old.level is CanonLevel.RETCONNED and old.id not in asked:
                heirs.append(old)
    return tuple(found.values())


def give_back(
    fact: Fact, before: Iterable[Fact], *, tags: Mapping[str, bool], instead: FactId | None
) -> tuple[Entry, ...]:
    """Return the entries that restore the facts that a retconned one had superseded.

    They hold again until its successor, or its replacement `instead`, begins. A fact about a state
    tag follows the state: it holds again with the `tags` that the retcon restores, and stays as it
    is if another statement changed the tag since.
    """
    entries: list[Entry] = []
    tells_state = "tag" in fact.properties
    for old in before:
        said = old.properties
        agrees = "tag" not in said or tags.get(said["tag"]) is said.get("holds")
        given_back = bool(tags) and agrees
        if tells_state and given_back:
            entries.append(FactResumed(fact_id=old.id, fallen=fact.id))
        elif fact.superseded_by is not None:
            entries.append(superseded(old, fact.until, fact.superseded_by))
        elif instead is not None:
            entries.append(superseded(old, old.until, instead))
        elif not tells_state:
            entries.append(FactResumed(fact_id=old.id, fallen=fact.id))
    return tuple(entries)


async def _ended_for(canon: Canon, heir: Fact) -> Sequence[Fact]:
    ids: list[FactId] = []
    for place in sorted({heir.position, heir.changed_at}):
        commit = await commit_at(canon, heir.space, place)
        ended = (e for e in commit.entries if isinstance(e, FactSuperseded)) if commit else ()
        ids += (entry.fact_id for entry in ended if entry.superseded_by == heir.id)
    things = await canon.within(heir.space).things(ids)
    return [old for each in ids if isinstance(old := things.get(each), Fact)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undone:
    """The state tags that change with a fact, their entries, and the keys read.

    `settled`: the entries settle all other facts about the tags. `instead`: they create the
    replacement of the fact.
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
    """Retcon the fact, and the state that it established.

    A tag that still rests on the fact is removed and the tags that it ended hold again; a
    replacement that states a tag sets it instead. Facts that it superseded hold again until its
    successor begins. A replacement has the same entities and the same interval; without evidence it
    takes that of the replaced fact.

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
        tags = [(e.properties.get("tag"), e.properties.get("holds")) for e in (fact, *before)]
        if "tag" in fact.properties and tags[0] in tags[1:]:  # an earlier fact states the same
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
        instead = fallen.replaced_by
        back = () if undone.settled else give_back(fact, before, tags=undone.tags, instead=instead)
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
    """Undo the tag if the fact's commit set it, and restore the tags that it ended."""
    if fact.fact_type is not FactType.STATE or not (
        fact.properties.keys() >= {"entity_id", "tag", "holds"}
    ):
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
    told = seen.fields[STATE_TAGS].items()
    begun = [other for other, began in told if began and other in entity.state_tags]
    if excluded_by(tag, canon.policy.exclusive_tags, begun):
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
    """Remove a tag from the moment of its fact on, for each time that it was stated since."""
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
    """Return the facts stating the tag that the entries create or restore."""
    for entry in entries:
        thing: object = entry.thing if isinstance(entry, Made) else None
        if isinstance(entry, FactResumed):
            thing = view.thing(entry.fact_id)
        if isinstance(thing, FactDraft) and thing.properties.get("holds") is True:
            yield from (thing,) if thing.properties["tag"] == tag else ()


async def retcon_relation(
    canon: Canon, caller: Caller, relation_id: str, *, reason: str
) -> Receipt:
    """Retcon the relation; its line is computed without it.

    Relations that it superseded hold again until its successor begins.

    Raises:
        NotFound: `relation.unknown`.
        Conflict: `relation.retconned`.
    """
    space = (await require(canon, caller, Relation, relation_id)).space

    async def prepare(new_id: NewId) -> Change:
        seen = await require(canon, caller, Relation, relation_id)
        relation = await known_to(canon, seen, seen.audience)
        require_standing(relation)
        backing = Backing(
            space=space,
            authority=relation.authority,
            confidence=relation.confidence,
            evidence=relation.evidence,
        )

        def work(view: SliceView) -> tuple[Entry, ...]:
            return _without(view, new_id, backing, relation)

        rest, reads = await judged_by(canon, space, work, relation.audience)
        rest = tuple([await _as_before(canon, one, relation.audience) for one in rest])
        fallen = RelationRetconned(relation_id=relation.id, replaced_by=None, reason=reason)
        reads |= {thing_key(relation.id)}
        return Change(entries=(fallen, *rest), reads=reads, audience=relation.audience)

    return await commit_change(canon, caller, space, prepare)


def _without(
    view: SliceView, new_id: NewId, backing: Backing, relation: Relation
) -> tuple[Entry, ...]:
    """Return the changes to the other relations of its line, and to those that it ended."""
    start, end = (view.entity(Reference(one)) for one in (relation.from_id, relation.to_id))
    if start is None or end is None:
        return ()
    kind, properties = relation_type(relation.rel_type), relation.properties
    line = line_of(view, kind, start, end, relation.moment, properties=properties)
    entries = written(new_id, backing, line, without=(relation,))
    told = {e.relation_id for e in entries if isinstance(e, RelationEnded | RelationResumed)}
    others = {one.id: one for each in (start, end) for one in view.relations(each, kind.name)}
    ended = (one for one in others.values() if one.superseded_by == relation.id)
    return (*entries, *_joined(relation, (one for one in ended if one.id not in told)))


async def _as_before(canon: Canon, entry: Entry, audience: Audience) -> Entry:
    """Return the entry; a relation that an audience saw end before ends at that time again."""
    if not isinstance(entry, RelationResumed):
        return entry
    known, viewer = canon.store_of_all.state, viewer_of(audience)
    one = (await known.things((entry.relation_id,))).get(entry.relation_id)
    seen = as_seen(one, viewer)
    while isinstance(seen, Relation) and isinstance(one, Relation):
        if not seen.ended or seen.superseded_by is None:
            break
        before = Position(one.changed_at - 1)
        one = (await known.things_as_known_at((one.id,), before)).get(one.id)
        seen = as_seen(one, viewer)
    if not isinstance(seen, Relation) or not seen.ended:
        return entry
    why = "the relation had already ended"
    return RelationEnded(relation_id=seen.id, until=seen.until, superseded_by=None, reason=why)


def _joined(relation: Relation, before: Iterator[Relation]) -> Iterator[Entry]:
    """Restore a relation outside its line, such as the giver's amount in a transfer."""
    for old in before:
        if relation.superseded_by is None:
            yield RelationResumed(relation_id=old.id, fallen=relation.id)
        else:
            yield RelationEnded(
                relation_id=old.id,
                until=relation.until,
                superseded_by=relation.superseded_by,
                reason="the relation that superseded it was retconned",
            )

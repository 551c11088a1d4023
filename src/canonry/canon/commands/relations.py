"""Commands on relations: create and end them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from canonry.canon.judging.laws import laws_against_relation, misplacing
from canonry.canon.judging.making import Backing, make_relation
from canonry.canon.judging.relation_lines import (
    RelationLine,
    is_told_of,
    line_of,
    word_behind,
    written,
)
from canonry.canon.judging.slices import SliceView
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    audience_for,
    commit_change,
    known_to,
    the_made,
)
from canonry.canon.session.extend_slice import judged_by
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import (
    require,
    require_all,
    require_evidence,
    require_lawful,
    require_same_space,
)
from canonry.log.entries import Entry, Made, RelationEnded
from canonry.log.folding import relations_key, thing_key
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Axiom, Relation, RelationDraft
from canonry.log.items.veils import audiences_in
from canonry.log.schemas.narrative import RelationType
from canonry.log.secrecy import under
from canonry.values.audience import EVERYBODY, GAME_MASTERS, Audience, wide_first
from canonry.values.errors import Conflict
from canonry.values.ids import NewId, RelationId
from canonry.values.moments import NOW, Instant, Moment
from canonry.values.provenance import Authority, Evidence, may_end

# Create a relation directly: what it takes over from ends in the same commit.
#
# Of relations that can hold once only (a place, an owner), of those that oppose each other, and of
# those of one type between the same two, the one that begins later takes over from the earlier
# one,
# whichever was written first.

_UNFOUNDED: Final = "nothing shows this: name what does in evidence_refs"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelation:
    """A typed edge between two entities, and what stands behind it."""

    kind: RelationType
    from_id: str
    to_id: str
    properties: Mapping[str, Any]
    since: Instant | None
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    audience: Audience | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationCreated:
    """The relation's id, when it was recorded, and the relations that it ended.

    `existing`: exactly this relation was there already, and nothing was written. `warnings` say
    what a proposal of the same would have to be looked at for.
    """

    relation_id: RelationId
    recorded_at: Instant
    superseded: tuple[RelationId, ...] = ()
    existing: bool = False
    warnings: tuple[str, ...] = ()


async def create_relation(canon: Canon, caller: Caller, new: NewRelation) -> RelationCreated:
    """Assert the relation.

    Raises:
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `relation.to-itself`,
            `relation.no-archetype`, `relation.opposed`, `relation.outranked`,
            `relation.misplaced` or `axiom.forbids`.
    """
    space = (await require(canon, caller, Entity, new.from_id)).space
    receipt = await commit_change(canon, caller, space, partial(_prepared, canon, caller, new))
    old = receipt.found
    if old is None:
        made = the_made(receipt, RelationDraft)
        old = await _known_by_then(canon, caller, new, made) if receipt.replayed else None
    if old is not None:
        return RelationCreated(relation_id=old.id, recorded_at=old.created_at, existing=True)
    return RelationCreated(
        relation_id=made.id,
        recorded_at=receipt.recorded_at,
        superseded=tuple(
            e.relation_id
            for e in receipt.entries
            if isinstance(e, RelationEnded) and e.superseded_by == made.id
        ),
        warnings=() if new.evidence else (_UNFOUNDED,),
    )


async def _prepared(
    canon: Canon, caller: Caller, new: NewRelation, new_id: NewId
) -> Change[Relation | None]:
    """What the word writes; nothing where exactly this is all that holds."""
    from_, to = await require_all(canon, caller, Entity, (new.from_id, new.to_id))
    _require_pair(new, from_, to)
    reads = await require_evidence(canon, caller, from_.space, new.evidence)
    audience = await _audience_of(canon, new, from_, to)
    moment = Moment(at=new.since, place=NOW.place)
    line_in = partial(_line_in, new, from_, to)

    def wrong(view: SliceView) -> tuple[list[Axiom], tuple[str, tuple[str, ...]] | None]:
        broken = list(laws_against_relation(view, new.kind.name, (from_, to)))
        return broken, misplacing(view, new.kind, from_, to, moment)

    line, rested_on = await judged_by(canon, from_.space, line_in, audience)
    _require_rank(new, line)
    (broken, misplaced), looked_at = await judged_by(canon, from_.space, wrong, audience)
    rested_on |= looked_at
    require_lawful(broken)
    if misplaced is not None:
        raise Conflict("relation.misplaced", misplaced[0], conflicts=list(misplaced[1]))
    _require_unopposed(new, line)
    same = line.same
    reads |= rested_on
    for end in (new.from_id, new.to_id, from_.id, to.id):
        reads |= {thing_key(end), relations_key(end)}
    if same is None or not _equals(same, new, from_, to) or not _only(same, line):
        entries = _taking_its_place(new_id, new, _made(new_id, new, from_, to), line)
        return Change(entries=entries, reads=reads, found=None, audience=audience or new.audience)
    whole, _ = await judged_by(canon, from_.space, line_in, GAME_MASTERS)
    if _only(same, whole):
        return Change(entries=(), reads=frozenset(), found=same)
    entries = ()
    for number, few in enumerate(_who_know(whole, same)):
        theirs, looked_at = await judged_by(canon, from_.space, line_in, few)
        own = partial(_labelled, new_id, number)
        anew = _taking_its_place(own, new, _made(own, new, from_, to), theirs)
        entries += under(anew, few)
        reads |= looked_at
    return Change(entries=entries, reads=reads, found=same, audience=audience or new.audience)


async def _known_by_then(
    canon: Canon, caller: Caller, new: NewRelation, made: RelationDraft
) -> Relation | None:
    """What others knew already where a word was news to those alone for whom this was made."""
    from_, to = await require_all(canon, caller, Entity, (new.from_id, new.to_id))
    audience = await _audience_of(canon, new, from_, to)
    if made.audience == audience:
        return None
    line, _ = await judged_by(canon, from_.space, partial(_line_in, new, from_, to), audience)
    return line.same


async def _audience_of(canon: Canon, new: NewRelation, from_: Entity, to: Entity) -> Audience:
    cited = () if new.audience is not None else tuple(one.ref for one in new.evidence)
    return await audience_for(canon, (from_.id, to.id, *cited), new.audience)


def _line_in(new: NewRelation, from_: Entity, to: Entity, view: SliceView) -> RelationLine:
    moment = Moment(at=new.since, place=NOW.place)
    return line_of(view, new.kind, from_, to, moment, properties=new.properties)


def _require_pair(new: NewRelation, from_: Entity, to: Entity) -> None:
    require_same_space(from_.space, [to], path="/to_entity_id")
    require_standing(from_, to)
    if from_.id == to.id:
        message = "a relation joins two entities; these two are one"
        raise Conflict("relation.to-itself", message, conflicts=[from_.id])
    if new.kind.name == "DERIVES_FROM" and (
        to.entity_class is not EntityClass.ARCHETYPE or to.entity_type != from_.entity_type
    ):
        message = "an entity derives from an archetype of its own type"
        raise Conflict("relation.no-archetype", message, conflicts=[to.id])


def _require_rank(new: NewRelation, line: RelationLine) -> None:
    higher = [
        one.id
        for one in (*line.ends, *line.against)
        if not may_end(new.authority, word_behind(line, one))
    ]
    if higher:
        message = (
            "a word of higher authority established what this would end; let such a word say it, "
            "or propose it, so that somebody decides"
        )
        raise Conflict("relation.outranked", message, path="/authority", conflicts=higher)


def _require_unopposed(new: NewRelation, line: RelationLine) -> None:
    opposed = [one for one in line.against if one.rel_type in new.kind.excludes]
    if opposed:
        conflicts = [relation.id for relation in opposed]
        message = "an opposed relation began at that very time; give another since, or retcon it"
        raise Conflict("relation.opposed", message, conflicts=conflicts)


def _only(same: Relation, line: RelationLine) -> bool:
    """Whether a relation is all that holds in a line then."""
    told = line.same is not None and line.same.id == same.id
    return told and not (line.ends or line.against)


def _who_know(whole: RelationLine, same: Relation) -> list[Audience]:
    """Who knows of something in a line that others do not know of, the masters only if alone."""
    relations = (w.relation for w in whole.words if isinstance(w.relation, Relation))
    found = {audience for one in (*relations, same) for audience in audiences_in(one)}
    return sorted(found - {EVERYBODY, GAME_MASTERS} or {GAME_MASTERS}, key=wide_first)


def _labelled(new_id: NewId, number: int, label: str) -> str:
    return new_id(f"{label}:{number}")


def _equals(old: Relation, new: NewRelation, from_: Entity, to: Entity) -> bool:
    if not is_told_of(old, from_, to):
        return False
    theirs = (old.since, dict(old.properties), old.authority, old.confidence)
    ours = (new.since, dict(new.properties), new.authority, new.confidence)
    return theirs == ours and set(new.evidence) <= set(old.evidence)


def _made(new_id: NewId, new: NewRelation, from_: Entity, to: Entity) -> Made:
    backing = Backing(
        space=from_.space,
        authority=new.authority,
        confidence=new.confidence,
        evidence=new.evidence,
    )
    return make_relation(
        new_id,
        backing,
        rel_type=new.kind.name,
        from_id=from_.id,
        to_id=to.id,
        properties=new.properties,
        since=new.since,
    )


def _taking_its_place(
    new_id: NewId, new: NewRelation, made: Made, line: RelationLine
) -> tuple[Entry, ...]:
    """The relation, the ends of those that held until then, and its own where the next begins."""
    if not isinstance(made.thing, RelationDraft):
        raise TypeError(made.thing)
    ends = [
        RelationEnded(
            relation_id=one.id,
            until=new.since,
            superseded_by=made.thing.id,
            reason="a later relation takes its place",
        )
        for one in line.against
    ]
    backing = Backing(
        space=made.thing.space,
        authority=new.authority,
        confidence=new.confidence,
        evidence=new.evidence,
    )
    return (*ends, made, *written(new_id, backing, line, made.thing, without=line.against))


async def end_relation(
    canon: Canon, caller: Caller, relation_id: str, *, until: Instant | None, reason: str
) -> Relation:
    """End the relation without a successor; the relation as it is then.

    Raises:
        NotFound: `relation.unknown`.
        Conflict: `relation.retconned`, `relation.ended` or `relation.ends-before-start`.
    """
    space = (await require(canon, caller, Relation, relation_id)).space

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        seen = await require(canon, caller, Relation, relation_id)
        relation = await known_to(canon, seen, seen.audience)
        require_standing(relation)
        if relation.ended:
            message = "this relation has ended already"
            raise Conflict("relation.ended", message, conflicts=[relation.id])
        if until is not None and relation.since is not None and until < relation.since:
            message = "a relation cannot end before it began; give a later until"
            raise Conflict("relation.ends-before-start", message, path="/until")
        entry = RelationEnded(
            relation_id=relation.id, until=until, superseded_by=None, reason=reason
        )
        return Change(entries=(entry,), reads=frozenset((thing_key(relation.id),)))

    await commit_change(canon, caller, space, prepare)
    return await require(canon, caller, Relation, relation_id)

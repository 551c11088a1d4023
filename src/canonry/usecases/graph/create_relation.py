"""Create a relation directly: what it takes over from ends in the same commit.

Of relations that can hold once only (a place, an owner), of those that oppose each other, and of
those of one type between the same two, the one that begins later takes over from the earlier one,
whichever was written first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from canonry.domain.errors import Conflict
from canonry.domain.ids import NewId, RelationId
from canonry.domain.judging.making import Backing, make_relation
from canonry.domain.judging.relation_lines import RelationLine, functional_line, opposed_line
from canonry.domain.judging.slices import SliceView
from canonry.domain.log.entries import Entry, Made, RelationEnded
from canonry.domain.log.keys import relations_key, thing_key
from canonry.domain.moments import NOW, Moment, arranged
from canonry.domain.provenance import Authority, Evidence
from canonry.domain.things.entities import Entity, EntityClass
from canonry.domain.things.relations import Relation, RelationDraft
from canonry.domain.time import Instant
from canonry.domain.vocabularies.narrative_relations import RelationType
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.extend_slice import judged_by
from canonry.usecases.kernel.involved import require_standing
from canonry.usecases.kernel.lookup import (
    require,
    require_all,
    require_evidence,
    require_same_space,
)
from canonry.usecases.kernel.receipts import the_made


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationCreated:
    """The relation's id, when it was recorded, and the relations that it ended.

    `existing`: exactly this relation was there already, and nothing was written.
    """

    relation_id: RelationId
    recorded_at: Instant
    superseded: tuple[RelationId, ...] = ()
    existing: bool = False


async def create_relation(canon: Canon, caller: Caller, new: NewRelation) -> RelationCreated:
    """Assert the relation.

    Raises:
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `relation.to-itself`,
            `relation.no-archetype` or `relation.opposed`.
    """
    space = (await require(canon, caller, Entity, new.from_id)).space

    async def prepare(new_id: NewId) -> Change[Relation | None]:
        from_, to = await require_all(canon, caller, Entity, (new.from_id, new.to_id))
        _require_pair(new, from_, to)
        reads = await require_evidence(canon, caller, space, new.evidence)

        def line(view: SliceView) -> tuple[RelationLine, RelationLine]:
            moment = Moment(at=new.since, place=NOW.place)
            own = functional_line(view, new.kind, from_, to, moment)
            return own, opposed_line(view, new.kind, from_, to, moment)

        (own, opposed), rested_on = await judged_by(canon, space, line)
        _require_unopposed(opposed)
        if own.same is not None and _equals(own.same, new) and not (own.ends or own.against):
            return Change(entries=(), reads=frozenset(), found=own.same)
        made = _made(new_id, new, from_, to)
        entries = _taking_its_place(new, made, own, opposed)
        reads |= rested_on
        for end in (new.from_id, new.to_id, from_.id, to.id):
            reads |= {thing_key(end), relations_key(end)}
        return Change(entries=entries, reads=reads, found=None)

    receipt = await commit_change(canon, caller, space, prepare)
    if (old := receipt.found) is not None:
        return RelationCreated(relation_id=old.id, recorded_at=old.created_at, existing=True)
    made = the_made(receipt, RelationDraft)
    return RelationCreated(
        relation_id=made.id,
        recorded_at=receipt.recorded_at,
        superseded=tuple(
            e.relation_id
            for e in receipt.entries
            if isinstance(e, RelationEnded) and e.superseded_by == made.id
        ),
    )


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


def _require_unopposed(opposed: RelationLine) -> None:
    if opposed.against:
        conflicts = [relation.id for relation in opposed.against]
        message = "an opposed relation began at that very time; give another since, or retcon it"
        raise Conflict("relation.opposed", message, conflicts=conflicts)


def _equals(old: Relation, new: NewRelation) -> bool:
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
    new: NewRelation, made: Made, own: RelationLine, opposed: RelationLine
) -> tuple[Entry, ...]:
    """The relation, the ends of those that held until then, and its own where the next begins."""
    relation_id = RelationId(made.thing.id)
    gone = [*own.ends, *own.against, *opposed.ends]
    if own.same is not None:
        gone.append(own.same)
    reason = "a later relation takes its place"
    ends = [
        RelationEnded(relation_id=r.id, until=new.since, superseded_by=relation_id, reason=reason)
        for r in gone
    ]
    later = [each for each in (own.next, opposed.next) if each is not None]
    if heir := next(iter(arranged(later, lambda each: each.moment)), None):
        reason = "what began later is canon already"
        end = RelationEnded(
            relation_id=relation_id, until=heir.since, superseded_by=heir.id, reason=reason
        )
        return (*ends, made, end)
    return (*ends, made)

"""Commands on relations: create and end them, and transfer a quantity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final

from canonry.canon.judging.known_items import Backing, id_for_owner, make_relation
from canonry.canon.judging.relation_timelines import (
    QUANTITY,
    RelationTimeline,
    authority_behind,
    exact_decimal,
    has_quantity,
    is_stated_of,
    laws_against_relation,
    misplacement_reason,
    plain_number,
    timeline_of,
    total_of,
)
from canonry.canon.judging.slices import SliceView
from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    apply_rule,
    audience_for,
    commit_change,
    first_made,
    known_to_audience,
    require_standing,
)
from canonry.log.entries import Entry, Made, RelationEnded
from canonry.log.folding import item_key, relations_key
from canonry.log.items.entities import Entity, EntityClass, family_of
from canonry.log.items.facts import Axiom, Relation, RelationDraft
from canonry.log.items.secret_parts import audiences_in
from canonry.log.observations import limit_audience
from canonry.log.schemas.narrative import RelationType
from canonry.values.audience import EVERYBODY, GAME_MASTERS, Audience, wide_first
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import NewId, RelationId
from canonry.values.moments import NOW, Instant, Moment, render_instant, split_at
from canonry.values.provenance import Authority, Evidence, may_end

# Create a relation; the relations that it supersedes end in the same commit.
#
# Relations supersede each other by their start, whatever the order of writing, if only one can hold
# (a place, an owner), if they oppose each other, or if they have the same type and ends.

_UNFOUNDED: Final = "This relation has no evidence. Cite some in evidence_refs."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelation:
    """A typed relation between two entities, with its evidence and authority."""

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
    """The relation's id, its time of recording, and the relations that it ended.

    `existing`: an equal relation was there already, and nothing was written. `warnings` list the
    objections for which an equal proposal would be reviewed.
    """

    relation_id: RelationId
    recorded_at: Instant
    superseded: tuple[RelationId, ...] = ()
    existing: bool = False
    warnings: tuple[str, ...] = ()


async def create_relation(canon: Canon, caller: Caller, new: NewRelation) -> RelationCreated:
    """Create the relation.

    Raises:
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `relation.to-itself`,
            `relation.no-archetype`, `relation.opposed`, `relation.outranked`,
            `relation.misplaced` or `axiom.forbids`.
    """
    space = (await lookup.require_item(canon, caller, Entity, new.from_id)).space
    receipt = await commit_change(
        canon, caller, space, partial(_prepare_relation, canon, caller, new)
    )
    old = receipt.found
    if old is None:
        made = first_made(receipt, RelationDraft)
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


async def _prepare_relation(
    canon: Canon, caller: Caller, new: NewRelation, new_id: NewId
) -> Change[Relation | None]:
    """Return the change; it is empty if exactly this relation already holds."""
    from_, to = await lookup.require_all(canon, caller, Entity, (new.from_id, new.to_id))
    lookup.require_same_space(from_.space, [to], path="/to_entity_id")
    require_standing(from_, to)
    if from_.id == to.id:
        message = "Both ids name the same entity. A relation joins two entities."
        raise Conflict("relation.to-itself", message, conflicts=[from_.id])
    if new.kind.name == "DERIVES_FROM" and (
        to.entity_class is not EntityClass.ARCHETYPE or to.entity_type != from_.entity_type
    ):
        message = f"The entity is of type {from_.entity_type}. Name an archetype of that type."
        raise Conflict("relation.no-archetype", message, conflicts=[to.id])
    reads = await lookup.require_evidence(canon, caller, from_.space, new.evidence)
    audience = await _audience_of(canon, new, from_, to)
    moment = Moment(at=new.since, position=NOW.position)
    timeline_in, space = partial(_timeline_in, new, from_, to), from_.space

    def judge_relation(
        view: SliceView,
    ) -> tuple[RelationTimeline, list[Axiom], tuple[str, tuple[str, ...]] | None]:
        broken = list(laws_against_relation(view, new.kind.name, (from_, to)))
        return timeline_in(view), broken, misplacement_reason(view, new.kind, from_, to, moment)

    seen, rested_on = await apply_rule(canon, space, judge_relation, audience, (from_, to))
    timeline, broken, misplaced = seen
    _require_rank(new, timeline)
    lookup.require_lawful(broken)
    if misplaced is not None:
        message = f"The relation cannot hold: {misplaced[0]}."
        raise Conflict("relation.misplaced", message, conflicts=list(misplaced[1]))
    opposed = [one for one in timeline.against if one.rel_type in new.kind.excludes]
    if opposed:
        conflicts = [relation.id for relation in opposed]
        message = "An opposed relation began at this time. Give another since, or retcon it."
        raise Conflict("relation.opposed", message, conflicts=conflicts)
    same = timeline.same
    reads |= rested_on
    for end in (new.from_id, new.to_id, from_.id, to.id):
        reads |= {item_key(end), relations_key(end)}
    if same is None or not _is_equal(same, new, from_, to) or not _is_only(same, timeline):
        entries: tuple[Entry, ...] = (_make_new(new_id, new, from_, to),)
        known = audience or new.audience
        return Change(entries=entries, reads=reads, found=None, audience=known, settles=True)
    whole, _ = await apply_rule(canon, from_.space, timeline_in, GAME_MASTERS)
    if _is_only(same, whole):
        return Change(entries=(), reads=frozenset(), found=same)
    entries = ()
    relations = (w.relation for w in whole.statements if isinstance(w.relation, Relation))
    found = {audience for one in (*relations, same) for audience in audiences_in(one)}
    knowing = sorted(found - {EVERYBODY, GAME_MASTERS} or {GAME_MASTERS}, key=wide_first)
    for number, few in enumerate(knowing):
        entries += limit_audience(
            (_make_new(partial(id_for_owner, new_id, str(number)), new, from_, to),), few
        )
    known = audience or new.audience
    return Change(entries=entries, reads=reads, found=same, audience=known, settles=True)


async def _known_by_then(
    canon: Canon, caller: Caller, new: NewRelation, made: RelationDraft
) -> Relation | None:
    """Return the relation as others already knew it, if it was new only to its own audience."""
    from_, to = await lookup.require_all(canon, caller, Entity, (new.from_id, new.to_id))
    audience = await _audience_of(canon, new, from_, to)
    if made.audience == audience:
        return None
    timeline, _ = await apply_rule(
        canon, from_.space, partial(_timeline_in, new, from_, to), audience
    )
    return timeline.same


async def _audience_of(canon: Canon, new: NewRelation, from_: Entity, to: Entity) -> Audience:
    cited = () if new.audience is not None else tuple(one.ref for one in new.evidence)
    return await audience_for(canon, (from_.id, to.id, *cited), new.audience)


def _timeline_in(new: NewRelation, from_: Entity, to: Entity, view: SliceView) -> RelationTimeline:
    moment = Moment(at=new.since, position=NOW.position)
    return timeline_of(view, new.kind, from_, to, moment, properties=new.properties)


def _require_rank(new: NewRelation, timeline: RelationTimeline) -> None:
    higher = [
        one.id
        for one in (*timeline.ends, *timeline.against)
        if not may_end(new.authority, authority_behind(timeline, one))
    ]
    if higher:
        message = (
            "A higher authority established the relation that this one would end. Use that "
            "authority, or propose the relation for a decision."
        )
        raise Conflict("relation.outranked", message, path="/authority", conflicts=higher)


def _is_only(same: Relation, timeline: RelationTimeline) -> bool:
    """Return whether the relation is the only one of its timeline that holds then."""
    is_same = timeline.same is not None and timeline.same.id == same.id
    return is_same and not (timeline.ends or timeline.against)


def _is_equal(old: Relation, new: NewRelation, from_: Entity, to: Entity) -> bool:
    if not is_stated_of(old, from_, to):
        return False
    theirs = (old.since, dict(old.properties), old.authority, old.confidence)
    ours = (new.since, dict(new.properties), new.authority, new.confidence)
    return theirs == ours and set(new.evidence) <= set(old.evidence)


def _make_new(new_id: NewId, new: NewRelation, from_: Entity, to: Entity) -> Made:
    backing = Backing(
        space=from_.space, authority=new.authority, confidence=new.confidence, evidence=new.evidence
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


async def end_relation(
    canon: Canon, caller: Caller, relation_id: str, *, until: Instant | None, reason: str
) -> Relation:
    """End the relation without a successor; return the ended relation.

    Raises:
        NotFound: `relation.unknown`.
        Conflict: `relation.retconned`, `relation.ended` or `relation.ends-before-start`.
    """
    space = (await lookup.require_item(canon, caller, Relation, relation_id)).space

    async def prepare_change(_: NewId) -> Change:
        seen = await lookup.require_item(canon, caller, Relation, relation_id)
        relation = await known_to_audience(canon, seen, seen.audience)
        require_standing(relation)
        if relation.ended:
            at = "at an unknown time" if relation.until is None else render_instant(relation.until)
            advice = "If that is wrong, retcon the relation, and propose it again."
            message = f"This relation has already ended: {at}. {advice}"
            raise Conflict("relation.ended", message, conflicts=[relation.id])
        if until is not None and relation.since is not None and until < relation.since:
            message = "A relation cannot end before it began. Give a later until."
            raise Conflict("relation.ends-before-start", message, path="/until")
        entry = RelationEnded(
            relation_id=relation.id, until=until, superseded_by=None, reason=reason
        )
        return Change(entries=(entry,), reads=frozenset((item_key(relation.id),)))

    await commit_change(canon, caller, space, prepare_change)
    return await lookup.require_item(canon, caller, Relation, relation_id)


# Transfer a quantity from one owner to another; the total stays the same.
#
# Both former amounts end and both new ones begin, so that the past stays readable.

_OWNS: Final = "OWNS"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityTransfer:
    """An amount of an item, its giver and taker, the time and the evidence."""

    from_id: str
    to_id: str
    thing_id: str
    quantity: float
    at: Instant | None
    authority: Authority
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityTransferred:
    """The new amounts and their relations; the giver's is None when nothing is left."""

    from_quantity: int | float
    to_quantity: int | float
    from_relation: RelationId | None
    to_relation: RelationId


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holding:
    """One owner's amount of the item when the transfer begins."""

    owner: Entity
    relations: tuple[Relation, ...]

    @property
    def total_amount(self) -> Decimal:
        return total_of(self.relations)


async def transfer_quantity(
    canon: Canon, caller: Caller, transfer: QuantityTransfer
) -> QuantityTransferred:
    """Transfer the quantity.

    Raises:
        InvalidInput: `quantity.not-positive`.
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `relation.to-itself`,
            `quantity.not-enough`, `quantity.uncounted`, `quantity.told-later`, or
            `quantity.outranked`.
    """
    if not exact_decimal(transfer.quantity) > 0 or not exact_decimal(transfer.quantity).is_finite():
        message = "/quantity must be more than 0. To take something back, swap giver and taker."
        raise InvalidInput("quantity.not-positive", message, path="/quantity")
    space = (await lookup.require_item(canon, caller, Entity, transfer.thing_id)).space

    async def prepare_change(new_id: NewId) -> Change:
        ids = (transfer.from_id, transfer.to_id, transfer.thing_id)
        giver, taker, item = await lookup.require_all(canon, caller, Entity, ids)
        lookup.require_same_space(item.space, [giver], path="/from_entity_id")
        lookup.require_same_space(item.space, [taker], path="/to_entity_id")
        require_standing(giver, taker, item)
        if len({giver.id, taker.id, item.id}) < len((giver, taker, item)):
            message = "A transfer needs three entities: a giver, a taker and an item."
            raise Conflict("relation.to-itself", message, conflicts=[giver.id, taker.id, item.id])
        reads = await lookup.require_evidence(canon, caller, space, transfer.evidence)

        owners, rested_on = await apply_rule(
            canon, space, lambda view: list(view.find_relations(item, _OWNS, "in"))
        )
        given, taken = (_holding_of(transfer, owners, each) for each in (giver, taker))
        authority = transfer.authority
        higher = [each.id for each in given.relations if not may_end(authority, each.authority)]
        if higher:
            message = "A higher authority recorded these amounts. Use that authority to transfer."
            raise Conflict("quantity.outranked", message, path="/authority", conflicts=higher)
        if given.total_amount < exact_decimal(transfer.quantity):
            has = plain_number(given.total_amount)
            message = f"The giver owns only {has} at that time. Transfer at most that."
            conflicts = [each.id for each in given.relations]
            raise Conflict(
                "quantity.not-enough", message, path="/quantity", has=has, conflicts=conflicts
            )
        reads |= rested_on | {item_key(each) for each in (*ids, giver.id, taker.id, item.id)}
        return Change(entries=_transfer_entries(new_id, transfer, given, taken, item), reads=reads)

    receipt = await commit_change(canon, caller, space, prepare_change)
    rest = {made.id: made for made in receipt.drafts_made(RelationDraft)}
    *left, gained = [each for each in rest.values() if isinstance(each, RelationDraft)]
    return QuantityTransferred(
        from_quantity=left[0].properties[QUANTITY] if left else 0,
        to_quantity=gained.properties[QUANTITY],
        from_relation=left[0].id if left else None,
        to_relation=gained.id,
    )


def _holding_of(
    transfer: QuantityTransfer, relations: Sequence[Relation], owner: Entity
) -> _Holding:
    """Return the owner's amount; refuse if a later amount is already recorded."""
    mine = [each for each in relations if each.from_id in family_of(owner)]
    moment = Moment(at=transfer.at, position=NOW.position)
    before, after = split_at(moment, mine, lambda each: each.moment)
    ended = [
        each
        for each in before
        if (transfer.at is not None and each.until is not None and (each.until > transfer.at))
    ]
    if after or ended:
        message = "A later amount is already recorded for one of them. Give a later at."
        later = [each.id for each in (*after, *ended)]
        raise Conflict("quantity.told-later", message, path="/at", conflicts=later)
    held = tuple(each for each in before if each.current)
    whole = [each.id for each in held if not has_quantity(each.properties)]
    if whole:
        message = (
            f"This OWNS relation has no {QUANTITY}. Add one to it, or transfer the whole item with "
            "a relation that has none."
        )
        raise Conflict("quantity.uncounted", message, conflicts=whole)
    return _Holding(owner=owner, relations=held)


def _transfer_entries(
    new_id: NewId, transfer: QuantityTransfer, given: _Holding, taken: _Holding, item: Entity
) -> tuple[Entry, ...]:
    moved = exact_decimal(transfer.quantity)
    gained = _make_holding(new_id, transfer, taken, item, taken.total_amount + moved)
    rest = given.total_amount - moved
    left = _make_holding(new_id, transfer, given, item, rest) if rest else None
    ends = [
        RelationEnded(
            relation_id=each.id,
            until=transfer.at,
            superseded_by=RelationId(successor.thing.id),
            reason="a part of it changed hands",
        )
        for held, successor in ((given, left or gained), (taken, gained))
        for each in held.relations
    ]
    return (*ends, gained) if left is None else (*ends, left, gained)


def _make_holding(
    new_id: NewId, transfer: QuantityTransfer, held: _Holding, item: Entity, amount: Decimal
) -> Made:
    backing = Backing(
        space=item.space, authority=transfer.authority, confidence=1.0, evidence=transfer.evidence
    )
    known = {key: value for each in held.relations for key, value in each.properties.items()}
    return make_relation(
        lambda label: new_id(f"{label}:{held.owner.id}"),
        backing,
        rel_type=_OWNS,
        from_id=held.owner.id,
        to_id=item.id,
        properties={**known, QUANTITY: plain_number(amount)},
        since=transfer.at,
    )

"""Transfer a quantity: what one gives the other has; nothing is made or lost by it.

How much each had until then ends, and how much each has from then on begins, so that the past
still tells who had what.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from canonry.canon.judging.making import Backing, make_relation
from canonry.canon.judging.quantities import QUANTITY, counted, exact, plain, total_of
from canonry.canon.judging.slices import SliceView
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.extend_slice import judged_by
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import (
    require,
    require_all,
    require_evidence,
    require_same_space,
)
from canonry.log.entries import Entry, Made, RelationEnded
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Relation, RelationDraft
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import NewId, RelationId
from canonry.values.moments import NOW, Instant, Moment, split_at
from canonry.values.provenance import Authority, Evidence, may_end

_OWNS: Final = "OWNS"
_REASON: Final = "a part of it changed hands"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityTransfer:
    """How much of what goes from whom to whom, when, and what stands behind it."""

    from_id: str
    to_id: str
    thing_id: str
    quantity: float
    at: Instant | None
    authority: Authority
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityTransferred:
    """How much each has now, and the relations that say so; the giver's is None with nothing."""

    from_quantity: int | float
    to_quantity: int | float
    from_relation: RelationId | None
    to_relation: RelationId


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holding:
    """What one of the two has of the thing as the transfer begins."""

    owner: Entity
    relations: tuple[Relation, ...]

    @property
    def amount(self) -> Decimal:
        return total_of(self.relations)


async def transfer_quantity(
    canon: Canon, caller: Caller, transfer: QuantityTransfer
) -> QuantityTransferred:
    """Take the quantity from one and give it to the other.

    Raises:
        InvalidInput: `quantity.not-positive`.
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `relation.to-itself`,
            `quantity.not-enough`, `quantity.uncounted`, `quantity.told-later`, or
            `quantity.outranked`.
    """
    if not exact(transfer.quantity) > 0 or not exact(transfer.quantity).is_finite():
        message = "/quantity must be more than 0; to take something back, turn from and to around"
        raise InvalidInput("quantity.not-positive", message, path="/quantity")
    space = (await require(canon, caller, Entity, transfer.thing_id)).space

    async def prepare(new_id: NewId) -> Change:
        ids = (transfer.from_id, transfer.to_id, transfer.thing_id)
        giver, taker, thing = await require_all(canon, caller, Entity, ids)
        _require_three(giver, taker, thing)
        reads = await require_evidence(canon, caller, space, transfer.evidence)

        def work(view: SliceView) -> list[Relation]:
            return list(view.relations(thing, _OWNS, "in"))

        line, rested_on = await judged_by(canon, space, work)
        given, taken = (_holding(transfer, line, each) for each in (giver, taker))
        _require_may_give(transfer, given)
        reads |= rested_on | {thing_key(each) for each in (*ids, giver.id, taker.id, thing.id)}
        return Change(entries=_entries(new_id, transfer, given, taken, thing), reads=reads)

    receipt = await commit_change(canon, caller, space, prepare)
    rest = {made.id: made for made in receipt.made(RelationDraft)}
    *left, gained = [each for each in rest.values() if isinstance(each, RelationDraft)]
    return QuantityTransferred(
        from_quantity=left[0].properties[QUANTITY] if left else 0,
        to_quantity=gained.properties[QUANTITY],
        from_relation=left[0].id if left else None,
        to_relation=gained.id,
    )


def _require_three(giver: Entity, taker: Entity, thing: Entity) -> None:
    require_same_space(thing.space, [giver], path="/from_entity_id")
    require_same_space(thing.space, [taker], path="/to_entity_id")
    require_standing(giver, taker, thing)
    if len({giver.id, taker.id, thing.id}) < len((giver, taker, thing)):
        message = "a transfer is between two, of a third; two of these three are one"
        raise Conflict("relation.to-itself", message, conflicts=[giver.id, taker.id, thing.id])


def _holding(transfer: QuantityTransfer, line: Sequence[Relation], owner: Entity) -> _Holding:
    """What the owner has then; nothing of it may have been told of a later time."""
    mine = [each for each in line if each.from_id in family_of(owner)]
    moment = Moment(at=transfer.at, place=NOW.place)
    before, after = split_at(moment, mine, lambda each: each.moment)
    ended = [each for each in before if _ended_later(each, transfer.at)]
    if after or ended:
        message = "how much they have was told of a later time already; give a later at"
        later = [each.id for each in (*after, *ended)]
        raise Conflict("quantity.told-later", message, path="/at", conflicts=later)
    held = tuple(each for each in before if each.current)
    whole = [each.id for each in held if not counted(each.properties)]
    if whole:
        message = (
            f"this OWNS says no {QUANTITY}; give the thing as a whole, by a relation without one, "
            "or say how much it is there"
        )
        raise Conflict("quantity.uncounted", message, conflicts=whole)
    return _Holding(owner=owner, relations=held)


def _ended_later(relation: Relation, at: Instant | None) -> bool:
    return at is not None and relation.until is not None and relation.until > at


def _require_may_give(transfer: QuantityTransfer, given: _Holding) -> None:
    word = transfer.authority
    higher = [each.id for each in given.relations if not may_end(word, each.authority)]
    if higher:
        message = "a word of higher authority says how much they have; let such a word give it"
        raise Conflict("quantity.outranked", message, path="/authority", conflicts=higher)
    if given.amount < exact(transfer.quantity):
        has = plain(given.amount)
        message = f"they have only {has} of it then; nobody gives more than there is"
        conflicts = [each.id for each in given.relations]
        raise Conflict(
            "quantity.not-enough", message, path="/quantity", has=has, conflicts=conflicts
        )


def _entries(
    new_id: NewId, transfer: QuantityTransfer, given: _Holding, taken: _Holding, thing: Entity
) -> tuple[Entry, ...]:
    moved = exact(transfer.quantity)
    gained = _made(new_id, transfer, taken, thing, taken.amount + moved)
    rest = given.amount - moved
    left = _made(new_id, transfer, given, thing, rest) if rest else None
    ends = (*_ended(transfer, given, left or gained), *_ended(transfer, taken, gained))
    return (*ends, gained) if left is None else (*ends, left, gained)


def _made(
    new_id: NewId, transfer: QuantityTransfer, held: _Holding, thing: Entity, amount: Decimal
) -> Made:
    backing = Backing(
        space=thing.space,
        authority=transfer.authority,
        confidence=1.0,
        evidence=transfer.evidence,
    )
    known = {key: value for each in held.relations for key, value in each.properties.items()}
    return make_relation(
        lambda label: new_id(f"{label}:{held.owner.id}"),
        backing,
        rel_type=_OWNS,
        from_id=held.owner.id,
        to_id=thing.id,
        properties={**known, QUANTITY: plain(amount)},
        since=transfer.at,
    )


def _ended(transfer: QuantityTransfer, held: _Holding, heir: Made) -> Iterator[Entry]:
    for each in held.relations:
        yield RelationEnded(
            relation_id=each.id,
            until=transfer.at,
            superseded_by=RelationId(heir.thing.id),
            reason=_REASON,
        )

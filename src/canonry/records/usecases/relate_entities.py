"""Relate entities: a typed edge whose id follows from its type and ends, so that it is there once.

Saying it again adds what is new in its metadata and changes nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.account import Account, account_of, within_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.every_item import every_match
from canonry.canon.session.lookup import require, require_all
from canonry.log.entries import Entry, EvidenceLinked, Made, RelationDetailed, RelationResumed
from canonry.log.items.accounts import relation_id_of
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.relations import Relation, RelationDraft, SaidAgain
from canonry.log.keys import relations_key, thing_key
from canonry.log.schemas.truth_relations import ACYCLIC, TruthRelation
from canonry.readmodels.ports.state import RelationQuery
from canonry.records.usecases.derived_edges import derived
from canonry.values.errors import Conflict, InvalidInput, Unavailable
from canonry.values.ids import EntityId, NewId, RelationId, content_id
from canonry.values.json_values import encode_json
from canonry.values.moments import StoryPlace
from canonry.values.provenance import Authority, CanonLevel
from canonry.values.revising import revised

_WALKED_MAX: Final = 20_000
"""So many entities are walked in search of a cycle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRelationship:
    """An edge as it is asked for; the ids may be those of merged entities."""

    rel_type: str
    from_id: str
    to_id: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipStands:
    """The edge as it stands now; `existing`: it stood before."""

    relation: Relation
    existing: bool


async def relate_entities(canon: Canon, caller: Caller, new: NewRelationship) -> RelationshipStands:
    """Let the edge stand between the two entities of the caller's account.

    Raises:
        InvalidInput: `relationship.type-unknown` or `relationship.to-itself`.
        NotFound: `entity.unknown`.
        Conflict: `relationship.cycle`.
        Unavailable: `relationship.too-far`, the search for a cycle grew too long.
    """
    if new.rel_type not in list(TruthRelation):
        message = f"relationship_type is one of {', '.join(TruthRelation)}"
        raise InvalidInput("relationship.type-unknown", message, path="/relationship_type")
    account, inner = account_of(caller), within_account(caller)
    await require_all(canon, inner, Entity, (new.from_id, new.to_id))

    async def prepare(new_id: NewId) -> Change[bool]:
        del new_id  # the id follows from the edge
        from_, to = await require_all(canon, inner, Entity, (new.from_id, new.to_id))
        _require_two(from_, to)
        relation = _made(account, new)
        ends = (new.from_id, new.to_id, from_.id, to.id)
        reads = {thing_key(each) for each in (*ends, relation.id)}
        found = await canon.within(account.space).thing(relation.id)
        if isinstance(found, Relation):
            entries = (*_asked_for(found), *_added(found, new.metadata))
            return Change(entries=entries, reads=frozenset(reads), found=found.current)
        if new.rel_type in ACYCLIC:
            reads |= await _require_acyclic(canon, new.rel_type, from_, to)
        return Change(entries=(Made(thing=relation),), reads=frozenset(reads), found=False)

    receipt = await commit_change(canon, inner, account.space, prepare)
    wanted = relation_id_of(account.user_id, new.rel_type, new.from_id, new.to_id)
    relation = await require(canon, inner, Relation, wanted)
    from_, to = await require_all(canon, inner, Entity, (new.from_id, new.to_id))
    shown = revised(relation, from_id=from_.id, to_id=to.id)
    return RelationshipStands(relation=shown, existing=bool(receipt.found))


def _require_two(from_: Entity, to: Entity) -> None:
    if from_.id == to.id:
        message = "a relationship connects two entities; these two are one"
        raise InvalidInput("relationship.to-itself", message, path="/target_entity_id")


def _made(account: Account, new: NewRelationship) -> RelationDraft:
    """The edge between those who were named: taking a merge back gives it back to them."""
    ends = (EntityId(new.from_id), EntityId(new.to_id))
    return edge(account, new.rel_type, *ends, metadata=new.metadata, authority=Authority.PLAYER)


def edge(
    account: Account,
    rel_type: str,
    from_id: EntityId,
    to_id: EntityId,
    *,
    metadata: Mapping[str, Any],
    authority: Authority,
) -> RelationDraft:
    """The edge of a type between two entities of an account, not yet recorded."""
    return RelationDraft(
        id=RelationId(relation_id_of(account.user_id, rel_type, from_id, to_id)),
        space=account.space,
        rel_type=rel_type,
        from_id=from_id,
        to_id=to_id,
        properties=dict(metadata),
        since=None,
        confidence=1.0,
        authority=authority,
        evidence=(),
        level=CanonLevel.CANON,
    )


def _asked_for(found: Relation) -> Iterator[Entry]:
    """A user's word for an edge that a field made: it depends on the field no longer."""
    if found.ended:
        yield RelationResumed(relation_id=found.id)
    if derived(found):
        again = SaidAgain(
            at=None,
            place=StoryPlace(told=0),
            authority=Authority.PLAYER,
            confidence=1.0,
            evidence=(),
        )
        yield EvidenceLinked(thing_id=found.id, evidence=found.evidence[0], again=again)


def _added(found: Relation, metadata: Mapping[str, Any]) -> tuple[Entry, ...]:
    new = {key: value for key, value in metadata.items() if found.properties.get(key) != value}
    if not new:
        return ()
    state = content_id(found.id, str(found.told), encode_json(new).decode())
    return (RelationDetailed(relation_id=found.id, properties=new, told=state),)


async def _require_acyclic(
    canon: Canon, rel_type: str, from_: Entity, to: Entity
) -> frozenset[str]:
    """Refuse an edge that its own target leads back to; the keys of all edges that were walked."""
    leads, seen = await leads_to(canon, rel_type, to, from_)
    if leads:
        message = f"the target leads back to the source over {rel_type}; this would be a cycle"
        raise Conflict("relationship.cycle", message, conflicts=[from_.id, to.id])
    return frozenset(map(relations_key, seen))


async def leads_to(
    canon: Canon, rel_type: str, start: Entity, goal: Entity
) -> tuple[bool, frozenset[str]]:
    """Whether edges of a type lead from one entity to another, and the entities walked.

    Raises:
        Unavailable: `relationship.too-far`.
    """
    seen: set[str] = set()
    frontier: dict[str, Entity] = {start.id: start}
    while frontier:
        family = frozenset[EntityId]().union(*map(family_of, frontier.values())) - seen
        seen |= family
        query = RelationQuery(
            spaces=frozenset((start.space,)),
            entities=family,
            rel_type=rel_type,
            direction="out",
            current=True,
        )
        ends = {each.to_id async for each in every_match(canon.state.relations, query)}
        if not ends.isdisjoint(family_of(goal)):
            return True, frozenset(seen)
        if len(seen) > _WALKED_MAX:
            message = "too much hangs on the target to rule out a cycle"
            raise Unavailable("relationship.too-far", message, limit=_WALKED_MAX)
        frontier = {e.id: e for e in (await canon.within(start.space).roots(ends - seen)).values()}
    return False, frozenset(seen)

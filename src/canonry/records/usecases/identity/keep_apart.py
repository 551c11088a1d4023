"""Keep apart: two entities that look like one are two, as somebody says; a relation says so.

It is said once of each two, and ends as any other relation does.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from canonry.canon.judging.making import Backing, make_relation
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, audience_for, commit_change
from canonry.canon.session.every_item import every_match
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require, require_all, require_same_space
from canonry.canon.session.receipts import the_made
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.relations import Relation, RelationDraft
from canonry.log.keys import relations_key, thing_key
from canonry.readmodels.ports.state import RelationQuery
from canonry.values.errors import Conflict
from canonry.values.ids import EntityId, NewId, RelationId, SpaceId
from canonry.values.provenance import Authority

DIFFERENT_FROM: Final = "DIFFERENT_FROM"
"""The type of the relation that says so."""


async def keep_apart(
    canon: Canon, caller: Caller, one_id: str, other_id: str, *, reason: str, authority: Authority
) -> RelationId:
    """Let it be said that the two are not one; what says so already stands as it is.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `space.foreign`, `entity.retconned` or `entity.already-merged`.
    """
    space = (await require(canon, caller, Entity, one_id)).space

    async def prepare(new_id: NewId) -> Change[Relation | None]:
        one, other = await require_all(canon, caller, Entity, (one_id, other_id))
        require_same_space(one.space, [other], path="/of")
        require_standing(one, other)
        if one.id == other.id:
            message = "the two are one entity; separate the one that was merged into the other"
            raise Conflict("entity.already-merged", message, conflicts=[one.id])
        ids = frozenset((one_id, other_id, one.id, other.id))
        reads = frozenset(key(each) for key in (thing_key, relations_key) for each in ids)
        for each in await _said(canon, space, family_of(one)):
            if {each.from_id, each.to_id} & family_of(other):
                return Change(entries=(), reads=reads, found=each)
        audience = await audience_for(canon, (one.id, other.id), None)
        backing = Backing(space=space, authority=authority, confidence=1.0, evidence=())
        made = make_relation(
            new_id,
            backing,
            rel_type=DIFFERENT_FROM,
            from_id=one.id,
            to_id=other.id,
            properties={"reason": reason} if reason else {},
            since=None,
        )
        return Change(entries=(made,), reads=reads, audience=audience, found=None)

    receipt = await commit_change(canon, caller, space, prepare)
    return receipt.found.id if receipt.found else the_made(receipt, RelationDraft).id


async def kept_apart(
    canon: Canon, space: SpaceId, entities: Iterable[Entity]
) -> frozenset[tuple[str, str]]:
    """The pairs of these that are said to be two, each by the lesser id first."""
    root = {member: each.id for each in entities for member in family_of(each)}
    said = await _said(canon, space, frozenset())
    ends = ((root.get(each.from_id, ""), root.get(each.to_id, "")) for each in said)
    return frozenset((min(pair), max(pair)) for pair in ends)


async def _said(canon: Canon, space: SpaceId, about: frozenset[EntityId]) -> Sequence[Relation]:
    query = RelationQuery(
        spaces=frozenset((space,)), entities=about, rel_type=DIFFERENT_FROM, current=True
    )
    return [each async for each in every_match(canon.state.relations, query)]

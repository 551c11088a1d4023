"""End a relation: it held until now, or until an instant of the world's own time."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, known_to
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require
from canonry.log.entries import RelationEnded
from canonry.log.items.relations import Relation
from canonry.log.keys import thing_key
from canonry.values.errors import Conflict
from canonry.values.ids import NewId
from canonry.values.time import Instant


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

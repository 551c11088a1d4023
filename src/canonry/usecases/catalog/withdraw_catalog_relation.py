"""Withdraw a relation of a catalog: it holds no longer, and the log keeps that it did."""

from canonry.domain.errors import NotFound
from canonry.domain.ids import NewId, SpaceId
from canonry.domain.log.keys import thing_key
from canonry.usecases.catalog.judge_catalog_relations import ended, standing_relations
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change


async def withdraw_catalog_relation(
    canon: Canon, caller: Caller, project: SpaceId, contract_id: str, reason: str
) -> None:
    """End the relation that bears this id.

    Raises:
        NotFound: `relation.unknown`.
    """

    async def prepare(new_id: NewId) -> Change:
        del new_id
        current, _ = (await standing_relations(canon, project, (contract_id,)))[contract_id]
        if current is None or not caller.sees(project):
            message = "the project has no relation with this id"
            raise NotFound("relation.unknown", message, path="/relationId")
        entry = ended(current, reason=reason)
        return Change(entries=(entry,), reads=frozenset((thing_key(current.id),)))

    await commit_change(canon, caller, project, prepare)

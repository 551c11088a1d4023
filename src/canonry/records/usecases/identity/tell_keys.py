"""Tell keys: what leads to entities, and whether it still is what they are called."""

from collections.abc import Mapping, Sequence

from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.records.domain.borne_keys import Family, family
from canonry.records.usecases.schemas_in_force import schemas_for
from canonry.values.ids import EntityId


async def families_of(
    canon: Canon, account: Account, entities: Sequence[Entity]
) -> Mapping[EntityId, Family]:
    """Each entity with those merged into it, and what names them today."""
    ids = {member for each in entities for member in each.members}
    spaces = {each.space for each in entities}
    found = await canon.within(*spaces).things(ids) if ids else {}
    members = {i: e for i, e in found.items() if isinstance(e, Entity)}
    schemas = await schemas_for(canon, account, (*entities, *members.values()))
    return {
        each.id: family(
            each,
            [members[member] for member in each.members if member in members],
            schemas if each.space == account.space else {},
        )
        for each in entities
    }

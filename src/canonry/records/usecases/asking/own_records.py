"""Own records: the table of the caller's account, read on by what its log says since."""

from collections.abc import Sequence
from typing import Final

from canonry.canon.session.account import Account, account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_match
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Commit
from canonry.log.entries import Erased, Made, Redacted
from canonry.log.items.entities import Entity
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.readmodels.ports.state import EntityQuery
from canonry.records.domain.asking.rows import row_of
from canonry.records.usecases.asking.record_tables import RecordTable
from canonry.records.usecases.schemas_in_force import schema_of, schemas_in_force
from canonry.records.usecases.services import RecordServices
from canonry.values.ids import SpaceId

_COMMITS: Final = 100
_TOGETHER: Final = 200
"""So many records are shown before others may take their turn."""
_READ_ON_MAX: Final = 20
"""After more pages of commits than this, reading everything anew is as fast."""


async def own_records(canon: Canon, caller: Caller) -> RecordTable:
    """The rows of the account that the log has now: no other account, and nothing beside it."""
    account = account_of(caller)
    table = canon.service(RecordServices).record_tables.of(account.space)
    async with table.turn:
        head = await canon.ledger.head(account.space)
        if head != table.position:
            new = await _since(canon, account.space, table) if table.position != ORIGIN else None
            if new is None:
                await _read_anew(canon, account, table)
            else:
                await _read_on(canon, account, table, new)
            table.ordered = sorted(table.rows.values(), key=lambda row: row.order)
            table.position = head
    canon.service(RecordServices).record_tables.let_go()
    return table


async def _since(canon: Canon, space: SpaceId, table: RecordTable) -> Sequence[Commit] | None:
    """The commits that the table does not know; None where it has to be read anew."""
    found: list[Commit] = []
    after = table.position
    for _ in range(_READ_ON_MAX):
        page = await canon.ledger.read(space, after=after, limit=_COMMITS)
        if any(isinstance(e, Erased | Redacted) for commit in page for e in commit.entries):
            return None
        found += page
        if len(page) < _COMMITS:
            return found
        after = page[-1].position
    return None


async def _read_anew(canon: Canon, account: Account, table: RecordTable) -> None:
    spaces = frozenset((account.space,))
    # With the merged ones, so that a merge meanwhile moves nothing to another page.
    query = EntityQuery(spaces=spaces, include_merged=True)
    anew = RecordTable()
    some: list[Entity] = []
    async for entity in every_match(canon.state.entities, query):
        some.append(entity)
        if len(some) == _TOGETHER:
            await _put(canon, account, anew, some)
            some = []
    await _put(canon, account, anew, some)
    table.rows, table.schemas = anew.rows, anew.schemas


async def _read_on(
    canon: Canon, account: Account, table: RecordTable, new: Sequence[Commit]
) -> None:
    entries = [entry for commit in new for entry in commit.entries]
    changed = dict.fromkeys(thing_id for entry in entries for thing_id in ids_of(entry))
    made = (entry.thing for entry in entries if isinstance(entry, Made))
    types = {each.entity_type for each in made if isinstance(each, EntitySchema)}
    if types:
        table.schemas = {n: s for n, s in table.schemas.items() if n not in types}
        changed |= dict.fromkeys(i for i, row in table.rows.items() if row.entity_type in types)
    sight, ids = canon.within(account.space), tuple(changed)
    for start in range(0, len(ids), _TOGETHER):
        some = ids[start : start + _TOGETHER]
        roots = {each.id: each for each in (await sight.roots(some)).values()}
        await _put(canon, account, table, tuple(roots.values()), gone=some)


async def _put(
    canon: Canon,
    account: Account,
    table: RecordTable,
    entities: Sequence[Entity],
    gone: Sequence[str] = (),
) -> None:
    own = [each for each in entities if each.space == account.space and not each.merged_into]
    types = {each.entity_type for each in own} - table.schemas.keys()
    if types:
        table.schemas = {**table.schemas, **await schemas_in_force(canon, account, types)}
    for record in gone:
        table.rows.pop(record, None)
    for each in own:
        table.rows[each.id] = row_of(each, schema_of(table.schemas, account, each))


def schema_named(table: RecordTable, entity_type: str) -> EntitySchema | None:
    """The schema of a type, also where there are no records of it."""
    return table.schemas.get(entity_type) or TRUTH_TYPES.get(entity_type)

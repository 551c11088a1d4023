"""Saving a row beside others: what rests on the row that is stored is read again when it moves."""

from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.catalog.domain.rows import CatalogRow, read_row
from canonry.catalog.usecases.rows import save_catalog_row, store_row
from canonry.log.items.entities import Entity
from canonry.log.schemas.catalog_tables import ENTITIES
from canonry.readmodels.catalog import format_instant, item_id, item_row
from canonry.stores.sqlite import Durability
from canonry.testing.clocks import a_caller
from canonry.values.ids import SpaceId
from tests.toolsets.catalog.kit import LAB, hostile_names, import_rows, make_uuid

pytestmark = pytest.mark.anyio


async def test_a_save_does_not_revert_concurrent_changes(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    canon, item, reads = store.canon, item_id(LAB, "guide", make_uuid(1)), 0
    other = {"id": make_uuid(1), "projectId": LAB, "entityType": "guide", "summary": "of another"}

    async def read() -> CatalogRow:
        nonlocal reads
        reads += 1
        held = (await canon.state.items_by_id((item,)))[item]
        assert isinstance(held, Entity)
        if reads == 1:
            await save_catalog_row(canon, a_caller("Operator"), ENTITIES, other)
        row, _ = read_row(ENTITIES, 0, {**item_row(held), "title": "own"})
        assert row is not None
        return row

    try:
        await import_rows(canon, hostile_names())
        now = format_instant(canon.clock.now())

        made, same = await store_row(canon, a_caller("Operator"), SpaceId(LAB), read, now)

        entry = await canon.catalog.find_entry(SpaceId(LAB), make_uuid(1))
        row = item_row(entry.entity)
        assert (row["title"], row["summary"]) == ("own", "of another")
        assert reads == 2
        assert (made, same) == (False, False)
    finally:
        await store.close()

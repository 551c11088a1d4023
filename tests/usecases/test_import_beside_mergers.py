"""An import meets items that others merged or took back: it says so, and joins nothing to them."""

import pytest

from canonry.app.compose import compose_memory
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, EntityRetconned
from canonry.readmodels.catalog import item_id
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.values.ids import SpaceId
from tests.toolsets.catalog.kit import LAB, hostile_names, import_rows, make_uuid, relation_row

pytestmark = pytest.mark.anyio


async def test_removed_rows_are_reported_and_joined_to_nothing() -> None:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    await import_rows(canon, hostile_names())
    scribe = Scribe(canon, space=SpaceId(LAB))
    kept, merged, retconned = (item_id(LAB, "concept", make_uuid(n)) for n in (3, 12, 8))
    await scribe.write_entries(EntitiesMerged(kept=kept, merged=merged, members=(), reason=""))
    await scribe.write_entries(EntityRetconned(entity_id=retconned, replaced_by=None, reason=""))
    late = [
        relation_row(90 + n, "GUIDE_USES_CONCEPT", make_uuid(2), make_uuid(n)) for n in (12, 8, 3)
    ]
    rows = [hostile_names()["entities"][n] for n in (2, 7, 11)]

    report = await import_rows(canon, {"entities": rows, "relations": late}, lenient=True)

    found = [(each.array, each.row, each.code) for each in report.problems]
    assert found == [
        ("entities", 1, "item.gone"),
        ("entities", 2, "item.gone"),
        ("relations", 0, "entity.unknown"),
        ("relations", 1, "entity.unknown"),
    ]
    assert report.made["relations"] == 1
    await scribe.write_entries(
        EntitiesUnmerged(kept=kept, separated=merged, remaining=(), reason="")
    )
    again = await import_rows(canon, {"entities": rows[2:], "relations": late[:1]})
    assert (again.unchanged["entities"], again.made["relations"]) == (1, 1)

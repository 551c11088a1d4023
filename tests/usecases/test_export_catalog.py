"""Exporting a catalog: all of one state, or an error that says so."""

import pytest

from canonry.app.compose import compose_memory
from canonry.catalog.usecases.exchange import export_catalog
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.errors import Unavailable
from tests.toolsets.catalog.kit import hostile_names, import_rows

pytestmark = pytest.mark.anyio


async def test_an_export_has_one_state_or_says_that_it_has_not() -> None:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    await import_rows(canon, hostile_names())
    rows = export_catalog(canon, None, lambda _done, _total: None)
    first = [await anext(rows) for _ in range(5)]

    await import_rows(canon, {"entities": [{**hostile_names()["entities"][0], "title": "moved"}]})

    assert first[0][0] == "projects"
    with pytest.raises(Unavailable) as refused:
        [row async for row in rows]
    assert refused.value.code == "catalog.moved"

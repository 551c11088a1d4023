"""An ingest whose process is killed with -9 leaves all of its records or none, and can be repeated.

Records and files, at whatever moment; the store is sound afterwards, with every file in its place.
"""

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import Embedded, open_embedded
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.records.toolset import TRUTH
from canonry.records.usecases.files import check_files
from canonry.stores.sqlite import Durability
from canonry.testing.conformance.maintenance import check_progress
from tests.crash.lives import a_life
from tests.crash.writer import ROWS, ingest

LIVES = 3

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")


@pytest.mark.parametrize("seed", ["one", "two"])
def test_repeated_kills_during_ingest_lose_nothing(tmp_path: Path, seed: str) -> None:
    lots = random.Random(seed)
    acknowledged: list[str] = []
    for number in range(LIVES):
        with a_life(tmp_path / "store", "ingesting", f"life {number}") as life:
            life.hear_lines(lots.randrange(1, 20))
            acknowledged += life.kill_writer()
        asyncio.run(judge_records(tmp_path / "store", acknowledged))


async def judge_records(folder: Path, acknowledged: Sequence[str]) -> None:
    """Nothing lost, nothing by halves, nothing twice when the last call of all is repeated."""
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        assert (await store.maintenance.verify(check_progress)).findings == ()
        assert (await check_files(store.canon, whole=True)).findings == ()
        for kind in ("invoice", "task"):
            found = await count_entities(store, kind)
            assert set(found.values()) <= {ROWS}, f"{kind}: a call is there whole or not at all"
            assert set(acknowledged) <= found.keys(), f"{kind}: what was acknowledged is there"
        if not acknowledged:
            return
        last = acknowledged[-1]
        life, _, number = last.rpartition("/")
        before = await count_entities(store, "invoice")
        for name in (last, f"{life}/{int(number) + 1}"):
            await ingest(store, name)
            await ingest(store, name)
        after = {kind: await count_entities(store, kind) for kind in ("invoice", "task")}
        assert set(after["invoice"].values()) == set(after["task"].values()) == {ROWS}
        assert after["invoice"].keys() >= before.keys()
    finally:
        await store.close()


async def count_entities(store: Embedded, kind: str) -> Mapping[str, int]:
    """Return the number of entities of the type in each call, by its name."""
    gateway, found = Gateway(store.canon, (TRUTH,)), Counter[str]()
    total, offset = 1, 0
    while offset < total:
        asked = {"entity_type": kind, "limit": 1000, "offset": offset}
        outcome = await gateway.call("retrieve_entities", asked, Principal(agent_id="judge"))
        body: Mapping[str, Any] = outcome.body
        for each in body["entities"]:
            shown = each["snapshot"]
            found[shown.get("vendor_name") or shown["project_id"]] += 1
        total, offset = body["total"], offset + 1000
    return found

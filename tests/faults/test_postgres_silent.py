"""PostgreSQL that does not answer, or is away: a call ends in time, and is repeated once."""

from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.postgres import open_postgres
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import a_fact, creation_entries
from tests.conformance.postgres_store import URL, drop_data
from tests.faults.relay import relayed_url
from tests.faults.repeating import require_in_time_and_once

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("harm", ["silent", "away"])
async def test_a_call_ends_in_time_without_an_answer_and_is_repeated_once(
    tmp_path: Path, harm: str
) -> None:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    schema = f"test_{uuid4().hex}"
    async with relayed_url(URL) as (relay, url):
        store = await open_postgres(url, schema=schema, folder=tmp_path / "x", connections=4)
        scribe = Scribe(store.canon)
        await scribe.make_items(a_fact("before"))
        late = scribe.next_append(creation_entries(a_fact("late")), judged_at=1)
        relay.delay, relay.away = (20.0, False) if harm == "silent" else (0.0, True)
        if harm == "away":
            await relay.cut_lines()

        await require_in_time_and_once(store, relay, scribe, late)
        await store.close()
    await drop_data(schema)

"""PostgreSQL that does not answer, or is away: a call ends in time, and is repeated once."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.bootstrap.backends.postgres import open_postgres
from canonry.bootstrap.backends.postgres_copy import with_copy
from canonry.domain.errors import Unavailable
from canonry.domain.log.commits import Appended
from canonry.gateway.limits import within
from canonry.testing.scribe import Scribe
from canonry.testing.things import MIDDLE_EARTH, a_fact, made
from tests.conformance.kills import require_whole
from tests.conformance.postgres_store import URL, dropped
from tests.faults.relay import relayed_url
from tests.faults.repeating import repeated

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("harm", ["silent", "away"])
async def test_a_call_ends_in_time_while_nothing_answers_and_is_repeated_once(
    tmp_path: Path, harm: str, copied: bool
) -> None:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    schema = f"test_{uuid4().hex}"
    async with relayed_url(URL) as (relay, url):
        store = await open_postgres(url, schema=schema, folder=tmp_path / "x", connections=4)
        if copied:
            store = await with_copy(store, tmp_path / "machine")
        scribe = Scribe(store.canon)
        await scribe.make(a_fact("before"))
        late = scribe.next(made(a_fact("late")), judged_at=1)
        relay.delay, relay.away = (20.0, False) if harm == "silent" else (0.0, True)
        if harm == "away":
            await relay.cut()

        for ask in (store.canon.ledger.head(MIDDLE_EARTH), scribe.append([late])):
            began = asyncio.get_running_loop().time()
            with pytest.raises(Unavailable) as told:
                await within(0.5, ask)
            assert told.value.code in {"call.deadline", "store.deadline", "store.unreachable"}
            assert asyncio.get_running_loop().time() - began < 3
        relay.delay, relay.away = 0.0, False
        await relay.cut()

        assert isinstance(await repeated(scribe, late), Appended)
        await require_whole(store.canon, store.upkeep, {late.draft.id})
        assert await store.canon.ledger.head(MIDDLE_EARTH) == 2
        await store.close()
    await dropped(schema)

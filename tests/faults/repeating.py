"""Sending again what was not answered, as a client does."""

import asyncio

import pytest

from canonry.app.stores import KeptStore
from canonry.gateway.limits import run_within
from canonry.log.commits import Append, Appended, Outcome
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH
from canonry.values.errors import Unavailable
from tests.conformance.kills import require_whole
from tests.faults.relay import Relay

ATTEMPTS_MAX = 200


async def repeat_draft(scribe: Scribe, late: Append) -> Outcome:
    """The same draft, until somebody answers."""
    for _ in range(ATTEMPTS_MAX):
        try:
            (outcome,) = await scribe.append_batch([late])
        except Unavailable:
            await asyncio.sleep(0.05)
        else:
            return outcome
    raise AssertionError("nobody answers")


async def require_in_time_and_once(
    store: KeptStore, relay: Relay, scribe: Scribe, late: Append
) -> None:
    """While nothing answers calls end in time; what was sent then is there once afterwards."""
    for ask in (store.canon.ledger.head_position(MIDDLE_EARTH), scribe.append_batch([late])):
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable) as raised:
            await run_within(0.5, ask)
        assert raised.value.code in {"call.deadline", "store.deadline", "store.unreachable"}
        assert asyncio.get_running_loop().time() - began < 3
    relay.delay, relay.away = 0.0, False
    await relay.cut_lines()

    assert isinstance(await repeat_draft(scribe, late), Appended)
    await require_whole(store.canon, store.maintenance, {late.draft.id})
    assert await store.canon.ledger.head_position(MIDDLE_EARTH) == 2

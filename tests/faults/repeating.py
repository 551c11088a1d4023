"""Sending again what was not answered, as a client does."""

import asyncio

from canonry.domain.errors import Unavailable
from canonry.domain.log.commits import Append, Outcome
from canonry.testing.scribe import Scribe

ATTEMPTS_MAX = 200


async def repeated(scribe: Scribe, late: Append) -> Outcome:
    """The same draft, until somebody answers."""
    for _ in range(ATTEMPTS_MAX):
        try:
            (outcome,) = await scribe.append([late])
        except Unavailable:
            await asyncio.sleep(0.05)
        else:
            return outcome
    raise AssertionError("nobody answers")

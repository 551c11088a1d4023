"""Aside: heavy pure work is done beside the event loop, so that others are served meanwhile.

It is work over values that nobody changes. A call whose deadline passes goes on without it.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

Answer = TypeVar("Answer")

LIGHT: Final = 20_000
"""Work up to this weight is done at once: a thread costs more than it."""

OF_RECORD: Final = 400
"""What a record weighs beside its characters."""


async def aside(weight: int, work: Callable[[], Answer]) -> Answer:
    """What `work` comes to; `weight` is about how many characters it looks at."""
    return work() if weight <= LIGHT else await asyncio.to_thread(work)

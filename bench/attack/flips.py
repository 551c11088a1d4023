"""Flipped bits of a store: what is served is as it was written, or an error says that it is not."""

import asyncio
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from canonry.app.embedded import open_embedded
from canonry.stores.sqlite import Durability
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.conformance import Backend
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Answers, view_answers
from canonry.values.errors import CanonryError

FLIPS = 20


def flips(lots: random.Random, folder: Path) -> Counter[str]:
    """The same store again and again, each time with one bit that is not as it was."""
    return asyncio.run(_flips(lots, folder))


async def _flips(lots: random.Random, folder: Path) -> Counter[str]:
    whole = folder / "whole"
    await _write(whole)
    expected = await _read_answers(whole)
    counted: Counter[str] = Counter()
    for number in range(FLIPS):
        harmed = folder / f"harmed {number}"
        shutil.copytree(whole, harmed)
        path = harmed / "canon.db"
        data = bytearray(path.read_bytes())
        at = lots.randrange(len(data))
        data[at] ^= 1 << lots.randrange(8)
        path.chmod(0o600)
        path.write_bytes(data)
        try:
            result = await _read_answers(harmed)
        except CanonryError:
            counted["told with an error"] += 1
            continue
        altered = [
            question for question, answer in expected.items() if result.get(question) != answer
        ]
        assert not altered, f"byte {at}: served otherwise, and not told: {altered[:3]}"
        counted["without effect on answers"] += 1
        shutil.rmtree(harmed)
    return counted


async def _write(folder: Path) -> None:
    clock = HandClock()
    opened = await open_embedded(
        folder, clock=clock, identities=CountingIdentities(), durability=Durability.NORMAL
    )
    another: Any = None
    await write_chronicle(
        Backend(canon=opened.canon, blobs=opened.blobs, clock=clock, another=another)
    )
    await opened.close()


async def _read_answers(folder: Path) -> Answers:
    opened = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        return await view_answers(opened.canon)
    finally:
        await opened.close()

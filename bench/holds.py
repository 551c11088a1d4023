"""Run `python -m bench.holds --seeds 0-99`: plots of what holds, told to two servers of one store.

Each call goes to either server by chance. Every reading is compared with the model of what holds.
Prints how many plots and readings there were, and the first disagreement with its seed.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from typing_extensions import override

from canonry.app.embedded import open_embedded
from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.gateway.replies import Result
from canonry.narrative.toolset import NARRATIVE
from canonry.stores.sqlite import Durability
from canonry.testing.worlds import HandClock
from tests.campaign.holds_play import Told
from tests.campaign.test_holds_campaigns import ATTRIBUTES, draw_dated
from tests.toolsets.canon.kit import Desk


@dataclass
class TwoServers(Desk):
    """A desk whose calls go to one of two servers by chance."""

    other: Desk | None = None
    random: Random = field(default_factory=lambda: Random(0))  # noqa: S311 - chance

    @override
    async def outcome(self, tool_: str, arguments: dict[str, Any]) -> Result:
        if self.other is not None and self.random.random() < 0.5:
            return await self.other.outcome(tool_, arguments)
        return await super().outcome(tool_, arguments)


@asynccontextmanager
async def two_servers(seed: int) -> AsyncIterator[TwoServers]:
    """Open one new folder twice, as two servers do."""
    with TemporaryDirectory() as folder:
        clock = HandClock()
        stores = [
            await open_embedded(Path(folder), clock=clock, durability=Durability.NORMAL)
            for _ in range(2)
        ]
        try:
            one, two = (
                Desk(each.canon, Gateway(each.canon, [CANON, NARRATIVE]), clock) for each in stores
            )
            yield TwoServers(one.canon, one.gateway, clock, other=two, random=Random(seed))  # noqa: S311
        finally:
            for each in stores:
                await each.close()


async def told(seeds: range) -> tuple[int, int, list[str]]:
    """Tell a plot of each attribute for each seed; return plots, readings and disagreements."""
    plots, readings, wrong = 0, 0, list[str]()
    for seed in seeds:
        for attribute in ATTRIBUTES:
            plot = draw_dated(seed, attribute, scenes=seed % 3 > 0, timeless=seed % 3 > 1)
            async with two_servers(seed) as desk:
                one = Told(plot=plot, random=Random(seed), desk=desk)  # noqa: S311
                await one.tell()
            plots, readings = plots + 1, readings + one.checks
            if one.wrong:
                wrong.append("\n".join((f"seed {seed}, {attribute}", *one.trail, *one.wrong[:3])))
    return plots, readings, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the plots; exit code 1 where tools and model disagree."""
    parser = argparse.ArgumentParser(prog="python -m bench.holds", description=__doc__)
    parser.add_argument("--seeds", default="0-9", metavar="A-B", help="the first and the last")
    chosen = parser.parse_args(arguments)
    first, _dash, last = chosen.seeds.partition("-")
    began = time.perf_counter()
    plots, readings, wrong = asyncio.run(told(range(int(first), int(last or first) + 1)))
    sys.stdout.write(
        f"seeds {chosen.seeds}: {plots} plots, {readings} readings, {len(wrong)} plots disagree,"
        f" {time.perf_counter() - began:.0f} s\n" + "\n".join(wrong[:1]) + "\n"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())

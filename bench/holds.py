"""Run `python -m bench.holds --seeds 0-99`: plots of what holds, told to two servers of one store.

Each call goes to either server by chance. Every reading is compared with the model of what holds.
Prints how many plots and readings of each kind there were, how many disagree by attribute and by
what differs first, and the first disagreement with its seed.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
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
from canonry.testing.clocks import HandClock
from tests.campaign.holds_drawing import AGREED, ATTRIBUTES, KINDS, draw_plot
from tests.campaign.holds_play import PlotRun
from tests.campaign.holds_plots import TABLE
from tests.toolsets.canon.kit import ToolDriver


@dataclass
class TwoServers(ToolDriver):
    """A driver whose calls go to one of two servers by chance."""

    other: ToolDriver | None = None
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
                ToolDriver(each.canon, Gateway(each.canon, [CANON, NARRATIVE]), clock)
                for each in stores
            )
            yield TwoServers(one.canon, one.gateway, clock, other=two, random=Random(seed))  # noqa: S311
        finally:
            for each in stores:
                await each.close()


@dataclass
class Counted:
    """The number of played plots of one kind, and of those that disagree, by attribute."""

    plots: int = 0
    readings: int = 0
    wrong: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        by_class = "".join(f"\n    {count} x {what}" for what, count in self.wrong.most_common())
        return (
            f"{self.plots} plots, {self.readings} readings, {self.wrong.total()} disagree{by_class}"
        )


async def run_plot(seed: int, kind: str, attributes: str, counted: Counted) -> str:
    """Tell a plot, and count it; return its disagreement, if there is one."""
    plot, secrets = draw_plot(seed, attributes, KINDS[kind]), KINDS[kind].secrets
    async with two_servers(seed) as driver:
        one = PlotRun(plot=plot, random=Random(seed), driver=driver, secrets=secrets)  # noqa: S311
        await one.run_steps()
    counted.plots, counted.readings = counted.plots + 1, counted.readings + one.checks
    if not one.wrong:
        return ""
    what = one.wrong[0] if one.wrong[0].startswith("verdict") else "another reading"
    counted.wrong[f"{attributes}: {what}"] += 1
    return "\n".join((f"seed {seed}, {kind}, {attributes}", *one.trail, *one.wrong[:3]))


async def run_plots(seeds: range, kinds: Sequence[str]) -> tuple[dict[str, Counted], list[str]]:
    """Tell a plot of each attribute for each seed; the kinds take turns."""
    found, wrong = {kind: Counted() for kind in kinds}, list[str]()
    for seed in seeds:
        kind = kinds[seed % len(kinds)]
        for attributes in ATTRIBUTES:
            if not (KINDS[kind].secrets and TABLE[attributes.partition("/")[0]].fixed):
                wrong.append(await run_plot(seed, kind, attributes, found[kind]))
    return found, list(filter(None, wrong))


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the plots; exit code 1 where tools and model disagree."""
    parser = argparse.ArgumentParser(prog="python -m bench.holds", description=__doc__)
    parser.add_argument("--seeds", default="0-9", metavar="A-B", help="the first and the last")
    parser.add_argument("--kinds", nargs="+", default=[*AGREED], choices=[*KINDS])
    chosen = parser.parse_args(arguments)
    first, _dash, last = chosen.seeds.partition("-")
    began = time.perf_counter()
    seeds = range(int(first), int(last or first) + 1)
    found, wrong = asyncio.run(run_plots(seeds, chosen.kinds))
    rows = [f"{kind}: {counted}" for kind, counted in found.items()]
    seconds = f"seeds {chosen.seeds}: {time.perf_counter() - began:.0f} s"
    sys.stdout.write("\n".join((seconds, *rows, *wrong[:1])) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())

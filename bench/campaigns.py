"""Run `python -m bench.campaigns --seeds 0-999`: plays made-up campaigns against the model.

Prints how many campaigns, steps and checks there were, and the first disagreement with its seed.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.campaign.play import DisagreementError, Table
from tests.campaign.plots import a_plot, with_merges, with_secrets
from tests.toolsets.narrative.kit import a_world


@dataclass
class Tally:
    """The campaigns that were played so far."""

    campaigns: int = 0
    steps: int = 0
    checks: int = 0
    disagreements: int = 0
    first: str = ""


async def played(seeds: range, scenes: int, *, secrets: bool, merges: bool) -> Tally:
    """The campaigns of these seeds, each of so many scenes, with secrets and merges or without."""
    tally = Tally()
    for seed in seeds:
        plot = a_plot(seed, scenes=scenes)
        plot = with_secrets(plot) if secrets else plot
        table = Table(world=await a_world(), plot=with_merges(plot) if merges else plot)
        try:
            await table.play_plot()
        except DisagreementError as error:
            tally.disagreements += 1
            tally.first = tally.first or str(error)
        tally.campaigns += 1
        tally.steps += len(table.plot.steps)
        tally.checks += table.checks
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Play; exit code 1 where tools and model disagree."""
    parser = argparse.ArgumentParser(prog="python -m bench.campaigns", description=__doc__)
    parser.add_argument("--seeds", default="0-99", metavar="A-B", help="the first and the last")
    parser.add_argument("--scenes", type=int, default=8, help="of each campaign")
    parser.add_argument("--secrets", action="store_true", help="much is for few, and comes out")
    parser.add_argument("--merges", action="store_true", help="some turn out to be others")
    chosen = parser.parse_args(arguments)
    first, _dash, last = chosen.seeds.partition("-")
    began = time.perf_counter()
    seeds = range(int(first), int(last or first) + 1)
    asked = played(seeds, chosen.scenes, secrets=chosen.secrets, merges=chosen.merges)
    tally = asyncio.run(asked)
    sys.stdout.write(
        f"seeds {chosen.seeds}, {chosen.scenes} scenes each"
        f"{', secrets' * chosen.secrets}{', merges' * chosen.merges}: {tally.campaigns} campaigns, "
        f"{tally.steps} steps, {tally.checks} checks, {tally.disagreements} disagreements, "
        f"{time.perf_counter() - began:.0f} s\n{tally.first}\n"
    )
    return int(tally.disagreements > 0)


if __name__ == "__main__":
    raise SystemExit(main())

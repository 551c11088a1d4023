"""Run `python -m bench.attack --seconds 600 [ATTACK ...]`; prints what was tried and what held.

Every wave has a seed of its own, which a failure prints: `--seed N --waves 1 ATTACK` repeats what
was drawn by it; moments, and the values of fuzz, are drawn anew.
The exit code is 1 if anything did not hold.
"""

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path

from bench.attack import calls, flips, floods, kills

Wave = Callable[[random.Random, Path], Counter[str]]
ATTACKS: Mapping[str, Wave] = {
    "kills": kills.kills,
    "races": kills.races,
    "floods": floods.floods,
    "flips": flips.flips,
    "fuzz": calls.fuzz,
    "stalls": calls.stalls,
}


_TRACE_MAX = 4_000
"""So much of a failure is printed."""


def main() -> int:
    """Attack in turn until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m bench.attack", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--waves", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args()
    if unknown := set(chosen.attacks) - set(ATTACKS):
        parser.error(f"unknown attack {', '.join(sorted(unknown))}")
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    return _attack(chosen.attacks or list(ATTACKS), chosen.seconds, chosen.waves, seed)


def _attack(names: list[str], seconds: float, waves: int, first: int) -> int:
    totals: dict[str, Counter[str]] = {name: Counter() for name in names}
    failures, end = 0, time.monotonic() + seconds
    for number, name in enumerate(cycle(names)):
        if number >= waves or time.monotonic() >= end:
            break
        seed = first + number
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                totals[name] += ATTACKS[name](random.Random(seed), Path(folder))  # noqa: S311 - repeatable
                totals[name]["waves"] += 1
            except Exception:  # noqa: BLE001 - whatever broke is the finding, and others follow
                failures += 1
                totals[name]["FAILED"] += 1
                sys.stderr.write(
                    f"{name}, --seed {seed}:\n{traceback.format_exc()[-_TRACE_MAX:]}\n"
                )
        sys.stderr.write(f"{name} {dict(totals[name])}\n")
    print(json.dumps({name: dict(counted) for name, counted in totals.items()}, indent=1))
    return int(failures > 0)


if __name__ == "__main__":
    raise SystemExit(main())

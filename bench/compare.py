"""`python -m bench compare [REV]`: CPU per call of this checkout against a commit or the baseline.

Against a commit, both sides run in turn and medians are compared. Without one, the least CPU of all
rounds is divided by that of a fixed piece of work and held against `bench/baseline.json`, which
another machine may have recorded. If a call takes more than 1.25 times as much, as many rounds
are run once more: other processes may have slowed the first ones. The exit code is 1 if it still
does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.report import Row, table

ROOT: Final = Path(__file__).parents[1]
BASELINE: Final = Path(__file__).parent / "baseline.json"
SLOWER_MOST: Final = 1.25
CALIBRATION: Final = "calibration"


def main(arguments: list[str]) -> int:
    """Compare, print a table, and judge."""
    parser = argparse.ArgumentParser(prog="python -m bench compare", description=__doc__)
    parser.add_argument("revision", nargs="?", help="a commit; without one, the baseline")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side (default: 5)")
    parser.add_argument(
        "--record", action="store_true", help="write the baseline anew where this is faster"
    )
    chosen = parser.parse_args(arguments)
    if chosen.revision is None:
        known, named = known_baseline(), "the baseline"
        rounds = runs([ROOT], chosen.rounds)[0]
        slower = (v > SLOWER_MOST * known.get(name, v) for name, v in measured(rounds).items())
        if any(slower):
            rounds += runs([ROOT], chosen.rounds)[0]
        mine = measured(rounds)
        if chosen.record:
            record(mine)
        other = known_baseline()
    else:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            git = ["git", "-C", str(ROOT)]
            subprocess.run([*git, "worktree", "add", "-q", str(tree), chosen.revision], check=True)
            try:
                found = runs([ROOT, tree], chosen.rounds)
            finally:
                subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=True)
        mine, other = (medians(each) for each in found)
        named = chosen.revision
    rows = [
        Row(
            section="compare",
            what=f"CPU of {name} / {named}",
            value=mine[name] / other[name],
            unit="x",
            budget=SLOWER_MOST,
            note=f"{mine[name]:.3g} against {other[name]:.3g}",
        )
        for name in mine
        if name != CALIBRATION and name in other
    ]
    sys.stdout.write(table(rows) + "\n")
    return int(any(row.kept is False for row in rows))


def runs(trees: list[Path], rounds: int) -> list[list[dict[str, float]]]:
    """Return the measurements of each tree, which run in turn `rounds` times."""
    found: list[list[dict[str, float]]] = [[] for _ in trees]
    for _ in range(rounds):
        for kept, tree in zip(found, trees, strict=True):
            path = os.pathsep.join((str(tree / "src"), str(ROOT)))
            said = subprocess.run(
                [sys.executable, "-m", "bench.recorded_calls"],
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                check=True,
            )
            kept.append(json.loads(said.stdout))
    return found


def medians(found: list[dict[str, float]]) -> dict[str, float]:
    """The middle of each figure."""
    return {name: statistics.median(each[name] for each in found) for name in found[0]}


def least(found: list[dict[str, float]]) -> dict[str, float]:
    """The least of each figure: whatever else runs on a machine only adds CPU time."""
    return {name: min(each[name] for each in found) for name in found[0]}


def measured(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The least of each figure as a multiple of the calibration."""
    found = least(rounds)
    return {
        name: spent / found[CALIBRATION] for name, spent in found.items() if name != CALIBRATION
    }


def known_baseline() -> dict[str, float]:
    """The recorded figures; none before the first record."""
    return json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}


def record(mine: dict[str, float]) -> None:
    """Keep the faster of each figure and its baseline."""
    known = known_baseline()
    kept = {name: round(min(value, known.get(name, value)), 5) for name, value in mine.items()}
    BASELINE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")

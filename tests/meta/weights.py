"""The weight of the project: lines and modules by package, paths of nine calls, seconds of tests.

`python -m tests.meta.weights` writes `weights.json` anew if a figure fell. If one rose, add a
sentence to its `reasons` that names the budget, and pass `--raise`.
`python -m tests.meta.weights --watch FILE` repeats a piece of work and records its time.
`python -m tests.meta.weights --seconds 412 --watched FILE` fails if the tests took longer than
recorded. If the machine was slower while it was watched, they may take longer in proportion.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Any, Final, Self

import canonry
from bench.recorded_calls import Recording
from tests.meta.tree import PACKAGE

FILE: Final = Path(__file__).with_name("weights.json")
DATA: Final = frozenset({".toml", ".txt", ".json", ".sql", ".html", ".css", ".js"})
"""Data files beside the code; each of their lines counts as one of code does."""
APART: Final = frozenset({"vendor", "__pycache__"})
SOURCE: Final = str(Path(canonry.__file__).parent)
TRACES: Final = 3
"""Of so many traces the least counts: some work is done by the call that comes by once a minute."""
JITTER: Final = 3
"""So many functions of a call run or not by the moment at which a background task comes by."""
SLACK: Final = 0.03
"""A recorded figure may stand this much above the measured one before it has to be written anew."""
LINES_SLACK: Final = 60
"""The same for lines of small packages."""
WATCH_EVERY: Final = 2.0
"""Seconds between two samples of the machine's speed: about one percent of one processor."""
WORK: Final = tuple(range(60_000))
"""The numbers that a sample sorts, sums and writes as JSON: about 20 ms on a quiet machine."""


def measure_sizes() -> dict[str, dict[str, int]]:
    """Lines and modules of code, and lines of data files, by package."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(PACKAGE.rglob("*")):
        within = path.relative_to(PACKAGE).parts
        if len(within) == 1 or APART & set(within) or not path.is_file():
            continue
        size = found.setdefault(within[0], {"lines": 0, "modules": 0, "data": 0})
        if path.suffix == ".py":
            size["lines"] += path.read_text(encoding="utf-8").count("\n")
            size["modules"] += 1
        elif path.suffix in DATA:
            size["data"] += path.read_text(encoding="utf-8").count("\n")
    return found


class Trace:
    """Collects the functions of the package that run while it is entered."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()

    def _see_call(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE):
            self.functions.add((code.co_filename, code.co_qualname))

    def __enter__(self) -> Self:
        threading.setprofile(self._see_call)
        sys.setprofile(self._see_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def count_figures(self) -> dict[str, int]:
        """Count the functions and the files."""
        named = {each for each in self.functions if not each[1].rpartition(".")[2].startswith("<")}
        return {"functions": len(named), "files": len({file for file, _ in named})}


CALLS: Final = (
    *("create_fact", "create_entity", "append_turn", "get", "propose", "find", "context"),
    *("ingest", "canonize"),
)


async def trace_calls() -> dict[str, dict[str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        recording = await Recording.open(Path(folder), "canon", "narrative", "truth")
        try:
            await recording.prepare()
            found = {}
            for name in CALLS:
                step = getattr(recording, name)
                await step(1)
                figures = []
                for number in range(2, 2 + TRACES):
                    with Trace() as trace:
                        await step(number)
                    figures.append(trace.count_figures())
                found[name] = min(figures, key=lambda each: each["functions"])
        finally:
            await recording.close()
    return found


def measure_paths() -> dict[str, dict[str, int]]:
    """The functions and files that the second of two like calls passes, by call."""
    return asyncio.run(trace_calls())


def read_recorded() -> dict[str, Any]:
    """Return the figures of the committed file."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def risen_figures(
    measured: Mapping[str, Mapping[str, int]],
    known: Mapping[str, Mapping[str, int]],
    jitter: int = 0,
) -> list[str]:
    """Each figure above what is recorded, in words; `jitter` is how much it may vary by itself."""
    return [
        f"{name}: {figure} {value}, recorded {known.get(name, {}).get(figure, 0)}"
        for name, figures in measured.items()
        for figure, value in figures.items()
        if value > known.get(name, {}).get(figure, 0) + jitter
    ]


def stale_figures(
    measured: Mapping[str, Mapping[str, int]], known: Mapping[str, Mapping[str, int]]
) -> list[str]:
    """Each recorded figure that is too far above what is measured, or measured no longer."""
    return [
        f"{name}: {figure} {measured.get(name, {}).get(figure, 0)}, recorded {value}"
        for name, figures in known.items()
        for figure, value in figures.items()
        if value > measured.get(name, {}).get(figure, 0) * (1 + SLACK) + LINES_SLACK
        or name not in measured
    ]


def time_sample() -> float:
    """Seconds that a fixed piece of work takes now."""
    start = time.perf_counter()
    sum(sorted(WORK, key=lambda each: each * 7919 % 60_013))
    json.loads(json.dumps(WORK))
    return time.perf_counter() - start


def watch_speed(file: Path) -> None:
    """Write a sample into `file`, a line each, until the process is ended."""
    with file.open("w", encoding="utf-8") as out:
        while True:
            out.write(f"{time_sample():.4f}\n")
            out.flush()
            time.sleep(WATCH_EVERY)


def allowed_seconds(known: Mapping[str, Any], samples: Sequence[float]) -> float:
    """Seconds that the tests may take: what is recorded, times how much slower the machine was.

    A faster machine gets no less time, since tests that wait do not become faster with it.
    """
    most: float = known["suite_seconds"]
    return most * max(1.0, fmean(samples) / known["sample_seconds"]) if samples else most


def main() -> int:
    """Write the file anew, watch the machine, or judge the seconds of the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raise", action="store_true", dest="raises", help="let figures rise")
    parser.add_argument("--seconds", type=int, help="how long the tests took")
    parser.add_argument("--watch", type=Path, metavar="FILE", help="write samples until ended")
    parser.add_argument("--watched", type=Path, metavar="FILE", help="the samples of these tests")
    chosen = parser.parse_args()
    if chosen.watch is not None:
        watch_speed(chosen.watch)
    known = read_recorded() if FILE.exists() else {"packages": {}, "calls": {}}
    if chosen.seconds is not None:
        lines = chosen.watched.read_text(encoding="utf-8").split() if chosen.watched else ()
        samples = [float(each) for each in lines]
        most = allowed_seconds(known, samples)
        sys.stdout.write(
            f"the tests took {chosen.seconds} s; {known['suite_seconds']} s are recorded,"
            f" {most:.0f} s on a machine as fast as this one was"
            f" ({len(samples)} samples, {fmean(samples or (0.0,)):.4f} s each)\n"
        )
        return int(chosen.seconds > most)
    measured = {"packages": measure_sizes(), "calls": measure_paths()}
    rose = [each for part, found in measured.items() for each in risen_figures(found, known[part])]
    if rose and FILE.exists() and not chosen.raises:
        sys.stdout.write("\n".join(("these rose:", *rose, "")))
        return 1
    FILE.write_text(json.dumps(known | measured, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

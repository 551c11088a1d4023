"""Run `python -m bench [SECTION ...]`: prints a table and writes `bench/results/latest.json`."""

import argparse
import importlib
import os
import sys
from pathlib import Path

from bench import compare
from bench.report import Row, table, write_json

SECTIONS = {
    "http": "calls over HTTP against a no-op tool",
    "hostile": "a well-behaved client beside hostile ones",
    "startup": "start-up time and memory against a no-op server",
    "writers": "many writers, full durability",
    "profiles": "the same calls on each kind of store, against the folder",
    "canonization": "canonizing a scene of 50 proposals",
    "universe": "a scene, its context and conflicts among 10^5 facts",
    "transcript": "importing a transcript",
    "growth": "the same calls as a world grows",
    "world": "contexts of a large world, read while others write",
    "proposals": "the gates of a large world",
    "lore": "labelled questions about lore, hybrid against keywords",
    "contradictions": "labelled pairs of statements, as the domain grades them",
    "search": "searching passages as spaces and stores grow",
    "vectors": "the index of vectors against exact search",
    "indexing": "writers while passages are indexed by the default model",
    "catalog": "a large catalog: four questions and filling it",
    "truth": "the truth actions as a user's canon grows",
    "inspector": "the pages of the inspector in a large space",
    "stalls": "how long others wait while a caller sends hostile arguments",
}


def main() -> int:
    """Measure; exit code 1 where a budget is not kept."""
    if sys.argv[1:2] == ["compare"]:
        return compare.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results/latest.json")
    chosen = parser.parse_args()
    unknown = set(chosen.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    load = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    sys.stderr.write(f"Python {sys.version.split()[0]}, {load}\n")
    for name in chosen.sections or SECTIONS:
        sys.stderr.write(f"{name}: {SECTIONS[name]} ...\n")
        found: list[Row] = importlib.import_module(f"bench.{_module(name)}").run()
        sys.stdout.write(table(found) + "\n\n")
        sys.stdout.flush()
        rows += found
    write_json(rows, chosen.json)
    return int(any(row.kept is False for row in rows))


def _module(section: str) -> str:
    modules = {"http": "http_calls", "world": "world_contexts", "contradictions": "grading"}
    return modules.get(section, section)


if __name__ == "__main__":
    raise SystemExit(main())

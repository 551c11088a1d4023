"""Run `python -m bench.contradictions [MODULE:FUNCTION]`: prints how well the function grades."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from bench.contradictions.measures import Grader, measure
from bench.contradictions.pairs import SETS, read_set
from bench.contradictions.report import report


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; exit code 1 where the aim is not reached on the kept half of `pairs`."""
    parser = argparse.ArgumentParser(prog="python -m bench.contradictions", description=__doc__)
    what = "what grades: called with what stands and what is claimed, as `Side` has them"
    default = "bench.contradictions.grader:grade"
    parser.add_argument("grader", metavar="MODULE:FUNCTION", help=what, nargs="?", default=default)
    module, colon, function = parser.parse_args(arguments).grader.partition(":")
    if not colon:
        parser.error("name the module and the function, as in some.module:grade")
    grade: Grader = getattr(importlib.import_module(module), function)
    measured = {name: measure(read_set(name), grade) for name in SETS}
    sys.stdout.write("\n".join(report(of_set, name) for name, of_set in measured.items()))
    return int(not measured["pairs"].kept)


if __name__ == "__main__":
    raise SystemExit(main())

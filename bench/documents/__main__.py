"""Run `python -m bench.documents`: prints how much of each kind of document is read, by half.

Each folder here that has a `cases()` takes part. The grades of single values appear only for the
half that is developed with; the half that is kept apart has figures alone.
"""

import argparse
import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from bench.documents.case import Case
from bench.documents.grading import CORRECT, MISSED, WRONG, Graded, graded

AIMS = {"statement": (0.0, 0.98)}
OTHERS = (0.005, 0.90)
"""The largest share of wrong values, and the least of correct ones, on the kept half."""


def cases(folders: Sequence[str] = ()) -> Iterator[Case]:
    """All cases of the named folders, or of all."""
    here = Path(__file__).parent
    for folder in sorted(each.name for each in here.iterdir() if (each / "__init__.py").is_file()):
        if not folders or folder in folders:
            yield from import_module(f"bench.documents.{folder}").cases()


async def _all(chosen: Sequence[Case]) -> list[Graded]:
    return [await graded(case) for case in chosen]


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade; exit code 1 where an aim is not reached on the half kept apart."""
    parser = argparse.ArgumentParser(prog="python -m bench.documents", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help="such as `money`; all else")
    parser.add_argument("--show", metavar="TEXT", help="tell the values of cases named so")
    parser.add_argument("--fields", action="store_true", help="tell the figures of each field")
    given = parser.parse_args(arguments)
    results = asyncio.run(_all(list(cases(given.folders))))
    if given.show is not None:
        _show(results, given.show)
    kept = True
    groups = sorted({each.case.group for each in results})
    for group in groups:
        for half in (False, True):
            own = [r for r in results if r.case.group == group and r.case.kept is half]
            kept &= _figures(group, half, own) or not half
            if given.fields:
                _by_field(own)
    return int(not kept)


def _figures(group: str, half: bool, results: Sequence[Graded]) -> bool:  # noqa: FBT001
    """Print one line; whether the aim is reached."""
    total: Counter[str] = sum((each.counts for each in results), Counter())
    values = max(1, sum(total.values()))
    wrong, correct = AIMS.get(group, OTHERS)
    reached = total[WRONG] / values <= wrong and total[CORRECT] / values >= correct
    clean = sum(1 for each in results if each.counts[WRONG] + each.counts[MISSED] == 0)
    print(
        f"{group:12} {'kept ' if half else 'open '} {len(results):4} documents {clean:4} whole"
        f" {values:6} values {total[CORRECT] / values:7.2%} correct {total[WRONG]:4} wrong"
        f" ({total[WRONG] / values:.2%}) {total[MISSED]:4} missed"
        f"{'' if reached or not half else '  BELOW THE AIM'}"
    )
    return reached


def _by_field(results: Sequence[Graded]) -> None:
    by_field: dict[str, Counter[str]] = defaultdict(Counter)
    for each in results:
        for mark in each.marks:
            by_field[mark.field][mark.outcome] += 1
    for name, counts in sorted(by_field.items()):
        result = " ".join(f"{counts[o]:5} {o}" for o in (CORRECT, WRONG, MISSED))
        print(f"    {name:28} {result}")


def _show(results: Sequence[Graded], named: str) -> None:
    for each in results:
        case = each.case
        bad = [mark for mark in each.marks if mark.outcome != CORRECT]
        if case.kept or named not in f"{case.group}/{case.name}" or not (bad or each.fault):
            continue
        print(f"{case.group}/{case.name} ({case.file_name}) {each.fault}")
        for mark in bad:
            print(f"    {mark.outcome:7} {mark.field}: {mark.true!r} <- {mark.found!r}")


if __name__ == "__main__":
    sys.exit(main())

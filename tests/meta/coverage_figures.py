"""The lines and branches of each package that the tests reach; `make coverage` judges them."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.meta.test_packages import PURE, is_within

RULES: Final = "rules"
"""The sum over what decides outcomes: pure places and the gateway."""
FLOORS: Final = {
    # Here every outcome is decided, so nearly every branch is somebody's case; in percent.
    RULES: 95.0,
    **dict.fromkeys(("values", "language", "readmodels", "gateway", "catalog", "world"), 95.0),
    "assistant": 95.0,
    # Packages with drivers, ports and toolsets may not fall below their measured figure.
    "canon": 94.0,
    "records": 94.0,
    "recall": 93.0,
    "narrative": 92.0,
    "log": 90.0,
    # Parsers run in processes of their own, unmeasured.
    "documents": 68.0,
}
MEASURED: Final = Path(".coverage")
"""The file that SlipCover writes by pyproject.toml."""

_NAMED_MOST: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The number of lines and branches, and of those that a test passed."""

    lines: int
    lines_passed: int
    branches: int
    branches_passed: int

    @property
    def of_lines(self) -> float:
        """In percent."""
        return 100 * self.lines_passed / self.lines if self.lines else 100.0

    @property
    def of_branches(self) -> float:
        """In percent."""
        return 100 * self.branches_passed / self.branches if self.branches else 100.0

    def __add__(self, other: "Reached") -> "Reached":
        return Reached(
            lines=self.lines + other.lines,
            lines_passed=self.lines_passed + other.lines_passed,
            branches=self.branches + other.branches,
            branches_passed=self.branches_passed + other.branches_passed,
        )


def by_module(report: Mapping[str, Any]) -> dict[str, Reached]:
    """Return the figures of SlipCover, by the path of the module within the package."""
    found = {}
    for path, file in report["files"].items():
        parts = Path(path).parts
        within = parts[len(parts) - parts[::-1].index("canonry") :]
        summary = file["summary"]
        found["/".join(within)] = Reached(
            lines=summary["covered_lines"] + summary["missing_lines"],
            lines_passed=summary["covered_lines"],
            branches=summary["covered_branches"] + summary["missing_branches"],
            branches_passed=summary["covered_branches"],
        )
    return found


def by_package(modules: Mapping[str, Reached]) -> dict[str, Reached]:
    """The sums of the packages, and of all that decides outcomes."""
    packages: dict[str, Reached] = {}
    nothing = Reached(lines=0, lines_passed=0, branches=0, branches_passed=0)
    for path, reached in modules.items():
        if "/" in path:
            names = [path.split("/")[0]]
            if is_within(path, (*PURE, "gateway")) and "/ports/" not in path:
                names.append(RULES)
            for name in names:
                packages[name] = packages.get(name, nothing) + reached
    return packages


def packages_below(packages: Mapping[str, Reached]) -> list[str]:
    """The packages of which too little was reached, or nothing measured."""
    return [
        package
        for package, floor in FLOORS.items()
        if package not in packages
        or min(packages[package].of_branches, packages[package].of_lines) < floor
    ]


def table_rows(modules: Mapping[str, Reached]) -> Iterator[str]:
    packages = by_package(modules)
    yield f"{'package':<12} {'branches':>9} {'lines':>9} {'floor':>7}"
    for package, reached in sorted(packages.items()):
        floor = f"{FLOORS[package]:.0f} %" if package in FLOORS else ""
        yield f"{package:<12} {reached.of_branches:>7.2f} % {reached.of_lines:>7.2f} % {floor:>7}"
    for package in packages_below(packages):
        yield f"too little of {package} is reached by the tests; most is missing in"
        missing = {
            path: reached.branches - reached.branches_passed + reached.lines - reached.lines_passed
            for path, reached in modules.items()
            if package == RULES or path.startswith(f"{package}/")
        }
        for path in sorted(missing, key=lambda path: -missing[path])[:_NAMED_MOST]:
            yield f"  {path}: {missing[path]} lines and branches"


def main() -> int:
    """Print the figures of the last measured run; 1 when a package is below its floor."""
    modules = by_module(json.loads(MEASURED.read_bytes()))
    print("\n".join(table_rows(modules)))  # noqa: T201 - a command prints
    return 1 if packages_below(by_package(modules)) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The figures of the coverage: summed by package, and judged by lines and by branches."""

from typing import Any

import pytest

from tests.meta.coverage_figures import FLOORS, by_module, by_package, packages_below


def a_file(lines: int, passed: int, branches: int, taken: int) -> dict[str, Any]:
    return {
        "summary": {
            "covered_lines": passed,
            "missing_lines": lines - passed,
            "covered_branches": taken,
            "missing_branches": branches - taken,
        }
    }


def a_report(**packages: dict[str, Any]) -> dict[str, Any]:
    whole = {name: a_file(100, 100, 100, 100) for name in FLOORS if name != "rules"} | packages
    files = {f"src/canonry/{package}/room/module.py": file for package, file in whole.items()}
    return {"files": {"src/canonry/__init__.py": a_file(1, 0, 0, 0), **files}}


def judge_report(report: dict[str, Any]) -> list[str]:
    return packages_below(by_package(by_module(report)))


def test_modules_of_a_layer_count_by_their_size() -> None:
    report = {
        "files": {
            "/a/canonry/src/canonry/canon/one.py": a_file(90, 90, 10, 10),
            "/a/canonry/src/canonry/canon/room/other.py": a_file(10, 0, 30, 20),
        }
    }

    packages = by_package(by_module(report))

    assert list(packages) == ["canon", "rules"]
    assert {(each.of_lines, each.of_branches) for each in packages.values()} == {(90.0, 75.0)}


@pytest.mark.parametrize(
    ("world", "verdict"),
    [
        (a_file(100, 100, 100, 95), []),
        (a_file(100, 100, 100, 94), ["world"]),
        (a_file(100, 94, 100, 100), ["world"]),
        (a_file(100, 100, 0, 0), []),
    ],
)
def test_a_layer_fails_by_its_lines_or_branches(world: dict[str, Any], verdict: list[str]) -> None:
    assert judge_report(a_report(world=world)) == verdict


def test_an_unmeasured_layer_fails() -> None:
    assert judge_report({"files": {}}) == list(FLOORS)


def test_other_layers_have_no_minimum() -> None:
    assert judge_report(a_report(cli=a_file(100, 0, 100, 0))) == []

"""Every gate is one rule with one id, and every gate has a test that expects its objection."""

import ast
import re
from pathlib import Path

import pytest

from tests.meta.tree import PACKAGE, python_files


def rule_files(folder: str) -> list[Path]:
    """The files of a folder that hold one rule each."""
    files = (PACKAGE / folder).glob("*.py")
    return sorted(path for path in files if path.stem not in {"__init__", "kit"})


def rule_id(path: Path) -> str:
    """The id that a rule's file gives it: `gates/dead_actor.py` holds `gate:dead-actor`."""
    return f"gate:{path.stem.replace('_', '-')}"


GATES = rule_files("canon/judging/gates")
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in python_files("tests"))


def test_there_are_gates() -> None:
    assert GATES


@pytest.mark.parametrize("path", GATES, ids=rule_id)
def test_a_file_says_its_rule(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

    assert re.match(rf"{rule_id(path)}\b", docstring), docstring


@pytest.mark.parametrize("path", GATES, ids=rule_id)
def test_a_rule_is_named_by_a_test(path: Path) -> None:
    assert re.search(rf"['\"`]{rule_id(path)}['\"`]", TESTS), "no test expects its objection"

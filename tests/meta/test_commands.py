"""Each test is run by one of four commands, and CI runs all four."""

import ast
import re
import subprocess
import sys
from collections import Counter

from tests.conftest import NEEDS, NOTHING, needed_by
from tests.meta.tree import ROOT, python_files

FILES = [path for path in python_files("tests") if path.name.startswith("test_")]
SERVED = re.compile(r"tests\.conformance\.(\w+_store|opensearch_text)$")
"""Modules that know where a server is; an embedded store has one too."""
COMMANDS = {NOTHING: "test"} | {need: f"test-{need}" for need in NEEDS}


def test_every_command_has_files_and_each_path_matches_some() -> None:
    assert Counter(map(needed_by, FILES)).keys() == COMMANDS.keys()

    paths = [path.relative_to(ROOT).as_posix() for path in FILES]
    parts = [part for parts in NEEDS.values() for part in parts]
    assert [part for part in parts if not any(part in path for path in paths)] == []


def test_tests_that_read_a_server_address_run_with_servers() -> None:
    reading = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and SERVED.match(node.module):
                embedded = node.module.endswith("sqlite_store")
                reading |= set() if embedded or needed_by(path) == "servers" else {path}

    assert reading == set()


def test_a_command_collects_exactly_its_files() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qq", "--needs", "clients", "tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    collected = {line.partition(":")[0] for line in done.stdout.splitlines() if ".py:" in line}

    expected = {path for path in FILES if needed_by(path) == "clients"}
    assert collected == {path.relative_to(ROOT).as_posix() for path in expected}


def test_the_makefile_has_each_command_and_ci_runs_it() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    for need, command in COMMANDS.items():
        rule = re.search(rf"(?m)^{command}: .*\n((?:\t.*\n)+)", makefile)
        assert rule, command
        assert f"$(TESTS) {need}" in rule[1]
        assert re.search(rf"(?m)^[^#\n]*\bmake\b[^#\n]*\b{command}(?![-\w])", script), command

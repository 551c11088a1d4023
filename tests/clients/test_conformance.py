"""The protocol's own conformance suite, in both revisions, against our gateway."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.test_clients import HERE, NODE, ROOT, SECONDS, run_program

SUITE = HERE / "node_modules" / ".bin" / "conformance"
PAGE = ROOT / "docs" / "reference" / "protocol.md"
LINE = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed$", re.MULTILINE)
ROW = re.compile(r"^\| `([\w-]+)` \| ([\d-]+)(?:, ([\d-]+))? \|", re.MULTILINE)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the toolset of the suite, and return its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.clients.conformance_server"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip().replace("127.0.0.1", "localhost")
        server.terminate()
        server.wait(SECONDS)


def not_claimed(revision: str) -> set[str]:
    """The scenarios that the page says are not claimed in a revision."""
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {scenario for scenario, *revisions in rows if revision in revisions}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_every_scenario_passes_except_the_documented_ones(
    revision: str, address: str, tmp_path: Path
) -> None:
    asked = ["--url", f"{address}/mcp", "--requirements", revision, "-o", str(tmp_path / "out")]
    done = run_program([NODE, SUITE, "server", *asked], tmp_path)

    results = {name: mark for mark, name, _, _ in LINE.findall(done.stdout)}
    passed = {name for name, mark in results.items() if mark == "✓"}
    assert len(passed) >= 20, done.stdout + done.stderr
    assert results.keys() - passed == not_claimed(revision)

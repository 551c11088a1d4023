"""A long import takes little more memory than a short one: resident memory, each in a process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.toolsets.truth import measured_import

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system tells no resident memory"
)


def measure_megabytes(what: str, rows: int) -> int:
    program = [sys.executable, "-m", measured_import.__name__, what, str(rows)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_memory_for_50_000_rows_is_little_more_than_for_12_000() -> None:
    assert measure_megabytes("read", 50_000) - measure_megabytes("read", 12_000) < 25


def test_ten_times_the_batches_take_little_more_memory() -> None:
    assert measure_megabytes("kept", 8_000) - measure_megabytes("kept", 800) < 50


def test_three_times_the_batches_take_hardly_more_memory_beyond_pages() -> None:
    """Once the bounded caches are full, no memory holds rows that are canon."""
    assert measure_megabytes("few-pages", 12_000) - measure_megabytes("few-pages", 4_000) < 12

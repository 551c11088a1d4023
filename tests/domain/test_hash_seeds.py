"""Hash seeds: what is extracted and canonized is the same bytes in every process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEEDS = ("0", "1", "5", "42")


def start_process(seed: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.domain.lines_under_seed"],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )


def test_every_hash_seed_gives_the_same_bytes() -> None:
    processes = [start_process(seed) for seed in SEEDS]
    outputs = [process.communicate()[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * len(SEEDS)
    first = outputs[0].splitlines()
    assert len(first) > 300
    for seed, other in zip(SEEDS[1:], outputs[1:], strict=True):
        pairs = enumerate(zip(first, other.splitlines(), strict=True))
        differing = [number for number, (one, another) in pairs if one != another]
        assert not differing, f"seed {seed} differs in lines {differing[:5]}"

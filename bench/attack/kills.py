"""Writers killed with -9, alone and several on one folder: nothing acknowledged is lost."""

import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from tests.crash.lives import Life, a_life, judge_store

WRITING = ("singly", "together", "in_batches", "with_blobs")
MAINTENANCE = ("rebuilding", "backing_up", "purging")
LIVES = 3
PROCESSES = 4


def kills(lots: random.Random, folder: Path) -> Counter[str]:
    """One store, some lives one after the other, each killed at a moment of chance."""
    counted: Counter[str] = Counter()
    acknowledged: list[str] = []
    with a_life(folder / "store", "together", "before") as life:
        life.hear_lines(lots.randrange(20, 120))
        acknowledged += life.kill_writer()
    for number in range(LIVES):
        work = lots.choice((*WRITING, *MAINTENANCE))
        with a_life(folder / "store", work, f"life {number}") as life:
            if work in MAINTENANCE:
                life.hear_progress(lots.randrange(1, 9))
            else:
                life.hear_lines(lots.randrange(1, 40 if work == "with_blobs" else 200))
            acknowledged += life.kill_writer()
        counted["kills"] += 1
    judge_store(folder / "store", acknowledged)
    counted["acknowledged"] += len(acknowledged)
    return counted


def races(lots: random.Random, folder: Path) -> Counter[str]:
    """Several processes write into one folder at once, and are killed one by one."""
    acknowledged: list[str] = []
    with ExitStack() as stack:
        lives: list[Life] = [
            stack.enter_context(a_life(folder / "store", lots.choice(WRITING[:3]), f"life {n}"))
            for n in range(PROCESSES)
        ]
        for life in lives:
            life.hear_lines(lots.randrange(1, 60))
        lots.shuffle(lives)
        for life in lives:
            acknowledged += life.kill_writer()
    judge_store(folder / "store", acknowledged)
    return Counter(acknowledged=len(acknowledged), kills=PROCESSES)

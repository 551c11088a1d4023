"""Importing a transcript: turns a second, with full durability and without embeddings."""

import asyncio
import json
import tempfile
import time
from pathlib import Path

from bench.report import Row, median
from canonry.app.embedded import open_embedded
from canonry.cli.imports import read_transcripts
from canonry.narrative.usecases.transcripts import ImportRequest, import_transcripts
from canonry.testing.clocks import a_caller

SECTION = "import"
TURNS = 6_000
ROUNDS = 3
TURNS_A_SECOND = 2_000


def run() -> list[Row]:
    """Import a transcript of our own making, in the plain format."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    source = folder / "transcript.json"
    lines = [
        {"speaker": f"Player {number % 7}", "text": f"Line {number}: " + "we walk on. " * 12}
        for number in range(TURNS)
    ]
    source.write_text(json.dumps(lines), encoding="utf-8")
    rates: list[float] = []
    for number in range(ROUNDS):
        began = time.perf_counter()
        turns = await _import(source, folder / str(number))
        rates.append(turns / (time.perf_counter() - began))
    return [
        Row(
            section=SECTION,
            what=f"transcript of {TURNS} turns, full durability, opening included",
            value=median(rates),
            unit="/s",
            budget=TURNS_A_SECOND,
            at_least=True,
        )
    ]


async def _import(source: Path, folder: Path) -> int:
    store = await open_embedded(folder)
    try:
        request = ImportRequest(
            universe="Bench",
            story="Bench",
            transcripts=read_transcripts([source]),
            gm_names=frozenset({"gm"}),
        )
        caller = a_caller("CanonKeeper", tool="import")
        report = await import_transcripts(store.canon, caller, request, lambda *_: None)
        return sum(each.turns for each in report.transcripts)
    finally:
        await store.close()

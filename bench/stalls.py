"""Stalls: how long others wait for each tool, while one caller is as rude as is allowed.

The arguments are those of `tests/toolsets/hostile_texts.py`, with several texts for each spot.
"""

import asyncio
import tempfile
from pathlib import Path

from bench.report import Row
from tests.toolsets.hostile_texts import Heartbeat, House, open_houses
from tests.toolsets.test_stalls import hard_calls, hostile_imports, large_calls

SECTION = "stalls"
STALL_MAX = 250.0
TURNS = (0, 5, 11, 17)


def run() -> list[Row]:
    """Call every tool with everything, and note the longest wait of each."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    rows: list[Row] = []
    async with open_houses(folder) as built:
        for house in built:
            worst = await _worst(house)
            rows += [
                Row(
                    section=SECTION,
                    what=f"{house.toolset.name} {tool}",
                    value=seconds * 1000,
                    unit="ms",
                    budget=STALL_MAX,
                    note=what,
                )
                for tool, (seconds, what) in sorted(worst.items())
            ]
    return rows


async def _worst(house: House) -> dict[str, tuple[float, str]]:
    calls = [call for turn in TURNS for call in hard_calls(house, turn)]
    calls += large_calls(house)
    if house.toolset.name == "truth":
        calls += hostile_imports(house)
    worst: dict[str, tuple[float, str]] = {}
    for what, tool, arguments in calls:
        seconds = await Heartbeat().measure_during(house.call_tool(tool, arguments))
        worst[tool.name] = max(worst.get(tool.name, (0.0, "")), (seconds, what))
    return worst

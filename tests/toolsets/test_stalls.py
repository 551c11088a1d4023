"""The event loop stays free for others, whatever legal arguments one caller sends."""

import asyncio
import gc
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from canonry.gateway.tool import Tool
from tests.toolsets.hostile_texts import (
    UNITS,
    Arguments,
    Heartbeat,
    House,
    as_file,
    hard_files,
    hard_records,
    long_text,
    many_values,
    open_houses,
    place_value,
    text_spots,
)

STALL_MAX = 0.25
"""Seconds that somebody else's ping may wait."""

TOOLSETS = {"narrative", "truth", "world", "catalog", "operator"}
ROWS = 600
TRIES = 3


@pytest.fixture(autouse=True)
def _without_what_other_tests_left() -> Iterator[None]:
    """A server's collector walks what is the server's, and not the remains of other tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


async def measure_stall(house: House, tool: Tool, arguments: Arguments) -> float:
    """Return the shortest wait of several attempts, because garbage collection may come in."""
    worst = float("inf")
    for _ in range(TRIES):
        worst = min(worst, await Heartbeat().measure_during(house.call_tool(tool, arguments)))
        if worst <= STALL_MAX:
            break
    return worst


def hard_calls(house: House, turn: int) -> Iterator[tuple[str, Tool, Arguments]]:
    """One call for each text that a tool takes, by turns with other texts."""
    for tool in house.toolset.tools:
        for path, longest in text_spots(tool.input_schema):
            turn += 1
            unit = UNITS[turn % len(UNITS)]
            value = long_text(unit, longest)
            what = f"{tool.name} {'/'.join(path)} {unit!r}"
            yield what, tool, place_value(house.fitting(tool), path, value)


def large_calls(house: House) -> Iterator[tuple[str, Tool, Arguments]]:
    """Calls with many values, where a tool takes any."""
    for tool in house.toolset.tools:
        for path, _ in text_spots(tool.input_schema):
            if path[-1] == "*":
                for number, value in enumerate(many_values()):
                    what = f"{tool.name} {'/'.join(path)} large {number}"
                    yield what, tool, place_value(house.fitting(tool), path, value)


def hostile_imports(house: House) -> Iterator[tuple[str, Tool, Arguments]]:
    """Records and files as a stranger might write them."""
    tool = next(each for each in house.toolset.tools if each.name == "ingest")
    user = house.fitting(tool)["user_id"]
    for what, records in hard_records():
        yield what, tool, {"user_id": user, "entities": records}
    for what, text, media in hard_files(ROWS):
        yield what, tool, as_file(house, text, media)


async def test_no_text_given_to_a_tool_blocks_others(folder: Path) -> None:
    async with open_houses(folder) as built:
        assert {house.toolset.name for house in built} == TOOLSETS
        slow = {
            what: seconds
            for turn, house in enumerate(built)
            for what, tool, arguments in hard_calls(house, turn)
            if (seconds := await measure_stall(house, tool, arguments)) > STALL_MAX
        }
    assert not slow


async def test_no_number_of_values_blocks_others(folder: Path) -> None:
    async with open_houses(folder) as built:
        slow = {
            what: seconds
            for house in built
            for what, tool, arguments in large_calls(house)
            if (seconds := await measure_stall(house, tool, arguments)) > STALL_MAX
        }
    assert not slow


async def test_no_record_or_file_blocks_others(folder: Path) -> None:
    async with open_houses(folder) as built:
        (house,) = (house for house in built if house.toolset.name == "truth")
        slow = {
            what: seconds
            for what, tool, arguments in hostile_imports(house)
            if (seconds := await measure_stall(house, tool, arguments)) > STALL_MAX
        }
    assert not slow


async def test_blocking_work_is_found() -> None:
    async def busy() -> None:
        sum(range(30_000_000))

    assert await Heartbeat().measure_during(busy()) > STALL_MAX
    assert await Heartbeat().measure_during(asyncio.sleep(0.5)) < STALL_MAX


pytestmark = pytest.mark.anyio

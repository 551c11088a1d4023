"""The embedded store answers every action as the memory does, byte for byte."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.gateway.tool import Tool
from canonry.records.toolset import TRUTH
from canonry.testing.clocks import CountingIdentities, HandClock
from tests.toolsets.truth.filled_account import make_furnished_driver
from tests.toolsets.truth.kit import ToolDriver

LINKS = "get_file_url"
"""Signed by each store's own key."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


async def embedded_answers(folder: Path) -> dict[str, str]:
    """Return the answer of each tool on an embedded store, in the order of the contract."""
    clock = HandClock()
    store = await open_embedded(folder, clock=clock, identities=CountingIdentities())
    try:
        driver = ToolDriver(canon=store.canon, gateway=Gateway(store.canon, (TRUTH,)), clock=clock)
        return await answer_all(driver)
    finally:
        await store.close()


async def answer_all(driver: ToolDriver | None) -> dict[str, str]:
    driver, fitting = await make_furnished_driver(driver=driver)
    reported = {}
    for tool in TRUTH.tools:
        outcome = await driver.outcome(tool.name, fitting[tool.name])
        reported[tool.name] = _strip_trace(tool, outcome.text)
    return reported


def _strip_trace(tool: Tool, text: str) -> str:
    return "" if tool.name == LINKS else text.partition('"trace_id"')[0]


def test_both_stores_return_the_same(folder: Path) -> None:
    embedded = asyncio.run(embedded_answers(folder / "data"))
    memory = asyncio.run(answer_all(None))
    assert embedded.keys() == memory.keys()
    for name, text in memory.items():
        assert without_ids(embedded[name]) == without_ids(text), name


def without_ids(text: str) -> str:
    """The text without the ids that count up, of which a store on disk needs some more."""
    words = text.split('"')
    return '"'.join("id" if is_counted(word) else word for word in words)


def is_counted(word: str) -> bool:
    return word.startswith("00000000-0000-") and not word.startswith("00000000-0000-0000")


def test_a_huge_number_is_refused_without_an_internal_error(folder: Path) -> None:
    """Memory counts to any number, a store on disk does not."""
    asked = {
        "list_observations": {"offset": 2**70},
        "list_relationships": {"offset": 2**63},
        "retrieve_entities": {"offset": 2**64},
        "list_timeline_events": {"offset": 2**53},
        "list_possible_duplicates": {"offset": 2**70},
        "get_file_url": {"expires_in": 2**70},
    }

    async def ask() -> None:
        store = await open_embedded(folder)
        try:
            driver = ToolDriver(
                canon=store.canon, gateway=Gateway(store.canon, (TRUTH,)), clock=HandClock()
            )
            driver, fitting = await make_furnished_driver(driver=driver)
            for tool, numbers in asked.items():
                await driver.refused(tool, "VALIDATION_ERROR", **fitting[tool] | numbers)
        finally:
            await store.close()

    asyncio.run(ask())

"""Determinism: the same calls on two equal stores are answered with the same bytes."""

import asyncio

import pytest

from canonry.gateway.tool import Tool
from canonry.records.toolset import TRUTH
from canonry.records.toolset.contract import entries
from tests.toolsets.truth.filled_account import make_furnished_driver

DETERMINISTIC = [tool for tool in TRUTH.tools if entries()[tool.name]["deterministic"]]


async def answer_of(tool: Tool) -> str:
    driver, fitting = await make_furnished_driver()
    outcome = await driver.outcome(tool.name, fitting[tool.name])
    return outcome.text


@pytest.mark.parametrize("tool", DETERMINISTIC, ids=lambda tool: tool.name)
def test_two_equal_stores_give_the_same_bytes(tool: Tool) -> None:
    assert asyncio.run(answer_of(tool)) == asyncio.run(answer_of(tool))


def test_only_link_signatures_are_declared_nondeterministic() -> None:
    found = {name for name, entry in entries().items() if not entry["deterministic"]}
    assert found == {"get_file_url"}

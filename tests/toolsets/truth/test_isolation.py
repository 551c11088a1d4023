"""Isolation: what is another user's is exactly as if it did not exist, through every tool."""

import asyncio
import json
from typing import Any

import pytest

from canonry.gateway.tool import Tool
from canonry.records.toolset import TRUTH
from tests.toolsets.truth.filled_account import make_furnished_driver
from tests.toolsets.truth.kit import BOB, ToolDriver, make_driver

EVERY_TOOL = pytest.mark.parametrize("tool", TRUTH.tools, ids=lambda tool: tool.name)


def ids_in(value: Any) -> set[str]:
    """Everything in it that looks like an id."""
    words = json.dumps(value).replace("/", '"').split('"')
    return {word for word in words if word.count("-") == 4 or len(word) == 64}


def rename_ids(value: Any, ids: set[str]) -> Any:
    """The same with each id of something that exists turned into one of nothing."""
    text = json.dumps(value)
    for each in ids:
        text = text.replace(each, "e" * 8 + each[8:])
    return json.loads(text)


async def verdict_on(driver: ToolDriver, tool: str, arguments: dict[str, Any]) -> Any:
    outcome = await driver.outcome(tool, arguments)
    body = json.loads(outcome.text)
    if outcome.error is not None:
        del body["error"]["trace_id"]
    return body


async def spy(tool: Tool) -> None:
    driver, fitting = await make_furnished_driver()
    everything = ids_in(fitting) - {driver.user}
    stranger = driver.of(BOB)
    arguments = {**fitting[tool.name]}
    if "user_id" in arguments:
        arguments["user_id"] = BOB
    before = [head for head in await driver.heads() if head[1] > 1]
    reply = await verdict_on(stranger, tool.name, arguments)
    after = [head for head in await driver.heads() if head in before]
    assert after == before, "a stranger has written into the account"
    alone = make_driver().of(BOB)
    nothing = await verdict_on(alone, tool.name, rename_ids(arguments, everything))
    assert without_times(rename_ids(reply, everything)) == without_times(nothing)
    secrets = everything - ids_in(arguments)
    assert not secrets & ids_in(reply)
    assert "Acme" not in json.dumps(reply)


@EVERY_TOOL
def test_a_stranger_learns_nothing_and_changes_nothing(tool: Tool) -> None:
    asyncio.run(spy(tool))


@pytest.mark.parametrize("name", ["ingest", "correct", "merge_entities", "retrieve_entities"])
def test_no_argument_can_select_another_account(name: str) -> None:
    async def claim() -> None:
        driver, fitting = await make_furnished_driver()
        arguments = {**fitting[name], "user_id": driver.user}
        error = await driver.of(BOB).refused(name, "VALIDATION_ERROR", **arguments)
        assert driver.user not in json.dumps(error)
        assert error["details"]["expected"] == BOB, "r33: the id that nobody told"

    asyncio.run(claim())


@EVERY_TOOL
def test_an_account_is_unaffected_by_other_accounts(tool: Tool) -> None:
    async def compare() -> None:
        alone, fitting = await make_furnished_driver()
        reply = await verdict_on(alone, tool.name, fitting[tool.name])
        shared, theirs = await make_furnished_driver()
        await make_furnished_driver(BOB, shared)
        crowded = await verdict_on(shared, tool.name, theirs[tool.name])
        assert without_times(crowded) == without_times(reply)

    asyncio.run(compare())


def without_times(value: Any) -> Any:
    """The value without what counts up as the clock and the identities do."""
    match value:
        case dict():
            return {k: without_times(v) for k, v in value.items() if not k.endswith(("_at", "url"))}
        case list():
            return [without_times(each) for each in value]
        case str() if value.startswith("00000000-") and value[9:] != "0000-0000-0000-000000000000":
            return "an id"
        case _:
            return value

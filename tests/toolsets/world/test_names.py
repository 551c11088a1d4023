"""Names: a Tool ID answers as its tool does, to the same callers; and versions never collide."""

import asyncio
from typing import Any

import pytest

from canonry.world.toolset import WORLD
from canonry.world.toolset.contract import published
from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio
ARGUMENTS: dict[str, dict[str, Any]] = {
    "get-player-context": {"playerId": "ann"},
    "get-recent-events": {"scope": "location", "scopeId": "inn"},
    "get-canonical-fact": {"factId": "council"},
    "search-lore": {"query": "mages"},
}


@pytest.mark.parametrize("entry", published()["tools"], ids=lambda entry: entry["toolId"])
async def test_a_tool_id_works_exactly_for_permitted_callers(entry: Any) -> None:
    isle = await a_world()
    arguments = ARGUMENTS.get(entry["name"], {})
    for agent in sorted(WORLD.agent_types):
        by_name = await isle.outcome(entry["name"], arguments, agent)
        by_id = await isle.outcome(entry["toolId"], arguments, agent)
        allowed = agent in entry["allowedAgentTypes"]
        assert (by_name.error is None) == (by_id.error is None) == allowed, (agent, by_id.text)
        if allowed:
            assert by_id.text == by_name.text


async def test_a_near_tool_id_is_unknown() -> None:
    isle = await a_world()
    for name in ("WorldContext-getlocationcontext", "WorldContext-", "getLocationContext"):
        outcome = await isle.outcome(name, {}, "Narrative")
        assert outcome.error is not None, name


async def test_concurrent_writers_of_a_fact_write_separate_versions() -> None:
    isle = await a_world()

    async def record(number: int) -> int:
        arguments = {
            "factId": "council",
            "type": "faction",
            "fields": {"name": f"Council {number}"},
        }
        return int((await isle.call("record-lore", **arguments))["version"])

    versions = await asyncio.gather(*map(record, range(6)))

    assert sorted(versions) == [3, 4, 5, 6, 7, 8]
    for number, version in enumerate(versions):
        fact = await isle.call("get-fact-version", factId="council", version=version)
        assert fact["fields"] == {"name": f"Council {number}"}

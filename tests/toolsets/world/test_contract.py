"""The published contract: what is served is what the file says, tool for tool."""

import json

import pytest

from canonry.bootstrap.compose import compose_memory
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.toolsets.world import FACE, WORLD
from canonry.toolsets.world.contract import published
from tests.toolsets.world.kit import a_world

CONTRACT = {tool["name"]: tool for tool in published()["tools"]}
READERS = {"IntentParser", "World", "Encounter", "Canonicality", "Narrative", "Planner"}


def test_every_tool_of_the_contract_is_served_as_published() -> None:
    served = {tool.name: tool for tool in WORLD.tools if not tool.extension}
    assert served.keys() == CONTRACT.keys()
    for name, tool in served.items():
        entry = CONTRACT[name]
        assert tool.input_schema == entry["inputSchema"]
        assert {k: v for k, v in tool.output_schema.items() if k != "$defs"} == entry[
            "outputSchema"
        ]
        assert tool.roles == frozenset(entry["allowedAgentTypes"])
        assert entry["toolId"] in tool.aliases
        assert tool.read_only


def test_the_names_are_those_of_the_published_catalogue() -> None:
    named = {entry["toolId"]: name for name, entry in CONTRACT.items()}
    assert named == {
        "WorldContext-health": "health",
        "WorldContext-getLocationContext": "get-location-context",
        "WorldContext-getPlayerContext": "get-player-context",
        "WorldContext-getAtmosphere": "get-atmosphere",
        "WorldContext-getSpatialContext": "get-spatial-context",
        "WorldContext-getRecentEvents": "get-recent-events",
        "Lore-getCanonicalFact": "get-canonical-fact",
        "Lore-searchLore": "search-lore",
        "World-getLocation": "get-location",
        "World-listExits": "list-exits",
    }


@pytest.mark.anyio
async def test_tool_ids_are_accepted_and_not_listed() -> None:
    isle = await a_world()
    by_name = await isle.call("get-location-context", "Narrative")
    by_id = await isle.call("WorldContext-getLocationContext", "Narrative")
    assert by_id == by_name
    assert not {entry["toolId"] for entry in CONTRACT.values()} & {t.name for t in WORLD.tools}


@pytest.mark.anyio
async def test_every_agent_type_may_call_exactly_what_it_is_listed_for() -> None:
    """All ten types x all tools, and one type that nobody knows."""
    isle = await a_world()
    lore = {"Narrative", "Planner", "WorldBuilder"}
    for tool in WORLD.tools:
        if not tool.read_only:
            allowed = {"WorldBuilder"}
        elif tool.name in {"get-canonical-fact", "search-lore", "get-fact-version"}:
            allowed = lore
        else:
            allowed = READERS | {"WorldBuilder"}
        for agent in (*sorted(WORLD.agent_types), "Stranger"):
            outcome = await isle.outcome(tool.name, {}, agent)
            error = outcome.body.get("error") if isinstance(outcome.body, dict) else None
            denied = error is not None and error["code"] == "UNAUTHORIZED"
            assert denied == (agent not in allowed), (tool.name, agent, outcome.text)


def test_contract_only_hides_the_extensions() -> None:
    served = Gateway(compose_memory(), (WORLD,), settings=GatewaySettings(contract_only=True))
    assert served.catalogue.tools.keys() == CONTRACT.keys()


def test_the_list_of_tools_stays_small() -> None:
    listed = [
        {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
        for t in WORLD.tools
    ]
    assert len(json.dumps(listed)) <= 24_000
    assert FACE.contract_version == published()["version"]

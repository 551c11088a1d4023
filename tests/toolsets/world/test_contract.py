"""The published contract: what is served is what the file says, tool for tool."""

import json

import pytest

from canonry.app.compose import compose_memory
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.offers import select_toolsets
from canonry.gateway.principal import AGENT_META, Principal
from canonry.testing.clocks import HandClock
from canonry.values.moments import SECOND
from canonry.world.toolset import EXACT, FACE, WORLD
from canonry.world.toolset.contract import published
from canonry.world.toolset.views import EVENT, EXIT, ITEM, LOCATION, REALM, ROUTE, TIE
from tests.toolsets.world.kit import a_world

CONTRACT = {tool["name"]: tool for tool in published()["tools"]}
SHAPES = {
    "location": LOCATION,
    "exit": EXIT,
    "route": ROUTE,
    "realm": REALM,
    "tie": TIE,
    "event": EVENT,
    "item": ITEM,
}
ROLES: dict[str, set[str]] = {
    "parse-to-action-frame": {"IntentParser", "Narrative"},
    "classify-intent": {"IntentParser", "Narrative"},
    "moderate-content": {"Safety", "Narrative"},
    "generate-arc": {"Planner"},
    "check-narration": {"Canonicality", "Safety", "Narrative"},
}
RULES = dict.fromkeys(  # noqa: RUF024 - read alone
    ("lookup-rule", "search-rules", "roll-dice", "can-cast-here"),
    {"Encounter", "Narrative", "World"},
)
READERS = {"IntentParser", "World", "Encounter", "Canonicality", "Narrative", "Planner"}


def test_every_tool_of_the_contract_is_served_as_published() -> None:
    served = {tool.name: tool for tool in WORLD.tools if not tool.extension}
    exact = {tool.name: tool.output_schema for tool in EXACT}
    assert served.keys() == CONTRACT.keys()
    for name, tool in served.items():
        entry = CONTRACT[name]
        assert tool.input_schema == entry["inputSchema"]
        assert {k: v for k, v in exact[name].items() if k != "$defs"} == entry["outputSchema"]
        assert tool.roles == frozenset(entry["allowedAgentTypes"])
        assert entry["toolId"] in tool.aliases
        assert tool.read_only


@pytest.mark.parametrize("name", SHAPES)
def test_a_reply_has_the_published_fields(name: str) -> None:
    declared, file = SHAPES[name].schema, published()["$defs"][name]
    assert declared["properties"].keys() == file["properties"].keys()
    assert set(file["required"]) <= set(declared["required"])
    for field, schema in file["properties"].items():
        assert "enum" in schema or declared["properties"][field]["type"] == schema["type"]


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


_PROPOSERS = {"Narrative", "Encounter", "World", "Planner"}
PROPOSALS = {
    "propose-action": _PROPOSERS,
    "enqueue-world-event": {"World", "Encounter"},
    "get-proposal": _PROPOSERS | {"Canonicality"},
    "list-proposals": _PROPOSERS | {"Canonicality"},
    "withdraw-proposal": _PROPOSERS | {"Canonicality"},
}


@pytest.mark.anyio
async def test_every_agent_type_may_call_exactly_its_listed_tools() -> None:
    """All ten types x all tools, and one type that nobody knows."""
    isle = await a_world()
    lore = {"Narrative", "Planner", "WorldBuilder"}
    for tool in WORLD.tools:
        if tool.name in PROPOSALS:
            allowed = PROPOSALS[tool.name]
        elif not tool.read_only:
            allowed = {"WorldBuilder"}
        elif tool.name in {"get-canonical-fact", "search-lore", "get-fact-version"}:
            allowed = lore
        elif tool.name in ROLES | RULES:
            allowed = (ROLES | RULES)[tool.name]
        else:
            allowed = READERS | {"WorldBuilder"}
        for agent in (*sorted(WORLD.agent_types), "Stranger"):
            outcome = await isle.outcome(tool.name, {}, agent)
            error = outcome.body.get("error") if isinstance(outcome.body, dict) else None
            denied = error is not None and error["code"] == "UNAUTHORIZED"
            assert denied == (agent not in allowed), (tool.name, agent, outcome.text)


@pytest.mark.anyio
async def test_the_published_rates_apply_over_all_tools_of_a_client() -> None:
    """60 calls in a minute and 10 in a second, whatever the agent calls itself."""
    clock = HandClock()
    canon = compose_memory(clock=clock)
    gateway = Gateway(canon, (WORLD,), settings=GatewaySettings(published_rates=True))
    planner = Principal(agent_id="planner-1", agent_type="Planner", trusted=True)
    found = []
    for second in range(8):
        for number in range(11):
            meta = {AGENT_META: {"agent_id": f"planner-{second}-{number}"}}
            tool = ("health", "list-exits")[number % 2]
            result = await gateway.call(tool, {"locationId": "inn"}, planner, meta)
            error = result.body.get("error") if isinstance(result.body, dict) else None
            found.append(error is not None and error["code"] == "RATE_LIMITED")
        clock.move_by(SECOND)
    assert found == ([False] * 10 + [True]) * 6 + [True] * 22


def test_contract_only_hides_the_extensions() -> None:
    served = Gateway(compose_memory(), select_toolsets((WORLD,), contract_only=True))
    assert served.catalogue.tools.keys() == CONTRACT.keys()


@pytest.mark.parametrize("agent", sorted(WORLD.agent_types))
def test_the_list_of_tools_of_each_role_stays_small(agent: str) -> None:
    listed = [
        {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
        for t in WORLD.tools
        if agent in t.roles
    ]
    assert len(json.dumps(listed)) <= 24_000
    assert FACE.contract_version == published()["version"]

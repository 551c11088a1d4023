"""Authority: every tool against every role, before schemas, through the gateway."""

import pytest

from canonry.gateway.tool import ANYONE, Tool
from canonry.narrative.toolset import NARRATIVE
from canonry.narrative.toolset.contract import published
from tests.toolsets.narrative.kit import World, an_empty_world

pytestmark = pytest.mark.anyio

ROLES = sorted(published()["agent_types"])
CONTRACT = {entry["name"]: entry["allowed_agent_types"] for entry in published()["tools"]}
NOBODYS_ARGUMENTS = {"no such property": None}
EVERY_TOOL = pytest.mark.parametrize("tool", NARRATIVE.tools, ids=lambda tool: tool.name)


@pytest.fixture(scope="module")
def world() -> World:
    return an_empty_world()


async def code_of(world: World, tool: str, role: str | None) -> int:
    """The code of a call whose arguments no schema allows."""
    outcome = await world.outcome(tool, NOBODYS_ARGUMENTS, agent=role)
    assert outcome.error is not None
    return outcome.error.code


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("tool", CONTRACT)
async def test_a_role_is_admitted_exactly_as_the_contract_lists(
    world: World, tool: str, role: str
) -> None:
    allowed = CONTRACT[tool] == ["*"] or role in CONTRACT[tool]

    assert await code_of(world, tool, role) == (-32003 if allowed else -32001)


@EVERY_TOOL
@pytest.mark.parametrize("role", ["GameMaster", "canonkeeper", "*", "CanonKeeper "])
async def test_an_unknown_role_is_admitted_nowhere(world: World, tool: Tool, role: str) -> None:
    assert await code_of(world, tool.name, role) == -32001


@EVERY_TOOL
async def test_a_caller_without_a_role_is_admitted_nowhere(world: World, tool: Tool) -> None:
    assert await code_of(world, tool.name, None) == -32001


async def test_a_refusal_names_the_caller_the_tool_and_permitted_roles(world: World) -> None:
    data = await world.refused("neo4j_create_entity", "Narrator", code=-32001)

    assert data["tool"] == "neo4j_create_entity"
    assert data["agent_type"] == "Narrator"
    assert data["allowed_types"] == ["CanonKeeper"]
    assert data["error"] == "UNAUTHORIZED"


@EVERY_TOOL
def test_an_extension_follows_the_patterns_of_the_contract(tool: Tool) -> None:
    if not tool.extension:
        return
    domain, _, verb = tool.name.partition("_")
    if verb.startswith(("query", "get", "explain", "search")) or tool.name in {
        "batch_call",
        "mongodb_propose_change",
    }:
        assert tool.roles == ANYONE
    elif domain == "neo4j":
        assert tool.roles == {"CanonKeeper"}
    else:
        assert tool.roles < NARRATIVE.agent_types


@pytest.mark.parametrize("role", ROLES)
async def test_an_agent_type_argument_is_an_unknown_property(world: World, role: str) -> None:
    arguments = {"name": "World", "agent_type": "CanonKeeper"}

    outcome = await world.outcome("neo4j_create_universe", arguments, agent=role)

    assert outcome.error is not None
    assert outcome.error.code == (-32003 if role == "CanonKeeper" else -32001)

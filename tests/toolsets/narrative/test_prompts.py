"""Prompts: one for each role, naming only tools that exist and that the role may call."""

import re

import pytest

from canonry.gateway.tool import ANYONE, Prompt
from canonry.language.texts.visible import STORED_IS_DATA
from canonry.narrative.toolset import NARRATIVE
from canonry.narrative.toolset.toolset import PROMPTS
from tests.toolsets.narrative.kit import a_principal, an_empty_world

TOOLS = {tool.name: tool for tool in NARRATIVE.tools}
_NAME = re.compile(r"\b(?:neo4j|mongodb|qdrant|composite)_\w+")
_ROLES = {
    "work_as_orchestrator": "Orchestrator",
    "work_as_narrator": "Narrator",
    "work_as_canon_keeper": "CanonKeeper",
    "work_as_context_assembly": "ContextAssembly",
    "work_as_resolver": "Resolver",
    "work_as_memory_manager": "MemoryManager",
    "work_as_indexer": "Indexer",
}
OF_OTHERS = {"work_as_indexer": {"neo4j_create_source"}}
"""Tools that a prompt tells its role to ask others for."""


def test_each_role_has_a_prompt() -> None:
    assert {prompt.name for prompt in PROMPTS} == set(_ROLES)
    assert set(_ROLES.values()) == NARRATIVE.agent_types
    assert NARRATIVE.prompts == PROMPTS


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_a_prompt_names_tools_permitted_to_its_role(prompt: Prompt) -> None:
    named = set(_NAME.findall(prompt.render({})))
    assert named
    for name in named - OF_OTHERS.get(prompt.name, set()):
        roles = TOOLS[name].roles
        assert roles >= ANYONE or _ROLES[prompt.name] in roles, name


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_a_prompt_is_short(prompt: Prompt) -> None:
    assert len(prompt.render({})) < 1_600


@pytest.mark.anyio
async def test_a_prompt_names_the_current_scene_through_the_gateway() -> None:
    gateway = an_empty_world().gateway
    _, outcome = await gateway.get_prompt(
        "work_as_narrator", {"scene_id": "s-1"}, a_principal("Narrator")
    )
    assert outcome.error is None
    assert outcome.text.endswith(f"Work on scene s-1.\n\n{STORED_IS_DATA}")


@pytest.mark.anyio
async def test_a_prompt_refuses_unknown_arguments() -> None:
    gateway = an_empty_world().gateway
    _, outcome = await gateway.get_prompt(
        "work_as_narrator", {"colour": "red"}, a_principal("Narrator")
    )
    assert outcome.error is not None
    assert outcome.error.code == -32003

"""A client reads few tools, an explanation of each argument, and little text before its call."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from canonry.assistant import CANON
from canonry.assistant.call_context import CONTRIBUTOR, EVERYBODY, KEEPER, READER, SOLO
from canonry.gateway.principal import Principal
from canonry.server.binding import tool_entry
from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio
CHARACTERS = 4
"""So many characters of JSON count as a token; the lists of the contracts were counted so too."""
TOKENS_MAX = 4_500
READS = {"spaces", "find", "get", "review", "why", "timeline", "changes", "context"}
CONTRIBUTES = READS | {"tell", "propose"}
KEEPS = CONTRIBUTES | {"open", "decide"}
MAY = {READER: READS, CONTRIBUTOR: CONTRIBUTES, KEEPER: KEEPS, SOLO: KEEPS}


def yield_properties(schema: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, each in schema.get("properties", {}).items():
        yield f"{path}/{name}", each
        yield from yield_properties(each, f"{path}/{name}")
    if "items" in schema:
        yield from yield_properties(schema["items"], f"{path}/*")


def test_there_are_at_most_twelve_tools_in_at_most_4500_tokens() -> None:
    listed = {"tools": [tool_entry(tool, CANON) for tool in CANON.tools]}
    text = json.dumps(listed, separators=(",", ":"), ensure_ascii=False)

    assert len(CANON.tools) <= 12
    assert len(text) / CHARACTERS <= TOKENS_MAX
    assert all("outputSchema" not in each for each in listed["tools"])


def test_every_argument_is_described() -> None:
    bare = [
        path
        for tool in CANON.tools
        for path, each in yield_properties(tool.input_schema, tool.name)
        if not each.get("description")
    ]

    assert bare == []


def test_no_argument_has_a_type_list_or_alternative_forms() -> None:
    for tool in CANON.tools:
        for path, each in yield_properties(tool.input_schema, tool.name):
            assert not isinstance(each.get("type"), list), path
            assert not {"anyOf", "oneOf", "allOf", "$ref"} & each.keys(), path


@pytest.mark.parametrize("agent", sorted(EVERYBODY))
@pytest.mark.parametrize("tool", CANON.tools, ids=lambda tool: tool.name)
async def test_each_role_may_call_its_tools(agent: str, tool: Any) -> None:
    driver = make_driver(agent)

    result = await driver.outcome(tool.name, {"nothing such": 1})

    denied = result.body["error"]["code"] == "NOT_ALLOWED"
    assert denied is (tool.name not in MAY[agent]), result.text


async def test_an_unknown_agent_type_may_call_nothing() -> None:
    driver = make_driver("Narrator")

    for tool in CANON.tools:
        assert (await driver.refused(tool.name))["code"] == "NOT_ALLOWED"


@pytest.mark.parametrize("tool", CANON.tools, ids=lambda tool: tool.name)
async def test_every_argument_of_a_wrong_type_is_refused_with_its_name(tool: Any) -> None:
    driver = make_driver()
    await driver.saltmere()
    for name, schema in tool.input_schema["properties"].items():
        wrong: Any = 7 if schema["type"] in {"string", "object"} else {"a": 1}
        error = await driver.refused(tool.name, **{name: wrong})
        problems = error["details"].get("problems", [])
        spots = {error["details"]["path"], *(each["path"] for each in problems)}
        assert any(each.startswith(f"/{name}") for each in spots), (name, error)


@pytest.mark.parametrize("tool", CANON.tools, ids=lambda tool: tool.name)
async def test_a_huge_text_is_refused_or_answered_briefly(tool: Any) -> None:
    driver = make_driver()
    await driver.saltmere()
    for name, schema in tool.input_schema["properties"].items():
        if schema["type"] == "string" and "enum" not in schema:
            given = {"of": "Odo", "claims": [], "verdict": "judge", name: "x" * 100_000}
            known = tool.input_schema["properties"]
            arguments = {key: each for key, each in given.items() if key in known}
            if tool.name == "decide" and name != "of":
                arguments["of"] = ["Odo"]
            result = await driver.outcome(tool.name, arguments)
            assert len(result.text) < 4_500, (name, result.text[:200])


async def test_null_numeric_texts_and_near_names_are_understood() -> None:
    driver = make_driver()
    await driver.saltmere()

    found = await driver.call("find", text="light", limit="1", kinds=None, cursor=None)
    unknown = await driver.outcome("fnd", {})
    wrong = await driver.refused("find", txt="light")
    kind = await driver.refused("find", kinds=["rumour"])

    assert len(found["found"]) == 1
    assert "did you mean find?" in unknown.text
    assert "did you mean text?" in wrong["message"]
    assert "entity, fact, event, relation, passage, document, lore" in kind["message"]


async def test_each_prompt_names_existing_tools_and_arguments() -> None:
    driver = make_driver()
    principal = Principal(agent_id="solo", agent_type="Solo", authorities=None)
    names = {tool.name for tool in CANON.tools}
    known = {name for tool in CANON.tools for name, _ in yield_properties(tool.input_schema, "")}
    known = {name.rpartition("/")[2] for name in known} | {"note", "hint"}

    for prompt in CANON.prompts:
        _, result = await driver.gateway.get_prompt(prompt.name, {"about": "Tom"}, principal)
        called = set(re.findall(r"\b[Cc]all (\w+)", result.text))
        assert called <= names, prompt.name
        assert {*re.findall(r"`(\w+)`", result.text)} <= known, prompt.name
        assert "It is about Tom." in result.text
    assert [prompt.title for prompt in CANON.prompts] == [
        "Keep what we decide",
        "Brief me",
        "Review what waits",
        "What contradicts?",
    ]

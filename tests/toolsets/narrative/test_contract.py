"""The published contract: names, schemas, annotations and texts of the tools as listed."""

import json
import re
from dataclasses import replace
from typing import Any

import orjson
import pytest

from canonry.canon.judging.contents import CONTENT_SHAPES
from canonry.gateway.offers import outline_schema
from canonry.gateway.replies import INSTANT, OBJECT, UUID, nullable_field, object_schema
from canonry.gateway.tool import Tool
from canonry.gateway.validation import close_schema
from canonry.narrative.toolset import EXACT, NARRATIVE
from canonry.narrative.toolset.contract import CONTENTS_HELP, published
from canonry.narrative.toolset.shapes import FACT
from canonry.server.binding import tool_entry

LISTED = {tool.name: tool for tool in NARRATIVE.tools}
CONTRACT = {entry["name"]: entry for entry in published()["tools"]}
OF_CONTRACT = pytest.mark.parametrize("name", CONTRACT)
EVERY_EXACT = pytest.mark.parametrize("exact", EXACT, ids=lambda tool: tool.name)
EVERY_TOOL = pytest.mark.parametrize("tool", NARRATIVE.tools, ids=lambda tool: tool.name)
CURRENT = ["EntityArchetype", "EntityInstance"]
BOTH_VOCABULARIES = [*CURRENT, "EntityAxiomatica", "EntityConcreta"]
SENTENCE = re.compile(r"[A-Z].*?[.](?= [A-Z]|$)")

# The most bytes of the list: the contract's tools beyond its own schemas, and all others.
BEYOND_CONTRACT_MAX = 10_200
EXTENSIONS_MAX = 29_200


def size_of(value: Any) -> int:
    return len(orjson.dumps(value))


def test_all_contract_tools_are_served_and_marked() -> None:
    served = {tool.name for tool in NARRATIVE.tools if not tool.extension}

    assert served == set(CONTRACT)
    assert len(served) == 21


AUDIENCE = {"audience": {"type": "array", "items": {"type": "string"}}}
ALSO: dict[str, dict[str, Any]] = {
    "mongodb_create_scene": {"time_ref": INSTANT.schema, **AUDIENCE},
    "mongodb_append_turn": AUDIENCE,
    "composite_canonize_scene": {"summary": {"type": "string"}},
    **{f"neo4j_create_{noun}": AUDIENCE for noun in ("entity", "fact", "event", "source")},
    **{
        name: {"detail": {"type": "boolean", "default": False}}
        for name in (
            *("neo4j_query_entities", "neo4j_query_facts", "mongodb_get_pending_proposals"),
            "qdrant_semantic_search",
        )
    },
    "composite_assemble_scene_context": {
        "tokens": {"type": "integer", "minimum": 200, "maximum": 16_000}
    },
}
"""Arguments that the contract does not have; a client may leave them out."""


@OF_CONTRACT
def test_an_input_schema_is_the_published_one_with_both_vocabularies(name: str) -> None:
    text = json.dumps(CONTRACT[name]["inputSchema"])
    expected = json.loads(text.replace(json.dumps(CURRENT), json.dumps(BOTH_VOCABULARIES)))

    expected["properties"] |= ALSO.get(name, {})

    assert LISTED[name].input_schema == expected
    assert ALSO.get(name, {}).keys().isdisjoint(CONTRACT[name]["inputSchema"]["properties"])


def test_two_tools_take_an_entity_class() -> None:
    widened = [n for n, tool in LISTED.items() if "EntityConcreta" in json.dumps(tool.input_schema)]

    assert widened == ["neo4j_create_entity", "neo4j_query_entities"]


@OF_CONTRACT
def test_the_roles_are_the_published_ones(name: str) -> None:
    assert LISTED[name].roles == frozenset(CONTRACT[name]["allowed_agent_types"])


@EVERY_TOOL
def test_annotations_follow_from_the_name(tool: Tool) -> None:
    verb = tool.name.split("_")[1]

    reads = verb in {"get", "query", "retrieve", "semantic", "assemble", "explain", "search"}
    assert tool.read_only == reads
    assert not (tool.read_only and tool.destructive)
    assert tool.cached is None or tool.read_only


@EVERY_EXACT
def test_a_reply_is_an_object_that_its_schema_describes(exact: Tool) -> None:
    assert exact.output_schema["type"] == "object"
    assert exact.output_schema["properties"]
    assert exact.output_schema.get("additionalProperties") is False
    assert LISTED[exact.name].output_schema["type"] == "object"
    assert LISTED[exact.name].input_schema["type"] == "object"


@EVERY_TOOL
def test_a_description_is_one_or_two_sentences(tool: Tool) -> None:
    said = tool.description.removesuffix(CONTENTS_HELP)
    sentences = SENTENCE.findall(said)

    assert " ".join(sentences) == said
    assert 1 <= len(sentences) <= 2
    assert len(said) <= 200
    assert 3 <= len(tool.title) <= 40


@EVERY_TOOL
def test_a_name_follows_the_convention(tool: Tool) -> None:
    assert re.fullmatch(
        r"(neo4j|mongodb|qdrant|composite)(_[a-z]+){2,4}|neo4j_explain|batch_call", tool.name
    )


def test_the_staging_tool_describes_each_content_type() -> None:
    description = LISTED["mongodb_create_proposed_change"].description

    for shape in CONTENT_SHAPES.values():
        assert f"- {shape.summary}\n" in f"{description}\n"
    assert sum(CONTENTS_HELP in tool.description for tool in NARRATIVE.tools) == 1


def test_the_list_stays_small_beyond_the_contract() -> None:
    published_schemas = sum(size_of(entry["inputSchema"]) for entry in CONTRACT.values())
    bare = replace(NARRATIVE, descriptions={})  # they have a budget of their own
    entries = {tool.name: size_of(tool_entry(tool, bare)) for tool in NARRATIVE.tools}
    extensions = sum(entries[tool.name] for tool in NARRATIVE.tools if tool.extension)

    assert sum(entries.values()) - extensions - published_schemas <= BEYOND_CONTRACT_MAX
    assert extensions <= EXTENSIONS_MAX


@EVERY_EXACT
def test_a_listed_schema_names_every_property_of_the_exact_one(exact: Tool) -> None:
    listed = LISTED[exact.name].output_schema

    assert listed.keys() == {"type", "properties"}
    assert list(listed["properties"]) == list(exact.output_schema["properties"])


@EVERY_EXACT
def test_a_listed_schema_takes_the_same_arguments_as_the_exact_one(exact: Tool) -> None:
    assert close_schema(LISTED[exact.name].input_schema) == close_schema(exact.input_schema)


def test_properties_of_a_reply_are_listed_by_name() -> None:
    exact = object_schema(
        {"at": INSTANT, "made": OBJECT}, {"fact": nullable_field(FACT), "id": UUID}
    )

    assert outline_schema(exact) == {
        "type": "object",
        "properties": {"at": {}, "made": {}, "fact": {}, "id": {}},
    }
    assert outline_schema({"type": "array"}) == {"type": "array"}


def test_the_toolset_introduces_itself_as_the_contract_says() -> None:
    assert NARRATIVE.server_name == "monitor-data-layer"
    assert NARRATIVE.contract_version == "1.0.0"
    assert NARRATIVE.agent_types == frozenset(published()["agent_types"])
    assert len(NARRATIVE.agent_types) == 7

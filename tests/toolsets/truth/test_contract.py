"""The contract: names, requests and responses of the published actions, unchanged."""

import json
from typing import Any

import pytest

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool
from canonry.records.toolset import EXACT, FACE, TRUTH
from canonry.records.toolset.contract import entries, published, resolve_references
from canonry.records.toolset.entities import VALUE_LOCATION
from canonry.records.toolset.queries import HIT, LEFT_OUT, MATCH, OPEN, PASSAGE, SUM
from canonry.records.toolset.shapes import (
    DUPLICATE,
    ENTITY,
    EVENT,
    KEY,
    OBSERVATION,
    RELATION,
    RUN,
    SCHEMA,
    SOURCE,
    WARNING,
    WITNESS,
)
from tests.toolsets.truth.kit import make_driver

ACTIONS = {
    "ingest": (["user_id"], ["source_id", "content_hash", "deduplicated"]),
    "upload_file": (["file_path"], ["source_id", "file_url", "file_size", "content_type"]),
    "get_file_url": (["file_path"], ["signed_url", "expires_at"]),
    "get_entity_snapshot": (
        ["entity_id"],
        [
            "entity_id",
            "entity_type",
            "schema_version",
            "snapshot",
            "provenance",
            "computed_at",
            "observation_count",
            "last_observation_at",
        ],
    ),
    "retrieve_entities": ([], ["entities", "total", "excluded_merged"]),
    "get_entity_by_identifier": (["identifier"], ["entities", "total"]),
    "get_related_entities": (
        ["entity_id"],
        ["entities", "relationships", "total_entities", "total_relationships", "hops_traversed"],
    ),
    "get_graph_neighborhood": (["node_id"], ["node_id", "node_type"]),
    "merge_entities": (
        ["user_id", "from_entity_id", "to_entity_id"],
        ["from_entity_id", "to_entity_id", "observations_moved", "merged_at"],
    ),
    "list_observations": (["entity_id"], ["observations", "total", "limit", "offset"]),
    "get_field_provenance": (
        ["entity_id", "field"],
        ["field", "value", "source_observation", "source_material", "observed_at"],
    ),
    "create_relationship": (
        ["relationship_type", "source_entity_id", "target_entity_id"],
        ["id", "relationship_type", "source_entity_id", "target_entity_id", "created_at"],
    ),
    "list_relationships": (["entity_id"], ["relationships", "total", "limit", "offset"]),
    "list_timeline_events": ([], ["events", "total"]),
    "correct": (
        ["user_id", "entity_id", "entity_type", "field", "value"],
        ["observation_id", "entity_id", "field", "value", "message"],
    ),
    "reinterpret": (
        ["source_id", "interpretation_config"],
        ["run_id", "entities_created", "observations_created", "source_id"],
    ),
    "list_entity_types": ([], ["entity_types", "total"]),
    "get_relationship_snapshot": (
        ["relationship_type", "source_entity_id", "target_entity_id"],
        [
            "id",
            "relationship_type",
            "source_entity_id",
            "target_entity_id",
            "snapshot",
            "provenance",
            "observation_count",
            "last_observation_at",
        ],
    ),
}
"""The fields that each published action requires and always answers; none may ever go."""

EXTENSIONS = {
    "unmerge_entities",
    "edit_aliases",
    "register_entity_schema",
    "list_entity_schemas",
    "explain_snapshot",
    "list_possible_duplicates",
    "list_unclear_values",
    "settle_unclear_values",
    "withdraw_source",
    "search_records",
    "summarise_records",
}
SHAPES = {
    "entity": ENTITY,
    "listed_entity": ENTITY,
    "relationship": RELATION,
    "edge": RELATION,
    "key": KEY,
    "observation": OBSERVATION,
    "field_observation": WITNESS,
    "source": SOURCE,
    "event": EVENT,
    "run": RUN,
    "warning": WARNING,
    "duplicate": DUPLICATE,
    "schema": SCHEMA,
    "unclear": OPEN,
    "place": VALUE_LOCATION,
    "record_hit": HIT,
    "record_match": MATCH,
    "passage": PASSAGE,
    "sum": SUM,
    "left_out": LEFT_OUT,
}
BESIDE = {"existing"}
"""Fields that only the reply of one tool has besides the fields of the item."""
EVERY_TOOL = pytest.mark.parametrize("tool", EXACT, ids=lambda tool: tool.name)


def test_the_published_actions_are_offered_and_extensions_are_marked() -> None:
    offered = {tool.name: tool.extension for tool in TRUTH.tools}
    assert offered == dict.fromkeys(ACTIONS, False) | dict.fromkeys(EXTENSIONS, True)


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_has_the_published_arguments_and_reply(name: str) -> None:
    tool = next(each for each in EXACT if each.name == name)
    required, answered = ACTIONS[name]
    of_the_connection = {"user_id"}  # filled in where a call does not say it
    assert set(tool.input_schema["required"]) == set(required) - of_the_connection
    assert tool.output_schema["required"] == answered


@pytest.mark.anyio
async def test_the_user_is_filled_in_from_the_connection() -> None:
    driver = make_driver()
    user = Principal(agent_id="desk", user=driver.user)
    record = {"entity_type": "person", "name": "Ada Byron"}
    made = await driver.gateway.call("ingest", {"entities": [record]}, user)
    named = await driver.call("get_entity_by_identifier", identifier="Ada Byron")

    assert made.error is None
    assert named["total"] == 1
    other = {"entities": [record], "user_id": "somebody-else"}
    refused = await driver.gateway.call("ingest", other, user)
    assert refused.error is not None


@pytest.mark.parametrize("name", SHAPES)
def test_a_reply_has_the_published_fields(name: str) -> None:
    declared, file = SHAPES[name].schema, published()["$defs"][name]
    answered = {k: v for k, v in declared["properties"].items() if k not in BESIDE}
    assert answered.keys() <= file["properties"].keys()
    assert set(file["required"]) <= set(declared["required"])
    for field, schema in answered.items():
        assert schema.get("type") == file["properties"][field].get("type"), field


@EVERY_TOOL
def test_additions_to_the_contract_are_listed_and_optional(tool: Tool) -> None:
    entry = entries()[tool.name]
    for kind, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
        added = entry.get(f"additive_{kind}", [])
        assert set(added) <= set(schema["properties"])
        assert not set(added) & set(schema["required"])


@EVERY_TOOL
def test_a_listed_schema_names_every_property_of_the_exact_one(tool: Tool) -> None:
    listed = next(each for each in TRUTH.tools if each.name == tool.name).output_schema
    assert listed["properties"].keys() == tool.output_schema["properties"].keys()
    assert listed["required"] == tool.output_schema["required"]


@EVERY_TOOL
def test_a_tool_is_described_shortly(tool: Tool) -> None:
    assert 3 <= len(tool.title) <= 40
    assert len(tool.description) <= 200


def test_no_reference_is_left_in_a_schema() -> None:
    assert "$ref" not in json.dumps(
        [resolve_references(tool["output"]) for tool in published()["tools"]]
    )


ALIASES = {
    "store": "ingest",
    "retrieve_entity_snapshot": "get_entity_snapshot",
    "retrieve_entity_by_identifier": "get_entity_by_identifier",
    "retrieve_related_entities": "get_related_entities",
    "retrieve_graph_neighborhood": "get_graph_neighborhood",
    "retrieve_field_provenance": "get_field_provenance",
    "retrieve_file_url": "get_file_url",
}


def test_later_names_are_accepted_and_never_listed() -> None:
    gateway: Any = Gateway(make_driver().canon, (TRUTH,))
    for alias, name in ALIASES.items():
        assert gateway.catalogue.find_tool(alias).item.name == name
        assert alias not in gateway.catalogue.tools


@pytest.mark.anyio
async def test_a_later_name_does_the_same() -> None:
    driver = make_driver()
    reply = await driver.call(
        "store",
        user_id=driver.user,
        entities=[{"entity_type": "note", "content": "x", "title": "y"}],
    )
    entity = reply["entities"][0]["entity_id"]
    again = await driver.call("retrieve_entity_snapshot", entity_id=entity)
    assert again == await driver.call("get_entity_snapshot", entity_id=entity)


def test_the_toolset_introduces_itself_as_the_contract_says() -> None:
    assert (FACE.name, FACE.contract_version) == ("truth", published()["version"])
    assert len(published()["relationship_types"]) == 7

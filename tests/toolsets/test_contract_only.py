"""Under `--contract-only` each tool is its contract's: members, defaults, types, and nothing else.

Three contracts are read from their files; what the specification of truth says of its requests is
written down here.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from canonry.app.serving import gateway_for, served_toolsets
from canonry.app.settings import Settings
from canonry.catalog.toolset import CATALOG
from canonry.gateway.call import Gateway
from canonry.gateway.limits import Limits
from canonry.gateway.offers import ContractFile, Offer, build_catalogue, select_toolsets
from canonry.gateway.tool import Tool, Toolset
from canonry.narrative.toolset import NARRATIVE
from canonry.records.toolset import TRUTH
from canonry.values.errors import InvalidInput
from canonry.world.toolset import WORLD
from tests.toolsets.narrative.stage import a_stage
from tests.toolsets.truth.kit import ToolDriver, make_driver
from tests.toolsets.world.proposals.kit import send_proposal, the_isle

IDS = {"entity_id": "string"}
PAGE = {"limit": ("integer", 100), "offset": ("integer", 0)}
ENDS = {"source_entity_id": "string", "target_entity_id": "string"}
RUN = {
    **dict.fromkeys(("provider", "model_id", "prompt_hash", "code_version"), "string"),
    "temperature": "number",
}
WAYS = ["inbound", "outbound", "both"]
TYPES = ["PART_OF", "CORRECTS", "REFERS_TO", "SETTLES", "DUPLICATE_OF", "DEPENDS_ON", "SUPERSEDES"]
OPTIONAL: dict[str, dict[str, Any]] = {
    "ingest": {
        **dict.fromkeys(("file_content", "mime_type", "original_filename"), "string"),
        "interpret": ("boolean", True),
        "interpretation_config": RUN,
        "entities": "array",
        "source_priority": ("integer", 100),
        "provenance": {
            **dict.fromkeys(("extracted_at", "extractor_version", "agent_id"), "string"),
            "source_refs": "array",
        },
    },
    "upload_file": {
        "source_material_id": "string",
        "bucket": ("string", "files"),
        "properties": "string",
    },
    "get_file_url": {"expires_in": ("integer", 3600)},
    "get_entity_snapshot": {"at": "string"},
    "list_observations": PAGE,
    "get_field_provenance": {},
    "retrieve_entities": {
        "entity_type": "string",
        "user_id": "string",
        **PAGE,
        "include_snapshots": ("boolean", True),
        "include_merged": ("boolean", False),
    },
    "get_entity_by_identifier": {"entity_type": "string"},
    "get_related_entities": {
        "relationship_types": "array",
        "direction": (WAYS, "both"),
        "max_hops": ("integer", 1),
        "include_entities": ("boolean", True),
    },
    "get_graph_neighborhood": {
        "node_type": (["entity", "source"], "entity"),
        "include_relationships": ("boolean", True),
        "include_sources": ("boolean", True),
        "include_events": ("boolean", True),
        "include_observations": ("boolean", False),
    },
    "list_timeline_events": {
        **dict.fromkeys(("event_type", "after_date", "before_date", "source_id"), "string"),
        **PAGE,
    },
    "correct": {},
    "reinterpret": {},
    "merge_entities": {"merge_reason": "string"},
    "create_relationship": {"metadata": "object"},
    "list_relationships": {"direction": (WAYS, "both"), "relationship_type": "string", **PAGE},
    "list_entity_types": {},
    "get_relationship_snapshot": {},
}
REQUIRED: dict[str, dict[str, Any]] = {
    "ingest": {"user_id": "string"},
    "upload_file": {"file_path": "string"},
    "get_file_url": {"file_path": "string"},
    "get_entity_snapshot": IDS,
    "list_observations": IDS,
    "get_field_provenance": {**IDS, "field": "string"},
    "get_entity_by_identifier": {"identifier": "string"},
    "get_related_entities": IDS,
    "get_graph_neighborhood": {"node_id": "string"},
    "correct": {
        **dict.fromkeys(("user_id", "entity_id", "entity_type", "field"), "string"),
        "value": None,
    },
    "reinterpret": {
        "source_id": "string",
        "interpretation_config": {**RUN, "feature_flags": "object"},
    },
    "merge_entities": dict.fromkeys(("user_id", "from_entity_id", "to_entity_id"), "string"),
    "create_relationship": {"relationship_type": TYPES, **ENDS},
    "list_relationships": IDS,
    "get_relationship_snapshot": {"relationship_type": "string", **ENDS},
}
"""Member -> its type, its words or its own members; with the default, where there is one."""


def outline_of(schema: Mapping[str, Any]) -> Any:
    """A schema in the notation of the tables above."""
    if "properties" in schema and schema["type"] == "object":
        kind: Any = {name: outline_of(each) for name, each in schema["properties"].items()}
    else:
        kind = schema.get("enum", schema.get("type"))
    return (kind, schema["default"]) if "default" in schema else kind


FILES = {
    "narrative": ContractFile("canonry.narrative.toolset.contract", "monitor.json"),
    "catalog": ContractFile("canonry.catalog.toolset.contract", "catalog.json"),
    "world": ContractFile("canonry.world.toolset.contract", "world.json"),
}
PUBLISHED = select_toolsets((NARRATIVE, TRUTH, WORLD, CATALOG), contract_only=True)
OFFERED = {each.name: build_catalogue((each,), Limits()).tools for each in PUBLISHED}
EVERY_TOOL = pytest.mark.parametrize(
    ("toolset", "tool"),
    [(each, tool) for each in PUBLISHED for tool in each.tools],
    ids=lambda each: each.name,
)


@EVERY_TOOL
def test_the_listed_tools_match_the_contract(toolset: Toolset, tool: Tool) -> None:
    if toolset.name in FILES:
        assert tool.input_schema == FILES[toolset.name].tool_entries()[tool.name]["inputSchema"]
        return
    required = REQUIRED.get(tool.name, {})
    assert outline_of(tool.input_schema) == {**required, **OPTIONAL[tool.name]}
    assert set(tool.input_schema["required"]) == set(required)


def test_no_contract_tool_is_missing() -> None:
    for name, file in FILES.items():
        assert OFFERED[name].keys() == file.tool_entries().keys()
    assert OFFERED["truth"].keys() == OPTIONAL.keys()


SAMPLES: dict[str, Any] = {
    "string": "a",
    "uuid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "date-time": "2025-01-15T12:00:00Z",
    "integer": 2,
    "number": 0.5,
    "boolean": True,
    "array": [],
    "object": {},
}
WRONG: dict[str, tuple[Any, ...]] = {
    "string": (5, True, None, ["a"], {}),
    "integer": ("5", "five", 1.5, True, None, [5]),
    "number": ("0.5", True, None, [0.5]),
    "boolean": ("true", 1, None),
    "array": ("a", {}, None),
    "object": ("{}", [], None),
}
READS_NULL = {"world"}
"""Toolsets whose contract treats null as missing, for every argument that may be missing."""
ANSWERS_ANYTHING = {"get-player-context", "get-recent-events", "get-canonical-fact"}
"""Tools that answer null or an empty list to arguments of any other type, by the contract."""


def a_value(schema: Mapping[str, Any]) -> Any:
    """A value that the schema takes."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if kind == "object":
        inner = schema.get("properties", {})
        return {name: a_value(inner[name]) for name in schema.get("required", ())}
    if kind == "array" and schema.get("minItems"):
        return [a_value(schema["items"])]
    return SAMPLES[schema.get("format", kind if isinstance(kind, str) else kind[0])]


def other_values(schema: Mapping[str, Any], *, null: bool) -> Iterator[Any]:
    """Values of other types, at the place itself and in members and items."""
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    for value in WRONG[kinds[0]] if len(kinds) == 1 else ():
        if value is not None or not null:
            yield value
    if "enum" in schema:
        yield "none of them"
    if kinds == ["array"]:
        yield from ([each] for each in other_values(schema["items"], null=False))
    if kinds == ["object"]:
        whole = a_value(schema)
        for name, inner in schema.get("properties", {}).items():
            yield from ({**whole, name: each} for each in other_values(inner, null=False))
        if "properties" in schema and schema.get("additionalProperties") is not True:
            yield {**whole, "unheard_of": 1}


def is_refused(offer: Offer[Tool], arguments: dict[str, Any]) -> bool:
    try:
        offer.check(arguments)
    except InvalidInput:
        return True
    return False


@EVERY_TOOL
def test_a_value_of_another_type_is_refused_and_not_converted(toolset: Toolset, tool: Tool) -> None:
    offer = OFFERED[toolset.name][tool.name]
    schema = tool.input_schema
    sound = a_value(schema)
    assert not is_refused(offer, sound)
    if tool.name in ANSWERS_ANYTHING:
        return
    assert is_refused(offer, {**sound, "unheard_of": 1})
    required = schema.get("required", ())
    for name in required:
        assert is_refused(offer, {key: each for key, each in sound.items() if key != name})
    for name, each in schema["properties"].items():
        null = toolset.name in READS_NULL and name not in required
        taken = [
            v for v in other_values(each, null=null) if not is_refused(offer, sound | {name: v})
        ]
        assert not taken, name


@pytest.mark.parametrize("name", ["neo4j_create_entity", "neo4j_query_entities"])
def test_older_entity_class_names_are_accepted_and_not_listed(name: str) -> None:
    offer = OFFERED["narrative"][name]
    assert "EntityConcreta" not in json.dumps(offer.item.input_schema)
    sound = a_value(offer.item.input_schema)
    assert not is_refused(offer, {**sound, "entity_class": "EntityConcreta"})


def make_strict_driver(**settings: Any) -> ToolDriver:
    """A user's way to a canon that is served by the contract alone, as the settings do it."""
    driver, chosen = make_driver(), Settings(contract_only=True, **settings)
    return ToolDriver(
        driver.canon,
        gateway_for(chosen, driver.canon, served_toolsets(chosen, (TRUTH,))),
        driver.clock,
    )


@pytest.mark.anyio
async def test_a_list_of_entities_has_a_hundred_whole_snapshots() -> None:
    driver = make_strict_driver()
    fields = {f"field_{number}": "some words of a record " * 3 for number in range(8)}
    rows = [{"entity_type": "note", "title": f"Note {n}", **fields} for n in range(101)]
    await driver.ingest(*rows)

    listed = await driver.call("retrieve_entities", entity_type="note")
    named = await driver.call("get_entity_by_identifier", identifier="Note 7")

    assert (len(listed["entities"]), listed["total"]) == (100, 101)
    for each in (*listed["entities"], named["entities"][0]):
        whole = await driver.snapshot(each["id"])
        assert each["snapshot"] == whole
        assert "more_fields" not in each


@pytest.mark.anyio
async def test_a_user_is_required_and_only_seven_types_are_accepted() -> None:
    driver = make_strict_driver()
    await driver.refused("ingest", "VALIDATION_ERROR", entities=[{"entity_type": "note"}])
    ends = [await driver.entity("person", name=name) for name in ("Ada Byron", "Mary Fairfax")]

    edge = dict(zip(ENDS, ends, strict=True))
    wrong = {"relationship_type": "KNOWS", **edge}

    await driver.refused("create_relationship", "INVALID_RELATIONSHIP_TYPE", **wrong)
    assert await driver.call("create_relationship", **{**wrong, "relationship_type": "REFERS_TO"})
    assert "user_id may be left out" not in driver.gateway.catalogue.toolsets[0].instructions


@pytest.mark.anyio
async def test_every_file_of_a_published_form_is_accepted() -> None:
    driver = make_strict_driver()
    file = {"file_content": "aGVsbG8gd29ybGQ=", "mime_type": "text/plain"}

    assert (await driver.call("ingest", user_id=driver.user, **file))["source_id"]
    assert (await driver.call("list_entity_types"))["entity_types"]
    assert (await driver.call("list_timeline_events"))["events"] == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "most"), [("retrieve_entities", 300), ("ingest", 100), ("upload_file", 10)]
)
async def test_the_published_rates_are_enforced(tool: str, most: int) -> None:
    driver = make_strict_driver()
    refused = [await driver.outcome(tool, {}) for _ in range(most + 1)]

    codes = [each.body.get("error", {}).get("code") for each in refused]
    assert "RATE_LIMIT_EXCEEDED" not in codes[:most]
    assert codes[most] == "RATE_LIMIT_EXCEEDED"
    wait = refused[most].body["error"]["details"]["retry_after_seconds"]
    assert isinstance(wait, int)
    assert 1 <= wait <= 60


@pytest.mark.anyio
async def test_story_rows_are_whole_if_detail_cannot_be_requested() -> None:
    stage = await a_stage()
    world = stage.world
    world.gateway = Gateway(world.canon, select_toolsets((NARRATIVE,), contract_only=True))

    (row, *_) = (await world.call("neo4j_query_entities", universe_id=world.universe_id))[
        "entities"
    ]
    whole = await world.call("neo4j_get_entity", entity_id=row["entity_id"])

    assert row.keys() >= {"description", "properties", "confidence", "authority"}
    assert row.items() >= {name: whole[name] for name in ("description", "properties")}.items()
    await world.refused(
        "neo4j_create_entity", code=-32003, **an_entity(stage.world.universe_id, confidence="0.5")
    )


def an_entity(universe_id: str, **more: Any) -> dict[str, Any]:
    """The arguments of a new character."""
    return {
        "entity_class": "EntityInstance",
        "universe_id": universe_id,
        "name": "Rosie",
        "entity_type": "character",
        "description": "A hobbit.",
        "properties": {},
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": [],
        **more,
    }


@pytest.mark.anyio
async def test_a_refused_proposal_has_a_correlation_id() -> None:
    isle = await the_isle()

    reply = await send_proposal(isle, {"not": "an envelope"})

    assert reply["rejection"]["gate"] == "schema"
    assert reply["correlationId"] == reply["proposalId"] != ""
    kept = await isle.call("get-proposal", "World", proposalId=reply["proposalId"])
    assert kept["correlationId"] == reply["correlationId"]

"""The server serves the contract, property for property, and each error is one of its four."""

from typing import Any

import pytest

from canonry.catalog.toolset import CATALOG, FACE
from canonry.catalog.toolset.contract import published
from canonry.catalog.toolset.toolset import catalog_error, field_of
from canonry.gateway.principal import Principal
from canonry.gateway.replies import success_result
from canonry.gateway.tool import Noted
from canonry.values.errors import (
    BrokenInvariant,
    CanonryError,
    InvalidInput,
    NotAllowed,
    NotFound,
    Unavailable,
)
from tests.toolsets.catalog.kit import (
    LAB,
    hostile_names,
    make_catalog_driver,
    make_filled_driver,
    make_uuid,
)

pytestmark = pytest.mark.anyio
ERRORS = (
    (InvalidInput("x", "wrong", path="/query"), "VALIDATION_ERROR", {"field": "query"}),
    (NotFound("project.unknown", "no"), "PROJECT_NOT_FOUND", {"field": "projectId"}),
    (NotFound("entity.unknown", "no"), "ENTITY_NOT_FOUND", {"field": "entityId"}),
    (NotFound("other.unknown", "no"), "INTERNAL_ERROR", {"reason": "other.unknown"}),
    (NotAllowed("authority.denied", "no"), "INTERNAL_ERROR", {"reason": "authority.denied"}),
    (Unavailable("limits.rate", "wait"), "INTERNAL_ERROR", {"reason": "limits.rate"}),
    (Unavailable("call.deadline", "late"), "INTERNAL_ERROR", {"reason": "timeout"}),
    (Unavailable("store.deadline", "late"), "INTERNAL_ERROR", {"reason": "timeout"}),
    (BrokenInvariant("internal", "secret"), "INTERNAL_ERROR", {"reason": "internal"}),
)


def test_the_tools_are_those_of_the_contract() -> None:
    served = [
        {"name": t.name, "inputSchema": t.input_schema, "outputSchema": t.output_schema}
        for t in CATALOG.tools
    ]

    assert served == published()["tools"]


def test_every_tool_only_reads_and_no_reply_is_cached() -> None:
    for tool in CATALOG.tools:
        assert tool.read_only
        assert tool.idempotent
        assert tool.cached is None
        assert not tool.extension
        assert tool.limits is not None
        assert tool.limits.seconds == 30.0
    assert CATALOG.sealed
    assert not CATALOG.traced


def test_the_toolset_introduces_itself() -> None:
    assert CATALOG.server_name == FACE.server_name == "psymetric"


@pytest.mark.parametrize(("error", "code", "details"), ERRORS, ids=lambda each: str(each)[:30])
def test_every_error_has_one_of_four_codes(
    error: CanonryError, code: str, details: dict[str, str]
) -> None:
    body = catalog_error(error, tool="get_entity", caller=None, trace_id="trace")

    assert body.wire is not None
    envelope = body.wire["error"]
    assert list(envelope) == ["code", "message", "details"]
    assert envelope["code"] == code
    assert envelope["details"].items() >= details.items()
    assert "trace" not in str(body)
    assert "secret" not in str(body)


def test_an_exceeded_deadline_is_reported() -> None:
    body = catalog_error(Unavailable("store.deadline", ""), tool="", caller=None)

    assert body.message == "Tool execution timeout"


def test_paths_name_arguments() -> None:
    assert field_of("/entityTypes/1") == "entityTypes[1]"
    assert field_of("/query") == "query"
    assert field_of("") == "arguments"
    assert field_of("/a~1b") == "a/b"


INVALID: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("list_projects", {"page": 1}, "page"),
    ("search_entities", {"projectId": LAB}, "query"),
    ("search_entities", {"query": "x"}, "projectId"),
    ("search_entities", {"projectId": LAB, "query": ""}, "query"),
    ("search_entities", {"projectId": LAB, "query": "x" * 257}, "query"),
    ("search_entities", {"projectId": LAB, "query": 5}, "query"),
    ("search_entities", {"projectId": f"{{{LAB}}}", "query": "x"}, "projectId"),
    ("search_entities", {"projectId": LAB.replace("-", ""), "query": "x"}, "projectId"),
    ("search_entities", {"projectId": f"{LAB}\n", "query": "x"}, "projectId"),
    ("search_entities", {"projectId": LAB, "query": "x", "limit": 0}, "limit"),
    ("search_entities", {"projectId": LAB, "query": "x", "limit": 51}, "limit"),
    ("search_entities", {"projectId": LAB, "query": "x", "limit": "5.5"}, "limit"),
    ("search_entities", {"projectId": LAB, "query": "x", "limit": True}, "limit"),
    ("search_entities", {"projectId": LAB, "query": None}, "query"),
    (
        "search_entities",
        {"projectId": LAB, "query": "x", "entityTypes": ["news", "video"]},
        "entityTypes[1]",
    ),
    (
        "search_entities",
        {"projectId": LAB, "query": "x", "entityTypes": ["news", "news"]},
        "entityTypes",
    ),
    ("search_entities", {"projectId": LAB, "query": "x", "status": "draft"}, "status"),
    ("get_entity", {"projectId": LAB, "entityId": "1"}, "entityId"),
    ("get_entity", {"projectId": LAB, "entityId": make_uuid(1), "depth": 1}, "depth"),
    ("get_entity_graph", {"projectId": LAB, "entityId": make_uuid(1), "depth": 3}, "depth"),
    ("get_entity_graph", {"projectId": LAB, "entityId": make_uuid(1), "depth": 1.5}, "depth"),
    (
        "get_entity_graph",
        {"projectId": LAB, "entityId": make_uuid(1), "relationshipTypes": ["LIKES"]},
        "relationshipTypes[0]",
    ),
)


@pytest.mark.parametrize(("tool", "arguments", "field"), INVALID)
async def test_invalid_arguments_are_named(
    tool: str, arguments: dict[str, Any], field: str
) -> None:
    error = await (await make_filled_driver(hostile_names())).refused(tool, **arguments)

    assert error["code"] == "VALIDATION_ERROR"
    assert error["message"] == "Invalid input parameters"
    assert error["details"]["field"] == field
    assert error["details"]["reason"]


async def test_missing_arguments_precede_unknown_and_wrong_ones() -> None:
    driver = await make_filled_driver(hostile_names())

    missing = await driver.refused("search_entities", projectId="x", limit="y", colour="red")
    unknown = await driver.refused(
        "search_entities", projectId="x", query="", limit="y", colour="red"
    )
    wrong = await driver.refused("search_entities", limit="y", query="", projectId="x")

    fields = [error["details"]["field"] for error in (missing, unknown, wrong)]
    assert fields == ["query", "colour", "projectId"]


async def test_argument_errors_precede_project_errors_and_those_entity_errors() -> None:
    driver, nowhere = (
        await make_filled_driver(hostile_names()),
        "00000000-0000-4000-8000-00000000dead",
    )

    first = await driver.refused("get_entity_graph", projectId=nowhere, entityId=nowhere, depth=9)
    second = await driver.refused("get_entity_graph", projectId=nowhere, entityId=nowhere)
    third = await driver.refused("get_entity_graph", projectId=LAB, entityId=nowhere)

    codes = [error["code"] for error in (first, second, third)]
    assert codes == ["VALIDATION_ERROR", "PROJECT_NOT_FOUND", "ENTITY_NOT_FOUND"]


async def test_numbers_are_interpreted_by_the_schema() -> None:
    driver = await make_filled_driver(hostile_names())

    whole = await driver.call("search_entities", projectId=LAB, query="a", limit=2)
    pointed = await driver.call("search_entities", projectId=LAB, query="a", limit=2.0)

    assert whole == pointed
    assert await driver.call("search_entities", projectId=LAB, query="\U0001f409" * 256)
    assert await driver.call("search_entities", projectId=LAB, query="\x00") == {
        "entities": [],
        "totalCount": 0,
    }


async def test_an_empty_store_has_no_projects() -> None:
    assert await make_catalog_driver().call("list_projects") == {"projects": []}
    assert (await make_catalog_driver().gateway.call("nonsense", {}, Principal())).protocol


def test_a_note_stands_beside_the_reply() -> None:
    outcome = success_result(Noted(reply={"a": 1}, meta={"b": 2}))

    assert (outcome.body, outcome.text, outcome.meta) == ({"a": 1}, '{"a":1}', {"b": 2})


async def test_an_unsupported_time_argument_is_refused_by_name() -> None:
    asked = {"as_known_at": "2025-01-01"}
    result = await make_catalog_driver().gateway.call("list_projects", asked, Principal())

    assert result.error is not None
    assert result.body["error"]["code"] == "VALIDATION_ERROR"
    assert "does not take /as_known_at" in result.text

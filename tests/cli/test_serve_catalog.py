"""The catalog through a real server: over stdio, on a store that is opened for reading only."""

import json
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.app.load_settings import load_settings
from canonry.app.packages import load_toolsets
from canonry.app.serving import advice_on
from canonry.stores.sqlite import Durability
from tests.cli.test_serve import serve_client
from tests.toolsets.catalog.kit import LAB, NOWHERE, hostile_names, import_rows, make_uuid
from tests.toolsets.catalog.test_isolation import file_contents

pytestmark = pytest.mark.anyio


async def test_a_client_reads_a_catalog_and_leaves_no_trace(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    await import_rows(store.canon, hostile_names())
    await store.close()
    before = file_contents(tmp_path)

    async with serve_client("--toolsets", "catalog", "--data", str(tmp_path)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        projects: Any = await client.call_tool("list_projects", {})
        asked: dict[str, Any] = {"projectId": LAB, "entityId": make_uuid(1)}
        graph: Any = await client.call_tool("get_entity_graph", asked)
        absent: Any = await client.call_tool("get_entity", {**asked, "entityId": NOWHERE})
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        item = await client.read_resource(f"catalog://item/{make_uuid(1)}")

    assert names == ["list_projects", "search_entities", "get_entity", "get_entity_graph"]
    assert len(projects.structured_content["projects"]) == 3
    assert json.loads(graph.content[0].text) == graph.structured_content
    assert {f"catalog://project/{LAB}", f"catalog://item/{make_uuid(1)}"} <= listed
    assert "100% sure" in str(item.contents[0])
    assert absent.is_error
    assert json.loads(absent.content[0].text) == {
        "error": {
            "code": "ENTITY_NOT_FOUND",
            "message": "Requested entity does not exist",
            "details": {"field": "entityId"},
        }
    }
    assert file_contents(tmp_path) == before


async def test_a_missing_store_is_created_empty(tmp_path: Path) -> None:
    async with serve_client("--toolsets", "catalog", "--data", str(tmp_path / "new")) as client:
        projects = await client.call_tool("list_projects", {})

    assert projects.structured_content == {"projects": []}


async def test_an_operators_writes_appear_in_the_catalog(tmp_path: Path) -> None:
    words = ("--toolsets", "operator,catalog", "--agent-type", "Operator")
    async with serve_client(*words, "--data", str(tmp_path)) as client:
        row = {"name": "Lab", "slug": "lab"}
        saved: Any = await client.call_tool("catalog_save_project", row)
        projects: Any = await client.call_tool("list_projects", {})

    assert saved.structured_content["outcome"] == "created"
    assert [each["name"] for each in projects.structured_content["projects"]] == ["Lab"]


def test_a_catalog_needs_no_agent_type() -> None:
    assert advice_on(load_settings({}, environment={}), load_toolsets(["catalog"])) is None
    advice = advice_on(load_settings({}, environment={}), load_toolsets(["catalog", "operator"]))
    assert advice is not None
    assert "(Operator;" in advice
    assert "every call of operator would be refused" in advice

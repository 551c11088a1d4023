"""Foreign, hidden and absent entities give the same bytes; no call leaves a trace."""

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded, open_embedded_sealed
from canonry.catalog.toolset import CATALOG
from canonry.gateway.call import Gateway
from canonry.stores.sqlite import Durability
from canonry.values.errors import NotFound, NotSupported
from canonry.values.ids import SpaceId
from tests.toolsets.catalog.kit import (
    LAB,
    NOWHERE,
    OTHER,
    SHARED,
    CatalogDriver,
    hostile_names,
    import_rows,
    make_catalog_driver,
    make_filled_driver,
    make_uuid,
)
from tests.toolsets.catalog.questions import answer_texts, yield_questions

pytestmark = pytest.mark.anyio
TRUNCATED = "dev.canonry/truncated"


@pytest.mark.parametrize("tool", ["get_entity", "get_entity_graph"])
async def test_a_foreign_entity_is_reported_as_absent(tool: str) -> None:
    driver = await make_filled_driver(hostile_names())

    foreign = await driver.outcome(tool, {"projectId": LAB, "entityId": make_uuid(16)})
    absent = await driver.outcome(tool, {"projectId": LAB, "entityId": NOWHERE})

    assert foreign.text == absent.text
    assert foreign.body["error"]["code"] == "ENTITY_NOT_FOUND"
    there = await driver.call(tool, projectId=OTHER, entityId=make_uuid(16))
    assert there


async def test_a_hidden_project_is_reported_as_absent() -> None:
    whole = await make_filled_driver(hostile_names())
    narrow = CatalogDriver(
        canon=whole.canon, gateway=whole.gateway, spaces=frozenset((SpaceId(OTHER),))
    )

    found = {
        (await narrow.outcome(tool, {"projectId": project, **more})).text
        for project in (LAB, NOWHERE)
        for tool, more in (
            ("search_entities", {"query": "a"}),
            ("get_entity", {"entityId": make_uuid(1)}),
            ("get_entity_graph", {"entityId": make_uuid(1)}),
        )
    }

    assert len(found) == 1
    listed = (await narrow.call("list_projects"))["projects"]
    assert [project["id"] for project in listed] == [OTHER]


async def test_a_source_item_is_no_entity_whatever_its_id() -> None:
    arrays = hostile_names()
    arrays["sourceItems"].append({**arrays["sourceItems"][0], "id": NOWHERE, "url": "https://t"})
    driver = await make_filled_driver(arrays)

    error = await driver.refused("get_entity", projectId=LAB, entityId=NOWHERE)
    shared = (await driver.call("get_entity", projectId=LAB, entityId=SHARED))["entity"]
    graph = await driver.call("get_entity_graph", projectId=LAB, entityId=SHARED, depth=2)

    assert error["code"] == "ENTITY_NOT_FOUND"
    assert shared["title"] == "shared id"
    assert shared["relationshipCounts"] == {"outgoing": 2, "incoming": 0}
    assert {edge["relationType"] for edge in graph["edges"]} == {"GUIDE_USES_CONCEPT"}


def file_contents(folder: Path) -> dict[str, tuple[int, str]]:
    """The bytes of every file but the lock tables that readers share."""
    return {
        path.name: (len(data := path.read_bytes()), sha256(data).hexdigest())
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith("-shm") and path.stat().st_size
    }


@pytest.mark.parametrize("others_write", [False, True])
async def test_no_call_changes_a_byte(tmp_path: Path, *, others_write: bool) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    await import_rows(store.canon, hostile_names())
    if not others_write:
        await store.close()
    before = file_contents(tmp_path)

    sealed = await open_embedded_sealed(tmp_path)
    driver = CatalogDriver(canon=sealed.canon, gateway=Gateway(sealed.canon, (CATALOG,)))
    answer = await answer_texts(driver)
    for tool, _ in yield_questions():
        await driver.outcome(tool, {"nonsense": [None]})
    await sealed.close()

    assert file_contents(tmp_path) == before
    assert len(answer) == len(list(yield_questions()))
    if others_write:
        await store.close()


async def test_a_sealed_store_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await open_embedded_sealed(tmp_path)
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    await store.close()
    sealed = await open_embedded_sealed(tmp_path)
    try:
        with pytest.raises(NotSupported) as refused:
            await import_rows(sealed.canon, hostile_names())
        assert refused.value.code == "store.reading-only"
    finally:
        await sealed.close()


async def test_a_sealed_store_sees_writes_of_others(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    sealed = await open_embedded_sealed(tmp_path)
    try:
        assert await sealed.canon.catalog.projects(None, limit=9) == []
        await import_rows(store.canon, hostile_names())
        assert len(await sealed.canon.catalog.projects(None, limit=9)) == 3
    finally:
        await sealed.close()
        await store.close()


async def test_one_call_sees_one_state_during_concurrent_writes(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        driver, rows = (
            await make_filled_driver(hostile_names(), store.canon),
            hostile_names()["entities"][:4],
        )
        done = asyncio.Event()

        async def write() -> None:
            for n in range(12):
                title = "toggled" if n % 2 else "still"
                await import_rows(
                    store.canon, {"entities": [{**row, "title": title} for row in rows]}
                )
            done.set()

        async def ask() -> set[int]:
            seen: set[int] = set()
            while not done.is_set():
                found: Any = await driver.call("search_entities", projectId=LAB, query="toggled")
                assert found["totalCount"] == len(found["entities"])
                seen.add(found["totalCount"])
                await asyncio.sleep(0)  # a quick read never waits, and would keep the writer out
            return seen

        _, seen = await asyncio.gather(write(), ask())
        assert seen <= {0, len(rows)}
    finally:
        await store.close()


async def test_the_gateway_writes_nothing_either() -> None:
    driver = make_catalog_driver()

    await answer_texts(driver)

    assert await driver.canon.ledger.list_heads(limit=10) == []


async def test_a_truncated_project_list_says_so() -> None:
    arrays = hostile_names()
    whole = await (await make_filled_driver(arrays)).outcome("list_projects", {})
    first = arrays["projects"][0]
    more = [{**first, "id": make_uuid(5_000 + n), "slug": f"more-{n}"} for n in range(101)]
    arrays["projects"].extend(more)
    cut = await (await make_filled_driver(arrays)).outcome("list_projects", {})
    assert TRUNCATED not in whole.meta
    assert len(cut.body["projects"]) == 100
    assert cut.meta[TRUNCATED] == {"projects": True}

"""Answers about any graph have a fixed form, and every backend gives the same."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canonry.app.embedded import open_embedded
from canonry.gateway.principal import Principal
from canonry.log.schemas.catalog_tables import LINKS, RELATIONS
from canonry.readmodels.catalog import title_key_of
from canonry.stores.sqlite import Durability
from canonry.testing.clocks import CountingIdentities, HandClock
from tests.toolsets.catalog.kit import (
    LAB,
    Arrays,
    CatalogDriver,
    entity_row,
    make_filled_driver,
    make_uuid,
    relation_row,
)

pytestmark = pytest.mark.anyio
NODES, EDGES = 100, 200
TRUNCATED = "dev.canonry/truncated"
KINDS = ("concept", "concept", "guide", "news", "project")
TITLES = ("a", "A", "b", "B", "\u00e4", "\u00c4", "ss", "\u00df", "zz", "z")


@st.composite
def draw_catalog(draw: st.DrawFn) -> Arrays:
    """A project whose entities are related at random, often twice, sometimes to themselves."""
    count = draw(st.integers(1, 12))
    entities = [
        entity_row(n, draw(st.sampled_from(KINDS)), draw(st.sampled_from(TITLES)))
        for n in range(count)
    ]
    kinds = {row["id"]: row["entityType"] for row in entities}
    pairs = draw(st.lists(st.tuples(*(st.integers(0, count - 1),) * 2), max_size=40))
    triples = {
        (rel_type, make_uuid(source), make_uuid(target))
        for source, target in pairs
        for rel_type in LINKS
        if RELATIONS[rel_type].source == kinds[make_uuid(source)]
        and RELATIONS[rel_type].target == kinds[make_uuid(target)]
    }
    links = [relation_row(n, *triple) for n, triple in enumerate(sorted(triples))]
    project = {"id": LAB, "name": "lab", "slug": "lab"}
    return {"projects": [project], "entities": entities, "relations": links}


def check_reply(reply: Mapping[str, Any], root: str, depth: int, arrays: Mapping[str, Any]) -> None:
    nodes, edges = reply["nodes"], reply["edges"]
    depths = {node["id"]: node["depth"] for node in nodes}
    order = [(node["depth"], title_key_of(node["title"]), node["id"]) for node in nodes]
    ends = [(e["fromEntityId"], e["toEntityId"], e["relationType"]) for e in edges]
    stored = {(r["fromEntityId"], r["toEntityId"], r["relationType"]) for r in arrays["relations"]}
    assert [node["id"] for node in nodes if node["depth"] == 0] == [root]
    assert order == sorted(order)
    assert len(depths) == len(nodes) <= NODES
    assert ends == sorted(set(ends))
    assert len(ends) <= EDGES
    assert set(depths) <= {row["id"] for row in arrays["entities"]}
    assert set(ends) <= stored
    for source, target, _ in ends:
        assert source in depths
        assert target in depths
        assert min(depths[source], depths[target]) < depth
    steps = {frozenset((source, target)) for source, target, _ in ends}
    for node, step in depths.items():
        assert step == 0 or any(depths.get(o) == step - 1 for s in steps if node in s for o in s)


@settings(
    max_examples=25,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(arrays=draw_catalog())
def test_every_graph_has_its_form_on_every_backend(
    arrays: Arrays, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("graphs")
    asyncio.run(compare_stores(arrays, folder))


async def compare_stores(arrays: Arrays, folder: Path) -> None:
    store = await open_embedded(
        folder,
        clock=HandClock(),
        identities=CountingIdentities(),
        durability=Durability.NORMAL,
    )
    try:
        drivers = [await make_filled_driver(arrays), await make_filled_driver(arrays, store.canon)]
        for row in arrays["entities"]:
            for depth in (1, 2):
                asked = {"projectId": LAB, "entityId": row["id"], "depth": depth}
                one, two = [await driver.call("get_entity_graph", **asked) for driver in drivers]
                check_reply(one, row["id"], depth, arrays)
                assert one == two
            counts = [
                (await driver.call("get_entity", projectId=LAB, entityId=row["id"]))["entity"]
                for driver in drivers
            ]
            assert counts[0] == counts[1]
    finally:
        await store.close()


def a_hub(count: int) -> Arrays:
    """A concept that everything relates to, and everything to its neighbour."""
    entities = [entity_row(n, "concept", f"Entry {n % 50}") for n in range(count)]
    links = [
        relation_row(n, "CONCEPT_RELATES_TO_CONCEPT", make_uuid(n), make_uuid(target))
        for n, target in enumerate([0, *(0 for _ in range(1, count))])
    ]
    near = [
        relation_row(count + n, "CONCEPT_RELATES_TO_CONCEPT", make_uuid(n), make_uuid(n + 1))
        for n in range(1, count - 1)
    ]
    project = {"id": LAB, "name": "lab", "slug": "lab"}
    return {"projects": [project], "entities": entities, "relations": [*links, *near]}


async def ask_all(driver: CatalogDriver, **arguments: Any) -> tuple[Any, Any]:
    outcome = await driver.gateway.call(
        "get_entity_graph", {"projectId": LAB, **arguments}, Principal()
    )
    return outcome.body, outcome.meta


async def test_a_hub_keeps_its_root_and_reports_omissions(tmp_path: Path) -> None:
    arrays = a_hub(600)
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        for driver in (
            await make_filled_driver(arrays),
            await make_filled_driver(arrays, store.canon),
        ):
            for depth in (1, 2):
                reply, meta = await ask_all(driver, entityId=make_uuid(0), depth=depth)
                check_reply(reply, make_uuid(0), depth, arrays)
                assert len(reply["nodes"]) == NODES
                assert meta == {TRUNCATED: {"nodes": True, "edges": False}}
            reply, meta = await ask_all(driver, entityId=make_uuid(7), depth=2)
            check_reply(reply, make_uuid(7), 2, arrays)
            assert meta[TRUNCATED]["nodes"]
    finally:
        await store.close()


async def test_a_small_graph_reports_no_omissions() -> None:
    _, meta = await ask_all(await make_filled_driver(a_hub(5)), entityId=make_uuid(0), depth=2)

    assert meta == {}

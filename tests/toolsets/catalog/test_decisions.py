"""Decisions settle the open points of the contract, and errors of another server of it."""

from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.catalog.domain.rows import read_row
from canonry.catalog.toolset.contract import published
from canonry.log.schemas.catalog_tables import (
    CONTENT_KINDS,
    ITEM_KINDS,
    LINKS,
    RELATION_ROWS,
    RELATIONS,
    STATUSES,
)
from canonry.stores.sqlite import Durability, catalog
from tests.adapters.sqlite.test_reading import run_endlessly
from tests.toolsets.catalog.kit import (
    LAB,
    NOWHERE,
    OTHER,
    Arrays,
    CatalogDriver,
    entity_row,
    hostile_names,
    make_filled_driver,
    make_uuid,
    relation_row,
)

pytestmark = pytest.mark.anyio
RELATES = "CONCEPT_RELATES_TO_CONCEPT"
BARE: dict[str, Any] = {"projects": [{"id": LAB, "name": "lab", "slug": "lab"}]}


async def find_titles(driver: CatalogDriver, query: str, **more: Any) -> list[str]:
    reply = await driver.call("search_entities", projectId=LAB, query=query, limit=50, **more)
    assert reply["totalCount"] == len(reply["entities"])
    return [row["id"] for row in reply["entities"]]


async def test_a_query_is_one_text_with_its_spaces() -> None:
    titles = ("two words", " two words", "two  words", "words two", "TWO WORDS ")
    rows = [entity_row(n, "news", title) for n, title in enumerate(titles)]
    driver = await make_filled_driver({**BARE, "entities": rows})

    assert await find_titles(driver, "two words") == [make_uuid(0), make_uuid(1), make_uuid(4)]
    assert await find_titles(driver, " two") == [make_uuid(1), make_uuid(3)]
    assert await find_titles(driver, "words ") == [make_uuid(3), make_uuid(4)]
    assert await find_titles(driver, "words two words") == []


async def test_empty_filters_are_ignored() -> None:
    driver = await make_filled_driver(hostile_names())

    assert await find_titles(driver, "a", entityTypes=[]) == await find_titles(driver, "a")
    assert await find_titles(driver, "a", entityTypes=list(CONTENT_KINDS)) == await find_titles(
        driver, "a"
    )
    asked = {"projectId": LAB, "entityId": make_uuid(1), "depth": 2}
    whole = await driver.call("get_entity_graph", **asked)
    assert whole == await driver.call("get_entity_graph", **asked, relationshipTypes=[])
    every = [name for name in RELATIONS if name in LINKS]
    assert whole == await driver.call("get_entity_graph", **asked, relationshipTypes=every)
    none = [name for name in RELATIONS if name not in LINKS]
    alone = await driver.call("get_entity_graph", **asked, relationshipTypes=none)
    assert ([node["id"] for node in alone["nodes"]], alone["edges"]) == ([make_uuid(1)], [])


@pytest.mark.parametrize(
    ("tool", "more", "field"),
    [
        ("get_entity_graph", {"relationshipTypes": [RELATES] * 2}, "relationshipTypes"),
        ("get_entity_graph", {"relationshipTypes": [*RELATIONS] * 3}, "relationshipTypes"),
        ("get_entity_graph", {"direction": "out"}, "direction"),
        ("get_entity_graph", {"depth": 0}, "depth"),
        ("get_entity_graph", {"entityId": f"urn:uuid:{make_uuid(1)}"}, "entityId"),
        ("get_entity_graph", {"entityId": f" {make_uuid(1)}"}, "entityId"),
        ("get_entity_graph", {"entityId": make_uuid(1).replace("1", "\u0661")}, "entityId"),
        ("get_entity", {"entityId": ""}, "entityId"),
    ],
)
async def test_lists_ids_and_names_are_checked_as_published(
    tool: str, more: dict[str, Any], field: str
) -> None:
    asked = {"projectId": LAB, "entityId": make_uuid(1), **more}

    error = await (await make_filled_driver(hostile_names())).refused(tool, **asked)

    assert (error["code"], error["details"]["field"]) == ("VALIDATION_ERROR", field)


async def test_the_first_hundred_projects_are_listed() -> None:
    names = [f"p {n % 40:02}" for n in range(120)]
    rows = [{"id": make_uuid(n), "name": name, "slug": f"{n}"} for n, name in enumerate(names)]
    driver = await make_filled_driver({"projects": rows[::-1]})

    reported = (await driver.call("list_projects"))["projects"]

    expected = sorted((row["name"], row["id"]) for row in rows)[:100]
    assert [(row["name"], row["id"]) for row in reported] == expected


async def test_every_status_is_visible_everywhere() -> None:
    rows = [entity_row(n, "concept", "seen", status=status) for n, status in enumerate(STATUSES)]
    links = [relation_row(n, RELATES, make_uuid(0), make_uuid(n)) for n in range(1, len(STATUSES))]
    driver = await make_filled_driver({**BARE, "entities": rows, "relations": links})

    assert await find_titles(driver, "seen") == [row["id"] for row in rows]
    graph = await driver.call("get_entity_graph", projectId=LAB, entityId=make_uuid(0))
    assert {node["status"] for node in graph["nodes"]} == set(STATUSES)
    for row in rows:
        reply = await driver.call("get_entity", projectId=LAB, entityId=row["id"])
        assert reply["entity"]["status"] == row["status"]


async def test_a_reply_has_exactly_the_published_fields() -> None:
    bare = {"id": make_uuid(1), "projectId": LAB, "entityType": "news", "title": "t", "slug": ""}
    driver = await make_filled_driver({**BARE, "entities": [bare]})
    schemas = {tool["name"]: tool["outputSchema"]["properties"] for tool in published()["tools"]}

    listed = (await driver.call("search_entities", projectId=LAB, query="t"))["entities"]
    read = (await driver.call("get_entity", projectId=LAB, entityId=make_uuid(1)))["entity"]
    graph = await driver.call("get_entity_graph", projectId=LAB, entityId=make_uuid(1))
    projects = (await driver.call("list_projects"))["projects"]

    for tool, array, rows in (
        ("list_projects", "projects", projects),
        ("search_entities", "entities", listed),
        ("get_entity_graph", "nodes", graph["nodes"]),
    ):
        assert list(rows[0]) == list(schemas[tool][array]["items"]["properties"])
    assert list(read) == list(schemas["get_entity"]["entity"]["properties"])
    assert read["comparisonTargets"] == []


async def test_instants_are_utc_in_milliseconds() -> None:
    given = {
        "2025-01-01T02:30:00.123999+02:30": "2025-01-01T00:00:00.123Z",
        "2024-12-31T19:00:00-05:00": "2025-01-01T00:00:00.000Z",
        "2025-01-01t00:00:00.5z": "2025-01-01T00:00:00.500Z",
        "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.9999Z": "9999-12-31T23:59:59.999Z",
    }
    rows = [
        entity_row(n, "news", "when", createdAt=when, updatedAt=when)
        for n, when in enumerate(given)
    ]
    driver = await make_filled_driver({**BARE, "entities": rows})

    reply = await driver.call("search_entities", projectId=LAB, query="when")

    listed = {row["id"]: (row["createdAt"], row["updatedAt"]) for row in reply["entities"]}
    assert listed == {make_uuid(n): (when, when) for n, when in enumerate(given.values())}
    assert list(listed) == [make_uuid(n) for n in (4, 2, 0, 1, 3)]


async def test_a_query_that_takes_too_long_is_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        driver = await make_filled_driver(hostile_names(), store.canon)
        monkeypatch.setattr(catalog, "SECONDS", 0.05)
        monkeypatch.setattr(catalog, "_search_catalog", lambda db, _: run_endlessly(db))

        error = await driver.refused("search_entities", projectId=LAB, query="a")

        assert error == {
            "code": "INTERNAL_ERROR",
            "message": "Tool execution timeout",
            "details": {"reason": "timeout"},
        }
    finally:
        await store.close()


async def test_many_sources_do_not_hide_the_only_neighbour() -> None:
    arrays: Arrays = {**BARE, "entities": [entity_row(n, "guide", f"g {n}") for n in range(1, 3)]}
    arrays["entities"].append(entity_row(3, "concept", "the neighbour"))
    arrays["sourceItems"] = [
        {
            **hostile_names()["sourceItems"][0],
            "id": make_uuid(1_000 + n),
            "url": f"https://example.org/{n}",
        }
        for n in range(250)
    ]
    arrays["relations"] = [
        relation_row(n, "GUIDE_REFERENCES_SOURCE", make_uuid(1), make_uuid(1_000 + n))
        for n in range(250)
    ]
    arrays["relations"].append(relation_row(999, "GUIDE_USES_CONCEPT", make_uuid(1), make_uuid(3)))
    driver = await make_filled_driver(arrays)

    asked = {"projectId": LAB, "entityId": make_uuid(1)}
    outcome = await driver.outcome("get_entity_graph", {**asked, "depth": 2})

    assert [node["title"] for node in outcome.body["nodes"]] == ["g 1", "the neighbour"]
    assert len(outcome.body["edges"]) == 1
    assert outcome.meta == {}
    counts = (await driver.call("get_entity", **asked))["entity"]["relationshipCounts"]
    assert counts == {"outgoing": 251, "incoming": 0}


async def test_two_projects_may_use_the_same_words_and_ids() -> None:
    def made(label: str) -> str:
        raw = bytearray(sha256(f"12345|{label}".encode()).digest()[:16])
        raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
        text = raw.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    both = [
        {**entity_row(7, "guide", f"of {name}", slug="shared-slug-12345"), "projectId": project}
        for name, project in (("a", LAB), ("b", OTHER))
    ]
    own = [{**row, "id": made(row["title"]), "slug": "own"} for row in both]
    driver = await make_filled_driver(
        {"projects": hostile_names()["projects"], "entities": [*both, *own]}
    )

    for project, row in ((LAB, own[1]), (OTHER, own[0])):
        foreign = await driver.outcome("get_entity", {"projectId": project, "entityId": row["id"]})
        absent = await driver.outcome("get_entity", {"projectId": project, "entityId": NOWHERE})
        assert foreign.text == absent.text
    titles = [
        (await driver.call("get_entity", projectId=project, entityId=make_uuid(7)))["entity"][
            "title"
        ]
        for project in (LAB, OTHER)
    ]
    assert titles == ["of a", "of b"]


@pytest.mark.parametrize("rel_type", RELATIONS)
def test_a_type_joins_exactly_its_two_kinds(rel_type: str) -> None:
    row = relation_row(1, rel_type, make_uuid(1), make_uuid(2))
    right = (RELATIONS[rel_type].source, RELATIONS[rel_type].target)

    taken = {
        (source, target)
        for source, target in product(ITEM_KINDS, repeat=2)
        if read_row(RELATION_ROWS, 0, {**row, "fromEntityType": source, "toEntityType": target})[0]
    }

    assert taken == {right}
    assert (rel_type in LINKS) == (set(right) <= set(CONTENT_KINDS))


def test_the_types_are_the_nineteen_of_the_contract() -> None:
    (tool,) = (each for each in published()["tools"] if each["name"] == "get_entity_graph")

    words = tool["inputSchema"]["properties"]["relationshipTypes"]["items"]["enum"]
    assert set(RELATIONS) == set(words)
    assert len(RELATIONS) == 19
    assert len(LINKS) == 6

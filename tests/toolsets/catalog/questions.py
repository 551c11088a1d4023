"""Every question that is asked of the hostile catalog, and its answers, as bytes."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.toolsets.catalog.kit import (
    EMPTY,
    LAB,
    NOWHERE,
    OTHER,
    SHARED,
    CatalogDriver,
    hostile_names,
    make_uuid,
)

TEXTS = (
    "%",
    "_",
    "\\",
    "a",
    "al",
    "ALPHA",
    "strasse",
    "\u00df",
    "caf\u00e9",
    "CAFE\u0301",
    "cafe",
    "i",
    "\u0130",
    "istanbul",
    "\U0001f409",
    '"',
    "guide-1",
    " ",
    "\u0301",
    "\x00",
    "drop table",
)


def yield_questions() -> Iterator[tuple[str, dict[str, Any]]]:
    """(tool, arguments)."""
    yield "list_projects", {}
    for project, text in product((LAB, OTHER, EMPTY, NOWHERE), TEXTS):
        yield "search_entities", {"projectId": project, "query": text}
    for text, kinds, limit in product(("a", "e"), ([], ["news"], ["guide", "concept"]), (1, 3)):
        asked = {"projectId": LAB, "query": text, "entityTypes": kinds, "limit": limit}
        yield "search_entities", asked
    ids = [row["id"] for row in hostile_names()["entities"]]
    for project, one in product((LAB, LAB.upper(), OTHER), (*ids, SHARED.upper(), NOWHERE)):
        yield "get_entity", {"projectId": project, "entityId": one}
    types: tuple[list[str], ...] = (
        [],
        ["GUIDE_USES_CONCEPT"],
        ["CONCEPT_RELATES_TO_CONCEPT", "VIDEO_EXPLAINS_CONCEPT"],
    )
    for one, depth, some in product((*ids, NOWHERE), (1, 2), types):
        asked = {"projectId": LAB, "entityId": one, "depth": depth, "relationshipTypes": some}
        yield "get_entity_graph", asked
    yield "get_entity_graph", {"projectId": LAB, "entityId": make_uuid(1)}


async def answer_texts(driver: CatalogDriver) -> list[str]:
    """The text of every answer, with what is told beside it."""
    found = []
    for tool, arguments in yield_questions():
        outcome = await driver.outcome(tool, arguments)
        found.append(f"{tool} {arguments} {outcome.text} {dict(outcome.meta)}")
    return found

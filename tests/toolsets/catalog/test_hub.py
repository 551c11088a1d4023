"""A hub of twenty thousand relations: its answers are those of a plain search, byte for byte.

No item may be joined to the hub by more than two relations, so that half as many items suffice:
guides that use and explain it, and concepts that it relates to and that relate to it.
"""

import json
import unicodedata
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import pytest

from canonry.app.embedded import open_embedded
from canonry.log.schemas.catalog_tables import CONTENT_KINDS
from canonry.stores.sqlite import Durability
from tests.toolsets.catalog.kit import (
    LAB,
    Arrays,
    CatalogDriver,
    entity_row,
    make_filled_driver,
    make_uuid,
    relation_row,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]
DEGREE: Final = 20_000
"""So many relations lead from the hub or to it, one to itself among them."""

BESIDE: Final = DEGREE // 2
NEAR: Final = BESIDE // 20
"""So many of the first items have the titles that come first, and relations among themselves."""

FAR: Final = 40
"""So many concepts are two steps away from the hub."""

NODES, EDGES = 100, 200
HUB: Final = make_uuid(0)
FIRST: Final = ("!a", "!A", "!\u00df", "!ss", "!SS", "!e\u0301", "!\u00e9", "!\u0130", "!%", "!_\\")
USES, EXPLAINS = "GUIDE_USES_CONCEPT", "GUIDE_EXPLAINS_CONCEPT"
RELATES = "CONCEPT_RELATES_TO_CONCEPT"
TRUNCATED = "dev.canonry/truncated"
DIGEST: Final = "e7743252a50f004ed5161c90f51fdf4329ca8340283bafe8cd055daadd46d431"


def kind_of(number: int) -> str:
    return "guide" if number % 2 else "concept"


def yield_entities() -> Iterator[dict[str, Any]]:
    yield entity_row(0, "concept", "The Hub", summary="what everything is about")
    for n in range(1, BESIDE + 1):
        word = f"{n * 7919 % 9973:x}"
        title = FIRST[n % len(FIRST)] if n <= NEAR else word.upper() if n % 3 else word
        yield entity_row(n, kind_of(n), title, slug=f"{n:x}", status=("draft", "archived")[n % 2])
    for n in range(FAR):
        yield entity_row(BESIDE + 1 + n, "concept", f"far {n % 7}", slug=f"far-{n}")


def yield_joins() -> Iterator[tuple[str, str, str]]:
    """(type, from, to) of every relation."""
    yield RELATES, HUB, HUB
    yield RELATES, HUB, make_uuid(2)
    for n in range(1, BESIDE + 1):
        if n % 2:
            yield USES, make_uuid(n), HUB
            yield EXPLAINS, make_uuid(n), HUB
        elif n > 2:  # the second has the place of the hub itself
            yield RELATES, make_uuid(n), HUB
            yield RELATES, HUB, make_uuid(n)
    for n in range(1, NEAR - 2):
        yield (
            (USES, make_uuid(n), make_uuid(n + 1))
            if n % 2
            else (RELATES, make_uuid(n), make_uuid(n + 2))
        )
    for n in range(FAR):
        far = make_uuid(BESIDE + 1 + n)
        yield RELATES, far, make_uuid(2 * (n + 1))
        yield RELATES, make_uuid(2 * (n % 5 + 1)), far


def a_catalog() -> Arrays:
    return {
        "projects": [{"id": LAB, "name": "lab", "slug": "lab"}],
        "entities": list(yield_entities()),
        "relations": [relation_row(n, *join, notes=f"{n}") for n, join in enumerate(yield_joins())],
    }


@dataclass(frozen=True)
class Plain:
    """A graph that is searched as one would by hand."""

    items: Mapping[str, Mapping[str, Any]]
    places: Mapping[str, tuple[str, str, str]]
    beside: Mapping[str, Sequence[Mapping[str, Any]]]

    def read_around(self, root: str, depth: int, types: Sequence[str]) -> tuple[Any, Any]:
        """The reply, and what is told beside it."""
        steps, cut = {root: 0}, False
        for step in range(1, depth + 1):
            level = [node for node, at in steps.items() if at == step - 1]
            come = {other for node in level for other in self._neighbours_of(node, types)}
            fresh = sorted(come - steps.keys(), key=self.places.__getitem__)
            room = NODES - len(steps)
            cut = cut or len(fresh) > room
            steps |= dict.fromkeys(fresh[:room], step)
        edges = {
            (row["fromEntityId"], row["toEntityId"], row["relationType"]): row["notes"]
            for node, at in steps.items()
            if at < depth
            for row in self._edge_rows(node, types)
            if row["fromEntityId"] in steps and row["toEntityId"] in steps
        }
        reported = {
            "nodes": [self._node_row(node, at) for node, at in steps.items()],
            "edges": [
                dict(zip(("fromEntityId", "toEntityId", "relationType", "notes"), row, strict=True))
                for row in [(*key, edges[key]) for key in sorted(edges)][:EDGES]
            ],
        }
        left_out = {"nodes": cut, "edges": len(edges) > EDGES}
        return reported, {TRUNCATED: left_out} if any(left_out.values()) else {}

    def count_edges(self, node: str) -> Mapping[str, int]:
        rows = self.beside[node]
        return {
            "outgoing": sum(row["fromEntityId"] == node for row in rows),
            "incoming": sum(row["toEntityId"] == node for row in rows),
        }

    def _edge_rows(self, node: str, types: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        return (row for row in self.beside[node] if not types or row["relationType"] in types)

    def _neighbours_of(self, node: str, types: Sequence[str]) -> Iterator[str]:
        for row in self._edge_rows(node, types):
            yield row["toEntityId"] if row["fromEntityId"] == node else row["fromEntityId"]

    def _node_row(self, node: str, depth: int) -> Mapping[str, Any]:
        row = {"summary": None, "status": "draft", **self.items[node]}
        names = ("id", "entityType", "title", "slug", "summary", "status")
        return {**{name: row[name] for name in names}, "depth": depth}


def place_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the sort key of an entity: its title without regard to case, its title, its id."""
    folded = unicodedata.normalize("NFC", row["title"]).casefold()
    return unicodedata.normalize("NFC", folded), row["title"], row["id"]


def make_plain(arrays: Arrays) -> Plain:
    beside: dict[str, list[Mapping[str, Any]]] = {row["id"]: [] for row in arrays["entities"]}
    for row in arrays["relations"]:
        assert {row["fromEntityType"], row["toEntityType"]} <= set(CONTENT_KINDS)
        for end in {row["fromEntityId"], row["toEntityId"]}:
            beside[end].append(row)
    items = {row["id"]: row for row in arrays["entities"]}
    places = {row["id"]: place_of(row) for row in arrays["entities"]}
    return Plain(items=items, places=places, beside=beside)


@dataclass(frozen=True)
class Hub:
    """The catalog as it was given and as it is served."""

    driver: CatalogDriver
    plain: Plain


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for the module, which the store lives on."""
    return "asyncio"


@pytest.fixture(scope="module")
async def hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hub]:
    arrays = a_catalog()
    store = await open_embedded(tmp_path_factory.mktemp("hub"), durability=Durability.NORMAL)
    try:
        yield Hub(driver=await make_filled_driver(arrays, store.canon), plain=make_plain(arrays))
    finally:
        await store.close()


def yield_questions() -> Iterator[tuple[str, int, list[str]]]:
    """(root, depth, types): the hub, those beside it, those two steps away, and a last one."""
    roots = (
        HUB,
        make_uuid(1),
        make_uuid(2),
        make_uuid(6),
        make_uuid(BESIDE),
        make_uuid(BESIDE + 1),
        make_uuid(BESIDE + FAR),
    )
    choices: tuple[list[str], ...] = (
        [],
        [USES],
        [RELATES],
        [EXPLAINS, USES],
        ["NEWS_REFERENCES_CONCEPT"],
    )
    for root in roots:
        for depth in (1, 2):
            for types in choices:
                yield root, depth, types


async def test_graphs_around_a_hub_equal_those_of_a_plain_search(hub: Hub) -> None:
    digest = sha256()
    for root, depth, types in yield_questions():
        arguments = {"projectId": LAB, "entityId": root, "depth": depth, "relationshipTypes": types}

        outcome = await hub.driver.outcome("get_entity_graph", arguments)

        reported, beside = hub.plain.read_around(root, depth, types)
        assert outcome.body == reported, arguments
        assert dict(outcome.meta) == beside, arguments
        digest.update(f"{outcome.text} {json.dumps(outcome.meta, sort_keys=True)}\n".encode())
    assert digest.hexdigest() == DIGEST


async def test_a_hub_counts_every_relation(hub: Hub) -> None:
    for node in (HUB, make_uuid(1), make_uuid(2), make_uuid(BESIDE + 1)):
        reply = await hub.driver.call("get_entity", projectId=LAB, entityId=node)
        assert reply["entity"]["relationshipCounts"] == hub.plain.count_edges(node)

    assert (
        sum(hub.plain.count_edges(HUB).values()) == DEGREE + 1
    )  # the one to itself has both its ends


async def test_neighbours_of_a_hub_are_found(hub: Hub) -> None:
    for text in ("hub", "!SS", "7f", "f"):
        reply = await hub.driver.call("search_entities", projectId=LAB, query=text, limit=50)

        sought = text.casefold()
        found = sorted(
            row["id"]
            for row in hub.plain.items.values()
            if any(
                sought in str(row.get(name) or "").casefold()
                for name in ("title", "slug", "summary")
            )
        )
        assert reply["totalCount"] == len(found)
        assert [row["id"] for row in reply["entities"]] == found[:50]

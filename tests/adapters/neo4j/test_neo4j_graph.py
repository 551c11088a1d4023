"""A person who opens Neo4j's browser finds the world there: labels, names and typed edges."""

import re
from collections.abc import AsyncIterator

import pytest

from canonry.log.entries import Erased, FactRetconned
from canonry.log.items.entities import EntityClass
from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph
from canonry.stores.neo4j.graph import OTHER_RELATION
from canonry.stores.projections.projector import Projector
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_named,
    a_relation,
    a_source,
    an_event,
    some_evidence,
    uuid_of,
)
from canonry.values.ids import EntityId, FactId
from canonry.values.provenance import EvidenceKind
from tests.conformance.neo4j_store import open_graphs
from tests.conformance.test_memory import open_memory
from tests.meta.tree import ROOT

pytestmark = pytest.mark.anyio
FROM = """
MATCH (a:Thing {store: $store, id: $id})-[r]->(b:Thing) RETURN type(r), b.name, properties(r)
ORDER BY type(r), b.name
"""


class Walked:
    """A world that was stated in memory, and the graph that shows it."""

    def __init__(self, scribe: Scribe, projector: Projector, database: Neo4jDatabase) -> None:
        self.scribe = scribe
        self.database = database
        self._projector = projector

    async def read_edges(self, name: str) -> list[tuple[str, str | None]]:
        await self._projector.catch_up()
        return [
            (kind, to)
            for kind, to, _ in await self.database.fetch_rows(FROM, {"id": uuid_of(name)})
        ]

    async def read_node(self, name: str) -> tuple[set[str], dict[str, object]]:
        await self._projector.catch_up()
        asked = "MATCH (t:Thing {store: $store, id: $id}) RETURN labels(t), properties(t)"
        ((labels, bears),) = await self.database.fetch_rows(asked, {"id": uuid_of(name)})
        return set(labels), bears


@pytest.fixture
async def walked() -> AsyncIterator[Walked]:
    async with open_graphs() as opened:
        database, log = await opened.open_database(), await open_memory()
        canon = log.canon
        shown = Neo4jGraph(database)
        projector = Projector(ledger=canon.ledger, state=canon.state, others=(shown,))
        yield Walked(Scribe(log.canon), projector, database)


async def test_an_entity_has_labels_of_its_types(walked: Walked) -> None:
    await walked.scribe.write_entries(*a_named("Frodo", entity_type="character"))
    await walked.scribe.write_entries(*a_named("Oddity", entity_type="word of an agent"))

    labels, bears = await walked.read_node("Frodo")

    assert labels == {"Thing", "Entity", "EntityInstance", "Character"}
    assert (bears["name"], bears["level"], bears["space"]) == ("Frodo", "canon", MIDDLE_EARTH)
    assert (await walked.read_node("Oddity"))[0] == {"Thing", "Entity", "EntityInstance"}


async def test_relations_are_edges_of_their_types(walked: Walked) -> None:
    await walked.scribe.write_entries(*a_named("Frodo"), *a_named("Shire"))
    await walked.scribe.make_items(
        a_relation("at home", "Frodo", "Shire", rel_type="LOCATED_IN"),
        a_relation("longs", "Frodo", "Shire", rel_type="LONGS_FOR"),
    )

    assert await walked.read_edges("Frodo") == [("LOCATED_IN", "Shire"), (OTHER_RELATION, "Shire")]
    ((_, _, at_home), (_, _, longs)) = await walked.database.fetch_rows(
        FROM, {"id": uuid_of("Frodo")}
    )
    assert (at_home["current"], at_home["by"]) == (True, uuid_of("at home"))
    assert longs["rel_type"] == "LONGS_FOR"


async def test_facts_and_events_link_to_entities_and_evidence(
    walked: Walked,
) -> None:
    kind = EntityClass.ARCHETYPE
    await walked.scribe.write_entries(*a_named("Hobbit", entity_class=kind))
    await walked.scribe.write_entries(*a_named("Frodo", derives_from=EntityId(uuid_of("Hobbit"))))
    await walked.scribe.make_items(a_source("Red Book", title="Red Book"))
    shown = some_evidence("Red Book", EvidenceKind.SOURCE)
    await walked.scribe.make_items(
        a_fact("is small", "Frodo", statement="is small", evidence=shown),
        an_event("party", "Frodo", title="party", causes=(uuid_of("leaving"),), scene_id=None),
    )

    assert await walked.read_edges("Frodo") == [("DERIVES_FROM", "Hobbit")]
    involved = await walked.read_edges("is small")
    assert involved == [("INVOLVES", "Frodo"), ("SUPPORTED_BY", "Red Book")]
    assert ("CAUSES", None) in await walked.read_edges("party")
    await walked.scribe.make_items(an_event("leaving", title="leaving"))
    assert ("CAUSES", "leaving") in await walked.read_edges("party")


async def test_a_replacement_links_to_the_replaced_item(walked: Walked) -> None:
    await walked.scribe.make_items(a_fact("old", statement="old"), a_fact("new", statement="new"))
    old, new = FactId(uuid_of("old")), FactId(uuid_of("new"))
    await walked.scribe.write_entries(FactRetconned(fact_id=old, replaced_by=new, reason="a slip"))

    assert ("REPLACES", "old") in await walked.read_edges("new")
    assert (await walked.read_node("old"))[1]["level"] == "retconned"


async def test_erased_items_leave_no_text(walked: Walked) -> None:
    await walked.scribe.write_entries(*a_named("Frodo"))
    await walked.scribe.make_items(a_fact("secret", "Frodo", statement="the ring is here"))
    await walked.read_edges("secret")
    await walked.scribe.write_entries(Erased(targets=(uuid_of("secret"),), reason="a right"))

    labels, bears = await walked.read_node("secret")

    assert labels == {"Thing", "Tombstone"}
    assert "ring" not in repr(bears)
    assert await walked.read_edges("secret") == []
    left = "MATCH (n) WHERE n.store = $store AND n.body CONTAINS 'the ring' RETURN count(n)"
    assert await walked.database.fetch_rows(left) == [[0]]


async def test_queries_shown_in_the_documentation_have_results(walked: Walked) -> None:
    page = (ROOT / "docs" / "how-to" / "graph.md").read_text(encoding="utf-8")
    asked = re.findall(r"```cypher\n(.*?)```", page, re.DOTALL)
    await walked.scribe.write_entries(*a_named("Frodo"), *a_named("Shire"))
    await walked.scribe.make_items(
        a_relation("at home", "Frodo", "Shire", rel_type="LOCATED_IN"),
        a_fact("is small", "Frodo"),
        an_event("walk", title="A walk", causes=(uuid_of("end"),)),
        an_event("end", title="The ring is destroyed"),
    )
    await walked.read_edges("end")

    assert len(asked) == 3
    for question in asked:
        assert await walked.database.fetch_rows(question) != [], question

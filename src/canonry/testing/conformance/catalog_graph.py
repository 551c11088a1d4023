"""The part of the catalog contract that is about entities and the graphs around them."""

from typing import Any, Final

import pytest

from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, Erased, RelationEnded
from canonry.readmodels.catalog import item_row
from canonry.readmodels.ports.catalog import CatalogGraph, GraphQuery
from canonry.testing.catalogs import (
    PROJECT,
    a_link,
    a_link_id,
    a_project,
    a_revised_item,
    an_item,
    an_item_id,
)
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.scribe import Scribe
from canonry.testing.things import ident
from canonry.values.errors import NotFound
from canonry.values.ids import RelationId, SpaceId

RELATES: Final = "CONCEPT_RELATES_TO_CONCEPT"
USES: Final = "GUIDE_USES_CONCEPT"


async def around(backend: Backend, root: str, **more: Any) -> CatalogGraph:
    """The graph around the concept of this name."""
    query = GraphQuery(**{"project": PROJECT, "entity_id": ident(root), "depth": 2, **more})
    return await backend.canon.catalog.graph(query)


def nodes(graph: CatalogGraph) -> list[tuple[str, int]]:
    """Titles and steps, in order."""
    return [(item_row(node.entity)["title"], node.depth) for node in graph.nodes]


def edges(graph: CatalogGraph) -> list[tuple[str, str, str]]:
    """(from, to, type), in order."""
    return [(edge.source, edge.target, edge.relation.rel_type) for edge in graph.edges]


async def linked(backend: Backend, *pairs: tuple[str, str], **more: Any) -> Scribe:
    """Concepts of one letter, related as the pairs say; `more` gives links of their own."""
    scribe = Scribe(backend.canon, space=PROJECT)
    await scribe.make(a_project())
    for name in sorted({name for pair in pairs for name in pair}):
        await scribe.write(*an_item(name))
    for source, target in pairs:
        await scribe.make(link(source, target))
    for entries in more.values():
        await scribe.write(*entries)
    return scribe


def link(source: str, target: str, rel_type: str = RELATES) -> Any:
    """A relation between two concepts, or from a guide, called by its ends."""
    kind = "guide" if rel_type == USES else "concept"
    return a_link(f"{source}{target}{rel_type}", rel_type, (kind, source), ("concept", target))


def link_id(source: str, target: str) -> RelationId:
    """The relation between two concepts."""
    return RelationId(a_link_id(f"{source}{target}{RELATES}"))


def ended(source: str, target: str) -> RelationEnded:
    """The entry that ends the relation between two concepts."""
    return RelationEnded(
        relation_id=link_id(source, target), until=None, superseded_by=None, reason=""
    )


class CatalogGraphContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "catalog:entry:counts",
        because="A reader sees how connected an entity is before asking for its graph.",
    )
    async def test_relations_are_counted_at_both_ends(self, backend: Backend) -> None:
        """Every relation of a catalog that holds is counted at both of its ends.

        One to itself is counted twice.
        """
        scribe = await linked(backend, ("a", "b"), ("a", "c"), ("c", "a"), ("a", "a"))
        await scribe.write(*an_item("item", "sourceItem", url="x"))
        await scribe.make(
            a_link("s", "CONCEPT_REFERENCES_SOURCE", ("concept", "a"), ("sourceItem", "item"))
        )
        await scribe.write(ended("a", "b"))
        await scribe.make(a_link("k", "KNOWS", ("concept", "a"), ("concept", "b")))

        entry = await backend.canon.catalog.entry(PROJECT, ident("a"))

        assert (entry.outgoing, entry.incoming) == (3, 2)
        assert entry.entity.name == "a"

    @requirement("catalog:entry:unknown", because="A refusal must not tell which of them it was.")
    async def test_what_is_not_there_is_refused_alike(self, backend: Backend) -> None:
        """What is no entity of the project raises NotFound `entity.unknown`.

        So do an entity of another project, an item of another kind and none at all.
        """
        scribe = await linked(backend, ("a", "b"))
        await scribe.write(*an_item("item", "sourceItem", url="x"))
        other = SpaceId(ident("other"))
        foreign = Scribe(backend.canon, name="other", space=other)
        await foreign.make(a_project("other"))
        await foreign.write(*an_item("foreign", project=other))
        catalog, told = backend.canon.catalog, set[str]()

        for name in ("foreign", "item", "nobody"):
            with pytest.raises(NotFound) as refused:
                await catalog.entry(PROJECT, ident(name))
            told.add(f"{refused.value} {refused.value.details}")
            with pytest.raises(NotFound) as refused:
                await around(backend, name)
            told.add(f"{refused.value} {refused.value.details}")

        assert len(told) == 1
        with pytest.raises(NotFound) as absent:
            await catalog.entry(SpaceId(ident("nowhere")), ident("a"))
        assert absent.value.code == "project.unknown"

    @requirement("catalog:graph:steps", because="Equal questions have equal answers.")
    async def test_nodes_have_the_least_steps(self, backend: Backend) -> None:
        """Nodes have the least number of steps from the root, along relations in either direction.

        Only relations of the given types count. Nodes come by steps, title without regard to case,
        title, id.
        """
        scribe = await linked(
            backend, ("a", "d"), ("c", "a"), ("d", "e"), ("e", "f"), ("c", "d"), ("e", "b")
        )
        await scribe.write(*an_item("C", title="C"))
        await scribe.make(link("a", "C"))

        two, one = await around(backend, "a"), await around(backend, "a", depth=1)

        assert nodes(two) == [("a", 0), ("C", 1), ("c", 1), ("d", 1), ("e", 2)]
        assert nodes(one) == [("a", 0), ("C", 1), ("c", 1), ("d", 1)]
        assert not two.more_nodes

    @requirement(
        "catalog:graph:edges",
        because="A client draws what it gets, and must not find an end missing.",
    )
    async def test_edges_join_what_was_looked_at(self, backend: Backend) -> None:
        """Edges join nodes that are told, of which one was looked at, each once.

        They keep their own direction, and come by the ids of their ends and their type.
        """
        guide = (*an_item("g", "guide"),)
        scribe = await linked(
            backend, ("a", "b"), ("b", "a"), ("a", "c"), ("b", "c"), ("a", "a"), guide=guide
        )
        await scribe.make(link("g", "a", USES))
        await scribe.make(
            a_link("also", "GUIDE_EXPLAINS_CONCEPT", ("guide", "g"), ("concept", "a"))
        )
        told = [("a", "b"), ("b", "a"), ("a", "c"), ("a", "a")]
        near = {(ident(x), ident(y), RELATES) for x, y in told}
        near |= {(ident("g"), ident("a"), kind) for kind in (USES, "GUIDE_EXPLAINS_CONCEPT")}

        one, two = await around(backend, "a", depth=1), await around(backend, "a")

        assert edges(one) == sorted(near)
        assert edges(two) == sorted({*near, (ident("b"), ident("c"), RELATES)})

    @requirement("catalog:graph:bounds", because="A hub must not bury its own entity.")
    async def test_a_graph_has_bounds(self, backend: Backend) -> None:
        """The root is always told, and of others as many as there is room for, in their order.

        What had no room is told.
        """
        scribe = await linked(backend, *(("z", f"n{n}") for n in range(9)), ("n0", "m"))
        await scribe.make(link("n1", "n0"))

        small = await around(backend, "z", nodes_max=4, edges_max=2)
        exact = await around(backend, "z", nodes_max=10, depth=1)
        full = await around(backend, "z", nodes_max=10, depth=2)

        assert nodes(small) == [("z", 0), ("n0", 1), ("n1", 1), ("n2", 1)]
        kept = {ident(name) for name in ("z", "n0", "n1", "n2")}
        assert len(small.edges) == 2
        assert all({edge.source, edge.target} <= kept for edge in small.edges)
        assert (small.more_nodes, small.more_edges) == (True, True)
        assert (exact.more_nodes, exact.more_edges) == (False, False)
        assert (full.more_nodes, len(full.nodes)) == (True, 10)

    @requirement(
        "catalog:graph:entities",
        because="An id that a source item shares with an entity must not make it one.",
    )
    async def test_a_graph_holds_entities_alone(self, backend: Backend) -> None:
        """Relations to items that are no entities are neither followed nor told.

        An entity that was erased is gone from every graph.
        """
        scribe = await linked(backend, ("a", "b"), ("b", "c"))
        await scribe.write(*an_item("c", "sourceItem", url="x"))
        await scribe.make(
            a_link("s", "CONCEPT_REFERENCES_SOURCE", ("concept", "a"), ("sourceItem", "c"))
        )

        one = await around(backend, "a", depth=1)
        await scribe.write(Erased(targets=(an_item_id("b"),), reason=""))
        lonely = await around(backend, "a")

        assert nodes(one) == [("a", 0), ("b", 1)]
        assert nodes(lonely) == [("a", 0)]
        assert edges(lonely) == []

    @requirement("catalog:graph:follows", because="A view is what the records lead to.")
    async def test_a_graph_follows_what_happens(self, backend: Backend) -> None:
        """A graph follows when an entity is called otherwise and when a relation ends.

        Also when a merger of entities is undone.
        """
        scribe = await linked(backend, ("a", "b"), ("c", "a"), ("a", "d"), ("d", "d"))
        await scribe.make(a_revised_item("b", title="x", slug="b"))
        await scribe.make(a_revised_item("d", title="0", slug="d"))
        assert nodes(await around(backend, "a")) == [("a", 0), ("0", 1), ("c", 1), ("x", 1)]

        kept, merged = an_item_id("a"), an_item_id("c")
        await scribe.write(EntitiesMerged(kept=kept, merged=merged, members=(), reason=""))
        await scribe.write(ended("a", "b"))
        assert nodes(await around(backend, "a")) == [("a", 0), ("0", 1)]

        await scribe.write(EntitiesUnmerged(kept=kept, separated=merged, remaining=(), reason=""))
        assert nodes(await around(backend, "a")) == [("a", 0), ("0", 1), ("c", 1)]
        types = frozenset((USES,))
        assert nodes(await around(backend, "a", rel_types=types)) == [("a", 0)]

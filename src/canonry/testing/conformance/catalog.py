"""Promises of the port `Catalog`."""

import json
from importlib.resources import files
from typing import Any, Final

import pytest

from canonry.log.entries import (
    EntitiesMerged,
    EntitiesUnmerged,
    EntityRetconned,
    Erased,
    RelationEnded,
)
from canonry.log.folding import thing_key
from canonry.readmodels.catalog import item_row
from canonry.readmodels.ports.documents import (
    PLACE_BEFORE_ALL,
    CatalogGraph,
    CatalogQuery,
    GraphQuery,
)
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.things import (
    PROJECT,
    a_link,
    a_link_id,
    a_project,
    a_revised_item,
    a_space,
    an_item,
    an_item_id,
    ident,
    made,
)
from canonry.testing.worlds import Scribe, an_append
from canonry.values.errors import NotFound

RELATES: Final = "CONCEPT_RELATES_TO_CONCEPT"
USES: Final = "GUIDE_USES_CONCEPT"


async def around(backend: Backend, root: str, **more: Any) -> CatalogGraph:
    """Return the graph around the concept with this name."""
    query = GraphQuery(**{"project": PROJECT, "entity_id": ident(root), "depth": 2, **more})
    return await backend.canon.catalog.graph(query)


def nodes(graph: CatalogGraph) -> list[tuple[str, int]]:
    """Return titles and steps, in order."""
    return [(item_row(node.entity)["title"], node.depth) for node in graph.nodes]


def edges(graph: CatalogGraph) -> list[tuple[str, str, str]]:
    """Return (from, to, type), in order."""
    return [(edge.source, edge.target, edge.relation.rel_type) for edge in graph.edges]


async def linked(backend: Backend, *pairs: tuple[str, str], **more: Any) -> Scribe:
    """Write concepts with one-letter names and relations between the pairs; `more` has entries."""
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
    """Return a relation between two concepts, or from a guide, with an id from its ends."""
    return a_link(f"{source}{target}{rel_type}", rel_type, source, target)


def ended(source: str, target: str) -> RelationEnded:
    """Return the entry that ends the relation between two concepts."""
    link_id = a_link_id(f"{source}{target}{RELATES}")
    return RelationEnded(relation_id=link_id, until=None, superseded_by=None, reason="")


OTHER: Final = ident("other project")
_TITLES: Final = json.loads(files(__package__).joinpath("titles.json").read_text("utf-8"))
TITLES: Final[tuple[str, ...]] = tuple(_TITLES["titles"])
SOUGHT: Final = {text: set[str](titles) for text, titles in _TITLES["sought"].items()}


async def titles(backend: Backend, text: str, **more: Any) -> list[str]:
    """Return the titles of the hits, in order."""
    query = CatalogQuery(**{"project": PROJECT, "text": text, "limit": 50, **more})
    return [entity.name for entity in (await backend.canon.catalog.search(query)).items]


async def a_catalog(backend: Backend, *names: str) -> Scribe:
    """Write the project with concepts of these titles. Their slugs are numbers."""
    scribe = Scribe(backend.canon, space=PROJECT)
    await scribe.make(a_project())
    for n, name in enumerate(names):
        await scribe.write(*an_item(f"item {n}", title=name, slug=str(n)))
    return scribe


class CatalogContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("catalog:entry:counts")
    async def test_relations_are_counted_at_both_ends(self, backend: Backend) -> None:
        """Every current relation of a catalog is counted at both of its ends.

        A relation of an entity to itself is counted twice.
        """
        scribe = await linked(backend, ("a", "b"), ("a", "c"), ("c", "a"), ("a", "a"))
        await scribe.write(*an_item("item", "sourceItem", url="x"))
        await scribe.make(a_link("s", "CONCEPT_REFERENCES_SOURCE", "a", "item"))
        await scribe.write(ended("a", "b"))
        await scribe.make(a_link("k", "KNOWS", "a", "b"))

        entry = await backend.canon.catalog.entry(PROJECT, ident("a"))

        assert (entry.outgoing, entry.incoming) == (3, 2)
        assert entry.entity.name == "a"

    @requirement("catalog:entry:unknown")
    async def test_what_is_not_there_is_refused_alike(self, backend: Backend) -> None:
        """An id that is not an entity of the project raises NotFound `entity.unknown`.

        This includes entities of other projects, items of other kinds, and unknown ids.
        """
        scribe = await linked(backend, ("a", "b"))
        await scribe.write(*an_item("item", "sourceItem", url="x"))
        other = ident("other")
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
        with pytest.raises(NotFound, match=r"^project\.unknown:"):
            await catalog.entry(ident("nowhere"), ident("a"))

    @requirement("catalog:graph:steps")
    async def test_nodes_have_the_least_steps(self, backend: Backend) -> None:
        """Nodes have the least number of steps from the root, along relations in either direction.

        Only relations of the given types count. Nodes are sorted by steps, title without regard to
        case, title, id.
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

    @requirement("catalog:graph:edges")
    async def test_edges_join_what_was_looked_at(self, backend: Backend) -> None:
        """Edges join returned nodes, one of which was expanded. Each edge is returned once.

        Edges keep their direction, and are sorted by the ids of their ends and their type.
        """
        guide = (*an_item("g", "guide"),)
        scribe = await linked(
            backend, ("a", "b"), ("b", "a"), ("a", "c"), ("b", "c"), ("a", "a"), guide=guide
        )
        await scribe.make(link("g", "a", USES))
        await scribe.make(a_link("also", "GUIDE_EXPLAINS_CONCEPT", "g", "a"))
        told = [("a", "b"), ("b", "a"), ("a", "c"), ("a", "a")]
        near = {(ident(x), ident(y), RELATES) for x, y in told}
        near |= {(ident("g"), ident("a"), kind) for kind in (USES, "GUIDE_EXPLAINS_CONCEPT")}

        one, two = await around(backend, "a", depth=1), await around(backend, "a")

        assert edges(one) == sorted(near)
        assert edges(two) == sorted({*near, (ident("b"), ident("c"), RELATES)})

    @requirement("catalog:graph:bounds")
    async def test_a_graph_has_bounds(self, backend: Backend) -> None:
        """A graph contains the root and as many other nodes as there is room for, in their order.

        It reports whether some nodes had no room.
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

    @requirement("catalog:graph:entities")
    async def test_a_graph_holds_entities_alone(self, backend: Backend) -> None:
        """Relations to items that are not entities are neither followed nor returned.

        An erased entity is in no graph.
        """
        scribe = await linked(backend, ("a", "b"), ("b", "c"))
        await scribe.write(*an_item("c", "sourceItem", url="x"))
        await scribe.make(a_link("s", "CONCEPT_REFERENCES_SOURCE", "a", "c"))

        one = await around(backend, "a", depth=1)
        await scribe.write(Erased(targets=(an_item_id("b"),), reason=""))
        lonely = await around(backend, "a")

        assert nodes(one) == [("a", 0), ("b", 1)]
        assert nodes(lonely) == [("a", 0)]
        assert edges(lonely) == []

    @requirement("catalog:graph:follows")
    async def test_a_graph_follows_what_happens(self, backend: Backend) -> None:
        """A graph changes when an entity is renamed and when a relation ends.

        It also changes when a merge of entities is undone.
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

    @requirement("catalog:projects:order")
    async def test_projects_come_by_name(self, backend: Backend) -> None:
        """Projects are sorted by name without regard to case, name and id, up to the limit."""
        names = ("beta", "Alpha", "alpha", "\u00c4rger", "Beta", "zoo")
        for name in names:
            await Scribe(backend.canon, name=name, space=ident(name)).make(a_project(name))
        await Scribe(backend.canon).open("no project")

        told = await backend.canon.catalog.projects(None, limit=100)
        first = await backend.canon.catalog.projects(None, limit=2)

        expected = ["Alpha", "alpha", "Beta", "beta", "zoo", "\u00c4rger"]
        assert [space.name for space in told] == expected
        assert [space.name for space in first] == expected[:2]

    @requirement("catalog:projects:own")
    async def test_only_the_given_projects_are_told(self, backend: Backend) -> None:
        """Of the given spaces only projects are returned."""
        await Scribe(backend.canon, space=PROJECT).make(a_project())
        other = a_project("other project")
        await Scribe(backend.canon, name="other", space=OTHER).make(other)
        await Scribe(backend.canon).open("universe")
        spaces = frozenset((OTHER, a_space("universe").id, ident("nothing")))

        told = await backend.canon.catalog.projects(spaces, limit=100)

        assert [space.id for space in told] == [OTHER]

    @requirement("catalog:search:literal")
    async def test_a_text_is_found_as_it_is(self, backend: Backend) -> None:
        """A text is found wherever it occurs in title, slug or summary, character by character.

        Case and canonical form make no difference. No character is a wildcard.
        """
        scribe = await a_catalog(backend, *TITLES)
        await scribe.write(*an_item("slugged", title="plain", slug="a%b_c"))
        await scribe.write(*an_item("told", title="silent", summary="Summed UP here"))

        for text, expected in SOUGHT.items():
            found = set(await titles(backend, text)) - {"plain"}
            assert found == expected, text

        assert await titles(backend, "A%B_C") == ["plain"]
        assert await titles(backend, "summed up") == ["silent"]
        assert await titles(backend, "silentsummed") == []

    @requirement("catalog:search:order")
    async def test_the_newest_come_first_and_all_are_counted(self, backend: Backend) -> None:
        """Matches are sorted newest first, then by id. The total includes those past the limit."""
        scribe = Scribe(backend.canon, space=PROJECT)
        await scribe.make(a_project())
        times = ("2025-01-01", "2025-03-01", "2025-02-01", "2025-03-01")
        for n, day in enumerate(times):
            when = f"{day}T00:00:00.000Z"
            await scribe.write(*an_item(f"r{n}", title=f"found {n}", updatedAt=when))
        equal = sorted((1, 3), key=lambda n: ident(f"r{n}"))

        query = CatalogQuery(project=PROJECT, text="found", limit=3)
        found = await backend.canon.catalog.search(query)

        expected = [f"found {n}" for n in (*equal, 2)]
        assert [entity.name for entity in found.items] == expected
        assert found.total == len(times)

    @requirement("catalog:search:kinds")
    async def test_only_entities_of_the_kinds_match(self, backend: Backend) -> None:
        """Only entities of the given kinds match; without kinds, all entities match.

        No other item ever matches.
        """
        scribe = Scribe(backend.canon, space=PROJECT)
        await scribe.make(a_project())
        for kind in ("guide", "concept", "project", "news"):
            await scribe.write(*an_item(f"a {kind}", kind, title=f"one {kind}"))
        await scribe.write(*an_item("item", "sourceItem", url="one item"))

        some = await titles(backend, "one", kinds=frozenset(("guide", "news")))

        assert set(some) == {"one guide", "one news"}
        assert len(await titles(backend, "one")) == 4

    @requirement("catalog:search:own")
    async def test_a_search_sees_one_project(self, backend: Backend) -> None:
        """A search covers one project. An unknown project raises NotFound `project.unknown`."""
        await a_catalog(backend, "here")
        other = Scribe(backend.canon, name="other", space=OTHER)
        await other.make(a_project("other project"))
        await other.write(*an_item("there", title="here too", project=OTHER))
        await Scribe(backend.canon).open("universe")

        assert await titles(backend, "here") == ["here"]
        for stranger in ("universe", "nothing"):
            with pytest.raises(NotFound, match=r"^project\.unknown:"):
                await titles(backend, "here", project=ident(stranger))

    @requirement("catalog:search:follows")
    async def test_an_old_name_is_not_found_any_more(self, backend: Backend) -> None:
        """A former name of an entity is no longer found after a change.

        A retconned or erased entity is not found either.
        """
        scribe = await a_catalog(backend, "first name", "gone name", "erased name")
        await scribe.make(a_revised_item("item 0", title="second name", slug="0"))
        gone, erased = an_item_id("item 1"), an_item_id("item 2")
        await scribe.write(EntityRetconned(entity_id=gone, replaced_by=None, reason=""))
        await scribe.write(Erased(targets=(erased,), reason=""))

        assert await titles(backend, "first") == []
        assert await titles(backend, "name") == ["second name"]
        query = CatalogQuery(project=PROJECT, text="n")
        assert (await backend.canon.catalog.search(query)).total == 1

    @requirement("catalog:bearers:told")
    async def test_who_bears_a_word_is_told(self, backend: Backend) -> None:
        """`bearers` and `projects_called` return the owners of a slug or an address.

        `joined` returns the relation that holds between two items.
        """
        scribe = await a_catalog(backend, "one", "two")
        await scribe.write(*an_item("item", "sourceItem", url="https://example.org"))
        link = a_link("link", RELATES, "item 0", "item 1")
        await scribe.make(link)
        catalog = backend.canon.catalog

        words = [("concept", "0"), ("guide", "0"), ("sourceItem", "https://example.org")]
        assert await catalog.bearers(PROJECT, words) == {
            ("concept", "0"): ident("item 0"),
            ("sourceItem", "https://example.org"): ident("item"),
        }
        assert await catalog.projects_called(["project", "x"]) == {"project": PROJECT}
        triple = (link.from_id, link.rel_type, link.to_id)
        turned = (link.to_id, link.rel_type, link.from_id)
        assert await catalog.joined([triple, turned]) == {triple: link.id}

        end = RelationEnded(relation_id=link.id, until=None, superseded_by=None, reason="")
        await scribe.write(end)
        assert await catalog.joined([triple]) == {}

    @requirement("catalog:items:paged")
    async def test_items_and_relations_are_paged(self, backend: Backend) -> None:
        """`items` and `relations_from` return everything once, in order, page by page."""
        names = [f"item {n}" for n in range(7)]
        scribe = await a_catalog(backend, *names)
        links = [a_link(f"l{n}", RELATES, names[0], to) for n, to in enumerate(names)]
        await scribe.append([an_append("links", made(*links), space=PROJECT)])
        catalog = backend.canon.catalog
        words, relations = list[str](), list[str]()

        after = PLACE_BEFORE_ALL
        while page := await catalog.items(PROJECT, "concept", after=after, limit=3):
            words += [str(entity.properties["slug"]) for entity in page]
            after = (words[-1], str(page[-1].properties["id"]))
        after = PLACE_BEFORE_ALL
        hub = an_item_id(names[0])
        while found := await catalog.relations_from(hub, after=after, limit=3):
            relations += [relation.to_id for relation in found]
            after = (found[-1].to_id, found[-1].rel_type)

        assert words == [str(n) for n in range(7)]
        assert relations == sorted(an_item_id(name) for name in names)
        assert thing_key(hub)

"""Promises of the port `Catalog`."""

from typing import Final

import pytest

from canonry.log.entries import RelationEnded
from canonry.log.folding import item_key
from canonry.readmodels.ports.documents import BEFORE_ALL_ITEMS, GraphQuery
from canonry.testing.clocks import Scribe, an_append
from canonry.testing.conformance.cases import DeclaredContract
from canonry.testing.conformance.kit import Backend, requirement
from canonry.testing.example_items import (
    PROJECT,
    a_link,
    a_project,
    an_item,
    an_item_id,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import NotFound

RELATES: Final = "CONCEPT_RELATES_TO_CONCEPT"


async def a_catalog(backend: Backend, *names: str) -> Scribe:
    """Write the project with concepts of these titles. Their slugs are numbers."""
    scribe = Scribe(backend.canon, space=PROJECT)
    await scribe.make_items(a_project())
    for n, name in enumerate(names):
        await scribe.write_entries(*an_item(f"item {n}", title=name, slug=str(n)))
    return scribe


class CatalogContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("catalog:entry:unknown")
    async def test_what_is_not_there_is_refused_alike(self, backend: Backend) -> None:
        """An id that is not an entity of the project raises NotFound `entity.unknown`.

        This includes entities of other projects, items of other kinds, and unknown ids.
        """
        scribe = await a_catalog(backend, "a", "b")
        await scribe.write_entries(*an_item("item", "sourceItem", url="x"))
        other = uuid_of("other")
        foreign = Scribe(backend.canon, name="other", space=other)
        await foreign.make_items(a_project("other"))
        await foreign.write_entries(*an_item("foreign", project=other))
        catalog, refusals = backend.canon.catalog, set[str]()

        for name in ("foreign", "item", "nobody"):
            with pytest.raises(NotFound) as refused:
                await catalog.find_entry(PROJECT, uuid_of(name))
            refusals.add(f"{refused.value} {refused.value.details}")
            with pytest.raises(NotFound) as refused:
                await catalog.find_graph(GraphQuery(project=PROJECT, entity_id=uuid_of(name)))
            refusals.add(f"{refused.value} {refused.value.details}")

        assert len(refusals) == 1
        with pytest.raises(NotFound, match=r"^project\.unknown:"):
            await catalog.find_entry(uuid_of("nowhere"), uuid_of("a"))

    @requirement("catalog:bearers:told")
    async def test_owners_of_a_word_are_returned(self, backend: Backend) -> None:
        """`bearers` and `projects_called` return the owners of a slug or an address.

        `joined` returns the relation that holds between two items.
        """
        scribe = await a_catalog(backend, "one", "two")
        await scribe.write_entries(*an_item("item", "sourceItem", url="https://example.org"))
        link = a_link("link", RELATES, "item 0", "item 1")
        await scribe.make_items(link)
        catalog = backend.canon.catalog

        words = [("concept", "0"), ("guide", "0"), ("sourceItem", "https://example.org")]
        assert await catalog.handle_owners(PROJECT, words) == {
            ("concept", "0"): uuid_of("item 0"),
            ("sourceItem", "https://example.org"): uuid_of("item"),
        }
        assert await catalog.projects_called(["project", "x"]) == {"project": PROJECT}
        triple = (link.from_id, link.rel_type, link.to_id)
        turned = (link.to_id, link.rel_type, link.from_id)
        assert await catalog.current_relations([triple, turned]) == {triple: link.id}

        end = RelationEnded(relation_id=link.id, until=None, superseded_by=None, reason="")
        await scribe.write_entries(end)
        assert await catalog.current_relations([triple]) == {}

    @requirement("catalog:items:paged")
    async def test_items_and_relations_are_paged(self, backend: Backend) -> None:
        """`items` and `relations_from` return everything once, in order, page by page."""
        names = [f"item {n}" for n in range(7)]
        scribe = await a_catalog(backend, *names)
        links = [a_link(f"l{n}", RELATES, names[0], to) for n, to in enumerate(names)]
        await scribe.append_batch([an_append("links", creation_entries(*links), space=PROJECT)])
        catalog = backend.canon.catalog
        words, relations = list[str](), list[str]()

        after = BEFORE_ALL_ITEMS
        while page := await catalog.list_items(PROJECT, "concept", after=after, limit=3):
            words += [str(entity.properties["slug"]) for entity in page]
            after = (words[-1], str(page[-1].properties["id"]))
        after = BEFORE_ALL_ITEMS
        hub = an_item_id(names[0])
        while found := await catalog.relations_from(hub, after=after, limit=3):
            relations += [relation.to_id for relation in found]
            after = (found[-1].to_id, found[-1].rel_type)

        assert words == [str(n) for n in range(7)]
        assert relations == sorted(an_item_id(name) for name in names)
        assert item_key(hub)

"""The contract of the port `Catalog`: projects, search, and the owners of identifiers."""

from typing import Any, Final

import pytest

from canonry.log.entries import EntityRetconned, Erased, RelationEnded
from canonry.log.keys import thing_key
from canonry.readmodels.ports.catalog import PLACE_BEFORE_ALL, CatalogQuery
from canonry.testing.catalogs import (
    PROJECT,
    a_link,
    a_link_id,
    a_project,
    a_revised_item,
    an_item,
    an_item_id,
)
from canonry.testing.conformance.catalog_graph import CatalogGraphContract
from canonry.testing.conformance.kit import Backend, requirement
from canonry.testing.scribe import Scribe, an_append
from canonry.testing.things import a_space, ident, made
from canonry.values.errors import NotFound
from canonry.values.ids import RelationId, SpaceId

OTHER: Final = SpaceId(ident("other project"))
TITLES: Final = (
    "100% sure",
    "snake_case",
    "back\\slash",
    'with "quotes" AND (more)',
    "Stra\u00dfe",
    "cafe\u0301 noir",
    "\u0130stanbul",
    "a dragon \U0001f409 sleeps",
    "Alpha",
    "ALPHA two",
    "\u6c49\u5b57 text",
    "x*y?[z]",
)
SOUGHT: Final = {
    "%": {"100% sure"},
    "_": {"snake_case"},
    "\\": {"back\\slash"},
    "\\s": {"back\\slash"},
    '"': {'with "quotes" AND (more)'},
    '" AND (': {'with "quotes" AND (more)'},
    "STRASSE": {"Stra\u00dfe"},
    "\u00df": {"Stra\u00dfe"},
    "CAF\u00c9": {"cafe\u0301 noir"},
    "cafe\u0301": {"cafe\u0301 noir"},
    "cafe": set[str](),
    "\u0130": {"\u0130stanbul"},
    "\U0001f409": {"a dragon \U0001f409 sleeps"},
    "alpha": {"Alpha", "ALPHA two"},
    "o n": set[str](),
    "\u5b57": {"\u6c49\u5b57 text"},
    "*y?[": {"x*y?[z]"},
    "nobody": set[str](),
    "\x00": set[str](),
    "\x01": set[str](),
    "\ufffd": set[str](),
}


async def titles(backend: Backend, text: str, **more: Any) -> list[str]:
    """What is found, in order."""
    query = CatalogQuery(**{"project": PROJECT, "text": text, "limit": 50, **more})
    return [entity.name for entity in (await backend.canon.catalog.search(query)).entities]


async def a_catalog(backend: Backend, *names: str) -> Scribe:
    """The project with concepts of these titles, each its own slug in numbers."""
    scribe = Scribe(backend.canon, space=PROJECT)
    await scribe.make(a_project())
    for n, name in enumerate(names):
        await scribe.write(*an_item(f"item {n}", title=name, slug=str(n)))
    return scribe


class CatalogContract(CatalogGraphContract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "catalog:projects:order",
        because="Equal questions have equal answers, whatever a database takes for alphabetical.",
    )
    async def test_projects_come_by_name(self, backend: Backend) -> None:
        """Projects come by name without regard to case, by name and by id, up to the limit."""
        names = ("beta", "Alpha", "alpha", "\u00c4rger", "Beta", "zoo")
        for name in names:
            await Scribe(backend.canon, name=name, space=SpaceId(ident(name))).make(a_project(name))
        await Scribe(backend.canon).open("no project")

        told = await backend.canon.catalog.projects(None, limit=100)
        first = await backend.canon.catalog.projects(None, limit=2)

        expected = ["Alpha", "alpha", "Beta", "beta", "zoo", "\u00c4rger"]
        assert [space.name for space in told] == expected
        assert [space.name for space in first] == expected[:2]

    @requirement("catalog:projects:own", because="What a caller may not see does not exist.")
    async def test_only_the_given_projects_are_told(self, backend: Backend) -> None:
        """Of given spaces only those are told that are projects."""
        await Scribe(backend.canon, space=PROJECT).make(a_project())
        other = a_project("other project")
        await Scribe(backend.canon, name="other", space=OTHER).make(other)
        await Scribe(backend.canon).open("universe")
        spaces = frozenset((OTHER, a_space("universe").id, SpaceId(ident("nothing"))))

        told = await backend.canon.catalog.projects(spaces, limit=100)

        assert [space.id for space in told] == [OTHER]

    @requirement("catalog:search:literal", because="A percent sign is a percent sign.")
    async def test_a_text_is_found_as_it_is(self, backend: Backend) -> None:
        """A text is found wherever it occurs in title, slug or summary, character by character.

        Case and canonical form make no difference; no character has another meaning.
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

    @requirement("catalog:search:order", because="An agent must know how much it has not seen.")
    async def test_the_newest_come_first_and_all_are_counted(self, backend: Backend) -> None:
        """Matches come newest first, then by id; the total counts those past the limit too."""
        scribe = Scribe(backend.canon, space=PROJECT)
        await scribe.make(a_project())
        times = ("2025-01-01", "2025-03-01", "2025-02-01", "2025-03-01")
        for n, day in enumerate(times):
            when = f"{day}T00:00:00.000Z"
            await scribe.write(*an_item(f"r{n}", title=f"found {n}", updatedAt=when))
        equal = sorted((1, 3), key=lambda n: ident(f"r{n}"))

        query = CatalogQuery(project=PROJECT, text="found", limit=3)
        found = await backend.canon.catalog.search(query)

        assert [entity.name for entity in found.entities] == [
            *(f"found {n}" for n in equal),
            "found 2",
        ]
        assert found.total == len(times)

    @requirement("catalog:search:kinds", because="A source item is not an entity.")
    async def test_only_entities_of_the_kinds_match(self, backend: Backend) -> None:
        """Only entities of the given kinds match; none given means all.

        No other item ever does.
        """
        scribe = Scribe(backend.canon, space=PROJECT)
        await scribe.make(a_project())
        for kind in ("guide", "concept", "project", "news"):
            await scribe.write(*an_item(f"a {kind}", kind, title=f"one {kind}"))
        await scribe.write(*an_item("item", "sourceItem", url="one item"))

        some = await titles(backend, "one", kinds=frozenset(("guide", "news")))

        assert set(some) == {"one guide", "one news"}
        assert len(await titles(backend, "one")) == 4

    @requirement("catalog:search:own", because="Projects are apart.")
    async def test_a_search_sees_one_project(self, backend: Backend) -> None:
        """A search sees one project, and an unknown one raises NotFound `project.unknown`."""
        await a_catalog(backend, "here")
        other = Scribe(backend.canon, name="other", space=OTHER)
        await other.make(a_project("other project"))
        await other.write(*an_item("there", title="here too", project=OTHER))
        await Scribe(backend.canon).open("universe")

        assert await titles(backend, "here") == ["here"]
        for stranger in ("universe", "nothing"):
            with pytest.raises(NotFound) as refused:
                await titles(backend, "here", project=SpaceId(ident(stranger)))
            assert refused.value.code == "project.unknown"

    @requirement("catalog:search:follows", because="A view is what the records lead to.")
    async def test_an_old_name_is_not_found_any_more(self, backend: Backend) -> None:
        """What an entity was called is not found any more once it is called otherwise.

        Nor once it was retconned or erased.
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

    @requirement("catalog:bearers:told", because="Whoever writes must know what is taken.")
    async def test_who_bears_a_word_is_told(self, backend: Backend) -> None:
        """`bearers` and `projects_called` tell who bears a slug or an address.

        `joined` tells which relation holds between two items.
        """
        scribe = await a_catalog(backend, "one", "two")
        await scribe.write(*an_item("item", "sourceItem", url="https://example.org"))
        link = a_link(
            "link", "CONCEPT_RELATES_TO_CONCEPT", ("concept", "item 0"), ("concept", "item 1")
        )
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

        ended = RelationId(a_link_id("link"))
        await scribe.write(
            RelationEnded(relation_id=ended, until=None, superseded_by=None, reason="")
        )
        assert await catalog.joined([triple]) == {}

    @requirement("catalog:items:paged", because="An export must not forget a row.")
    async def test_items_and_relations_are_paged(self, backend: Backend) -> None:
        """`items` and relations_from give everything once, in order, page by page."""
        names = [f"item {n}" for n in range(7)]
        scribe = await a_catalog(backend, *names)
        links = [
            a_link(f"l{n}", "CONCEPT_RELATES_TO_CONCEPT", ("concept", names[0]), ("concept", to))
            for n, to in enumerate(names)
        ]
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

"""The contract of `canonry.readmodels.ports.text.Text`."""

from typing import Any, Final

from canonry.language.texts.stems import terms_of
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import Hit, TextQuery
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.cases import DeclaredContract
from canonry.testing.conformance.kit import TEXTS, Backend, requirement
from canonry.testing.example_items import (
    ELSEWHERE,
    HERE,
    a_memory,
    a_scene,
    a_snippet,
    a_source,
    a_turn,
    uuid_of,
)

SYNTAX = (
    *TEXTS,
    'fire"',
    "fire AND (ring OR",
    "NOT fire",
    "NEAR(fire ring, 2)",
    "fire*",
    "text : fire",
    "{text space} : fire",
    "^fire + ring",
    "-fire",
    "fire; DELETE FROM passages",
    f'fire" OR space:"{ELSEWHERE}',
    "\U0001f409",
    "fire " + " ".join(f"word{n}" for n in range(3_000)),
    "a" * 50_000,
)


async def find_hits(backend: Backend, text: str, **query: Any) -> list[Hit]:
    """Return the hits among turns and summaries, or in another collection."""
    asked = {"collection": Collection.SCENES, "spaces": HERE, "limit": 50, **query}
    return list((await backend.canon.text.search(TextQuery(text=text, **asked))).hits)


async def hits_of_ids(backend: Backend, named: set[str], **query: Any) -> dict[str, Hit]:
    """Return the placed passages with these ids, by id."""
    asked = {"collection": Collection.SCENES, "spaces": HERE, "text": "other words", **query}
    found = await backend.canon.text.hits_of_items(named, TextQuery(**asked))
    assert all(hit.score == 0 and not hit.shares for hit in found)
    assert len({hit.id for hit in found}) == len(found)
    return {hit.id: hit for hit in found}


async def hit_ids(backend: Backend, text: str, **query: Any) -> set[str]:
    """Return the ids of the hits, unsorted."""
    return {hit.id for hit in await find_hits(backend, text, **query)}


def ids_of(*names: str) -> set[str]:
    """Return the ids for these names."""
    return {uuid_of(name) for name in names}


async def write_fires(backend: Backend) -> None:
    """Write turns, memories and snippets of one text, with different owners, scenes and sources."""
    await Scribe(backend.canon).make_items(
        a_scene(),
        a_scene("later"),
        a_turn("t1", text="fire", entity_id=uuid_of("sam")),
        a_turn("t2", "later", text="fire"),
        a_memory("m1", "sam", text="fire"),
        a_memory("m2", "frodo", text="fire", scene_id=uuid_of("later")),
        a_source(),
        a_snippet("s1", text="fire"),
        a_snippet("s2", "other", text="fire"),
    )
    there = Scribe(backend.canon, "there", ELSEWHERE)
    await there.make_items(a_turn("t3", "far", text="fire", space=ELSEWHERE))


_MEMORIES: Final = {"collection": Collection.MEMORIES}
_SNIPPETS: Final = {"collection": Collection.SNIPPETS}
FIRES: Final[tuple[tuple[dict[str, Any], tuple[str, ...]], ...]] = (
    ({}, ("t1", "t2")),
    ({"spaces": None}, ("t1", "t2", "t3")),
    ({"spaces": frozenset((ELSEWHERE,))}, ("t3",)),
    ({"spaces": frozenset()}, ()),
    ({"entities": frozenset((uuid_of("sam"),))}, ("t1",)),
    ({"without_scene": uuid_of("later")}, ("t1",)),
    (_MEMORIES, ("m1", "m2")),
    ({**_MEMORIES, "entities": frozenset((uuid_of("frodo"), uuid_of("nobody")))}, ("m2",)),
    ({**_MEMORIES, "without_scene": uuid_of("later")}, ("m1",)),
    (_SNIPPETS, ("s1", "s2")),
    ({**_SNIPPETS, "source_id": uuid_of("source")}, ("s1",)),
)
"""Filters, and the passages of `write_fires` that they select."""


class TextContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("text:search:score")
    async def test_scores_fall_and_terms_are_returned(self, backend: Backend) -> None:
        """Scores are in (0, 1] and fall along the hits; `shares` has the terms that matched."""
        scribe, sam = Scribe(backend.canon), uuid_of("sam")
        await scribe.make_items(
            a_scene(), a_turn("one", text="Dragon fire", entity_id=sam), a_turn("two", text="fire")
        )

        found = await find_hits(backend, "dragon FIRE zebra")

        scores = [h.score for h in found]
        assert all(0 < score <= 1 for score in scores)
        assert scores == sorted(scores, reverse=True)
        assert [set(h.shares) for h in found] == [{"dragon", "fire"}, {"fire"}]
        assert all(sum(h.shares.values()) > 0 for h in found)
        first = found[0]
        assert (first.id, first.scene_id) == (uuid_of("one"), uuid_of("scene"))
        assert [(h.turn_index, h.entities) for h in found] == [(0, (sam,)), (1, ())]
        query = TextQuery(collection=Collection.SCENES, text="dragon FIRE zebra", spaces=HERE)
        asked = (await backend.canon.text.search(query)).asked
        assert set(asked.terms) == {"dragon", "fire", "zebra"}
        assert asked.strongest == sum(first.shares.values())

    @requirement("text:search:hostile")
    async def test_no_query_is_syntax(self, backend: Backend) -> None:
        """No text of a query is syntax: quotes, operators, wildcards, long or empty text."""
        scribe, there = Scribe(backend.canon), Scribe(backend.canon, "there", ELSEWHERE)
        await scribe.make_items(a_turn("here", text="fire"))
        await there.make_items(a_turn("there", text="fire ring space", space=ELSEWHERE))

        for text in SYNTAX:
            expected = ids_of("here") if "fire" in terms_of(text) else set()
            assert await hit_ids(backend, text) == expected, text[:50]

    @requirement("text:search:filters")
    async def test_filters_select_exactly(self, backend: Backend) -> None:
        """Collection, spaces, entities, source, excluded scene and limit select exactly."""
        await write_fires(backend)

        for query, expected in FIRES:
            assert await hit_ids(backend, "fire", **query) == ids_of(*expected), query
        assert len(await find_hits(backend, "fire", limit=1)) == 1

    @requirement("text:placed:filters")
    async def test_filters_select_the_hits_of_items(self, backend: Backend) -> None:
        """Of the given ids, those that every filter allows are placed, whatever the words."""
        await write_fires(backend)
        every = ids_of("t1", "t2", "t3", "m1", "m2", "s1", "s2", "nothing", "scene", "later")

        for query, expected in FIRES:
            assert set(await hits_of_ids(backend, every | {"no id"}, **query)) == ids_of(*expected)
        assert await hits_of_ids(backend, set()) == {}
        many = [f"many {n}" for n in range(150)]
        await Scribe(backend.canon, "many").make_items(
            *(a_turn(name, text="fire") for name in many)
        )
        assert set(await hits_of_ids(backend, ids_of(*many))) == ids_of(*many)

    @requirement("text:search:isolated")
    async def test_other_spaces_change_nothing(self, backend: Backend) -> None:
        """The content of other spaces changes neither hits nor scores of a space."""
        scribe, there = Scribe(backend.canon), Scribe(backend.canon, "there", ELSEWHERE)
        await scribe.make_items(
            a_turn("one", text="dragon gold"),
            a_turn("two", text="dragon dragon sleeps"),
            a_turn("three", text="gold gold gold and more"),
        )
        before = await find_hits(backend, "dragon gold")
        await there.make_items(
            *(a_turn(f"far {n}", "far", text="gold " * n, space=ELSEWHERE) for n in range(40))
        )

        assert await find_hits(backend, "dragon gold") == before

"""The contract of `canonry.readmodels.ports.text.Text`."""

from typing import Any, Final

from canonry.language.texts.stems import terms_of
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import Hit, TextQuery
from canonry.testing.conformance.cases import DeclaredContract
from canonry.testing.conformance.kit import TEXTS, Backend, requirement
from canonry.testing.things import (
    ELSEWHERE,
    HERE,
    a_memory,
    a_scene,
    a_snippet,
    a_source,
    a_turn,
    ident,
)
from canonry.testing.worlds import Scribe

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


async def hits(backend: Backend, text: str, **query: Any) -> list[Hit]:
    """Return the hits among turns and summaries, or in another collection."""
    asked = {"collection": Collection.SCENES, "spaces": HERE, "limit": 50, **query}
    return list((await backend.canon.text.search(TextQuery(text=text, **asked))).hits)


async def placed(backend: Backend, named: set[str], **query: Any) -> dict[str, Hit]:
    """Return the placed passages with these ids, by id."""
    asked = {"collection": Collection.SCENES, "spaces": HERE, "text": "other words", **query}
    found = await backend.canon.text.placed(named, TextQuery(**asked))
    assert all(hit.score == 0 and not hit.shares for hit in found)
    assert len({hit.id for hit in found}) == len(found)
    return {hit.id: hit for hit in found}


async def ids(backend: Backend, text: str, **query: Any) -> set[str]:
    """Return the ids of the hits, unsorted."""
    return {hit.id for hit in await hits(backend, text, **query)}


def called(*names: str) -> set[str]:
    """Return the ids for these names."""
    return {ident(name) for name in names}


async def write_fires(backend: Backend) -> None:
    """Write turns, memories and snippets of one text, with different owners, scenes and sources."""
    await Scribe(backend.canon).make(
        a_scene(),
        a_scene("later"),
        a_turn("t1", text="fire", entity_id=ident("sam")),
        a_turn("t2", "later", text="fire"),
        a_memory("m1", "sam", text="fire"),
        a_memory("m2", "frodo", text="fire", scene_id=ident("later")),
        a_source(),
        a_snippet("s1", text="fire"),
        a_snippet("s2", "other", text="fire"),
    )
    there = Scribe(backend.canon, "there", ELSEWHERE)
    await there.make(a_turn("t3", "far", text="fire", space=ELSEWHERE))


_MEMORIES: Final = {"collection": Collection.MEMORIES}
_SNIPPETS: Final = {"collection": Collection.SNIPPETS}
FIRES: Final[tuple[tuple[dict[str, Any], tuple[str, ...]], ...]] = (
    ({}, ("t1", "t2")),
    ({"spaces": None}, ("t1", "t2", "t3")),
    ({"spaces": frozenset((ELSEWHERE,))}, ("t3",)),
    ({"spaces": frozenset()}, ()),
    ({"entities": frozenset((ident("sam"),))}, ("t1",)),
    ({"without_scene": ident("later")}, ("t1",)),
    (_MEMORIES, ("m1", "m2")),
    ({**_MEMORIES, "entities": frozenset((ident("frodo"), ident("nobody")))}, ("m2",)),
    ({**_MEMORIES, "without_scene": ident("later")}, ("m1",)),
    (_SNIPPETS, ("s1", "s2")),
    ({**_SNIPPETS, "source_id": ident("source")}, ("s1",)),
)
"""Filters, and the passages of `write_fires` that they select."""


class TextContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("text:search:score")
    async def test_scores_fall_and_terms_are_told(self, backend: Backend) -> None:
        """Scores are in (0, 1] and fall along the hits; `shares` has the terms that matched."""
        scribe, sam = Scribe(backend.canon), ident("sam")
        await scribe.make(
            a_scene(), a_turn("one", text="Dragon fire", entity_id=sam), a_turn("two", text="fire")
        )

        found = await hits(backend, "dragon FIRE zebra")

        scores = [h.score for h in found]
        assert all(0 < score <= 1 for score in scores)
        assert scores == sorted(scores, reverse=True)
        assert [set(h.shares) for h in found] == [{"dragon", "fire"}, {"fire"}]
        assert all(sum(h.shares.values()) > 0 for h in found)
        first = found[0]
        assert (first.id, first.scene_id) == (ident("one"), ident("scene"))
        assert [(h.place, h.entities) for h in found] == [(0, (sam,)), (1, ())]
        query = TextQuery(collection=Collection.SCENES, text="dragon FIRE zebra", spaces=HERE)
        asked = (await backend.canon.text.search(query)).asked
        assert set(asked.terms) == {"dragon", "fire", "zebra"}
        assert asked.strongest == sum(first.shares.values())

    @requirement("text:search:hostile")
    async def test_no_query_is_syntax(self, backend: Backend) -> None:
        """No text of a query is syntax: quotes, operators, wildcards, long or empty text."""
        scribe, there = Scribe(backend.canon), Scribe(backend.canon, "there", ELSEWHERE)
        await scribe.make(a_turn("here", text="fire"))
        await there.make(a_turn("there", text="fire ring space", space=ELSEWHERE))

        for text in SYNTAX:
            expected = called("here") if "fire" in terms_of(text) else set()
            assert await ids(backend, text) == expected, text[:50]

    @requirement("text:search:filters")
    async def test_filters_select_exactly(self, backend: Backend) -> None:
        """Collection, spaces, entities, source, excluded scene and limit select exactly."""
        await write_fires(backend)

        for query, expected in FIRES:
            assert await ids(backend, "fire", **query) == called(*expected), query
        assert len(await hits(backend, "fire", limit=1)) == 1

    @requirement("text:placed:filters")
    async def test_filters_select_what_is_placed(self, backend: Backend) -> None:
        """Of the given ids, those that every filter allows are placed, whatever the words."""
        await write_fires(backend)
        every = called("t1", "t2", "t3", "m1", "m2", "s1", "s2", "nothing", "scene", "later")

        for query, expected in FIRES:
            assert set(await placed(backend, every | {"no id"}, **query)) == called(*expected)
        assert await placed(backend, set()) == {}
        many = [f"many {n}" for n in range(150)]
        await Scribe(backend.canon, "many").make(*(a_turn(name, text="fire") for name in many))
        assert set(await placed(backend, called(*many))) == called(*many)

    @requirement("text:search:isolated")
    async def test_other_spaces_change_nothing(self, backend: Backend) -> None:
        """The content of other spaces changes neither hits nor scores of a space."""
        scribe, there = Scribe(backend.canon), Scribe(backend.canon, "there", ELSEWHERE)
        await scribe.make(
            a_turn("one", text="dragon gold"),
            a_turn("two", text="dragon dragon sleeps"),
            a_turn("three", text="gold gold gold and more"),
        )
        before = await hits(backend, "dragon gold")
        await there.make(
            *(a_turn(f"far {n}", "far", text="gold " * n, space=ELSEWHERE) for n in range(40))
        )

        assert await hits(backend, "dragon gold") == before

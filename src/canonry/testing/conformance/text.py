"""The contract of `canonry.readmodels.ports.text.Text`."""

from typing import Any, Final

from canonry.language.texts.stems import terms_of
from canonry.log.entries import Erased, FactRetconned, SceneCompleted
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import Hit, TextQuery
from canonry.testing.conformance.cases import declared
from canonry.testing.conformance.kit import TEXTS, Backend, Contract, requirement
from canonry.testing.things import (
    ELSEWHERE,
    HERE,
    a_fact,
    a_memory,
    a_named,
    a_scene,
    a_snippet,
    a_source,
    a_turn,
    an_axiom,
    an_entry,
    an_event,
    an_observation,
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


class TextContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("text:search:finds")
    async def test_passages_with_more_and_rarer_words_come_first(self, backend: Backend) -> None:
        """Passages that share a word are found; more and rarer words rank higher."""
        scribe = Scribe(backend.canon)
        await scribe.make(
            a_turn("both", text="the dragon burns gold today"),
            a_turn("rare", text="the dragon sleeps until noon"),
            a_turn("none", text="nothing happens here at all"),
            *(a_turn(f"common {n}", text=f"much gold lies in room{n}") for n in range(6)),
        )

        found = await hits(backend, "Dragon, gold?")

        assert [h.id for h in found[:2]] == [ident("both"), ident("rare")]
        expected = called("both", "rare", *(f"common {n}" for n in range(6)))
        assert {h.id for h in found} == expected

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

    @requirement("text:search:ties")
    async def test_equal_texts_come_in_the_order_of_their_ids(self, backend: Backend) -> None:
        """Equal searches have equal hits. Equal texts are sorted by their ids."""
        scribe = Scribe(backend.canon)
        for n in range(9):
            await scribe.make(a_turn(f"turn {n}", text="the same old song"))

        found = [h.id for h in await hits(backend, "song")]

        assert found == sorted(called(*(f"turn {n}" for n in range(9))))
        assert [h.id for h in await hits(backend, "song", limit=4)] == found[:4]
        assert await hits(backend, "song") == await hits(backend, "song")

    test_words_are_folded = declared("text:search:words")

    @requirement("text:search:frequent")
    async def test_word_in_every_passage_still_finds(self, backend: Backend) -> None:
        """A word that occurs in every passage still finds passages."""
        scribe = Scribe(backend.canon)
        await scribe.make(*(a_turn(f"turn {n}", text=f"the tale {n}") for n in range(60)))

        assert len(await hits(backend, "the", limit=100)) == 60
        assert len(await hits(backend, "tale zebra", limit=10)) == 10
        assert ident("turn 7") in await ids(backend, "the 7")

    test_forms_slips_beginnings_and_phrases_are_found = declared("text:search:forms")

    @requirement("text:search:phrases")
    async def test_words_in_a_row_come_first(self, backend: Backend) -> None:
        """Passages with the words of a quoted phrase in sequence come first."""
        scribe = Scribe(backend.canon)
        await scribe.make(
            a_turn("apart", text="the key was silver"),
            a_turn("row", text="a silver key, they say, which opens nothing at all any more"),
            *(a_turn(f"other {n}", text="no word of it") for n in range(9)),
        )

        found = await hits(backend, 'who has the "silver key"')

        assert [h.id for h in found] == [ident("row"), ident("apart")]

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

    @requirement("text:placed:current")
    async def test_passages_are_placed_as_they_are_now(self, backend: Backend) -> None:
        """Passages are placed by their present state: new ones at once, erased ones never."""
        scribe, sam = Scribe(backend.canon), ident("sam")
        await scribe.make(a_scene(), a_turn("t", text="fire", entity_id=sam), a_memory("m"))
        (turn,) = (await placed(backend, called("t"))).values()
        memories = {"collection": Collection.MEMORIES}

        assert (turn.scene_id, turn.place, turn.entities) == (ident("scene"), 0, (sam,))
        assert set(await placed(backend, called("m"), **memories)) == called("m")
        await scribe.write(Erased(targets=(ident("m"),), reason="a right"))
        assert await placed(backend, called("m"), **memories) == {}

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

    @requirement("text:figures:isolated")
    async def test_figures_count_the_passages_of_the_spaces_alone(self, backend: Backend) -> None:
        """Figures count the passages of the given spaces and collection with each stem."""
        scribe, there = Scribe(backend.canon), Scribe(backend.canon, "there", ELSEWHERE)
        await scribe.make(
            a_turn("one", text="dragon gold dragon"), a_turn("two", text="gold sleeps long")
        )
        await there.make(a_turn("far", "far", text="dragon", space=ELSEWHERE))
        query = TextQuery(collection=Collection.SCENES, text="other words", spaces=HERE)
        found = await backend.canon.text.figures(("dragon", "gold", "zebra"), query)
        assert dict(found.found_in) == {"dragon": 1, "gold": 2}
        assert (found.passages, found.length) == (2, 3)

    @requirement("text:search:current")
    async def test_search_follows_changes(self, backend: Backend) -> None:
        """A passage is found by its present text: new ones at once, erased ones never."""
        scribe = Scribe(backend.canon)
        scene = ident("scene")
        await scribe.make(a_scene(participants=(ident("sam"),)), a_memory(text="zebra"))
        memories = {"collection": Collection.MEMORIES}

        assert await ids(backend, "homecoming") == set()
        assert await ids(backend, "zebra", **memories) == called("memory")
        await scribe.write(
            SceneCompleted(scene_id=scene, outcomes=(), summary="a long homecoming"),
            Erased(targets=(ident("memory"),), reason="a right"),
        )
        (hit,) = await hits(backend, "homecoming", entities=frozenset((ident("sam"),)))
        assert (hit.id, hit.place) == (scene, None)
        assert await ids(backend, "zebra", **memories) == set()

    @requirement("text:search:canon")
    async def test_search_follows_the_canon(self, backend: Backend) -> None:
        """Entities, facts and lore are found by the present canon.

        Retconned texts are not found, and a renamed entity is found by its new name only.
        """
        scribe = Scribe(backend.canon)
        entities, facts = {"collection": Collection.ENTITIES}, {"collection": Collection.FACTS}
        await scribe.write(*a_named("Strider"))
        await scribe.make(
            a_fact("wrong", "Strider", statement="the beacon is lit"),
            an_event("fell", "Strider", title="the beacon falls"),
            an_axiom("law", statement="a beacon answers"),
        )
        for n in range(40):  # enough for an index that takes batches
            await scribe.make(*(a_turn(f"{n}/{m}", text="we wait") for m in range(5)))

        assert await ids(backend, "strider", **entities) == called("Strider")
        assert await ids(backend, "beacon", **facts) == called("wrong", "fell")
        assert await ids(backend, "beacon", collection=Collection.LORE) == called("law")
        assert await ids(backend, "beacon") == set()
        renamed = an_observation("Strider", "crowned", fields={"name": "Elessar"})
        await scribe.make(renamed)
        await scribe.write(an_entry(FactRetconned, "wrong"))

        assert await ids(backend, "strider", **entities) == set()
        assert await ids(backend, "elessar", **entities) == called("Strider")
        about = {"entities": frozenset((ident("Strider"),)), **facts}
        assert await ids(backend, "beacon", **about) == called("fell")

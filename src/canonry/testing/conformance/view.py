"""The contracts of projections and vectors in engines other than the ledger's."""

import asyncio
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Position
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import (
    EmbeddingModel,
    Vector,
    VectorBatch,
    VectorEntry,
    VectorQuery,
    Vectors,
)
from canonry.readmodels.ports.view import Folded, Projection
from canonry.stores.projections.projector import Projector
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, requirement, view_answers
from canonry.testing.example_items import MIDDLE_EARTH, a_fact
from canonry.values.errors import BrokenInvariant, Conflict, Unavailable
from canonry.values.ids import SpaceId


def projections_of(canon: Canon) -> Mapping[str, Projection]:
    """Return the views of a canon that a projector updates, by the names of their ports."""
    views = {name: getattr(canon, name) for name in ("documents", "text", "catalog", "places")}
    return {name: view for name, view in views.items() if hasattr(view, "apply")}


def feeding_projector(source: Backend, target: Backend) -> Projector:
    """Return a projector that updates the projections of `target` from the log of `source`."""
    canon, others = source.canon, list(projections_of(target.canon).values())
    return Projector(ledger=canon.ledger, state=canon.state, others=others)


async def folded_commits(canon: Canon, space: SpaceId) -> Sequence[Folded]:
    """Return the commits of a space, each with the present state of its items."""
    log = await canon.ledger.read_commits(space, after=ORIGIN, limit=1_000)
    projector = Projector(ledger=canon.ledger, state=canon.state, others=())
    return await projector.pair_with_items(log)


async def assert_alike(source: Backend, target: Backend) -> None:
    """Require that the projections of `target` answer like the views of `source`."""
    views: dict[str, Any] = {**projections_of(target.canon)}
    assert views, "this contract is for backends with a projection; leave it out"
    given = await view_answers(replace(source.canon, **views))
    for question, answer in (await view_answers(source.canon)).items():
        assert given[question] == answer, question


class ViewContract(Contract):
    """Provide a fixture `backend` with an empty store. Some of its views must be projections."""

    @requirement("view:cursor:stands-where-it-shows")
    async def test_the_cursor_follows_what_shows(self, backend: Backend) -> None:
        """The cursor of a space is the position of the last visible commit."""
        scribe, other = Scribe(backend.canon), await backend.another()
        for view in projections_of(other.canon).values():
            assert await view.cursor(MIDDLE_EARTH) == ORIGIN
        for n in range(3):
            await scribe.make_items(a_fact(f"fact {n}"))
        await feeding_projector(backend, other).advance_to(MIDDLE_EARTH, Position(2))

        for view in projections_of(backend.canon).values():
            assert await view.cursor(MIDDLE_EARTH) == 3
        for view in projections_of(other.canon).values():
            assert await view.cursor(MIDDLE_EARTH) >= 2

    @requirement("view:apply:equals-own-fold")
    async def test_fed_views_answer_as_their_ledgers_own(self, backend: Backend) -> None:
        """Views that are fed from another ledger answer like the views of that ledger."""
        other = await backend.another()
        await write_chronicle(backend)

        await feeding_projector(backend, other).catch_up()

        await assert_alike(backend, other)

    @requirement("view:apply:again")
    async def test_applying_again_changes_nothing(self, backend: Backend) -> None:
        """Applying a commit again changes nothing, even between new commits."""
        other = await backend.another()
        for space in await write_chronicle(backend):
            made = await folded_commits(backend.canon, space)
            for view in projections_of(other.canon).values():
                for each in made[: len(made) // 2]:
                    await view.apply([each])
                    await view.apply([each])
                await view.apply(made)

        await assert_alike(backend, other)

    @requirement("view:apply:gap")
    async def test_a_gap_is_refused(self, backend: Backend) -> None:
        """Commits that do not follow the cursor are refused, and no part of them is visible."""
        scribe, other = Scribe(backend.canon), await backend.another()
        await scribe.make_items(a_fact("first"))
        await scribe.make_items(a_fact("second"))
        made = await folded_commits(backend.canon, MIDDLE_EARTH)

        for view in projections_of(other.canon).values():
            with pytest.raises(Conflict, match=r"^view\.gap:"):
                await view.apply(made[1:])
            assert await view.cursor(MIDDLE_EARTH) == ORIGIN
            await view.apply(made)
            assert await view.cursor(MIDDLE_EARTH) == 2

    @requirement("view:apply:together")
    async def test_projectors_side_by_side_leave_what_one_leaves(self, backend: Backend) -> None:
        """Concurrent projectors leave the same state as a single projector."""
        other, scribe = await backend.another(), Scribe(backend.canon)
        await write_chronicle(backend)

        async def write_facts() -> None:
            for n in range(10):
                await scribe.make_items(a_fact(f"late fact {n}"))

        await asyncio.gather(
            write_facts(), *(feeding_projector(backend, other).catch_up() for _ in range(3))
        )
        await feeding_projector(backend, other).catch_up()

        await assert_alike(backend, other)

    @requirement("view:apply:as-it-is-now")
    async def test_a_view_that_lags_may_see_items_early(self, backend: Backend) -> None:
        """Projections may receive items in the state of later commits."""
        other = await backend.another()
        for space in await write_chronicle(backend):
            made = await folded_commits(backend.canon, space)
            for view in projections_of(other.canon).values():
                await view.apply(made)

        await assert_alike(backend, other)


MODEL: Final = EmbeddingModel(name="tiny", version="1", dimensions=4)
OTHER: Final = EmbeddingModel(name="tiny", version="2", dimensions=4)
HERE: Final = SpaceId("middle-earth")
THERE: Final = SpaceId("elsewhere")


def unit_vector(*numbers: float) -> Vector:
    """Return the unit vector in the direction of the numbers, with zeros for the rest."""
    length = sum(number * number for number in numbers) ** 0.5
    padded = [number / length for number in numbers] + [0.0] * (4 - len(numbers))
    return struct.pack("<4f", *padded)


def vector_entry(name: str, *direction: float, **given: Any) -> VectorEntry:
    """Return an entry, by default among the memories of one world."""
    settings = {"collection": Collection.MEMORIES, "space": HERE, **given}
    return VectorEntry(id=name, vector=unit_vector(*direction), **settings)


async def take_in(vectors: Vectors, *entries: VectorEntry, **given: Any) -> None:
    """Apply a batch at any cursor."""
    settings = {"model": MODEL, "cursor": "1", **given}
    await vectors.apply(VectorBatch(entries=entries, **settings))


async def found_ids(vectors: Vectors, *direction: float, **given: Any) -> Sequence[str]:
    """Return the ids that a search finds, by default among memories, nearest first."""
    settings = {"model": MODEL, "collection": Collection.MEMORIES, **given}
    hits = await vectors.search(VectorQuery(vector=unit_vector(*direction), **settings))
    return [hit.id for hit in hits]


class VectorsContract(Contract):
    """Provide a fixture `vectors` with an empty index."""

    @requirement("vectors:search:nearest-first")
    async def test_the_nearest_come_first(self, vectors: Vectors) -> None:
        """The nearest passages come first with their inner products, ties by id and part."""
        assert await found_ids(vectors, 1.0) == []
        twins = [vector_entry(name, 0.0, 1.0, part=part) for name in "ba" for part in (1, 0)]
        await take_in(vectors, *(vector_entry(f"m{i}", 1.0, i / 4) for i in range(4)), *twins)

        asked = VectorQuery(
            model=MODEL, vector=unit_vector(1.0), collection=Collection.MEMORIES, limit=3
        )
        best = await vectors.search(asked)
        assert [hit.id for hit in best] == ["m0", "m1", "m2"]
        assert [hit.similarity for hit in best] == pytest.approx([1.0, 0.970, 0.894], abs=5e-3)
        tied = await vectors.search(replace(asked, vector=unit_vector(0.0, 1.0), limit=4))
        assert [(hit.id, hit.part) for hit in tied] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
        assert await vectors.search(replace(asked, limit=0)) == []

    @requirement("vectors:search:filters")
    async def test_filters_select(self, vectors: Vectors) -> None:
        """Collection, space, entities, source and the excluded scene select, also combined."""
        await take_in(
            vectors,
            vector_entry("here", 1.0),
            vector_entry("there", 1.0, space=THERE),
            vector_entry("told", 1.0, collection=Collection.SCENES, scene_id="s1"),
            vector_entry("elsewhen", 1.0, collection=Collection.SCENES, scene_id="s2"),
            vector_entry("about", 1.0, entities=("ann", "ben")),
            vector_entry("quoted", 1.0, collection=Collection.SNIPPETS, source_id="book"),
        )

        assert await found_ids(vectors, 1.0) == ["about", "here", "there"]
        assert await found_ids(vectors, 1.0, spaces=frozenset((THERE,))) == ["there"]
        assert await found_ids(vectors, 1.0, spaces=frozenset()) == []
        assert await found_ids(vectors, 1.0, entities=frozenset(("ben", "cat"))) == ["about"]
        scenes = {"collection": Collection.SCENES}
        assert await found_ids(vectors, 1.0, **scenes, without_scene="s1") == ["elsewhen"]
        snippets = {"collection": Collection.SNIPPETS}
        assert await found_ids(vectors, 1.0, **snippets, source_id="book") == ["quoted"]
        assert await found_ids(vectors, 1.0, **snippets, source_id="film") == []

    @requirement("vectors:search:models-are-apart")
    async def test_models_are_apart(self, vectors: Vectors) -> None:
        """Vectors of different models are never compared. A model without vectors is no error."""
        await take_in(vectors, vector_entry("old", 1.0))
        await take_in(vectors, vector_entry("new", 1.0), model=OTHER)

        assert await found_ids(vectors, 1.0) == ["old"]
        assert await found_ids(vectors, 1.0, model=OTHER) == ["new"]
        assert await found_ids(vectors, 1.0, model=replace(OTHER, name="unknown")) == []
        weighed = replace(MODEL, digest="f" * 64)
        await take_in(vectors, vector_entry("weighed", 1.0), model=weighed, cursor="3")
        assert await found_ids(vectors, 1.0, model=weighed) == ["weighed"]
        assert await vectors.cursors() == {MODEL: "1", OTHER: "1", weighed: "3"}
        assert [status.model for status in await vectors.status()] == [MODEL, OTHER, weighed]
        short = VectorQuery(model=MODEL, vector=b"1234", collection=Collection.MEMORIES)
        assert await vectors.search(short) == []

    @requirement("vectors:apply:replaces")
    async def test_entries_replace_what_was_there(self, vectors: Vectors) -> None:
        """The entries of an id replace all its parts. A removed id has none."""
        await take_in(
            vectors, *(vector_entry("a", 1.0, part=n) for n in range(3)), vector_entry("b", 1.0)
        )

        await take_in(vectors, vector_entry("a", 0.0, 1.0), removed=["b", "never"], cursor="2")

        asked = VectorQuery(model=MODEL, vector=unit_vector(1.0), collection=Collection.MEMORIES)
        assert [(hit.id, hit.part) for hit in await vectors.search(asked)] == [("a", 0)]
        assert [status.count for status in await vectors.status()] == [1]

    @requirement("vectors:apply:follows")
    async def test_a_batch_follows_the_cursor_that_it_names(self, vectors: Vectors) -> None:
        """A batch that does not follow the cursor of its model changes nothing."""
        await take_in(vectors, vector_entry("a", 1.0), follows="", cursor="1")
        await take_in(vectors, vector_entry("b", 1.0), follows="1", cursor="2")

        for stale in ("", "1", "3"):
            with pytest.raises(Unavailable) as moved:
                await take_in(
                    vectors, vector_entry("c", 1.0), removed=["a"], follows=stale, cursor="9"
                )
            assert moved.value.code == "vectors.moved"

        assert await found_ids(vectors, 1.0) == ["a", "b"]
        assert await vectors.cursors() == {MODEL: "2"}

    @requirement("vectors:apply:whole")
    async def test_a_batch_with_one_wrong_vector_is_refused(self, vectors: Vectors) -> None:
        """A batch with one vector of another size is refused whole."""
        await take_in(vectors, vector_entry("a", 1.0))

        with pytest.raises(BrokenInvariant, match=r"^vectors\.wrong-size:"):
            await take_in(
                vectors,
                vector_entry("b", 1.0),
                replace(vector_entry("c", 1.0), vector=b"1234"),
                cursor="2",
            )
        assert await found_ids(vectors, 1.0) == ["a"]
        assert await vectors.cursors() == {MODEL: "1"}

    @requirement("vectors:status:counts")
    async def test_status_returns_every_model(self, vectors: Vectors) -> None:
        """`status` and `cursors` return each model with its cursor, in order of first batches."""
        assert await vectors.status() == []
        assert await vectors.cursors() == {}
        await take_in(vectors, vector_entry("a", 1.0, part=1), vector_entry("a", 1.0), cursor="one")
        await take_in(vectors, model=OTHER, cursor="two")

        statuses = [(each.model, each.count, each.cursor) for each in await vectors.status()]
        assert statuses == [(MODEL, 2, "one"), (OTHER, 0, "two")]
        assert list((await vectors.cursors()).items()) == [(MODEL, "one"), (OTHER, "two")]

    @requirement("vectors:digests:by-part")
    async def test_digests_come_part_by_part(self, vectors: Vectors) -> None:
        """`digests` returns the digest of each part, in order. Unknown ids are left out."""
        parts = [vector_entry("a", 1.0, part=n, digest=bytes([n])) for n in (1, 0, 2)]
        await take_in(vectors, *parts, vector_entry("b", 1.0))

        digests = await vectors.vector_digests(MODEL, ["a", "b", "never"])

        assert {i: list(each) for i, each in digests.items()} == {
            "a": [b"\0", b"\1", b"\2"],
            "b": [b""],
        }
        assert await vectors.vector_digests(OTHER, ["a"]) == {}

    @requirement("vectors:about:paged")
    async def test_passages_about_an_entity_are_paged(self, vectors: Vectors) -> None:
        """`about` pages through the ids of passages that name an entity, in order."""
        mine = [vector_entry(f"p{n}", 1.0, entities=("ann",)) for n in (3, 1, 2)]
        await take_in(
            vectors,
            *mine,
            vector_entry("p1", 1.0, part=1, entities=("ann",)),
            vector_entry("q", 1.0),
        )

        assert await vectors.passages_about(MODEL, "ann", limit=2) == ["p1", "p2"]
        assert await vectors.passages_about(MODEL, "ann", after="p2", limit=2) == ["p3"]
        assert await vectors.passages_about(MODEL, "ben", limit=2) == []
        assert await vectors.passages_about(OTHER, "ann", limit=2) == []

    @requirement("vectors:remove:every-model")
    async def test_what_is_removed_is_found_nowhere(self, vectors: Vectors) -> None:
        """A removed passage is found under no model. Cursors stay, and purging is then safe."""
        for model in (MODEL, OTHER):
            await take_in(vectors, vector_entry("a", 1.0), vector_entry("b", 1.0), model=model)

        await vectors.remove(["a", "never"])
        await vectors.purge()

        for model in (MODEL, OTHER):
            assert await found_ids(vectors, 1.0, model=model) == ["b"]
        assert await vectors.cursors() == {MODEL: "1", OTHER: "1"}

    @requirement("vectors:drop:one-or-all")
    async def test_dropping_forgets_one_model_or_all(self, vectors: Vectors) -> None:
        """`drop` deletes one model or all. Later batches start from nothing."""
        for model in (MODEL, OTHER):
            await take_in(vectors, vector_entry("a", 1.0), model=model)

        await vectors.drop(MODEL)
        assert list(await vectors.cursors()) == [OTHER]
        assert await found_ids(vectors, 1.0) == []
        await vectors.drop()
        assert await vectors.status() == []

        await take_in(vectors, vector_entry("new", 1.0), follows="", cursor="1")
        assert await found_ids(vectors, 1.0) == ["new"]

"""Searching by meaning: the same answers whether vectors wait or are published."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import EmbeddingModel
from canonry.recall.vectors import FolderVectors
from tests.adapters.vectors.entries import (
    ELSEWHERE,
    MODEL,
    SPACE,
    an_entry,
    as_stored,
    find_exactly,
    find_hits,
    make_entries,
    random_vector,
    search_memories,
    take_in,
    unit_vector,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def vectors(tmp_path: Path) -> AsyncIterator[FolderVectors]:
    opened = FolderVectors(tmp_path / "index", waiting=4)
    yield opened
    await opened.close()
    await opened.close()


@pytest.fixture(params=["waiting", "published", "both"])
def state(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def settle_index(vectors: FolderVectors, state: str) -> None:
    """Publish what is there, unless the test is about what waits."""
    if state != "waiting":
        assert await vectors.compact_updates(MODEL)
    if state == "both":
        await take_in(vectors, make_entries(3, first=90_000, space=ELSEWHERE))


async def test_an_unwritten_index_finds_nothing(vectors: FolderVectors) -> None:
    assert await search_memories(vectors, unit_vector(1.0)) == []
    assert await vectors.status() == []
    assert not await vectors.compact_updates(MODEL)


async def test_the_nearest_come_first_with_their_similarity(
    vectors: FolderVectors, state: str
) -> None:
    entries = [an_entry(f"m{i}", unit_vector(1.0, i / 4)) for i in range(8)]
    await take_in(vectors, entries)
    await settle_index(vectors, state)

    best = await find_hits(vectors, unit_vector(1.0), spaces=frozenset((SPACE,)), limit=3)

    assert [hit.id for hit in best] == ["m0", "m1", "m2"]
    assert [hit.similarity for hit in best] == pytest.approx([1.0, 0.970, 0.894], abs=2e-3)


async def test_hundreds_are_found_with_their_exact_similarity(
    vectors: FolderVectors, state: str
) -> None:
    entries = [an_entry(f"m{i:03}", unit_vector(1.0, i / 100)) for i in range(300)]
    await take_in(vectors, entries)
    await settle_index(vectors, state)

    best = await find_hits(vectors, unit_vector(1.0), spaces=frozenset((SPACE,)), limit=200)

    nearness = [hit.similarity for hit in best]
    assert nearness == sorted(nearness, reverse=True)
    assert nearness == pytest.approx([(1 + (i / 100) ** 2) ** -0.5 for i in range(200)], abs=1e-3)


async def test_equal_similarities_are_ordered_by_id_and_part(
    vectors: FolderVectors, state: str
) -> None:
    entries = [an_entry(name, unit_vector(1.0), part=part) for name in "cab" for part in (1, 0)]
    await take_in(vectors, entries)
    await settle_index(vectors, state)

    best = await find_hits(vectors, unit_vector(1.0), limit=4)

    assert [(hit.id, hit.part) for hit in best] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


async def test_spaces_and_collections_are_separate(vectors: FolderVectors, state: str) -> None:
    await take_in(
        vectors,
        [
            *(an_entry(f"here{i}", unit_vector(1.0, i)) for i in range(3)),
            *(an_entry(f"there{i}", unit_vector(1.0, i), space=ELSEWHERE) for i in range(3)),
            an_entry("told", unit_vector(1.0), collection=Collection.SCENES),
        ],
    )
    await settle_index(vectors, state)

    assert await search_memories(
        vectors, unit_vector(1.0), spaces=frozenset((ELSEWHERE,)), limit=2
    ) == [
        "there0",
        "there1",
    ]
    assert await search_memories(vectors, unit_vector(1.0), limit=2) == ["here0", "there0"]
    assert await search_memories(vectors, unit_vector(1.0), spaces=frozenset()) == []
    assert await search_memories(vectors, unit_vector(1.0), collection=Collection.SCENES) == [
        "told"
    ]
    assert await search_memories(vectors, unit_vector(1.0), collection=Collection.SNIPPETS) == []


async def test_filters_by_entity_source_and_scene(vectors: FolderVectors, state: str) -> None:
    await take_in(
        vectors,
        [
            an_entry("a", unit_vector(1.0), entities=("frodo", "sam"), scene_id="s1"),
            an_entry("b", unit_vector(1.0, 1.0), entities=("sam",), scene_id="s2"),
            an_entry(
                "c", unit_vector(1.0, 2.0), entities=("sam",), source_id="book", scene_id="s1"
            ),
            an_entry("d", unit_vector(1.0, 3.0), source_id="book"),
            an_entry("e", unit_vector(1.0, 4.0)),
        ],
    )
    await settle_index(vectors, state)

    spaces = frozenset((SPACE,))
    assert await search_memories(vectors, unit_vector(1.0), entities=frozenset(("sam",))) == [
        "a",
        "b",
        "c",
    ]
    assert await search_memories(
        vectors, unit_vector(1.0), entities=frozenset(("frodo", "sam")), limit=1
    ) == ["a"]
    assert await search_memories(vectors, unit_vector(1.0), source_id="book", spaces=spaces) == [
        "c",
        "d",
    ]
    assert await search_memories(
        vectors, unit_vector(1.0), source_id="book", entities=frozenset(("sam",)), spaces=spaces
    ) == ["c"]
    assert await search_memories(vectors, unit_vector(1.0), without_scene="s1", spaces=spaces) == [
        "b",
        "d",
        "e",
    ]
    assert await search_memories(vectors, unit_vector(1.0), entities=frozenset(("gollum",))) == []


async def test_excluding_a_scene_does_not_hide_farther_results(
    vectors: FolderVectors, state: str
) -> None:
    near = [an_entry(f"near{i:03}", unit_vector(9.0, i / 400), scene_id="s1") for i in range(400)]
    far = [an_entry(f"far{i}", unit_vector(-1.0, i), scene_id="s2") for i in range(3)]
    await take_in(vectors, [*near, *far])
    await settle_index(vectors, state)

    behind = await search_memories(
        vectors, unit_vector(1.0), without_scene="s1", spaces=frozenset((SPACE,))
    )
    assert behind == ["far2", "far1", "far0"]


async def test_replaced_or_removed_rows_are_not_found(vectors: FolderVectors, state: str) -> None:
    await take_in(vectors, [an_entry(f"m{i}", unit_vector(1.0, i)) for i in range(6)])
    await settle_index(vectors, state)

    await take_in(vectors, [an_entry("m0", unit_vector(0.0, 1.0))], removed=["m1", "unknown"])

    assert await search_memories(
        vectors, unit_vector(1.0), limit=3, spaces=frozenset((SPACE,))
    ) == [
        "m2",
        "m3",
        "m4",
    ]
    assert (await search_memories(vectors, unit_vector(0.0, 1.0), limit=1)) == ["m0"]


async def test_all_nearest_of_thousands_are_found(vectors: FolderVectors, state: str) -> None:
    entries = [*make_entries(6_000), *make_entries(200, first=30_000, space=ELSEWHERE)]
    mixed = entries[::2] + entries[1::2]
    await take_in(vectors, mixed)
    await settle_index(vectors, state)
    here = [as_stored(entry) for entry in entries if entry.space == SPACE]

    for seed in range(50_000, 50_030):
        asked = random_vector(seed)
        assert await search_memories(vectors, asked, spaces=frozenset((SPACE,))) == find_exactly(
            here, asked, 10
        )


async def test_models_do_not_mix(vectors: FolderVectors) -> None:
    other = EmbeddingModel(name="tiny", version="2", dimensions=16)
    await take_in(vectors, [an_entry("old", unit_vector(1.0))], cursor="7")
    await take_in(vectors, [an_entry("new", unit_vector(1.0))], model=other, cursor="3")

    assert await search_memories(vectors, unit_vector(1.0)) == ["old"]
    assert await search_memories(vectors, unit_vector(1.0), model=other) == ["new"]
    listed = [(s.model.version, s.count, s.cursor, s.waiting) for s in await vectors.status()]
    assert listed == [("1", 1, "7", 1), ("2", 1, "3", 1)]

    await vectors.drop(MODEL)

    assert await search_memories(vectors, unit_vector(1.0)) == []
    assert await search_memories(vectors, unit_vector(1.0), model=other) == ["new"]

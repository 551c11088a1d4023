"""Entries: vectors for tests, drawn from a seed, with whatever they are filtered by."""

import math
import random
import struct
from collections.abc import Sequence
from dataclasses import replace

from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import (
    EmbeddingModel,
    Vector,
    VectorBatch,
    VectorEntry,
    VectorHit,
    VectorQuery,
    Vectors,
)
from canonry.values.ids import SpaceId

MODEL = EmbeddingModel(name="tiny", version="1", dimensions=16)
SPACE = SpaceId("middle-earth")
ELSEWHERE = SpaceId("elsewhere")


def unit_vector(*numbers: float) -> Vector:
    """A vector of length one in the direction of the numbers, the others being zero."""
    length = sum(number * number for number in numbers) ** 0.5
    padded = [number / length for number in numbers] + [0.0] * (16 - len(numbers))
    return struct.pack("<16f", *padded)


def random_vector(seed: int) -> Vector:
    """A vector in some direction."""
    source = random.Random(seed)
    return unit_vector(*(source.gauss(0, 1) for _ in range(16)))


def an_entry(name: str, vector: Vector, **given: object) -> VectorEntry:
    """An entry among the memories of Middle-earth unless it is said otherwise."""
    settings: dict[str, object] = {"collection": Collection.MEMORIES, "space": SPACE, **given}
    return VectorEntry(id=name, vector=vector, **settings)  # type: ignore[arg-type]


def make_entries(number: int, *, first: int = 0, **given: object) -> list[VectorEntry]:
    """Entries in all directions, numbered."""
    return [an_entry(f"e{i:05}", random_vector(i), **given) for i in range(first, first + number)]


def as_stored(entry: VectorEntry) -> VectorEntry:
    """The entry with its vector in half precision."""
    halves = struct.pack("<16e", *struct.unpack("<16f", entry.vector))
    return replace(entry, vector=struct.pack("<16f", *struct.unpack("<16e", halves)))


async def take_in(
    vectors: Vectors,
    entries: Sequence[VectorEntry] = (),
    removed: Sequence[str] = (),
    *,
    model: EmbeddingModel = MODEL,
    cursor: str = "1",
) -> None:
    """Apply a batch."""
    await vectors.apply(VectorBatch(model=model, entries=entries, removed=removed, cursor=cursor))


async def search_memories(vectors: Vectors, vector: Vector, **given: object) -> list[str]:
    """The ids that a search finds among memories, nearest first."""
    return [hit.id for hit in await find_hits(vectors, vector, **given)]


async def find_hits(vectors: Vectors, vector: Vector, **given: object) -> Sequence[VectorHit]:
    """Return the memories that a search finds, nearest first."""
    settings: dict[str, object] = {"model": MODEL, "collection": Collection.MEMORIES, **given}
    return await vectors.search(VectorQuery(vector=vector, **settings))  # type: ignore[arg-type]


def find_exactly(entries: Sequence[VectorEntry], vector: Vector, limit: int) -> list[str]:
    """The ids of the nearest entries by plain arithmetic."""
    asked = struct.unpack("<16f", vector)

    def likeness(entry: VectorEntry) -> float:
        numbers = struct.unpack("<16f", entry.vector)
        return math.fsum(a * b for a, b in zip(asked, numbers, strict=True))

    return [entry.id for entry in sorted(entries, key=likeness, reverse=True)[:limit]]
